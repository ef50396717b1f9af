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
#include "nlohmann/json.hpp"
#include "protos/service.pb.h"
#include "src/service/experiment_runner.h"
#include "src/service/news.h"
#include "src/storage/state_dir.h"

namespace lanista {

// A place in the history of one experiment. It holds a number: a watcher that reads slowly costs nothing, and one that
// comes late gets everything, once. Used by one thread at a time.
class ExperimentWatch {
 public:
  struct Batch {
    // In their order; each was recorded before.
    std::vector<v1::ExperimentEvent> events;
    // The experiment has come to its end, and these are the last.
    bool ended = false;
  };

  // What comes next, at most some hundred events. Empty: nothing yet, and the watch will be woken. ABORTED: nobody runs
  // the experiment any more, and all that was recorded has been given. Reads the disk and does not wait.
  absl::StatusOr<Batch> Next();

 private:
  friend class Experiments;

  ExperimentWatch(std::string folder, int64_t after) : folder_(std::move(folder)), after_(after) {}

  const std::string folder_;
  // The number of the last event that was given.
  int64_t after_;
  std::shared_ptr<News::Waiter> waiter_;
};

// Of a state folder, unless the user of `serve` says otherwise.
inline constexpr int kMaxExperiments = 10000;

// The requests are checked here; errors name the field. Thread-safe. Calls read the disk, and block where the runner's
// do.
class Experiments {
 public:
  // `runner`: null where nothing is run: requests that need one are refused. Both must outlive this. `max_experiments`:
  // Create makes no more where the state folder has so many.
  Experiments(StateDir state_dir, ExperimentRunner* runner, News* news, int max_experiments = kMaxExperiments)
      : state_dir_(std::move(state_dir)), runner_(runner), news_(*news), max_experiments_(max_experiments) {}

  absl::StatusOr<v1::CreateExperimentReply> Create(const v1::CreateExperimentRequest& request);
  absl::StatusOr<v1::ValidateExperimentReply> Validate(const v1::ValidateExperimentRequest& request);
  absl::StatusOr<v1::GetExperimentReply> Get(const v1::GetExperimentRequest& request);
  absl::StatusOr<v1::ListExperimentsReply> List(const v1::ListExperimentsRequest& request);
  absl::StatusOr<v1::StopExperimentReply> Stop(const v1::StopExperimentRequest& request);
  absl::StatusOr<v1::ResumeExperimentReply> Resume(const v1::ResumeExperimentRequest& request);
  absl::StatusOr<v1::DeleteExperimentReply> Delete(const v1::DeleteExperimentRequest& request);
  // The document of `trials`.
  absl::StatusOr<nlohmann::ordered_json> ListTrials(const v1::ListTrialsRequest& request);
  absl::StatusOr<v1::GetTrialReply> GetTrial(const v1::GetTrialRequest& request);

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

  const StateDir state_dir_;
  ExperimentRunner* const runner_;
  News& news_;
  const int max_experiments_;
  // Held while one is made, so that there are never more.
  std::mutex creation_;
};

}  // namespace lanista

#endif  // LANISTA_SRC_SERVICE_EXPERIMENTS_H_
