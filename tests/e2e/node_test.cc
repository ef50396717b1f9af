// Machines that join a head, driven as their users do, with real trial processes: each node is a process of this one.
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "src/rpc/head_client.h"
#include "tests/e2e/command.h"
#include "tests/e2e/small_graph.h"
#include "tests/e2e/stand_in.h"
#include "tests/storage/small_disk.h"
#include "tests/web/http_client.h"

namespace lanista {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kTinySearch[] = R"(
  name: "tiny"
  space { registered: "mnist_cnn" }
  strategy { random { dedup: false } }
  evaluator {
    classification {
      dataset { synthetic_digits { train_samples: 60 validation_samples: 30 } }
      batch_size: 20
      max_epochs: 2
      max_train_batches: 2
    }
  }
  max_trial_number: 40
  seed: 42
)";

// Three trials of some seconds.
constexpr int kLongEpochs = 12;
constexpr char kLongSearch[] = R"(
  name: "long"
  space { registered: "mnist_cnn" }
  strategy { random { dedup: false } }
  evaluator {
    classification {
      dataset { synthetic_digits { train_samples: 400 validation_samples: 100 } }
      batch_size: 20
      max_epochs: 12
    }
  }
  max_trial_number: 3
  seed: 7
)";

class NodeTest : public ::testing::Test {
 protected:
  void SetUp() override { StartHead(); }

  void StartHead() {
    std::filesystem::remove(head_file_);
    std::vector<std::string> arguments = {"serve", "--listen",     listen_, "--head-file", head_file_, "--cpu-slots",
                                          "0",     "--lost-after", "4",     "--state-dir", state_};
    arguments.insert(arguments.end(), head_options_.begin(), head_options_.end());
    head_process_ = std::make_unique<BackgroundCommand>(kLanista, arguments);
    ASSERT_TRUE(head_process_->WaitForLine("listening on 127.0.0.1:"));
    std::getline(std::ifstream(head_file_), head_);
    // The next one takes its place.
    listen_ = head_;
  }

  std::unique_ptr<BackgroundCommand> StartNode(const std::string& name, std::vector<std::string> more = {},
                                               const std::string& program = kLanista) const {
    more.insert(more.begin(), {"node", "--head", head_, "--cpu-slots", "1", "--name", name});
    auto node = std::make_unique<BackgroundCommand>(program, more);
    EXPECT_TRUE(node->WaitForLine(absl::StrCat("joined ", head_, " as ", name)));
    return node;
  }

  CommandResult Ask(std::vector<std::string> arguments) const {
    arguments.insert(arguments.end(), {"--head", head_});
    return RunCommand(kLanista, arguments);
  }
  // Nodes that come do not take the head's folder for one of theirs: they work on copies.
  void HideFolder() const { std::ofstream(state_ + "/marker") << "another folder"; }

  std::string Submit() const { return Ask({"submit", config_, "--json"}).Json().value("id", ""); }

  void KillHead() {
    kill(head_process_->pid(), SIGKILL);
    EXPECT_EQ(head_process_->Wait(), -SIGKILL);
  }
  // Waits until the model has reported a few steps.
  void WatchSteps(const std::string& id, int model) const {
    Watch(id, [&](const v1::ExperimentEvent& event) {
      return event.model().model() == model && event.model().intermediate().step() >= 2;
    });
  }
  // Checks that the experiment ended as if undisturbed: one attempt for each model, and each step once.
  void ExpectNothingTwice(const std::string& id) const {
    const nlohmann::json trials = ExpectUndisturbed(id);
    for (const nlohmann::json& model : trials["models"]) {
      EXPECT_EQ(model["attempts"].size(), 1u) << model;
      const nlohmann::json& steps = model["metrics"]["intermediate"];
      ASSERT_EQ(steps.size(), static_cast<size_t>(kLongEpochs)) << model;
      for (int step = 0; step < kLongEpochs; ++step) EXPECT_EQ(steps[static_cast<size_t>(step)]["step"], step);
    }
  }

  // Watches the experiment until `stop` says so of an event, or to its end.
  template <typename Stop>
  void Watch(const std::string& id, Stop stop) const {
    HeadClient client(*ParseAddress(head_));
    v1::WatchRequest request;
    request.set_experiment(id);
    const absl::Status status = client.Watch(request, [&](const v1::ExperimentEvent& event) { return !stop(event); });
    EXPECT_TRUE(status.ok()) << status;
  }
  void WatchOutcomes(const std::string& id, int outcomes) const {
    Watch(id, [&](const v1::ExperimentEvent& event) { return event.has_outcome() && --outcomes == 0; });
  }
  void WatchToEnd(const std::string& id) const {
    Watch(id, [](const v1::ExperimentEvent&) { return false; });
  }

