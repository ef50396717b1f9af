// Whatever breaks, no result is lost and none counts twice: a head and four nodes, three searches at once, and one
// fault after the other. Each model has one outcome at the end, with the metrics of an undisturbed run of the same
// seed, and no process is left.
//
// One of the nodes does not see the head's files, and works on copies, where the machine allows that.
//
// LANISTA_TEST_TRIALS: so many models in all, a third of them in merged trials; without it the test is skipped. From
// 500 models on each kind of fault is there at least once: a machine that is faster than the faults searches once more.
// LANISTA_TEST_SEED: of the faults; it is printed. The same seed gives the same faults in the same order, but what they
// hit is a matter of time.
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "gtest/gtest.h"
#include "tests/chaos/cluster.h"
#include "tests/e2e/command.h"
#include "tests/e2e/small_graph.h"
#include "tests/storage/small_disk.h"

namespace lanista {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr int kNodes = 4;
// A run of so many models is to see all faults.
constexpr int kLongRun = 500;
// How many nodes may be faulty at a time; the others go on with the work.
constexpr int kMaxIll = 2;
constexpr int kLostAfterSeconds = 4;
constexpr std::chrono::minutes kLimit(40);
constexpr milliseconds kLook(250);

// A space of `widths` times three models.
std::string GraphSpace(int widths) {
  std::string candidates;
  for (int i = 0; i < widths; ++i) absl::StrAppend(&candidates, "candidate { i: ", 4 + i, " } ");
  return absl::StrCat(R"(space { graph { path: "net.textproto" }
    mutator { layer_choice { target: "relu" candidate { keep {} } candidate { op { type: "Tanh" } } candidate { op { type: "GELU" } } } }
    mutator { value_choice { target: "hidden" attr: "out_features" )",
                      candidates, R"(} also { target: "output" attr: "in_features" } } }
    )");
}

std::string Search(const std::string& name, const std::string& space, const std::string& how, int models, int epochs) {
  return absl::StrCat("name: \"", name, "\" ", space, " ", how, R"(
    evaluator {
      classification {
        dataset { synthetic_digits { train_samples: 100 validation_samples: 50 } }
        batch_size: 20
        max_epochs: )",
                      epochs, R"(
      }
    }
    seed: 42
    max_trial_number: )",
                      models, "\n");
}

// Breaks one thing after the other, and mends it again.
class Chaos {
 public:
  // `has_disk`: `state` is on a disk of its own, which can be filled.
  Chaos(Cluster* cluster, std::string state, bool has_disk, unsigned seed)
      : cluster_(*cluster), state_(std::move(state)), random_(seed), ill_(cluster->nodes().size()) {
    faults_ = {
        {"kill -9 of a trial process", [this] { return KillTrial(); }},
        {"kill -9 of a node", [this] { return KillNode(); }},
        {"SIGSTOP of a node past lost_after", [this] { return StopNode(); }},
        {"SIGTERM of a node", [this] { return EndNode(); }},
        {"a node is drained", [this] { return DrainNode(); }},
        {"a link is cut", [this] { return CutLink(); }},
        {"a link is reset", [this] { return ResetLink(); }},
        {"a link is slow",
         [this] {
           return BadLink({true, true, 20000, milliseconds(100)});
         }},
        {"a head does not hear a node",
         [this] {
           return BadLink({false, true, 0, milliseconds(0)});
         }},
        {"a node does not hear its head",
         [this] {
           return BadLink({true, false, 0, milliseconds(0)});
         }},
        {"kill -9 of the head", [this] { return KillHead(); }},
    };
    if (has_disk) faults_.push_back({"a full disk", [this] { return FillDisk(); }});
  }

  // Polls until `done` returns true. Returns false if that takes too long.
  bool Run(const std::function<bool()>& done) {
    Clock::time_point next = Clock::now();
    while (!done()) {
      if (Clock::now() - begin_ > kLimit) return false;
      Mend(/*all=*/false);
      ExpectNodesLive();
      if (Clock::now() >= next) {
        Inject();
        next = Clock::now() + Between(200, 2000);
      }
      std::this_thread::sleep_for(kLook);
    }
    Mend(/*all=*/true);
    return true;
  }

