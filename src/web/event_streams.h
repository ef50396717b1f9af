// What happens to experiments, as streams of server-sent events.
#ifndef LANISTA_SRC_WEB_EVENT_STREAMS_H_
#define LANISTA_SRC_WEB_EVENT_STREAMS_H_

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "src/service/experiments.h"
#include "src/web/http_stream.h"

namespace lanista {

// One thread reads for all streams. Streams of one experiment that have seen the same share one watch: what comes is
// read and written as JSON once, and all of them hold the same text. A stream that comes late, or whose client reads
// slowly, has a watch of its own until it has caught up; so nobody waits for anybody, and nobody misses anything.
//
//            has caught up with the others (or is the first)
//   Behind ---------------------------------------------------> Joined
//     ^                                                            |
//     +------------------------------------------------------------+
//            its client reads slowly: more than max_unsent waits
//
// A stream ends when its experiment does, when nobody runs that any more, or when its client has taken nothing for
// `patience` while max_unsent waits for it. Thread-safe.
class EventStreams {
 public:
  struct Options {
    // Events that come within it are sent together. Where more than 2,500 come a second, the pause becomes longer, up
    // to `longest_pause`: each message wakes five threads and draws a frame, and a search that ends thousands of models
    // a second needs the processors itself.
    std::chrono::milliseconds pause{50};
    std::chrono::milliseconds longest_pause{1000};
    // A stream without news gets a comment, so that those that lie between, and the server itself, notice who has gone.
    std::chrono::milliseconds comment_interval{15000};
    size_t max_unsent = 1 << 20;
    std::chrono::milliseconds patience{10000};
  };

  explicit EventStreams(Experiments* experiments) : EventStreams(experiments, Options()) {}
  // `experiments` must outlive it.
  EventStreams(Experiments* experiments, Options options);
  ~EventStreams();

  // The events behind the fact with the number `after`. Messages: "facts" (event_messages.h), whose id is the number of
  // the last event in it; then "ended", or "gone". `form`: in which joined streams get many of them; who is behind gets
  // events. Errors: those of Experiments::Watch; FAILED_PRECONDITION where the journal has no order of facts;
  // UNAVAILABLE after Close.
  absl::StatusOr<std::shared_ptr<HttpStream>> Open(const std::string& experiment, int64_t after,
                                                   ExperimentWatch::Form form = ExperimentWatch::Form::kEvents);

  // Ends all streams without another word: whoever reads them is to come again.
  void Close();

 private:
  using Clock = std::chrono::steady_clock;

  struct Reader {
    std::shared_ptr<HttpStream> stream;
    // The number of the last event that was written to it.
    int64_t after = 0;
    // Null: joined.
    std::unique_ptr<ExperimentWatch> watch;
  };

  // The streams of one experiment that get the same.
  using FeedKey = std::pair<std::string, ExperimentWatch::Form>;
  struct Feed {
    // Null: nobody has come to the journal's end yet.
    std::unique_ptr<ExperimentWatch> watch;
    // The number of the last event that `watch` gave.
    int64_t tip = 0;
    std::list<Reader> readers;
  };

  // What a watch's wake-up may still touch in the moment in which this is destroyed.
  struct Wakes {
    std::mutex mutex;
    std::condition_variable changed;
    // Protected by mutex.
    std::set<std::string> woken;
    bool ended = false;
  };

  absl::StatusOr<std::unique_ptr<ExperimentWatch>> Watch(const std::string& id, int64_t after);
  void Work();
  // Hands out what there is; whether some stream has not got all of it.
  bool Serve(const FeedKey& key, Feed* feed);
  // To those that are joined; whether there may be more.
  bool ServeJoined(const FeedKey& key, Feed* feed);
  // Ends the streams that are joined; false: there is nothing more.
  static bool EndJoined(const absl::Status& status, Feed* feed);
  // Brings a reader on that is behind; one that has ended loses its stream. Whether it has more to read.
  bool CatchUp(Feed* feed, Reader* reader);
  void Comment();

  Experiments& experiments_;
  const Options options_;
  // Of `thread_` alone, as is what follows.
  std::map<FeedKey, Feed> feeds_;
  // How many events the streams that are joined got since the last pause.
  int64_t joined_events_ = 0;

  const std::shared_ptr<Wakes> wakes_ = std::make_shared<Wakes>();
  // Protected by wakes_->mutex.
  std::vector<std::pair<FeedKey, Reader>> arrivals_;

  std::thread thread_;
};

}  // namespace lanista

#endif  // LANISTA_SRC_WEB_EVENT_STREAMS_H_
