#include "src/files/output_deliveries.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <deque>
#include <fstream>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "src/base/display_text.h"
#include "src/base/logging.h"
#include "src/base/output_files.h"
#include "src/base/status.h"
#include "src/base/utf8.h"
#include "src/files/file_set.h"
#include "src/files/retry.h"
#include "src/files/weights_bar.h"

namespace lanista {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kThreads = 4;
// More than there may be: every job is a device's.
constexpr size_t kMaxJobs = 10000;
// Of the time, deliveries of checkpoints take one part in so many.
constexpr int kShareOfTime = 5;
// A file that changes each time while it is sent will do so again.
constexpr int kMaxChangesOfOutput = 5;
// A head that does not know the assignment so often will never.
constexpr int kMaxUnknown = 20;
// What may be sent of a log, and a little less, so that the line about it fits.
constexpr int64_t kMostLogBytes = kLogLimits.bytes - 4096;

// What keep_weights leaves in an output folder.
bool IsWeights(const FoundFile& file) { return file.path == "weights.pt" || file.path == "model.onnx"; }

// Those that may come, as many as there is room for: weights go first, then others by their paths.
std::vector<FoundFile> Fitting(std::vector<FoundFile> found, const FileSetLimits& limits) {
  std::stable_partition(found.begin(), found.end(), IsWeights);
  std::vector<FoundFile> fitting;
  int64_t bytes = 0;
  for (FoundFile& file : found) {
    if (fitting.size() == limits.files || file.stamp.size > limits.bytes - bytes) continue;
    bytes += file.stamp.size;
    fitting.push_back(std::move(file));
  }
  return fitting;
}

}  // namespace

absl::Status CopyLog(const std::string& log, const std::string& to, int64_t most_bytes) {
  std::ifstream in(log, std::ios::binary | std::ios::ate);
  if (!in) return absl::FailedPreconditionError(absl::StrCat("cannot read ", log));
  const auto size = static_cast<int64_t>(in.tellg());
  const auto read = [&in](int64_t from, int64_t count) {
    std::string bytes(static_cast<size_t>(count), '\0');
    in.seekg(from);
    in.read(&bytes[0], count);
    return bytes;
  };
  std::string content;
  if (size <= most_bytes) {
    content = read(0, size);
  } else {
    const int64_t half = most_bytes / 2;
    const std::string begin = read(0, half);
    content = absl::StrCat(begin, "\n[lanista: ", size - 2 * half, " bytes were cut here]\n", read(size - half, half));
  }
  if (!in) return absl::FailedPreconditionError(absl::StrCat("cannot read ", log));
  absl::Status written = MakeParentFolder(to);
  if (written.ok()) written = WriteFile(to, content);
  return written.ok() ? written : absl::FailedPreconditionError(written.message());
}

// Jobs of a trial are done one after the other, on threads of the queue.
class OutputDeliveries::Trial : public std::enable_shared_from_this<Trial> {
 public:
  Trial(const Options& options, FileSink* sink, WorkQueue* queue, const v1::Assignment& assignment, LocalWorkPtr work)
      : options_(options),
        sink_(*sink),
        queue_(*queue),
        assignment_(assignment.id()),
        tag_(LogTag(assignment.trial().experiment(), assignment.trial().trial())),
        keep_weights_(assignment.trial().keep_weights()),
        work_(std::move(work)) {
    for (const v1::TrialModel& model : assignment.trial().models()) {
      if (!model.checkpoint_folder().empty()) open_.insert(model.model());
    }
  }

  void DeliverModel(const TrialOutputs::ModelEnd& end, TrialOutputs::Done done) {
    StopLooking();
    Post([this, end, done = std::move(done)] {
      if (end.goes_on && open_.count(end.model) > 0) DeliverCheckpoint(end.model, &canceled_);
      open_.erase(end.model);
      const absl::Status delivered = DeliverOutput(end);
      DeliverLog(&canceled_);
      done(delivered);
    });
  }

  void DeliverRest(TrialOutputs::Done done) {
    StopLooking();
    Post([this, done = std::move(done)] {
      for (const int model : open_) DeliverCheckpoint(model, &canceled_);
      DeliverLog(&canceled_);
      done(canceled_.canceled() ? absl::CancelledError("it is not needed any more") : absl::OkStatus());
    });
  }

