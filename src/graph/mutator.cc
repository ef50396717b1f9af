#include "src/graph/mutator.h"

#include <algorithm>
#include <exception>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "src/base/status.h"
#include "src/graph/fit_widths.h"
#include "src/graph/graph.h"
#include "src/graph/materialise.h"

namespace lanista::graph {
namespace {

std::string Bytes(const v1::Choice& choice) { return choice.SerializeAsString(); }

absl::Status CheckChoice(const v1::Choice& choice) {
  if (choice.label().empty()) return absl::InvalidArgumentError("a choice needs a label");
  const auto error = [&choice](const std::string& what) {
    return absl::InvalidArgumentError(absl::StrCat("choice '", choice.label(), "': ", what));
  };
  if (choice.candidates().empty()) return error("it has no candidates");
  std::set<std::string> seen;
  for (const v1::Value& candidate : choice.candidates()) {
    if (candidate.has_tensor() || candidate.has_expression()) {
      return error("a candidate is a number, a string, a truth value or a list of these");
    }
    if (!seen.insert(candidate.SerializeAsString()).second) return error("two candidates are equal");
  }
  if (choice.n_chosen() < 1 || choice.n_chosen() > choice.candidates_size()) {
    return error(absl::StrCat("n_chosen is ", choice.n_chosen(), " of ", choice.candidates_size(), " candidates"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<v1::Decision> Chooser::Choose(const v1::Choice& choice) {
  for (const Asked& asked : asked_) {
    if (asked.choice.label() != choice.label()) continue;
    if (Bytes(asked.choice) == Bytes(choice)) return asked.decision;
    return absl::InvalidArgumentError(
        absl::StrCat("two choices have the label '", choice.label(), "' and different candidates or kinds"));
  }
  LANISTA_RETURN_IF_ERROR(CheckChoice(choice));
  LANISTA_ASSIGN_OR_RETURN(v1::Decision decision, answer_(choice));
  asked_.push_back({choice, decision});
  return decision;
}

absl::StatusOr<int> Chooser::ChooseIndex(const std::string& label, v1::Choice::Kind kind,
                                         const std::vector<v1::Value>& candidates) {
  v1::Choice choice;
  choice.set_label(label);
  choice.set_kind(kind);
  choice.set_n_chosen(1);
  for (const v1::Value& candidate : candidates) *choice.add_candidates() = candidate;
  LANISTA_ASSIGN_OR_RETURN(const v1::Decision decision, Choose(choice));
  return decision.index(0);
}

absl::StatusOr<v1::Value> Chooser::ChooseValue(const std::string& label, const std::vector<v1::Value>& candidates) {
  LANISTA_ASSIGN_OR_RETURN(const int index, ChooseIndex(label, v1::Choice::VALUE_CHOICE, candidates));
  return candidates[index];
}

v1::Sample Chooser::sample() const {
  v1::Sample sample;
  for (const Asked& asked : asked_) *sample.add_decisions() = asked.decision;
  return sample;
}

absl::StatusOr<GraphSpace> GraphSpace::Create(v1::ModelGraph base, const v1::SpaceConfig& config, OpLookup find_op,
                                              const ModuleReader& read_module) {
  LANISTA_RETURN_IF_ERROR(Validate(base, find_op));
  GraphSpace space;
  space.find_op_ = find_op;
  space.frozen_.assign(config.frozen().begin(), config.frozen().end());
  // Takes the first candidates, to try the mutators.
  Chooser first([](const v1::Choice& choice) -> absl::StatusOr<v1::Decision> {
    v1::Decision decision;
    decision.set_label(choice.label());
    for (int i = 0; i < choice.n_chosen(); ++i) {
      decision.add_index(i);
      *decision.add_value() = choice.candidates(i);
    }
    return decision;
  });
  MutableModel prepared(base, find_op);
  MutableModel tried(std::move(base), find_op);
  for (int i = 0; i < config.mutator_size(); ++i) {
    const v1::MutatorConfig& mutator_config = config.mutator(i);
    const std::string field = absl::StrCat("space.mutator[", i, "]");
    auto mutator = MutatorRegistry::Get().Create(mutator_config, mutator_config, read_module);
    if (!mutator.ok()) return Annotate(mutator.status(), field);
    LANISTA_RETURN_IF_ERROR(Annotate(Apply(**mutator, tried, first), field));
    // Mutators that only declare choices are applied now, once, as long as no user's mutator comes before them.
    if (!mutator_config.has_custom() && space.mutators_.empty()) {
      LANISTA_RETURN_IF_ERROR((*mutator)->Mutate(prepared, first));
    } else {
      space.mutators_.push_back(*std::move(mutator));
      space.mutator_configs_.push_back(mutator_config);
    }
  }
  LANISTA_RETURN_IF_ERROR(Freeze(space.frozen_, /*must_match=*/true, tried));
  LANISTA_RETURN_IF_ERROR(Annotate(Validate(tried.model(), find_op), "space.mutator"));
  space.base_ = std::move(prepared).Release();
  return space;
}

v1::PreparedGraphSpace GraphSpace::Prepared() const {
  v1::PreparedGraphSpace prepared;
  *prepared.mutable_base() = base_;
  for (const v1::MutatorConfig& mutator : mutator_configs_) *prepared.add_mutator() = mutator;
  return prepared;
}

absl::StatusOr<v1::ModelGraph> GraphSpace::Materialise(Chooser& chooser) const {
  MutableModel model(base_, find_op_);
  for (const auto& mutator : mutators_) LANISTA_RETURN_IF_ERROR(Apply(*mutator, model, chooser));
  if (!mutators_.empty()) LANISTA_RETURN_IF_ERROR(Annotate(Validate(model.model(), find_op_), "after mutation"));
  const auto& choices = model.model().value_choices();
  const bool propagates = std::any_of(choices.begin(), choices.end(), [](const auto& one) { return one.propagate(); });
  // Gives each cell a graph of its own, because their widths may differ.
  if (propagates) LANISTA_RETURN_IF_ERROR(model.Find("**").status());
  LANISTA_ASSIGN_OR_RETURN(const NodeNames widths, DecideChoices(&model.mutable_model(), chooser));
  if (propagates) LANISTA_RETURN_IF_ERROR(FitWidths(widths, &model.mutable_model(), find_op_));
  LANISTA_RETURN_IF_ERROR(Freeze(frozen_, /*must_match=*/false, model));
  v1::ModelGraph result = std::move(model).Release();
  LANISTA_RETURN_IF_ERROR(Validate(result, find_op_));
  LANISTA_RETURN_IF_ERROR(InferTypes(&result, find_op_));
  return result;
}

absl::Status GraphSpace::Apply(const Mutator& mutator, MutableModel& model, Chooser& chooser) {
  try {
    return mutator.Mutate(model, chooser);
  } catch (const std::exception& error) {
    return absl::InvalidArgumentError(absl::StrCat("the mutator threw: ", error.what()));
  } catch (...) {
    return absl::InvalidArgumentError("the mutator threw something that is no std::exception");
  }
}

absl::Status GraphSpace::Freeze(const std::vector<v1::FrozenConfig>& frozen, bool must_match, MutableModel& model) {
  for (size_t i = 0; i < frozen.size(); ++i) {
    const auto found = model.Find(frozen[i].target());
    if (!found.ok() && must_match) return Annotate(found.status(), absl::StrCat("space.frozen[", i, "]"));
    if (!found.ok()) continue;
    for (const NodeHandle& at : *found) at.node->set_frozen(true);
  }
  return absl::OkStatus();
}

}  // namespace lanista::graph
