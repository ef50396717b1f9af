#include "src/space/discovery.h"

#include <algorithm>
#include <deque>
#include <iterator>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "src/base/out_of_memory.h"
#include "src/base/status.h"
#include "src/space/space.h"

namespace lanista {
namespace {

// The condition under which a choice is active, made of terms "choice has one of these options (ascending)". All terms
// of a conjunction must hold, and at least one conjunction of a formula. Always() has one empty conjunction, Never()
// none.
using Conjunction = std::map<int, std::vector<int32_t>>;
using Formula = std::vector<Conjunction>;
const Formula& Always() {
  static const Formula* const always = new Formula(1);
  return *always;
}
const Formula& Never() {
  static const Formula* const never = new Formula;
  return *never;
}

bool IsSubset(const std::vector<int32_t>& a, const std::vector<int32_t>& b) {
  return std::includes(b.begin(), b.end(), a.begin(), a.end());
}

// Whether `b` holds whenever `a` holds.
bool Implies(const Conjunction& a, const Conjunction& b) {
  return std::all_of(b.begin(), b.end(), [&](const auto& term) {
    const auto found = a.find(term.first);
    return found != a.end() && IsSubset(found->second, term.second);
  });
}

// Merges `b` into `a` if they differ in the options of one choice at most.
bool Unite(Conjunction* a, const Conjunction& b) {
  if (a->size() != b.size()) return false;
  auto differing = a->end();
  auto other = b.begin();
  auto j = b.begin();
  for (auto i = a->begin(); i != a->end(); ++i, ++j) {
    if (i->first != j->first) return false;
    if (i->second == j->second) continue;
    if (differing != a->end()) return false;
    differing = i;
    other = j;
  }
  if (differing == a->end()) return true;
  std::vector<int32_t> both;
  std::set_union(differing->second.begin(), differing->second.end(), other->second.begin(), other->second.end(),
                 std::back_inserter(both));
  differing->second = std::move(both);
  return true;
}

void AddTo(Formula* formula, Conjunction added) {
  // Each round removes one conjunction from the formula, so the loop ends.
  for (size_t i = 0; i < formula->size();) {
    if (Implies(added, (*formula)[i])) return;
    if (Implies((*formula)[i], added) || Unite(&added, (*formula)[i])) {
      formula->erase(formula->begin() + i);
      i = 0;
    } else {
      ++i;
    }
  }
  formula->push_back(std::move(added));
}

Formula Or(Formula a, const Formula& b) {
  for (const Conjunction& conjunction : b) AddTo(&a, conjunction);
  return a;
}

Formula And(const Formula& a, const Formula& b) {
  Formula result;
  for (const Conjunction& left : a) {
    for (const Conjunction& right : b) {
      Conjunction both = left;
      bool possible = true;
      for (const auto& [choice, options] : right) {
        const auto [entry, is_new] = both.emplace(choice, options);
        if (is_new) continue;
        std::vector<int32_t> common;
        std::set_intersection(entry->second.begin(), entry->second.end(), options.begin(), options.end(),
                              std::back_inserter(common));
        entry->second = std::move(common);
        possible = possible && !entry->second.empty();
      }
      if (possible) AddTo(&result, std::move(both));
    }
  }
  return result;
}

// Limit for conditions: longer ones would not help users either.
constexpr size_t kMostConjunctions = 256;
// A condition of more terms excludes hardly any model.
constexpr size_t kMostTerms = 64;
constexpr int kVerifications = 32;
constexpr int kMostWarnings = 50;

// The runs form a tree. The *home* of a choice is the run that first asked for it. A new run is made from a home by
// taking another option of that choice: the same constructor, the same answers before that choice, first options after
// it. The new option causes every difference between home and run. If a choice is active in the home, it is active in
// another model unless some option of that model ends it; if it is not, it becomes active when some option adds it; and
// so on for the choices that an option adds.
class Discovery {
 public:
  Discovery(const RunConstructor& run, const DiscoveryOptions& options) : run_(run), options_(options) {
    for (const v1::Sample& sample : options.skip) skip_.insert(AssignmentKey(sample));
  }