  // The sample and the metrics of each model.
  // Checks that the experiment is done, with the results of an undisturbed `run`.
  nlohmann::json ExpectUndisturbed(const std::string& id) const {
    EXPECT_EQ(Ask({"show", id, "--json"}).Json()["status"], "DONE");
    const nlohmann::json trials = Ask({"trials", id, "--json"}).Json();
    const std::string own = FreshFolder();
    const CommandResult run = RunCommand(
        kLanista, {"run", config_, "--state-dir", own, "--set", "training_service={ local { cpu_slots: 2 } }"});
    EXPECT_EQ(run.exit_code, 0) << run.err;
    const std::map<int, std::string> expected =
        ResultsOf(RunCommand(kLanista, {"trials", "latest", "--json", "--state-dir", own}).Json());
    EXPECT_EQ(expected.size(), config_ == long_config_ ? 3u : 40u);
    EXPECT_EQ(ResultsOf(trials), expected);
    return trials;
  }
  // The nodes of attempts that ended so; `cause`: of those that were lost.
  static std::set<std::string> NodesOf(const nlohmann::json& trials, const std::string& outcome,
                                       const std::string& cause = "") {
    std::set<std::string> nodes;
    for (const nlohmann::json& model : trials["models"]) {
      for (const nlohmann::json& attempt : model["attempts"]) {
        if (attempt["outcome"] == outcome && (cause.empty() || attempt["lost_cause"] == cause)) {
          nodes.insert(attempt["node"].is_string() ? attempt["node"].get<std::string>() : "");
        }
      }
    }
    return nodes;
  }

  const std::string state_ = FreshFolder();
  std::string config_ = WriteFile("tiny.textproto", kTinySearch);
  const std::string long_config_ = WriteFile("long.textproto", kLongSearch);
  const std::string head_file_ = FreshFolder() + "/head";
  std::string listen_ = "127.0.0.1:0";
  // More of its options.
  std::vector<std::string> head_options_;
  std::string head_;
  std::unique_ptr<BackgroundCommand> head_process_;
};

TEST_F(NodeTest, TwoNodesGiveTheResultsOfOneMachine) {
  // The experiment waits for a node.
  const std::string id = Submit();
  EXPECT_THAT(Ask({"nodes"}).out, HasSubstr("no node has joined"));
  const auto a = StartNode("a"), b = StartNode("b");
  const nlohmann::json nodes = Ask({"nodes", "--json"}).Json()["nodes"];
  ASSERT_EQ(nodes.size(), 2u);
  EXPECT_EQ(nodes[0]["name"], "a");
  EXPECT_EQ(nodes[1]["state"], "JOINED");
  EXPECT_EQ(nodes[1]["other_program"], false);
  EXPECT_THAT(Ask({"nodes"}).out, HasSubstr("JOINED"));
  WatchToEnd(id);
  EXPECT_THAT(NodesOf(ExpectUndisturbed(id), "SUCCEEDED"), ::testing::ElementsAre("a", "b"));
}

TEST_F(NodeTest, ANodeOfAnotherProgramGetsNoTrialOfThisOne) {
  const auto a = StartNode("a");
  const std::string id = Submit();
  WatchOutcomes(id, 1);
  const auto other = StartNode("other", {}, kFaultyProgram);
  const nlohmann::json document = Ask({"nodes", "--json"}).Json();
  for (const nlohmann::json& node : document["nodes"]) {
    EXPECT_EQ(node["other_program"], node["name"] == "other") << node;
  }
  EXPECT_THAT(Ask({"nodes"}).out, HasSubstr("(other program)"));
  WatchToEnd(id);
  EXPECT_THAT(NodesOf(ExpectUndisturbed(id), "SUCCEEDED"), ::testing::ElementsAre("a"));
}

TEST_F(NodeTest, ANodeThatIsKilledCostsNoResult) {
  const auto a = StartNode("a"), b = StartNode("b");
  const std::string id = Submit();
  WatchOutcomes(id, 5);
  const std::vector<pid_t> children = a->Children();
  kill(a->pid(), SIGKILL);
  for (const pid_t child : children) EXPECT_TRUE(WaitUntilGone(child));
  WatchToEnd(id);
  const nlohmann::json trials = ExpectUndisturbed(id);
  EXPECT_THAT(NodesOf(trials, "LOST"), ::testing::IsSubsetOf({"a", ""}));
}

