// Searches that are killed, stopped and cut off, and go on: as a user does it, against one that nobody disturbed.
#include <signal.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <ostream>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/e2e/command.h"
#include "tests/e2e/small_graph.h"
#include "tests/storage/old_journal.h"
#include "tests/storage/small_disk.h"

namespace lanista {
namespace {

using ::testing::HasSubstr;

// Heads that are killed in each search; scripts/slow_test.sh sets more.
int Kills() { return NumberFromEnvironment("LANISTA_TEST_KILLS", 3); }

// Eight to twenty models that train for three short epochs. SPACE, ENGINE and STRATEGY are filled in.
constexpr char kSearch[] = R"(
  name: "search"
  space { SPACE }
  strategy { STRATEGY }
  engine { ENGINE }
  evaluator {
    classification {
      dataset { synthetic_digits { train_samples: 200 validation_samples: 40 } }
      batch_size: 20
      max_epochs: 3
      checkpoint { interval { nanos: 1000000 } }
    }
  }
  training_service { local { cpu_slots: 2 memory_limit: 1500000000 } }
  max_trial_number: 10
  keep_weights { best: 2 }
  seed: 3
)";

struct Search {
  std::string name;
  // Its space is one of kFaultyProgram's, else of kLanista's.
  bool faulty = false;
  std::string space;
  std::string engine;
  std::string strategy;
};

void PrintTo(const Search& search, std::ostream* out) { *out << search.name; }

std::vector<Search> Searches() {
  const std::string some_bad =
      R"(registered: "some_bad" params { key: "fault" value { s: "throw" } } params { key: "bad" value { list { values { i: 2 } } } })";
  const std::string graph = kSmallGraphSpace;
  return {{"DirectRandom", false, R"(registered: "mlp")", "direct {}", "random {}"},
          {"DirectGrid", true, some_bad, "direct {}", "grid_search {}"},
          {"GraphRandom", false, graph, "graph {}", "random {}"},
          {"GraphGrid", false, graph, "graph {}", "grid_search { shuffle: true }"},
          {"CgoRandom", false, graph, "cgo { max_concurrency_cgo: 3 batch_waiting_time: 0.1 }", "random {}"},
          {"CgoGrid", true, some_bad, "cgo { max_concurrency_cgo: 3 batch_waiting_time: 0.1 }", "grid_search {}"}};
}

// What the models of an experiment came to, whatever attempts it took: equal for equal searches.
std::map<int, nlohmann::json> Results(const std::string& state) {
  const std::string id = OnlyExperiment(state)["id"];
  std::map<int, nlohmann::json> models =
      ModelsOf(RunCommand(kLanista, {"trials", id, "--json", "--state-dir", state}).Json());
  for (auto& [model_id, model] : models) {
    for (const nlohmann::json& attempt : model["attempts"]) EXPECT_FALSE(attempt["end"].is_null()) << model;
    model.erase("attempts");
    // In which trial it succeeded may differ.
    if (model["weights"].is_string()) {
      model["weights"] =
          std::filesystem::exists(absl::StrCat(state, "/experiments/", id, "/", std::string(model["weights"])));
    }
  }
  return models;
}

// Makes an interrupted experiment's journal what version 2 would have left. Returns the models whose costs it knew.
std::set<int> MakeOld(const std::string& state, const std::string& id) {
  const nlohmann::json trials = RunCommand(kLanista, {"trials", id, "--json", "--state-dir", state}).Json();
  std::set<int> built;
  for (const nlohmann::json& model : trials["models"]) {
    if (!model["params"].is_null()) built.insert(model["id"].get<int>());
  }
  MakeVersion2(absl::StrCat(state, "/experiments/", id, "/journal.db"));
  return built;
}

// The older version did not record what these models cost: `results` lack it, except of those that were built again.
void ForgetCosts(const std::set<int>& built, const std::map<int, nlohmann::json>& results,
                 std::map<int, nlohmann::json>* expected) {
  for (const int model : built) {
    if (!results.at(model)["params"].is_null()) continue;
    for (const char* const cost : {"params", "flops"}) (*expected)[model][cost] = nullptr;
  }
}

class ResumeTest : public ::testing::TestWithParam<Search> {
 protected:
  void SetUp() override {
    folder_ = FreshFolder();
    std::ofstream(folder_ + "/net.textproto") << kSmallGraph;
    std::ofstream(Config()) << absl::StrReplaceAll(
        kSearch, {{"SPACE", GetParam().space}, {"ENGINE", GetParam().engine}, {"STRATEGY", GetParam().strategy}});
  }

