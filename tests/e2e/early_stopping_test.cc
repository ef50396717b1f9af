// Searches whose models are stopped early, as a user sees them.
#include <signal.h>

#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "src/storage/journal.h"
#include "tests/e2e/command.h"

namespace lanista {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

// Heads that are killed; scripts/slow_test.sh sets more.
int Kills() { return NumberFromEnvironment("LANISTA_TEST_KILLS", 3); }

// Drawn digits, of which a model sees little: curves differ. Rungs at epochs 1 and 2.
constexpr char kSearch[] = R"(
  name: "stopping"
  space { registered: "mlp" }
  strategy { tpe { startup: 4 } }
  evaluator {
    classification {
      dataset { synthetic_digits { train_samples: 200 validation_samples: 100 } }
      batch_size: 20
      max_epochs: 4
      checkpoint { interval { nanos: 1000000 } }
    }
  }
  early_stopping { asha { reduction_factor: 2 } }
  training_service { local { cpu_slots: 1 memory_limit: 1500000000 } }
  max_trial_number: 14
  seed: 5
)";

class EarlyStoppingTest : public ::testing::Test {
 protected:
  CommandResult Run(std::vector<std::string> arguments, const std::string& program = kLanista) {
    arguments.insert(arguments.end(), {"--state-dir", state_});
    return RunCommand(program, arguments);
  }

  // The models, without what depends on how long things take: when stops reach their trials, and attempts.
  static std::map<int, nlohmann::json> Results(const nlohmann::json& trials) {
    std::map<int, nlohmann::json> models = ModelsOf(trials);
    for (auto& [id, model] : models) {
      nlohmann::json& reports = model["metrics"]["intermediate"];
      const size_t steps = model["stopped"].is_null() ? reports.size() : model["stopped"]["step"].get<size_t>();
      EXPECT_GE(reports.size(), steps) << model;
      while (reports.size() > steps) reports.erase(reports.size() - 1);
      model.erase("attempts");
    }
    return models;
  }

  const std::string state_ = FreshFolder();
  const std::string config_ = WriteFile("stopping.textproto", kSearch);
};

TEST_F(EarlyStoppingTest, ModelsThatLeadNowhereAreStoppedAndEverybodySaysSo) {
  const CommandResult run = Run({"run", config_});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out,
              ContainsRegex("model [0-9]+ stopped early \\([0-9a-z]+\\): step [12]: [0-9.]+, not among the best "
                            "[0-9]+ of [0-9]+"));
  EXPECT_THAT(run.out, ContainsRegex("14 models: [0-9]+ succeeded, [0-9]+ stopped early"));

  const nlohmann::json show = Run({"show", "latest", "--json"}).Json();
  const int stopped = show["models"]["stopped_early"];
  EXPECT_GE(stopped, 3);
  EXPECT_EQ(show["models"]["succeeded"].get<int>() + stopped, 14);
  EXPECT_EQ(show["status"], "DONE");

  const nlohmann::json trials = Run({"trials", "latest", "--json"}).Json();
  std::set<int> ran_to_their_end;
  for (const nlohmann::json& model : trials["models"]) {
    const nlohmann::json& reports = model["metrics"]["intermediate"];
    if (model["status"] == "SUCCEEDED") {
      EXPECT_EQ(reports.size(), 4u);
      EXPECT_TRUE(model["stopped"].is_null());
      ran_to_their_end.insert(model["id"].get<int>());
      continue;
    }
    ASSERT_EQ(model["status"], "STOPPED_EARLY");
    const int step = model["stopped"]["step"];
    EXPECT_TRUE(step == 1 || step == 2) << "a rung";
    ASSERT_GE(reports.size(), static_cast<size_t>(step));
    EXPECT_EQ(model["metrics"]["final"], reports[static_cast<size_t>(step) - 1]["metrics"])
        << "of the step that decided";
    EXPECT_THAT(model["stopped"]["because"].get<std::string>(), HasSubstr(", not among the best "));
    EXPECT_TRUE(model["failure"].is_null());
  }
  for (const nlohmann::json& best : show["best"]) EXPECT_EQ(ran_to_their_end.count(best["model"].get<int>()), 1u);
  EXPECT_THAT(Run({"trials", "latest"}).out, ContainsRegex("STOPPED_EARLY .* step [12]: [0-9.]+, not among the best "));
}

