// Spaces as texts for people: a whole one, and how two of them differ.
#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "src/base/display_text.h"
#include "src/space/candidates.h"
#include "src/space/messages.h"
#include "src/space/space.h"
#include "src/space/space_index.h"

namespace lanista {

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
