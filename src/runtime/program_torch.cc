#include "src/runtime/program_torch.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <unordered_map>

namespace lanista::runtime {

void MarkLastReads(Program* program) {
  std::unordered_map<Slot, bool> read_later;
  for (const Slot slot : program->outputs) read_later[slot] = true;
  for (size_t i = program->steps.size(); i-- > 0;) {
    Step& step = program->steps[i];
    for (const Slot slot : step.writes) {
      if (!read_later[slot]) step.unread.push_back(slot);
    }
    for (size_t j = step.reads.size(); j-- > 0;) {
      Read& read = step.reads[j];
      if (read.slot == kNoSlot) continue;
      read.last = !read_later[read.slot];
      read_later[read.slot] = true;
    }
    for (Program* const arm : {step.training.get(), step.evaluation.get()}) {
      if (arm != nullptr) MarkLastReads(arm);
    }
  }
}

std::vector<Slot> NeededFrom(const Program& program, int step) {
  std::set<Slot> written(program.inputs.begin(), program.inputs.end());
  std::set<Slot> needed(program.outputs.begin(), program.outputs.end());
  for (int i = 0; i < static_cast<int>(program.steps.size()); ++i) {
    const Step& one = program.steps[static_cast<size_t>(i)];
    if (i < step) {
      written.insert(one.writes.begin(), one.writes.end());
    } else {
      for (const Read& read : one.reads) needed.insert(read.slot);
    }
  }
  std::vector<Slot> slots;
  std::set_intersection(written.begin(), written.end(), needed.begin(), needed.end(), std::back_inserter(slots));
  return slots;
}

void MoveConstants(c10::Device device, Program* program) {
  for (Step& step : program->steps) {
    if (step.constant) step.tensor = step.tensor.to(device);
    for (Program* const arm : {step.training.get(), step.evaluation.get()}) {
      if (arm != nullptr) MoveConstants(device, arm);
    }
  }
}

}  // namespace lanista::runtime
