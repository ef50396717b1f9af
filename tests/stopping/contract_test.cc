// What every stopper promises, the registry, and what makes a stopper safe for its caller.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "src/stopping/guarded_stopper.h"
#include "src/stopping/stopper.h"
#include "tests/stopping/testing.h"

namespace lanista {
namespace {

using testing::Ended;
using ::testing::HasSubstr;
using testing::MakeStopper;
using testing::ParseStopping;
using testing::WithMaxSteps;

constexpr int kModels = 200;
constexpr int kSteps = 27;

// A learning curve: it rises to its model's own height, with noise.
double ValueOf(int model, int step) {
  std::mt19937_64 random(static_cast<uint64_t>(model) * 1000 + static_cast<uint64_t>(step));
  const double height = static_cast<double>(model * 37 % 100) / 100;
  return height * step / (step + 3) + 0.05 * static_cast<double>(random() % 1000) / 1000;
}

// Runs models with so many in flight, which report in any order; `script` has all verdicts, as lines.
std::vector<std::string> RunModels(Stopper* stopper, int in_flight, uint64_t seed, double scale = 1) {
  std::mt19937_64 random(seed);
  std::vector<std::string> script;
  // (model, steps done).
  std::vector<std::pair<int, int>> running;
  int next = 1;
  while (next <= kModels || !running.empty()) {
    while (next <= kModels && static_cast<int>(running.size()) < in_flight) running.emplace_back(next++, 0);
    const auto at = running.begin() + static_cast<ptrdiff_t>(random() % running.size());
    const int step = ++at->second;
    const Stopper::Verdict verdict = stopper->Report(at->first, step, scale * ValueOf(at->first, step));
    if (verdict.stop) script.push_back(std::to_string(at->first) + "@" + std::to_string(step) + " " + verdict.because);
    if (!verdict.stop && step < kSteps) continue;
    stopper->Ended(at->first, Ended(verdict.stop ? v1::ModelEnded::STOPPED_EARLY : v1::ModelEnded::SUCCEEDED, step));
    running.erase(at);
  }
  return script;
}

class StopperContract : public ::testing::TestWithParam<std::string> {
 protected:
  std::unique_ptr<Stopper> Make() const { return MakeStopper(GetParam() + " {}", WithMaxSteps(kSteps)); }
};

TEST_P(StopperContract, TheSameCallsGiveTheSameVerdicts) {
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    EXPECT_EQ(RunModels(Make().get(), 8, seed), RunModels(Make().get(), 8, seed));
  }
}

TEST_P(StopperContract, StopsSomeAndSaysWhyAndLetsSomeRunToTheirEnd) {
  const std::vector<std::string> script = RunModels(Make().get(), 8, 1);
  EXPECT_GT(script.size(), kModels / 5);
  EXPECT_LT(script.size(), kModels);
  for (const std::string& line : script) EXPECT_THAT(line, ::testing::ContainsRegex("@[0-9]+ [0-9.e-]+.*[0-9]"));
}

TEST_P(StopperContract, NeverStopsWhoeverHasDoneAllSteps) {
  const std::unique_ptr<Stopper> stopper = Make();
  for (int model = 1; model <= 50; ++model) {
    for (int step = 1; step <= kSteps; ++step) {
      // Each worse than the ones before at its last step only.
      const bool stop = stopper->Report(model, step, step == kSteps ? -model : 1).stop;
      ASSERT_FALSE(stop) << model << " " << step;
    }
    stopper->Ended(model, Ended(v1::ModelEnded::SUCCEEDED, kSteps));
  }
}

TEST_P(StopperContract, KeepsTheBestOfManyModels) {
  // By its height 99 of 100 is the best; of two such models at least one must come to the end.
  const std::vector<std::string> script = RunModels(Make().get(), 4, 2);
  std::set<int> stopped;
  for (const std::string& line : script) stopped.insert(std::stoi(line));
  int best_left = 0;
  for (int model = 1; model <= kModels; ++model) best_left += model * 37 % 100 == 99 && stopped.count(model) == 0;
  EXPECT_GE(best_left, 1);
}

TEST_P(StopperContract, EqualValuesStopNobody) {
  const std::unique_ptr<Stopper> stopper = Make();
  EXPECT_THAT(RunModels(stopper.get(), 8, 3, /*scale=*/0), ::testing::IsEmpty());
}

TEST_P(StopperContract, ModelsThatFailDoNotConfuseIt) {
  const std::unique_ptr<Stopper> stopper = Make();
  for (int model = 1; model <= 30; ++model) {
    for (int step = 1; step <= model % 4; ++step) (void)stopper->Report(model, step, ValueOf(model, step));
    stopper->Ended(model, Ended(model % 2 == 0 ? v1::ModelEnded::FAILED : v1::ModelEnded::CANCELED, model % 4));
  }
  for (int step = 1; step < kSteps; ++step) EXPECT_FALSE(stopper->Report(31, step, 10).stop);
}

TEST_P(StopperContract, SaysValuesAsTheUserKnowsThem) {
  StoppingContext context = WithMaxSteps(kSteps);
  context.objective = v1::ObjectiveConfig::MINIMIZE;
  const std::unique_ptr<Stopper> stopper = MakeStopper(GetParam() + " {}", context);
  const std::vector<std::string> script = RunModels(stopper.get(), 8, 1, /*scale=*/-1);
  ASSERT_FALSE(script.empty());
  for (const std::string& line : script) EXPECT_THAT(line, ::testing::Not(HasSubstr(" -0.")));
}

TEST_P(StopperContract, AReplayOfItsCallsAgrees) {
  const v1::EarlyStoppingConfig config = ParseStopping(GetParam() + " {}");
  const auto make = [&] { return *GuardedStopper::Create(config, WithMaxSteps(kSteps)); };
  std::vector<v1::StoppingCall> calls;
  const auto stopper = make();
  for (int model = 1; model <= 60; ++model) {
    bool stop = false;
    for (int step = 1; step <= kSteps && !stop; ++step) {
      v1::StoppingCall& call = calls.emplace_back();
      call.set_sequence(static_cast<int>(calls.size()));
      v1::StepReport& report = *call.mutable_report()->mutable_report();
      report.set_model(model);
      report.set_step(step);
      report.set_value(ValueOf(model, step));
      *call.mutable_report()->mutable_verdict() = *stopper->Report(report);
      stop = call.report().verdict().stop();
    }
    v1::StoppingCall& call = calls.emplace_back();
    call.set_sequence(static_cast<int>(calls.size()));
    call.mutable_ended()->set_model(model);
    call.mutable_ended()->set_outcome(stop ? v1::ModelEnded::STOPPED_EARLY : v1::ModelEnded::SUCCEEDED);
    ASSERT_TRUE(stopper->Ended(call.ended()).ok());
  }
  const auto again = make();
  for (const v1::StoppingCall& call : calls) ASSERT_TRUE(again->Replay(call).ok()) << call.DebugString();

  // Another verdict than the recorded one is named, with both.
  const auto stop = std::find_if(calls.begin(), calls.end(), [](const auto& c) { return c.report().verdict().stop(); });
  ASSERT_NE(stop, calls.end());
  stop->mutable_report()->mutable_verdict()->set_stop(false);
  const auto other = make();
  absl::Status status;
  for (auto call = calls.begin(); status.ok() && call != calls.end(); ++call) status = other->Replay(*call);
  EXPECT_TRUE(absl::IsFailedPrecondition(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("is decided otherwise than it was: it stops ("));
  EXPECT_THAT(std::string(status.message()), HasSubstr(" here, it goes on in the journal"));
}

INSTANTIATE_TEST_SUITE_P(BuiltIn, StopperContract, ::testing::ValuesIn([] {
                           std::vector<std::string> names;
                           for (const std::string& name : StopperRegistry::Get().Names()) {
                             if (name.rfind("custom:", 0) != 0) names.push_back(name);
                           }
                           return names;
                         }()),
                         [](const auto& info) { return info.param; });

// A user's: stops at a value, and throws where it is told so.
class Moody : public Stopper {
 public:
  explicit Moody(double least) : least_(least) {}
  Verdict Report(int, int, double value) override {
    if (value == 13) throw std::runtime_error("no thirteens");
    if (value == -1) return {true, "caf\xe9" + std::string(100000, '!')};
    return {value < least_, "too little"};
  }
  void Ended(int model, const Observation&) override {
    if (model == 13) throw 13;
  }

 private:
  const double least_;
};

absl::StatusOr<std::unique_ptr<Stopper>> MakeMoody(const Params& params, const StoppingContext&) {
  return std::make_unique<Moody>(params.Get<double>("least", 1));
}
LANISTA_REGISTER(stopper, "moody", MakeMoody);

TEST(StopperRegistryTest, HoldsExactlyTheBuiltInStoppersAndTheUsers) {
  EXPECT_EQ(StopperRegistry::Get().Names(), (std::vector<std::string>{"asha", "hyperband", "median", "custom:moody"}));
}

TEST(StopperRegistryTest, ParametersOfUsersStoppersAreChecked) {
  const auto error = [](const std::string& params) {
    const auto stopper = StopperRegistry::Get().Create(
        ParseStopping("custom { name: 'moody' params { " + params + " } }"), StoppingContext());
    return std::string(stopper.status().message());
  };
  EXPECT_THAT(error("key: 'least' value { s: 'long' }"), HasSubstr("parameter 'least' of the stopper 'moody'"));
  EXPECT_THAT(error("key: 'lest' value { i: 1 }"), HasSubstr("'lest'"));
}

v1::StepReport Report(int model, int step, double value) {
  v1::StepReport report;
  report.set_model(model);
  report.set_step(step);
  report.set_value(value);
  return report;
}

TEST(GuardedStopperTest, WhatAUsersStopperThrowsIsAnError) {
  const auto stopper = *GuardedStopper::Create(ParseStopping("custom { name: 'moody' }"), StoppingContext());
  EXPECT_TRUE(stopper->Report(Report(1, 1, 0.5))->stop());
  EXPECT_FALSE(stopper->Report(Report(2, 1, 2))->stop());
  const std::string because = stopper->Report(Report(3, 1, -1))->because();
  EXPECT_EQ(because.rfind("caf\xef\xbf\xbd!!!", 0), 0u) << "UTF-8";
  EXPECT_LT(because.size(), 10000u);
  EXPECT_EQ(stopper->Report(Report(2, 2, 13)).status().message(), "the stopper threw: no thirteens");
  v1::TellRequest ended;
  ended.set_model(13);
  EXPECT_EQ(stopper->Ended(ended).message(), "the stopper threw something that is no std::exception");
}

TEST(GuardedStopperTest, ALossIsTurnedSoThatLargerIsBetter) {
  StoppingContext context;
  context.objective = v1::ObjectiveConfig::MINIMIZE;
  const auto stopper = *GuardedStopper::Create(ParseStopping("asha { reduction_factor: 2 }"), context);
  EXPECT_FALSE(stopper->Report(Report(1, 1, 0.25))->stop());
  const v1::StopVerdict worse = *stopper->Report(Report(2, 1, 0.5));
  EXPECT_TRUE(worse.stop());
  EXPECT_EQ(worse.because(), "0.5, not among the best 1 of 2");
  EXPECT_FALSE(stopper->Report(Report(3, 1, 0.125))->stop());
}

}  // namespace
}  // namespace lanista
