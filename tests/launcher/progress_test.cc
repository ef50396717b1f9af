#include "src/launcher/progress.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/launcher/events.h"

namespace lanista {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

absl::Time At(int seconds) { return absl::FromUnixSeconds(1700000000 + seconds); }

v1::ExperimentConfig Config() {
  v1::ExperimentConfig config;
  config.set_name("digits");
  config.set_max_trial_number(20);
  return config;
}

TEST(ProgressTest, InAPipeEachModelIsALine) {
  Progress progress(Config(), /*live=*/false);
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
}

TEST(ProgressTest, OnATerminalOnlyWhatWentWrongIsALine) {
  Progress progress(Config(), /*live=*/true);
  EXPECT_THAT(progress.Update(Outcome(1, Succeeded("0.75")), At(3)), IsEmpty());
  EXPECT_THAT(progress.Update(Outcome(2, "outcome: FAILED failure { reason: TIME_OUT }"), At(3)),
              ElementsAre("model 2 failed: time out  {\"p\":0.25}"));
  EXPECT_THAT(progress.Update(Event("state { state: STOPPING reason: \"Ctrl-C\" }"), At(4)),
              ElementsAre("stopping: Ctrl-C"));
}

TEST(ProgressTest, TheBlockShowsCountsBestAndWhatRuns) {
  Progress progress(Config(), /*live=*/true);
  EXPECT_THAT(progress.Block(24, At(0)), ElementsAre("digits  [........................]  0/20 models"));
  progress.Update(Started(1), At(0));
  progress.Update(Started(2, 1), At(0));
  progress.Update(Reported(2, 3, "0.5"), At(5));
  progress.Update(Ended(1), At(10));
  progress.Update(Outcome(1, Succeeded("0.75")), At(10));
  EXPECT_THAT(progress.Block(24, At(10)),
              ElementsAre("digits  [#.......................]  1/20 models  succeeded 1  10s  ETA 3m10s",
                          "best: 0.75  model 1  {\"p\":0.25}", "  model 2  cpu 1  10s  step 3  default 0.5  a 1"));
}

TEST(ProgressTest, TheObjectiveSaysWhatIsBest) {
  v1::ExperimentConfig config = Config();
  config.set_objective(v1::MINIMIZE);
  Progress progress(config, /*live=*/true);
  for (const char* value : {"0.5", "0.25", "0.75"}) progress.Update(Outcome(1, Succeeded(value)), At(0));
  EXPECT_EQ(progress.Block(24, At(0))[1], "best: 0.25  model 1  {\"p\":0.25}");
}

TEST(ProgressTest, TheBlockFitsALowTerminal) {
  Progress progress(Config(), /*live=*/true);
  for (int model = 1; model <= 9; ++model) progress.Update(Started(model), At(0));
  EXPECT_THAT(progress.Block(4, At(0)), ElementsAre("digits  [........................]  0/20 models  0s",
                                                    "  model 1  cpu 0  0s", "  model 2  cpu 0  0s", "  and 7 more"));
  EXPECT_EQ(progress.Block(10, At(0)).size(), 10);
  EXPECT_EQ(progress.Block(0, At(0)).size(), 2);
}

TEST(ProgressTest, WithoutALimitThereIsNoBar) {
  v1::ExperimentConfig config = Config();
  config.clear_max_trial_number();
  Progress progress(config, /*live=*/true);
  progress.Update(Outcome(1, Succeeded("1")), At(0));
  EXPECT_EQ(progress.Block(24, At(0))[0], "digits  1 models  succeeded 1");
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
