#include "src/launcher/progress.h"

#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "tests/launcher/events.h"

namespace lanista {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

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
  EXPECT_THAT(progress.Update(Event("state { state: FAILED reason: \"why\" }"), At(4)), IsEmpty());
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
  config.set_objective(v1::ObjectiveConfig::MINIMIZE);
  Progress progress(config, /*live=*/true, At(0));
  for (const char* value : {"0.5", "0.25", "0.75"}) progress.Update(Outcome(1, Succeeded(value)), At(0));
  EXPECT_EQ(progress.Block(24, 80, At(0))[1], "best: 0.25  model 1  {\"p\":0.25}");
}

// Accuracy against FLOPs, with a limit on the parameters.
v1::ExperimentConfig ConfigWithGoals() {
  v1::ExperimentConfig config = Config();
  config.add_objectives();
  config.add_objectives()->set_metric("flops");
  config.mutable_objectives(1)->set_goal(v1::ObjectiveConfig::MINIMIZE);
  config.add_constraint()->set_metric("params");
  config.mutable_constraint(0)->set_max(1000);
  return config;
}

std::string Metrics(double value, double flops, double params) {
  const auto metric = [](const std::string& name, double number) {
    return " values { key: \"" + name + "\" value: " + std::to_string(number) + " }";
  };
  return "metrics {" + metric("default", value) + metric("flops", flops) + metric("params", params) + " }";
}

TEST(ProgressTest, OfSeveralObjectivesTheFrontIsCounted) {
  Progress progress(ConfigWithGoals(), /*live=*/true, At(0));
  const auto after = [&progress](int model, double value, double flops) {
    progress.Update(Outcome(model, "outcome: SUCCEEDED " + Metrics(value, flops, 10)), At(0));
    return progress.Block(24, 80, At(0))[1];
  };
  EXPECT_EQ(after(1, 0.5, 500), "best: 1 model that no other beats; default 0.5, flops 500: model 1  {\"p\":0.25}");
  EXPECT_THAT(after(2, 0.25, 100), HasSubstr("best: 2 models that no other beats; default 0.5, flops 500: model 1 "));
  EXPECT_THAT(after(3, 0.75, 900), HasSubstr("best: 3 models that no other beats; default 0.75, flops 900: model 3 "));
  EXPECT_THAT(after(4, 0.25, 200), HasSubstr("best: 3 models")) << "model 2 beats it";
  EXPECT_THAT(after(5, 0.25, 100), HasSubstr("best: 4 models")) << "equal to model 2";
  EXPECT_THAT(after(6, 0.5, 50), HasSubstr("best: 2 models that no other beats; default 0.75, flops 900: model 3 "))
      << "it beats models 1, 2 and 5";
  EXPECT_THAT(after(7, 1, 10), HasSubstr("best: 1 model that no other beats; default 1, flops 10: model 7 "));
}

TEST(ProgressTest, TheOneObjectiveMayBeAnotherMetric) {
  v1::ExperimentConfig config = Config();
  config.add_objectives()->set_metric("flops");
  config.mutable_objectives(0)->set_goal(v1::ObjectiveConfig::MINIMIZE);
  Progress progress(config, /*live=*/true, At(0));
  for (const double flops : {500, 100, 100, 900}) {
    progress.Update(Outcome(1, "outcome: SUCCEEDED " + Metrics(0.5, flops, 10)), At(0));
  }
  EXPECT_EQ(progress.Block(24, 80, At(0))[1], "best: flops 100  model 1  {\"p\":0.25}");
}