  static const std::string& Program() { return GetParam().faulty ? kFaultyProgram : kLanista; }
  std::string Config() const { return folder_ + "/search.textproto"; }

  std::map<int, nlohmann::json> Undisturbed() const {
    const std::string state = FreshFolder();
    const CommandResult run = RunCommand(Program(), {"run", Config(), "--json", "--state-dir", state});
    EXPECT_EQ(run.exit_code, 0) << run.err;
    return Results(state);
  }

  std::string folder_;
};

TEST_P(ResumeTest, AHeadThatIsKilledAtAnyMomentLosesNothing) {
  std::map<int, nlohmann::json> undisturbed = Undisturbed();
  ASSERT_GE(undisturbed.size(), 8u);

  const std::string state = FreshFolder();
  std::set<int> built_before;
  std::mt19937 random(static_cast<unsigned>(std::hash<std::string>()(GetParam().name)));
  std::string id = "";
  int kills = Kills();
  for (int life = 0;; ++life) {
    ASSERT_LT(life, 100);
    BackgroundCommand head(Program(), id.empty() ? std::vector<std::string>{"run", Config(), "--state-dir", state}
                                                 : std::vector<std::string>{"resume", id, "--state-dir", state});
    if (kills-- <= 0) {
      EXPECT_EQ(head.Wait(), 0);
      break;
    }
    // After some line of what it tells: at once, or a moment later.
    const int lines = static_cast<int>(random() % 4);
    bool runs = head.WaitForLine("models in the space");
    for (int line = 0; runs && line < lines; ++line) runs = head.WaitForLine("model");
    if (!runs) {
      EXPECT_EQ(head.Wait(), 0) << "it came to its end";
      break;
    }
    const std::vector<pid_t> children = head.Children();
    // A trial process goes first, now and then.
    if (random() % 3 == 0 && !children.empty()) kill(children.front(), SIGKILL);
    kill(head.pid(), SIGKILL);
    EXPECT_EQ(head.Wait(), -SIGKILL);
    for (const pid_t child : children) EXPECT_TRUE(WaitUntilGone(child)) << "an orphan outlives its head";
    id = OnlyExperiment(state)["id"];
    const std::string status = OnlyExperiment(state)["status"];
    if (status == "DONE") break;  // The kill came behind its last record.
    ASSERT_EQ(status, "INTERRUPTED");
    // Sometimes an older version began it.
    if (life == 0 && random() % 2 == 0) built_before = MakeOld(state, id);
  }
  EXPECT_EQ(OnlyExperiment(state)["status"], "DONE");
  const std::map<int, nlohmann::json> results = Results(state);
  ASSERT_EQ(results.size(), undisturbed.size());
  ForgetCosts(built_before, results, &undisturbed);
  for (const auto& [model, result] : results) EXPECT_EQ(result, undisturbed.at(model));
}

INSTANTIATE_TEST_SUITE_P(, ResumeTest, ::testing::ValuesIn(Searches()),
                         [](const auto& search) { return search.param.name; });

constexpr char kConstantSearch[] = R"(
  name: "constant"
  space { registered: "mnist_cnn" }
  strategy { random { dedup: false } }
  evaluator { constant { value: 0.5 } }
  training_service { local { cpu_slots: 2 } }
  max_trial_number: 20
  seed: 1
)";

