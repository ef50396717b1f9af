#include "src/strategies/initial_models.h"

#include <cstddef>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "src/base/hash.h"
#include "src/base/status.h"

namespace lanista {
namespace {

// The most draws of the choices that a sample leaves out. A draw must make the named choices active, and give a new
// model within the limits.
constexpr int kMostDraws = 1000;

class InitialModels final : public Strategy {
 public:
  InitialModels(std::vector<v1::Sample> first, std::unique_ptr<Strategy> strategy)
      : first_(std::move(first)), strategy_(std::move(strategy)) {
    for (const v1::Sample& sample : first_) strategy_->Expect(sample);
  }

  absl::StatusOr<Proposal> Ask(int count) override {
    Proposal proposal;
    while (proposed_ < first_.size() && static_cast<int>(proposal.samples.size()) < count) {
      proposal.samples.push_back(first_[proposed_++]);
    }
    const int left = count - static_cast<int>(proposal.samples.size());
    if (left == 0) return proposal;
    LANISTA_ASSIGN_OR_RETURN(Proposal others, strategy_->Ask(left));
    for (v1::Sample& sample : others.samples) proposal.samples.push_back(std::move(sample));
    proposal.exhausted = others.exhausted;
    proposal.searching = others.searching && proposal.samples.empty();
    return proposal;
  }

  void Tell(const v1::Sample& sample, const Observation& observation) override { strategy_->Tell(sample, observation); }

  void Expect(const v1::Sample& sample) override { strategy_->Expect(sample); }

 private:
  const std::vector<v1::Sample> first_;
  const std::unique_ptr<Strategy> strategy_;
  // The number of models of `first_` that were proposed.
  size_t proposed_ = 0;
};

// REQUIRES: limits.refused() > 0.
absl::Status OutsideLimits(const KnownLimits& limits) {
  const std::string nearest = limits.DescribeNearest();
  return absl::InvalidArgumentError(
      limits.refused() == 1
          ? absl::StrCat("it is not within the limits: it has ", nearest)
          : absl::StrCat("none of the ", limits.refused(),
                         " models that were drawn for it is within the limits; the nearest has ", nearest));
}

}  // namespace

absl::StatusOr<std::vector<v1::Sample>> ReadInitialModels(
    const google::protobuf::RepeatedPtrField<v1::InitialModelConfig>& initial, const Space& space,
    const LimitsOfSamples& limits_of_samples, uint64_t seed) {
  std::mt19937_64 random(MixSeed({seed, StableHash("initial")}));
  std::vector<v1::Sample> samples;
  // Key of a model: its number.
  std::map<std::string, int> seen;
  for (int i = 0; i < initial.size(); ++i) {
    const std::string place = absl::StrCat("initial[", i, "].sample");
    KnownLimits limits(limits_of_samples);
    // Keys of models that it refused.
    std::set<std::string> refused;
    absl::Status problem;
    bool found = false;
    for (int draw = 0; draw < kMostDraws && !found; ++draw) {
      absl::StatusOr<v1::Sample> sample = space.Complete(initial.Get(i).sample(), random);
      if (!sample.ok()) {
        problem = sample.status();
        // No other draw makes it JSON, or gives the space what it names.
        if (!absl::IsFailedPrecondition(problem)) break;
        continue;
      }
      const std::string key = Space::Key(*sample);
      if (refused.count(key) > 0) continue;
      if (!limits.Allow(*sample)) {
        refused.insert(key);
        problem = OutsideLimits(limits);
        continue;
      }
      const auto [entry, is_new] = seen.emplace(key, i);
      if (is_new) {
        samples.push_back(*std::move(sample));
        found = true;
      } else {
        problem = absl::InvalidArgumentError(
            absl::StrCat(Space::ToJson(*sample), " is the same model as initial[", entry->second, "]"));
      }
    }
    if (found) continue;
    if (absl::IsFailedPrecondition(problem)) {
      problem = absl::InvalidArgumentError(
          absl::StrCat(problem.message(), " (drawn ", kMostDraws, " times: name the choices that it depends on, too)"));
    }
    return Annotate(problem, place);
  }
  return samples;
}

std::unique_ptr<Strategy> BeginWith(std::vector<v1::Sample> first, std::unique_ptr<Strategy> strategy) {
  return std::make_unique<InitialModels>(std::move(first), std::move(strategy));
}

}  // namespace lanista
