// Models, processes and heads that break, as a user sees it.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/e2e/command.h"
#include "tests/e2e/stand_in.h"

namespace lanista {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr char kFaultySearch[] = R"(
  name: "faulty"
  space { registered: "faulty" }
  strategy { grid_search {} }
  evaluator {
    classification {
      dataset { synthetic_digits { train_samples: 40 validation_samples: 20 } }
      batch_size: 20
    }
  }
  training_service { local { cpu_slots: 2 memory_limit: 1500000000 } }
  trial_timeout { seconds: 40 }
  seed: 1
)";

// Trials of this wait until they are canceled.
constexpr char kWaitingSearch[] = R"(
  name: "waiting"
  space { registered: "crashes_in_constructor" }
  strategy { random { dedup: false } }
  evaluator { custom { name: "talkative" params { key: "wait" value { b: true } } } }
  training_service { local { cpu_slots: 2 } }
  seed: 1
)";

constexpr char kEndlessSearch[] = R"(
  name: "endless"
  space { registered: "mnist_cnn" }
  strategy { random { dedup: false } }
  evaluator { constant { value: 0.5 } }
  training_service { local { cpu_slots: 2 } }
  seed: 1
)";

TEST(FaultTest, EveryBadModelFailsAloneAndSaysWhy) {
  const std::string state = FreshFolder();
  const std::string config = WriteFile("faulty.textproto", kFaultySearch);
  const CommandResult run = RunCommand(kFaultyProgram, {"run", config, "--state-dir", state});
  EXPECT_EQ(run.exit_code, 0) << "one model succeeded: " << run.err;
  const std::string id = OnlyExperiment(state)["id"];
  const nlohmann::json trials = RunCommand(kFaultyProgram, {"trials", id, "--json", "--state-dir", state}).Json();

  std::map<std::string, nlohmann::json> by_fault;
  for (const auto& model : trials["models"]) by_fault[model["sample"]["fault"]] = model;
  ASSERT_EQ(by_fault.size(), 11u);
  EXPECT_EQ(by_fault["none"]["status"], "SUCCEEDED");

  const struct {
    const char* fault;
    const char* reason;
    const char* message;
  } kExpected[] = {
      {"throw", "EXCEPTION", "this model throws"},
      {"latin-1", "EXCEPTION", "this model throws in a caf\ufffd"},
      {"shape", "EXCEPTION", "layer 'output' (Linear): input [20, 16] does not fit weight [10, 32]"},
      {"segfault", "SIGNAL", "signal 11"},
      {"abort", "SIGNAL", "signal 6"},
      {"memory", "OUT_OF_MEMORY", "memory"},
      {"hang", "TIME_OUT", "40s"},
      {"nan", "NAN_LOSS", "loss is NaN at epoch 1, batch 1"},
      {"exit", "EXIT", "status 7"},
      {"constructor", "OUT_OF_MEMORY", "bad_alloc"},
  };
  for (const auto& expected : kExpected) {
    const nlohmann::json& model = by_fault[expected.fault];
    SCOPED_TRACE(model.dump());
    EXPECT_EQ(model["status"], "FAILED");
    EXPECT_EQ(model["failure"]["reason"], expected.reason);
    EXPECT_THAT(model["failure"]["message"].get<std::string>(), HasSubstr(expected.message));
    EXPECT_EQ(model["attempts"].size(), 1u);
    EXPECT_THAT(run.out, HasSubstr(expected.message)) << "the terminal says so, too";
  }
  EXPECT_EQ(by_fault["segfault"]["failure"]["signal"], SIGSEGV);
}

