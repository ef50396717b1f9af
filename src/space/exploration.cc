#include "src/space/exploration.h"

#include <algorithm>
#include <iterator>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "src/base/out_of_memory.h"
#include "src/base/status.h"
#include "src/space/space.h"

namespace lanista::discovery {
namespace {

// A condition of more terms excludes hardly any model.
constexpr size_t kMostTerms = 64;
constexpr int kMostWarnings = 50;

}  // namespace

Exploration::Exploration(const RunConstructor& run, const DiscoveryOptions& options) : run_(run), options_(options) {
  for (const v1::Sample& sample : options.skip) skip_.insert(AssignmentKey(sample));
}

std::string Exploration::AssignmentKey(const v1::Sample& assignment) {
  std::set<std::string> texts;
  for (const v1::Decision& decision : assignment.decisions()) {
    texts.insert(
        absl::StrCat(decision.label().size(), ":", decision.label(), "=", absl::StrJoin(decision.index(), "+")));
  }
  return absl::StrJoin(texts, ";");
}

void Exploration::Warn(const std::string& text) {
  if (warnings_.size() < kMostWarnings) warnings_.push_back(text);
}

void Exploration::MarkIncomplete(const std::string& why) {
  complete_ = false;
  Warn(why);
}

absl::StatusOr<ConstructionTrace> Exploration::Construct(const v1::Sample& assignment) {
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

absl::StatusOr<int> Exploration::NumberOf(v1::Choice choice) {
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

void Exploration::NoteFailure(const ConstructionTrace& trace, const std::vector<std::pair<int, int32_t>>& answers) {
  if (SaysOutOfMemory(trace.error) || answers.empty() || answers.size() > kMostTerms) return;
  Conjunction failing;
  for (const auto& [choice, option] : answers) failing[choice] = {option};
  AddTo(&impossible_, std::move(failing));
  if (impossible_.size() > kMostConjunctions) impossible_.erase(Longest(impossible_));
}

Formula::iterator Exploration::Longest(Formula& formula) {
  return std::max_element(formula.begin(), formula.end(),
                          [](const Conjunction& a, const Conjunction& b) { return a.size() < b.size(); });
}

absl::Status Exploration::Explore() {
  LANISTA_RETURN_IF_ERROR(Record({}, -1, 0));
  while (!untried_.empty()) {
    if (runs_made_ >= options_.max_runs) {
      int64_t left = 0;
      for (const KnownChoice& known : choices_) left += known.options - static_cast<int64_t>(known.run_with.size());
      MarkIncomplete(absl::StrCat("discovery ended after ", runs_made_, " runs: ", left, " candidates were not tried"));
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

absl::Status Exploration::Record(const v1::Sample& assignment, int flipped, int32_t option) {
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

void Exploration::Introduce(int choice, int run, const std::vector<std::pair<int, int32_t>>& trace, int32_t taken) {
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

void Exploration::QueueFrom(int choice, int32_t option) {
  const KnownChoice& known = choices_[choice];
  const auto taken = known.run_with.find(option);
  if (taken != known.run_with.end()) ++option;
  if (option < known.options) untried_.emplace_back(choice, option);
}

absl::Status Exploration::CompareWithHome(int flipped, int32_t option, Run* run) {
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

std::string Exploration::OptionText(int choice, int32_t option) const {
  const v1::Decision decision = MakeDecision(choices_[choice].choice, option);
  return absl::StrJoin(decision.value(), "+",
                       [](std::string* out, const v1::Value& value) { out->append(ValueToText(value)); });
}

}  // namespace lanista::discovery
