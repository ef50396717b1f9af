// All that clients can do with the experiments of a state folder: the one interface under gRPC (src/rpc) and whatever
// else serves clients. It knows neither.
#ifndef LANISTA_SRC_SERVICE_EXPERIMENTS_H_
#define LANISTA_SRC_SERVICE_EXPERIMENTS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "nlohmann/json.hpp"
#include "protos/service.pb.h"
#include "src/base/temporary_folder.h"
#include "src/service/experiment_runner.h"
#include "src/service/model_maker.h"
#include "src/service/news.h"
#include "src/service/uploads.h"
#include "src/storage/journal.h"
#include "src/storage/state_dir.h"
#include "src/views/documents.h"

namespace lanista {

// A place in the history of one experiment. It holds a number: a watcher that reads slowly costs nothing, and one that
// comes late gets everything, once. Used by one thread at a time.
class ExperimentWatch {
 public:
  // In which form much comes.
  enum class Form {
    kEvents,
    // Where many models began and ended, and nothing was reported: which ones these are.
    kManyAsModels,
  };
  struct Batch {
    // The events in their order; each was recorded before.
    std::vector<v1::ExperimentEvent> events;
    // Models, in the place of their events: what the journal says of them holds, which is open at this moment.
    // Empty and null: all comes as events.
    std::vector<int> models;
    std::shared_ptr<const JournalReader> journal;
    // Next has something to say at once: more events, or how it ended. Else the watch will be woken.
    bool more = false;
    // The experiment has come to its end, and these are the last.
    bool ended = false;
  };

  // What comes next: at most some hundred events, or some thousand models. Empty: nothing yet, and the watch will be
  // woken. ABORTED: nobody runs the experiment any more, and all that was recorded has been given. Reads the disk and
  // does not wait.
  absl::StatusOr<Batch> Next(Form form = Form::kEvents);
  // The number of the last event that was given.
  int64_t number() const { return after_; }

 private:
  friend class Experiments;

  ExperimentWatch(std::string id, std::string folder, const ExperimentRunner* runner, int64_t after)
      : id_(std::move(id)), folder_(std::move(folder)), runner_(runner), after_(after) {}

  const std::string id_;
  const std::string folder_;
  // Null: nothing is run here.
  const ExperimentRunner* const runner_;
  int64_t after_;
  std::shared_ptr<News::Waiter> waiter_;
};

// How many experiments a state folder may hold, unless the user of `serve` says otherwise.
inline constexpr int kMaxExperiments = 10000;

// Where an experiment lies.
struct ExperimentPlace {
  // Whole.
  std::string id;
  std::string folder;
};

// A part of what a trial printed.
struct TrialLog {
  // The attempt whose trial it is; 0: there is none yet.
  int attempt = 0;
  // The bytes of the whole log.
  int64_t size = 0;
  std::string text;
};

// A document whose last key is a list that comes in parts. Used by one thread at a time.
struct DocumentInParts {
  // It has no entries of the list yet.
  nlohmann::ordered_json beginning;
  // The next entries; empty: there are no more. All are of one moment: while this lives, the journal keeps what was
  // overwritten since.
  std::function<absl::StatusOr<std::vector<nlohmann::ordered_json>>()> next;
};

// What an export wrote.
struct ExportedFiles {
  // All of it is there, and goes with it.
  TemporaryFolder folder;
  // Paths, best model first.
  std::vector<std::string> files;
  // What the user should know about them.
  std::vector<std::string> warnings;
};

// The requests are checked here; errors name the field. Thread-safe. Calls read the disk, and block where the runner's
// do.
class Experiments {
 public:
  // How long a call waits for what the runner does a moment later.
  struct Patience {
    // Until it is recorded that an experiment goes on.
    absl::Duration running = absl::Seconds(30);
    // Until an experiment that has come to its end is let go of.
    absl::Duration release = absl::Seconds(10);
    // Until the runner knows of an experiment whose journal is there.
    absl::Duration known = absl::Seconds(1);
  };
  struct Options {
    // Create makes no more where the state folder has so many.
    int max_experiments = kMaxExperiments;
    Patience patience;
    // Null where there is none: requests that need one are refused. Must outlive this.
    ModelMaker* model_maker = nullptr;
    // Null where clients cannot upload. Must outlive this.
    Uploads* uploads = nullptr;
  };

  // `runner`: null where nothing is run: requests that need one are refused. Both must outlive this.
  Experiments(StateDir state_dir, ExperimentRunner* runner, News* news) : Experiments(state_dir, runner, news, {}) {}
  Experiments(StateDir state_dir, ExperimentRunner* runner, News* news, Options options)
      : state_dir_(std::move(state_dir)), runner_(runner), news_(*news), options_(std::move(options)) {}