TEST(ProgressTest, ModelsThatBreakALimitAreCountedApart) {
  Progress progress(ConfigWithGoals(), /*live=*/true, At(0));
  EXPECT_EQ(progress.Block(24, 80, At(0)).size(), 0u) << "the space is not known yet";
  progress.Update(Event("state { state: RUNNING }"), At(0));
  EXPECT_EQ(progress.Block(24, 80, At(0)).size(), 1u) << "nothing to say of the best";
  const std::string large = Metrics(0.5, 500, 1200);
  EXPECT_THAT(progress.Update(Outcome(1, "outcome: INFEASIBLE " + large), At(0)), IsEmpty());
  EXPECT_THAT(progress.Update(Outcome(2, "outcome: SUCCEEDED " + large), At(0)), IsEmpty());
  EXPECT_THAT(progress.Block(24, 80, At(0)), ElementsAre(HasSubstr("  5%  1/20 models  succeeded 1  infeasible 1"),
                                                         "best: no model is within the limits yet"));
  progress.Update(Outcome(3, "outcome: SUCCEEDED " + Metrics(0.25, 500, 1000)), At(0));
  EXPECT_THAT(progress.Block(24, 80, At(0)),
              ElementsAre(HasSubstr(" 10%  2/20 models  succeeded 2  infeasible 1"),
                          HasSubstr("best: 1 model that no other beats; default 0.25, flops 500: model 3 ")));

  Progress pipe(ConfigWithGoals(), /*live=*/false, At(0));
  EXPECT_THAT(pipe.Update(Outcome(1, "outcome: INFEASIBLE " + large), At(0)),
              ElementsAre("model 1 infeasible: params 1200 (at most 1000)  {\"p\":0.25}"));
  EXPECT_THAT(pipe.Update(Outcome(2, "outcome: SUCCEEDED " + large), At(0)),
              ElementsAre("model 2 succeeded, but breaks a limit: params 1200 (at most 1000): default 0.5  flops 500  "
                          "params 1200  {\"p\":0.25}"));
}

TEST(ProgressTest, ModelsThatBreakALimitAreModelsOfTheSpace) {
  v1::ExperimentConfig config = ConfigWithGoals();
  config.clear_max_trial_number();
  Progress progress(config, /*live=*/true, At(0));
  progress.Update(SpaceOfTwo(), At(0));
  progress.Update(Outcome(1, "outcome: INFEASIBLE " + Metrics(0.5, 500, 1200)), At(0));
  EXPECT_THAT(progress.Block(24, 80, At(0))[0], HasSubstr("  0%  0/1 model  infeasible 1"));
}

TEST(ProgressTest, ModelsThatAreNeverProposedAreNotWaitedFor) {
  v1::ExperimentConfig config = ConfigWithGoals();
  config.mutable_engine()->mutable_graph();
  const auto head = [](const Progress& progress) { return progress.Block(24, 80, At(0))[0]; };
  Progress limited(config, /*live=*/true, At(0));
  limited.Update(SpaceOfTwo(), At(0));
  limited.Update(Outcome(1, "outcome: SUCCEEDED " + Metrics(0.5, 500, 10)), At(0));
  EXPECT_THAT(head(limited), HasSubstr(" 50%  1/2 models")) << "as far as anybody knows";
  limited.Update(Event("state { state: DONE }"), At(0));
  EXPECT_THAT(head(limited), HasSubstr("#]  100%  1/1 model"));

  config.clear_max_trial_number();
  Progress unlimited(config, /*live=*/true, At(0));
  EXPECT_THAT(unlimited.Update(SpaceOfTwo(), At(0)), ElementsAre("experiment digits-1: 2 models in the space"));
  unlimited.Update(Outcome(1, "outcome: SUCCEEDED " + Metrics(0.5, 500, 10)), At(0));
  EXPECT_EQ(head(unlimited), "digits  1 model  succeeded 1") << "how many keep the limit is not known";
}

