#include "src/space/space.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "nlohmann/json.hpp"
#include "src/base/display_text.h"
#include "src/base/hash.h"
#include "src/base/json_line.h"
#include "src/base/status.h"
#include "src/space/decision_graph.h"
#include "src/space/draw.h"

namespace lanista {

struct Space::Index {
  absl::flat_hash_map<std::string, int> by_label;
  ChoiceTable table;
  // Absent if the space cannot be counted.
  std::optional<DecisionGraph> graph;
};

namespace {

// Keeps members in the order of insertion.
using Json = nlohmann::ordered_json;

Json ValueToJson(const v1::Value& value) {
  switch (value.kind_case()) {
    case v1::Value::kI:
      return value.i();
    case v1::Value::kF:
      if (std::isnan(value.f())) return "nan";
      if (std::isinf(value.f())) return value.f() > 0 ? "inf" : "-inf";
      return value.f();
    case v1::Value::kB:
      return value.b();
    case v1::Value::kS:
      return value.s();
    case v1::Value::kList: {
      Json list = Json::array();
      for (const v1::Value& element : value.list().values()) list.push_back(ValueToJson(element));
      return list;
    }
    case v1::Value::kTensor:      // No candidate is a tensor
    case v1::Value::kExpression:  // or an expression.
    case v1::Value::KIND_NOT_SET:
      break;
  }
  return nullptr;
}

// A text that is the same for equal values only, on every platform: doubles are written as bits.
std::string CanonicalText(const v1::Value& value) {
  switch (value.kind_case()) {
    case v1::Value::kI:
      return absl::StrCat("i", value.i());
    case v1::Value::kF: {
      uint64_t bits;
      const double f = value.f();
      std::memcpy(&bits, &f, sizeof(bits));
      return absl::StrCat("f", absl::Hex(bits));
    }
    case v1::Value::kB:
      return value.b() ? "true" : "false";
    case v1::Value::kS:
      return absl::StrCat("\"", absl::CHexEscape(value.s()), "\"");
    case v1::Value::kList:
      return absl::StrCat("[",
                          absl::StrJoin(value.list().values(), ",",
                                        [](std::string* out, const v1::Value& v) { out->append(CanonicalText(v)); }),
                          "]");
    case v1::Value::kTensor:      // No candidate is a tensor
    case v1::Value::kExpression:  // or an expression.
    case v1::Value::KIND_NOT_SET:
      break;
  }
  return "none";
}

std::string CanonicalText(const v1::Choice& choice) {
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
  for (const v1::Choice& choice : spec.choices()) absl::StrAppend(&text, CanonicalText(choice), "\n");
  return absl::StrCat(absl::Hex(StableHash(text), absl::kZeroPad16));
}

std::string KindName(v1::ChoiceKind kind) {
  std::string name = v1::ChoiceKind_Name(kind);
  for (char& c : name) c = c == '_' ? ' ' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return name;
}

std::string CandidatesText(const v1::Choice& choice) {
  constexpr int kShown = 30;
  std::vector<std::string> texts;
  for (const v1::Value& candidate : choice.candidates()) {
    if (texts.size() == kShown) {
      texts.push_back(absl::StrCat("... (", choice.candidates_size(), " in all)"));
      break;
    }
    texts.push_back(ValueToText(candidate));
  }
  return absl::StrCat("[", absl::StrJoin(texts, ", "), "]");
}

std::string AllowedText(const v1::Choice& choice) {
  if (choice.n_chosen() <= 1) return absl::StrCat("one of ", CandidatesText(choice));
  return absl::StrCat("a list of ", choice.n_chosen(), " different ones of ", CandidatesText(choice));
}

// The candidates of an option: 3, or [0, 2].
std::string OptionText(const v1::Choice& choice, int32_t option) {
  const v1::Decision decision = MakeDecision(choice, option);
  std::vector<std::string> texts;
  for (const v1::Value& value : decision.value()) texts.push_back(ValueToText(value));
  return texts.size() == 1 ? texts[0] : absl::StrCat("[", absl::StrJoin(texts, ", "), "]");
}

// Choices by label.
using LabelIndex = absl::flat_hash_map<std::string, const v1::Choice*>;

LabelIndex ByLabel(const v1::SpaceSpec& spec) {
  LabelIndex choices;
  for (const v1::Choice& choice : spec.choices()) choices.emplace(choice.label(), &choice);
  return choices;
}

// "a = 1 and b in {2, 3}, or c = 0"; empty if the choice is always active.
std::string ConditionText(const v1::Choice& choice, const LabelIndex& choices) {
  std::vector<std::string> alternatives;
  for (const v1::Condition& condition : choice.active_if()) {
    std::vector<std::string> terms;
    for (const v1::Term& term : condition.all_of()) {
      const auto parent = choices.find(term.label());
      std::vector<std::string> options;
      for (const int32_t option : term.chosen()) {
        // Specs that were not checked are described too.
        const bool known = parent != choices.end() && option >= 0 && option < CountOptions(*parent->second).value_or(0);
        options.push_back(known ? OptionText(*parent->second, option) : absl::StrCat("option ", option));
      }
      terms.push_back(options.size() == 1 ? absl::StrCat(term.label(), " = ", options[0])
                                          : absl::StrCat(term.label(), " in {", absl::StrJoin(options, ", "), "}"));
    }
    alternatives.push_back(absl::StrJoin(terms, " and "));
  }
  return absl::StrJoin(alternatives, ", or ");
}

// C(n, k); nullopt if it does not fit into 31 bits.
std::optional<int32_t> Binomial(int64_t n, int64_t k) {
  if (k > n) return 0;
  k = std::min(k, n - k);
  int64_t result = 1;
  for (int64_t i = 1; i <= k; ++i) {
    // Here result is C(n - k + i - 1, i - 1), so the division is exact, and the result grows with i.
    result = result * (n - k + i) / i;
    if (result > std::numeric_limits<int32_t>::max()) return std::nullopt;
  }
  return static_cast<int32_t>(result);
}

absl::Status Missing(const v1::Choice& choice) {
  return absl::InvalidArgumentError(
      absl::StrCat("choice '", choice.label(), "' is missing; it takes ", AllowedText(choice)));
}

absl::Status NotActive(const v1::Choice& choice, const LabelIndex& choices) {
  return absl::InvalidArgumentError(absl::StrCat("choice '", choice.label(), "' is not active in this model; it is if ",
                                                 ConditionText(choice, choices)));
}

absl::Status WrongCandidate(const v1::Choice& choice, const std::string& given) {
  return absl::InvalidArgumentError(
      absl::StrCat("choice '", choice.label(), "' takes ", AllowedText(choice), ", not ", given));
}

absl::Status UnknownLabel(const std::string& label, const v1::SpaceSpec& spec) {
  constexpr int kShown = 20;
  std::vector<std::string> known;
  for (const v1::Choice& choice : spec.choices()) {
    known.push_back(known.size() == kShown ? "..." : choice.label());
    if (known.size() > kShown) break;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("the space has no choice '", label, "'; it has: ", absl::StrJoin(known, ", ")));
}

absl::Status JsonToValue(const Json& json, v1::Value* value) {
  switch (json.type()) {
    case Json::value_t::number_integer:
    case Json::value_t::number_unsigned:
      value->set_i(json.get<int64_t>());
      return absl::OkStatus();
    case Json::value_t::number_float:
      value->set_f(json.get<double>());
      return absl::OkStatus();
    case Json::value_t::boolean:
      value->set_b(json.get<bool>());
      return absl::OkStatus();
    case Json::value_t::string:
      value->set_s(json.get<std::string>());
      return absl::OkStatus();
    default:
      return absl::InvalidArgumentError(
          absl::StrCat("a candidate is a number, a string or a truth value, not ", JsonLine(json)));
  }
}

int ChosenOf(const v1::Choice& choice) { return std::max(choice.n_chosen(), 1); }

// The index of the candidate that equals `value`, or -1.
int FindCandidate(const v1::Choice& choice, const v1::Value& value) {
  const std::string text = CanonicalText(value);
  for (int i = 0; i < choice.candidates_size(); ++i) {
    if (CanonicalText(choice.candidates(i)) == text) return i;
  }
  return -1;
}

// The index of the candidate that the JSON value names: an equal value of the same type, else an equal number. -1:
// none.
int FindCandidate(const v1::Choice& choice, const Json& json) {
  int equal = -1;
  for (int i = 0; i < choice.candidates_size(); ++i) {
    const Json candidate = ValueToJson(choice.candidates(i));
    if (candidate != json) continue;
    if (candidate.is_number_float() == json.is_number_float()) return i;
    equal = i;
  }
  return equal;
}

// Validates and normalises one choice; earlier ones are in `index`.
absl::Status AddChoice(v1::Choice* choice, const v1::SpaceSpec& spec, ChoiceTable* table,
                       absl::flat_hash_map<std::string, int>* by_label,
                       absl::flat_hash_map<std::string, int>* term_numbers) {
  const std::string name = absl::StrCat("choice '", choice->label(), "'");
  const auto invalid = [&](const auto&... what) { return absl::InvalidArgumentError(absl::StrCat(name, what...)); };
  if (choice->label().empty()) return absl::InvalidArgumentError("a choice has no label");
  if (choice->kind() == v1::CHOICE_KIND_UNSPECIFIED || !v1::ChoiceKind_IsValid(choice->kind())) {
    return invalid(": unknown kind ", static_cast<int>(choice->kind()));
  }
  if (choice->n_chosen() == 0) choice->set_n_chosen(1);
  if (choice->n_chosen() != 1 && choice->kind() != v1::INPUT_CHOICE && choice->kind() != v1::VALUE_CHOICE) {
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
    if (condition.all_of().empty()) return invalid(": a condition without terms");
    absl::flat_hash_map<int, int> labels;
    for (v1::Term& term : *condition.mutable_all_of()) {
      const auto parent = by_label->find(term.label());
      if (parent == by_label->end()) {
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
    const auto position = [&](const v1::Term& term) { return by_label->at(term.label()); };
    std::sort(condition.mutable_all_of()->begin(), condition.mutable_all_of()->end(),
              [&](const v1::Term& a, const v1::Term& b) { return position(a) < position(b); });
    ChoiceTable::Conjunction conjunction;
    for (const v1::Term& term : condition.all_of()) {
      const int parent = position(term);
      const auto [entry, is_new] = term_numbers->emplace(absl::StrCat(parent, ":", absl::StrJoin(term.chosen(), ",")),
                                                         static_cast<int>(table->terms.size()));
      if (is_new) table->terms.push_back({parent, {term.chosen().begin(), term.chosen().end()}});
      conjunction.push_back(entry->second);
    }
    std::sort(conjunction.begin(), conjunction.end());
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

absl::StatusOr<int32_t> CountOptions(const v1::Choice& choice) {
  const int candidates = choice.candidates_size();
  const int chosen = ChosenOf(choice);
  if (candidates == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("choice '", choice.label(), "' has no candidates; give at least one"));
  }
  if (choice.n_chosen() < 0 || chosen > candidates) {
    return absl::InvalidArgumentError(absl::StrCat("choice '", choice.label(), "': n_chosen is ", choice.n_chosen(),
                                                   ", must be from 1 to its ", candidates, " candidates"));
  }
  const std::optional<int32_t> options = Binomial(candidates, chosen);
  if (!options.has_value()) {
    return absl::InvalidArgumentError(absl::StrCat("choice '", choice.label(), "': ", chosen, " of ", candidates,
                                                   " candidates is more than 2^31 - 1 combinations"));
  }
  return *options;
}

v1::Decision MakeDecision(const v1::Choice& choice, int32_t option) {
  v1::Decision decision;
  decision.set_label(choice.label());
  const auto choose = [&](int index) {
    decision.add_index(index);
    *decision.add_value() = choice.candidates(index);
  };
  int left = ChosenOf(choice);
  if (left == 1) {
    choose(option);
    return decision;
  }
  for (int index = 0; left > 0; ++index) {
    const int32_t with_index = *Binomial(choice.candidates_size() - index - 1, left - 1);
    if (option < with_index) {
      choose(index);
      --left;
    } else {
      option -= with_index;
    }
  }
  return decision;
}

int32_t OptionOf(const v1::Choice& choice, const v1::Decision& decision) {
  std::vector<int> indices(decision.index().begin(), decision.index().end());
  if (indices.empty()) {
    for (const v1::Value& value : decision.value()) indices.push_back(FindCandidate(choice, value));
    std::sort(indices.begin(), indices.end());
  } else if (!decision.value().empty() && decision.value_size() != decision.index_size()) {
    return -1;
  }
  const int candidates = choice.candidates_size();
  const int chosen = ChosenOf(choice);
  if (static_cast<int>(indices.size()) != chosen) return -1;
  int32_t option = 0;
  int previous = -1;
  for (int i = 0; i < chosen; ++i) {
    const int index = indices[i];
    if (index <= previous || index >= candidates) return -1;
    if (!decision.index().empty() && !decision.value().empty() &&
        CanonicalText(decision.value(i)) != CanonicalText(choice.candidates(index))) {
      return -1;
    }
    if (chosen == 1) return index;
    for (int skipped = previous + 1; skipped < index; ++skipped) {
      option += *Binomial(candidates - skipped - 1, chosen - i - 1);
    }
    previous = index;
  }
  return option;
}

std::string ValueToText(const v1::Value& value) { return JsonLine(ValueToJson(value)); }

std::string DecisionToCell(const v1::Decision& decision) {
  if (decision.value_size() != 1) {
    return absl::StrCat(
        "[",
        absl::StrJoin(decision.value(), ",", [](std::string* out, const v1::Value& v) { out->append(ValueToText(v)); }),
        "]");
  }
  const v1::Value& value = decision.value(0);
  return value.has_s() ? value.s() : ValueToText(value);
}

absl::StatusOr<Space> Space::FromProto(v1::SpaceSpec spec) {
  auto index = std::make_shared<Index>();
  absl::flat_hash_map<std::string, int> term_numbers;
  for (v1::Choice& choice : *spec.mutable_choices()) {
    LANISTA_RETURN_IF_ERROR(AddChoice(&choice, spec, &index->table, &index->by_label, &term_numbers));
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
  space.spec_ = std::move(spec);
  space.index_ = std::move(index);
  return space;
}

int32_t Space::option_count(int choice) const { return index_->table.choices[choice].options; }

bool Space::IsActive(int choice, const Options& options) const { return index_->table.IsActive(choice, options); }

v1::Sample Space::ToSample(const Options& options) const {
  v1::Sample sample;
  for (size_t i = 0; i < options.size(); ++i) {
    if (options[i] >= 0) *sample.add_decisions() = MakeDecision(spec_.choices(i), options[i]);
  }
  return sample;
}

void Space::SetToFirst(size_t first, Options* options) const {
  for (size_t i = first; i < options->size(); ++i) (*options)[i] = IsActive(i, *options) ? 0 : -1;
}

v1::Sample Space::Unrank(const mpz_class& number) const { return ToSample(index_->graph->Unrank(number)); }

Space::Options Space::FirstOptions() const {
  Options options(choice_count(), -1);
  SetToFirst(0, &options);
  return options;
}

v1::Sample Space::First() const { return ToSample(FirstOptions()); }

bool Space::Advance(Options* options) const {
  for (size_t i = options->size(); i-- > 0;) {
    int32_t& option = (*options)[i];
    if (option < 0 || option + 1 == option_count(i)) continue;
    ++option;
    SetToFirst(i + 1, options);
    return true;
  }
  return false;
}

std::optional<v1::Sample> Space::Next(const v1::Sample& sample) const {
  absl::StatusOr<Options> options = OptionsOf(sample);
  if (!options.ok() || !Advance(&*options)) return std::nullopt;
  return ToSample(*options);
}

Space::Options Space::RandomOptions(std::mt19937_64& random) const {
  Options options(choice_count(), -1);
  for (size_t i = 0; i < options.size(); ++i) {
    if (IsActive(i, options)) options[i] = Uniform(random, option_count(i));
  }
  return options;
}

v1::Sample Space::Random(std::mt19937_64& random) const { return ToSample(RandomOptions(random)); }

Space::Options Space::With(Options options, int choice, int32_t option, std::mt19937_64& random) const {
  options[choice] = option;
  for (size_t i = choice + 1; i < options.size(); ++i) {
    if (!IsActive(i, options)) {
      options[i] = -1;
    } else if (options[i] < 0) {
      options[i] = Uniform(random, option_count(i));
    }
  }
  return options;
}

v1::Sample Space::With(const v1::Sample& sample, int choice, int32_t option, std::mt19937_64& random) const {
  return ToSample(With(*OptionsOf(sample), choice, option, random));
}

absl::StatusOr<Space::Options> Space::OptionsOf(const v1::Sample& sample) const {
  Options options(choice_count(), -1);
  int next = 0;
  // Choices before `end` that the sample leaves out must not be active.
  const auto pass_over = [&](int end) {
    for (; next < end; ++next) {
      if (index_->table.IsActive(next, options)) return Missing(spec_.choices(next));
    }
    return absl::OkStatus();
  };
  for (const v1::Decision& decision : sample.decisions()) {
    const auto found = index_->by_label.find(decision.label());
    if (found == index_->by_label.end()) {
      if (!complete()) continue;
      return UnknownLabel(decision.label(), spec_);
    }
    const int i = found->second;
    const v1::Choice& choice = spec_.choices(i);
    if (i < next) {
      return absl::InvalidArgumentError(
          absl::StrCat("choice '", choice.label(), "' is there twice or not in the order of the space"));
    }
    LANISTA_RETURN_IF_ERROR(pass_over(i));
    if (!index_->table.IsActive(i, options)) return NotActive(choice, ByLabel(spec_));
    options[i] = OptionOf(choice, decision);
    if (options[i] < 0) return WrongCandidate(choice, absl::StrCat("{", decision.ShortDebugString(), "}"));
    next = i + 1;
  }
  LANISTA_RETURN_IF_ERROR(pass_over(spec_.choices_size()));
  return options;
}

absl::Status Space::Check(const v1::Sample& sample) const { return OptionsOf(sample).status(); }

std::string Space::ToJson(const v1::Sample& sample) {
  Json json = Json::object();
  // Appended without a look-up, because labels are unique.
  auto& members = json.get_ref<Json::object_t&>();
  for (const v1::Decision& decision : sample.decisions()) {
    Json value;
    if (decision.value_size() == 1) {
      value = ValueToJson(decision.value(0));
    } else {
      value = Json::array();
      for (const v1::Value& chosen : decision.value()) value.push_back(ValueToJson(chosen));
    }
    members.push_back({decision.label(), std::move(value)});
  }
  return JsonLine(json);
}

absl::StatusOr<v1::Sample> Space::FromJson(const std::string& json) const { return ReadJson(json, nullptr); }

absl::StatusOr<v1::Sample> Space::Complete(const std::string& json, std::mt19937_64& random) const {
  return ReadJson(json, &random);
}

absl::StatusOr<v1::Sample> Space::ReadJson(const std::string& json, std::mt19937_64* random) const {
  Json members;
  try {
    members = Json::parse(json);
  } catch (const Json::exception& error) {  // Also out_of_range: 1e999.
    return absl::InvalidArgumentError(absl::StrCat("not JSON: ", error.what()));
  }
  if (!members.is_object()) {
    return absl::InvalidArgumentError("a sample is a JSON object: {\"label\": candidate, ...}");
  }
  Options options(choice_count(), -1);
  absl::flat_hash_map<std::string, const Json*> given;
  for (const auto& member : members.items()) given.emplace(member.key(), &member.value());
  for (int i = 0; i < spec_.choices_size(); ++i) {
    const v1::Choice& choice = spec_.choices(i);
    const auto found = given.find(choice.label());
    if (!index_->table.IsActive(i, options)) {
      if (found != given.end()) return NotActive(choice, ByLabel(spec_));
      continue;
    }
    if (found == given.end()) {
      if (random == nullptr) return Missing(choice);
      options[i] = Uniform(*random, option_count(i));
      continue;
    }
    const Json& value = *found->second;
    v1::Decision decision;
    if (choice.n_chosen() == 1) {
      decision.add_index(FindCandidate(choice, value));
    } else if (value.is_array()) {
      for (const Json& chosen : value) decision.add_index(FindCandidate(choice, chosen));
      std::sort(decision.mutable_index()->begin(), decision.mutable_index()->end());
    }
    options[i] = OptionOf(choice, decision);
    if (options[i] < 0) return WrongCandidate(choice, JsonLine(value));
  }
  v1::Sample sample = ToSample(options);
  for (const auto& member : members.items()) {
    if (index_->by_label.contains(member.key())) continue;
    if (complete()) return UnknownLabel(member.key(), spec_);
    v1::Decision* decision = sample.add_decisions();
    decision->set_label(member.key());
    if (member.value().is_array()) {
      for (const Json& value : member.value()) LANISTA_RETURN_IF_ERROR(JsonToValue(value, decision->add_value()));
    } else {
      LANISTA_RETURN_IF_ERROR(JsonToValue(member.value(), decision->add_value()));
    }
  }
  return sample;
}

std::string Space::Describe() const {
  // Each choice is listed below the latest choice that it depends on.
  std::vector<std::vector<int>> below(spec_.choices_size());
  std::vector<int> roots;
  for (int i = 0; i < spec_.choices_size(); ++i) {
    int parent = -1;
    for (const ChoiceTable::Conjunction& conjunction : index_->table.choices[i].active_if) {
      for (const int term : conjunction) parent = std::max(parent, index_->table.terms[term].choice);
    }
    (parent < 0 ? roots : below[parent]).push_back(i);
  }
  const LabelIndex by_label = ByLabel(spec_);
  std::string text;
  // A stack instead of recursion, because chains may be long. Pushed in reverse, so that the first is taken first.
  std::vector<std::pair<int, int>> open;
  const auto push = [&](const std::vector<int>& choices, int depth) {
    for (auto i = choices.rbegin(); i != choices.rend(); ++i) open.emplace_back(*i, depth);
  };
  push(roots, 0);
  while (!open.empty()) {
    const auto [i, depth] = open.back();
    open.pop_back();
    const v1::Choice& choice = spec_.choices(i);
    std::string line = absl::StrCat(std::string(2 * depth, ' '), choice.label(), ": ", KindName(choice.kind()), ", ");
    if (choice.n_chosen() > 1) absl::StrAppend(&line, choice.n_chosen(), " of ");
    absl::StrAppend(&line, CandidatesText(choice));
    if (!choice.active_if().empty()) absl::StrAppend(&line, ", if ", ConditionText(choice, by_label));
    absl::StrAppend(&text, Printable(line), "\n");
    push(below[i], depth + 1);
  }
  return text;
}

std::string Space::Key(const v1::Sample& sample) {
  // Labels are not needed: the decisions so far determine which choice comes next.
  std::string key;
  for (const v1::Decision& decision : sample.decisions()) {
    absl::StrAppend(&key, key.empty() ? "" : ".", absl::StrJoin(decision.index(), "+"));
  }
  return key;
}

std::string DescribeDifference(const v1::SpaceSpec& here, const v1::SpaceSpec& there) {
  const LabelIndex choices_here = ByLabel(here);
  const LabelIndex choices_there = ByLabel(there);
  const auto conditions = [](const v1::Choice& choice) {
    std::vector<std::string> texts;
    for (const v1::Condition& condition : choice.active_if()) texts.push_back(condition.SerializeAsString());
    std::sort(texts.begin(), texts.end());
    return texts;
  };
  std::vector<std::string> lines;
  std::vector<std::string> order_here;
  std::vector<std::string> order_there;
  for (const v1::Choice& choice : here.choices()) {
    const std::string name = absl::StrCat("choice '", choice.label(), "': ");
    const auto found = choices_there.find(choice.label());
    if (found == choices_there.end()) {
      lines.push_back(absl::StrCat(name, "only here"));
      continue;
    }
    order_here.push_back(choice.label());
    const v1::Choice& other = *found->second;
    const auto differs = [&](const std::string& mine, const std::string& theirs) {
      lines.push_back(absl::StrCat(name, mine, " here, ", theirs, " there"));
    };
    if (choice.kind() != other.kind()) differs(KindName(choice.kind()), KindName(other.kind()));
    if (ChosenOf(choice) != ChosenOf(other)) {
      differs(absl::StrCat("chooses ", ChosenOf(choice)), absl::StrCat(ChosenOf(other)));
    }
    if (!std::equal(choice.candidates().begin(), choice.candidates().end(), other.candidates().begin(),
                    other.candidates().end(),
                    [](const v1::Value& a, const v1::Value& b) { return CanonicalText(a) == CanonicalText(b); })) {
      differs(absl::StrCat("candidates ", CandidatesText(choice)), CandidatesText(other));
    }
    if (conditions(choice) != conditions(other)) {
      const auto text = [](const v1::Choice& c, const LabelIndex& choices) {
        return c.active_if().empty() ? "always" : absl::StrCat("if ", ConditionText(c, choices));
      };
      differs(absl::StrCat("active ", text(choice, choices_here)), text(other, choices_there));
    }
  }
  for (const v1::Choice& choice : there.choices()) {
    if (choices_here.contains(choice.label())) {
      order_there.push_back(choice.label());
    } else {
      lines.push_back(absl::StrCat("choice '", choice.label(), "': only there"));
    }
  }
  if (order_here != order_there) lines.push_back("the same choices come in another order");
  return absl::StrJoin(lines, "\n");
}

}  // namespace lanista