TEST_F(EarlyStoppingTest, AHeadThatIsKilledAtAnyMomentChangesNothing) {
  // Enough models, so that some are left after the last kill.
  const int models = 8 + 2 * Kills();
  const std::vector<std::string> start = {"run", config_, "--set", absl::StrCat("max_trial_number=", models)};
  const std::string undisturbed_state = FreshFolder();
  std::vector<std::string> undisturbed_start = start;
  undisturbed_start.insert(undisturbed_start.end(), {"--state-dir", undisturbed_state});
  ASSERT_EQ(RunCommand(kLanista, undisturbed_start).exit_code, 0);
  const std::map<int, nlohmann::json> undisturbed =
      Results(RunCommand(kLanista, {"trials", "latest", "--json", "--state-dir", undisturbed_state}).Json());

  std::mt19937 random(7);
  int kills = Kills();
  for (int life = 0;; ++life) {
    ASSERT_LT(life, 100);
    std::vector<std::string> command = life == 0 ? start : std::vector<std::string>{"resume", "latest"};
    command.insert(command.end(), {"--state-dir", state_});
    BackgroundCommand head(kLanista, command);
    if (kills-- <= 0) {
      EXPECT_EQ(head.Wait(), 0);
      break;
    }
    const int lines = static_cast<int>(random() % 5);
    bool runs = head.WaitForLine("models in the space");
    for (int line = 0; runs && line < lines; ++line) runs = head.WaitForLine("model");
    if (!runs) {
      EXPECT_EQ(head.Wait(), 0) << "it came to its end";
      break;
    }
    kill(head.pid(), SIGKILL);
    EXPECT_EQ(head.Wait(), -SIGKILL);
    // Killed behind its last record.
    if (Run({"show", "latest", "--json"}).Json()["status"] == "DONE") break;
  }
  const nlohmann::json show = Run({"show", "latest", "--json"}).Json();
  EXPECT_EQ(show["status"], "DONE");
  EXPECT_EQ(show["models"]["total"], models);
  // The log has each step once, and the verdict of each model that was stopped.
  const auto journal = JournalReader::Open(absl::StrCat(state_, "/experiments/", show["id"].get<std::string>()));
  ASSERT_TRUE(journal.ok()) << journal.status();
  std::set<std::pair<int, int>> steps;
  std::map<int, int> stops;
  const absl::Status visited = journal->VisitStoppingCalls([&](const v1::StoppingCall& call) {
    if (!call.has_report()) return absl::OkStatus();
    const v1::StepReport& report = call.report().report();
    EXPECT_TRUE(steps.emplace(report.model(), report.step()).second) << call.ShortDebugString();
    if (!call.report().verdict().stop()) return absl::OkStatus();
    EXPECT_TRUE(stops.emplace(report.model(), report.step()).second) << call.ShortDebugString();
    return absl::OkStatus();
  });
  EXPECT_TRUE(visited.ok()) << visited;
  const std::map<int, nlohmann::json> results = Results(Run({"trials", "latest", "--json"}).Json());
  for (const auto& [model, result] : results) {
    EXPECT_EQ(result["status"] == "STOPPED_EARLY", stops.count(model) == 1) << result;
    // One slot: models report in the same order, so that a verdict is the same, too.
    EXPECT_EQ(result, undisturbed.at(model));
  }
}

TEST_F(EarlyStoppingTest, AnEvaluatorThatReportsNothingIsWarnedOf) {
  const CommandResult run =
      Run({"run", config_, "--set", "evaluator={ constant {} }", "--set", "space.registered=mnist_cnn"});
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_THAT(run.out + run.err, HasSubstr("ended without an intermediate report of `default`"));
  const CommandResult reports = Run({"run", config_, "--set", "max_trial_number=1"});
  EXPECT_THAT(reports.out + reports.err, Not(HasSubstr("ended without")));
}

TEST_F(EarlyStoppingTest, ConfigurationsThatMakeNoSenseAreRefused) {
  const CommandResult factor = Run({"validate", config_, "--set", "early_stopping.asha.reduction_factor=1"});
  EXPECT_EQ(factor.exit_code, 2);
  EXPECT_THAT(factor.err, HasSubstr("early_stopping.asha.reduction_factor: must be at least 2, got 1"));
  const CommandResult unknown = Run({"validate", config_, "--set", "early_stopping={ custom { name: 'mine' } }"});
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_THAT(unknown.err, HasSubstr("early_stopping: 'mine' is not registered in this program; known: asha, "
                                     "hyperband, median"));
  ASSERT_EQ(Run({"run", config_, "--set", "max_trial_number=2"}).exit_code, 0);
  EXPECT_EQ(Run({"resume", "latest", "--set", "early_stopping.asha.reduction_factor=3"}).exit_code, 2);
}

// Eight models, none of them with a fault.
constexpr char kEightModels[] =
    "space={ registered: 'some_bad' params { key: 'fault' value { s: 'none' } } "
    "params { key: 'bad' value { list { values { i: 8 } } } } }";

TEST_F(EarlyStoppingTest, ATrialHearsThatItsModelIsStopped) {
  // The evaluator reports two steps, and ends once the model is stopped.
  const CommandResult run =
      Run({"run", config_, "--json", "--set", kEightModels, "--set", "early_stopping={ custom { name: 'odd models' } }",
           "--set", "evaluator={ custom { name: 'talkative' params { key: 'wait' value { b: true } } } }", "--set",
           "max_trial_number=1"},
          kFaultyProgram);
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(run.Json()["models"]["stopped_early"], 1);
  const nlohmann::json model = Run({"trials", "latest", "--json"}).Json()["models"][0];
  EXPECT_EQ(model["status"], "STOPPED_EARLY");
  EXPECT_EQ(model["metrics"]["final"], nlohmann::json::parse(R"({"default": 0.2, "loss": 2.5})"));
  EXPECT_EQ(model["stopped"], nlohmann::json::parse(R"({"step": 2, "because": "it is odd"})"));
  ASSERT_EQ(model["attempts"].size(), 1u);
  EXPECT_EQ(model["attempts"][0]["outcome"], "STOPPED_EARLY");
}

TEST_F(EarlyStoppingTest, AUsersStopperDecidesAndOneThatThrowsFailsItsExperiment) {
  const auto run = [&](const std::string& params) {
    return Run({"run", config_, "--json", "--set", kEightModels, "--set",
                absl::StrCat("early_stopping={ custom { name: 'odd models' ", params, " } }")},
               kFaultyProgram);
  };
  const CommandResult whole = run("");
  EXPECT_EQ(whole.exit_code, 0) << whole.err;
  EXPECT_EQ(whole.Json()["models"]["stopped_early"], 4);
  EXPECT_EQ(whole.Json()["models"]["succeeded"], 4);
  const CommandResult thrown = run("params { key: 'throws_at' value { i: 5 } }");
  EXPECT_EQ(thrown.exit_code, 1);
  EXPECT_EQ(thrown.Json()["status"], "FAILED");
  EXPECT_EQ(thrown.Json()["reason"], "the stopper failed: the stopper threw: model 5 is too much");
}

}  // namespace
}  // namespace lanista
