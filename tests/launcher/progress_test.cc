#include "src/launcher/progress.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/launcher/events.h"

namespace lanista {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

absl::Time At(int seconds) { return absl::FromUnixSeconds(1700000000 + seconds); }

v1::ExperimentConfig Config() {
  v1::ExperimentConfig config;
  config.set_name("digits");
  config.set_max_trial_number(20);
  return config;
}

TEST(ProgressTest, InAPipeEachModelIsALine) {
  Progress progress(Config(), /*live=*/false, At(0));
  EXPECT_THAT(progress.Update(SpaceOfTwo(), At(0)),
              ElementsAre("experiment digits-1: 2 models in the space, at most 2 to try"));
  EXPECT_THAT(progress.Update(Started(1), At(1)), IsEmpty());
  EXPECT_THAT(progress.Update(Reported(1, 0, "0.5"), At(2)), IsEmpty());
  EXPECT_THAT(progress.Update(Ended(1), At(3)), IsEmpty());
  EXPECT_THAT(progress.Update(Outcome(1, Succeeded("0.75")), At(3)),
              ElementsAre("model 1 succeeded (2s): default 0.75  {\"p\":0.25}"));
  EXPECT_THAT(progress.Update(
                  Outcome(2, "outcome: FAILED failure { reason: SIGNAL signal: 11 message: \"in\\n  fc1\" }"), At(4)),
              ElementsAre("model 2 failed: signal 11 (Segmentation fault): in fc1  {\"p\":0.25}"));
  EXPECT_THAT(progress.Update(Outcome(3, "outcome: CANCELED"), At(4)), ElementsAre("model 3 canceled  {\"p\":0.25}"));
  EXPECT_THAT(progress.Update(Outcome(4,
                                      "outcome: STOPPED_EARLY stopped_step: 3 stopped_because: \"0.81, not\\namong "
                                      "the best 4 of 17\""),
                              At(4)),
              ElementsAre("model 4 stopped early: step 3: 0.81, not among the best 4 of 17  {\"p\":0.25}"));
}

TEST(ProgressTest, OnATerminalOnlyWhatWentWrongIsALine) {
  Progress progress(Config(), /*live=*/true, At(0));
  EXPECT_THAT(progress.Update(Outcome(1, Succeeded("0.75")), At(3)), IsEmpty());
  EXPECT_THAT(progress.Update(Outcome(2, "outcome: FAILED failure { reason: TIME_OUT }"), At(3)),
              ElementsAre("model 2 failed: time out  {\"p\":0.25}"));
  EXPECT_THAT(progress.Update(Event("state { state: STOPPING reason: \"Ctrl-C\" }"), At(4)),
              ElementsAre("stopping: Ctrl-C"));
  // `run` tells it at its end.
  EXPECT_THAT(progress.Update(Event("state { state: EXPERIMENT_FAILED reason: \"why\" }"), At(4)), IsEmpty());
}

TEST(ProgressTest, TheBlockShowsCountsBestAndWhatRuns) {
  Progress progress(Config(), /*live=*/true, At(0));
  progress.Update(Event("state { state: RUNNING }"), At(0));
  EXPECT_THAT(progress.Block(24, 60, At(0)),
              ElementsAre("digits  [................................]  0%  0/20 models"));
  progress.Update(Started(1), At(0));
  progress.Update(Started(2, 1), At(0));
  progress.Update(Reported(2, 3, "0.5"), At(5));
  progress.Update(Ended(1), At(10));
  progress.Update(Outcome(1, Succeeded("0.75")), At(10));
  EXPECT_THAT(
      progress.Block(24, 95, At(10)),
      ElementsAre("digits  [#.......................]  5%  1/20 models  succeeded 1  10s  360 models/h  ETA 3m10s",
                  "best: 0.75  model 1  {\"p\":0.25}", "  model 2  cpu:1  10s  step 3  default 0.5  a 1"));
}

TEST(ProgressTest, TheObjectiveSaysWhatIsBest) {
  v1::ExperimentConfig config = Config();
  config.set_objective(v1::MINIMIZE);
  Progress progress(config, /*live=*/true, At(0));
  for (const char* value : {"0.5", "0.25", "0.75"}) progress.Update(Outcome(1, Succeeded(value)), At(0));
  EXPECT_EQ(progress.Block(24, 80, At(0))[1], "best: 0.25  model 1  {\"p\":0.25}");
}

TEST(ProgressTest, TheBlockFitsALowTerminal) {
  Progress progress(Config(), /*live=*/true, At(0));
  for (int model = 1; model <= 9; ++model) progress.Update(Started(model), At(0));
  EXPECT_THAT(progress.Block(4, 60, At(0)),
              ElementsAre("digits  [............................]  0%  0/20 models  0s", "  model 1  cpu:0  0s",
                          "  model 2  cpu:0  0s", "  and 7 more"));
  EXPECT_EQ(progress.Block(10, 60, At(0)).size(), 10);
  EXPECT_EQ(progress.Block(0, 60, At(0)).size(), 2);
}

TEST(ProgressTest, WithoutALimitThereIsNoBar) {
  v1::ExperimentConfig config = Config();
  config.clear_max_trial_number();
  Progress progress(config, /*live=*/true, At(0));
  progress.Update(Outcome(1, Succeeded("1")), At(0));
  EXPECT_EQ(progress.Block(24, 80, At(0))[0], "digits  1 model  succeeded 1");
}

TEST(ProgressTest, TheBarTakesTheWidthThatIsLeft) {
  Progress progress(Config(), /*live=*/true, At(0));
  progress.Update(Outcome(1, Succeeded("1")), At(0));
  for (const int width : {70, 80, 200}) EXPECT_EQ(progress.Block(24, width, At(0))[0].size(), width - 1);
  // It keeps ten columns; the end of the line is cut then.
  EXPECT_THAT(progress.Block(24, 20, At(0))[0], HasSubstr("[..........]"));
}

TEST(ProgressTest, StepsHaveATotalWhereTheConfigurationTells) {
  v1::ExperimentConfig config = Config();
  config.mutable_evaluator()->mutable_classification()->set_max_epochs(10);
  Progress progress(config, /*live=*/true, At(0));
  progress.Update(Started(1), At(0));
  progress.Update(Reported(1, 2, "0.5"), At(5));
  EXPECT_EQ(progress.Block(24, 80, At(5))[1], "  model 1  cpu:0  5s  step 3 of 10  default 0.5  a 1");
}

TEST(ProgressTest, OnATerminalFailuresOfOneKindAreCounted) {
  Progress progress(Config(), /*live=*/true, At(0));
  const auto fail = [&](int model, const std::string& message) {
    return progress.Update(Outcome(model, "outcome: FAILED failure { reason: EXCEPTION message: \"" + message + "\" }"),
                           At(1));
  };
  EXPECT_THAT(fail(1, "shapes [7, 64]"), ElementsAre("model 1 failed: exception: shapes [7, 64]  {\"p\":0.25}"));
  for (int model = 2; model <= 500; ++model) {
    EXPECT_THAT(fail(model, "shapes [" + std::to_string(model) + ", 64]"), IsEmpty());
  }
  EXPECT_THAT(fail(501, "another"), ElementsAre(HasSubstr("model 501 failed")));
  const std::vector<std::string> block = progress.Block(24, 80, At(1));
  ASSERT_EQ(block.size(), 2);
  EXPECT_EQ(block[1], "500 models failed: exception: shapes [7, 64]");
  // However many kinds there are.
  int lines = 0;
  for (int kind = 0; kind < 100; ++kind) lines += fail(600 + kind, "kind" + std::string(kind + 1, 'x')).size();
  EXPECT_EQ(lines, 18);
  EXPECT_THAT(progress.Block(24, 80, At(1)),
              ElementsAre(HasSubstr("digits"), HasSubstr("500 models failed"), "82 models failed: of other kinds"));
}

TEST(ProgressTest, AStrategyThatMayRepeatModelsIsNotLimitedByTheSpace) {
  v1::ExperimentConfig config = Config();
  config.set_max_trial_number(300);
  config.mutable_strategy()->mutable_random()->set_dedup(false);
  Progress progress(config, /*live=*/true, At(0));
  EXPECT_THAT(progress.Update(SpaceOfTwo(), At(0)),
              ElementsAre("experiment digits-1: 2 models in the space, at most 300 to try"));
  for (int model = 1; model <= 81; ++model) progress.Update(Outcome(model, Succeeded("1")), At(1));
  EXPECT_THAT(progress.Block(24, 80, At(1))[0], HasSubstr("27%  81/300 models"));
}

TEST(ProgressTest, ALongDiscoveryIsShown) {
  Progress live(Config(), /*live=*/true, At(0));
  EXPECT_TRUE(live.ticks());
  EXPECT_THAT(live.Block(24, 80, At(0)), IsEmpty());
  live.SetConstructions(341);
  EXPECT_THAT(live.Block(24, 80, At(12)), ElementsAre("digits  learning the space  12s  341 constructions tried"));
  EXPECT_THAT(live.Tick(At(100)), IsEmpty());
  live.Update(SpaceOfTwo(), At(13));
  EXPECT_FALSE(live.ticks());

  Progress pipe(Config(), /*live=*/false, At(0));
  pipe.SetConstructions(1);
  EXPECT_THAT(pipe.Tick(At(29)), IsEmpty());
  EXPECT_THAT(pipe.Tick(At(31)), ElementsAre("still learning the space: 1 construction tried, 31s"));
  EXPECT_THAT(pipe.Tick(At(32)), IsEmpty());
  EXPECT_THAT(pipe.Tick(At(62)), ElementsAre("still learning the space: 1 construction tried, 1m02s"));
  pipe.Update(SpaceOfTwo(), At(63));
  EXPECT_THAT(pipe.Tick(At(200)), IsEmpty());
}

TEST(FormatTest, FailuresAreOneLine) {
  v1::Failure failure;
  failure.set_reason(v1::EXCEPTION);
  failure.set_message(" shapes (2x3)\n\n\tand (4x5) \x1b[2J ");
  EXPECT_EQ(FormatFailure(failure), "exception: shapes (2x3) and (4x5) [2J");
  failure.Clear();
  failure.set_reason(v1::EXIT);
  failure.set_exit_status(3);
  EXPECT_EQ(FormatFailure(failure), "the model's code called exit(3)");
}

TEST(FormatTest, DurationsAreShort) {
  EXPECT_EQ(ShortDuration(absl::Milliseconds(48400)), "48s");
  EXPECT_EQ(ShortDuration(absl::Seconds(72)), "1m12s");
  EXPECT_EQ(ShortDuration(absl::Minutes(123)), "2h03m");
  EXPECT_EQ(ShortDuration(-absl::Seconds(1)), "0s");
}

}  // namespace
}  // namespace lanista
