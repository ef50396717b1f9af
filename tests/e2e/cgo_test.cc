// Merged trials, and what breaks them, as a user sees it.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/e2e/command.h"

namespace lanista {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;

// Eight models; those in `bad` have the fault. No test waits for the trial_timeout of this: it ends a test that hangs.
std::string Config(const std::string& engine, const std::string& fault, const std::vector<int>& bad) {
  const std::string list =
      absl::StrJoin(bad, " ", [](std::string* out, int member) { absl::StrAppend(out, "values { i: ", member, " }"); });
  return absl::StrCat(R"(
    name: "cgo"
    space { registered: "some_bad"
            params { key: "fault" value { s: ")",
                      fault, R"(" } } params { key: "bad" value { list { )", list, R"( } } } }
    strategy { grid_search {} }
    engine { )",
                      engine, R"( }
    evaluator {
      classification {
        dataset { synthetic_digits { train_samples: 400 validation_samples: 20 } }
        batch_size: 20
        max_epochs: 3
      }
    }
    training_service { local { cpu_slots: 1 memory_limit: 1500000000 } }
    trial_timeout { seconds: 120 }
    seed: 1
  )");
}

class CgoTest : public ::testing::Test {
 protected:
  // The models of a finished run, by the choice `member`.
  std::map<int, nlohmann::json> RunModels(const std::string& config_text) {
    const std::string state = FreshFolder();
    const std::string config = WriteFile("cgo.textproto", config_text);
    const CommandResult run = RunCommand(kFaultyProgram, {"run", config, "--json", "--state-dir", state});
    document_ = run.Json();
    return Models(document_["id"], state);
  }

  static std::map<int, nlohmann::json> Models(const std::string& id, const std::string& state) {
    const nlohmann::json trials = RunCommand(kFaultyProgram, {"trials", id, "--json", "--state-dir", state}).Json();
    std::map<int, nlohmann::json> models;
    for (const auto& [model_id, model] : ModelsOf(trials)) models[model["sample"]["member"]] = model;
    return models;
  }