  absl::StatusOr<v1::SpaceSpec> Discover() {
    LANISTA_RETURN_IF_ERROR(Explore());
    if (!any_success_) {
      return absl::FailedPreconditionError(absl::StrCat("no model of the space can be built: ", first_error_));
    }
    LANISTA_ASSIGN_OR_RETURN(const v1::SpaceSpec spec, InferSpec());
    LANISTA_ASSIGN_OR_RETURN(const Space space, Space::FromProto(spec));
    LANISTA_RETURN_IF_ERROR(Verify(space));
    v1::SpaceSpec result = complete_ ? LeaveOutImpossible(space) : space.spec();
    result.set_complete(complete_);
    for (const std::string& warning : warnings_) result.add_warnings(warning);
    return result;
  }

 private:
  struct Run {
    // The choice whose option differs from its home's; -1 in the first run.
    int flipped = -1;
    // The choices and their answers, in order; kept for homes only.
    std::vector<std::pair<int, int32_t>> trace;
    // Indexed by choice; shorter if later runs found more choices.
    std::vector<bool> asked;
    // Why the constructor failed; then nothing is known about later choices.
    std::string error;

    bool Asked(int choice) const { return choice < static_cast<int>(asked.size()) && asked[choice]; }
  };

  struct KnownChoice {
    v1::Choice choice;
    // The same for equal choices, wherever they were declared.
    std::string identity;
    int32_t options = 0;
    int home = 0;
    // Its index in the home's trace.
    int position = 0;
    // Option -> the run that took it; for the home's own option, the home.
    std::map<int32_t, int> run_with;
  };

  static std::string AssignmentKey(const v1::Sample& assignment) {
    std::set<std::string> texts;
    for (const v1::Decision& decision : assignment.decisions()) {
      texts.insert(
          absl::StrCat(decision.label().size(), ":", decision.label(), "=", absl::StrJoin(decision.index(), "+")));
    }
    return absl::StrJoin(texts, ";");
  }

  void Warn(const std::string& text) {
    if (warnings_.size() < kMostWarnings) warnings_.push_back(text);
  }

  void MarkIncomplete(const std::string& why) {
    complete_ = false;
    Warn(why);
  }

  absl::StatusOr<ConstructionTrace> Construct(const v1::Sample& assignment) {
    ++runs_made_;
    ConstructionTrace trace;
    if (skip_.contains(AssignmentKey(assignment))) {
      trace.error = "building it ended the process";
    } else {
      if (options_.before_run) options_.before_run(assignment);
      LANISTA_ASSIGN_OR_RETURN(trace, run_(assignment));
    }
    if (trace.error.empty()) {
      any_success_ = true;
    } else if (first_error_.empty()) {
      first_error_ = trace.error;
    }
    return trace;
  }

  // The number of a choice that a run asked for; a new choice gets the next number. INVALID_ARGUMENT if the label was
  // used for a different choice.
  absl::StatusOr<int> NumberOf(v1::Choice choice) {
    choice.clear_active_if();
    if (choice.n_chosen() == 0) choice.set_n_chosen(1);
    const std::string place = choice.declared_in();
    choice.clear_declared_in();
    std::string identity = choice.SerializeAsString();
    const auto [entry, is_new] = number_of_.emplace(choice.label(), static_cast<int>(choices_.size()));
    if (is_new) {
      KnownChoice known;
      LANISTA_ASSIGN_OR_RETURN(known.options, CountOptions(choice));
      known.identity = std::move(identity);
      known.choice = std::move(choice);
      known.choice.set_declared_in(place);
      choices_.push_back(std::move(known));
      return entry->second;
    }
    if (choices_[entry->second].identity == identity) return entry->second;
    const v1::Choice& known = choices_[entry->second].choice;
    const std::string& known_place = known.declared_in();
    v1::SpaceSpec here;
    *here.add_choices() = known;
    v1::SpaceSpec there;
    *there.add_choices() = choice;
    return absl::InvalidArgumentError(absl::StrCat(
        "the label '", choice.label(), "' stands for different choices in ",
        known_place.empty() ? "one place" : known_place, " (here) and in ", place.empty() ? "another" : place,
        " (there): ", DescribeDifference(here, there), "; use another label, or the same candidates"));
  }

  // Learns from a constructor that failed after these answers: it fails in each model that gives the same ones, because
  // it depends on its choices alone. A lack of memory is not the model's: another device may have more.
  void NoteFailure(const ConstructionTrace& trace, const std::vector<std::pair<int, int32_t>>& answers) {
    if (SaysOutOfMemory(trace.error) || answers.empty() || answers.size() > kMostTerms) return;
    Conjunction failing;
    for (const auto& [choice, option] : answers) failing[choice] = {option};
    AddTo(&impossible_, std::move(failing));
    if (impossible_.size() > kMostConjunctions) impossible_.erase(Longest(impossible_));
  }