TEST_F(NodeTest, ANodeThatIsEndedHandsBackWhatItRan) {
  const auto a = StartNode("a"), b = StartNode("b");
  const std::string id = Submit();
  WatchOutcomes(id, 5);
  // As batch systems do it that signal all processes of a job, children first.
  for (const pid_t child : a->Children()) kill(child, SIGTERM);
  kill(a->pid(), SIGTERM);
  EXPECT_EQ(a->Wait(), 0);
  EXPECT_EQ(Ask({"nodes", "--json"}).Json()["nodes"].size(), 1u);
  WatchToEnd(id);
  const nlohmann::json trials = ExpectUndisturbed(id);
  EXPECT_EQ(NodesOf(trials, "LOST"), NodesOf(trials, "LOST", "NODE_LEFT"));
}

TEST_F(NodeTest, ADrainedNodeEndsItsWorkAndGoes) {
  const auto a = StartNode("a"), b = StartNode("b");
  const std::string id = Submit();
  WatchOutcomes(id, 5);
  EXPECT_EQ(Ask({"drain", "nobody"}).exit_code, 2);
  EXPECT_EQ(Ask({"drain", "a", "--json"}).Json()["draining"], "a");
  EXPECT_EQ(a->Wait(), 0);
  EXPECT_EQ(Ask({"nodes", "--json"}).Json()["nodes"].size(), 1u);
  WatchToEnd(id);
  // Trials that were sent while the node left had not begun, and were queued again.
  EXPECT_THAT(NodesOf(ExpectUndisturbed(id), "LOST"), IsEmpty());
}

TEST_F(NodeTest, NodesComeBackToAHeadThatWasKilled) {
  const auto a = StartNode("a"), b = StartNode("b");
  const std::string id = Submit();
  WatchOutcomes(id, 5);
  kill(head_process_->pid(), SIGKILL);
  EXPECT_EQ(head_process_->Wait(), -SIGKILL);
  StartHead();
  EXPECT_TRUE(a->WaitForLine("joined"));
  EXPECT_TRUE(b->WaitForLine("joined"));
  WatchToEnd(id);
  ExpectUndisturbed(id);
}

TEST_F(NodeTest, WhatRunsOnANodeGoesOnWhenItsHeadIsKilledOrEnded) {
  config_ = long_config_;
  const auto a = StartNode("a");
  const std::string id = Submit();
  WatchSteps(id, 1);
  const std::vector<pid_t> processes = a->Children();
  ASSERT_FALSE(processes.empty());
  // Its trial process goes on; what it is given to say waits.
  kill(a->pid(), SIGSTOP);
  KillHead();
  StartHead();
  EXPECT_THAT(Ask({"show", id}).out, HasSubstr("none has returned (a)"));
  kill(a->pid(), SIGCONT);
  EXPECT_TRUE(a->WaitForLine("joined"));
  EXPECT_EQ(a->Children(), processes) << "nothing is begun anew";
  WatchSteps(id, 2);
  kill(head_process_->pid(), SIGTERM);
  EXPECT_EQ(head_process_->Wait(), 0);
  StartHead();
  EXPECT_TRUE(a->WaitForLine("joined"));
  EXPECT_EQ(a->Children(), processes);
  WatchToEnd(id);
  ExpectNothingTwice(id);
}

TEST_F(NodeTest, AnExperimentWaitsForItsNodeNotForEver) {
  config_ = long_config_;
  const auto a = StartNode("a");
  const std::string id = Submit();
  WatchSteps(id, 1);
  KillHead();
  kill(a->pid(), SIGKILL);
  EXPECT_EQ(a->Wait(), -SIGKILL);
  StartHead();
  const auto b = StartNode("b");
  WatchToEnd(id);
  EXPECT_EQ(NodesOf(ExpectUndisturbed(id), "LOST", "HEAD_ENDED"), std::set<std::string>{"a"});
}

TEST_F(NodeTest, ANodeThatWasAskedToLeaveStillDoesAfterItsHeadWasKilled) {
  config_ = long_config_;
  const auto a = StartNode("a");
  const std::string id = Submit();
  WatchSteps(id, 1);
  EXPECT_EQ(Ask({"drain", "a"}).exit_code, 0);
  KillHead();
  StartHead();
  EXPECT_TRUE(a->WaitForLine("joined"));
  const nlohmann::json nodes = Ask({"nodes", "--json"}).Json()["nodes"];
  ASSERT_EQ(nodes.size(), 1u);
  EXPECT_EQ(nodes[0]["state"], "DRAINING");
  EXPECT_EQ(a->Wait(), 0) << "when its trial has ended";
  const auto b = StartNode("b");
  WatchToEnd(id);
  ExpectNothingTwice(id);
}

