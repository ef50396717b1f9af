#include "src/runtime/graph_module_torch.h"

#include <c10/util/Exception.h>
#include <torch/types.h>

#include <optional>
#include <utility>

#include "src/base/status.h"
#include "src/nn/state_dict.h"
#include "src/runtime/graph_builder_torch.h"
#include "src/runtime/interpreter_torch.h"

namespace lanista::runtime {

using c10::IValue;

struct GraphModule::Impl {
  explicit Impl(const v1::ModelGraph& model) : built(model) {}

  const Step& step(int number) const { return built.program.steps[static_cast<size_t>(number)]; }

  BuiltGraph built;
  // Set once the graph has been built.
  std::optional<Interpreter> interpreter;
};

GraphModule::GraphModule() = default;
GraphModule::~GraphModule() = default;

absl::StatusOr<std::shared_ptr<GraphModule>> GraphModule::Create(const v1::ModelGraph& model, const Options& options) {
  std::shared_ptr<GraphModule> module(new GraphModule);
  module->impl_ = std::make_unique<Impl>(model);
  Impl& impl = *module->impl_;
  try {
    LANISTA_RETURN_IF_ERROR(BuildGraph(module.get(), options.weights, &impl.built));
  } catch (const c10::Error& error) {
    return absl::InvalidArgumentError(error.what_without_backtrace());
  }
  impl.interpreter.emplace(*module, impl.built.program, impl.built.schedule.num_slots);
  module->train();
  return module;
}

torch::Tensor GraphModule::forward(torch::Tensor input) {
  const std::vector<IValue> outputs = runner_ ? runner_({std::move(input)}) : Run({std::move(input)});
  TORCH_CHECK(outputs.size() == 1 && outputs[0].isTensor(), "the model returns ", outputs.size(),
              " values, and one tensor is needed");
  return outputs[0].toTensor();
}

std::vector<IValue> GraphModule::Run(std::vector<IValue> inputs) {
  const Program& program = impl_->built.program;
  return RunSteps(0, static_cast<int>(program.steps.size()), program.inputs, std::move(inputs), program.outputs);
}

const graph::Schedule& GraphModule::schedule() const { return impl_->built.schedule; }

bool GraphModule::keeps_weights(int step) const { return impl_->step(step).kept; }

std::vector<torch::Tensor> GraphModule::weights(int step) const {
  const auto module = impl_->step(step).module->module();
  std::vector<at::Tensor> weights = module->parameters();
  for (const at::Tensor& buffer : module->buffers()) weights.push_back(buffer);
  return weights;
}

std::vector<Slot> GraphModule::NeededFrom(int step) const { return runtime::NeededFrom(impl_->built.program, step); }

std::vector<IValue> GraphModule::RunSteps(int from, int to, const std::vector<Slot>& given, std::vector<IValue> values,
                                          const std::vector<Slot>& wanted) {
  return impl_->interpreter->RunSteps(from, to, given, std::move(values), wanted);
}

void GraphModule::train(bool on) {
  nn::Model::train(on);
  for (auto& entry : impl_->built.modules) {
    if (entry.second.module->module() != nullptr) entry.second.module->module()->train(on && !entry.second.frozen);
  }
  for (auto& entry : impl_->built.opaque) entry.second.module.train(on && !entry.second.frozen);
}

void GraphModule::to(torch::Device device, torch::Dtype dtype, bool non_blocking) {
  nn::Model::to(device, dtype, non_blocking);
  MoveConstants(device, &impl_->built.program);
}

void GraphModule::to(torch::Device device, bool non_blocking) {
  nn::Model::to(device, non_blocking);
  MoveConstants(device, &impl_->built.program);
}

const v1::ModelGraph& GraphModule::graph() const { return impl_->built.graph; }

const std::vector<std::string>& GraphModule::warnings() const { return impl_->built.warnings; }

absl::Status GraphModule::Save(const std::string& path) const {
  return nn::WriteStateDict(path, nn::StateDictOf(*this));
}

absl::Status GraphModule::Save(OutputFile* file) const { return nn::WriteStateDict(file, nn::StateDictOf(*this)); }

absl::Status GraphModule::Load(const std::string& path) { return nn::LoadStateDict(*this, path); }

}  // namespace lanista::runtime
