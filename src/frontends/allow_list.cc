#include "src/frontends/allow_list.h"

#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/ir/ir.h>

#include <set>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "src/base/status.h"

namespace lanista::frontends {
namespace {

namespace jit = torch::jit;

// Harmless namespaces, and what is not harmless in them.
const std::set<std::string>& Namespaces() {
  static const auto* const names = new std::set<std::string>{"aten", "prim"};
  return *names;
}

const std::set<std::string>& Refused() {
  static const auto* const names =
      new std::set<std::string>{"aten::from_file",  "aten::save",     "prim::rpc_async",  "prim::rpc_sync",
                                "prim::rpc_remote", "prim::PythonOp", "prim::CallPython", "prim::IgnoredPythonOp"};
  return *names;
}

// Classes of C++ code: their methods are no operators.
bool IsNativeClass(const c10::TypePtr& type) {
  const auto class_type = type->cast<c10::ClassType>();
  return class_type != nullptr && class_type->name().has_value() &&
         absl::StartsWith(class_type->name()->qualifiedName(), "__torch__.torch.classes");
}

class OperatorCheck {
 public:
  absl::Status CheckModule(const jit::Module& module) {
    for (const jit::Module& one : module.modules()) {
      const std::string name = one.type()->name()->qualifiedName();
      for (size_t i = 0; i < one.type()->numAttributes(); ++i) {
        const c10::TypePtr type = one.type()->getAttribute(i);
        if (IsNativeClass(type)) return Refuse(type->repr_str(), name);
      }
      for (jit::Function* const method : one.type()->methods()) LANISTA_RETURN_IF_ERROR(CheckFunction(method, name));
    }
    return absl::OkStatus();
  }

 private:
  static absl::Status Refuse(const std::string& what, const std::string& where) {
    return absl::InvalidArgumentError(
        absl::StrCat("operator '", what, "' in ", where,
                     " is refused: it may touch files, processes or other machines, or is none of LibTorch's own"));
  }

  absl::Status CheckFunction(jit::Function* function, const std::string& where) {
    auto* const graph_function = jit::tryToGraphFunction(*function);
    if (graph_function == nullptr) return Refuse(function->qualname().qualifiedName(), where);
    if (!seen_.insert(function).second) return absl::OkStatus();
    return CheckBlock(graph_function->graph()->block(), where);
  }

  absl::Status CheckBlock(const jit::Block* block, const std::string& where) {
    for (const jit::Node* const node : block->nodes()) LANISTA_RETURN_IF_ERROR(CheckNode(node, where));
    return absl::OkStatus();
  }

  absl::Status CheckNode(const jit::Node* node, const std::string& where) {
    const std::string kind = node->kind().toQualString();
    if (Namespaces().count(node->kind().ns().toUnqualString()) == 0 || Refused().count(kind) > 0) {
      return Refuse(kind, where);
    }
    for (const jit::Value* const output : node->outputs()) {
      if (IsNativeClass(output->type())) return Refuse(output->type()->repr_str(), where);
    }
    if (node->kind() == c10::prim::CallFunction) {
      if (const auto type = node->input(0)->type()->cast<c10::FunctionType>()) {
        LANISTA_RETURN_IF_ERROR(CheckFunction(type->function(), type->function()->qualname().qualifiedName()));
      }
    }
    if (node->kind() == c10::prim::CallMethod) {
      // Of any class: of modules, and of others that methods make.
      if (const auto type = node->input(0)->type()->cast<c10::ClassType>()) {
        if (jit::Function* const method = type->findMethod(node->s(c10::attr::name)); method != nullptr) {
          LANISTA_RETURN_IF_ERROR(CheckFunction(method, type->name()->qualifiedName()));
        }
      }
    }
    // What a fork runs.
    if (node->hasAttribute(c10::attr::Subgraph)) {
      LANISTA_RETURN_IF_ERROR(CheckBlock(node->g(c10::attr::Subgraph)->block(), where));
    }
    for (const jit::Block* const inner : node->blocks()) LANISTA_RETURN_IF_ERROR(CheckBlock(inner, where));
    return absl::OkStatus();
  }

  std::set<jit::Function*> seen_;
};

}  // namespace

absl::Status CheckOperators(const jit::Module& module) { return OperatorCheck().CheckModule(module); }

}  // namespace lanista::frontends