TEST_F(NodeTest, NodesFollowAHeadThatMovesByItsFile) {
  BackgroundCommand node(kLanista, {"node", "--head-file", head_file_, "--cpu-slots", "1", "--name", "a"});
  EXPECT_TRUE(node.WaitForLine(absl::StrCat("joined ", head_, " as a")));
  kill(head_process_->pid(), SIGTERM);
  EXPECT_EQ(head_process_->Wait(), 0);
  // On another port.
  listen_ = "127.0.0.1:0";
  StartHead();
  EXPECT_TRUE(node.WaitForLine(absl::StrCat("joined ", head_, " as a")));
}

TEST_F(NodeTest, ANodeThatStoodStillForTooLongBeginsAnew) {
  const auto a = StartNode("a"), b = StartNode("b");
  const std::string id = Submit();
  WatchOutcomes(id, 5);
  kill(a->pid(), SIGSTOP);
  // Its trial process goes on, with nobody to hear of it.
  WatchToEnd(id);
  while (Ask({"nodes", "--json"}).Json()["nodes"].size() == 2) continue;
  kill(a->pid(), SIGCONT);
  EXPECT_TRUE(a->WaitForLine("joined"));
  ExpectUndisturbed(id);
  EXPECT_EQ(Ask({"nodes", "--json"}).Json()["nodes"].size(), 2u);
  // Nodes get work again.
  kill(b->pid(), SIGTERM);
  EXPECT_EQ(b->Wait(), 0);
  const std::string next = Submit();
  WatchToEnd(next);
  EXPECT_EQ(Ask({"show", next, "--json"}).Json()["models"]["succeeded"], 40);
}

TEST_F(NodeTest, CtrlCEndsANodeThatStillLooksAtItsMachine) {
  const std::string folder = FreshFolder();
  const NamedPipe asked(folder + "/asked");
  WriteStandIn(folder, "squeue", "echo asked > asked; exec sleep 20");
  const FirstOnPath first(folder);
  const ScopedVariable machine("SLURMD_NODENAME", "m"), job("SLURM_JOB_ID", "7");
  BackgroundCommand node(kLanista, {"node", "--head", head_, "--cpu-slots", "1"});
  ASSERT_TRUE(asked.Wait());
  kill(node.pid(), SIGINT);
  EXPECT_EQ(node.Wait(), -SIGINT);
}

TEST_F(NodeTest, WhatCanNeverWorkIsSaidOnce) {
  const auto a = StartNode("a");
  const CommandResult same_name = RunCommand(kLanista, {"node", "--head", head_, "--cpu-slots", "1", "--name", "a"});
  EXPECT_EQ(same_name.exit_code, 2);
  EXPECT_THAT(same_name.err, HasSubstr("--name"));
  EXPECT_EQ(RunCommand(kLanista, {"node", "--head", head_, "--name", "a\nb"}).exit_code, 2);
  EXPECT_EQ(RunCommand(kLanista, {"node", "--head", head_, "--cpu-slots", "0"}).exit_code, 2);
  const CommandResult no_program = RunCommand(kLanista, {"node", "--head", head_, "--trial-program", config_});
  EXPECT_EQ(no_program.exit_code, 2);
  EXPECT_THAT(no_program.err, HasSubstr("is no program"));
  EXPECT_EQ(Ask({"nodes", "--json"}).Json()["nodes"].size(), 1u);
}

// As on a machine that has another folder under the state folder's name, or none.
TEST_F(NodeTest, ANodeThatDoesNotSeeTheHeadsFilesGetsThem) {
  HideFolder();
  const std::string folder = FreshFolder();
  std::ofstream(folder + "/table.csv") << "x,default\n0,0.5\n1,0.75\n2,0.25\n";
  std::ofstream(folder + "/search.textproto") << R"(
    name: "table"
    space { choices { choice { label: "x" candidate: [ { i: 0 }, { i: 1 }, { i: 2 } ] } } }
    strategy { grid_search {} }
    evaluator { table { path: "table.csv" } }
    max_trial_number: 3
  )";
  const std::string cache = FreshFolder() + "/cache";
  const auto a = StartNode("a", {"--cache-dir", cache, "--cache-size", "1MB"});
  const std::string id = Ask({"submit", folder + "/search.textproto", "--json"}).Json().value("id", "");
  ASSERT_NE(id, "");
  WatchToEnd(id);
  EXPECT_EQ(Ask({"show", id, "--json"}).Json()["models"]["succeeded"], 3);
  int copies = 0;
  // Of this machine's first node, the only one.
  for (const auto& node : std::filesystem::directory_iterator(cache)) {
    if (!std::filesystem::exists(node.path() / "files")) continue;
    for (const auto& entry : std::filesystem::directory_iterator(node.path() / "files")) {
      EXPECT_EQ(entry.path().filename().string().size(), 64u);
      ++copies;
    }
  }
  EXPECT_EQ(copies, 1);
  EXPECT_EQ(Ask({"show", id, "--json"}).Json()["best"][0]["default"], 0.75);
}