TEST(FaultTest, ACandidateThatKillsTheProcessIsLearnedAndFailsInItsTrial) {
  const std::string state = FreshFolder();
  const std::string config = WriteFile("crash.textproto", R"(
    space { registered: "crashes_in_constructor" }
    strategy { grid_search {} }
    evaluator { custom { name: "talkative" } }
    training_service { local { cpu_slots: 1 } }
  )");
  const nlohmann::json run = RunCommand(kFaultyProgram, {"run", config, "--json", "--state-dir", state}).Json();
  EXPECT_EQ(run["space_size"], "3");
  EXPECT_EQ(run["models"]["succeeded"], 2);
  EXPECT_EQ(run["models"]["failed"], 1);
}

TEST(FaultTest, ACandidateWhoseConstructorThrowsIsNotTried) {
  const std::string state = FreshFolder();
  const std::string config = WriteFile("throws.textproto", R"(
    space { registered: "throws_in_constructor" }
    strategy { grid_search {} }
    evaluator { custom { name: "talkative" } }
    training_service { local { cpu_slots: 1 } }
  )");
  const CommandResult validated = RunCommand(kFaultyProgram, {"validate", config});
  EXPECT_EQ(validated.exit_code, 0) << validated.err;
  EXPECT_THAT(validated.out, HasSubstr("choice 'candidate': 1 cannot be built: this candidate cannot be built"));
  EXPECT_THAT(validated.out, HasSubstr("left out because they cannot be built: 1 of 3 models"));
  const nlohmann::json run = RunCommand(kFaultyProgram, {"run", config, "--json", "--state-dir", state}).Json();
  EXPECT_EQ(run["status"], "DONE");
  EXPECT_EQ(run["space_size"], "2");
  EXPECT_EQ(run["models"]["total"], 2);
  EXPECT_EQ(run["models"]["succeeded"], 2);
}

TEST(FaultTest, WhereAllModelsFailTheRunFailsAndSaysWhyOnce) {
  const std::string state = FreshFolder();
  const std::string config = WriteFile("faulty.textproto", kFaultySearch);
  const CommandResult run =
      RunCommand(kFaultyProgram, {"run", config, "--state-dir", state, "--set", R"(space={
    registered: "some_bad"
    params { key: "fault" value { s: "throw" } }
    params { key: "bad" value { list { values { i: 0 } values { i: 1 } } } }
  })",
                                  "--set", "strategy={ grid_search {} }", "--set", "max_trial_number=2"});
  EXPECT_EQ(run.exit_code, 1);
  const std::string reason = "no model succeeded, 2 failed";
  EXPECT_THAT(run.err, HasSubstr(reason));
  EXPECT_THAT(run.out, Not(HasSubstr(reason))) << "it is told once, as the error";
  const nlohmann::json experiment = OnlyExperiment(state);
  EXPECT_EQ(experiment["status"], "FAILED");
  const nlohmann::json show = RunCommand(kFaultyProgram, {"show", "latest", "--json", "--state-dir", state}).Json();
  EXPECT_THAT(show["reason"].get<std::string>(), AllOf(HasSubstr(reason), HasSubstr("this model throws")));
}

TEST(FaultTest, WhatCannotSucceedIsFoundBeforeAnythingStarts) {
  const std::string config = WriteFile("faulty.textproto", kFaultySearch);
  const CommandResult run = RunCommand(
      kFaultyProgram, {"run", config, "--state-dir", FreshFolder(), "--set", "evaluator={custom{name:\"nobody\"}}"});
  EXPECT_EQ(run.exit_code, 2) << "an evaluator that is not there";
  const std::string dead = WriteFile("dead.textproto", R"(
    space { registered: "faulty" }
    strategy { random {} }
    evaluator { classification { dataset { csv { path: "no.csv" } } } }
  )");
  const CommandResult missing = RunCommand(kFaultyProgram, {"run", dead, "--state-dir", FreshFolder()});
  EXPECT_EQ(missing.exit_code, 2);
  EXPECT_THAT(missing.err, HasSubstr("no.csv"));
}