  static Formula::iterator Longest(Formula& formula) {
    return std::max_element(formula.begin(), formula.end(),
                            [](const Conjunction& a, const Conjunction& b) { return a.size() < b.size(); });
  }

  // Makes runs until every option of every choice has been taken once, or the budget is spent.
  absl::Status Explore() {
    LANISTA_RETURN_IF_ERROR(Record({}, -1, 0));
    while (!untried_.empty()) {
      if (runs_made_ >= options_.max_runs) {
        int64_t left = 0;
        for (const KnownChoice& known : choices_) left += known.options - static_cast<int64_t>(known.run_with.size());
        MarkIncomplete(
            absl::StrCat("discovery ended after ", runs_made_, " runs: ", left, " candidates were not tried"));
        return absl::OkStatus();
      }
      const auto [choice, option] = untried_.front();
      untried_.pop_front();
      // Takes one option of each choice in turn, so that a choice with many options does not use up the budget alone.
      QueueFrom(choice, option + 1);
      v1::Sample assignment;
      const KnownChoice& known = choices_[choice];
      const std::vector<std::pair<int, int32_t>>& trace = runs_[known.home].trace;
      for (int i = 0; i < known.position; ++i) {
        const auto& [earlier, taken] = trace[i];
        // Option 0 needs no decision: it is the default answer.
        if (taken != 0) *assignment.add_decisions() = MakeDecision(choices_[earlier].choice, taken);
      }
      *assignment.add_decisions() = MakeDecision(known.choice, option);
      LANISTA_RETURN_IF_ERROR(Record(assignment, choice, option));
    }
    return absl::OkStatus();
  }

  // Makes the run that takes `option` of `flipped` (-1: the first run) and records what it asked.
  absl::Status Record(const v1::Sample& assignment, int flipped, int32_t option) {
    LANISTA_ASSIGN_OR_RETURN(const ConstructionTrace trace, Construct(assignment));
    const int number = static_cast<int>(runs_.size());
    bool is_home = false;
    Run run;
    run.flipped = flipped;
    run.error = trace.error;
    for (const ConstructionTrace::Asked& asked : trace.asked) {
      const size_t known = choices_.size();
      LANISTA_ASSIGN_OR_RETURN(const int choice, NumberOf(asked.choice));
      run.asked.resize(std::max(run.asked.size(), static_cast<size_t>(choice) + 1));
      if (run.asked[choice]) continue;
      run.asked[choice] = true;
      if (choices_.size() > known) {
        is_home = true;
        Introduce(choice, number, run.trace, asked.option);
      }
      run.trace.emplace_back(choice, asked.option);
    }
    if (!run.error.empty()) NoteFailure(trace, run.trace);
    if (flipped >= 0) {
      LANISTA_RETURN_IF_ERROR(CompareWithHome(flipped, option, &run));
      choices_[flipped].run_with[option] = number;
    } else if (!run.error.empty()) {
      Warn(absl::StrCat("the model of first candidates cannot be built: ", run.error));
    }
    if (!is_home) run.trace = {};
    runs_.push_back(std::move(run));
    return absl::OkStatus();
  }

  void Introduce(int choice, int run, const std::vector<std::pair<int, int32_t>>& trace, int32_t taken) {
    KnownChoice& known = choices_[choice];
    known.home = run;
    known.position = static_cast<int>(trace.size());
    known.run_with[taken] = run;
    QueueFrom(choice, 0);
    // Keeps order_ in the order of asking: the choice comes right after the previous one of this run.
    const auto after =
        trace.empty() ? order_.begin() : std::next(std::find(order_.begin(), order_.end(), trace.back().first));
    order_.insert(after, choice);
  }

  // Queues the first option, from `option` on, that the home did not take.
  void QueueFrom(int choice, int32_t option) {
    const KnownChoice& known = choices_[choice];
    const auto taken = known.run_with.find(option);
    if (taken != known.run_with.end()) ++option;
    if (option < known.options) untried_.emplace_back(choice, option);
  }