TEST(ProgressTest, WhatGoesOnKnowsTheEarlierFront) {
  EarlierProgress earlier;
  earlier.counts.succeeded = 3;
  earlier.counts.infeasible = 2;
  earlier.counts.canceled = 1;
  for (const auto& [model, value] : {std::pair(4, 0.75), std::pair(2, 0.5)}) {
    ModelRecord record;
    record.model = model;
    record.sample_json = "{\"p\":0.5}";
    record.outcome = Outcome(model, "outcome: SUCCEEDED " + Metrics(value, 1000 * value, 10)).outcome();
    earlier.front.push_back(record);
  }
  Progress progress(ConfigWithGoals(), /*live=*/true, At(0), earlier);
  EXPECT_THAT(progress.Update(SpaceOfTwo(), At(0))[0], HasSubstr("3 models finished before"));
  EXPECT_THAT(progress.Block(24, 80, At(0)),
              ElementsAre(HasSubstr("succeeded 3  infeasible 2"),
                          "best: 2 models that no other beats; default 0.75, flops 750: model 4  {\"p\":0.5}"));
  progress.Update(Outcome(7, "outcome: SUCCEEDED " + Metrics(0.75, 700, 10)), At(1));
  EXPECT_THAT(progress.Block(24, 80, At(1))[1],
              HasSubstr("best: 2 models that no other beats; default 0.75, flops 700"));
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

TEST(ProgressTest, WhichStrategiesMayRepeatModels) {
  const auto line = [](const std::string& strategy) {
    v1::ExperimentConfig config = Config();
    config.set_max_trial_number(300);
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(strategy, config.mutable_strategy())) << strategy;
    Progress progress(config, /*live=*/true, At(0));
    return progress.Update(SpaceOfTwo(), At(0)).at(0);
  };
  for (const char* const repeats :
       {"random { dedup: false }", "evolution { dedup: false }", "tpe { dedup: false }", "policy_rl { dedup: false }",
        "nsga2 { dedup: false }",
        "chain { stage { strategy { grid_search {} } } stage { strategy { tpe { dedup: false } } } }",
        "custom { name: 'own' }"}) {
    EXPECT_THAT(line(repeats), HasSubstr("at most 300 to try")) << repeats;
  }
  for (const char* const never : {"random {}", "random { dedup: true }", "evolution {}", "tpe {}", "policy_rl {}",
                                  "nsga2 {}", "grid_search {}", "chain { stage { strategy { tpe {} } } }"}) {
    EXPECT_THAT(line(never), Not(HasSubstr("300"))) << never;
  }
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

TEST(ProgressTest, WhatItWaitsForIsShown) {
  Progress pipe(Config(), /*live=*/false, At(0));
  EXPECT_THAT(pipe.SetWaiting(""), IsEmpty());
  EXPECT_THAT(pipe.SetWaiting("a device:\nthere is none"), ElementsAre("waits for a device: there is none"));
  EXPECT_THAT(pipe.SetWaiting(""), ElementsAre("waits no longer"));
  Progress terminal(Config(), /*live=*/true, At(0));
  EXPECT_THAT(terminal.SetWaiting("a device"), IsEmpty());
  EXPECT_THAT(terminal.Block(24, 60, At(5)),
              ElementsAre("digits  learning the space  5s  0 constructions tried", "waits for a device"));
  terminal.Update(Outcome(1, Succeeded("0.75")), At(5));
  EXPECT_EQ(terminal.Block(24, 60, At(5))[1], "waits for a device");
  EXPECT_EQ(terminal.Block(24, 60, At(5))[2], "best: 0.75  model 1  {\"p\":0.25}");
  EXPECT_EQ(terminal.Block(2, 60, At(5)).size(), 2u) << "no room for the best";
  EXPECT_THAT(terminal.SetWaiting(""), IsEmpty());
  EXPECT_EQ(terminal.Block(24, 60, At(5))[1], "best: 0.75  model 1  {\"p\":0.25}");
}

TEST(FormatTest, FailuresAreOneLine) {
  v1::Failure failure;
  failure.set_reason(v1::Failure::EXCEPTION);
  failure.set_message(" shapes (2x3)\n\n\tand (4x5) \x1b[2J ");
  EXPECT_EQ(FormatFailure(failure), "exception: shapes (2x3) and (4x5) [2J");
  failure.Clear();
  failure.set_reason(v1::Failure::EXIT);
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
