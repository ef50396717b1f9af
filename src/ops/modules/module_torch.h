// Shared by the files that build the operator families.
#ifndef LANISTA_SRC_OPS_MODULES_MODULE_TORCH_H_
#define LANISTA_SRC_OPS_MODULES_MODULE_TORCH_H_

#include <torch/expanding_array.h>
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

using Inputs = c10::ArrayRef<c10::IValue>;

// A module, and the function that runs it: `run(Impl&, Inputs, IValue* outputs)`. A template, so that the call is
// inlined.
template <typename Impl, typename Runner>
class ModuleOp final : public OpModule {
 public:
  ModuleOp(std::shared_ptr<Impl> module, Runner run) : module_(std::move(module)), run_(std::move(run)) {}

  void Run(Inputs inputs, c10::IValue* outputs) override { run_(*module_, inputs, outputs); }
  std::shared_ptr<torch::nn::Module> module() const override { return module_; }

 private:
  const std::shared_ptr<Impl> module_;
  const Runner run_;
};

template <typename Impl, typename Runner>
std::unique_ptr<OpModule> MakeModuleOp(const torch::nn::ModuleHolder<Impl>& holder, Runner run) {
  return std::make_unique<ModuleOp<Impl, Runner>>(holder.ptr(), std::move(run));
}

// For modules whose forward takes one tensor and returns one.
template <typename Impl>
std::unique_ptr<OpModule> MakeUnary(const torch::nn::ModuleHolder<Impl>& holder) {
  return MakeModuleOp(holder, [](Impl& module, Inputs inputs, c10::IValue* outputs) {
    *outputs = module.forward(inputs[0].toTensor());
  });
}

// For modules whose forward takes two tensors and returns one.
template <typename Impl>
std::unique_ptr<OpModule> MakeBinary(const torch::nn::ModuleHolder<Impl>& holder) {
  return MakeModuleOp(holder, [](Impl& module, Inputs inputs, c10::IValue* outputs) {
    *outputs = module.forward(inputs[0].toTensor(), inputs[1].toTensor());
  });
}

// A function without state, wrapped as a module.
template <typename Function>
struct FunctionModule final : torch::nn::Module {
  explicit FunctionModule(Function f) : function(std::move(f)) {}
  torch::Tensor forward(const torch::Tensor& input) { return function(input); }
  Function function;
};

template <typename Function>
std::unique_ptr<OpModule> MakeFunction(Function function) {
  using Impl = FunctionModule<Function>;
  return MakeUnary(torch::nn::ModuleHolder<Impl>(std::make_shared<Impl>(std::move(function))));
}

// The ints of an attribute in the type that LibTorch's options take.
template <size_t kLength>
torch::ExpandingArray<kLength> Expand(const Attributes& attributes, const char* name) {
  return torch::ExpandingArray<kLength>(attributes.Ints(name));
}

}  // namespace lanista::ops

#endif  // LANISTA_SRC_OPS_MODULES_MODULE_TORCH_H_