// Runs a search on one slot, whose first model has no fault, and waits.
std::vector<std::string> WaitingSearch(const std::string& state) {
  return {"run",         WriteFile("waiting.textproto", kWaitingSearch),
          "--state-dir", state,
          "--set",       "training_service.local.cpu_slots=1",
          "--set",       "space.registered=faulty",
          "--set",       "strategy={ grid_search {} }"};
}

TEST(FaultTest, AModelWhoseProcessIsKilledAgainAndAgainFailsAndTheSearchGoesOn) {
  const std::string state = FreshFolder();
  BackgroundCommand run(kFaultyProgram, WaitingSearch(state));
  ASSERT_TRUE(run.WaitForLine("models in the space"));
  // A process that was idle, or just starting, is replaced without anybody being told: then it is the next one's turn.
  for (const char* const line : {"model 1 failed", "model 2 failed"}) {
    bool failed = false;
    for (int kills = 0; kills < 20 && !failed; ++kills) {
      for (const pid_t child : run.Children()) kill(child, SIGKILL);
      failed = run.WaitForLine(line, /*seconds=*/3);
    }
    EXPECT_TRUE(failed) << line;
  }
  kill(run.pid(), SIGINT);
  EXPECT_EQ(run.Wait(), 1);
  const nlohmann::json experiment = OnlyExperiment(state);
  EXPECT_EQ(experiment["status"], "STOPPED");
  const nlohmann::json models =
      RunCommand(kLanista, {"trials", experiment["id"], "--json", "--state-dir", state}).Json()["models"];
  ASSERT_GE(models.size(), 2u);
  EXPECT_EQ(models[0]["failure"]["reason"], "WORKER_LOST");
  EXPECT_EQ(models[0]["attempts"].size(), 3u);
  EXPECT_EQ(models[0]["attempts"][0]["outcome"], "LOST") << "not the model's fault";
}

TEST(FaultTest, AProcessThatIsKilledWhileItWritesACheckpointGoesOnFromTheOneBefore) {
  const std::string config = WriteFile("checkpoints.textproto", R"(
    space { registered: "some_bad" params { key: "fault" value { s: "none" } } params { key: "bad" value { list {} } } }
    strategy { grid_search {} }
    evaluator {
      classification {
        dataset { synthetic_digits { train_samples: 40 validation_samples: 20 } }
        batch_size: 4
        max_epochs: 10
        checkpoint { interval { nanos: 1000000 } }
      }
    }
    training_service { local { cpu_slots: 1 } }
    max_trial_number: 1
    seed: 1
  )");
  const auto model = [](const std::string& state) {
    const std::string id = OnlyExperiment(state)["id"];
    return RunCommand(kFaultyProgram, {"trials", id, "--json", "--state-dir", state}).Json()["models"][0];
  };
  const std::string undisturbed = FreshFolder();
  ASSERT_EQ(RunCommand(kFaultyProgram, {"run", config, "--state-dir", undisturbed}).exit_code, 0);

  const std::string fifo = FreshFolder() + "/fifo";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  const int listener = open(fifo.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  ASSERT_GE(listener, 0);
  setenv("FAULTY_FSYNC_FIFO", fifo.c_str(), /*overwrite=*/1);
  const std::string state = FreshFolder();
  BackgroundCommand run(kFaultyProgram, {"run", config, "--state-dir", state});
  unsetenv("FAULTY_FSYNC_FIFO");
  pollfd told = {listener, POLLIN, 0};
  ASSERT_EQ(poll(&told, 1, 120000), 1) << "no checkpoint was written over another one";
  close(listener);
  const std::string id = OnlyExperiment(state)["id"];
  const std::filesystem::path folder = absl::StrCat(state, "/experiments/", id, "/checkpoints/1");
  std::map<bool, int64_t> bytes;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    bytes[entry.path().filename() == "checkpoint"] = static_cast<int64_t>(entry.file_size());
  }
  ASSERT_EQ(bytes.count(true), 1u);
  // On most file systems it has no name yet.
  EXPECT_LT(bytes[false], bytes[true]) << "the second one is not finished";
  for (const pid_t child : run.Children()) kill(child, SIGKILL);
  EXPECT_EQ(run.Wait(), 0);

  const nlohmann::json result = model(state);
  ASSERT_EQ(result["attempts"].size(), 2u) << result;
  EXPECT_EQ(result["attempts"][0]["outcome"], "LOST");
  EXPECT_EQ(result["attempts"][1]["outcome"], "SUCCEEDED");
  EXPECT_GE(result["attempts"][1]["resumed_steps"], 2) << result;
  const nlohmann::json expected = model(undisturbed);
  EXPECT_EQ(result["metrics"]["final"], expected["metrics"]["final"]);
  ASSERT_EQ(result["metrics"]["intermediate"].size(), expected["metrics"]["intermediate"].size());
  for (size_t step = 0; step < expected["metrics"]["intermediate"].size(); ++step) {
    EXPECT_EQ(result["metrics"]["intermediate"][step]["metrics"], expected["metrics"]["intermediate"][step]["metrics"]);
  }
}