TEST_F(NodeTest, WhatWaitsForRoomOnTheHeadsDiskSaysSo) {
  KillHead();
  const SmallDisk disk(state_, "64m");
  if (!disk.mounted()) GTEST_SKIP() << "only root may mount";
  StartHead();
  HideFolder();
  // Room for the journal, but less than the tenth that what nodes deliver leaves free.
  const std::string filler = state_ + "/filler";
  std::ofstream(filler) << std::string(60 << 20, 'x');
  const auto a = StartNode("a", {"--cache-dir", FreshFolder()});
  const std::string search = WriteFile("kept.textproto", absl::StrCat(kTinySearch, "keep_weights { best: 1 }"));
  const std::string id = Ask({"submit", search, "--set", "max_trial_number=2", "--json"}).Json().value("id", "");
  ASSERT_NE(id, "");
  const auto waiting_for = [&] { return Ask({"show", id, "--json"}).Json()["waiting_for"]; };
  nlohmann::json waiting;
  for (int tries = 0; tries < 1000 && waiting.is_null(); ++tries) waiting = waiting_for();
  ASSERT_TRUE(waiting.is_string());
  EXPECT_THAT(waiting.get<std::string>(), HasSubstr("room for what nodes deliver: the disk of " + state_));
  EXPECT_THAT(waiting.get<std::string>(), HasSubstr("--keep-free"));
  EXPECT_EQ(Ask({"show", id, "--json"}).Json()["models"]["succeeded"], 0) << "without its weights none is done";
  std::filesystem::remove(filler);
  EXPECT_TRUE(waiting_for().is_null());
  WatchToEnd(id);
  EXPECT_EQ(Ask({"show", id, "--json"}).Json()["models"]["succeeded"], 2);
}

TEST_F(NodeTest, WeightsOfNodesThatSeeNoFilesArriveBeforeTheirModelsAreDone) {
  HideFolder();
  const std::string search = WriteSearchWithKeptWeights(/*models=*/6, /*best=*/2);
  const std::string cache = FreshFolder();
  const auto a = StartNode("a", {"--cache-dir", cache}), b = StartNode("b", {"--cache-dir", cache});
  const std::string id = Ask({"submit", search, "--json"}).Json().value("id", "");
  ASSERT_NE(id, "");
  const std::string experiment = absl::StrCat(state_, "/experiments/", id);
  const auto weights = [&] {
    std::vector<std::filesystem::path> files;
    std::error_code gone;
    for (std::filesystem::recursive_directory_iterator entry(experiment + "/trials", gone), end; !gone && entry != end;
         entry.increment(gone)) {
      if (entry->path().filename() == "weights.pt") files.push_back(entry->path());
    }
    return files;
  };
  WatchOutcomes(id, 1);
  EXPECT_FALSE(weights().empty()) << "whose outcome is known has its weights here";
  WatchToEnd(id);
  EXPECT_EQ(Ask({"show", id, "--json"}).Json()["models"]["succeeded"], 6);
  for (const auto* node : {&a, &b}) kill((*node)->pid(), SIGKILL);

  for (const char* format : {"weights", "python"}) {
    const std::string out = FreshFolder();
    const CommandResult exported =
        RunCommand(kLanista, {"export", id, "--top", "2", "--format", format, "--out", out, "--state-dir", state_});
    EXPECT_EQ(exported.exit_code, 0) << exported.err;
    EXPECT_FALSE(std::filesystem::is_empty(out));
  }
  // The weights of the other models are not kept.
  ASSERT_EQ(weights().size(), 2u);
  EXPECT_TRUE(std::filesystem::is_empty(experiment + "/incoming"));
  // Without them the export is an error, and no initial weights.
  std::filesystem::remove(weights().front());
  const CommandResult missing = RunCommand(
      kLanista, {"export", id, "--top", "2", "--format", "python", "--out", FreshFolder(), "--state-dir", state_});
  EXPECT_NE(missing.exit_code, 0);
  EXPECT_THAT(missing.err, HasSubstr("are missing"));
}

