#include "src/strategies/proposals.h"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace lanista {

Proposals::Proposals(const StrategyContext& context, bool dedup)
    : dedup_(dedup), space_(context.space), limits_(context), random_(context.seed) {}

std::string Proposals::Key(const Options& model) {
  // Base 128, the highest bit says that more follows; choices that are not active are left out, as which choice comes
  // next follows from the options before it.
  std::string key;
  key.reserve(model.size());
  for (const int32_t option : model) {
    if (option < 0) continue;
    uint32_t rest = static_cast<uint32_t>(option);
    for (; rest >= 128; rest >>= 7) key.push_back(static_cast<char>(128 | (rest & 127)));
    key.push_back(static_cast<char>(rest));
  }
  return key;
}

bool Proposals::IsAllowed(const Options& model, const std::string& key) {
  if (!space_.IsPossible(model)) return false;
  if (dedup_ && known_.contains(key)) return false;
  if (!limits_.any()) return true;
  if (infeasible_.contains(key)) return false;
  if (limits_.Allow(space_.ToSample(model))) return true;
  infeasible_.insert(key);
  return false;
}

bool Proposals::TakeKey(const Options& model, const std::string& key) {
  if (!IsAllowed(model, key)) return false;
  known_.insert(key);
  running_.push_back(model);
  any_proposed_ = true;
  return true;
}

bool Proposals::Take(const Options& model) { return TakeKey(model, Key(model)); }

void Proposals::Remember(const Options& model) {
  // Only models that the space counts: the end of the space is found by counting.
  if (!space_.IsPossible(model)) return;
  const std::string key = Key(model);
  known_.insert(key);
  // Each model must count once.
  if (dedup_) infeasible_.erase(key);
}

void Proposals::Expect(const Options& model) {
  any_proposed_ = true;
  Remember(model);
  running_.push_back(model);
}

bool Proposals::Told(const Options& model) {
  Remember(model);
  // Of another search, whose limits may have been others.
  if (!any_proposed_ && limits_.any()) any_proposed_ = limits_.Allow(space_.ToSample(model));
  const auto found = std::find(running_.begin(), running_.end(), model);
  if (found == running_.end()) return false;
  running_.erase(found);
  return true;
}

absl::StatusOr<std::optional<Proposals::Options>> Proposals::Draw() {
  if (exhausted_) return std::nullopt;
  const size_t tested_before = infeasible_.size();
  const int draws = limits_.any() ? kLimitTests : kDraws;
  Options model;
  for (int i = 0; i < draws; ++i) {
    model = space_.RandomOptions(random_);
    if (Take(model)) return model;
    // Small spaces are walked through at once, to be sure.
    if (i >= kDraws && space_.size().has_value() && *space_.size() <= kLimitTests) break;
  }
  const int tests = kLimitTests - static_cast<int>(infeasible_.size() - tested_before);
  std::optional<Options> next = Walk(std::move(model), tests);
  if (next.has_value()) return next;
  exhausted_ = true;
  if (any_proposed_ || infeasible_.empty()) return std::nullopt;
  return limits_.NothingAllowed();
}

std::optional<Proposals::Options> Proposals::Walk(Options start, int tests) {
  // Nearly all likely models are known. Walk from the last draw to the next model that may be proposed, continuing at
  // the beginning of the space after its end. The next walk continues there. All models in between are known, so all
  // walks together visit each model of the space once.
  if (!walk_.has_value() || !dedup_) {
    walk_end_ = Key(start);
    walk_ = std::move(start);
  }
  const size_t tested_before = infeasible_.size();
  while (static_cast<int>(infeasible_.size() - tested_before) < tests) {
    if (!space_.Advance(&*walk_)) walk_ = space_.FirstOptions();
    const std::string key = Key(*walk_);
    // Without dedup the walk only has to find a model within the limits; that may be the first one again.
    if (TakeKey(*walk_, key)) return walk_;
    if (key == walk_end_) return std::nullopt;
  }
  return std::nullopt;
}

absl::StatusOr<Strategy::Proposal> Proposals::Fill(int count, const std::function<std::optional<Options>()>& propose) {
  Strategy::Proposal proposal;
  while (static_cast<int>(proposal.samples.size()) < count && !exhausted_) {
    std::optional<Options> model = propose();
    if (!model.has_value()) {
      absl::StatusOr<std::optional<Options>> drawn = Draw();
      if (!drawn.ok()) return drawn.status();
      model = *std::move(drawn);
    }
    if (model.has_value()) proposal.samples.push_back(space_.ToSample(*model));
  }
  // If the size of the space is known, the end is noticed without another draw.
  if (dedup_ && space_.size().has_value() && *space_.size() == known_.size() + infeasible_.size()) exhausted_ = true;
  proposal.exhausted = exhausted_;
  return proposal;
}

void ProposingStrategy::Tell(const v1::Sample& sample, const Observation& observation) {
  const auto model = proposals_.space().OptionsOf(sample);
  if (!model.ok()) return;
  proposals_.Told(*model);
  Ended();
  if (LearnsFrom(observation, on_failure_)) Learn(*model, observation);
}

void ProposingStrategy::Expect(const v1::Sample& sample) {
  if (const auto model = proposals_.space().OptionsOf(sample); model.ok()) proposals_.Expect(*model);
}

}  // namespace lanista
