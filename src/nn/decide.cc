#include "src/nn/decide.h"

#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "src/base/hash.h"
#include "src/nn/construction.h"
#include "src/space/draw.h"
#include "src/space/space.h"

namespace lanista::nn {

v1::Decision CheckedDecision(const v1::Choice& choice, const v1::Decision& decision) {
  const int32_t option = OptionOf(choice, decision);
  if (option < 0) {
    throw SpaceError(absl::StrCat("the sample does not fit the space: { ", decision.ShortDebugString(),
                                  " } is no option of choice '", choice.label(), "' at ", choice.declared_in()));
  }
  return MakeDecision(choice, option);
}

v1::Decision DecisionFromJson(const v1::Choice& choice, const std::string& json) {
  // A space of this one choice, because Space knows how candidates are written as JSON.
  v1::SpaceSpec spec;
  *spec.add_choices() = choice;
  spec.set_complete(true);
  const absl::StatusOr<Space> space = Space::FromProto(std::move(spec));
  if (!space.ok()) throw SpaceError(std::string(space.status().message()));
  const absl::StatusOr<v1::Sample> sample = space->FromJson(json);
  if (!sample.ok()) throw SpaceError(std::string(sample.status().message()));
  return sample->decisions(0);
}

v1::Decision DrawnDecision(const v1::Choice& choice, uint64_t seed) {
  std::mt19937_64 random(MixSeed({seed, StableHash(choice.label())}));
  return MakeDecision(choice, static_cast<int32_t>(Uniform(random, *CountOptions(choice))));
}

}  // namespace lanista::nn
