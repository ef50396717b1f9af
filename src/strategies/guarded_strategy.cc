#include "src/strategies/guarded_strategy.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "src/base/display_text.h"
#include "src/base/guard.h"
#include "src/base/hash.h"
#include "src/base/status.h"
#include "src/strategies/initial_models.h"

namespace lanista {
namespace {

constexpr char kWho[] = "the strategy";

}  // namespace

absl::StatusOr<std::shared_ptr<GuardedStrategy>> GuardedStrategy::Create(const v1::ExperimentConfig& config,
                                                                         v1::SpaceSpec spec, uint64_t seed,
                                                                         LimitsOfSamples limits) {
  LANISTA_ASSIGN_OR_RETURN(Space space, Space::FromProto(std::move(spec)));
  // The space must have its final address before the strategy refers to it.
  auto guarded = std::make_shared<GuardedStrategy>(std::move(space), nullptr, Goals(config));
  LANISTA_ASSIGN_OR_RETURN(std::vector<v1::Sample> initial,
                           ReadInitialModels(config.initial(), guarded->space_, limits, seed));

  StrategyContext context(guarded->space_, StrategySeed(seed));
  if (config.has_max_trial_number()) {
    context.max_models = std::max(0, config.max_trial_number() - static_cast<int>(initial.size()));
  }
  context.objectives = static_cast<int>(guarded->goals_.objectives().size());
  context.violation = std::move(limits.violation);
  context.describe_violation = std::move(limits.describe);
  auto strategy = GuardCall(kWho, [&] { return StrategyRegistry::Get().Create(config.strategy(), context); });
  if (!strategy.ok()) return Annotate(strategy.status(), "strategy");
  guarded->strategy_ = *std::move(strategy);
  if (!initial.empty()) guarded->strategy_ = BeginWith(std::move(initial), std::move(guarded->strategy_));
  return guarded;
}

absl::StatusOr<Strategy::Proposal> GuardedStrategy::Ask(int count) {
  absl::StatusOr<Strategy::Proposal> proposal = GuardCall(kWho, [&] { return strategy_->Ask(count); });
  if (!proposal.ok()) return proposal;
  if (static_cast<int>(proposal->samples.size()) > count) {
    return absl::InternalError(absl::StrCat("the strategy proposed ", proposal->samples.size(),
                                            " samples where at most ", count, " were asked for"));
  }
  for (const v1::Sample& sample : proposal->samples) {
    if (const absl::Status checked = space_.Check(sample); !checked.ok()) {
      return absl::InternalError(
          absl::StrCat("the strategy proposed what is no model of the space: ", checked.message()));
    }
  }
  return proposal;
}

absl::Status GuardedStrategy::Tell(const v1::TellRequest& tell) {
  return GuardCall(kWho, [&] {
    strategy_->Tell(tell.sample(), ObservationOf(tell, goals_));
    return absl::OkStatus();
  });
}

absl::Status GuardedStrategy::Replay(const v1::StrategyCall& call) {
  if (call.has_tell()) return Tell(call.tell());
  const v1::AskReply& recorded = call.ask().reply();
  LANISTA_ASSIGN_OR_RETURN(Strategy::Proposal proposal, Ask(call.ask().count()));
  while (proposal.searching) {
    LANISTA_ASSIGN_OR_RETURN(proposal, Ask(call.ask().count()));
  }
  const auto differs = [&](const std::string& here, const std::string& there) {
    return absl::FailedPreconditionError(
        absl::StrCat("call ", call.sequence(), " of the strategy, which was asked for ", call.ask().count(),
                     " models, is answered otherwise than it was: ", here, " here, ", there,
                     " in the journal; the strategy's code must be the one that began the experiment"));
  };
  const size_t count = static_cast<size_t>(recorded.samples_size());
  for (size_t i = 0; i < std::min(count, proposal.samples.size()); ++i) {
    const v1::Sample& there = recorded.samples(static_cast<int>(i));
    if (Space::Key(proposal.samples[i]) != Space::Key(there)) {
      return differs(Space::ToJson(proposal.samples[i]), Space::ToJson(there));
    }
  }
  if (proposal.samples.size() != count) {
    return differs(Counted(static_cast<int64_t>(proposal.samples.size()), "model"),
                   Counted(static_cast<int64_t>(count), "model"));
  }
  if (proposal.exhausted != recorded.exhausted()) {
    const auto text = [](bool exhausted) { return exhausted ? "nothing more will come" : "more may come"; };
    return differs(text(proposal.exhausted), text(recorded.exhausted()));
  }
  return absl::OkStatus();
}

Observation ObservationOf(const v1::TellRequest& tell, const Goals& goals) {
  Observation observation;
  observation.outcome = tell.outcome();
  if (tell.has_value()) observation.value = Turned(tell.value(), goals.objectives()[0].objective);
  for (int i = 0; i < tell.objectives_size(); ++i) {
    observation.objectives.push_back(Turned(tell.objectives(i), goals.objectives().at(i).objective));
  }
  observation.steps = tell.steps();
  observation.violation = tell.violation();
  return observation;
}

}  // namespace lanista