  absl::StatusOr<v1::CreateExperimentReply> Create(const v1::CreateExperimentRequest& request);
  // `abandoned`, here and below: see ExperimentRunner.
  absl::StatusOr<v1::ValidateExperimentReply> Validate(const v1::ValidateExperimentRequest& request,
                                                       const ExperimentRunner::Abandoned& abandoned = nullptr);
  absl::StatusOr<v1::GetExperimentReply> Get(const v1::GetExperimentRequest& request);
  absl::StatusOr<v1::ListExperimentsReply> List(const v1::ListExperimentsRequest& request);
  absl::StatusOr<v1::StopExperimentReply> Stop(const v1::StopExperimentRequest& request);
  // Returns once the journal says that the experiment runs; else the error is why it does not.
  absl::StatusOr<v1::ResumeExperimentReply> Resume(const v1::ResumeExperimentRequest& request,
                                                   const ExperimentRunner::Abandoned& abandoned = nullptr);
  absl::StatusOr<v1::DeleteExperimentReply> Delete(const v1::DeleteExperimentRequest& request);
  // The document of `trials`, or of another view of it.
  absl::StatusOr<nlohmann::ordered_json> ListTrials(const v1::ListTrialsRequest& request);
  // The same in parts: what models reported may be more than memory should hold.
  absl::StatusOr<DocumentInParts> ListTrialsInParts(const v1::ListTrialsRequest& request);
  absl::StatusOr<v1::FindPathsReply> FindPaths(const v1::FindPathsRequest& request);
  // FAILED_PRECONDITION: clients cannot upload here.
  absl::StatusOr<std::unique_ptr<Upload>> BeginUpload(v1::UploadList list);
  absl::StatusOr<v1::GetTrialReply> GetTrial(const v1::GetTrialRequest& request);
  // At most `limit` bytes (at most 1 MiB) from `offset` on. attempt 0: the last one. NOT_FOUND: no such model, attempt.
  absl::StatusOr<TrialLog> ReadLog(const ExperimentPlace& place, int model, int attempt, int64_t offset, int limit);
  // The document of `show`, and the entry of `list`, of a journal that was just opened.
  absl::StatusOr<nlohmann::ordered_json> Show(const JournalReader& reader) const;
  absl::StatusOr<nlohmann::ordered_json> Entry(const JournalReader& reader) const;
  // These two ask the ModelMaker, and may take minutes.
  absl::StatusOr<std::shared_ptr<const std::string>> Graph(const ExperimentPlace& place, int model,
                                                           const ModelMaker::Abandoned& abandoned);
  absl::StatusOr<ExportedFiles> Export(const v1::DownloadRequest& request, const ModelMaker::Abandoned& abandoned);

  // What `experiment` of a request stands for: an id, the beginning of one, or "latest".
  absl::StatusOr<ExperimentPlace> Locate(const std::string& experiment) const;
  const StateDir& state_dir() const { return state_dir_; }

  // `wake` is called, on any thread, when Next may have more; it may still come in the moment in which the watch is
  // destroyed, and must not block. Experiments that another process runs are looked at every second.
  absl::StatusOr<std::unique_ptr<ExperimentWatch>> Watch(const v1::WatchRequest& request, std::function<void()> wake);
  // Calls the `wake` of all watches.
  void WakeWatches();

 private:
  // The id that `experiment` of a request stands for.
  absl::StatusOr<std::string> Find(const std::string& experiment) const;
  // RESOURCE_EXHAUSTED: there is no room for what the request would make.
  absl::Status CheckRoom(const std::string& name, const std::string& request_id) const;
  absl::Status CheckRunner() const;
  // The options for a view of this moment, with what an experiment that runs here waits for.
  absl::StatusOr<ViewOptions> OptionsFor(const JournalReader& reader) const;
  // Whether this head has what the paths name. `shared`: what the client sees, too.
  absl::Status CheckPaths(const v1::ExperimentConfig& config,
                          const google::protobuf::RepeatedPtrField<v1::PathStamp>& shared) const;
  absl::Status CheckModelMaker() const;
  // An experiment that has come to its end here is let go of a moment later: waits for that. FAILED_PRECONDITION: it
  // still is not.
  absl::Status AwaitRelease(const std::string& id, const std::string& folder);
  // Waits until it is recorded that the experiment went on after so many changes of its state. Errors: it ended before,
  // with the reason, or nothing was recorded in time.
  absl::Status AwaitRunning(const std::string& id, const std::string& folder, size_t earlier_states);

  const StateDir state_dir_;
  ExperimentRunner* const runner_;
  News& news_;
  const Options options_;
  // Held while one is made, so that there are never more.
  std::mutex creation_;
};

}  // namespace lanista

#endif  // LANISTA_SRC_SERVICE_EXPERIMENTS_H_
