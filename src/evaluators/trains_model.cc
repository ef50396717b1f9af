#include "src/evaluators/trains_model.h"

#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/accumulate_grad.h>
#include <torch/nn/module.h>

#include <set>
#include <string>
#include <unordered_set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "src/nn/registration_check.h"

namespace lanista {
namespace {

using torch::autograd::AccumulateGrad;
using torch::autograd::Node;

// What the graph of a loss ends in beside parameters.
struct Strangers {
  std::vector<at::Tensor> tensors;
  // The operators that use them: "AddmmBackward0".
  std::set<std::string> users;
};

Strangers FindStrangers(const at::Tensor& loss, const torch::nn::Module& model) {
  std::unordered_set<const c10::TensorImpl*> parameters;
  for (const at::Tensor& parameter : model.parameters()) parameters.insert(parameter.unsafeGetTensorImpl());
  Strangers strangers;
  std::unordered_set<const Node*> seen;
  std::vector<Node*> open{loss.grad_fn().get()};
  while (!open.empty()) {
    Node* const node = open.back();
    open.pop_back();
    for (const torch::autograd::Edge& edge : node->next_edges()) {
      Node* const next = edge.function.get();
      if (next == nullptr) continue;
      const bool is_new = seen.insert(next).second;
      if (const auto* const leaf = dynamic_cast<const AccumulateGrad*>(next)) {
        if (parameters.count(leaf->variable.unsafeGetTensorImpl()) > 0) continue;
        strangers.users.insert(node->name());
        if (is_new) strangers.tensors.push_back(leaf->variable);
      } else if (is_new) {
        open.push_back(next);
      }
    }
  }
  return strangers;
}

}  // namespace

absl::Status CheckTrainsModel(const at::Tensor& loss, const torch::nn::Module& model) {
  if (loss.requires_grad() && loss.grad_fn() != nullptr) {
    const Strangers strangers = FindStrangers(loss, model);
    if (strangers.tensors.empty()) return absl::OkStatus();
    return absl::FailedPreconditionError(
        absl::StrCat("the loss of ", nn::ClassName(model),
                     " depends on tensors that require gradients and are no parameters of the "
                     "model (",
                     nn::DescribeShapes(strangers.tensors), "; used by ", absl::StrJoin(strangers.users, ", "),
                     "): no optimizer would train them. Make layers in the constructor and register each: hidden_ = "
                     "register_module(\"hidden\", torch::nn::Linear(784, 64))"));
  }
  if (model.parameters().empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("the model ", nn::ClassName(model),
                     " has no parameters: there is nothing to train. Register its layers: hidden_ = "
                     "register_module(\"hidden\", torch::nn::Linear(784, 64))"));
  }
  return absl::FailedPreconditionError(
      "the model's output depends on none of its parameters: there is nothing to train");
}

}  // namespace lanista