  absl::Status CompareWithHome(int flipped, int32_t option, Run* run) {
    const KnownChoice& known = choices_[flipped];
    const Run& home = runs_[known.home];
    if (!run->error.empty()) {
      if (run->error != home.error) {
        Warn(absl::StrCat("choice '", known.choice.label(), "': ", OptionText(flipped, option),
                          " cannot be built: ", run->error));
      }
      // The choices before `flipped` are known even if the run ended the process.
      for (int i = 0; i <= known.position; ++i) {
        const int choice = home.trace[i].first;
        run->asked.resize(std::max(run->asked.size(), static_cast<size_t>(choice) + 1));
        run->asked[choice] = true;
      }
      return absl::OkStatus();
    }
    const size_t position = known.position;
    if (run->trace.size() <= position ||
        !std::equal(run->trace.begin(), run->trace.begin() + position, home.trace.begin()) ||
        run->trace[position] != std::pair<int, int32_t>(flipped, option)) {
      MarkIncomplete(absl::StrCat(
          "choice '", known.choice.label(),
          "' was not asked for again after the same answers: the constructor must depend on its choices alone"));
    }
    return absl::OkStatus();
  }

  std::string OptionText(int choice, int32_t option) const {
    const v1::Decision decision = MakeDecision(choices_[choice].choice, option);
    return absl::StrJoin(decision.value(), "+",
                         [](std::string* out, const v1::Value& value) { out->append(ValueToText(value)); });
  }

  // Whether `run` asks for `choice` but its home does not.
  bool Added(const Run& run, int choice) const {
    return run.Asked(choice) && (run.flipped < 0 || !HomeOf(run.flipped).Asked(choice));
  }

  const Run& HomeOf(int choice) const { return runs_[choices_[choice].home]; }

  // Calls `visit(option, run)` for each option of `choice` whose run was made.
  template <typename Visit>
  void ForEachRunOf(int choice, const Visit& visit) const {
    for (const auto& [option, run] : choices_[choice].run_with) visit(option, runs_[run]);
  }

