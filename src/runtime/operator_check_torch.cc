#include "src/runtime/operator_check_torch.h"

#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/ir/ir.h>

#include <string>

#include "absl/strings/match.h"
#include "src/base/status.h"
#include "src/graph/allowed_operators.h"

namespace lanista::runtime {
namespace {

namespace jit = torch::jit;

// Classes that are implemented in C++: their methods are not operators, so CheckOperatorAllowed does not cover them.
bool IsNativeClass(const c10::TypePtr& type) {
  const auto class_type = type->cast<c10::ClassType>();
  return class_type != nullptr && class_type->name().has_value() &&
         absl::StartsWith(class_type->name()->qualifiedName(), "__torch__.torch.classes");
}

absl::Status CheckBlock(const jit::Block* block);

absl::Status CheckNode(const jit::Node* node) {
  LANISTA_RETURN_IF_ERROR(graph::CheckOperatorAllowed(node->kind().toQualString()));
  for (const jit::Value* const output : node->outputs()) {
    if (IsNativeClass(output->type())) return graph::OperatorRefused(output->type()->repr_str());
  }
  // The code that prim::fork runs.
  if (node->hasAttribute(c10::attr::Subgraph)) {
    LANISTA_RETURN_IF_ERROR(CheckBlock(node->g(c10::attr::Subgraph)->block()));
  }
  for (const jit::Block* const inner : node->blocks()) LANISTA_RETURN_IF_ERROR(CheckBlock(inner));
  return absl::OkStatus();
}

absl::Status CheckBlock(const jit::Block* block) {
  for (const jit::Node* const node : block->nodes()) LANISTA_RETURN_IF_ERROR(CheckNode(node));
  return absl::OkStatus();
}

// The class of a method, or the name of a function.
std::string PlaceOf(const jit::Function& function) {
  const std::string prefix = function.qualname().prefix();
  return prefix.empty() ? function.qualname().qualifiedName() : prefix;
}

absl::Status CheckFunction(jit::Function* function) {
  function->ensure_defined();
  const auto* const graph_function = jit::tryToGraphFunction(*function);
  if (graph_function == nullptr) {
    return Annotate(graph::OperatorRefused(function->qualname().qualifiedName()), PlaceOf(*function));
  }
  return Annotate(CheckBlock(graph_function->graph()->block()), PlaceOf(*function));
}

}  // namespace

absl::Status CheckOperators(const jit::Module& module) {
  for (const jit::Module& one : module.modules()) {
    for (size_t i = 0; i < one.type()->numAttributes(); ++i) {
      const c10::TypePtr type = one.type()->getAttribute(i);
      if (IsNativeClass(type)) {
        return Annotate(graph::OperatorRefused(type->repr_str()), one.type()->name()->qualifiedName());
      }
    }
  }
  // Checks all functions, because following calls would miss those through interfaces. A loaded file has a compilation
  // unit of its own, which holds all code that the file can reach.
  for (jit::Function* const function : module._ivalue()->compilation_unit()->get_functions()) {
    LANISTA_RETURN_IF_ERROR(CheckFunction(function));
  }
  return absl::OkStatus();
}

}  // namespace lanista::runtime
