// Graphs as LibTorch modules.
#ifndef LANISTA_SRC_OPS_GRAPH_MODULE_TORCH_H_
#define LANISTA_SRC_OPS_GRAPH_MODULE_TORCH_H_

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

namespace lanista::ops {

// Runs a model's nodes in order and frees each value after its last use. Its parameters and buffers have the paths of
// their nodes ("layer1.0.conv1.weight"): those of the module that was imported, opaque modules' included. Train,
// evaluate, move and (de)serialise it as any module. Used by one thread.
class GraphModule : public nn::Model {
 public:
  struct Options {
    // INIT draws weights from LibTorch's default generator, in the order of the nodes; KEEP takes those that the nodes'
    // WeightSource names, where the shapes agree. Frozen nodes, opaque modules and "Parameter" nodes always keep
    // theirs.
    v1::WeightsMode weights = v1::INIT;
  };

  // Builds `model`: valid, without choices, its archive paths absolute. Archives are read once a process, and checked
  // against their digests. INVALID_ARGUMENT names the node that cannot be built, or the archive that is not what it
  // was.
  static absl::StatusOr<std::shared_ptr<GraphModule>> Create(const v1::ModelGraph& model, const Options& options);
  ~GraphModule() override;

  // One input, one output tensor. Throws c10::Error as operators do; the message starts with the node's path.
  torch::Tensor forward(torch::Tensor input) override;

  // Any inputs and outputs, in the order of the graph's.
  std::vector<c10::IValue> Run(std::vector<c10::IValue> inputs);

  // ---- Steps, for models that share what they compute alike (engines/cgo) ----

  // All steps. Refers to graph().
  const graph::Schedule& schedule() const;
  // Whether all weights of step number `step` are those that its WeightSource names.
  bool keeps_weights(int step) const;
  // The parameters, then the buffers, of step number `step`, a module operator.
  std::vector<torch::Tensor> weights(int step) const;
  // The slots with values that steps from number `step` on, or the outputs, still need; ascending.
  std::vector<graph::Slot> NeededFrom(int step) const;
  // Runs the steps from `from` up to, not including, `to`. `values` are those of the slots `given`, which hold those of
  // NeededFrom(from). Returns the values of the slots `wanted`.
  std::vector<c10::IValue> RunSteps(int from, int to, const std::vector<graph::Slot>& given,
                                    std::vector<c10::IValue> values, const std::vector<graph::Slot>& wanted);

  // Takes the place of Run in forward.
  using Runner = std::function<std::vector<c10::IValue>(std::vector<c10::IValue> inputs)>;
  void set_runner(Runner runner) { runner_ = std::move(runner); }

  // As any module's; frozen nodes stay in evaluation mode.
  void train(bool on = true) override;
  using nn::Model::to;
  void to(torch::Device device, torch::Dtype dtype, bool non_blocking = false) override;
  void to(torch::Device device, bool non_blocking = false) override;

  // The graph that it runs.
  const v1::ModelGraph& graph() const;

  // Nodes whose imported weights could not be kept, and the like.
  const std::vector<std::string>& warnings() const;

  // All parameters and buffers, in a file that Python's torch.load(weights_only=True) and Load take.
  absl::Status Save(const std::string& path) const;
  // The same as one of several files.
  absl::Status Save(OutputFile* file) const;
  // INVALID_ARGUMENT names the parameter that is missing, unknown or of another shape.
  absl::Status Load(const std::string& path);

 private:
  class Impl;
  GraphModule();
  std::unique_ptr<Impl> impl_;
  Runner runner_;
};

}  // namespace lanista::ops

#endif  // LANISTA_SRC_OPS_GRAPH_MODULE_TORCH_H_