TEST(FaultTest, TrialProcessesThatAreKilledBetweenTrialsHoldNothingUp) {
  const std::string state = FreshFolder();
  const std::string config = WriteFile("endless.textproto", kEndlessSearch);
  BackgroundCommand run(kLanista, {"run", config, "--state-dir", state, "--set", "max_trial_number=60"});
  // A model that three processes were lost with has failed.
  for (int kills = 0; kills < 2; ++kills) {
    for (int models = 0; models < 15; ++models) ASSERT_TRUE(run.WaitForLine(" succeeded"));
    for (const pid_t child : run.Children()) kill(child, SIGKILL);
  }
  EXPECT_EQ(run.Wait(), 0);
  const std::string id = OnlyExperiment(state)["id"];
  const nlohmann::json trials = RunCommand(kLanista, {"trials", id, "--json", "--state-dir", state}).Json();
  EXPECT_EQ(trials["models"].size(), 60u);
  for (const auto& model : trials["models"]) {
    EXPECT_EQ(model["status"], "SUCCEEDED") << "it was tried again: " << model;
  }
}

TEST(FaultTest, KillingTheHeadLosesNoFinishedTrialAndLeavesNoProcess) {
  const std::string state = FreshFolder();
  const std::string config = WriteFile("endless.textproto", kEndlessSearch);
  BackgroundCommand run(kLanista, {"run", config, "--state-dir", state});
  ASSERT_TRUE(run.WaitForLine("model 25 succeeded"));
  const std::vector<pid_t> children = run.Children();
  // One for each slot; and one more where the space was learned before a slot was ready.
  EXPECT_THAT(children.size(), AnyOf(2u, 3u));
  EXPECT_EQ(OnlyExperiment(state)["status"], "RUNNING") << "a second process reads while the first writes";
  const std::string id = OnlyExperiment(state)["id"];
  const CommandResult refused = RunCommand(kLanista, {"delete", id, "--yes", "--state-dir", state});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr(absl::StrCat(run.pid())));

  kill(run.pid(), SIGKILL);
  EXPECT_EQ(run.Wait(), -SIGKILL);
  for (const pid_t child : children) EXPECT_TRUE(WaitUntilGone(child)) << "an orphan outlives its head";

  EXPECT_EQ(OnlyExperiment(state)["status"], "INTERRUPTED");
  const nlohmann::json trials = RunCommand(kLanista, {"trials", id, "--json", "--state-dir", state}).Json();
  int finished = 0;
  for (const auto& model : trials["models"])
    finished += model["status"] == "SUCCEEDED" && model["metrics"]["final"]["default"] == 0.5;
  EXPECT_GE(finished, 25) << "what was shown is recorded";
  EXPECT_EQ(RunCommand(kLanista, {"delete", id, "--yes", "--state-dir", state}).exit_code, 0);
}

