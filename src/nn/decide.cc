#include "src/nn/decide.h"

#include <random>
#include <utility>

#include "src/base/hash.h"
#include "src/nn/construction.h"
#include "src/space/space.h"

namespace lanista::nn {
namespace {

// The choice by itself, as a space: which knows all about candidates.
Space SpaceOf(const v1::Choice& choice) {
  v1::SpaceSpec spec;
  *spec.add_choices() = choice;
  spec.set_complete(true);
  absl::StatusOr<Space> space = Space::FromProto(std::move(spec));
  if (!space.ok()) throw SpaceError(std::string(space.status().message()));
  return *std::move(space);
}

}  // namespace

v1::Decision CheckedDecision(const v1::Choice& choice, const v1::Decision& decision) {
  v1::Sample sample;
  *sample.add_decisions() = decision;
  if (decision.index().empty()) return DecisionFromJson(choice, Space::ToJson(sample));
  if (const absl::Status status = SpaceOf(choice).Check(sample); !status.ok()) {
    throw SpaceError(std::string(status.message()));
  }
  return decision;
}

v1::Decision DecisionFromJson(const v1::Choice& choice, const std::string& json) {
  const absl::StatusOr<v1::Sample> sample = SpaceOf(choice).FromJson(json);
  if (!sample.ok()) throw SpaceError(std::string(sample.status().message()));
  return sample->decisions(0);
}

v1::Decision DrawnDecision(const v1::Choice& choice, uint64_t seed) {
  std::mt19937_64 random(MixSeed({seed, StableHash(choice.label())}));
  return SpaceOf(choice).Random(random).decisions(0);
}

}  // namespace lanista::nn
