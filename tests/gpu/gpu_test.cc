// Searches on a real GPU, as a user runs them. Skipped where there is none, or a LibTorch without CUDA, unless
// LANISTA_GPU_REQUIRED is set.
#include <signal.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "src/devices/local.h"
#include "tests/e2e/command.h"
#include "tests/e2e/small_graph.h"

namespace lanista {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr char kGpu[] = "training_service { local { cpu_slots: 0 gpu_indices: 0 use_active_gpu: true } }";
constexpr char kCpu[] = "training_service { local { cpu_slots: 2 } }";

// A space of kFaultyProgram: eight models, of which member 3 has this fault ("none": it has none, either).
std::string SomeBad(const std::string& fault) {
  return absl::StrCat(R"(registered: "some_bad" params { key: "fault" value { s: ")", fault,
                      R"(" } } params { key: "bad" value { list { values { i: 3 } } } })");
}

struct Search {
  std::string space = R"(registered: "mnist_cnn")";
  std::string engine = "direct {}";
  std::string training_service = kGpu;
  std::string more = "max_trial_number: 8";
};

std::string Config(const Search& search) {
  return absl::StrCat(R"(
    name: "gpu"
    strategy { random {} }
    evaluator {
      classification {
        dataset { synthetic_digits { train_samples: 400 validation_samples: 200 } }
        batch_size: 20
        max_epochs: 3
        checkpoint { interval { nanos: 100000000 } }
      }
    }
    deterministic: true
    keep_weights { best: 1 }
    trial_timeout { seconds: 120 }
    seed: 1
    space { )",
                      search.space, " } engine { ", search.engine, " } ", search.training_service, " ", search.more);
}

// Of the experiment in `state`.
std::map<int, nlohmann::json> Models(const std::string& state) {
  return ModelsOf(RunCommand(kLanista, {"trials", "latest", "--json", "--state-dir", state}).Json());
}

class GpuTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (ThisMachine(/*with_gpus=*/true).gpus.empty()) return Skip("there is no GPU here");
    folder_ = FreshFolder();
    std::ofstream(folder_ + "/net.textproto") << kSmallGraph;
    const CommandResult checked = RunCommand(kLanista, {"validate", Write({})});
    if (checked.err.find("which has no CUDA") != std::string::npos) return Skip(checked.err);
    ASSERT_EQ(checked.exit_code, 0) << checked.err;
  }

  // scripts/slow_test.sh asks for a GPU.
  static void Skip(const std::string& because) {
    if (std::getenv("LANISTA_GPU_REQUIRED") != nullptr) FAIL() << because;
    GTEST_SKIP() << because;
  }

  std::string Write(const Search& search) const {
    std::ofstream(folder_ + "/search.textproto") << Config(search);
    return folder_ + "/search.textproto";
  }

  // Runs it to its end.
  std::map<int, nlohmann::json> Run(const Search& search, const std::string& program = kLanista) const {
    const std::string state = FreshFolder();
    const CommandResult run = RunCommand(program, {"run", Write(search), "--json", "--state-dir", state});
    EXPECT_EQ(run.exit_code, 0) << run.err;
    return Models(state);
  }

  static void ExpectEqual(const std::map<int, nlohmann::json>& some, const std::map<int, nlohmann::json>& others) {
    ASSERT_EQ(some.size(), 8u);
    ASSERT_EQ(others.size(), 8u);
    for (const auto& [id, model] : some) {
      EXPECT_EQ(model["status"], others.at(id)["status"]);
      EXPECT_EQ(model["sample"], others.at(id)["sample"]);
      EXPECT_EQ(model["metrics"], others.at(id)["metrics"]) << model["sample"];
    }
  }

  std::string folder_;
};

TEST_F(GpuTest, ModelsLearnThereAsTheyDoOnACpu) {
  Search search;
  const auto on_gpu = Run(search);
  search.training_service = kCpu;
  const auto on_cpu = Run(search);
  ASSERT_EQ(on_gpu.size(), 8u);
  double sum = 0;
  for (const auto& [id, model] : on_gpu) {
    ASSERT_EQ(model["status"], "SUCCEEDED") << model;
    EXPECT_EQ(model["attempts"][0]["device"], "cuda:0");
    EXPECT_EQ(model["params"], on_cpu.at(id)["params"]);
    sum += double(model["metrics"]["final"]["default"]) - double(on_cpu.at(id)["metrics"]["final"]["default"]);
  }
  // Dropout draws other numbers on a GPU: single models may differ by more than their mean.
  EXPECT_LT(std::abs(sum / 8), 0.1);
}

TEST_F(GpuTest, TheSameSeedGivesTheSameBits) { ExpectEqual(Run({}), Run({})); }

TEST_F(GpuTest, MergedModelsReportExactlyWhatTheyWouldAlone) {
  const std::map<std::string, std::string> programs = {
      {R"(registered: "mnist_cnn")", kLanista}, {R"(registered: "mlp")", kLanista}, {SomeBad("none"), kFaultyProgram}};
  for (const auto& [space, program] : programs) {
    SCOPED_TRACE(space);
    Search search{space};
    const auto alone = Run(search, program);
    search.engine = "cgo { max_concurrency_cgo: 4 batch_waiting_time: 10 }";
    const auto merged = Run(search, program);
    ExpectEqual(merged, alone);
    for (const auto& [id, model] : merged) EXPECT_EQ(model["attempts"][0]["merged_with"].size(), 3u) << model;
  }
}

TEST_F(GpuTest, MergedGraphsReportExactlyWhatTheyWouldAlone) {
  Search search{kSmallGraphSpace, "graph {}"};
  const auto alone = Run(search);
  search.engine = "cgo { max_concurrency_cgo: 4 batch_waiting_time: 10 }";
  const auto merged = Run(search);
  ExpectEqual(merged, alone);
  for (const auto& [id, model] : merged) EXPECT_EQ(model["attempts"][0]["merged_with"].size(), 3u) << model;
}

