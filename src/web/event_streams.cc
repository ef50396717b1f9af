#include "src/web/event_streams.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "src/base/display_text.h"
#include "src/base/logging.h"
#include "src/base/status.h"
#include "src/base/thread_priority.h"
#include "src/base/utf8.h"
#include "src/storage/journal.h"
#include "src/web/event_messages.h"

namespace lanista {
namespace {

// Of one stream in a row, so that others get their turn.
constexpr int kBatchesInARow = 8;

// The pause behind so many events is this long.
constexpr std::chrono::microseconds kPausePerEvent(400);

// Their numbers; 0: last words are no fact, and have none.
int64_t NumberOf(const std::vector<v1::ExperimentEvent>& events) { return events.empty() ? 0 : events.back().number(); }

// What a batch that is not empty says.
absl::StatusOr<EventMessage> MessageOf(ExperimentWatch::Batch batch, int64_t number) {
  if (batch.models.empty()) return EventsMessage(std::move(batch.events), number);
  return ModelsMessage(std::move(batch.events), *batch.journal, batch.models, number);
}

// Of a model that comes in the place of its events: it began, it ended, it has an outcome.
constexpr size_t kEventsPerModel = 3;

// Writes what ends a watch to a stream, and ends that. Whoever reads it comes again after another error, and is told
// of it then.
void WriteEnd(const absl::Status& status, HttpStream* stream) {
  if (status.ok()) stream->Write(EmptyMessage("ended"));
  if (absl::IsAborted(status)) stream->Write(EmptyMessage("gone"));
  stream->End();
}

}  // namespace

EventStreams::EventStreams(Experiments* experiments, Options options)
    : experiments_(*experiments), options_(options), thread_(&EventStreams::Work, this) {}

EventStreams::~EventStreams() {
  Close();
  thread_.join();
}

void EventStreams::Close() {
  {
    const std::lock_guard<std::mutex> lock(wakes_->mutex);
    wakes_->ended = true;
  }
  wakes_->changed.notify_all();
}

absl::StatusOr<std::shared_ptr<HttpStream>> EventStreams::Open(const std::string& experiment, int64_t after,
                                                               ExperimentWatch::Form form) {
  LANISTA_ASSIGN_OR_RETURN(const ExperimentPlace place, experiments_.Locate(experiment));
  {
    LANISTA_ASSIGN_OR_RETURN(const JournalReader reader, JournalReader::Open(place.folder));
    LANISTA_ASSIGN_OR_RETURN(const std::optional<int64_t> number, reader.LastNumber());
    if (!number.has_value()) {
      return absl::FailedPreconditionError(absl::StrCat("an older Lanista wrote the journal of ", place.id,
                                                        ", without the order of its facts; `resume` upgrades it"));
    }
    // A number that is not there (of a journal that lost its last facts) would leave the others of the feed behind it.
    after = std::min(after, *number);
  }
  Reader reader;
  reader.stream = std::make_shared<HttpStream>();
  reader.after = after;
  LANISTA_ASSIGN_OR_RETURN(reader.watch, Watch(place.id, after));
  const std::shared_ptr<HttpStream> stream = reader.stream;
  {
    const std::lock_guard<std::mutex> lock(wakes_->mutex);
    if (wakes_->ended) return absl::UnavailableError("this server ends; try again");
    arrivals_.emplace_back(FeedKey(place.id, form), std::move(reader));
    wakes_->woken.insert(place.id);
  }
  wakes_->changed.notify_one();
  return stream;
}

absl::StatusOr<std::unique_ptr<ExperimentWatch>> EventStreams::Watch(const std::string& id, int64_t after) {
  v1::WatchRequest request;
  request.set_experiment(id);
  request.set_after(after);
  return experiments_.Watch(request, [wakes = wakes_, id] {
    {
      const std::lock_guard<std::mutex> lock(wakes->mutex);
      // Most facts come while others wait to be read.
      if (!wakes->woken.insert(id).second) return;
    }
    wakes->changed.notify_one();
  });
}

void EventStreams::Work() {
  // Whoever looks on does not hold up what is looked at.
  LowerThreadPriority();
  Clock::time_point next_comment = Clock::now() + options_.comment_interval;
  Wakes& wakes = *wakes_;
  std::unique_lock<std::mutex> lock(wakes.mutex);
  while (true) {
    wakes.changed.wait_until(lock, next_comment, [&wakes] { return wakes.ended || !wakes.woken.empty(); });
    if (wakes.ended) break;
    const std::set<std::string> woken = std::exchange(wakes.woken, {});
    for (auto& [key, reader] : std::exchange(arrivals_, {})) feeds_[key].readers.push_back(std::move(reader));
    lock.unlock();
    std::set<std::string> unfinished;
    for (const std::string& id : woken) {
      for (const ExperimentWatch::Form form : {ExperimentWatch::Form::kEvents, ExperimentWatch::Form::kManyAsModels}) {
        const auto feed = feeds_.find(FeedKey(id, form));
        if (feed == feeds_.end()) continue;
        if (Serve(feed->first, &feed->second)) unfinished.insert(id);
        if (feed->second.readers.empty()) feeds_.erase(feed);
      }
    }
    // Who is behind is not held up: it would never catch up with a quick search.
    const Clock::duration longest = unfinished.empty() ? options_.longest_pause : options_.pause;
    const Clock::duration pause =
        std::max<Clock::duration>(options_.pause, std::min<Clock::duration>(longest, joined_events_ * kPausePerEvent));
    joined_events_ = 0;
    if (Clock::now() >= next_comment) {
      Comment();
      next_comment = Clock::now() + options_.comment_interval;
    }
    lock.lock();
    wakes.woken.insert(unfinished.begin(), unfinished.end());
    if (wakes.changed.wait_for(lock, pause, [&wakes] { return wakes.ended; })) break;
  }
  for (auto& [key, reader] : arrivals_) reader.stream->End();
  lock.unlock();
  for (auto& [key, feed] : feeds_) {
    for (Reader& reader : feed.readers) reader.stream->End();
  }
  feeds_.clear();
}

bool EventStreams::Serve(const FeedKey& key, Feed* feed) {
  feed->readers.remove_if([](const Reader& reader) { return reader.stream->gone(); });
  bool unfinished = feed->watch != nullptr && ServeJoined(key, feed);
  for (auto reader = feed->readers.begin(); reader != feed->readers.end();) {
    if (reader->watch != nullptr && CatchUp(feed, &*reader)) unfinished = true;
    reader = reader->stream == nullptr ? feed->readers.erase(reader) : std::next(reader);
  }
  return unfinished;
}

bool EventStreams::ServeJoined(const FeedKey& key, Feed* feed) {
  for (int i = 0; i < kBatchesInARow; ++i) {
    absl::StatusOr<ExperimentWatch::Batch> batch = feed->watch->Next(key.second);
    const bool ended = !batch.ok() || batch->ended;
    const bool more = batch.ok() && batch->more;
    if (batch.ok() && (!batch->events.empty() || !batch->models.empty())) {
      joined_events_ += static_cast<int64_t>(batch->events.size() + kEventsPerModel * batch->models.size());
      const int64_t before = std::exchange(feed->tip, feed->watch->number());
      const absl::StatusOr<EventMessage> message = MessageOf(*std::move(batch), ended ? 0 : feed->tip);
      if (!message.ok()) {
        LogError("{}the page cannot be told what changed: {}", LogTag(key.first),
                 OneLine(ToUtf8(std::string(message.status().message()))));
        return EndJoined(message.status(), feed);
      }
      for (Reader& reader : feed->readers) {
        if (reader.watch != nullptr || reader.after != before) continue;
        if (reader.stream->unsent() >= options_.max_unsent) {
          // It goes on by itself, as fast as its client reads.
          absl::StatusOr<std::unique_ptr<ExperimentWatch>> watch = Watch(key.first, reader.after);
          if (watch.ok()) reader.watch = *std::move(watch);
          if (!watch.ok()) reader.stream->Abort();
          continue;
        }
        reader.stream->Write(*message);
        reader.after = feed->tip;
      }
    }
    if (ended) return EndJoined(batch.status(), feed);
    if (!more) return false;
  }
  return true;
}

bool EventStreams::EndJoined(const absl::Status& status, Feed* feed) {
  for (auto reader = feed->readers.begin(); reader != feed->readers.end();) {
    const bool joined = reader->watch == nullptr;
    if (joined) WriteEnd(status, reader->stream.get());
    reader = joined ? feed->readers.erase(reader) : std::next(reader);
  }
  // Those that are behind come to the end by themselves.
  feed->watch = nullptr;
  return false;
}

bool EventStreams::CatchUp(Feed* feed, Reader* reader) {
  for (int i = 0; i < kBatchesInARow; ++i) {
    if (feed->watch != nullptr && reader->after == feed->tip) {
      reader->watch = nullptr;
      return false;
    }
    // It knows what the feed has not seen yet.
    if (feed->watch != nullptr && reader->after > feed->tip) return false;
    if (reader->stream->unsent() >= options_.max_unsent) {
      if (Clock::now() - reader->stream->last_taken() < options_.patience) return true;
      reader->stream->Abort();
      reader->stream = nullptr;
      return false;
    }
    absl::StatusOr<ExperimentWatch::Batch> batch = reader->watch->Next();
    bool joins = false;
    if (batch.ok() && feed->watch != nullptr) {
      // What comes behind the tip, it gets with the others: its own watch, which is beyond it, is not used again.
      std::vector<v1::ExperimentEvent>& events = batch->events;
      joins = events.empty() || events.back().number() >= feed->tip;
      while (!events.empty() && events.back().number() > feed->tip) events.pop_back();
    }
    const bool news = batch.ok() && !batch->events.empty();
    if (news) {
      const int64_t number = NumberOf(batch->events);
      if (number > 0) reader->after = number;
      reader->stream->Write(EventsMessage(std::move(batch->events), number));
    }
    if (!batch.ok() || batch->ended) {
      WriteEnd(batch.status(), reader->stream.get());
      reader->stream = nullptr;
      return false;
    }
    if (joins) {
      reader->after = feed->tip;
      reader->watch = nullptr;
      return false;
    }
    if (news) continue;
    // It has come to the journal's end, as the first one.
    feed->watch = std::move(reader->watch);
    feed->tip = reader->after;
    return false;
  }
  return true;
}

void EventStreams::Comment() {
  static const auto* const kComment = new EventMessage(CommentMessage());
  for (auto feed = feeds_.begin(); feed != feeds_.end();) {
    for (const Reader& reader : feed->second.readers) {
      if (reader.stream->unsent() == 0) reader.stream->Write(*kComment);
    }
    feed->second.readers.remove_if([](const Reader& reader) { return reader.stream->gone(); });
    feed = feed->second.readers.empty() ? feeds_.erase(feed) : std::next(feed);
  }
}

}  // namespace lanista
