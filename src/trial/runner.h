// Executes the requests of the trial protocol.
#ifndef LANISTA_SRC_TRIAL_RUNNER_H_
#define LANISTA_SRC_TRIAL_RUNNER_H_

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "protos/trial.pb.h"
#include "src/evaluators/evaluator.h"
#include "src/nn/construction.h"
#include "src/trial_process/request_handler.h"

namespace lanista {

class ModelBuilder;
class ModelContext;

// Runs trials, on the main thread of a trial process or on a thread of the head (isolation: IN_PROCESS).
class TrialRunner final : public RequestHandler {
 public:
  // `redirect_output`: stdout and stderr of the process go to each attempt's log file.
  TrialRunner(Emit emit, bool redirect_output);
  ~TrialRunner() override;

  void Handle(const v1::TrialRequest& request) override;
  void Cancel(const v1::CancelTrial& cancel) override;
  void Stop(const v1::StopModel& stop) override;

 private:
  // Whether this model of the current trial was stopped.
  bool IsStopped(int model);
  void SetUp(const v1::Setup& setup);
  void Discover(const v1::Discover& request);
  absl::Status TryModels(const v1::Discover& request, ModelBuilder& builder, Evaluator& evaluator,
                         v1::SpaceSpec* space);
  void Run(const v1::TrialSpec& spec);
  void RunModels(const v1::TrialSpec& spec);
  // REQUIRES, here and below: `evaluator` is prepared, or the trial is canceled.
  void RunAlone(const v1::TrialSpec& spec, Evaluator* evaluator, ModelContext& context);
  void RunMerged(const v1::TrialSpec& spec, Evaluator* evaluator, std::vector<std::unique_ptr<ModelContext>> contexts);
  // Why this process should be replaced: its memory grew too much. Empty: it should not.
  std::string OutgrownBecause() const;
  // OK if this program's space is the experiment's; else an error, and `here` gets this program's space if it is known.
  absl::Status CheckSpace(const v1::TrialSpec& spec, const Evaluator* evaluator, v1::SpaceSpec* here);
  // The evaluator that `config` names, prepared; kept for the next trial.
  absl::StatusOr<Evaluator*> PreparedEvaluator(const v1::EvaluatorConfig& config, uint64_t order_seed);

  const Emit emit_;
  const bool redirect_output_;
  const nn::SearchGuard search_;
  v1::Device device_;
  // Whether the current trial is canceled: asked every batch.
  std::atomic<bool> canceled_{false};
  std::mutex mutex_;
  // Protected by mutex_. The trial that runs, and the last that was canceled (perhaps before it ran), as CancelTrial
  // names them.
  v1::CancelTrial current_trial_;
  v1::CancelTrial canceled_trial_;
  // Models that were stopped: of the trial that runs or is the next to come.
  std::vector<v1::StopModel> stops_;

  // What the last trial left for the next.
  std::unique_ptr<Evaluator> evaluator_;
  std::string evaluator_key_;
  // Private bytes of the process in memory after its evaluator was prepared: they stay from trial to trial.
  int64_t prepared_bytes_ = 0;
  std::string checked_space_;
};

}  // namespace lanista

#endif  // LANISTA_SRC_TRIAL_RUNNER_H_
