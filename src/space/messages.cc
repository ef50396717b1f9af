#include "src/space/messages.h"

#include <cctype>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "src/base/bounded_message.h"
#include "src/space/space.h"

namespace lanista {
namespace {

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

}  // namespace

LabelIndex ByLabel(const v1::SpaceSpec& spec) {
  LabelIndex choices;
  for (const v1::Choice& choice : spec.choices()) choices.emplace(choice.label(), &choice);
  return choices;
}

std::string KindName(v1::Choice::Kind kind) {
  std::string name = v1::Choice::Kind_Name(kind);
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

std::string ConditionText(const v1::Condition& condition, const LabelIndex& choices) {
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
  return absl::StrJoin(terms, " and ");
}

std::string ConditionText(const v1::Choice& choice, const LabelIndex& choices) {
  return absl::StrJoin(choice.active_if(), ", or ", [&choices](std::string* text, const v1::Condition& condition) {
    text->append(ConditionText(condition, choices));
  });
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
      absl::StrCat("choice '", choice.label(), "' takes ", AllowedText(choice), ", not ", BoundedMessage(given)));
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

}  // namespace lanista
