#include "src/config/choices.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "src/base/status.h"
#include "src/space/space.h"

namespace lanista {
namespace {

// A condition on a choice of several candidates lists all combinations that fulfil it.
constexpr int32_t kMostCombinations = 10000;

std::string Element(const std::string& path, const char* field, int index) {
  return absl::StrCat(path, path.empty() ? "" : ".", field, "[", index, "]");
}

// Why `value` cannot be a candidate; empty if it can.
std::string ValueProblem(const v1::Value& value) {
  switch (value.kind_case()) {
    case v1::Value::kI:
    case v1::Value::kB:
    case v1::Value::kS:
      return "";
    case v1::Value::kF:
      return std::isfinite(value.f()) ? "" : "must be a finite number";
    case v1::Value::kList:
      for (const v1::Value& element : value.list().values()) {
        if (std::string problem = ValueProblem(element); !problem.empty()) return problem;
      }
      return "";
    default:
      return "is no value that can be chosen; set one of: i, f, b, s, list";
  }
}

std::string CandidatesText(const v1::Choice& choice) {
  constexpr int kShown = 30;
  std::vector<std::string> texts;
  for (const v1::Value& candidate : choice.candidates()) {
    texts.push_back(static_cast<int>(texts.size()) == kShown ? "..." : ValueToText(candidate));
    if (static_cast<int>(texts.size()) > kShown) break;
  }
  return absl::StrJoin(texts, ", ");
}

// Makes a SpaceSpec of the configuration, a choice after the other.
class Reader {
 public:
  explicit Reader(const v1::ChoicesConfig& config) : config_(config) { spec_.set_complete(true); }

  std::optional<Violation> Read(const std::string& path) {
    if (config_.choice().empty()) {
      return Violation{absl::StrCat(path, path.empty() ? "" : ".", "choice"),
                       "is required: at least one, for example choice { label: \"width\" candidate: [ { i: 16 }, "
                       "{ i: 32 } ] }"};
    }
    for (const v1::ChoiceConfig& choice : config_.choice()) all_labels_.insert(choice.label());
    for (int i = 0; i < config_.choice_size(); ++i) {
      v1::Choice choice;
      if (auto violation = ReadChoice(config_.choice(i), Element(path, "choice", i), &choice)) return violation;
      numbers_[choice.label()] = i;
      *spec_.add_choices() = std::move(choice);
    }
    return std::nullopt;
  }

  v1::SpaceSpec TakeSpec() { return std::move(spec_); }

 private:
  std::optional<Violation> ReadChoice(const v1::ChoiceConfig& config, const std::string& path, v1::Choice* choice) {
    if (config.label().empty()) return Violation{path + ".label", "is required: what samples call the choice"};
    if (const auto other = numbers_.find(config.label()); other != numbers_.end()) {
      return Violation{path + ".label", absl::StrCat("choice number ", other->second + 1, " is named '", config.label(),
                                                     "', too: labels must differ")};
    }
    choice->set_label(config.label());
    choice->set_kind(v1::Choice::VALUE_CHOICE);
    choice->set_declared_in("the configuration");
    if (auto violation = ReadCandidates(config, path, choice)) return violation;
    choice->set_n_chosen(config.has_n_chosen() ? config.n_chosen() : 1);
    if (choice->n_chosen() < 1 || choice->n_chosen() > choice->candidates_size()) {
      return Violation{path + ".n_chosen", absl::StrCat("must be from 1 to ", choice->candidates_size(),
                                                        ", the number of candidates, got ", choice->n_chosen())};
    }
    if (const auto options = CountOptions(*choice); !options.ok()) {
      return Violation{path + ".n_chosen", std::string(options.status().message())};
    }
    for (int i = 0; i < config.active_if_size(); ++i) {
      if (auto violation =
              ReadCondition(config.active_if(i), Element(path, "active_if", i), choice, choice->add_active_if())) {
        return violation;
      }
    }
    return std::nullopt;
  }

  static std::optional<Violation> ReadCandidates(const v1::ChoiceConfig& config, const std::string& path,
                                                 v1::Choice* choice) {
    if (config.candidate().empty()) return Violation{path + ".candidate", "is required: at least one"};
    std::map<std::string, int> seen;
    for (int i = 0; i < config.candidate_size(); ++i) {
      const std::string at = Element(path, "candidate", i);
      if (std::string problem = ValueProblem(config.candidate(i)); !problem.empty()) return Violation{at, problem};
      const std::string text = ValueToText(config.candidate(i));
      if (const auto [entry, is_new] = seen.emplace(text, i); !is_new) {
        return Violation{at, absl::StrCat(text, " is candidate number ", entry->second + 1, ", too: keep one")};
      }
      *choice->add_candidates() = config.candidate(i);
    }
    return std::nullopt;
  }

