// Spaces from their specs: what a spec must be, its canonical order, its fingerprint.
#include <algorithm>
#include <memory>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "src/base/hash.h"
#include "src/base/status.h"
#include "src/space/candidates.h"
#include "src/space/decision_graph.h"
#include "src/space/space.h"
#include "src/space/space_index.h"

namespace lanista {
namespace {

std::string ChoiceText(const v1::Choice& choice) {
  std::string text = absl::StrCat("\"", absl::CHexEscape(choice.label()), "\" ", static_cast<int>(choice.kind()), " ",
                                  choice.n_chosen(), " of");
  for (const v1::Value& candidate : choice.candidates()) absl::StrAppend(&text, " ", CanonicalText(candidate));
  for (const v1::Condition& condition : choice.active_if()) {
    absl::StrAppend(&text, " if");
    for (const v1::Term& term : condition.all_of()) {
      absl::StrAppend(&text, " \"", absl::CHexEscape(term.label()), "\" in ", absl::StrJoin(term.chosen(), ","));
    }
  }
  return text;
}

std::string Fingerprint(const v1::SpaceSpec& spec) {
  std::string text;
  for (const v1::Choice& choice : spec.choices()) absl::StrAppend(&text, ChoiceText(choice), "\n");
  return absl::StrCat(absl::Hex(StableHash(text), absl::kZeroPad16));
}

// Validates and normalises a condition, which `name` has in messages. All choices that it may name are in `by_label`.
absl::StatusOr<ChoiceTable::Conjunction> AddCondition(const std::string& name, v1::Condition* condition,
                                                      const absl::flat_hash_map<std::string, int>& by_label,
                                                      ChoiceTable* table,
                                                      absl::flat_hash_map<std::string, int>* term_numbers) {
  const auto invalid = [&](const auto&... what) { return absl::InvalidArgumentError(absl::StrCat(name, what...)); };
  if (condition->all_of().empty()) return invalid(": a condition without terms");
  absl::flat_hash_map<int, int> labels;
  for (v1::Term& term : *condition->mutable_all_of()) {
    const auto parent = by_label.find(term.label());
    if (parent == by_label.end()) {
      return invalid(" depends on '", term.label(), "', which is not an earlier choice");
    }
    if (!labels.emplace(parent->second, 0).second) return invalid(" names '", term.label(), "' twice in a condition");
    std::sort(term.mutable_chosen()->begin(), term.mutable_chosen()->end());
    term.mutable_chosen()->erase(std::unique(term.mutable_chosen()->begin(), term.mutable_chosen()->end()),
                                 term.chosen().end());
    if (term.chosen().empty() || term.chosen(0) < 0 ||
        *term.chosen().rbegin() >= table->choices[parent->second].options) {
      return invalid(" depends on options of '", term.label(), "' that are not there: {",
                     absl::StrJoin(term.chosen(), ", "), "} of ", table->choices[parent->second].options);
    }
  }
  const auto position = [&](const v1::Term& term) { return by_label.at(term.label()); };
  std::sort(condition->mutable_all_of()->begin(), condition->mutable_all_of()->end(),
            [&](const v1::Term& a, const v1::Term& b) { return position(a) < position(b); });
  ChoiceTable::Conjunction conjunction;
  for (const v1::Term& term : condition->all_of()) {
    const int parent = position(term);
    const auto [entry, is_new] = term_numbers->emplace(absl::StrCat(parent, ":", absl::StrJoin(term.chosen(), ",")),
                                                       static_cast<int>(table->terms.size()));
    if (is_new) table->terms.push_back({parent, {term.chosen().begin(), term.chosen().end()}});
    conjunction.push_back(entry->second);
  }
  std::sort(conjunction.begin(), conjunction.end());
  return conjunction;
}

// Validates and normalises one choice; earlier ones are in `by_label`.
absl::Status AddChoice(v1::Choice* choice, const v1::SpaceSpec& spec, ChoiceTable* table,
                       absl::flat_hash_map<std::string, int>* by_label,
                       absl::flat_hash_map<std::string, int>* term_numbers) {
  const std::string name = absl::StrCat("choice '", choice->label(), "'");
  const auto invalid = [&](const auto&... what) { return absl::InvalidArgumentError(absl::StrCat(name, what...)); };
  if (choice->label().empty()) return absl::InvalidArgumentError("a choice has no label");
  if (choice->kind() == v1::Choice::KIND_UNSPECIFIED || !v1::Choice::Kind_IsValid(choice->kind())) {
    return invalid(": unknown kind ", static_cast<int>(choice->kind()));
  }
  if (choice->n_chosen() == 0) choice->set_n_chosen(1);
  if (choice->n_chosen() != 1 && choice->kind() != v1::Choice::INPUT_CHOICE &&
      choice->kind() != v1::Choice::VALUE_CHOICE) {
    return invalid(": only a choice of inputs or values can choose ", choice->n_chosen());
  }
  LANISTA_ASSIGN_OR_RETURN(const int32_t options, CountOptions(*choice));
  absl::flat_hash_map<std::string, int> seen;
  for (int i = 0; i < choice->candidates_size(); ++i) {
    const auto [entry, is_new] = seen.emplace(CanonicalText(choice->candidates(i)), i);
    if (!is_new) {
      return invalid(": candidates ", entry->second, " and ", i, " are both ", ValueToText(choice->candidates(i)));
    }
  }

  ChoiceTable::Choice compiled;
  compiled.options = options;
  for (v1::Condition& condition : *choice->mutable_active_if()) {
    LANISTA_ASSIGN_OR_RETURN(ChoiceTable::Conjunction conjunction,
                             AddCondition(name, &condition, *by_label, table, term_numbers));
    compiled.active_if.push_back(std::move(conjunction));
  }
  std::sort(
      choice->mutable_active_if()->begin(), choice->mutable_active_if()->end(),
      [](const v1::Condition& a, const v1::Condition& b) { return a.SerializeAsString() < b.SerializeAsString(); });

  const auto [entry, is_new] = by_label->emplace(choice->label(), static_cast<int>(table->choices.size()));
  if (!is_new) {
    return invalid(" is declared twice: in ", spec.choices(entry->second).declared_in(), " and in ",
                   choice->declared_in());
  }
  table->choices.push_back(std::move(compiled));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Space> Space::FromProto(v1::SpaceSpec spec) {
  auto index = std::make_shared<Index>();
  absl::flat_hash_map<std::string, int> term_numbers;
  for (v1::Choice& choice : *spec.mutable_choices()) {
    LANISTA_RETURN_IF_ERROR(AddChoice(&choice, spec, &index->table, &index->by_label, &term_numbers));
  }
  for (v1::Condition& condition : *spec.mutable_impossible()) {
    LANISTA_ASSIGN_OR_RETURN(
        ChoiceTable::Conjunction conjunction,
        AddCondition("an impossible model", &condition, index->by_label, &index->table, &term_numbers));
    index->table.excluded.push_back(std::move(conjunction));
  }
  const std::string fingerprint = Fingerprint(spec);
  if (!spec.fingerprint().empty() && spec.fingerprint() != fingerprint) {
    return absl::FailedPreconditionError(absl::StrCat("the space's fingerprint is ", fingerprint, ", recorded as ",
                                                      spec.fingerprint(),
                                                      ": it was written by another version, or is damaged"));
  }
  spec.set_fingerprint(fingerprint);

  Space space;
  if (spec.complete()) {
    index->graph = DecisionGraph::Build(index->table);
    if (index->graph.has_value()) space.size_ = index->graph->size();
  }
  if (!spec.impossible().empty() && space.size_.value_or(0) == 0) {
    return absl::InvalidArgumentError(absl::StrCat("the space names impossible models, but ",
                                                   space.size_.has_value() ? "no others" : "its size is unknown"));
  }
  space.spec_ = std::move(spec);
  space.index_ = std::move(index);
  return space;
}

}  // namespace lanista