TEST_F(GpuTest, OneBadModelOfEightFailsAloneWithItsOwnReason) {
  const struct {
    const char* fault;
    const char* reason;
    const char* message;
  } kFaults[] = {{"throw", "EXCEPTION", "this model throws"},
                 {"shape", "EXCEPTION", "layer 'output'"},
                 {"late nan", "NAN_LOSS", "loss is NaN"},
                 {"segfault", "SIGNAL", "the trial process was ended by signal 11"},
                 {"memory", "OUT_OF_MEMORY", "CUDA out of memory"},
                 {"index", "EXCEPTION", "CUDA error: device-side assert"}};
  for (const char* const engine : {"direct {}", "cgo { batch_waiting_time: 1 }"}) {
    const auto good = Run({SomeBad("none"), engine}, kFaultyProgram);
    for (const auto& fault : kFaults) {
      SCOPED_TRACE(absl::StrCat(engine, " ", fault.fault));
      const auto models = Run({SomeBad(fault.fault), engine}, kFaultyProgram);
      ASSERT_EQ(models.size(), 8u);
      for (const auto& [id, model] : models) {
        SCOPED_TRACE(model.dump());
        if (model["sample"]["member"] != 3) {
          EXPECT_EQ(model["status"], "SUCCEEDED");
          EXPECT_EQ(model["metrics"], good.at(id)["metrics"]);
          continue;
        }
        EXPECT_EQ(model["status"], "FAILED");
        EXPECT_EQ(model["failure"]["reason"], fault.reason);
        EXPECT_THAT(model["failure"]["message"].get<std::string>(), StartsWith(fault.message));
      }
    }
  }
}

TEST_F(GpuTest, AKilledSearchGoesOnToTheSameBits) {
  const auto undisturbed = Run({});
  const std::string state = FreshFolder();
  const std::string config = Write({});
  for (int life = 0; life < 3; ++life) {
    BackgroundCommand head(kLanista, life == 0 ? std::vector<std::string>{"run", config, "--state-dir", state}
                                               : std::vector<std::string>{"resume", "latest", "--state-dir", state});
    ASSERT_TRUE(head.WaitForLine(" succeeded"));
    kill(head.pid(), SIGKILL);
    head.Wait();
  }
  ASSERT_EQ(RunCommand(kLanista, {"resume", "latest", "--state-dir", state}).exit_code, 0);
  ExpectEqual(Models(state), undisturbed);
}

TEST_F(GpuTest, ExportedWeightsNeedNoGpu) {
  const std::string state = FreshFolder();
  ASSERT_EQ(RunCommand(kLanista, {"run", Write({kSmallGraphSpace, "graph {}"}), "--state-dir", state}).exit_code, 0);
  int files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(state)) {
    if (entry.path().filename() != "weights.pt") continue;
    ++files;
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    EXPECT_THAT(bytes, AllOf(HasSubstr("cpu"), Not(HasSubstr("cuda"))));
  }
  EXPECT_EQ(files, 1);
}

TEST_F(GpuTest, AGpuServesWithinTheHeadsProcess) {
  Search search;
  search.training_service = "training_service { local { cpu_slots: 0 gpu_indices: 0 isolation: IN_PROCESS } }";
  // Trial processes get this variable from their head.
  setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8", /*overwrite=*/1);
  const auto within = Run(search, kLanistaTrial);
  unsetenv("CUBLAS_WORKSPACE_CONFIG");
  ExpectEqual(within, Run({}));
}

TEST_F(GpuTest, ANodeOffersItsGpu) {
  const std::string head_file = FreshFolder() + "/head";
  BackgroundCommand head(kLanista, {"serve", "--listen", "127.0.0.1:0", "--head-file", head_file, "--cpu-slots", "0",
                                    "--state-dir", FreshFolder()});
  ASSERT_TRUE(head.WaitForLine("listening on 127.0.0.1:"));
  std::string address;
  std::getline(std::ifstream(head_file), address);
  BackgroundCommand node(kLanista, {"node", "--head", address, "--cpu-slots", "0", "--gpus", "0", "--name", "box"});
  ASSERT_TRUE(node.WaitForLine(absl::StrCat("joined ", address, " as box")));
  Search search;
  search.training_service = "";
  const CommandResult run = RunCommand(kLanista, {"submit", Write(search), "--watch", "--head", address});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const nlohmann::json trials = RunCommand(kLanista, {"trials", "latest", "--json", "--head", address}).Json();
  ASSERT_EQ(trials["models"].size(), 8u);
  for (const nlohmann::json& model : trials["models"]) {
    EXPECT_EQ(model["status"], "SUCCEEDED") << model;
    EXPECT_EQ(model["attempts"][0]["device"], "cuda:0");
    EXPECT_EQ(model["attempts"][0]["node"], "box");
  }
}

TEST_F(GpuTest, AGpuThatOthersUseIsRefusedUnlessItMayBeShared) {
  Search endless;
  endless.more = "max_trial_number: 1000";
  BackgroundCommand other(
      kLanista, {"run", Write(endless), "--set", "strategy={ random { dedup: false } }", "--state-dir", FreshFolder()});
  ASSERT_TRUE(other.WaitForLine(" succeeded"));
  Search search;
  search.training_service = "training_service { local { gpu_indices: 0 } }";
  const CommandResult refused = RunCommand(kLanista, {"run", Write(search), "--state-dir", FreshFolder()});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr("use_active_gpu: true"));
}

}  // namespace
}  // namespace lanista