  // The choices that may decide whether `choice_` is active: one of their options added or ended it, or added another
  // decider.
  std::vector<int> FindDeciders() const {
    std::vector<int> deciders;
    std::vector<bool> found(choices_.size());
    for (const Run& run : runs_) {
      const int flipped = run.flipped;
      if (flipped < 0 || found[flipped] || flipped == choice_) continue;
      if (run.Asked(choice_) != HomeOf(flipped).Asked(choice_) && IsCertain(run)) {
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

  // Whether `run` shows if `choice_` was active: it was asked for, or the constructor passed its position.
  bool IsCertain(const Run& run) const {
    return run.Asked(choice_) || run.error.empty() || position_of_[choice_] < LastPosition(run);
  }

  // The condition under which `choice_` is active in models that differ from `run` only in choices that the run added,
  // and in what those lead to. nullopt: the run failed before it could show that.
  std::optional<Formula> ActiveAround(const Run& run) {
    const bool asked = run.Asked(choice_);
    const bool certain = IsCertain(run);
    std::optional<Formula> formula;
    if (certain) formula = asked ? Always() : Never();
    for (const int decider : deciders_) {
      // If the decider's home and this run disagree, something else in this run decides.
      if (!Added(run, decider) || HomeOf(decider).Asked(choice_) != asked) continue;
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

  // The condition under which `choice_` is active, in terms of the options of `decider` and what they lead to. Assumes
  // that a choice has the same effect wherever it is asked for. nullopt: no effect is known.
  std::optional<Formula> EffectOf(int decider) {
    const auto [entry, is_new] = effects_.emplace(decider, std::nullopt);
    // In a cycle, the entry of a decider that is being computed is still nullopt.
    if (!is_new) return entry->second;
    const KnownChoice& known = choices_[decider];
    // Options with equal conditions.
    std::vector<std::pair<Formula, std::vector<int32_t>>> groups;
    ForEachRunOf(decider, [&](int32_t option, const Run& run) {
      std::optional<Formula> formula;
      if (&run == &runs_[known.home]) {
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

  // The condition, around `run`, under which `choice_` is active but `decider` is not, so that `decider` has no effect.
  Formula WhereGone(int decider, const Run& run) const {
    Formula gone;
    for (int earlier = 0; earlier < static_cast<int>(choices_.size()); ++earlier) {
      if (!Added(run, earlier) || !HomeOf(earlier).Asked(decider) || !HomeOf(earlier).Asked(choice_)) continue;
      std::vector<int32_t> options;
      ForEachRunOf(earlier, [&](int32_t option, const Run& other) {
        if (other.error.empty() && !other.Asked(decider) && other.Asked(choice_)) options.push_back(option);
      });
      if (!options.empty()) AddTo(&gone, {{earlier, std::move(options)}});
    }
    return gone;
  }

  int LastPosition(const Run& run) const {
    int last = -1;
    for (size_t choice = 0; choice < run.asked.size(); ++choice) {
      if (run.asked[choice]) last = std::max(last, position_of_[choice]);
    }
    return last;
  }

  // Removes terms that other terms imply: a term on a choice implies that this choice is active.
  Conjunction Prune(const Conjunction& conjunction, const std::vector<Formula>& formulas) const {
    Conjunction pruned;
    for (const auto& [choice, options] : conjunction) {
      const Conjunction term = {{choice, options}};
      const bool implied = std::any_of(conjunction.begin(), conjunction.end(), [&](const auto& other) {
        const Formula& active = formulas[other.first];
        return position_of_[choice] < position_of_[other.first] &&
               std::all_of(active.begin(), active.end(), [&](const Conjunction& c) { return Implies(c, term); });
      });
      const bool always =
          static_cast<int32_t>(options.size()) == choices_[choice].options && formulas[choice] == Always();
      if (!implied && !always) pruned.emplace(choice, options);
    }
    return pruned;
  }

  absl::StatusOr<v1::SpaceSpec> InferSpec() {
    position_of_.resize(choices_.size());
    for (size_t i = 0; i < order_.size(); ++i) position_of_[order_[i]] = static_cast<int>(i);
    added_by_.resize(choices_.size());
    for (const Run& run : runs_) {
      if (run.flipped < 0) continue;
      for (int choice = 0; choice < static_cast<int>(run.asked.size()); ++choice) {
        if (Added(run, choice)) added_by_[choice].push_back(run.flipped);
      }
    }
    std::vector<Formula>& formulas = formulas_;
    for (size_t choice = 0; choice < choices_.size(); ++choice) {
      choice_ = static_cast<int>(choice);
      deciders_ = FindDeciders();
      effects_.clear();
      Formula formula = ActiveAround(runs_[0]).value_or(Always());
      if (formula.size() > kMostConjunctions || formula.empty()) {
        MarkIncomplete(absl::StrCat("choice '", choices_[choice].choice.label(),
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

  void AddCondition(const Conjunction& conjunction, v1::Condition* condition) const {
    for (const auto& [choice, options] : conjunction) {
      v1::Term* term = condition->add_all_of();
      term->set_label(choices_[choice].choice.label());
      for (const int32_t option : options) term->add_chosen(option);
    }
  }

  // Sorts the choices by the order of asking, but puts each after all choices that its condition names.
  v1::SpaceSpec MakeSpec(std::vector<Formula> formulas) {
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
    for (const int choice : order_) {
      (waits_for[choice].empty() ? ready : waiting).emplace(position_of_[choice], choice);
    }
    v1::SpaceSpec spec;
    spec.set_complete(true);
    while (!ready.empty() || !waiting.empty()) {
      if (ready.empty()) {
        const int choice = waiting.begin()->second;
        MarkIncomplete(absl::StrCat("choice '", choices_[choice].choice.label(), "' comes before or after '",
                                    choices_[*waits_for[choice].begin()].choice.label(),
                                    "', which depends on it in turn"));
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
      *added = choices_[choice].choice;
      if (formulas[choice] == Always()) continue;
      for (const Conjunction& conjunction : formulas[choice]) {
        AddCondition(conjunction, added->add_active_if());
      }
    }
    return spec;
  }

  // Removes terms that always hold where the others do: they name all options of a choice that the others make active.
  void DropFreeTerms(Conjunction* conjunction) const {
    for (auto term = conjunction->begin(); term != conjunction->end();) {
      const auto& [choice, options] = *term;
      Conjunction others = *conjunction;
      others.erase(choice);
      const Formula& active = formulas_[choice];
      const bool is_free =
          static_cast<int32_t>(options.size()) == choices_[choice].options &&
          std::any_of(active.begin(), active.end(), [&](const Conjunction& c) { return Implies(others, c); });
      term = is_free ? conjunction->erase(term) : std::next(term);
    }
  }

  // The impossible models in as few and short conjunctions as merging gives.
  Formula Simplified(Formula formula) const {
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

  // The spec without the models that are known to be impossible. If they entangle the space so much that it could not
  // be counted, only those of short conditions are left out.
  v1::SpaceSpec LeaveOutImpossible(const Space& space) {
    if (!space.size().has_value()) return space.spec();
    Formula left_out = Simplified(std::move(impossible_));
    std::stable_sort(left_out.begin(), left_out.end(),
                     [](const Conjunction& a, const Conjunction& b) { return a.size() < b.size(); });
    for (; !left_out.empty(); left_out.resize(left_out.size() / 2)) {
      v1::SpaceSpec spec = space.spec();
      for (const Conjunction& conjunction : left_out) AddCondition(conjunction, spec.add_impossible());
      const absl::StatusOr<Space> rest = Space::FromProto(std::move(spec));
      if (!rest.ok()) continue;
      Warn(absl::StrCat("left out because they cannot be built: ", mpz_class(*space.size() - *rest->size()).get_str(),
                        " of ", space.size()->get_str(), " models"));
      return rest->spec();
    }
    return space.spec();
  }

  // Builds some models (all models of a small space, else random ones) and compares the choices that they ask for with
  // the space's prediction.
  absl::Status Verify(const Space& space) {
    std::mt19937_64 random(1);
    const bool all = space.size().has_value() && *space.size() <= kVerifications;
    std::optional<v1::Sample> sample = space.First();
    for (int i = 0; i < kVerifications && complete_ && sample.has_value() && runs_made_ < options_.max_runs; ++i) {
      if (!all) sample = space.Random(random);
      LANISTA_ASSIGN_OR_RETURN(const ConstructionTrace trace, Construct(*sample));
      std::set<std::string> predicted;
      for (const v1::Decision& decision : sample->decisions()) predicted.insert(decision.label());
      std::set<std::string> asked;
      std::vector<std::pair<int, int32_t>> answers;
      for (const ConstructionTrace::Asked& a : trace.asked) {
        LANISTA_ASSIGN_OR_RETURN(const int choice, NumberOf(a.choice));
        answers.emplace_back(choice, a.option);
        asked.insert(a.choice.label());
      }
      if (!trace.error.empty()) NoteFailure(trace, answers);
      std::vector<std::string> more;
      std::vector<std::string> fewer;
      std::set_difference(asked.begin(), asked.end(), predicted.begin(), predicted.end(), std::back_inserter(more));
      std::set_difference(predicted.begin(), predicted.end(), asked.begin(), asked.end(), std::back_inserter(fewer));
      if (!more.empty()) {
        MarkIncomplete(Unforeseen(more[0], "is asked for", *sample));
      } else if (!fewer.empty() && trace.error.empty()) {
        MarkIncomplete(Unforeseen(fewer[0], "is not asked for", *sample));
      }
      if (all) sample = space.Next(*sample);
    }
    return absl::OkStatus();
  }

  static std::string Unforeseen(const std::string& label, const std::string& what, const v1::Sample& sample) {
    return absl::StrCat(
        "choice '", label, "' ", what, " by the model ", Space::ToJson(sample),
        ", unlike what single changes of the first model told: ask for it inside of what it depends on, "
        "or always");
  }

  const RunConstructor& run_;
  const DiscoveryOptions& options_;
  absl::flat_hash_set<std::string> skip_;

  std::vector<KnownChoice> choices_;
  absl::flat_hash_map<std::string, int> number_of_;
  // Choices in the order of asking, merged from all runs; and the position of each choice in that order.
  std::vector<int> order_;
  std::vector<int> position_of_;
  // Indexed by choice: the choices with an option that adds it.
  std::vector<std::vector<int>> added_by_;

  // Indexed by choice: the conditions under which it is active.
  std::vector<Formula> formulas_;
  // Holds in models whose constructors fail.
  Formula impossible_;

  // Set for the choice whose condition is being inferred.
  int choice_ = 0;
  std::vector<int> deciders_;
  absl::flat_hash_map<int, std::optional<Formula>> effects_;

  std::vector<Run> runs_;
  // The next option to try of each choice that has one.
  std::deque<std::pair<int, int32_t>> untried_;
  int runs_made_ = 0;
  bool any_success_ = false;
  std::string first_error_;
  bool complete_ = true;
  std::vector<std::string> warnings_;
};

}  // namespace

absl::StatusOr<v1::SpaceSpec> DiscoverSpace(const RunConstructor& run, const DiscoveryOptions& options) {
  return Discovery(run, options).Discover();
}

}  // namespace lanista
