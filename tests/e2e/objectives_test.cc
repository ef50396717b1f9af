// Searches with several objectives and with limits, as a user sees them.
#include <signal.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/e2e/command.h"
#include "tests/e2e/small_graph.h"

namespace lanista {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;

constexpr char kSearch[] = R"(
  name: "objectives"
  strategy { nsga2 { population: 4 } }
  evaluator {
    classification {
      dataset { synthetic_digits { train_samples: 100 validation_samples: 50 } }
      batch_size: 20
    }
  }
  training_service { local { cpu_slots: 1 memory_limit: 1500000000 } }
  seed: 5
)";

constexpr char kAccuracyAndFlops[] =
    "objectives=[{ metric: 'default' goal: MAXIMIZE }, { metric: 'flops' goal: MINIMIZE }]";

class ObjectivesTest : public ::testing::Test {
 protected:
  void SetUp() override { std::ofstream(folder_ + "/net.textproto") << kSmallGraph; }

  // With what is set, and nothing of an earlier call.
  CommandResult Run(const std::string& command, const std::string& space, const std::vector<std::string>& set = {}) {
    const std::string config = folder_ + "/search.textproto";
    std::ofstream(config) << absl::StrCat(kSearch, "space { ", space, " }");
    std::vector<std::string> arguments = {command, config, "--state-dir", state_};
    for (const std::string& field : set) arguments.insert(arguments.end(), {"--set", field});
    return RunCommand(kLanista, arguments);
  }
  CommandResult Latest(const std::string& command) const {
    return RunCommand(kLanista, {command, "latest", "--json", "--state-dir", state_});
  }

  const std::string folder_ = FreshFolder();
  const std::string state_ = FreshFolder();
};

TEST_F(ObjectivesTest, TheBestAreThoseThatNoOtherBeatsAndNoModelBeyondALimitIsTried) {
  for (const std::string engine : {"engine={ graph {} }", "engine={ cgo { batch_waiting_time: 0.1 } }"}) {
    const CommandResult run =
        Run("run", kSmallGraphSpace, {engine, kAccuracyAndFlops, "constraint=[{ metric: 'params' max: 20000 }]"});
    ASSERT_EQ(run.exit_code, 0) << run.err;
    const nlohmann::json trials = Latest("trials").Json();
    // Three widths of four.
    ASSERT_EQ(trials["models"].size(), 9u) << engine;
    std::set<int> front;
    for (const nlohmann::json& model : trials["models"]) {
      ASSERT_EQ(model["status"], "SUCCEEDED") << model;
      const nlohmann::json& metrics = model["metrics"]["final"];
      EXPECT_LE(metrics["params"], 20000);
      EXPECT_EQ(model["violation"], 0);
      const auto beats = [&metrics](const nlohmann::json& other) {
        const nlohmann::json& others = other["metrics"]["final"];
        return others["default"] >= metrics["default"] && others["flops"] <= metrics["flops"] &&
               (others["default"] > metrics["default"] || others["flops"] < metrics["flops"]);
      };
      if (std::none_of(trials["models"].begin(), trials["models"].end(), beats)) front.insert(model["id"].get<int>());
    }
    const nlohmann::json show = Latest("show").Json();
    std::set<int> best;
    for (const nlohmann::json& model : show["best"]) best.insert(model["model"].get<int>());
    EXPECT_EQ(best, front);
    EXPECT_EQ(show["models"]["infeasible"], 0) << "none was built for nothing";
  }
}

