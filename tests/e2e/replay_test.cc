// The strategy's call log, of a real search, replayed into a fresh strategy: what resume will stand on.
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "actors/strategy.h"
#include "gtest/gtest.h"
#include "src/base/hash.h"
#include "src/storage/journal.h"
#include "tests/e2e/command.h"

namespace lanista {
namespace {

// What the strategy proposed, in one text.
std::string Proposed(const v1::AskReply& reply) {
  std::string text = reply.exhausted() ? "exhausted" : "";
  for (const v1::Sample& sample : reply.samples()) absl::StrAppend(&text, " ", Space::ToJson(sample));
  return text;
}

// Runs a search, with several models at once so that outcomes come in any order, and with failures among them.
std::string RunSearch(const std::string& strategy, const std::string& state) {
  // The only one that has no defaults.
  const std::string stages =
      strategy == "chain" ? "stage { models: 3 strategy { random {} } } stage { strategy { evolution {} } }" : "";
  const std::string config = WriteFile(strategy + ".textproto", absl::StrCat(R"(
    space { registered: "crashes_in_constructor" }
    evaluator { custom { name: "talkative" } }
    training_service { local { cpu_slots: 2 } }
    max_trial_number: 6
    objective: MINIMIZE
    seed: 11
    strategy { )",
                                                                             strategy, " { ", stages, " } }"));
  const CommandResult run = RunCommand(kFaultyProgram, {"run", config, "--json", "--state-dir", state});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  return absl::StrCat(state, "/experiments/", run.Json()["id"].get<std::string>());
}

class ReplayTest : public ::testing::TestWithParam<std::string> {};

TEST_P(ReplayTest, AFreshStrategyGivesTheRecordedAnswers) {
  const absl::StatusOr<JournalReader> journal = JournalReader::Open(RunSearch(GetParam(), FreshFolder()));
  ASSERT_TRUE(journal.ok()) << journal.status();
  const v1::ExperimentConfig& config = journal->experiment().config();
  const auto spec = journal->Space();
  ASSERT_TRUE(spec.ok() && spec->has_value());
  const auto calls = journal->StrategyCalls();
  ASSERT_TRUE(calls.ok()) << calls.status();

  const uint64_t seed = StrategySeed(static_cast<uint64_t>(journal->experiment().seed()));
  const auto strategy = GuardedStrategy::Create(config.strategy(), **spec, seed, config.max_trial_number());
  ASSERT_TRUE(strategy.ok()) << strategy.status();
  int asks = 0, tells = 0;
  for (const v1::StrategyCall& call : *calls) {
    if (call.has_tell()) {
      const absl::Status told = (*strategy)->Tell(call.tell().sample(), ObservationOf(call.tell(), config.objective()));
      ASSERT_TRUE(told.ok()) << told;
      ++tells;
      continue;
    }
    const absl::StatusOr<Strategy::Proposal> proposal = (*strategy)->Ask(call.ask().count());
    ASSERT_TRUE(proposal.ok()) << proposal.status();
    v1::AskReply reply;
    for (const v1::Sample& sample : proposal->samples) *reply.add_samples() = sample;
    reply.set_exhausted(proposal->exhausted);
    EXPECT_EQ(Proposed(reply), Proposed(call.ask().reply())) << "call " << call.sequence();
    ++asks;
  }
  EXPECT_GT(asks, 1);
  EXPECT_GT(tells, 0);
}

INSTANTIATE_TEST_SUITE_P(BuiltIn, ReplayTest, ::testing::ValuesIn([] {
                           std::vector<std::string> names;
                           for (const std::string& name : StrategyRegistry::Get().Names()) {
                             if (name.rfind("custom:", 0) != 0) names.push_back(name);
                           }
                           return names;
                         }()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace lanista
