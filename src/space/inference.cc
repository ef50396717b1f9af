#include "src/space/inference.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

namespace lanista::discovery {

std::vector<int> Inference::FindDeciders() const {
  std::vector<int> deciders;
  std::vector<bool> found(explored_.choices().size());
  for (const Run& run : explored_.runs()) {
    const int flipped = run.flipped;
    if (flipped < 0 || found[flipped] || flipped == choice_) continue;
    if (run.Asked(choice_) != explored_.HomeOf(flipped).Asked(choice_) && IsCertain(run)) {
      found[flipped] = true;
      deciders.push_back(flipped);
    }
  }
  for (size_t i = 0; i < deciders.size(); ++i) {
    for (const int adder : added_by_[deciders[i]]) {
      if (found[adder] || adder == choice_) continue;
      found[adder] = true;
      deciders.push_back(adder);
    }
  }
  // Formulas are compared, so the order must not depend on the order of the runs.
  std::sort(deciders.begin(), deciders.end());
  return deciders;
}

bool Inference::IsCertain(const Run& run) const {
  return run.Asked(choice_) || run.error.empty() || position_of_[choice_] < LastPosition(run);
}

std::optional<Formula> Inference::ActiveAround(const Run& run) {
  const bool asked = run.Asked(choice_);
  const bool certain = IsCertain(run);
  std::optional<Formula> formula;
  if (certain) formula = asked ? Always() : Never();
  for (const int decider : deciders_) {
    // If the decider's home and this run disagree, something else in this run decides.
    if (!explored_.Added(run, decider) || explored_.HomeOf(decider).Asked(choice_) != asked) continue;
    const std::optional<Formula> effect = EffectOf(decider);
    if (!effect.has_value()) continue;
    if (!formula.has_value()) {
      formula = *effect;
    } else if (certain && !asked) {
      formula = Or(*std::move(formula), *effect);
    } else {
      formula = And(*formula, Or(*effect, WhereGone(decider, run)));
    }
    // Too entangled: InferSpec reports it.
    if (formula->size() > kMostConjunctions) return formula;
  }
  return formula;
}

std::optional<Formula> Inference::EffectOf(int decider) {
  const auto [entry, is_new] = effects_.emplace(decider, std::nullopt);
  // In a cycle, the entry of a decider that is being computed is still nullopt.
  if (!is_new) return entry->second;
  const KnownChoice& known = explored_.choices()[decider];
  // Options with equal conditions.
  std::vector<std::pair<Formula, std::vector<int32_t>>> groups;
  explored_.ForEachRunOf(decider, [&](int32_t option, const Run& run) {
    std::optional<Formula> formula;
    if (&run == &explored_.runs()[known.home]) {
      if (IsCertain(run)) formula = run.Asked(choice_) ? Always() : Never();
    } else {
      formula = ActiveAround(run);
    }
    if (!formula.has_value()) return;
    const auto group = std::find_if(groups.begin(), groups.end(), [&](const auto& g) { return g.first == *formula; });
    if (group != groups.end()) {
      group->second.push_back(option);
    } else {
      groups.push_back({*std::move(formula), {option}});
    }
  });
  std::optional<Formula> effect;
  if (groups.size() == 1) {
    // Options that could not be built are assumed to behave like the others, if these agree.
    effect = groups[0].first;
  } else if (!groups.empty()) {
    effect = Never();
    for (const auto& [formula, options] : groups) {
      effect = Or(*std::move(effect), And({{{decider, options}}}, formula));
    }
  }
  return effects_[decider] = effect;
}

Formula Inference::WhereGone(int decider, const Run& run) const {
  Formula gone;
  for (int earlier = 0; earlier < static_cast<int>(explored_.choices().size()); ++earlier) {
    if (!explored_.Added(run, earlier) || !explored_.HomeOf(earlier).Asked(decider) ||
        !explored_.HomeOf(earlier).Asked(choice_)) {
      continue;
    }
    std::vector<int32_t> options;
    explored_.ForEachRunOf(earlier, [&](int32_t option, const Run& other) {
      if (other.error.empty() && !other.Asked(decider) && other.Asked(choice_)) options.push_back(option);
    });
    if (!options.empty()) AddTo(&gone, {{earlier, std::move(options)}});
  }
  return gone;
}

int Inference::LastPosition(const Run& run) const {
  int last = -1;
  for (size_t choice = 0; choice < run.asked.size(); ++choice) {
    if (run.asked[choice]) last = std::max(last, position_of_[choice]);
  }
  return last;
}

Conjunction Inference::Prune(const Conjunction& conjunction, const std::vector<Formula>& formulas) const {
  Conjunction pruned;
  for (const auto& [choice, options] : conjunction) {
    const Conjunction term = {{choice, options}};
    const bool implied = std::any_of(conjunction.begin(), conjunction.end(), [&](const auto& other) {
      const Formula& active = formulas[other.first];
      return position_of_[choice] < position_of_[other.first] &&
             std::all_of(active.begin(), active.end(), [&](const Conjunction& c) { return Implies(c, term); });
    });
    const bool always =
        static_cast<int32_t>(options.size()) == explored_.choices()[choice].options && formulas[choice] == Always();
    if (!implied && !always) pruned.emplace(choice, options);
  }
  return pruned;
}

absl::StatusOr<v1::SpaceSpec> Inference::InferSpec() {
  position_of_.resize(explored_.choices().size());
  for (size_t i = 0; i < explored_.order().size(); ++i) position_of_[explored_.order()[i]] = static_cast<int>(i);
  added_by_.resize(explored_.choices().size());
  for (const Run& run : explored_.runs()) {
    if (run.flipped < 0) continue;
    for (int choice = 0; choice < static_cast<int>(run.asked.size()); ++choice) {
      if (explored_.Added(run, choice)) added_by_[choice].push_back(run.flipped);
    }
  }
  std::vector<Formula>& formulas = formulas_;
  for (size_t choice = 0; choice < explored_.choices().size(); ++choice) {
    choice_ = static_cast<int>(choice);
    deciders_ = FindDeciders();
    effects_.clear();
    Formula formula = ActiveAround(explored_.runs()[0]).value_or(Always());
    if (formula.size() > kMostConjunctions || formula.empty()) {
      explored_.MarkIncomplete(absl::StrCat("choice '", explored_.choices()[choice].choice.label(),
                                            "' appears under conditions that are too entangled to be told"));
      formula = Always();
    }
    formulas.push_back(std::move(formula));
  }
  std::vector<Formula> pruned(formulas.size());
  for (size_t choice = 0; choice < formulas.size(); ++choice) {
    for (const Conjunction& conjunction : formulas[choice]) AddTo(&pruned[choice], Prune(conjunction, formulas));
  }
  return MakeSpec(std::move(pruned));
}

void Inference::AddCondition(const Conjunction& conjunction, v1::Condition* condition) const {
  for (const auto& [choice, options] : conjunction) {
    v1::Term* term = condition->add_all_of();
    term->set_label(explored_.choices()[choice].choice.label());
    for (const int32_t option : options) term->add_chosen(option);
  }
}

v1::SpaceSpec Inference::MakeSpec(std::vector<Formula> formulas) {
  std::vector<std::vector<int>> dependents(formulas.size());
  std::vector<std::set<int>> waits_for(formulas.size());
  for (size_t choice = 0; choice < formulas.size(); ++choice) {
    for (const Conjunction& conjunction : formulas[choice]) {
      for (const auto& term : conjunction) {
        if (waits_for[choice].insert(term.first).second) dependents[term.first].push_back(static_cast<int>(choice));
      }
    }
  }
  // Pairs of position and choice.
  std::set<std::pair<int, int>> ready;
  std::set<std::pair<int, int>> waiting;
  for (const int choice : explored_.order()) {
    (waits_for[choice].empty() ? ready : waiting).emplace(position_of_[choice], choice);
  }
  v1::SpaceSpec spec;
  spec.set_complete(true);
  while (!ready.empty() || !waiting.empty()) {
    if (ready.empty()) {
      const int choice = waiting.begin()->second;
      explored_.MarkIncomplete(absl::StrCat(
          "choice '", explored_.choices()[choice].choice.label(), "' comes before or after '",
          explored_.choices()[*waits_for[choice].begin()].choice.label(), "', which depends on it in turn"));
      Formula kept;
      for (Conjunction conjunction : formulas[choice]) {
        for (const int later : waits_for[choice]) conjunction.erase(later);
        AddTo(&kept, std::move(conjunction));
      }
      formulas[choice] = std::move(kept);
      ready.insert(*waiting.begin());
      waiting.erase(waiting.begin());
    }
    const int choice = ready.begin()->second;
    ready.erase(ready.begin());
    for (const int dependent : dependents[choice]) {
      const std::pair<int, int> entry(position_of_[dependent], dependent);
      if (waits_for[dependent].erase(choice) > 0 && waits_for[dependent].empty() && waiting.erase(entry) > 0) {
        ready.insert(entry);
      }
    }
    v1::Choice* added = spec.add_choices();
    *added = explored_.choices()[choice].choice;
    if (formulas[choice] == Always()) continue;
    for (const Conjunction& conjunction : formulas[choice]) {
      AddCondition(conjunction, added->add_active_if());
    }
  }
  return spec;
}

void Inference::DropFreeTerms(Conjunction* conjunction) const {
  for (auto term = conjunction->begin(); term != conjunction->end();) {
    const auto& [choice, options] = *term;
    Conjunction others = *conjunction;
    others.erase(choice);
    const Formula& active = formulas_[choice];
    const bool is_free =
        static_cast<int32_t>(options.size()) == explored_.choices()[choice].options &&
        std::any_of(active.begin(), active.end(), [&](const Conjunction& c) { return Implies(others, c); });
    term = is_free ? conjunction->erase(term) : std::next(term);
  }
}

Formula Inference::Simplified(Formula formula) const {
  const auto terms = [](const Formula& f) {
    size_t count = f.size();
    for (const Conjunction& conjunction : f) count += conjunction.size();
    return count;
  };
  // Each round but the last makes it smaller.
  for (size_t before = terms(formula) + 1; terms(formula) < before;) {
    before = terms(formula);
    Formula merged;
    for (Conjunction& conjunction : formula) {
      DropFreeTerms(&conjunction);
      AddTo(&merged, std::move(conjunction));
    }
    formula = std::move(merged);
  }
  Formula pruned;
  for (const Conjunction& conjunction : formula) AddTo(&pruned, Prune(conjunction, formulas_));
  return pruned;
}

}  // namespace lanista::discovery