TEST_F(ObjectivesTest, WhatAModelOfCodeCostsIsKnownOnceItIsBuilt) {
  const CommandResult run =
      Run("run", "registered: 'mlp'",
          {"strategy={ random {} }", "max_trial_number=5", "constraint=[{ metric: 'params' max: 60000 }]"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const nlohmann::json show = Latest("show").Json();
  EXPECT_EQ(show["models"]["succeeded"], 5) << "models that cost too much are none of those that were tried";
  const int infeasible = show["models"]["infeasible"];
  EXPECT_GE(infeasible, 1);
  EXPECT_EQ(show["models"]["total"], 5 + infeasible);
  EXPECT_THAT(run.out, HasSubstr(absl::StrCat(infeasible, " infeasible")));
  const nlohmann::json document = Latest("trials").Json();
  for (const nlohmann::json& model : document["models"]) {
    const double params = model["metrics"]["final"]["params"];
    EXPECT_EQ(model["status"] == "INFEASIBLE", params > 60000) << model;
    EXPECT_EQ(model["violation"] > 0, params > 60000) << model;
    if (model["status"] != "INFEASIBLE") continue;
    EXPECT_TRUE(model["metrics"]["intermediate"].empty()) << "it was not trained";
    EXPECT_TRUE(model["failure"].is_null());
  }
  EXPECT_THAT(RunCommand(kLanista, {"trials", "latest", "--state-dir", state_}).out,
              ContainsRegex("INFEASIBLE .*params [0-9.e+]+ \\(at most 60000\\)"));
}

TEST_F(ObjectivesTest, LimitsThatNothingKeepsEndTheSearchAndNameTheNearest) {
  const CommandResult graph =
      Run("run", kSmallGraphSpace,
          {"engine={ graph {} }", "strategy={ random {} }", "constraint=[{ metric: 'flops' max: 10 }]"});
  EXPECT_EQ(graph.exit_code, 1);
  EXPECT_THAT(graph.out + graph.err, ContainsRegex("none of the 12 models that were tried is within the limits; the "
                                                   "nearest has flops [0-9.e+]+ \\(at most 10\\)"));
  EXPECT_EQ(Latest("show").Json()["models"]["total"], 0) << "none was proposed";

  const CommandResult direct =
      Run("run", "registered: 'mlp'",
          {"strategy={ grid_search {} }", "evaluator={ constant {} }", "constraint=[{ metric: 'params' max: 1000 }]"});
  EXPECT_EQ(direct.exit_code, 1);
  EXPECT_THAT(direct.out + direct.err, HasSubstr("none of the 117 models that were tried is within the limits; the "
                                                 "nearest has params 25450 (at most 1000)"));
  EXPECT_EQ(Latest("show").Json()["models"]["infeasible"], 117);

  // This one is known only afterwards.
  const CommandResult accuracy = Run("run", "registered: 'mlp'",
                                     {"strategy={ random {} }", "evaluator={ constant { value: 0.5 } }",
                                      "max_trial_number=3", "constraint=[{ metric: 'default' min: 0.9 }]"});
  EXPECT_EQ(accuracy.exit_code, 1);
  EXPECT_THAT(accuracy.out, HasSubstr("default 0.5 (at least 0.9)"));
  const nlohmann::json show = Latest("show").Json();
  EXPECT_EQ(show["status"], "DONE") << "it did what it was asked for";
  EXPECT_EQ(show["models"]["succeeded"], 3);
  EXPECT_TRUE(show["best"].empty());
}

TEST_F(ObjectivesTest, AMetricThatNobodyReportsFailsTheModelAndSaysWhichThereAre) {
  const CommandResult run =
      Run("run", "registered: 'mlp'",
          {"max_trial_number=2", "objectives=[{ metric: 'default' }, { metric: 'latency' goal: MINIMIZE }]"});
  EXPECT_EQ(run.exit_code, 1);
  const nlohmann::json failure = Latest("trials").Json()["models"][0]["failure"];
  EXPECT_EQ(failure["reason"], "NO_METRIC");
  EXPECT_THAT(failure["message"].get<std::string>(), HasSubstr("objectives[1].metric: 'latency'"));
  EXPECT_THAT(failure["message"].get<std::string>(), HasSubstr("accuracy"));
}

TEST_F(ObjectivesTest, ConfigurationsThatMakeNoSenseAreRefused) {
  const auto error = [this](const std::vector<std::string>& set) {
    const CommandResult validate = Run("validate", kSmallGraphSpace, set);
    EXPECT_EQ(validate.exit_code, 2);
    return validate.err;
  };
  EXPECT_THAT(error({"engine={ graph {} }", "strategy={ tpe {} }", kAccuracyAndFlops}), HasSubstr("use nsga2"));
  const CommandResult direct = Run("validate", "registered: 'mlp'", {"constraint=[{ metric: 'flops' max: 1 }]"});
  EXPECT_EQ(direct.exit_code, 2);
  EXPECT_THAT(direct.err, HasSubstr("constraint[0].metric"));
  EXPECT_THAT(error({"engine={ graph {} }", kAccuracyAndFlops, "objective=MINIMIZE"}), HasSubstr("objective"));
}

// What models came to, whatever attempts it took.
std::map<int, nlohmann::json> Results(const nlohmann::json& trials) {
  std::map<int, nlohmann::json> models;
  for (const nlohmann::json& model : trials["models"]) {
    models[model["id"]] = {model["sample"], model["status"], model["metrics"]["final"], model["violation"]};
  }
  return models;
}

TEST_F(ObjectivesTest, AHeadThatIsKilledGoesOnWithTheSameModels) {
  const std::vector<std::string> set = {"max_trial_number=8", "constraint=[{ metric: 'params' max: 60000 }]",
                                        "objectives=[{ metric: 'default' }, { metric: 'params' goal: MINIMIZE }]"};
  ASSERT_EQ(Run("run", "registered: 'mlp'", set).exit_code, 0);
  const std::map<int, nlohmann::json> undisturbed = Results(Latest("trials").Json());

  const std::string state = FreshFolder();
  std::vector<std::string> command = {"run", folder_ + "/search.textproto", "--state-dir", state};
  for (const std::string& field : set) command.insert(command.end(), {"--set", field});
  for (const char* line : {"model 1 ", "model 4 ", "model 6 "}) {
    BackgroundCommand head(kLanista, command);
    ASSERT_TRUE(head.WaitForLine(line));
    kill(head.pid(), SIGKILL);
    EXPECT_EQ(head.Wait(), -SIGKILL);
    command = {"resume", "latest", "--state-dir", state};
  }
  const CommandResult resumed = RunCommand(kLanista, command);
  EXPECT_EQ(resumed.exit_code, 0) << resumed.err;
  EXPECT_EQ(Results(RunCommand(kLanista, {"trials", "latest", "--json", "--state-dir", state}).Json()), undisturbed);
}

}  // namespace
}  // namespace lanista
