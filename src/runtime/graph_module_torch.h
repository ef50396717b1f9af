// Graphs as LibTorch modules.
#ifndef LANISTA_SRC_RUNTIME_GRAPH_MODULE_TORCH_H_
#define LANISTA_SRC_RUNTIME_GRAPH_MODULE_TORCH_H_

#include <ATen/core/ivalue.h>
#include <torch/nn/module.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "protos/experiment.pb.h"
#include "protos/graph.pb.h"
#include "src/graph/schedule.h"
#include "src/nn/model.h"

namespace lanista {
class OutputFile;
}

namespace lanista::runtime {

// Runs a model's nodes in order and frees each value after its last use. Parameters and buffers are named after their
// nodes ("layer1.0.conv1.weight"), as in the imported module; those of opaque modules too. Train, evaluate, move and
// (de)serialise it like any module. Used by one thread.
class GraphModule : public nn::Model {
 public:
  struct Options {
    // INIT draws weights from LibTorch's default generator, in the order of the nodes; KEEP takes the weights that the
    // nodes' WeightSource names, if the shapes agree. Frozen nodes, opaque modules and "Parameter" nodes always keep
    // theirs.
    v1::SpaceConfig::Weights weights = v1::SpaceConfig::INIT;
  };

  // Builds `model`, which must be valid, without choices, and with absolute archive paths. An archive that is in use is
  // not read again; digests are checked. INVALID_ARGUMENT names the node that cannot be built; errors of Archive::Open
  // name the file. The result is on the CPU and in training mode.
  static absl::StatusOr<std::shared_ptr<GraphModule>> Create(const v1::ModelGraph& model, const Options& options);
  ~GraphModule() override;

  // For models with one input and one output tensor. Throws c10::Error as operators do; the message starts with the
  // node's path.
  torch::Tensor forward(torch::Tensor input) override;

  // For any number of inputs and outputs, in the order of the graph's.
  std::vector<c10::IValue> Run(std::vector<c10::IValue> inputs);

  // ---- Steps, for models that share equal computations (engines/cgo) ----

  // All steps. The result refers to graph() and lives as long as this module.
  const graph::Schedule& schedule() const;
  // Whether all weights of step number `step` were taken from its WeightSource.
  bool keeps_weights(int step) const;
  // The parameters, then the buffers, of step number `step`. REQUIRES: the step is a module operator.
  std::vector<torch::Tensor> weights(int step) const;
  // The slots whose values are known before step number `step` and needed by it, later steps or the outputs; ascending.
  std::vector<graph::Slot> NeededFrom(int step) const;
  // Runs the steps from `from` up to, but not including, `to`. `values` are the values of the slots `given`, which must
  // contain those of NeededFrom(from). Returns the values of the slots `wanted`.
  std::vector<c10::IValue> RunSteps(int from, int to, const std::vector<graph::Slot>& given,
                                    std::vector<c10::IValue> values, const std::vector<graph::Slot>& wanted);

  // forward calls `runner` instead of Run.
  using Runner = std::function<std::vector<c10::IValue>(std::vector<c10::IValue> inputs)>;
  void set_runner(Runner runner) { runner_ = std::move(runner); }

  // As for any module, but frozen nodes stay in evaluation mode.
  void train(bool on = true) override;
  using nn::Model::to;
  void to(torch::Device device, torch::Dtype dtype, bool non_blocking = false) override;
  void to(torch::Device device, bool non_blocking = false) override;

  // The graph that this module runs.
  const v1::ModelGraph& graph() const;

  // For the user: nodes whose imported weights could not be kept, and similar warnings.
  const std::vector<std::string>& warnings() const;

  // Writes all parameters and buffers to a file that Python's torch.load(weights_only=True) and Load read.
  absl::Status Save(const std::string& path) const;
  // The same as one of several files.
  absl::Status Save(OutputFile* file) const;
  // Reads such a file. INVALID_ARGUMENT names the parameters that are missing, unknown or of another shape.
  absl::Status Load(const std::string& path);

 private:
  struct Impl;
  GraphModule();
  std::unique_ptr<Impl> impl_;
  Runner runner_;
};

}  // namespace lanista::runtime

#endif  // LANISTA_SRC_RUNTIME_GRAPH_MODULE_TORCH_H_
