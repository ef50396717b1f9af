// Evaluators train and score a model.
#ifndef LANISTA_SRC_EVALUATORS_EVALUATOR_H_
#define LANISTA_SRC_EVALUATORS_EVALUATOR_H_

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "protos/experiment.pb.h"
#include "protos/space.pb.h"
#include "protos/trial.pb.h"
#include "src/base/registry.h"

namespace lanista {

namespace nn {
class Model;
}  // namespace nn

// Named scalars that a trial reports; `default` is what the strategy sees.
using MetricMap = std::map<std::string, double>;

// What a trial tells its evaluator and what the evaluator tells the experiment (NNI: the trial's environment and
// nni.report_*). Lives as long as the trial; used by the trial's thread.
class TrialContext {
 public:
  virtual ~TrialContext() = default;

  // The model that this trial trains, on device(), in training mode. The first call builds it from the trial's sample
  // and draws its weights from seed(). Throws what the model's constructor throws. Also throws if the model's costs
  // break a limit: the attempt then ends as INFEASIBLE, even if the evaluator catches the exception. If the evaluator
  // never calls this, no model is built, unless objectives or limits name costs.
  virtual std::shared_ptr<nn::Model> model() = 0;

  // The choices of the model.
  virtual const v1::Sample& sample() const = 0;

  // The device on which the model's tensors must be.
  virtual c10::Device device() const = 0;

  // The model's own seed: initial weights and random stream. LibTorch's default generator is already seeded with it.
  virtual uint64_t seed() const = 0;

  // The seed of split, shuffling and augmentation: the same for all models of the experiment.
  virtual uint64_t order_seed() const = 0;

  // A folder of this attempt's own, made on the first call (NNI_OUTPUT_DIR).
  virtual std::string output_folder() = 0;

  // A folder for checkpoints, from which the model's next attempt can go on if this one is lost. All attempts of the
  // model have the same folder; other models have others. Made on the first call, removed when the model has its
  // outcome. Write each file under another name first and rename it, because the process may be killed at any moment.
  // Empty: no checkpoints are kept.
  virtual std::string checkpoint_folder() { return ""; }

  // True if an earlier attempt left something in checkpoint_folder() that the evaluator's CheckCheckpoint accepted. The
  // reports of the steps that are recorded already are then part of the model's results. An evaluator that goes on
  // reports all steps again, from step 0 on, those behind its checkpoint with the metrics that it has kept there: the
  // context leaves out those that are recorded, whose metrics must be the same.
  virtual bool resumed() const { return false; }

  // A digest of all that decides the model's results: seeds, sample, space, evaluator, program, LibTorch's version,
  // kind of device. Store it in checkpoints: a checkpoint with another identity belongs to another model or program.
  virtual std::string identity() const { return ""; }

  // Writes model(), with its present weights and in evaluation mode, to model.onnx in the output folder (NNI:
  // export_onnx). `example` is an input as the model gets it, a batch of any size. Does nothing if the model is no
  // graph or the experiment keeps no weights. If ONNX cannot express the model, the attempt's log says why.
  virtual void ExportOnnx(const at::Tensor& /*example*/) {}

  // True once this model should end: the trial was canceled, or early stopping has stopped the model (its outcome is
  // then already decided). Training loops check this in each batch. If it is true, functions return, and classes return
  // absl::CancelledError(); they need not report anything. A process that does not return is killed after a few
  // seconds. For models that are trained together, ModelGroup::canceled() tells whether all of them should end.
  virtual bool canceled() const = 0;

  // Reports a metric during training, once an epoch for example. The first report has step 0 (also after resumed()).
  // Throws NanMetricError if the value is NaN or infinite: the trial then fails.
  virtual void ReportIntermediate(const MetricMap& metrics) = 0;
  // The same, of the metric `default` alone.
  void ReportIntermediate(double value) { ReportIntermediate(MetricMap{{"default", value}}); }

  // Reports the result. To be called once; the metrics must include `default`. NaN and infinite values as above.
  virtual void ReportFinal(const MetricMap& metrics) = 0;
  // The same, of the metric `default` alone.
  void ReportFinal(double value) { ReportFinal(MetricMap{{"default", value}}); }
};

// Thrown where a loss or metric is NaN or infinite; the attempt fails with reason NAN_LOSS.
class NanMetricError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Trains and scores models, one trial after the other; may keep what serves all trials (an open dataset). Used by one
// thread.
class Evaluator {
 public:
  virtual ~Evaluator() = default;

