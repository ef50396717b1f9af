// Each algorithm against its definition, by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "src/stopping/brackets.h"
#include "src/stopping/rungs.h"
#include "tests/stopping/testing.h"

namespace lanista {
namespace {

using testing::Ended;
using ::testing::HasSubstr;
using testing::MakeStopper;
using testing::ParseStopping;
using testing::RunCurves;
using testing::WithMaxSteps;

TEST(RungsTest, AreAtTheFirstStepTimesPowersOfTheFactor) {
  Rungs rungs(2, 3, std::nullopt);
  std::vector<int> steps;
  for (int step = 1; step <= 60; ++step) {
    if (rungs.Reach(step, 0).has_value()) steps.push_back(step);
  }
  EXPECT_THAT(steps, ::testing::ElementsAre(2, 6, 18, 54));
}

TEST(RungsTest, EndBeforeTheLastStep) {
  Rungs rungs(1, 3, 9);
  EXPECT_TRUE(rungs.Reach(3, 0).has_value());
  EXPECT_FALSE(rungs.Reach(9, 0).has_value());
  EXPECT_FALSE(rungs.Reach(27, 0).has_value());
}

TEST(RungsTest, LargeStepsDoNotOverflow) {
  Rungs rungs(1, 2000000000, std::nullopt);
  EXPECT_FALSE(rungs.Reach(2147483647, 0).has_value());
  EXPECT_TRUE(rungs.Reach(2000000000, 0).has_value());
}

TEST(RungsTest, AreAsTheSequenceSaysByHand) {
  Rungs rungs(1, 2, std::nullopt);
  struct Row {
    double value;
    bool goes_on;
    int best, reached;
  };
  // Of the first two the best one, of four the best two, and so on.
  const std::vector<Row> rows = {
      {0.5, true, 1, 1},   // Alone.
      {0.4, false, 1, 2},  // Second of two.
      {0.6, true, 1, 3},   // The best of three.
      {0.5, true, 2, 4},   // 0.6 is ahead of the two with 0.5: equals go on together.
      {0.4, false, 2, 5},  // 0.6, 0.5 and 0.5 are ahead.
  };
  for (size_t i = 0; i < rows.size(); ++i) {
    const std::optional<Rungs::Place> place = rungs.Reach(1, rows[i].value);
    ASSERT_TRUE(place.has_value());
    EXPECT_EQ(place->goes_on, rows[i].goes_on) << i;
    EXPECT_EQ(place->best, rows[i].best) << i;
    EXPECT_EQ(place->reached, rows[i].reached) << i;
  }
}

TEST(AshaTest, StopsAsTheWrittenSequenceSays) {
  // min_steps 1, factor 4: rungs at steps 1, 4 and 16; of up to 7 models at a rung the best one goes on, from 8 on two.
  const auto stopper = MakeStopper("asha {}");
  EXPECT_EQ(RunCurves(stopper.get(),
                      {
                          {.10, .20, .30, .40, .5},  // The first at both rungs.
                          {.09},                     // Second of 2.
                          {.11, .50, .50, .39},      // The best of 3 at step 1; second of 2 at step 4.
                          {.08},                     //
                          {.12, 0, 0, .41, 0},       // The best of 5; of 3. What lies between rungs counts nowhere.
                          {.07},                     //
                          {.115},                    // Second of 7: only one goes on.
                          {.118, .1, .1, .4},        // Second of 8, and 8 / 4 = 2 go on. Second of 4 at step 4.
                      }),
            (std::vector<std::string>{
                "-",
                "step 1: 0.09, not among the best 1 of 2",
                "step 4: 0.39, not among the best 1 of 2",
                "step 1: 0.08, not among the best 1 of 4",
                "-",
                "step 1: 0.07, not among the best 1 of 6",
                "step 1: 0.115, not among the best 1 of 7",
                "step 4: 0.4, not among the best 1 of 4",
            }));
}

TEST(AshaTest, SaysHowManyGoOnOfHowMany) {
  const auto stopper = MakeStopper("asha { min_steps: 3 reduction_factor: 4 }");
  // 16 models are at the rung of step 3, four of them better than 0.81.
  for (int model = 1; model <= 16; ++model) {
    EXPECT_FALSE(stopper->Report(model, 1, 0).stop);
    EXPECT_FALSE(stopper->Report(model, 2, 0).stop);
    (void)stopper->Report(model, 3, model <= 4 ? 0.9 : 0.5);
  }
  const Stopper::Verdict verdict = stopper->Report(17, 3, 0.81);
  EXPECT_TRUE(verdict.stop);
  EXPECT_EQ(verdict.because, "0.81, not among the best 4 of 17");
}

std::vector<std::string> TableOf(int min_steps, int max_steps, int factor) {
  std::vector<std::string> rows;
  for (const Bracket& bracket : MakeBrackets(min_steps, max_steps, factor)) {
    rows.push_back(std::to_string(bracket.models) + " from " +
                   (bracket.first_rung.has_value() ? std::to_string(*bracket.first_rung) : "the end"));
  }
  return rows;
}

TEST(BracketsTest, AreThoseOfThePaper) {
  // Table 1 of Li et al., 2018 (JMLR): R = 81, eta = 3. n_0 and r_0 of s = 4, ..., 0.
  EXPECT_EQ(TableOf(1, 81, 3),
            (std::vector<std::string>{"81 from 1", "34 from 3", "15 from 9", "8 from 27", "5 from the end"}));
  EXPECT_EQ(TableOf(1, 16, 4), (std::vector<std::string>{"16 from 1", "6 from 4", "3 from the end"}));
}

TEST(BracketsTest, BeginAtMinSteps) {
  EXPECT_EQ(TableOf(2, 20, 3), (std::vector<std::string>{"9 from 2", "5 from 6", "3 from the end"}));
  EXPECT_EQ(TableOf(1, 2, 3), (std::vector<std::string>{"1 from the end"}));
  EXPECT_EQ(MakeBrackets(1, 2147483647, 2).size(), 31);
}

TEST(BracketDealerTest, DealsInProportionAndDependsOnTheModelAlone) {
  const std::vector<Bracket> brackets = MakeBrackets(1, 81, 3);
  BracketDealer forwards(brackets), backwards(brackets);
  std::map<int, int> dealt;
  // Twice a round of 143 models.
  for (int model = 286; model >= 1; --model) ++dealt[backwards.BracketOf(model)];
  EXPECT_EQ(dealt, (std::map<int, int>{{0, 162}, {1, 68}, {2, 30}, {3, 16}, {4, 10}}));
  std::map<int, double> share;
  for (int model = 1; model <= 286; ++model) {
    const int bracket = forwards.BracketOf(model);
    EXPECT_EQ(bracket, backwards.BracketOf(model)) << model;
    ++share[bracket];
    // Spread evenly: at no time is a bracket more than one or two models away from its share.
    for (const auto& [number, count] : share) {
      EXPECT_NEAR(count, model * static_cast<double>(brackets[static_cast<size_t>(number)].models) / 143, 2);
    }
  }
}

TEST(HyperbandTest, ModelsCompeteWithinTheirBracket) {
  // Two brackets with max_steps 3: two models of three stop at step 1, or nowhere (3 from 1, 2 from the end).
  EXPECT_EQ(TableOf(1, 3, 3), (std::vector<std::string>{"3 from 1", "2 from the end"}));
  BracketDealer dealer(MakeBrackets(1, 3, 3));
  std::vector<int> brackets;
  for (int model = 1; model <= 5; ++model) brackets.push_back(dealer.BracketOf(model));
  EXPECT_THAT(brackets, ::testing::ElementsAre(0, 1, 0, 1, 0));
  const auto stopper = MakeStopper("hyperband { max_steps: 3 }");
  EXPECT_EQ(RunCurves(stopper.get(), {{.5, .5, .5}, {.1, .1, .1}, {.4, .5, .5}, {0, 0, 0}, {.6, .1, .1}}),
            (std::vector<std::string>{"-", "-", "step 1: 0.4, not among the best 1 of 2 of its bracket", "-", "-"}));
}

TEST(HyperbandTest, TheLastRungIsOneFactorBeforeTheEnd) {
  // At step 9 of 10 the rest is one step.
  const auto stopper = MakeStopper("hyperband { max_steps: 10 }");
  std::set<int> rungs;
  for (int model = 1; model <= 60; ++model) {
    for (int step = 1; step <= 10; ++step) {
      if (stopper->Report(model, step, 1.0 - model * 0.01).stop) rungs.insert(step);
    }
  }
  EXPECT_THAT(rungs, ::testing::ElementsAre(1, 3));
}

TEST(HyperbandTest, TakesItsStepsFromTheEvaluator) {
  const auto create = [](const std::string& config, const StoppingContext& context) {
    return StopperRegistry::Get().Create(ParseStopping(config), context).status();
  };
  EXPECT_TRUE(create("hyperband {}", WithMaxSteps(9)).ok());
  EXPECT_THAT(std::string(create("hyperband {}", {}).message()), HasSubstr("max_steps"));
  EXPECT_THAT(std::string(create("hyperband { min_steps: 10 }", WithMaxSteps(9)).message()), HasSubstr("min_steps"));
}

TEST(MedianTest, IsAsByHand) {
  const auto stopper = MakeStopper("median { startup: 3 }");
  EXPECT_EQ(RunCurves(stopper.get(),
                      {
                          {.25, .5, .75},      // Means .25, .375, .5.
                          {.125, .125, .125},  // Nobody is stopped before the third has finished.
                          {.375, .625, .875},  // Means .375, .5, .625.
                          {.3125, .25, .125},  // Better than the median .25; worse than .375 at step 2.
                          {.1875},             // Worse than .25.
                          {.25, .375, .5, 0},  // As good as the median at each step; nobody else did step 4.
                      }),
            (std::vector<std::string>{
                "-",
                "-",
                "-",
                "step 2: 0.3125 at best, worse than 0.375, the median of 3 models",
                "step 1: 0.1875 at best, worse than 0.25, the median of 3 models",
                "-",
            }));
  // Those that stopped are not among them: .125, .25, .25 and .375 are left.
  EXPECT_EQ(stopper->Report(7, 1, .15).because, "0.15 at best, worse than 0.25, the median of 4 models");
}

TEST(MedianTest, WaitsForItsWarmUpAndDecidesEveryInterval) {
  const auto stopper = MakeStopper("median { startup: 1 warmup_steps: 2 interval: 3 }");
  RunCurves(stopper.get(), {std::vector<double>(20, 1.0)});
  std::vector<int> steps;
  for (int step = 1; step <= 12; ++step) {
    if (stopper->Report(2, step, 0).stop) steps.push_back(step);
  }
  EXPECT_THAT(steps, ::testing::ElementsAre(5, 8, 11));
}

TEST(MedianTest, ModelsThatFailedOrWereStoppedDoNotCount) {
  const auto stopper = MakeStopper("median { startup: 2 }");
  for (int model = 1; model <= 8; ++model) {
    (void)stopper->Report(model, 1, 1);
    stopper->Ended(model, Ended(model == 1       ? v1::ModelEnded::SUCCEEDED
                                : model % 2 == 0 ? v1::ModelEnded::FAILED
                                                 : v1::ModelEnded::STOPPED_EARLY,
                                1));
  }
  EXPECT_FALSE(stopper->Report(9, 1, 0).stop);
}

}  // namespace
}  // namespace lanista