TEST(FaultTest, CtrlCStopsCleanly) {
  const std::string state = FreshFolder();
  BackgroundCommand run(kFaultyProgram, WaitingSearch(state));
  ASSERT_TRUE(run.WaitForLine("models in the space"));
  const std::vector<pid_t> children = run.Children();
  kill(run.pid(), SIGINT);
  EXPECT_EQ(run.Wait(), 1);
  for (const pid_t child : children) EXPECT_TRUE(WaitUntilGone(child));
  const nlohmann::json experiment = OnlyExperiment(state);
  EXPECT_EQ(experiment["status"], "STOPPED");
  const nlohmann::json trials =
      RunCommand(kLanista, {"trials", experiment["id"], "--json", "--state-dir", state}).Json();
  for (const auto& model : trials["models"]) EXPECT_EQ(model["status"], "CANCELED") << model;
}

TEST(FaultTest, ASecondCtrlCEndsEverythingAtOnceAndSaysHowToGoOn) {
  for (const bool json : {false, true}) {
    const std::string state = FreshFolder();
    const NamedPipe hangs(state + "/hangs");
    const std::string config = WriteFile("deaf.textproto", absl::StrCat(R"(
      space {
        registered: "some_bad"
        params { key: "bad" value { list { values { i: 0 } } } }
        params { key: "fault" value { s: "tells" } }
        params { key: "fifo" value { s: ")",
                                                                        state, R"(/hangs" } }
      }
      strategy { grid_search {} }
      evaluator {
        classification {
          dataset { synthetic_digits { train_samples: 40 validation_samples: 20 } }
          batch_size: 4
          max_epochs: 10
        }
      }
      training_service { local { cpu_slots: 1 } }
    )"));
    std::vector<std::string> arguments = {"-c",   "exec \"$@\" 2>&1", "sh", kFaultyProgram, "run",
                                          config, "--state-dir",      state};
    if (json) arguments.push_back("--json");
    BackgroundCommand run("/bin/sh", arguments);
    ASSERT_TRUE(hangs.Wait());
    const std::vector<pid_t> children = run.Children();
    kill(run.pid(), SIGINT);
    ASSERT_TRUE(run.WaitForLine(json ? "stopping the experiment; a second Ctrl-C ends it at once"
                                     : "stopping: stopped by the user"));
    kill(run.pid(), SIGINT);
    EXPECT_TRUE(run.WaitForLine("ended at once: what was reported until now is in the journal of "));
    EXPECT_THAT(run.line(), HasSubstr("and `resume` goes on from there"));
    EXPECT_EQ(run.Wait(), 130);
    for (const pid_t child : children) EXPECT_TRUE(WaitUntilGone(child));
    EXPECT_EQ(OnlyExperiment(state)["status"], "INTERRUPTED");
  }
}

TEST(FaultTest, ASecondCtrlCDoesNotKeepSlurmJobsFromBeingCanceled) {
  const std::string folder = FreshFolder();
  WriteStandIn(
      folder, "sbatch",
      "cat > script; for a; do case $a in --job-name=*) echo \"101|PENDING|${a#*=}|Priority\" > queue;; esac; done; "
      "echo 101; echo 101 > submitted");
  WriteStandIn(folder, "squeue", "cat queue 2> /dev/null; true");
  WriteStandIn(folder, "scancel", "echo \"$*\" > canceling; read line < go");
  const NamedPipe submitted(folder + "/submitted"), canceling(folder + "/canceling"), go(folder + "/go");
  const FirstOnPath first(folder);
  const std::string config =
      WriteFile("waiting.textproto", absl::StrCat(kWaitingSearch, "training_service { slurm { min_nodes: 1 } }"));
  BackgroundCommand run("/bin/sh",
                        {"-c", "exec \"$@\" 2>&1", "sh", kFaultyProgram, "run", config, "--state-dir", FreshFolder()});
  ASSERT_TRUE(run.WaitForLine("models in the space"));
  ASSERT_TRUE(submitted.Wait());
  kill(run.pid(), SIGINT);
  ASSERT_TRUE(canceling.Wait());
  kill(run.pid(), SIGINT);
  // A signal comes later than it is sent: before the jobs are canceled, not behind the end of the run.
  ASSERT_TRUE(run.WaitForLine("another Ctrl-C leaves them"));
  go.Write("on\n");
  EXPECT_EQ(run.Wait(), 1) << "as after one Ctrl-C";
}

TEST(FaultTest, MaxDurationEndsARun) {
  const std::string config = WriteFile("waiting.textproto", kWaitingSearch);
  const CommandResult run =
      RunCommand(kFaultyProgram, {"run", config, "--json", "--state-dir", FreshFolder(), "--set", "max_duration=1s"});
  EXPECT_EQ(run.Json()["reason"], "max_duration is over");
  EXPECT_GT(run.Json()["models"]["canceled"], 0);
}

TEST(FaultTest, AJournalThatIsDeletedEndsTheRunWhichSaysSo) {
  const std::string state = FreshFolder();
  const std::string config = WriteFile("endless.textproto", kEndlessSearch);
  const std::string errors = FreshFolder() + "/errors";
  BackgroundCommand run("/bin/sh", {"-c", "errors=$1; shift; exec \"$@\" 2>\"$errors\"", "sh", errors, kLanista, "run",
                                    config, "--state-dir", state});
  ASSERT_TRUE(run.WaitForLine("model 2 succeeded"));
  const std::string id = OnlyExperiment(state)["id"];
  // What is written into the deleted journal can be read by these names.
  const std::string kept = FreshFolder();
  const std::string kept_experiment = kept + "/experiments/" + id;
  std::filesystem::create_directories(kept_experiment);
  for (const std::string name : {"/journal.db", "/journal.db-wal"}) {
    std::filesystem::create_hard_link(state + "/experiments/" + id + name, kept_experiment + name);
  }
  std::filesystem::remove_all(state + "/experiments/" + id);
  std::set<int> told;
  while (run.WaitForLine(" succeeded")) {
    int model = 0;
    ASSERT_EQ(std::sscanf(run.line().c_str(), "model %d", &model), 1) << run.line();
    told.insert(model);
  }
  EXPECT_EQ(run.Wait(), 1);
  std::stringstream error;
  error << std::ifstream(errors).rdbuf();
  EXPECT_THAT(error.str(), HasSubstr("was deleted or moved while the search ran"));
  const nlohmann::json recorded = RunCommand(kLanista, {"trials", id, "--json", "--state-dir", kept}).Json();
  for (const auto& model : recorded["models"]) {
    if (model["status"] == "SUCCEEDED") told.erase(model["id"].get<int>());
  }
  EXPECT_THAT(told, IsEmpty()) << "told, and not recorded";
}

TEST(FaultTest, ALockThatIsRemovedEndsTheRunAndLeavesTheReason) {
  const std::string state = FreshFolder();
  const std::string config = WriteFile("endless.textproto", kEndlessSearch);
  BackgroundCommand run(kLanista, {"run", config, "--state-dir", state});
  ASSERT_TRUE(run.WaitForLine("model 2 succeeded"));
  const std::string id = OnlyExperiment(state)["id"];
  std::filesystem::remove(state + "/experiments/" + id + "/lock");
  EXPECT_EQ(run.Wait(), 1);
  const nlohmann::json show = RunCommand(kLanista, {"show", id, "--json", "--state-dir", state}).Json();
  EXPECT_EQ(show["status"], "FAILED");
  EXPECT_THAT(show["reason"].get<std::string>(), HasSubstr("lock was deleted"));
}

}  // namespace
}  // namespace lanista
