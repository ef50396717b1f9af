// The module tree of a TorchScript file: one torch::jit::Module for each module of the model.
#ifndef LANISTA_SRC_EXPORTERS_TORCHSCRIPT_MODULES_TORCH_H_
#define LANISTA_SRC_EXPORTERS_TORCHSCRIPT_MODULES_TORCH_H_

#include <ATen/core/Tensor.h>
#include <torch/csrc/jit/api/module.h>

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "src/exporters/module_tree.h"
#include "src/exporters/source_model.h"

namespace lanista::exporters {

// Makes the opaque module at `path` of the model, with the model's weights.
using OpaqueLoader =
    std::function<absl::StatusOr<torch::jit::Module>(const v1::OpaqueModule& opaque, const std::string& path)>;

// One module of the file.
struct ScriptModule {
  torch::jit::Module module;
  // The node that calls it; nullptr for the model itself and for containers.
  const v1::Node* node = nullptr;
  // What it runs; nullptr unless it is the model or a cell.
  const v1::Graph* graph = nullptr;
  // Its own path.
  std::string path;
  // It, or a cell around it, is frozen.
  bool frozen = false;
  // It has its forward method.
  bool complete = false;
};

// Builds the tree, weights included. Operators and opaque modules get their forward methods; those of cells and of the
// model are written later, since they depend on the types of what they are called with. Used by one thread.
class ScriptModules {
 public:
  // `tensors`: the state_dict. Keeps references to all.
  ScriptModules(const SourceModel& model, const std::map<std::string, at::Tensor>& tensors, OpaqueLoader load_opaque);

  // The model itself, and all below.
  absl::StatusOr<ScriptModule*> Build();

  // The module at a path. REQUIRES: there is one.
  ScriptModule& At(const std::string& path) { return modules_.at(path); }

 private:
  torch::jit::Module NewModule(const std::string& qualified_name);
  // Adds a state tensor, and the modules between it and `owner` where its name has dots.
  void AddTensor(const std::string& name, const std::string& path, torch::jit::Module owner);
  absl::Status AddSlot(const ModuleSlot& slot, const ScriptModule& scope, torch::jit::Module owner);
  absl::StatusOr<torch::jit::Module> BuildOperator(const v1::Node& node, const std::string& path, bool frozen);
  absl::Status AddChildren(const ModuleSlot& slot, const ScriptModule& scope, const torch::jit::Module& owner);

  const SourceModel& model_;
  const std::map<std::string, at::Tensor>& tensors_;
  const OpaqueLoader load_opaque_;
  const std::shared_ptr<torch::jit::CompilationUnit> unit_;
  // By path. Nodes of a map stay where they are.
  std::map<std::string, ScriptModule> modules_;
};

}  // namespace lanista::exporters

#endif  // LANISTA_SRC_EXPORTERS_TORCHSCRIPT_MODULES_TORCH_H_
