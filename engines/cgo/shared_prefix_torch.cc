#include "engines/cgo/shared_prefix_torch.h"

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <set>

namespace lanista {
namespace {

using c10::IValue;

// Whether two tensors among them share memory: a change of one would be a change of the other, and copies would not be
// the same.
bool AnyAlias(const std::vector<IValue>& values) {
  for (size_t i = 0; i < values.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      if (values[i].isTensor() && values[j].isTensor() && values[i].toTensor().is_alias_of(values[j].toTensor())) {
        return true;
      }
    }
  }
  return false;
}

// Tensors, numbers and the like: what can be compared and copied.
bool AllPlain(const std::vector<IValue>& values) {
  return std::all_of(values.begin(), values.end(), [](const IValue& value) {
    return value.isTensor() ? value.toTensor().defined()
                            : value.isNone() || value.isScalar() || value.isBool() || value.isString() ||
                                  value.isIntList() || value.isDoubleList();
  });
}

std::vector<IValue> Copy(const std::vector<IValue>& values) {
  std::vector<IValue> copies;
  for (const IValue& value : values) copies.push_back(value.isTensor() ? IValue(value.toTensor().clone()) : value);
  return copies;
}

}  // namespace

void SharedPrefix::Add(const std::shared_ptr<ops::GraphModule>& module) {
  Member member;
  member.module = module;
  int prefix = 0;
  for (const std::string& key : module->shareable_steps()) {
    prefix = prefixes_.emplace(std::make_pair(prefix, key), static_cast<int>(prefixes_.size()) + 1).first->second;
    member.prefixes.push_back(prefix);
  }
  members_.push_back(std::move(member));
  members_with_cuts_ = 0;
  module->set_runner([shared = shared_from_this(), module = module.get()](Values inputs) {
    return shared->Run(module, std::move(inputs));
  });
}

SharedPrefix::Values SharedPrefix::Run(ops::GraphModule* module, Values inputs) {
  FindCuts();
  Member& member = *FindMember(module);
  const bool training = module->is_training();
  // From the last cut whose values another model has left.
  int from = 0;
  Values values = inputs;
  for (auto cut = member.cuts.rbegin(); cut != member.cuts.rend() && from == 0; ++cut) {
    const Values* const found = Find(member.prefixes[static_cast<size_t>(*cut - 1)], inputs, training);
    if (found == nullptr) continue;
    from = *cut;
    values = *found;
    steps_saved_ += from;
  }
  const auto run_to = [&](int to) {
    bool& copies = member.gets_copies.try_emplace(from, true).first->second;
    // The batch itself is its owner's matter.
    if (from > 0 && copies) values = Copy(values);
    const Kept given = Keep(values);
    values = module->RunSteps(from, to, std::move(values));
    copies = copies && !Unchanged(given);
    from = to;
  };
  for (const int cut : member.cuts) {
    if (cut <= from) continue;
    run_to(cut);
    if (AllPlain(values) && !AnyAlias(values)) {
      entries_[member.prefixes[static_cast<size_t>(cut - 1)]] = {Keep(inputs), training, Keep(values)};
    }
  }
  if (from < module->num_steps()) run_to(module->num_steps());
  return values;
}

SharedPrefix::Member* SharedPrefix::FindMember(const ops::GraphModule* module) {
  return &*std::find_if(members_.begin(), members_.end(),
                        [module](const Member& member) { return member.module.lock().get() == module; });
}

void SharedPrefix::FindCuts() {
  members_.erase(
      std::remove_if(members_.begin(), members_.end(), [](const Member& member) { return member.module.expired(); }),
      members_.end());
  if (members_with_cuts_ == members_.size()) return;
  members_with_cuts_ = members_.size();
  entries_.clear();
  for (Member& member : members_) {
    std::set<int> cuts;
    for (const Member& other : members_) {
      if (&other == &member) continue;
      const auto differ =
          std::mismatch(member.prefixes.begin(), member.prefixes.end(), other.prefixes.begin(), other.prefixes.end());
      cuts.insert(static_cast<int>(differ.first - member.prefixes.begin()));
    }
    cuts.erase(0);
    member.cuts.assign(cuts.begin(), cuts.end());
    member.gets_copies.clear();
  }
}

const SharedPrefix::Values* SharedPrefix::Find(int prefix, const Values& inputs, bool training) const {
  const auto found = entries_.find(prefix);
  if (found == entries_.end()) return nullptr;
  const Entry& entry = found->second;
  if (entry.training != training || entry.inputs.values.size() != inputs.size()) return nullptr;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].isTensor() || !entry.inputs.values[i].isTensor()) return nullptr;
    if (!inputs[i].toTensor().is_same(entry.inputs.values[i].toTensor())) return nullptr;
  }
  return Unchanged(entry.inputs) && Unchanged(entry.alive) ? &entry.alive.values : nullptr;
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