  // Looks at what has changed, if it is time and nothing else is being done.
  void Look() {
    std::shared_ptr<Cancellation> look;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (busy_ || Clock::now() < next_look_) return;
      look = look_ = std::make_shared<Cancellation>();
    }
    Post([this, look] {
      const Clock::time_point begin = Clock::now();
      for (const int model : open_) DeliverCheckpoint(model, look.get());
      if (begin >= next_log_) {
        DeliverLog(look.get());
        next_log_ = Clock::now() + options_.log_interval;
      }
      const std::lock_guard<std::mutex> lock(mutex_);
      next_look_ = Clock::now() + (kShareOfTime - 1) * (Clock::now() - begin);
    });
  }

  void Cancel() {
    canceled_.Cancel();
    StopLooking();
  }

 private:
  void Post(std::function<void()> job) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      jobs_.push_back(std::move(job));
      if (std::exchange(busy_, true)) return;
    }
    queue_.Post([self = shared_from_this()] { self->Work(); });
  }

  void Work() {
    while (true) {
      std::function<void()> job;
      {
        const std::lock_guard<std::mutex> lock(mutex_);
        busy_ = !jobs_.empty();
        if (!busy_) return;
        job = std::move(jobs_.front());
        jobs_.pop_front();
      }
      job();
    }
  }

  // What comes now is more urgent than a checkpoint that is on its way.
  void StopLooking() {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (look_ != nullptr) look_->Cancel();
  }

  v1::OutputHeader Header() const {
    v1::OutputHeader header;
    header.set_assignment(assignment_);
    return header;
  }

  // Once.
  absl::Status Send(const v1::OutputHeader& header, const std::string& folder, const std::vector<FoundFile>& found,
                    const FileSetLimits& limits, Cancellation* cancellation) {
    LANISTA_ASSIGN_OR_RETURN(FileSetReader files, FileSetReader::Open(folder, found, limits));
    return sink_.Deliver(header, &files, cancellation);
  }

  // `send` once, where a look does it; else until it has succeeded or would never.
  absl::Status SendOrRetry(Cancellation* cancellation, const std::function<absl::Status()>& send) {
    absl::Status sent;
    int changes = 0;
    int unknown = 0;
    Reasons reasons(absl::StrCat(tag_, "what it wrote waits for the head"));
    const absl::Status tried = Retry(cancellation, options_.first_delay, [&] {
      sent = send();
      unknown = absl::IsNotFound(sent) ? unknown + 1 : 0;
      const bool again =
          absl::IsDataLoss(sent) ? ++changes < kMaxChangesOfOutput : MayPass(sent) && unknown < kMaxUnknown;
      if (cancellation != &canceled_ || !again) return false;
      reasons.Say(sent);
      return true;
    });
    return tried.ok() ? sent : tried;
  }

  // Tells once what becomes of something that nobody waits for.
  void Warn(const std::string& what, const absl::Status& why) {
    if (why.ok() || absl::IsCancelled(why) || absl::IsAborted(why) || MayPass(why)) return;
    if (!warned_.insert(what).second) return;
    LogWarning("{}{} stays on this node: {}", tag_, what, OneLine(ToUtf8(why.message())));
  }

  // Whether weights are to go to the head. Errors are those by which they could not get there either: a head that only
  // cannot say it gets them.
  absl::StatusOr<bool> AreWanted(const TrialOutputs::ModelEnd& end) {
    const absl::StatusOr<v1::WeightsBar> bar = sink_.FindWeightsBar(assignment_, &canceled_);
    if (bar.ok()) return MayReach(end.metrics, *bar);
    if (MayPass(bar.status()) || absl::IsAborted(bar.status()) || absl::IsCancelled(bar.status())) return bar.status();
    return true;
  }

  absl::Status DeliverOutput(const TrialOutputs::ModelEnd& end) {
    const int model = end.model;
    bool weights = end.weights;
    const std::string folder = work_->output_folder(model);
    v1::OutputHeader header = Header();
    header.set_output_of(model);
    absl::Status sent = SendOrRetry(&canceled_, [&]() -> absl::Status {
      LANISTA_ASSIGN_OR_RETURN(std::vector<FoundFile> found, FindFiles(folder));
      if (weights && std::any_of(found.begin(), found.end(), IsWeights)) {
        LANISTA_ASSIGN_OR_RETURN(weights, AreWanted(end));
        if (!weights) RemoveWeights(model, folder, found);
      }
      if (keep_weights_ && !weights) found.erase(std::remove_if(found.begin(), found.end(), IsWeights), found.end());
      if (found.empty()) return absl::OkStatus();
      // RESOURCE_EXHAUSTED where they are too many or too large.
      if (end.all) return Send(header, folder, found, kOutputLimits, &canceled_);
      const std::vector<FoundFile> fitting = Fitting(found, kOutputLimits);
      const auto count = [](const std::vector<FoundFile>& files) {
        return std::count_if(files.begin(), files.end(), IsWeights);
      };
      if (weights && count(fitting) < count(found)) {
        return absl::ResourceExhaustedError(absl::StrCat(
            "its weights are larger than the ", kOutputLimits.bytes,
            " bytes that can come from a node that does not see the head's files: share the state folder"));
      }
      if (fitting.size() < found.size()) SayLeftOut(model, found.size() - fitting.size());
      return Send(header, folder, fitting, kOutputLimits, &canceled_);
    });
    if (weights || end.all || absl::IsCancelled(sent)) return sent;
    Warn(absl::StrCat("the output of model ", model), sent);
    return absl::OkStatus();
  }

  // The disk has room for other trials at once.
  void RemoveWeights(int model, const std::string& folder, const std::vector<FoundFile>& found) const {
    LogDebug("{}the weights of model {} are not among those that are kept: they are removed here", tag_, model);
    for (const FoundFile& file : found) {
      // What cannot be removed goes with the folder.
      if (IsWeights(file)) unlink(absl::StrCat(folder, "/", file.path).c_str());
    }
  }

  // In the trial's own log, which the experiment's user sees.
  void SayLeftOut(int model, size_t files) const {
    std::ofstream(work_->log_file(), std::ios::app)
        << "[lanista: " << files << " files of model " << model << " stay on its node: " << kOutputLimits.files
        << " files with " << kOutputLimits.bytes << " bytes are taken from there]\n";
  }

  void DeliverCheckpoint(int model, Cancellation* cancellation) {
    const std::string folder = work_->checkpoint_folder(model);
    v1::OutputHeader header = Header();
    header.set_checkpoint_of(model);
    const absl::Status sent = SendOrRetry(cancellation, [&]() -> absl::Status {
      LANISTA_ASSIGN_OR_RETURN(const std::vector<FoundFile> found, FindFiles(folder));
      if (found.empty() || found == delivered_[folder]) return absl::OkStatus();
      LANISTA_RETURN_IF_ERROR(Send(header, folder, found, kCheckpointLimits, cancellation));
      delivered_[folder] = found;
      return absl::OkStatus();
    });
    Warn(absl::StrCat("the checkpoint of model ", model), sent);
  }

  void DeliverLog(Cancellation* cancellation) {
    v1::OutputHeader header = Header();
    header.set_log(true);
    const absl::Status sent = SendOrRetry(cancellation, [&]() -> absl::Status {
      struct stat info = {};
      // It is gone where nothing was printed.
      if (lstat(work_->log_file().c_str(), &info) != 0 || info.st_size == 0) return absl::OkStatus();
      const std::vector<FoundFile> log = {{"log", FileStamp::Of(info)}};
      if (log == delivered_[work_->log_file()]) return absl::OkStatus();
      // It may grow meanwhile.
      const std::string copies = work_->folder() + "/copies";
      LANISTA_RETURN_IF_ERROR(CopyLog(work_->log_file(), copies + "/log", kMostLogBytes));
      LANISTA_ASSIGN_OR_RETURN(const std::vector<FoundFile> copy, FindFiles(copies));
      LANISTA_RETURN_IF_ERROR(Send(header, copies, copy, kLogLimits, cancellation));
      delivered_[work_->log_file()] = log;
      return absl::OkStatus();
    });
    Warn("its log", sent);
  }

  const Options options_;
  FileSink& sink_;
  WorkQueue& queue_;
  const std::string assignment_;
  const std::string tag_;
  const bool keep_weights_;
  const LocalWorkPtr work_;
  Cancellation canceled_;

  // Of the job that runs: models whose checkpoints are wanted, what arrived, what was told, when the log goes next.
  std::set<int> open_;
  std::map<std::string, std::vector<FoundFile>> delivered_;
  std::set<std::string> warned_;
  Clock::time_point next_log_ = Clock::now();

  std::mutex mutex_;
  // Protected by mutex_.
  std::deque<std::function<void()>> jobs_;
  bool busy_ = false;
  Clock::time_point next_look_;
  // The last one.
  std::shared_ptr<Cancellation> look_;
};

