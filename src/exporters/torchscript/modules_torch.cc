#include "src/exporters/torchscript/modules_torch.h"

#include <ATen/core/jit_type.h>
#include <torch/csrc/jit/api/compilation_unit.h>

#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "src/base/status.h"
#include "src/exporters/common/source_names.h"
#include "src/exporters/torchscript/source.h"
#include "src/graph/graph.h"

namespace lanista::exporters {
namespace {

// An attribute as a class constant, like the hyper-parameters that torch.jit.script writes: lists become tuples.
c10::optional<c10::IValue> ClassConstant(const v1::Value& value) {
  switch (value.kind_case()) {
    case v1::Value::kI:
      return c10::IValue(static_cast<int64_t>(value.i()));
    case v1::Value::kF:
      return c10::IValue(value.f());
    case v1::Value::kB:
      return c10::IValue(value.b());
    case v1::Value::kS:
      return c10::IValue(value.s());
    case v1::Value::kList: {
      std::vector<c10::IValue> elements;
      for (const v1::Value& element : value.list().values()) {
        c10::optional<c10::IValue> converted = ClassConstant(element);
        if (!converted) return c10::nullopt;
        elements.push_back(*std::move(converted));
      }
      return c10::IValue(c10::ivalue::Tuple::create(std::move(elements)));
    }
    default:
      return c10::nullopt;
  }
}

// Parameters that a flag of the module leaves out: torch.nn sets them to None.
std::vector<std::string> AbsentParameters(const graph::OpSchema& schema) {
  std::vector<std::string> names;
  const bool affine =
      schema.FindAttribute("affine") != nullptr || schema.FindAttribute("elementwise_affine") != nullptr;
  if (affine) names.push_back("weight");
  if (affine || (schema.FindAttribute("bias") != nullptr && schema.FindAttribute("hidden_size") == nullptr)) {
    names.push_back("bias");
  }
  if (schema.FindAttribute("track_running_stats") != nullptr) {
    names.insert(names.end(), {"running_mean", "running_var", "num_batches_tracked"});
  }
  return names;
}

}  // namespace

ScriptModules::ScriptModules(const SourceModel& model, const std::map<std::string, at::Tensor>& tensors,
                             OpaqueLoader load_opaque)
    : model_(model),
      tensors_(tensors),
      load_opaque_(std::move(load_opaque)),
      unit_(std::make_shared<torch::jit::CompilationUnit>()) {}

absl::StatusOr<ScriptModule*> ScriptModules::Build() {
  const std::string& name = model_.graph.name();
  ScriptModule& root = modules_[""];
  root.module = NewModule(ToClassName(name.empty() ? "Model" : name));
  root.graph = &graph::RootGraph(model_.graph);
  LANISTA_RETURN_IF_ERROR(AddChildren(ModulesOf(model_.graph, *root.graph), root, root.module));
  return &root;
}

torch::jit::Module ScriptModules::NewModule(const std::string& qualified_name) {
  torch::jit::Module module(c10::QualifiedName(absl::StrCat("__torch__.", qualified_name)), unit_, true);
  module.register_attribute("training", c10::BoolType::get(), false);
  return module;
}

void ScriptModules::AddTensor(const std::string& name, const std::string& path, torch::jit::Module owner) {
  const std::vector<std::string> parts = absl::StrSplit(name, '.');
  for (size_t i = 0; i + 1 < parts.size(); ++i) {
    if (!owner.hasattr(parts[i])) owner.register_module(parts[i], NewModule("torch.nn.modules.module.Module"));
    owner = owner.attr(parts[i]).toModule();
  }
  owner.register_parameter(parts.back(), tensors_.at(path), model_.tensors.at(path).buffer);
}

absl::Status ScriptModules::AddChildren(const ModuleSlot& slot, const ScriptModule& scope,
                                        const torch::jit::Module& owner) {
  for (const auto& child : slot.children) LANISTA_RETURN_IF_ERROR(AddSlot(*child, scope, owner));
  return absl::OkStatus();
}

absl::Status ScriptModules::AddSlot(const ModuleSlot& slot, const ScriptModule& scope, torch::jit::Module owner) {
  const std::string path = graph::JoinPath(scope.path, slot.path);
  if (PythonKeywords().count(slot.name) > 0) {
    return absl::UnimplementedError(absl::StrCat("node '", path, "': TorchScript cannot name a module '", slot.name,
                                                 "', a word of its own; rename the node"));
  }
  if (slot.node != nullptr && IsBuiltIn(*slot.node)) {
    // Constants that are not in the state_dict are written into the code.
    if (tensors_.count(path) > 0) AddTensor(slot.name, path, owner);
    return absl::OkStatus();
  }
  ScriptModule& current = modules_[path];
  current.node = slot.node;
  current.path = path;
  current.frozen = scope.frozen || (slot.node != nullptr && slot.node->frozen());
  if (slot.node == nullptr) {
    current.module =
        NewModule(slot.IsList() ? "torch.nn.modules.container.ModuleList" : "torch.nn.modules.module.Module");
  } else if (slot.node->has_cell()) {
    const std::string& name = slot.node->cell().graph();
    current.graph = graph::FindGraph(model_.graph, name);
    if (current.graph == nullptr) return absl::InvalidArgumentError(absl::StrCat("there is no graph '", name, "'"));
    current.module = NewModule(ToClassName(name));
    LANISTA_RETURN_IF_ERROR(AddChildren(ModulesOf(model_.graph, *current.graph), current, current.module));
  } else {
    absl::StatusOr<torch::jit::Module> made = slot.node->has_opaque() ? load_opaque_(slot.node->opaque(), path)
                                                                      : BuildOperator(*slot.node, path, current.frozen);
    if (!made.ok()) return Annotate(made.status(), absl::StrCat("node '", path, "'"));
    current.module = *std::move(made);
    current.complete = true;
  }
  LANISTA_RETURN_IF_ERROR(AddChildren(slot, scope, current.module));
  owner.register_module(slot.name, current.module);
  return absl::OkStatus();
}

absl::StatusOr<torch::jit::Module> ScriptModules::BuildOperator(const v1::Node& node, const std::string& path,
                                                                bool frozen) {
  const graph::OpSchema* const schema = model_.find_op(node.op().type());
  if (schema == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat("operator '", node.op().type(), "' is unknown"));
  }
  const graph::Attributes attributes(*schema, node.op());
  LANISTA_ASSIGN_OR_RETURN(const std::string source, TorchScriptForward(*schema, attributes, node, frozen));
  torch::jit::Module module = NewModule(TorchClass(*schema));
  std::set<std::string> taken;
  for (const graph::ParameterSpec& parameter : schema->Parameters(attributes)) {
    const std::string full = graph::JoinPath(path, parameter.name);
    if (tensors_.count(full) == 0) return absl::InternalError(absl::StrCat("the model has no tensor '", full, "'"));
    AddTensor(parameter.name, full, module);
    taken.insert(parameter.name);
  }
  for (const std::string& name : AbsentParameters(*schema)) {
    if (taken.insert(name).second) module.register_attribute(name, c10::NoneType::get(), c10::IValue());
  }
  for (const graph::AttributeSpec& attribute : schema->attributes()) {
    if (!taken.insert(attribute.name).second) continue;
    const c10::optional<c10::IValue> constant = ClassConstant(attributes.Get(attribute.name));
    if (constant) module.type()->addConstant(attribute.name, *constant);
  }
  module.define(source);
  return module;
}

}  // namespace lanista::exporters
