// Builds what a graph's steps run: modules with their weights, aten calls, opaque modules, tensors.
#ifndef LANISTA_SRC_RUNTIME_GRAPH_BUILDER_TORCH_H_
#define LANISTA_SRC_RUNTIME_GRAPH_BUILDER_TORCH_H_

#include <torch/csrc/jit/api/module.h>
#include <torch/nn/module.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "protos/experiment.pb.h"
#include "protos/graph.pb.h"
#include "src/graph/schedule.h"
#include "src/ops/registry_torch.h"
#include "src/runtime/archive_torch.h"
#include "src/runtime/program_torch.h"

namespace lanista::runtime {

// A graph that has been built. It is not copied or moved, because `schedule` and `program` point into it.
struct BuiltGraph {
  explicit BuiltGraph(const v1::ModelGraph& model) : graph(model) {}
  BuiltGraph(const BuiltGraph&) = delete;
  BuiltGraph& operator=(const BuiltGraph&) = delete;

  // A module operator.
  struct Module {
    std::unique_ptr<ops::OpModule> module;
    bool frozen = false;
    // All weights were taken from the archive.
    bool kept = false;
  };
  struct Opaque {
    torch::jit::Module module;
    bool frozen = false;
  };

  v1::ModelGraph graph;
  graph::Schedule schedule;
  Program program;
  // Keyed by path.
  std::map<std::string, Module> modules;
  std::map<std::string, Opaque> opaque;
  // The archives of the graph that are in use, by index. Holding them ensures that the model uses one reading of each
  // file.
  std::map<int, std::shared_ptr<const Archive>> archives;
  // For the user.
  std::vector<std::string> warnings;
};

// Builds built->graph, and registers modules, parameters and buffers with `owner` under their paths. `weights` as in
// GraphModule::Options. INVALID_ARGUMENT names the node that cannot be built; errors of Archive::Open name the file.
// May throw c10::Error.
absl::Status BuildGraph(torch::nn::Module* owner, v1::SpaceConfig::Weights weights, BuiltGraph* built);

}  // namespace lanista::runtime

#endif  // LANISTA_SRC_RUNTIME_GRAPH_BUILDER_TORCH_H_