TEST_F(NodeTest, WeightsThatAreNotAmongTheBestStayOnTheirNode) {
  HideFolder();
  const std::string search = WriteSearchWithKeptWeights(/*models=*/12, /*best=*/1, /*validation_samples=*/300);
  // One slot: models come one after the other. The log says whose weights are removed.
  const std::string log = FreshFolder() + "/log";
  BackgroundCommand node(
      "/bin/sh", {"-c", absl::StrCat("exec ", kLanista, " node --head ", head_, " --cpu-slots 1 --name a --cache-dir ",
                                     FreshFolder(), " --log-level debug 2> ", log)});
  ASSERT_TRUE(node.WaitForLine("joined"));
  const std::string id = Ask({"submit", search, "--json"}).Json().value("id", "");
  ASSERT_NE(id, "");
  WatchToEnd(id);
  const nlohmann::json models = Ask({"trials", id, "--json"}).Json()["models"];
  ASSERT_EQ(models.size(), 12u);
  std::vector<double> values;
  for (const nlohmann::json& model : models) {
    ASSERT_EQ(model["status"], "SUCCEEDED") << model;
    values.push_back(model["metrics"]["final"]["default"].get<double>());
  }
  // A device gets a trial when no more than one that has ended is not in the journal: of the last model before, a
  // model's end may know nothing yet.
  int certain = 0, possible = 0;
  for (size_t i = 1; i < values.size(); ++i) {
    const auto before = values.begin() + static_cast<std::ptrdiff_t>(i);
    if (values[i] < *std::max_element(values.begin(), before)) ++possible;
    if (i > 1 && values[i] < *std::max_element(values.begin(), before - 1)) ++certain;
  }
  int removed = 0;
  std::ifstream lines(log);
  for (std::string line; std::getline(lines, line);) {
    if (line.find("are removed here") != std::string::npos) ++removed;
  }
  EXPECT_GE(removed, certain);
  EXPECT_LE(removed, possible);
  EXPECT_GT(certain, 0) << "a search in which each model beats all before it shows nothing";
  const CommandResult exported = RunCommand(
      kLanista, {"export", id, "--top", "1", "--format", "weights", "--out", FreshFolder(), "--state-dir", state_});
  EXPECT_EQ(exported.exit_code, 0) << exported.err;
}

// The head's machine has no trial program, as one without LibTorch.
TEST_F(NodeTest, GraphsAndExportsAreMadeInThePlaceOfANodeThatSeesNoFiles) {
  kill(head_process_->pid(), SIGTERM);
  EXPECT_EQ(head_process_->Wait(), 0);
  head_options_ = {"--trial-program", "/no/such/program", "--web", "0", "--web-token", "none"};
  StartHead();
  ASSERT_TRUE(head_process_->WaitForLine("page: http://127.0.0.1:"));
  const std::string page = head_process_->line();
  const int port = std::atoi(page.c_str() + page.rfind(':') + 1);
  HideFolder();
  const std::string search = WriteSearchWithKeptWeights(/*models=*/3, /*best=*/2);
  const auto a = StartNode("a", {"--cache-dir", FreshFolder()});
  const std::string id = Ask({"submit", search, "--json"}).Json().value("id", "");
  ASSERT_NE(id, "");
  WatchToEnd(id);

  const auto content = [](const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  for (const std::string format : {"python", "torchscript"}) {
    const std::string here = FreshFolder() + "/here", there = FreshFolder() + "/there";
    const CommandResult exported = Ask({"export", id, "--top", "2", "--format", format, "--out", here, "--json"});
    ASSERT_EQ(exported.exit_code, 0) << exported.err;
    const CommandResult offline =
        RunCommand(kLanista, {"export", id, "--top", "2", "--format", format, "--out", there, "--state-dir", state_});
    ASSERT_EQ(offline.exit_code, 0) << offline.err;
    const nlohmann::json files = exported.Json()["files"];
    ASSERT_GE(files.size(), 2u);
    for (const nlohmann::json& name : files) {
      const std::filesystem::path file = name.get<std::string>();
      EXPECT_TRUE(content(file) == content(there / file.filename())) << file;
    }
  }
  const auto graph = [&] {
    HttpClient browser(port);
    EXPECT_TRUE(browser.Send(absl::StrCat("GET /api/v1/experiments/", id,
                                          "/models/2/graph HTTP/1.1\r\nHost: 127.0.0.1:", port, "\r\n\r\n")));
    return browser.Receive();
  };
  const ClientResponse drawn = graph();
  EXPECT_EQ(drawn.status, 200) << drawn.body;
  EXPECT_TRUE(nlohmann::json::parse(drawn.body, nullptr, false).contains("nodes")) << drawn.body;
  EXPECT_TRUE(std::filesystem::is_empty(absl::StrCat(state_, "/experiments/", id, "/incoming")));

  // A node of another program has not this space.
  EXPECT_EQ(Ask({"drain", "a"}).exit_code, 0);
  EXPECT_EQ(a->Wait(), 0);
  const auto other = StartNode("other", {"--cache-dir", FreshFolder()}, kFaultyProgram);
  const CommandResult refused = Ask({"export", id, "--format", "python", "--out", FreshFolder()});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr("no node is there with the program of the experiment's space"));
  EXPECT_THAT(refused.err, HasSubstr("--trial-program"));
}

