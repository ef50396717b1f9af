// Searches that go well, as a user sees them.
#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/e2e/command.h"

namespace lanista {
namespace {

using ::testing::HasSubstr;

// Trains a few batches a model.
constexpr char kTinySearch[] = R"(
  name: "tiny"
  space { registered: "mnist_cnn" }
  strategy { random { dedup: true } }
  evaluator {
    classification {
      dataset { synthetic_digits { train_samples: 60 validation_samples: 30 } }
      batch_size: 20
      max_epochs: 2
      max_train_batches: 2
    }
  }
  training_service { local { cpu_slots: 2 threads_per_slot: 1 } }
  max_trial_number: 20
  seed: 42
)";

// model -> its whole history of metrics, as text, without the times.
std::map<int, std::string> MetricsOf(const nlohmann::json& trials) {
  std::map<int, std::string> metrics;
  for (const auto& [id, model] : ModelsOf(trials)) metrics[id] = model["metrics"].dump();
  return metrics;
}

TEST(SearchTest, AFiniteSpaceIsSearchedToItsEndAndAllViewsAgree) {
  const std::string state = FreshFolder();
  const std::string config = WriteFile("tiny.textproto", kTinySearch);
  const CommandResult run = RunCommand(kLanista, {"run", config, "--json", "--state-dir", state});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const nlohmann::json document = run.Json();
  EXPECT_EQ(document["status"], "DONE");
  EXPECT_EQ(document["reason"], "the space is exhausted");
  EXPECT_EQ(document["space_size"], "18");
  EXPECT_EQ(document["models"]["total"], 18);
  EXPECT_EQ(document["models"]["succeeded"], 18);
  const std::string id = document["id"];

  EXPECT_EQ(RunCommand(kLanista, {"show", id, "--json", "--state-dir", state}).Json()["best"], document["best"]);

  const nlohmann::json trials = RunCommand(kLanista, {"--state-dir", state, "trials", id, "--json"}).Json();
  std::set<std::string> samples;
  double best = 0;
  for (const auto& model : trials["models"]) {
    samples.insert(model["sample"].dump());
    EXPECT_EQ(model["status"], "SUCCEEDED");
    EXPECT_EQ(model["metrics"]["intermediate"].size(), 2u);
    EXPECT_TRUE(model["failure"].is_null());
    ASSERT_EQ(model["attempts"].size(), 1u);
    EXPECT_TRUE(model["attempts"][0]["merged_with"].empty());
    best = std::max(best, model["metrics"]["final"]["default"].get<double>());
  }
  EXPECT_EQ(samples.size(), 18u) << "no model twice";
  EXPECT_EQ(document["best"][0]["default"], best);

  const std::string out = FreshFolder();
  ASSERT_EQ(RunCommand(kLanista, {"export", id, "--top", "3", "--format", "json", "--out", out, "--state-dir", state})
                .exit_code,
            0);
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(out)) files.push_back(entry.path());
  ASSERT_EQ(files.size(), 3u);
  const std::string first = *std::min_element(files.begin(), files.end());
  EXPECT_EQ(nlohmann::json::parse(std::ifstream(first))["sample"], document["best"][0]["sample"]);

  EXPECT_THAT(RunCommand(kLanista, {"list", "--state-dir", state}).out, HasSubstr(id));
  const CommandResult unasked = RunCommand(kLanista, {"delete", id, "--state-dir", state});
  EXPECT_EQ(unasked.exit_code, 2) << "the test has no terminal";
  EXPECT_THAT(unasked.err, HasSubstr("--yes"));
  EXPECT_THAT(RunCommand(kLanista, {"list", "--state-dir", state}).out, HasSubstr(id));
  EXPECT_EQ(RunCommand(kLanista, {"delete", id, "--yes", "--state-dir", state}).exit_code, 0);
  EXPECT_THAT(RunCommand(kLanista, {"list", "--state-dir", state}).out, ::testing::Not(HasSubstr(id)));
}

TEST(SearchTest, TheSameSeedGivesTheSameMetricsWhateverTheSlotsAndLoaderThreads) {
  const std::string config = WriteFile("tiny.textproto", kTinySearch);
  const auto metrics = [&](const std::vector<std::string>& overrides) {
    const std::string state = FreshFolder();
    std::vector<std::string> arguments = {"run", config, "--json", "--state-dir", state, "--set", "max_trial_number=4"};
    for (const std::string& override : overrides) arguments.insert(arguments.end(), {"--set", override});
    const std::string id = RunCommand(kLanista, arguments).Json()["id"];
    return MetricsOf(RunCommand(kLanista, {"trials", id, "--json", "--state-dir", state}).Json());
  };
  const auto expected = metrics({});
  EXPECT_EQ(expected.size(), 4u);
  EXPECT_EQ(metrics({"training_service.local.cpu_slots=1", "evaluator.classification.loader_threads=3"}), expected);
  EXPECT_NE(metrics({"seed=43"}), expected);
}