  // Checks what can be checked without a model: that fields are in range, and that files exist. Called when a config is
  // validated.
  virtual absl::Status Prepare(uint64_t order_seed) = 0;

  // Checks whether models of `space` can be scored; called when a config is validated, once its space is known. May add
  // warnings. Prepare was called.
  virtual absl::Status CheckSpace(v1::SpaceSpec* /*space*/) { return absl::OkStatus(); }

  // The files whose content decides the results, with the digests of the content that Prepare has read. An experiment
  // is resumed only if the files are still the same.
  virtual std::vector<v1::FileDigest> Files() const { return {}; }

  // Tries `model`, which is on `device`, on a sample, without training it: an error tells what every trial of it
  // would fail with. FAILED_PRECONDITION: the space is wrong, whatever other models do. UNIMPLEMENTED: the evaluator
  // has no samples of its own. Prepare was called.
  virtual absl::Status Try(nn::Model& /*model*/, c10::Device /*device*/) { return absl::UnimplementedError(""); }

  // Describes the models' inputs and outputs, for spaces whose sizes follow the data and for users of a trained model;
  // nullopt if the evaluator does not know them. Prepare was called.
  virtual std::optional<v1::DataSpec> Data() const { return std::nullopt; }

  // Whether a trial of `context` can go on from what an earlier attempt left in the context's checkpoint folder; asked
  // before the attempt begins, if there is something. An error says why not, for the attempt's log: the attempt begins
  // anew then, as if the folder were empty. Draws no random numbers and does not ask for the model. Prepare was called.
  virtual absl::Status CheckCheckpoint(TrialContext& /*context*/) { return absl::OkStatus(); }

  // Trains and scores `context.model()`, reports through the context. Prepare was called. An error, or anything thrown,
  // fails the attempt; so does a return without ReportFinal. DATA_LOSS says that the data cannot be read, which no
  // other model could either: the experiment ends.
  virtual absl::Status Evaluate(TrialContext& context) = 0;
};

// Factories take the evaluator's message.
using EvaluatorRegistry = Registry<Evaluator, v1::EvaluatorConfig>;

// The models of a trial, which are trained together; numbered from 0. Used by the trial's thread.
class ModelGroup {
 public:
  virtual ~ModelGroup() = default;

  // The number of models, those included that were removed.
  virtual int size() const = 0;

  // The model's own context, which has its sample and seed and takes its metrics. The model must be built in a Step.
  virtual TrialContext& context(int model) = 0;

  // False once the model was removed from the group: it failed, early stopping has stopped it, or another model failed
  // and the group ended. It gets no more steps, and whatever is kept for it may be released.
  virtual bool active(int model) const = 0;

  // True once all models should end. Check it in each batch, and return absl::CancelledError() if it is true. If only
  // one model was stopped (canceled() of its context), its next Step removes it, and the others go on.
  virtual bool canceled() const = 0;

  // Whether a model is still in the group.
  bool any_active() const {
    for (int model = 0; model < size(); ++model) {
      if (active(model)) return true;
    }
    return false;
  }

  // Runs `step`, which must change nothing but one active model, with that model's own random stream as LibTorch's
  // default generator. If `step` throws or returns an error, the model is removed from the group. If the model was
  // stopped, it is removed without a call of `step`. The result concerns the group: an error ends it.
  virtual absl::Status Step(int model, const std::function<absl::Status()>& step) = 0;
};

// An evaluator that trains the models of a merged trial together (engine cgo; NNI: multi-model trainer), and one model
// as a group of one. Promise: a model's metrics are the same in any group.
class MultiModelEvaluator : public Evaluator {
 public:
  // Trains and scores the models of `group`, each in steps of its own, and reports through their contexts. Prepare was
  // called. Returns once no model is active. After an error all models that are active run again, each alone. Frozen
  // weights and shared batches are one tensor for all models of the group: nobody may change them.
  virtual absl::Status EvaluateTogether(ModelGroup& group) = 0;

  absl::Status Evaluate(TrialContext& context) final;
};

}  // namespace lanista

#endif  // LANISTA_SRC_EVALUATORS_EVALUATOR_H_
