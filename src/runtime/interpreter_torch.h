// Runs the steps of a program.
#ifndef LANISTA_SRC_RUNTIME_INTERPRETER_TORCH_H_
#define LANISTA_SRC_RUNTIME_INTERPRETER_TORCH_H_

#include <ATen/core/ivalue.h>
#include <torch/nn/module.h>

#include <vector>

#include "src/runtime/program_torch.h"

namespace lanista::runtime {

// Holds the values of one program while it runs, and frees each after its last use. Used by one thread.
class Interpreter {
 public:
  // `owner` tells whether the model trains. Keeps both references. All slots of the program are below `num_slots`.
  Interpreter(const torch::nn::Module& owner, const Program& program, int num_slots)
      : owner_(owner), program_(program), values_(static_cast<size_t>(num_slots)) {}

  // As GraphModule::RunSteps. Throws c10::Error; the message starts with the step's path.
  std::vector<c10::IValue> RunSteps(int from, int to, const std::vector<Slot>& given, std::vector<c10::IValue> values,
                                    const std::vector<Slot>& wanted);

 private:
  // Runs one branch of a switch. `values` holds its inputs, and afterwards its outputs.
  void RunArm(const Program& arm, std::vector<c10::IValue>* values);
  // RunStep; its errors get the step's path.
  void RunNamedStep(const Step& step);
  void RunStep(const Step& step);

  const torch::nn::Module& owner_;
  const Program& program_;
  // Indexed by slot: the values, and whether they are needed beyond their last reader.
  std::vector<c10::IValue> values_;
  std::vector<bool> wanted_;
  // Of the step that is running.
  std::vector<c10::IValue> arguments_;
  std::vector<c10::IValue> results_;
};

}  // namespace lanista::runtime

#endif  // LANISTA_SRC_RUNTIME_INTERPRETER_TORCH_H_