  // How often each fault was there.
  std::string Summary() const {
    std::vector<std::string> lines;
    for (const Fault& fault : faults_) lines.push_back(absl::StrFormat("%5d  %s", fault.injected, fault.name));
    return absl::StrJoin(lines, "\n");
  }
  // The same, by the name of the fault.
  std::map<std::string, int> Counts() const {
    std::map<std::string, int> counts;
    for (const Fault& fault : faults_) counts[fault.name] += fault.injected;
    return counts;
  }
  bool InjectedAll() const {
    return std::all_of(faults_.begin(), faults_.end(), [](const Fault& fault) { return fault.injected > 0; });
  }

 private:
  using Node = Cluster::Node;

  struct Fault {
    std::string name;
    // Whether there was something to break; says which.
    std::function<std::string()> inject;
    int injected = 0;
  };
  struct Cure {
    Clock::time_point due;
    // Whether it is done: else it is tried again soon. `last`: there will be no other try.
    std::function<bool(bool last)> apply;
  };

  milliseconds Between(int least, int most) {
    return milliseconds(std::uniform_int_distribution<>(least, most)(random_));
  }

  void Say(const std::string& what) const {
    std::cerr << absl::StrFormat("%7.1f s  %s\n", std::chrono::duration<double>(Clock::now() - begin_).count(), what);
  }

  // The faults come in rounds, each of them once in a round, so that none is forgotten.
  void Inject() {
    if (round_.empty()) {
      for (size_t i = 0; i < faults_.size(); ++i) round_.push_back(i);
      std::shuffle(round_.begin(), round_.end(), random_);
    }
    Fault& fault = faults_[round_.back()];
    const std::string where = fault.inject();
    if (where.empty()) return;
    ++fault.injected;
    round_.pop_back();
    Say(absl::StrCat(fault.name, ": ", where));
  }

  void Later(milliseconds delay, std::function<bool(bool)> apply) {
    cures_.push_back({Clock::now() + delay, std::move(apply)});
  }

  void Mend(bool all) {
    std::vector<Cure> cures = std::exchange(cures_, {});
    for (Cure& cure : cures) {
      if (!all && cure.due > Clock::now()) {
        cures_.push_back(std::move(cure));
      } else if (!cure.apply(all)) {
        cure.due = Clock::now() + kLook;
        cures_.push_back(std::move(cure));
      }
    }
  }

  void ExpectNodesLive() {
    for (size_t i = 0; i < ill_.size(); ++i) {
      Node& node = *cluster_.nodes()[i];
      if (ill_[i] || !node.HasEnded()) continue;
      ADD_FAILURE() << "node " << node.name() << " ended by itself: " << node.Wait();
      node.Start();
    }
  }

  // A node that is well, and is to be ill now; -1: enough of them are.
  int Pick() {
    if (std::count(ill_.begin(), ill_.end(), true) >= kMaxIll) return -1;
    std::vector<int> well;
    for (size_t i = 0; i < ill_.size(); ++i) {
      if (!ill_[i]) well.push_back(static_cast<int>(i));
    }
    const int picked = well[std::uniform_int_distribution<size_t>(0, well.size() - 1)(random_)];
    ill_[static_cast<size_t>(picked)] = true;
    return picked;
  }
  Node& At(int number) { return *cluster_.nodes()[static_cast<size_t>(number)]; }
  void IsWell(int number) { ill_[static_cast<size_t>(number)] = false; }
  void StartLater(int number) {
    Later(Between(0, 3000), [this, number](bool) {
      At(number).Start();
      IsWell(number);
      return true;
    });
  }

  std::string KillTrial() {
    const std::vector<pid_t> trials = cluster_.Processes("lanista-trial");
    if (trials.empty()) return "";
    const pid_t pid = trials[std::uniform_int_distribution<size_t>(0, trials.size() - 1)(random_)];
    return kill(pid, SIGKILL) == 0 ? absl::StrCat("process ", pid) : "";
  }

  std::string KillNode() {
    const int number = Pick();
    if (number < 0) return "";
    At(number).Signal(SIGKILL);
    EXPECT_EQ(At(number).Wait(), -SIGKILL);
    StartLater(number);
    return At(number).name();
  }

  std::string StopNode() {
    const int number = Pick();
    if (number < 0) return "";
    At(number).Signal(SIGSTOP);
    Later(std::chrono::seconds(kLostAfterSeconds) + Between(1000, 4000), [this, number](bool) {
      At(number).Signal(SIGCONT);
      IsWell(number);
      return true;
    });
    return At(number).name();
  }

  void End(int number) {
    Node& node = At(number);
    // One that has just begun, and has done nothing yet, may not listen to signals yet.
    const bool joined = node.HasJoined(/*seconds=*/0);
    node.Signal(SIGTERM);
    const int code = node.Wait();
    EXPECT_TRUE(code == 0 || (!joined && code == -SIGTERM)) << node.name() << ": " << code;
  }

