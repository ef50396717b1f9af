// What the families' building halves share.
#ifndef LANISTA_SRC_OPS_MODULE_TORCH_H_
#define LANISTA_SRC_OPS_MODULE_TORCH_H_

#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>
#include <torch/types.h>

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "src/ops/registry_torch.h"

namespace lanista::ops {

using graph::Attributes;

// A module of LibTorch's that maps one tensor to one.
template <typename Impl>
class UnaryOp final : public OpModule {
 public:
  explicit UnaryOp(std::shared_ptr<Impl> module) : module_(std::move(module)) {}

  void Run(c10::ArrayRef<c10::IValue> inputs, c10::IValue* outputs) override {
    *outputs = module_->forward(inputs[0].toTensor());
  }
  std::shared_ptr<torch::nn::Module> module() const override { return module_; }

 private:
  const std::shared_ptr<Impl> module_;
};

template <typename Impl>
std::unique_ptr<OpModule> MakeUnary(const torch::nn::ModuleHolder<Impl>& holder) {
  return std::make_unique<UnaryOp<Impl>>(holder.ptr());
}

// A function without state, as a module.
template <typename Function>
struct FunctionModule final : torch::nn::Module {
  explicit FunctionModule(Function f) : function(std::move(f)) {}
  torch::Tensor forward(const torch::Tensor& input) { return function(input); }
  Function function;
};

template <typename Function>
std::unique_ptr<OpModule> MakeFunction(Function function) {
  using Impl = FunctionModule<Function>;
  return std::make_unique<UnaryOp<Impl>>(std::make_shared<Impl>(std::move(function)));
}

// Ints of an attribute as LibTorch's options take them.
template <size_t kLength>
torch::ExpandingArray<kLength> Expand(const Attributes& attributes, const char* name) {
  return torch::ExpandingArray<kLength>(attributes.Ints(name));
}

}  // namespace lanista::ops

#endif  // LANISTA_SRC_OPS_MODULE_TORCH_H_
