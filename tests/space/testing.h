// Short ways to write spaces in tests.
#ifndef LANISTA_TESTS_SPACE_TESTING_H_
#define LANISTA_TESTS_SPACE_TESTING_H_

#include <string>
#include <utility>
#include <vector>

#include "protos/space.pb.h"
#include "src/space/space.h"

namespace lanista::testing {

using Terms = std::vector<std::pair<std::string, std::vector<int32_t>>>;

inline v1::Condition MakeCondition(const Terms& terms) {
  v1::Condition condition;
  for (const auto& [label, chosen] : terms) {
    v1::Term* term = condition.add_all_of();
    term->set_label(label);
    term->mutable_chosen()->Add(chosen.begin(), chosen.end());
  }
  return condition;
}

// A value choice between 0 .. options-1, always active.
inline v1::Choice MakeChoice(const std::string& label, int options) {
  v1::Choice choice;
  choice.set_label(label);
  choice.set_kind(v1::Choice::VALUE_CHOICE);
  choice.set_n_chosen(1);
  for (int i = 0; i < options; ++i) choice.add_candidates()->set_i(i);
  return choice;
}

// The same under conditions, any of which must hold.
inline v1::Choice MakeChoice(const std::string& label, int options, const std::vector<Terms>& any_of) {
  v1::Choice choice = MakeChoice(label, options);
  for (const Terms& terms : any_of) *choice.add_active_if() = MakeCondition(terms);
  return choice;
}

inline v1::SpaceSpec MakeSpec(const std::vector<v1::Choice>& choices) {
  v1::SpaceSpec spec;
  for (const v1::Choice& choice : choices) *spec.add_choices() = choice;
  spec.set_complete(true);
  return spec;
}

inline Space MakeSpace(const std::vector<v1::Choice>& choices) { return Space::FromProto(MakeSpec(choices)).value(); }

// The same without the models in which one of `impossible` holds.
inline Space MakeSpace(const std::vector<v1::Choice>& choices, const std::vector<Terms>& impossible) {
  v1::SpaceSpec spec = MakeSpec(choices);
  for (const Terms& terms : impossible) *spec.add_impossible() = MakeCondition(terms);
  return Space::FromProto(std::move(spec)).value();
}

}  // namespace lanista::testing

#endif  // LANISTA_TESTS_SPACE_TESTING_H_