  nlohmann::json document_;
};

TEST_F(CgoTest, MergedModelsReportExactlyWhatTheyWouldAlone) {
  const auto alone = RunModels(Config("direct {}", "none", {}));
  const auto merged = RunModels(Config("cgo {}", "none", {}));
  ASSERT_EQ(alone.size(), 8u);
  ASSERT_EQ(merged.size(), 8u);
  for (const auto& [member, model] : merged) {
    EXPECT_EQ(model["metrics"], alone.at(member)["metrics"]) << member;
    ASSERT_EQ(model["attempts"].size(), 1u);
    EXPECT_EQ(model["attempts"][0]["merged_with"].size(), 7u);
    EXPECT_TRUE(model["attempts"][0]["alone_because"].is_null());
    EXPECT_GT(model["attempts"][0]["models_memory"], 0);
    EXPECT_TRUE(alone.at(member)["attempts"][0]["merged_with"].empty());
  }
}

TEST_F(CgoTest, WhatWasMergedAndWhatFellBackIsKept) {
  const std::string state = FreshFolder();
  const std::string config = WriteFile("merged.textproto", Config("cgo {}", "constructor", {3}));
  ASSERT_EQ(RunCommand(kFaultyProgram, {"run", config, "--state-dir", state}).exit_code, 0);
  const nlohmann::json document =
      RunCommand(kFaultyProgram, {"trials", "latest", "--merged", "--json", "--state-dir", state}).Json();
  EXPECT_EQ(document["merges"], true);
  ASSERT_EQ(document["trials"].size(), 9u) << "one of eight models, and each of them again";
  const nlohmann::json& merged = document["trials"][0];
  ASSERT_EQ(merged["models"].size(), 8u);
  EXPECT_EQ(merged["work"][0]["models"].size(), 8u) << "all read the same batches";
  for (const nlohmann::json& model : merged["models"]) {
    EXPECT_GT(model["again"]["trial"], 1);
    EXPECT_NE(model["again"]["because"], "");
  }
  EXPECT_EQ(document["trials"][8]["alone_because"], "it runs again after merged trial 1");
}

TEST_F(CgoTest, OneBadModelOfEightFailsAloneWithItsOwnReason) {
  const auto good = RunModels(Config("direct {}", "none", {}));
  const struct {
    const char* fault;
    const char* reason;
    const char* message;
  } kFaults[] = {{"constructor", "OUT_OF_MEMORY", "bad_alloc"},
                 {"shape", "EXCEPTION", "layer 'output'"},
                 {"late nan", "NAN_LOSS", "batch "},
                 {"segfault", "SIGNAL", "signal 11"},
                 {"memory", "OUT_OF_MEMORY", "memory"}};
  for (const auto& fault : kFaults) {
    SCOPED_TRACE(fault.fault);
    const auto models = RunModels(Config("cgo {}", fault.fault, {3}));
    ASSERT_EQ(models.size(), 8u);
    EXPECT_EQ(document_["models"]["succeeded"], 7);
    EXPECT_EQ(document_["models"]["failed"], 1);
    EXPECT_EQ(document_["models"]["total"], 8);
    for (const auto& [member, model] : models) {
      SCOPED_TRACE(model.dump());
      ASSERT_EQ(model["attempts"].size(), 2u);
      EXPECT_EQ(model["attempts"][0]["merged_with"].size(), 7u);
      EXPECT_TRUE(model["attempts"][1]["merged_with"].empty());
      EXPECT_EQ(model["attempts"][1]["alone_because"], "it runs again after merged trial 1");
      if (member != 3) {
        EXPECT_EQ(model["status"], "SUCCEEDED");
        EXPECT_EQ(model["metrics"], good.at(member)["metrics"]);
        EXPECT_FALSE(model["attempts"][0]["failure"].is_null()) << "why it ran again";
        continue;
      }
      EXPECT_EQ(model["status"], "FAILED");
      EXPECT_EQ(model["failure"]["reason"], fault.reason);
      EXPECT_THAT(model["failure"]["message"].get<std::string>(), HasSubstr(fault.message));
    }
  }
}

TEST_F(CgoTest, ABadModelIsDroppedAndTheOthersGoOn) {
  const auto good = RunModels(Config("direct {}", "none", {}));
  const auto models = RunModels(Config("cgo { on_bad_model: DROP }", "late nan", {3}));
  ASSERT_EQ(models.size(), 8u);
  for (const auto& [member, model] : models) {
    EXPECT_EQ(model["attempts"].size(), member == 3 ? 2u : 1u);
    if (member != 3) {
      EXPECT_EQ(model["metrics"], good.at(member)["metrics"]);
    }
  }
  EXPECT_EQ(models.at(3)["failure"]["reason"], "NAN_LOSS");
}

TEST_F(CgoTest, AllEightMayBeBad) {
  const auto models = RunModels(Config("cgo {}", "throw", {0, 1, 2, 3, 4, 5, 6, 7}));
  ASSERT_EQ(models.size(), 8u);
  EXPECT_EQ(document_["status"], "FAILED");
  for (const auto& [member, model] : models) EXPECT_EQ(model["failure"]["message"], "this model throws") << member;
}

TEST_F(CgoTest, AModelThatHangsFailsAloneWhenItsTimeIsOver) {
  // The limit of the merged trial is twice that of a model. Good models take a small part of it, on a busy machine too.
  constexpr char kLimit[] = R"( max_trial_number: 2 trial_timeout { seconds: 10 })";
  std::string config = Config("cgo {}", "hang", {1});
  config.replace(config.find("trial_timeout"), std::string("trial_timeout { seconds: 120 }").size(), kLimit);
  const auto models = RunModels(config);
  ASSERT_EQ(models.size(), 2u);
  EXPECT_EQ(models.at(0)["status"], "SUCCEEDED");
  EXPECT_EQ(models.at(1)["status"], "FAILED");
  EXPECT_EQ(models.at(1)["failure"]["reason"], "TIME_OUT");
  EXPECT_THAT(models.at(1)["failure"]["message"].get<std::string>(), HasSubstr("10s"));
  for (const auto& [member, model] : models) {
    ASSERT_EQ(model["attempts"].size(), 2u) << member;
    EXPECT_EQ(model["attempts"][1]["alone_because"], "it runs again after merged trial 1");
  }
}

TEST_F(CgoTest, AMergedTrialThatIsKilledRunsAgainModelByModel) {
  // Model 0 tells the test when it is in its third epoch, and waits to be killed. Nobody listens when it runs again,
  // and when it runs alone.
  const std::string fifo = FreshFolder() + "/fifo";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  const auto with_fifo = [&](const std::string& engine) {
    std::string config = Config(engine, "tells", {0});
    const std::string params = absl::StrCat("params { key: \"fifo\" value { s: \"", fifo, "\" } } ");
    return config.insert(config.find("params {"), params);
  };
  const auto good = RunModels(with_fifo("direct {}"));
  const std::string state = FreshFolder();
  const std::string config = WriteFile("tells.textproto", with_fifo("cgo {}"));
  const int listener = open(fifo.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  ASSERT_GE(listener, 0);
  BackgroundCommand run(kFaultyProgram, {"run", config, "--state-dir", state});
  pollfd told = {listener, POLLIN, 0};
  ASSERT_EQ(poll(&told, 1, 120000), 1) << "model 0 did not come to its third epoch";
  close(listener);
  for (const pid_t child : run.Children()) kill(child, SIGKILL);
  EXPECT_EQ(run.Wait(), 0);
  const std::string id = RunCommand(kLanista, {"list", "--json", "--state-dir", state}).Json()["experiments"][0]["id"];
  const auto models = Models(id, state);
  ASSERT_EQ(models.size(), 8u);
  for (const auto& [member, model] : models) {
    ASSERT_EQ(model["attempts"].size(), 2u) << model;
    EXPECT_EQ(model["attempts"][0]["failure"]["signal"], SIGKILL);
    EXPECT_EQ(model["metrics"], good.at(member)["metrics"]);
  }
}

TEST_F(CgoTest, AStopDoesNotWaitForAnOpenWindow) {
  // Two models may be in flight. The bad one of the first two fails soon; another comes in its place, and waits for a
  // second one for as long as the good one runs, alone.
  const std::string state = FreshFolder();
  const std::string config =
      WriteFile("open.textproto", Config("cgo { max_concurrency_cgo: 2 batch_waiting_time: 600 }", "throw", {0}));
  BackgroundCommand run(kFaultyProgram,
                        {"run", config, "--state-dir", state, "--set", "evaluator.classification.max_epochs=1000"});
  ASSERT_TRUE(run.WaitForLine("model 1 failed"));
  const auto list = [&] {
    return RunCommand(kLanista, {"list", "--json", "--state-dir", state}).Json()["experiments"][0];
  };
  const std::string id = list()["id"];
  // No line says that a model waits; its journal does.
  for (int i = 0; i < 1000 && Models(id, state).size() < 3; ++i) continue;
  ASSERT_EQ(Models(id, state).size(), 3u) << "no third model was proposed";
  kill(run.pid(), SIGINT);
  EXPECT_EQ(run.Wait(), 1);
  EXPECT_EQ(list()["status"], "STOPPED");
  const auto models = Models(id, state);
  ASSERT_EQ(models.size(), 3u);
  EXPECT_EQ(models.at(2)["status"], "CANCELED");
  EXPECT_TRUE(models.at(2)["attempts"].empty()) << "it was waiting";
}

TEST_F(CgoTest, ExplainsWhatModelsWouldShare) {
  const std::string config = WriteFile("explained.textproto", Config("cgo {}", "none", {}));
  const CommandResult text = RunCommand(kFaultyProgram, {"validate", config, "--explain-cgo", "--samples", "3"});
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_THAT(text.out, HasSubstr("a merged trial of models 1-3"));
  EXPECT_THAT(text.out, ContainsRegex("load the batch +models 1-3"));
  EXPECT_THAT(text.out, ContainsRegex("the whole model +model 3 +its steps are not known"));

  const nlohmann::json plan =
      RunCommand(kFaultyProgram, {"validate", config, "--explain-cgo", "--json"}).Json()["plan"];
  EXPECT_EQ(plan["samples"].size(), 8u);
  EXPECT_EQ(plan["trials"][0]["models"].size(), 8u);

  const CommandResult direct =
      RunCommand(kFaultyProgram, {"validate", config, "--explain-cgo", "--set", "engine={direct{}}"});
  EXPECT_EQ(direct.exit_code, 2);
  EXPECT_THAT(direct.err, HasSubstr("each model is a trial of its own"));
}

TEST_F(CgoTest, ImpossibleSettingsAreNamed) {
  const std::string config = WriteFile("bad.textproto", Config("cgo {}", "none", {}));
  const auto error = [&](const std::string& setting) {
    const CommandResult run = RunCommand(kFaultyProgram, {"validate", config, "--set", setting});
    EXPECT_EQ(run.exit_code, 2);
    return run.err;
  };
  EXPECT_THAT(error("engine.cgo.max_concurrency_cgo=0"), HasSubstr("max_concurrency_cgo"));
  EXPECT_THAT(error("engine.cgo.batch_waiting_time=-1"), HasSubstr("batch_waiting_time"));
}

TEST_F(CgoTest, AnEvaluatorThatTrainsOneModelAtATimeIsNotMergedAndThatIsSaid) {
  const std::string state = FreshFolder();
  const std::string config = WriteFile("alone.textproto", Config("cgo {}", "none", {}));
  const CommandResult run = RunCommand(
      kFaultyProgram, {"run", config, "--state-dir", state, "--set", "evaluator={custom{name:\"talkative\"}}"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.err, HasSubstr("models are not merged"));
  const std::string id = RunCommand(kLanista, {"list", "--json", "--state-dir", state}).Json()["experiments"][0]["id"];
  for (const auto& [member, model] : Models(id, state)) {
    EXPECT_TRUE(model["attempts"][0]["merged_with"].empty()) << member;
    EXPECT_EQ(model["attempts"][0]["alone_because"], "the evaluator trains one model at a time");
  }
}

}  // namespace
}  // namespace lanista
