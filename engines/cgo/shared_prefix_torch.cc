#include "engines/cgo/shared_prefix_torch.h"

#include <ATen/core/Tensor.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <set>
#include <utility>

#include "engines/cgo/logical_plan.h"
#include "engines/cgo/sharing_passes.h"
#include "src/nn/model.h"
#include "src/runtime/graph_module_torch.h"

namespace lanista {
namespace {

using c10::IValue;

// Whether it can be seen that a tensor is changed, and values that follow from it have no history.
bool CanBeWatched(const at::Tensor& tensor) {
  return tensor.defined() && !tensor.is_inference() && !tensor.requires_grad();
}

bool CanBeShared(const std::vector<IValue>& inputs) {
  return std::all_of(inputs.begin(), inputs.end(),
                     [](const IValue& input) { return !input.isTensor() || CanBeWatched(input.toTensor()); });
}

// Whether copies of them are as good as they are: plain values, and tensors that share no memory (a change of one would
// change the other) and lie as their copies would (kernels go by strides).
bool CanBeCopied(const std::vector<IValue>& values) {
  for (size_t i = 0; i < values.size(); ++i) {
    const IValue& value = values[i];
    if (!value.isTensor()) {
      const bool plain = value.isNone() || value.isScalar() || value.isBool() || value.isString() || value.isDevice() ||
                         value.isIntList() || value.isDoubleList();
      if (!plain) return false;
      continue;
    }
    const at::Tensor& tensor = value.toTensor();
    if (!CanBeWatched(tensor) || !tensor.is_non_overlapping_and_dense() || tensor.storage_offset() != 0) return false;
    for (size_t j = 0; j < i; ++j) {
      if (values[j].isTensor() && values[j].toTensor().is_alias_of(tensor)) return false;
    }
  }
  return true;
}

// `with_tensors`: copies of the tensors, too. Lists are always copied: a change of one (append) could not be seen.
std::vector<IValue> Copy(const std::vector<IValue>& values, bool with_tensors) {
  std::vector<IValue> copies;
  for (const IValue& value : values) {
    copies.push_back(value);
    if (value.isTensor() && with_tensors) copies.back() = value.toTensor().clone();
    if (value.isList()) copies.back() = value.toList().copy();
  }
  return copies;
}

}  // namespace

void SharedPrefix::Add(const std::shared_ptr<nn::Model>& model) {
  const auto module = std::dynamic_pointer_cast<runtime::GraphModule>(model);
  if (module == nullptr) return;
  Member member;
  member.module = module;
  members_.push_back(std::move(member));
  module->set_runner([shared = shared_from_this(), module = module.get()](Values inputs) {
    return shared->Run(module, std::move(inputs));
  });
  RemoveExpired();
  FindCuts();
}

SharedPrefix::Values SharedPrefix::Run(runtime::GraphModule* module, Values inputs) {
  TORCH_CHECK(Unchanged(weights_), "frozen weights, which the models of a merged trial share, were changed");
  RemoveExpired();
  if (!CanBeShared(inputs)) return module->Run(std::move(inputs));
  Member& member = *FindMember(module);
  const bool training = module->is_training();
  const graph::Schedule& schedule = module->schedule();
  const int num_steps = static_cast<int>(schedule.steps.size());
  // How far it has come: so many steps, with `values` in `slots`; `shared`: an entry has them, too.
  int done = 0;
  std::vector<graph::Slot> slots = schedule.inputs;
  Values values = inputs;
  bool shared = false;
  const auto come_to = [&](const Cut& cut) {
    done = cut.steps;
    slots = cut.slots;
  };
  const auto run_to = [&](int to, const std::vector<graph::Slot>& wanted) {
    if (!shared) {
      values = module->RunSteps(done, to, slots, std::move(values), wanted);
      return;
    }
    bool& gets_copies = member.gets_copies.try_emplace({done, training}, true).first->second;
    values = Copy(values, gets_copies);
    const Kept given = Keep(values);
    values = module->RunSteps(done, to, slots, std::move(values), wanted);
    gets_copies = gets_copies && !Unchanged(given);
  };

  // From the last cut whose values another model has left.
  for (auto cut = member.cuts.rbegin(); cut != member.cuts.rend() && !shared; ++cut) {
    const Values* const found = Find(*cut, inputs, training);
    if (found == nullptr) continue;
    come_to(*cut);
    values = *found;
    shared = true;
    steps_saved_ += done;
  }
  for (const Cut& cut : member.cuts) {
    if (cut.steps <= done) continue;
    run_to(cut.steps, cut.slots);
    come_to(cut);
    shared = CanBeCopied(values);
    if (shared) {
      entries_[cut.work] = {Keep(inputs), training, Keep(values)};
    } else {
      entries_.erase(cut.work);
    }
  }
  run_to(num_steps, schedule.outputs);
  return values;
}

SharedPrefix::Member* SharedPrefix::FindMember(const runtime::GraphModule* module) {
  return &*std::find_if(members_.begin(), members_.end(),
                        [module](const Member& member) { return member.module.lock().get() == module; });
}

void SharedPrefix::RemoveExpired() {
  const auto expired =
      std::remove_if(members_.begin(), members_.end(), [](const Member& member) { return member.module.expired(); });
  if (expired == members_.end()) return;
  members_.erase(expired, members_.end());
  FindCuts();
}

void SharedPrefix::FindCuts() {
  entries_.clear();
  LogicalPlan plan;
  std::vector<std::shared_ptr<runtime::GraphModule>> modules;
  for (size_t i = 0; i < members_.size(); ++i) {
    modules.push_back(members_[i].module.lock());
    plan.AddModel(static_cast<int>(i), modules[i]->graph(), modules[i]->schedule(),
                  [&](int step) { return modules[i]->keeps_weights(step); });
  }
  Optimise(&plan);
  // What those that share a work need after it.
  const auto needed_after = [&](int number) {
    const LogicalPlan::Work& work = plan.works()[static_cast<size_t>(number)];
    std::set<graph::Slot> slots;
    for (const int member : work.models) {
      const std::vector<graph::Slot> needed = modules[static_cast<size_t>(member)]->NeededFrom(work.position);
      slots.insert(needed.begin(), needed.end());
    }
    return std::vector<graph::Slot>(slots.begin(), slots.end());
  };
  Values shared_weights;
  for (size_t i = 0; i < members_.size(); ++i) {
    members_[i].cuts.clear();
    members_[i].gets_copies.clear();
    const std::vector<int>& chain = plan.chain(static_cast<int>(i));
    const auto sharers = [&](size_t position) {
      return position < chain.size() ? plan.works()[static_cast<size_t>(chain[position])].models.size() : 1;
    };
    // The batch comes first.
    for (size_t position = 1; position < chain.size() && sharers(position) > 1; ++position) {
      const auto first = static_cast<size_t>(plan.works()[static_cast<size_t>(chain[position])].models.front());
      const int step = static_cast<int>(position) - 1;
      if (modules[i]->keeps_weights(step)) {
        std::vector<at::Tensor> weights = modules[i]->weights(step);
        const std::vector<at::Tensor> others = modules[first]->weights(step);
        for (size_t j = 0; j < weights.size(); ++j) {
          if (first != i) weights[j].set_data(others[j]);
          shared_weights.emplace_back(weights[j]);
        }
      }
      if (sharers(position + 1) < sharers(position)) {
        members_[i].cuts.push_back({static_cast<int>(position), chain[position], needed_after(chain[position])});
      }
    }
  }
  weights_ = Keep(shared_weights);
}

const SharedPrefix::Values* SharedPrefix::Find(const Cut& cut, const Values& inputs, bool training) const {
  const auto found = entries_.find(cut.work);
  if (found == entries_.end()) return nullptr;
  const Entry& entry = found->second;
  if (entry.training != training || entry.inputs.values.size() != inputs.size()) return nullptr;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].isTensor() || !entry.inputs.values[i].isTensor()) return nullptr;
    if (!inputs[i].toTensor().is_same(entry.inputs.values[i].toTensor())) return nullptr;
  }
  return Unchanged(entry.inputs) && Unchanged(entry.results) ? &entry.results.values : nullptr;
}

SharedPrefix::Kept SharedPrefix::Keep(const Values& values) {
  Kept kept;
  kept.values = values;
  for (const IValue& value : values) kept.versions.push_back(value.isTensor() ? value.toTensor()._version() : 0);
  return kept;
}

bool SharedPrefix::Unchanged(const Kept& kept) {
  for (size_t i = 0; i < kept.values.size(); ++i) {
    if (kept.values[i].isTensor() && kept.values[i].toTensor()._version() != kept.versions[i]) return false;
  }
  return true;
}

}  // namespace lanista