TEST_F(NodeTest, WhatMergedTrialsLeftOnNodesThatSeeNoFilesOutlivesTheirNode) {
  HideFolder();
  const std::string config = WriteFile("merged.textproto", R"(
    name: "merged"
    space {
      registered: "some_bad"
      params { key: "fault" value { s: "prints" } }
      params { key: "bad" value { list { values { i: 3 } } } }
    }
    engine { cgo {} }
    strategy { grid_search {} }
    evaluator {
      classification {
        dataset { synthetic_digits { train_samples: 60 validation_samples: 30 } }
        batch_size: 20
        max_epochs: 1
      }
    }
    keep_weights { best: 2 }
    seed: 5
  )");
  const std::string cache = FreshFolder();
  const auto a = StartNode("a", {"--cache-dir", cache}, kFaultyProgram);
  const auto b = StartNode("b", {"--cache-dir", cache}, kFaultyProgram);
  const std::string id = Ask({"submit", config, "--json"}).Json().value("id", "");
  ASSERT_NE(id, "");
  WatchToEnd(id);
  const nlohmann::json show = Ask({"show", id, "--json"}).Json();
  EXPECT_EQ(show["models"]["succeeded"], 8);
  EXPECT_EQ(show["space_size"], "8");
  const nlohmann::json models = Ask({"trials", id, "--json"}).Json()["models"];
  ASSERT_EQ(models.size(), 8u);
  std::string used;
  for (const nlohmann::json& model : models) {
    EXPECT_FALSE(model["attempts"][0]["merged_with"].empty()) << model;
    used = model["attempts"][0]["node"];
  }
  const auto& dead = used == "a" ? a : b;
  kill(dead->pid(), SIGKILL);
  EXPECT_EQ(dead->Wait(), -SIGKILL);

  EXPECT_THAT(Ask({"trials", id, "--log"}).out, HasSubstr("hello from a model"));
  const std::string out = FreshFolder();
  const CommandResult exported = RunCommand(
      kFaultyProgram, {"export", id, "--top", "2", "--format", "weights", "--out", out, "--state-dir", state_});
  EXPECT_EQ(exported.exit_code, 0) << exported.err;
  EXPECT_FALSE(std::filesystem::is_empty(out));
}

// A trial's node gets a signal when the first checkpoint has come from it.
class CheckpointOfANodeTest : public NodeTest, public ::testing::WithParamInterface<std::pair<int, const char*>> {};

INSTANTIATE_TEST_SUITE_P(Signals, CheckpointOfANodeTest,
                         // Batch systems end a job by SIGTERM: before its time is over, or for a more important one.
                         ::testing::Values(std::pair(SIGKILL, "NODE_LOST"), std::pair(SIGTERM, "NODE_LEFT")));

TEST_P(CheckpointOfANodeTest, ItsTrialGoesOnFromThereElsewhere) {
  const auto [signal, lost_cause] = GetParam();
  HideFolder();
  // A search that is long enough not to end before its node is killed. Checkpoints are written after whole epochs.
  const std::string config = WriteFile("long.textproto", R"(
    name: "long"
    space { registered: "mlp" }
    strategy { random {} }
    evaluator {
      classification {
        dataset { synthetic_digits { train_samples: 200 validation_samples: 30 } }
        batch_size: 20
        max_epochs: 1000000
      }
    }
    max_trial_number: 1
    seed: 42
  )");
  const std::string cache = FreshFolder();
  const auto a = StartNode("a", {"--cache-dir", cache});
  const std::string id = Ask({"submit", config, "--json"}).Json().value("id", "");
  ASSERT_NE(id, "");
  const std::string checkpoint = absl::StrCat(state_, "/experiments/", id, "/checkpoints/1/checkpoint");
  // Each report is a moment to look.
  Watch(id, [&](const v1::ExperimentEvent&) { return std::filesystem::exists(checkpoint); });
  const std::vector<pid_t> children = a->Children();
  kill(a->pid(), signal);
  for (const pid_t child : children) EXPECT_TRUE(WaitUntilGone(child));
  const auto b = StartNode("b", {"--cache-dir", cache});
  int resumed_steps = 0;
  Watch(id, [&](const v1::ExperimentEvent& event) {
    if (!event.model().has_started() || event.model().attempt() < 2) return false;
    resumed_steps = event.model().started().resumed_steps();
    return true;
  });
  EXPECT_GT(resumed_steps, 0);
  EXPECT_EQ(Ask({"stop", id}).exit_code, 0);
  WatchToEnd(id);
  EXPECT_THAT(NodesOf(Ask({"trials", id, "--json"}).Json(), "LOST", lost_cause), ::testing::ElementsAre("a"));
}