// Journals of older versions are shown as those of today.
TEST(OldJournalTest, IsShownAsItWas) {
  const std::string state = FreshFolder();
  const std::string config = WriteFile("constant.textproto", kConstantSearch);
  ASSERT_EQ(RunCommand(kLanista, {"run", config, "--state-dir", state}).exit_code, 0);
  const std::string id = OnlyExperiment(state)["id"];
  const auto show = [&](const std::string& command) {
    return RunCommand(kLanista, {command, id, "--state-dir", state, "--json"}).Json();
  };
  const nlohmann::json models = show("trials")["models"], experiment = show("show");
  MakeVersion2(absl::StrCat(state, "/experiments/", id, "/journal.db"));
  const nlohmann::json old_models = show("trials")["models"], old_experiment = show("show");
  ASSERT_EQ(old_models.size(), 20u);
  for (size_t model = 0; model < models.size(); ++model) {
    for (const char* const key : {"id", "status", "sample", "metrics"}) {
      EXPECT_EQ(old_models[model][key], models[model][key]) << key;
    }
  }
  for (const char* const key : {"id", "status", "models", "best"})
    EXPECT_EQ(old_experiment[key], experiment[key]) << key;
  EXPECT_EQ(OnlyExperiment(state)["models"]["succeeded"], 20);
}

TEST(OldJournalTest, GoesOnAndEndsAsItWouldHave) {
  const std::string config =
      WriteFile("search.textproto",
                absl::StrReplaceAll(
                    kSearch, {{"SPACE", R"(registered: "mlp")"}, {"ENGINE", "direct {}"}, {"STRATEGY", "random {}"}}));
  const std::string undisturbed = FreshFolder();
  ASSERT_EQ(RunCommand(kLanista, {"run", config, "--state-dir", undisturbed}).exit_code, 0);
  // Where this test has to wait long for a processor, the search may end before it is killed.
  std::string state, id;
  for (int tries = 0; id.empty() && tries < 5; ++tries) {
    state = FreshFolder();
    BackgroundCommand run(kLanista, {"run", config, "--state-dir", state});
    ASSERT_TRUE(run.WaitForLine(" succeeded"));
    kill(run.pid(), SIGKILL);
    run.Wait();
    if (OnlyExperiment(state)["status"] == "INTERRUPTED") id = OnlyExperiment(state)["id"];
  }
  ASSERT_FALSE(id.empty()) << "no search was interrupted";
  const std::set<int> built_before = MakeOld(state, id);
  EXPECT_EQ(OnlyExperiment(state)["status"], "INTERRUPTED");

  const CommandResult resumed = RunCommand(kLanista, {"resume", id, "--state-dir", state});
  EXPECT_EQ(resumed.exit_code, 0) << resumed.err;
  EXPECT_EQ(OnlyExperiment(state)["status"], "DONE");
  const std::map<int, nlohmann::json> results = Results(state);
  std::map<int, nlohmann::json> expected = Results(undisturbed);
  ForgetCosts(built_before, results, &expected);
  EXPECT_EQ(results, expected);
}

class ResumeCommandTest : public ::testing::Test {
 protected:
  CommandResult Run(const std::vector<std::string>& arguments) {
    std::vector<std::string> all = arguments;
    all.insert(all.end(), {"--state-dir", state_});
    return RunCommand(kLanista, all);
  }

  const std::string state_ = FreshFolder();
  const std::string config_ = WriteFile("constant.textproto", kConstantSearch);
};

TEST_F(ResumeCommandTest, AHigherLimitLetsAFinishedExperimentGoOn) {
  ASSERT_EQ(Run({"run", config_}).exit_code, 0);
  const CommandResult refused = Run({"resume", "latest"});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr("--set max_trial_number=40"));

  const CommandResult more = Run({"resume", "latest", "--set", "max_trial_number=25"});
  EXPECT_EQ(more.exit_code, 0) << more.err;
  EXPECT_THAT(more.out, HasSubstr("20 models finished before"));
  EXPECT_EQ(OnlyExperiment(state_)["models"]["succeeded"], 25);
}

TEST_F(ResumeCommandTest, WhatCannotChangeIsRefusedByName) {
  ASSERT_EQ(Run({"run", config_}).exit_code, 0);
  const CommandResult seed = Run({"resume", "latest", "--set", "seed=2"});
  EXPECT_EQ(seed.exit_code, 2);
  EXPECT_THAT(seed.err, HasSubstr("'seed' cannot be changed"));
  EXPECT_THAT(seed.err, HasSubstr("max_trial_number, max_duration, trial_concurrency"));
  EXPECT_EQ(Run({"resume", "latest", "--set", "max_trial_number=0"}).exit_code, 2);
  EXPECT_EQ(Run({"resume", "nobody"}).exit_code, 2);
}

