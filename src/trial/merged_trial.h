// Several models in one trial.
#ifndef LANISTA_SRC_TRIAL_MERGED_TRIAL_H_
#define LANISTA_SRC_TRIAL_MERGED_TRIAL_H_

#include <ATen/core/Tensor.h>
#include <c10/core/ScalarType.h>

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "src/evaluators/evaluator.h"
#include "src/trial/model_context.h"
#include "src/trial/torch_guard.h"

namespace lanista {

// Keeps the models of a trial apart: each has its own random stream and LibTorch settings, and what one of them throws
// ends its attempt, not the others'. Unless bad models are dropped, the others' attempts end with it, as UNMERGED. A
// model that was stopped leaves at its next step, and one that breaks a limit on its costs when it is built; neither
// ends anybody else's attempt. Used by the trial's thread.
class MergedTrial final : public ModelGroup {
 public:
  MergedTrial(std::vector<std::unique_ptr<ModelContext>> contexts, bool drop_bad_models);

  int size() const override { return static_cast<int>(members_.size()); }
  TrialContext& context(int model) override { return *member(model).context; }
  bool active(int model) const override { return members_[static_cast<size_t>(model)].active; }
  bool canceled() const override { return members_.front().context->trial_canceled(); }
  absl::Status Step(int model, const std::function<absl::Status()>& step) override;

  // Before their first step.
  void SetData(const std::optional<v1::DataSpec>& data) {
    for (Member& one : members_) one.context->set_data(data);
  }

  // The evaluator is done: finishes and ends the attempts of those that are active, one by one.
  absl::Status Finish();

  // Ends the attempts of the models that are still active, with the outcome of `result`. If `result` is a failure, they
  // end as UNMERGED: the failure of the group does not tell which model is bad.
  void Ended(const GuardResult& result);

 private:
  // The state of LibTorch that each model has for itself: it is saved and restored around a model's steps.
  struct TorchState {
    // States of the default generators: the CPU's and, if the device is another one, the device's.
    std::vector<at::Tensor> random;
    bool grad_mode = true;
    caffe2::TypeMeta default_dtype;
    int threads = 1;
  };
  class TorchScope;

  struct Member {
    std::unique_ptr<ModelContext> context;
    // Saved while other models run; absent before its first step.
    std::optional<TorchState> torch;
    bool active = true;
  };

  Member& member(int model) { return members_[static_cast<size_t>(model)]; }
  void EndOne(Member& member, const GuardResult& result);

  const bool drop_bad_models_;
  std::vector<Member> members_;
};

}  // namespace lanista

#endif  // LANISTA_SRC_TRIAL_MERGED_TRIAL_H_
