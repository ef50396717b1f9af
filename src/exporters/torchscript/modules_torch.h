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
#include "src/exporters/common/module_tree.h"
#include "src/exporters/common/source_model.h"

namespace lanista::exporters {

// Makes the opaque module at `path` of the model, with the model's weights.
using OpaqueLoader =
    std::function<absl::StatusOr<torch::jit::Module>(const v1::OpaqueModule& opaque, const std::string& path)>;

// One module of the file.
struct ScriptModule {
  torch::jit::Module module;
  // The node that calls it; nullptr for the model itself and for modules that only hold others.
  const v1::Node* node = nullptr;
  // The graph that it runs; nullptr unless it is the model or a cell.
  const v1::Graph* graph = nullptr;
  // Its path in the model.
  std::string path;
  // It, or a cell around it, is frozen.
  bool frozen = false;
  // Its forward method has been written.
  bool complete = false;
};

// Builds the tree, weights included. Operators and opaque modules get their forward methods at once. Those of cells and
// of the model are written later, because they depend on the types of the arguments. Used by one thread.
class ScriptModules {
 public:
  // `tensors`: the state_dict. Keeps references to `model` and `tensors`.
  ScriptModules(const SourceModel& model, const std::map<std::string, at::Tensor>& tensors, OpaqueLoader load_opaque);

  // Builds the model and everything below it. The result lives as long as this object.
  absl::StatusOr<ScriptModule*> Build();

  // The module at `path`. REQUIRES: there is one.
  ScriptModule& At(const std::string& path) { return modules_.at(path); }

 private:
  torch::jit::Module NewModule(const std::string& qualified_name);
  // Adds a tensor of the state_dict; if its name has dots, also the modules between it and `owner`.
  void AddTensor(const std::string& name, const std::string& path, torch::jit::Module owner);
  absl::Status AddSlot(const ModuleSlot& slot, const ScriptModule& scope, torch::jit::Module owner);
  absl::StatusOr<torch::jit::Module> BuildOperator(const v1::Node& node, const std::string& path, bool frozen);
  absl::Status AddChildren(const ModuleSlot& slot, const ScriptModule& scope, const torch::jit::Module& owner);

  const SourceModel& model_;
  const std::map<std::string, at::Tensor>& tensors_;
  const OpaqueLoader load_opaque_;
  const std::shared_ptr<torch::jit::CompilationUnit> unit_;
  // Keyed by path. Pointers to the entries stay valid.
  std::map<std::string, ScriptModule> modules_;
};

}  // namespace lanista::exporters

#endif  // LANISTA_SRC_EXPORTERS_TORCHSCRIPT_MODULES_TORCH_H_