TEST_F(ResumeCommandTest, ARunningExperimentIsRefusedAndNamesItsProcess) {
  BackgroundCommand run(kLanista, {"run", config_, "--state-dir", state_, "--set", "max_trial_number=1000000"});
  ASSERT_TRUE(run.WaitForLine("model 5 succeeded"));
  const CommandResult refused = Run({"resume", "latest"});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr(absl::StrCat("process ", run.pid())));

  kill(run.pid(), SIGINT);
  EXPECT_EQ(run.Wait(), 1);
  const int before = OnlyExperiment(state_)["models"]["succeeded"];
  const CommandResult more = Run({"resume", "latest", "--set", absl::StrCat("max_trial_number=", before + 10)});
  EXPECT_EQ(more.exit_code, 0) << more.err;
  EXPECT_GE(OnlyExperiment(state_)["models"]["succeeded"], before);
  EXPECT_EQ(OnlyExperiment(state_)["models"]["canceled"], 0) << "they run again";
}

TEST_F(ResumeCommandTest, AnInterruptedExperimentSaysHowItGoesOn) {
  std::string id;
  {
    BackgroundCommand run(kLanista, {"run", config_, "--state-dir", state_, "--set", "max_trial_number=1000000"});
    ASSERT_TRUE(run.WaitForLine("model 5 succeeded"));
    id = OnlyExperiment(state_)["id"];
    kill(run.pid(), SIGKILL);
    run.Wait();
  }
  EXPECT_THAT(Run({"show", id}).out, HasSubstr(absl::StrCat("`resume ", id, "` goes on with it")));
  // Two at once: one of them gets it.
  BackgroundCommand first(kLanista, {"resume", id, "--state-dir", state_});
  ASSERT_TRUE(first.WaitForLine("models in the space"));
  EXPECT_EQ(Run({"resume", id}).exit_code, 2);
}

TEST_F(ResumeCommandTest, ADamagedJournalAndAForeignProgramAreRefused) {
  const std::string foreign = WriteFile("foreign.textproto", R"(
    space { registered: "crashes_in_constructor" }
    strategy { grid_search {} }
    evaluator { custom { name: "talkative" } }
    training_service { local { cpu_slots: 1 } }
    max_trial_number: 1
  )");
  ASSERT_EQ(RunCommand(kFaultyProgram, {"run", foreign, "--state-dir", state_}).exit_code, 0);
  const std::string id = OnlyExperiment(state_)["id"];
  const CommandResult elsewhere = Run({"resume", id, "--set", "max_trial_number=2"});
  EXPECT_EQ(elsewhere.exit_code, 2);
  EXPECT_THAT(elsewhere.err, HasSubstr("'talkative' is not registered in this program"));
  EXPECT_EQ(OnlyExperiment(state_)["status"], "DONE") << "nothing has changed";
  std::filesystem::resize_file(absl::StrCat(state_, "/experiments/", id, "/journal.db"), 3000);
  EXPECT_NE(Run({"resume", id, "--set", "max_trial_number=2"}).exit_code, 0);
}

TEST_F(ResumeCommandTest, AFullDiskPausesTheExperimentUntilThereIsRoom) {
  const SmallDisk disk(state_, "400k");
  if (!disk.mounted()) GTEST_SKIP() << "only root may mount";
  BackgroundCommand run(kLanista, {"run", config_, "--state-dir", state_, "--set", "max_trial_number=3000"});
  // As long as nothing can be recorded, no further success is shown.
  while (run.WaitForLine(" succeeded", /*seconds=*/3)) {
  }
  EXPECT_EQ(OnlyExperiment(state_)["status"], "RUNNING");
  const int before = OnlyExperiment(state_)["models"]["succeeded"];
  EXPECT_LT(before, 3000);
  ASSERT_TRUE(disk.Resize("64m"));
  EXPECT_TRUE(run.WaitForLine("results: "));
  EXPECT_EQ(run.Wait(), 0);
  EXPECT_EQ(OnlyExperiment(state_)["models"]["succeeded"], 3000);
}

}  // namespace
}  // namespace lanista
