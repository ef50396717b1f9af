#include "src/runtime/interpreter_torch.h"

#include <c10/util/Exception.h>
#include <torch/csrc/jit/runtime/graph_executor.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

namespace lanista::runtime {

using c10::IValue;

std::vector<IValue> Interpreter::RunSteps(int from, int to, const std::vector<Slot>& given, std::vector<IValue> values,
                                          const std::vector<Slot>& wanted) {
  TORCH_CHECK(values.size() == given.size(), "the model takes ", given.size(), " inputs, not ", values.size());
  // Drops values that an earlier run left when it threw.
  for (IValue& value : values_) value = IValue();
  wanted_.assign(values_.size(), false);
  for (const Slot slot : wanted) wanted_[slot] = true;
  for (size_t i = 0; i < given.size(); ++i) values_[given[i]] = std::move(values[i]);
  for (int i = from; i < to; ++i) RunNamedStep(program_.steps[static_cast<size_t>(i)]);
  values.clear();
  for (const Slot slot : wanted) values.push_back(values_[slot]);
  for (IValue& value : values_) value = IValue();
  return values;
}

void Interpreter::RunArm(const Program& arm, std::vector<IValue>* values) {
  for (size_t i = 0; i < arm.inputs.size(); ++i) values_[arm.inputs[i]] = std::move((*values)[i]);
  for (const Step& step : arm.steps) RunNamedStep(step);
  values->clear();
  for (const Slot slot : arm.outputs) values->push_back(values_[slot]);
  for (const Slot slot : arm.outputs) values_[slot] = IValue();
  for (const Slot slot : arm.inputs) values_[slot] = IValue();
}

void Interpreter::RunNamedStep(const Step& step) {
  try {
    RunStep(step);
  } catch (const c10::Error& error) {
    const std::string what = error.what_without_backtrace();
    if (what.compare(0, 6, "node '") == 0) throw;  // From a branch of a switch: the path is there already.
    TORCH_CHECK(false, "node '", step.path, "' (", step.type, "): ", what);
  } catch (const std::runtime_error& error) {
    // TorchScript's own interpreter rethrows its errors so.
    TORCH_CHECK(false, "node '", step.path, "' (", step.type, "): ", error.what());
  }
}

void Interpreter::RunStep(const Step& step) {
  arguments_.clear();
  for (const Read& read : step.reads) {
    if (read.slot == kNoSlot) {
      arguments_.emplace_back();
    } else if (read.last && !wanted_[read.slot]) {
      arguments_.push_back(std::move(values_[read.slot]));
      values_[read.slot] = IValue();
    } else {
      arguments_.push_back(values_[read.slot]);
    }
  }
  switch (step.kind) {
    case Step::Kind::kModule:
      results_.resize(std::max<size_t>(1, step.writes.size()));
      step.module->Run(arguments_, results_.data());
      break;
    case Step::Kind::kAten:
      step.aten->Run(arguments_, &results_);
      break;
    case Step::Kind::kOpaque: {
      // The profiling executor's first runs are slow, and most models run for a short time.
      const torch::jit::GraphOptimizerEnabledGuard no_profiling(false);
      results_.assign(1, step.opaque->forward(arguments_));
      break;
    }
    case Step::Kind::kTensor:
      results_.assign(1, step.tensor);
      break;
    case Step::Kind::kTraining:
      results_.assign(1, owner_.is_training() && !step.frozen);
      break;
    case Step::Kind::kAssert:
      TORCH_CHECK(arguments_[0].isTensor() ? arguments_[0].toTensor().item<bool>() : arguments_[0].toBool(),
                  step.message);
      results_.clear();
      break;
    case Step::Kind::kSwitch: {
      std::vector<IValue> values = std::move(arguments_);
      RunArm(owner_.is_training() && !step.frozen ? *step.training : *step.evaluation, &values);
      results_ = std::move(values);
      break;
    }
  }
  arguments_.clear();
  TORCH_CHECK(results_.size() >= step.writes.size(), "it gives ", results_.size(), " values, and ", step.writes.size(),
              " are read");
  for (size_t i = 0; i < step.writes.size(); ++i) values_[step.writes[i]] = std::move(results_[i]);
  for (const Slot slot : step.unread) {
    if (!wanted_[slot]) values_[slot] = IValue();
  }
  results_.clear();
}

}  // namespace lanista::runtime
