// Searches with several objectives and limits, as a user sees them.
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/e2e/command.h"

namespace lanista {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

// Of six models: 6 takes too long, 4 is beaten by 3, the others are the front.
constexpr char kTable[] =
    "size,accuracy,params,latency\n"
    "1,0.5,100,1\n"
    "2,0.75,200,1\n"
    "3,0.875,300,2\n"
    "4,0.8125,400,2\n"
    "5,0.9375,500,2\n"
    "6,1,600,3\n";

constexpr char kSearch[] = R"(
  name: "goals"
  space { choices { choice { label: "size" candidate: [ { i: 1 }, { i: 2 }, { i: 3 }, { i: 4 }, { i: 5 }, { i: 6 } ] } } }
  strategy { grid_search {} }
  evaluator { table { path: "TABLE" default_metric: "accuracy" } }
  training_service { local { cpu_slots: 1 } }
  objectives {}
  objectives { metric: "params" goal: MINIMIZE }
  constraint { metric: "latency" max: 2 }
  seed: 3
)";

class GoalsTest : public ::testing::Test {
 protected:
  CommandResult Run(std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--state-dir", state_});
    return RunCommand(kLanista, arguments);
  }

  // A search on the table.
  std::vector<std::string> Search(const std::string& command, const std::vector<std::string>& overrides = {}) {
    std::vector<std::string> arguments = {command, WriteFile("goals.textproto", kSearch), "--set",
                                          "evaluator.table.path=" + WriteFile("goals.csv", kTable)};
    for (const std::string& override : overrides) arguments.insert(arguments.end(), {"--set", override});
    return arguments;
  }

  static std::vector<int> Ids(const nlohmann::json& models, const char* key) {
    std::vector<int> ids;
    for (const nlohmann::json& model : models) ids.push_back(model[key]);
    return ids;
  }

  const std::string state_ = FreshFolder();
};

TEST_F(GoalsTest, TheBestAreTheFrontOfThoseWithinTheLimits) {
  const CommandResult run = Run(Search("run"));
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, AllOf(HasSubstr("model 6 succeeded"), HasSubstr(", but breaks a limit: latency 3 (at most 2): "),
                             HasSubstr("objectives  default: MAXIMIZE, params: MINIMIZE\n"),
                             HasSubstr("limits      latency at most 2\n"),
                             HasSubstr("Pareto front: no other model beats these\n")));
  const nlohmann::json show = Run({"show", "latest", "--json"}).Json();
  EXPECT_THAT(Ids(show["best"], "model"), ElementsAre(5, 3, 2, 1));
  EXPECT_THAT(Ids(Run({"trials", "latest", "--sort", "best", "--json"}).Json()["models"], "id"),
              ElementsAre(5, 3, 2, 1, 4, 6));
  EXPECT_THAT(Run({"trials", "latest"}).out, HasSubstr("  6     latency 3 (at most 2)\n"));
  const std::string out = FreshFolder();
  const CommandResult exported = Run({"export", "latest", "--top", "5", "--out", out});
  EXPECT_THAT(exported.out, AllOf(HasSubstr("/1-model-5.json"), HasSubstr("/5-model-4.json"))) << exported.err;
  EXPECT_THAT(Run({"trials", "latest", "--csv"}).out, HasSubstr("\n6,1,")) << "it was trained";
}

TEST_F(GoalsTest, WhereNoModelKeepsTheLimitsTheNearestIsNamed) {
  const CommandResult run = Run(Search("run", {"constraint[0].max=0.5"}));
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_THAT(run.out,
              AllOf(HasSubstr("no model is within the limits; the nearest: model 1, latency 1 (at most 0.5)\n"),
                    Not(HasSubstr(" export "))));
  EXPECT_THAT(run.err, HasSubstr("none of the 6 models that were tried is within the limits"));
  const CommandResult exported = Run({"export", "latest", "--out", FreshFolder()});
  EXPECT_EQ(exported.exit_code, 2);
  EXPECT_THAT(exported.err, HasSubstr("is within its limits: there is nothing to export"));
}

TEST_F(GoalsTest, AStrategyForOneObjectiveIsRefused) {
  for (const char* command : {"validate", "run"}) {
    const CommandResult result = Run(Search(command, {"strategy={ tpe {} }"}));
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_THAT(result.err, AllOf(HasSubstr("strategy: tpe learns from one objective"), HasSubstr("use nsga2")));
  }
}

TEST_F(GoalsTest, TheExampleFindsAFrontOfSmallNetworks) {
  const CommandResult run = Run({"run", "examples/multi_objective/experiment.textproto", "--set", "max_trial_number=14",
                                 "--set", "evaluator.classification.max_epochs=1", "--set",
                                 "evaluator.classification.dataset.synthetic_digits.train_samples=100", "--json"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const nlohmann::json show = run.Json();
  EXPECT_EQ(show["models"]["succeeded"], 14);
  EXPECT_EQ(show["models"]["infeasible"], 0) << "larger ones are not proposed";
  double accuracy = 2, flops = 1e12;
  for (const nlohmann::json& best : show["best"]) {
    EXPECT_LE(best["metrics"]["default"], accuracy);
    EXPECT_LE(best["metrics"]["flops"], flops);
    accuracy = best["metrics"]["default"];
    flops = best["metrics"]["flops"];
  }
  EXPECT_LT(flops, 1e12) << "there is a front";
  const nlohmann::json document = Run({"trials", "latest", "--json"}).Json();
  for (const nlohmann::json& model : document["models"]) {
    EXPECT_LE(model["metrics"]["final"]["params"], 50000);
  }
}

}  // namespace
}  // namespace lanista