TEST_F(NodeTest, WhatATrialPrintedAndLeftComesFromANodeThatSeesNoFiles) {
  HideFolder();
  const std::string config = WriteFile("talks.textproto", R"(
    name: "talks"
    space {
      registered: "some_bad"
      params { key: "fault" value { s: "none" } }
      params { key: "bad" value { list { values { i: 8 } } } }
    }
    strategy { random {} }
    evaluator { custom { name: "talkative" } }
    max_trial_number: 1
    seed: 42
  )");
  const auto node = StartNode("a", {"--cache-dir", FreshFolder() + "/cache"}, kFaultyProgram);
  const std::string id = Ask({"submit", config, "--json"}).Json().value("id", "");
  ASSERT_NE(id, "");
  WatchToEnd(id);
  kill(node->pid(), SIGKILL);
  EXPECT_THAT(Ask({"trials", id, "--log", "--model", "1"}).out, HasSubstr("hello from the evaluator"));
  EXPECT_TRUE(std::filesystem::exists(absl::StrCat(state_, "/experiments/", id, "/trials/1/note.txt")));
}

TEST_F(NodeTest, ANodeWithoutAHeadEnds) {
  const CommandResult none =
      RunCommand(kLanista, {"node", "--head", "127.0.0.1:9", "--cpu-slots", "1", "--give-up-after", "1"});
  EXPECT_EQ(none.exit_code, 3);
  EXPECT_THAT(none.err, HasSubstr("127.0.0.1:9"));
  const CommandResult no_file =
      RunCommand(kLanista, {"node", "--head-file", "/no/such/file", "--cpu-slots", "1", "--give-up-after", "1"});
  EXPECT_EQ(no_file.exit_code, 3);
  EXPECT_THAT(no_file.err, HasSubstr("/no/such/file"));

  const auto a = StartNode("a", {"--give-up-after", "1"});
  const std::string id = Submit();
  WatchOutcomes(id, 1);
  const std::vector<pid_t> children = a->Children();
  BackgroundCommand b(kLanista,
                      {"node", "--head", head_, "--cpu-slots", "1", "--name", "b", "--give-up-after", "1", "--json"});
  EXPECT_TRUE(b.WaitForLine("\"joined\": "));
  kill(head_process_->pid(), SIGKILL);
  EXPECT_EQ(a->Wait(), 3);
  for (const pid_t child : children) EXPECT_TRUE(WaitUntilGone(child));
  EXPECT_FALSE(b.WaitForLine("\"error\": ")) << "it has printed its document";
  EXPECT_EQ(b.Wait(), 3);
}

// False: it is not there after a minute.
bool WaitForFile(const std::string& path) {
  for (int i = 0; i < 6000 && !std::filesystem::exists(path); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return std::filesystem::exists(path);
}

// Programs that are called as Slurm's are: a job waits for ever.
TEST(SlurmRunTest, CtrlCBeforeTheSearchBeginsCancelsItsJobs) {
  const std::string folder = FreshFolder();
  WriteStandIn(folder, "sbatch",
               "for a; do case $a in --job-name=*) echo \"101|PENDING|${a#*=}|Priority\" > queue;; esac; done\n"
               "echo 101");
  WriteStandIn(folder, "squeue", "cat queue");
  WriteStandIn(folder, "scancel", "echo \"$*\" >> canceled");
  const FirstOnPath first(folder);
  const std::string config = WriteFile("slurm.textproto", absl::StrCat(kTinySearch, "training_service { slurm {} }"));
  BackgroundCommand run(kLanista, {"run", config, "--state-dir", folder + "/state"});
  ASSERT_TRUE(WaitForFile(folder + "/queue"));
  kill(run.pid(), SIGINT);
  EXPECT_EQ(run.Wait(), 130);
  // By its number, or by its name where sbatch had not said it yet.
  std::string option, job;
  std::ifstream(folder + "/canceled") >> option >> job;
  EXPECT_TRUE(job == "101" || absl::StrContains(job, "--name=lanista-")) << job;
}

}  // namespace
}  // namespace lanista