  std::optional<Violation> ReadCondition(const v1::ActiveIfConfig& config, const std::string& path,
                                         const v1::Choice* choice, v1::Condition* condition) const {
    if (config.all_of().empty()) {
      return Violation{path + ".all_of", "is required: at least one choice that must have been made"};
    }
    std::set<std::string> labels;
    for (int i = 0; i < config.all_of_size(); ++i) {
      const v1::ChosenConfig& term = config.all_of(i);
      const std::string at = Element(path, "all_of", i);
      const auto parent = numbers_.find(term.label());
      if (parent == numbers_.end()) return Violation{at + ".label", NotEarlier(term.label(), *choice)};
      if (!labels.insert(term.label()).second) {
        return Violation{at + ".label",
                         absl::StrCat("'", term.label(), "' is named twice; name all of its candidates at once")};
      }
      if (auto violation = ReadTerm(term, spec_.choices(parent->second), at, condition->add_all_of())) return violation;
    }
    return std::nullopt;
  }

  std::string NotEarlier(const std::string& label, const v1::Choice& choice) const {
    if (label.empty()) return "is required: the choice that must have been made";
    if (label == choice.label()) return absl::StrCat("'", label, "' cannot depend on itself");
    if (all_labels_.count(label) > 0) {
      return absl::StrCat("'", label, "' comes after '", choice.label(), "': a condition names earlier choices");
    }
    std::vector<std::string> earlier;
    for (const v1::Choice& known : spec_.choices()) earlier.push_back(known.label());
    return absl::StrCat("there is no choice '", label, "'; earlier than '", choice.label(),
                        earlier.empty() ? "' there is none" : "' there are: ", absl::StrJoin(earlier, ", "));
  }

  static std::optional<Violation> ReadTerm(const v1::ChosenConfig& config, const v1::Choice& parent,
                                           const std::string& path, v1::Term* term) {
    if (config.candidate().empty()) {
      return Violation{path + ".candidate",
                       absl::StrCat("is required: some of the candidates of '", parent.label(), "'")};
    }
    std::set<int32_t> wanted;
    for (int i = 0; i < config.candidate_size(); ++i) {
      const std::string text = ValueToText(config.candidate(i));
      int found = -1;
      for (int candidate = 0; candidate < parent.candidates_size(); ++candidate) {
        if (ValueToText(parent.candidates(candidate)) == text) found = candidate;
      }
      const std::string at = Element(path, "candidate", i);
      if (found < 0) {
        return Violation{at, absl::StrCat(text, " is no candidate of '", parent.label(),
                                          "', whose candidates are: ", CandidatesText(parent))};
      }
      if (!wanted.insert(found).second) return Violation{at, absl::StrCat(text, " is named twice; keep one")};
    }
    term->set_label(parent.label());
    if (parent.n_chosen() == 1) {
      for (const int32_t candidate : wanted) term->add_chosen(candidate);
      return std::nullopt;
    }
    const int32_t combinations = *CountOptions(parent);
    if (combinations > kMostCombinations) {
      return Violation{path + ".label",
                       absl::StrCat("'", parent.label(), "' has ", combinations,
                                    " combinations of candidates; a condition is possible up to ", kMostCombinations)};
    }
    for (int32_t option = 0; option < combinations; ++option) {
      const v1::Decision decision = MakeDecision(parent, option);
      const bool holds = std::any_of(decision.index().begin(), decision.index().end(),
                                     [&wanted](int32_t candidate) { return wanted.count(candidate) > 0; });
      if (holds) term->add_chosen(option);
    }
    return std::nullopt;
  }

  const v1::ChoicesConfig& config_;
  std::set<std::string> all_labels_;
  // Choices that have been read, by label.
  std::map<std::string, int> numbers_;
  v1::SpaceSpec spec_;
};

}  // namespace

std::optional<Violation> FindViolationInChoices(const v1::ChoicesConfig& choices, const std::string& path) {
  return Reader(choices).Read(path);
}

absl::StatusOr<v1::SpaceSpec> SpaceOfChoices(const v1::ChoicesConfig& choices) {
  Reader reader(choices);
  if (const auto violation = reader.Read("space.choices")) {
    return absl::InvalidArgumentError(absl::StrCat(violation->path, ": ", violation->message));
  }
  LANISTA_ASSIGN_OR_RETURN(const Space space, Space::FromProto(reader.TakeSpec()));
  return space.spec();
}

}  // namespace lanista
