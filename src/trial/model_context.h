// One attempt at one model, as its evaluator sees it.
#ifndef LANISTA_SRC_TRIAL_MODEL_CONTEXT_H_
#define LANISTA_SRC_TRIAL_MODEL_CONTEXT_H_

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "engines/model_builder.h"
#include "protos/trial.pb.h"
#include "src/evaluators/evaluator.h"
#include "src/goals/goals.h"
#include "src/trial/models_memory.h"
#include "src/trial/torch_device.h"
#include "src/trial/torch_guard.h"

namespace lanista {

// Adds the memory limit of `device`, if it has one, to a message that says that memory ran out.
void NameMemoryLimit(const v1::Device& device, std::string* message);

// What the contexts of a trial share. The objects that it refers to outlive the contexts.
struct TrialEnvironment {
  const v1::TrialSpec& spec;
  const v1::Device& device;
  // Of the experiment.
  const Goals& goals;
  const std::atomic<bool>& canceled;
  // Whether that model of the trial was stopped.
  std::function<bool(int model)> stopped;
  std::function<void(v1::ModelEvent event)> emit;
  // A model was built.
  std::function<void(const std::shared_ptr<nn::Model>& model)> built;
  ModelsMemory& memory;
};

// Builds the model, and emits what happens to it. Used by the trial's thread.
class ModelContext final : public TrialContext {
 public:
  // Both outlive it.
  ModelContext(const TrialEnvironment& trial, const v1::TrialModel& model);

  std::shared_ptr<nn::Model> model() override;
  const v1::Sample& sample() const override { return model_.sample(); }
  c10::Device device() const override { return TorchDevice(trial_.device); }
  uint64_t seed() const override { return model_.model_seed(); }
  uint64_t order_seed() const override { return trial_.spec.order_seed(); }
  bool canceled() const override { return trial_canceled() || stopped(); }
  std::string output_folder() override;
  std::string checkpoint_folder() override;
  bool resumed() const override { return resumed_; }
  std::string identity() const override { return identity_; }
  void ExportOnnx(const at::Tensor& example) override;
  void ReportIntermediate(const MetricMap& metrics) override;
  void ReportFinal(const MetricMap& metrics) override;

  // What its model gets and gives, where the evaluator says. Before model().
  void set_data(std::optional<v1::DataSpec> data) { data_ = std::move(data); }

  // The model's ordinal.
  int ordinal() const { return model_.model(); }

  // Whether the trial was canceled, so that all its models have to end.
  bool trial_canceled() const { return trial_.canceled.load(std::memory_order_relaxed); }
  // Whether this model was stopped, so that it has to end even if others go on.
  bool stopped() const { return trial_.stopped(model_.model()); }

  // Runs `code` as GuardTrial does. If the model was stopped, CANCELLED becomes STOPPED_EARLY. If the model's costs
  // break a limit, or are unknown though goals need them, the result is INFEASIBLE or FAILED, even if `code` has caught
  // the exception that said so.
  GuardResult Run(const std::function<absl::Status()>& code) const;

  // Finds out whether the attempt goes on from an earlier attempt's checkpoint, and emits that it began. `evaluator` is
  // null if no evaluator can read checkpoints.
  void Started(Evaluator* evaluator);

  // The evaluator is done: leaves the trained weights for exports, if they are to be kept, and counts what the model
  // costs where goals name it and the evaluator has neither built the model nor reported it. Throws as model() does.
  absl::Status Finish();

  // Emits how the attempt ended, and releases the model. The outcome is STOPPED_EARLY if the model was stopped and has
  // not failed, and FAILED if it succeeded but lacks a metric that goals name. `actual_space` is given if this
  // program's space is not the experiment's.
  void Ended(GuardResult result, const v1::SpaceSpec* actual_space = nullptr);

 private:
  // Builds the model, on the CPU, and computes its costs. Throws if the model cannot be built, or if its costs forbid
  // training it.
  std::shared_ptr<nn::Model> Build();
  // Computes `params` and, if the model is a graph and the FLOPs of all its nodes are known, `flops` of one run, and
  // emits them. Sets refused_ if the costs forbid training the model.
  void CountCosts(const nn::Model& model);
  // Whether goals name costs that are neither computed nor reported, although the model can be built.
  bool LacksCosts() const;
  // Leaves the weights of the model that the evaluator has built, if it has.
  absl::Status KeepWeights();
  // RESOURCE_EXHAUSTED if the files in the output folder are larger than allowed.
  absl::Status CheckOutputs() const;
  // Adds the costs to the final metrics; fails `result` if a metric that goals name is not among them.
  void CompleteMetrics(GuardResult* result);
  // OK if there is something to go on from; NOT_FOUND if there is nothing at all.
  absl::Status FindCheckpoint(Evaluator& evaluator);
  v1::ModelEvent NextEvent();

  const TrialEnvironment& trial_;
  const v1::TrialModel& model_;
  const std::string identity_;
  bool resumed_ = false;
  std::optional<v1::DataSpec> data_;
  // None before model(), and of a model that is not to be trained.
  std::shared_ptr<nn::Model> built_;
  bool left_weights_ = false;
  // Once it was built: the choices that it asked for.
  std::optional<v1::Sample> actual_sample_;
  // Metrics of the model itself.
  MetricMap costs_;
  // Set if the costs decide how the attempt ends, whatever the evaluator does: they break a limit, or goals name FLOPs
  // that cannot be computed.
  std::optional<GuardResult> refused_;
  std::optional<MetricMap> final_;
  // When the files of the output folder are next counted.
  std::chrono::steady_clock::time_point next_check_;
  int next_step_ = 0;
  int sequence_ = 0;
};

}  // namespace lanista

#endif  // LANISTA_SRC_TRIAL_MODEL_CONTEXT_H_
