#include "src/nn/value_choice.h"

#include <cmath>

#include "absl/strings/str_cat.h"

namespace lanista::nn {

v1::Value ChooseValue(const std::vector<v1::Value>& candidates, const std::string& label, Location where) {
  v1::Choice choice;
  choice.set_label(label);
  choice.set_kind(v1::Choice::VALUE_CHOICE);
  choice.set_n_chosen(1);
  for (const v1::Value& candidate : candidates) {
    if (candidate.has_f() && !std::isfinite(candidate.f())) {
      throw SpaceError(absl::StrCat("the ValueChoice at ", where.file, ":", where.line, " has the candidate ",
                                    candidate.f(), ": candidates must be finite"));
    }
    *choice.add_candidates() = candidate;
  }
  return Ask(std::move(choice), where).value(0);
}

}  // namespace lanista::nn