TEST(SearchTest, SlotsShareTheirDataToTheSameBits) {
  const std::string config = WriteFile("tiny.textproto", kTinySearch);
  const auto arguments = [&](const std::string& state, int slots, int epochs) {
    return std::vector<std::string>{"run",
                                    config,
                                    "--json",
                                    "--state-dir",
                                    state,
                                    "--set",
                                    "max_trial_number=4",
                                    "--set",
                                    "evaluator.classification.dataset.synthetic_digits.train_samples=600",
                                    "--set",
                                    "evaluator.classification.dataset.synthetic_digits.validation_samples=400",
                                    "--set",
                                    absl::StrCat("evaluator.classification.max_epochs=", epochs),
                                    "--set",
                                    absl::StrCat("training_service.local.cpu_slots=", slots)};
  };
  const auto metrics = [&](int slots) {
    const std::string state = FreshFolder();
    const std::string id = RunCommand(kLanista, arguments(state, slots, 1)).Json()["id"];
    EXPECT_FALSE(std::filesystem::exists(state + "/shared_data"));
    return MetricsOf(RunCommand(kLanista, {"trials", id, "--json", "--state-dir", state}).Json());
  };
  const auto alone = metrics(1);
  EXPECT_EQ(alone.size(), 4u);
  EXPECT_EQ(metrics(2), alone);

  // While a search runs, there is one file of each part of the data.
  const std::string state = FreshFolder();
  std::vector<std::string> endless = arguments(state, 2, 1'000'000);
  endless.erase(std::find(endless.begin(), endless.end(), "--json"));
  BackgroundCommand run(kLanista, endless);
  ASSERT_TRUE(run.WaitForLine("models in the space"));
  const std::filesystem::directory_iterator files(state + "/shared_data");
  EXPECT_EQ(std::distance(files, std::filesystem::directory_iterator()), 2);
  ASSERT_EQ(kill(run.pid(), SIGINT), 0);
  run.Wait();
  EXPECT_FALSE(std::filesystem::exists(state + "/shared_data"));
}

TEST(SearchTest, JsonConfigurationsWorkToo) {
  const std::string config = WriteFile("constant.json", R"({
    "space": {"registered": "mnist_cnn"}, "strategy": {"grid_search": {}}, "evaluator": {"constant": {"value": 0.5}}})");
  const CommandResult run = RunCommand(kLanista, {"run", config, "--json", "--state-dir", FreshFolder()});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(run.Json()["models"]["succeeded"], 18);
  EXPECT_EQ(run.Json()["best"][0]["default"], 0.5);
}

TEST(SearchTest, APipeGetsPlainLines) {
  const std::string config = WriteFile("tiny.textproto", kTinySearch);
  const CommandResult run =
      RunCommand(kLanista, {"run", config, "--state-dir", FreshFolder(), "--set", "max_trial_number=1"});
  EXPECT_THAT(run.out, HasSubstr("18 models in the space"));
  EXPECT_THAT(run.out, HasSubstr("model 1 succeeded"));
  EXPECT_THAT(run.out, ::testing::Not(HasSubstr("\x1b"))) << "no escape sequences";
}

TEST(SearchTest, AUsersProgramHasTheWholeCommandLine) {
  const std::string state = FreshFolder();
  const std::string config = WriteFile("own.textproto", R"(
    space { registered: "crashes_in_constructor" }
    strategy { grid_search {} }
    evaluator { custom { name: "talkative" } }
    training_service { local { cpu_slots: 1 } }
    max_trial_number: 1
  )");
  const CommandResult run = RunCommand(kFaultyProgram, {"run", config, "--json", "--state-dir", state});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const std::string id = run.Json()["id"];
  const nlohmann::json model =
      RunCommand(kFaultyProgram, {"trials", id, "--json", "--state-dir", state}).Json()["models"][0];
  EXPECT_EQ(model["metrics"]["final"]["loss"], 1.5);
  EXPECT_EQ(model["metrics"]["intermediate"].size(), 2u);
  const std::string folder = state + "/experiments/" + id;
  EXPECT_TRUE(std::filesystem::exists(folder + "/trials/1/note.txt"));
  std::ifstream log(folder + "/logs/trial-1.log");
  std::string line;
  std::getline(log, line);
  EXPECT_EQ(line, "hello from the evaluator");
}

TEST(SearchTest, TrialsRunInProcessWhereAskedFor) {
  const std::string config = WriteFile("tiny.textproto", kTinySearch);
  const std::vector<std::string> arguments = {"run",
                                              config,
                                              "--json",
                                              "--state-dir",
                                              FreshFolder(),
                                              "--set",
                                              "max_trial_number=2",
                                              "--set",
                                              "training_service.local.isolation=IN_PROCESS",
                                              "--set",
                                              "training_service.local.cpu_slots=1"};
  const CommandResult run = RunCommand(kLanistaTrial, arguments);
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(run.Json()["models"]["succeeded"], 2);
  const CommandResult refused = RunCommand(kLanista, arguments);
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr("IN_PROCESS"));
}

TEST(SearchTest, TheCommandLineDoesNotLinkTorch) {
  const CommandResult dynamic = RunCommand("/usr/bin/readelf", {"-d", kLanista});
  ASSERT_EQ(dynamic.exit_code, 0);
  EXPECT_THAT(dynamic.out, HasSubstr("NEEDED"));
  EXPECT_THAT(dynamic.out, ::testing::Not(HasSubstr("torch")));
  EXPECT_THAT(RunCommand("/usr/bin/readelf", {"-d", kLanistaTrial}).out, HasSubstr("torch"));
}

}  // namespace
}  // namespace lanista