  std::string EndNode() {
    const int number = Pick();
    if (number < 0) return "";
    End(number);
    StartLater(number);
    return At(number).name();
  }

  std::string DrainNode() {
    if (!cluster_.head_runs()) return "";
    const int number = Pick();
    if (number < 0) return "";
    // The node may not have joined yet, or not again.
    if (cluster_.Ask({"drain", At(number).name()}).exit_code != 0) {
      IsWell(number);
      return "";
    }
    // A head that is killed forgets whom it drained; and what was drained may be an instance that is dead already.
    const Clock::time_point end = Clock::now() + std::chrono::seconds(10);
    Later(milliseconds(0), [this, number, end](bool last) {
      if (!At(number).HasEnded()) {
        if (!last && Clock::now() < end) return false;
        End(number);
      } else {
        EXPECT_EQ(At(number).Wait(), 0);
      }
      At(number).Start();
      IsWell(number);
      return true;
    });
    return At(number).name();
  }

  std::string CutLink() {
    const int number = Pick();
    if (number < 0) return "";
    At(number).Cut(true);
    Later(Between(300, 8000), [this, number](bool) {
      At(number).Cut(false);
      IsWell(number);
      return true;
    });
    return At(number).name();
  }

  std::string ResetLink() {
    const int number = Pick();
    if (number < 0) return "";
    At(number).proxy().Reset();
    IsWell(number);
    return At(number).name();
  }

  std::string BadLink(const Proxy::Link& link) {
    const int number = Pick();
    if (number < 0) return "";
    At(number).proxy().SetLink(link);
    Later(Between(500, 8000), [this, number](bool) {
      At(number).proxy().SetLink(Proxy::Link());
      IsWell(number);
      return true;
    });
    return At(number).name();
  }

  std::string KillHead() {
    if (!cluster_.head_runs() || disk_is_full_) return "";
    cluster_.SignalHead(SIGKILL);
    EXPECT_EQ(cluster_.WaitForHead(), -SIGKILL);
    Later(std::chrono::seconds(1), [this](bool) {
      cluster_.StartHead();
      return true;
    });
    return "back after a second";
  }

  std::string FillDisk() {
    if (!cluster_.head_runs() || disk_is_full_) return "";
    disk_is_full_ = true;
    const std::string filler = state_ + "/filler";
    std::ofstream file(filler, std::ios::binary);
    const std::string block(1 << 16, 'x');
    while (file.write(block.data(), static_cast<std::streamsize>(block.size())).flush()) {
    }
    Later(Between(500, 3000), [this, filler](bool) {
      std::filesystem::remove(filler);
      disk_is_full_ = false;
      return true;
    });
    return "for a while";
  }

  Cluster& cluster_;
  const std::string state_;
  const Clock::time_point begin_ = Clock::now();
  std::mt19937 random_;
  std::vector<Fault> faults_;
  // The faults that are left in this round: indices of faults_.
  std::vector<size_t> round_;
  std::vector<Cure> cures_;
  std::vector<bool> ill_;
  bool disk_is_full_ = false;
};

class ChaosTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const int models = NumberFromEnvironment("LANISTA_TEST_TRIALS", 0);
    is_long_ = models >= kLongRun;
    if (models == 0) GTEST_SKIP() << "it takes minutes, and all processors: scripts/slow_test.sh chaos runs it";
    const std::string folder = FreshFolder();
    std::ofstream(folder + "/net.textproto") << kSmallGraph;
    const auto add = [&](const std::string& name, const std::string& space, const std::string& how, int count,
                         int epochs) {
      Experiment& experiment = experiments_.emplace_back();
      experiment.config = absl::StrCat(folder, "/", name, ".textproto");
      experiment.models = count;
      std::ofstream(experiment.config) << Search(name, space, how, count, epochs);
    };
    const int third = models / 3;
    add("alone", "space { registered: \"mnist_cnn\" }", "strategy { random { dedup: false } } engine { direct {} }",
        models - 2 * third, 1);
    add("grid", GraphSpace(third / 3 + 1), "strategy { grid_search {} } engine { graph {} }", third, 20);
    add("merged", GraphSpace(64),
        "strategy { random { dedup: false } } engine { cgo { max_concurrency_cgo: 4 batch_waiting_time: 1 } }", third,
        20);
  }

  struct Experiment {
    std::string config;
    int models = 0;
    std::string id;
    // Its results where nothing disturbed it.
    std::map<int, std::string> expected;
    bool was_stopped = false;
    bool was_resumed = false;
  };

  static nlohmann::json Trials(const std::string& id, const std::string& state) {
    return RunCommand(kLanista, {"trials", id, "--json", "--state-dir", state}).Json();
  }
  // The sample and the metrics of each model.
  void RunUndisturbed() {
    const std::string state = FreshFolder();
    for (Experiment& experiment : experiments_) {
      const CommandResult run = RunCommand(kLanista, {"run", experiment.config, "--state-dir", state, "--set",
                                                      "training_service={ local { cpu_slots: 2 } }"});
      ASSERT_EQ(run.exit_code, 0) << run.err;
      experiment.expected = ResultsOf(Trials("latest", state));
      ASSERT_EQ(experiment.expected.size(), static_cast<size_t>(experiment.models));
    }
  }

  // The experiments as they are, by id; empty where that cannot be read just now.
  std::map<std::string, nlohmann::json> List() const {
    const CommandResult list = RunCommand(kLanista, {"list", "--json", "--state-dir", state_});
    const nlohmann::json document = nlohmann::json::parse(list.out, nullptr, /*allow_exceptions=*/false);
    std::map<std::string, nlohmann::json> experiments;
    if (list.exit_code != 0 || document.is_discarded()) return experiments;
    for (const nlohmann::json& experiment : document["experiments"]) {
      // Its journal cannot be read while the disk is full.
      if (experiment["models"].is_null()) return {};
      experiments[experiment["id"]] = experiment;
    }
    return experiments;
  }

  // Whether all have come to their end; on the way there they are stopped and resumed, if that is wanted. What the head
  // is asked may fail: then it is asked again.
  bool Look(const Cluster& cluster, bool with_stop) {
    const std::map<std::string, nlohmann::json> list = List();
    bool done = true;
    for (Experiment& experiment : experiments_) {
      const auto found = list.find(experiment.id);
      if (found == list.end()) return false;
      const std::string status = found->second["status"];
      const bool is_half = found->second["models"]["succeeded"].get<int>() * 2 >= experiment.models;
      if (with_stop && !experiment.was_stopped && is_half) {
        experiment.was_stopped = cluster.Ask({"stop", experiment.id}).exit_code == 0;
      }
      if (experiment.was_stopped && !experiment.was_resumed && (status == "STOPPED" || status == "DONE")) {
        experiment.was_resumed = status == "DONE" || cluster.Ask({"resume", experiment.id}).exit_code == 0;
        done = false;
      }
      done = done && status == "DONE";
      if (status == "FAILED") {
        ADD_FAILURE() << found->second.dump(2);
        failed_ = true;
      }
    }
    return done || failed_;
  }

  // Submits the first search again, with the same results. A head that does not answer is asked later.
  void SearchOnceMore(const Cluster& cluster) {
    Experiment again = experiments_.front();
    const CommandResult submitted = cluster.Ask({"submit", again.config, "--json"});
    if (submitted.exit_code != 0) return;
    again.id = submitted.Json().value("id", "");
    if (again.id.empty()) {
      ADD_FAILURE() << submitted.out;
      failed_ = true;
      return;
    }
    experiments_.push_back(std::move(again));
  }

  void Survive(bool with_stop) {
    ASSERT_NO_FATAL_FAILURE(RunUndisturbed());
    const auto seed = static_cast<unsigned>(
        NumberFromEnvironment("LANISTA_TEST_SEED", static_cast<int>(std::random_device()() % 1000000)));
    const SmallDisk disk(state_, "256m");
    Cluster cluster(state_, kNodes, kLostAfterSeconds);
    std::cerr << "seed " << seed << "; the network is "
              << (cluster.has_wires() ? "namespaces, veth and proxies" : "proxies alone")
              << (disk.mounted() ? "" : "; no disk can be filled") << "\n";
    ASSERT_NO_FATAL_FAILURE(cluster.StartHead());
    for (const auto& node : cluster.nodes()) node->Start();
    for (const auto& node : cluster.nodes()) {
      if (!node->sees_head_files()) std::cerr << "node " << node->name() << " works on copies\n";
    }
    for (Experiment& experiment : experiments_) {
      experiment.id = cluster.Ask({"submit", experiment.config, "--json"}).Json().value("id", "");
      ASSERT_FALSE(experiment.id.empty());
    }

    Chaos chaos(&cluster, state_, disk.mounted(), seed);
    const bool in_time = chaos.Run([&] {
      if (!Look(cluster, with_stop)) return false;
      if (failed_ || !is_long_ || chaos.InjectedAll()) return true;
      SearchOnceMore(cluster);
      return false;
    });
    std::cerr << "injected:\n" << chaos.Summary() << "\n";
    EXPECT_TRUE(in_time) << cluster.Ask({"list"}).out << cluster.Ask({"nodes"}).out;
    if (!in_time) return;
    ExpectResults();
    if (is_long_) {
      ExpectCopies(cluster);
      const std::map<std::string, int> counts = chaos.Counts();
      EXPECT_EQ(counts.size(), disk.mounted() ? 12u : 11u);
      for (const auto& [fault, count] : counts) EXPECT_GT(count, 0) << fault;
    }
    ExpectNobodyStays(&cluster);
  }

  // Nodes that do not see the head's files had their part in the results.
  void ExpectCopies(Cluster& cluster) const {
    std::map<std::string, int> succeeded;
    for (const Experiment& experiment : experiments_) {
      const nlohmann::json trials = Trials(experiment.id, state_);
      for (const nlohmann::json& model : trials["models"]) {
        for (const nlohmann::json& attempt : model["attempts"]) {
          if (attempt["outcome"] == "SUCCEEDED") ++succeeded[attempt["node"].get<std::string>()];
        }
      }
    }
    for (const auto& node : cluster.nodes()) {
      std::cerr << "node " << node->name() << ": " << succeeded[node->name()] << " models"
                << (node->sees_head_files() ? "" : ", on copies") << "\n";
      if (node->sees_head_files()) continue;
      EXPECT_TRUE(node->HasCopies()) << node->name();
      EXPECT_GT(succeeded[node->name()], 0) << node->name();
    }
  }

  // Each model has one outcome, which is that of the undisturbed run.
  void ExpectResults() const {
    std::map<std::string, int> lost;
    int attempts = 0;
    for (const Experiment& experiment : experiments_) {
      SCOPED_TRACE(experiment.id);
      const nlohmann::json trials = Trials(experiment.id, state_);
      const std::map<int, std::string> results = ResultsOf(trials);
      EXPECT_EQ(results.size(), experiment.expected.size());
      for (const auto& [model, expected] : experiment.expected) {
        const auto found = results.find(model);
        EXPECT_EQ(found == results.end() ? "nothing" : found->second, expected) << "model " << model;
      }
      for (const nlohmann::json& model : trials["models"]) {
        int decided = 0;
        for (const nlohmann::json& attempt : model["attempts"]) {
          ++attempts;
          decided += attempt["outcome"] == "SUCCEEDED" ? 1 : 0;
          if (attempt["outcome"] == "LOST") ++lost[attempt["lost_cause"].dump()];
          EXPECT_FALSE(attempt["outcome"].is_null()) << model.dump(2);
        }
        EXPECT_EQ(decided, 1) << model.dump(2);
      }
    }
    std::cerr << "attempts: " << attempts << "; lost, and made again:";
    for (const auto& [cause, count] : lost) std::cerr << " " << count << " " << cause;
    std::cerr << "\n";
  }

  // All end as they are asked to, and leave nothing behind.
  static void ExpectNobodyStays(Cluster* cluster) {
    EXPECT_FALSE(cluster->Processes("lanista-trial").empty()) << "or nothing could be found below";
    for (const auto& node : cluster->nodes()) EXPECT_TRUE(node->HasJoined(/*seconds=*/60)) << node->name();
    for (const auto& node : cluster->nodes()) node->Signal(SIGTERM);
    for (const auto& node : cluster->nodes()) EXPECT_EQ(node->Wait(), 0) << node->name();
    cluster->SignalHead(SIGTERM);
    EXPECT_EQ(cluster->WaitForHead(), 0);
    for (const pid_t pid : cluster->Processes()) EXPECT_TRUE(WaitUntilGone(pid)) << pid;
  }

  const std::string state_ = FreshFolder();
  std::vector<Experiment> experiments_;
  bool is_long_ = false;
  bool failed_ = false;
};

TEST_F(ChaosTest, NoFaultCostsAResult) { Survive(/*with_stop=*/false); }

TEST_F(ChaosTest, NoFaultCostsAResultWithAStopAndAResumeInBetween) { Survive(/*with_stop=*/true); }

}  // namespace
}  // namespace lanista