class OutputDeliveries::Handle : public TrialOutputs {
 public:
  explicit Handle(std::shared_ptr<Trial> trial) : trial_(std::move(trial)) {}
  ~Handle() override { trial_->Cancel(); }

  void DeliverModel(const ModelEnd& end, Done done) override { trial_->DeliverModel(end, std::move(done)); }
  void DeliverRest(Done done) override { trial_->DeliverRest(std::move(done)); }

 private:
  const std::shared_ptr<Trial> trial_;
};

OutputDeliveries::OutputDeliveries(const Options& options, std::shared_ptr<FileSink> sink)
    : options_(options), sink_(std::move(sink)) {
  queue_.emplace(kThreads, kMaxJobs);
  looker_ = std::thread([this] { LookNowAndThen(); });
}

OutputDeliveries::~OutputDeliveries() {
  std::vector<std::weak_ptr<Trial>> trials;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    ended_ = true;
    trials = trials_;
  }
  changed_.notify_all();
  looker_.join();
  for (const std::weak_ptr<Trial>& weak : trials) {
    if (const std::shared_ptr<Trial> trial = weak.lock()) trial->Cancel();
  }
  queue_.reset();
}

std::unique_ptr<TrialOutputs> OutputDeliveries::Follow(const v1::Assignment& assignment, LocalWorkPtr work) {
  const auto trial = std::make_shared<Trial>(options_, sink_.get(), &*queue_, assignment, std::move(work));
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    trials_.push_back(trial);
  }
  return std::make_unique<Handle>(trial);
}

void OutputDeliveries::LookNowAndThen() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!changed_.wait_for(lock, options_.look_interval, [this] { return ended_; })) {
    trials_.erase(std::remove_if(trials_.begin(), trials_.end(), [](const auto& trial) { return trial.expired(); }),
                  trials_.end());
    const std::vector<std::weak_ptr<Trial>> trials = trials_;
    lock.unlock();
    for (const std::weak_ptr<Trial>& weak : trials) {
      if (const std::shared_ptr<Trial> trial = weak.lock()) trial->Look();
    }
    lock.lock();
  }
}

}  // namespace lanista
