// A graph that has been built: the steps of its schedule, each with what it runs.
#ifndef LANISTA_SRC_RUNTIME_PROGRAM_TORCH_H_
#define LANISTA_SRC_RUNTIME_PROGRAM_TORCH_H_

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>
#include <torch/csrc/jit/api/module.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/graph/schedule.h"
#include "src/ops/registry_torch.h"
#include "src/runtime/aten_call_torch.h"

namespace lanista::runtime {

using graph::Slot;

struct Step;

// A schedule that has been built: steps in order, with slots of their own.
struct Program {
  std::vector<Step> steps;
  std::vector<Slot> inputs;
  std::vector<Slot> outputs;
};

// An input of a step; kNoSlot: the input is none.
constexpr Slot kNoSlot = -1;
struct Read {
  Slot slot = kNoSlot;
  // No later step reads the value, so it is moved out of its slot.
  bool last = false;
};

// A step of the schedule that has been built.
struct Step {
  enum class Kind { kModule, kAten, kOpaque, kTensor, kTraining, kAssert, kSwitch };

  Kind kind = Kind::kModule;
  // For messages.
  std::string path;
  std::string type;
  std::vector<Read> reads;
  std::vector<Slot> writes;
  // Outputs that no step reads: freed at once.
  std::vector<Slot> unread;
  // Always runs as in evaluation mode.
  bool frozen = false;
  // All weights were taken from the archive.
  bool kept = false;

  ops::OpModule* module = nullptr;
  std::optional<AtenCall> aten;
  torch::jit::Module* opaque = nullptr;
  // kTensor: a parameter, buffer or constant. Shares memory with the registered tensor.
  at::Tensor tensor;
  bool constant = false;
  // kAssert.
  std::string message;
  // kSwitch.
  std::unique_ptr<Program> training;
  std::unique_ptr<Program> evaluation;
};

// Marks the reads after which a value may be moved, and the outputs that nothing reads.
void MarkLastReads(Program* program);

// The slots whose values are known before step number `step` and needed by it, later steps or the outputs; ascending.
std::vector<Slot> NeededFrom(const Program& program, int step);

// Moves constants to `device`: they are not part of the state_dict, so they do not move with their modules.
void MoveConstants(c10::Device device, Program* program);

}  // namespace lanista::runtime

#endif  // LANISTA_SRC_RUNTIME_PROGRAM_TORCH_H_
