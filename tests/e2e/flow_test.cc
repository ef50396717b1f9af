// Trials that report faster than a journal can write, as a user sees them, and what their head needs.
#include <signal.h>
#include <sys/mount.h>

#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gtest/gtest.h"
#include "src/storage/sqlite.h"
#include "tests/e2e/command.h"

namespace lanista {
namespace {

// Model 1 reports REPORTS numbers as fast as it can; the next one waits until it is canceled.
constexpr char kReportingSearch[] = R"(
  name: "reporting"
  space { registered: "faulty" }
  strategy { grid_search {} }
  evaluator { custom { name: "reporting" params { key: "reports" value { i: REPORTS } } } }
  training_service { local { cpu_slots: 1 } }
  seed: 1
)";

// What a trial reports; scripts/slow_test.sh sets more.
int64_t Reports() { return NumberFromEnvironment("LANISTA_TEST_REPORTS", 50000); }

std::string ReportingConfig(int64_t reports) {
  return WriteFile("reporting.textproto", absl::StrReplaceAll(kReportingSearch, {{"REPORTS", absl::StrCat(reports)}}));
}

// The most memory that a process has had so far, in KiB.
int64_t PeakMemory(pid_t pid) {
  std::ifstream status(absl::StrCat("/proc/", pid, "/status"));
  for (std::string word; status >> word;) {
    if (word != "VmHWM:") continue;
    int64_t kilobytes = 0;
    status >> kilobytes;
    return kilobytes;
  }
  ADD_FAILURE() << "process " << pid << " has no VmHWM";
  return 0;
}

// Model 1 of the one experiment in `state` has so many reports in its journal, each once and in order.
void ExpectReports(const std::string& state, int64_t reports) {
  const std::string file =
      absl::StrCat(state, "/experiments/", OnlyExperiment(state)["id"].get<std::string>(), "/journal.db");
  const absl::StatusOr<SqliteDatabase> database = SqliteDatabase::Open(file, SQLITE_OPEN_READONLY);
  ASSERT_TRUE(database.ok()) << database.status();
  absl::StatusOr<SqliteStatement> counts = database->Prepare(
      "SELECT COUNT(*), COUNT(DISTINCT step), SUM(value = step AND sequence = step + 2) FROM metric "
      "WHERE model = 1 AND step IS NOT NULL");
  ASSERT_TRUE(counts.ok()) << counts.status();
  ASSERT_TRUE(counts->Start().ok());
  ASSERT_TRUE(counts->Next().value_or(false));
  for (const int column : {0, 1, 2}) EXPECT_EQ(counts->Int64(column), reports) << column;
}

// The head's most memory while a trial reported so much.
int64_t PeakMemoryOfReports(int64_t reports) {
  const std::string state = FreshFolder();
  BackgroundCommand run(kFaultyProgram, {"run", ReportingConfig(reports), "--state-dir", state});
  EXPECT_TRUE(run.WaitForLine("model 1 succeeded", /*seconds=*/600));
  const int64_t peak = PeakMemory(run.pid());
  kill(run.pid(), SIGINT);
  EXPECT_EQ(run.Wait(), 1);
  ExpectReports(state, reports);
  return peak;
}

TEST(FlowTest, MemoryDoesNotGrowWithWhatATrialReports) {
  const int64_t few = PeakMemoryOfReports(Reports() / 10);
  const int64_t many = PeakMemoryOfReports(Reports());
  RecordProperty("few_kb", static_cast<int>(few));
  RecordProperty("many_kb", static_cast<int>(many));
  EXPECT_LT(many, few + (16 << 10)) << "KiB";
}

TEST(FlowTest, ATrialThatReportsForEverIsCanceledOnCtrlC) {
  const std::string state = FreshFolder();
  BackgroundCommand run(kFaultyProgram, {"run", ReportingConfig(int64_t{1} << 40), "--state-dir", state});
  ASSERT_TRUE(run.WaitForLine("models in the space"));
  const std::vector<pid_t> children = run.Children();
  kill(run.pid(), SIGINT);
  EXPECT_EQ(run.Wait(), 1);
  for (const pid_t child : children) EXPECT_TRUE(WaitUntilGone(child));
  EXPECT_EQ(OnlyExperiment(state)["status"], "STOPPED");
  EXPECT_EQ(OnlyExperiment(state)["models"]["canceled"], OnlyExperiment(state)["models"]["total"]);
}

TEST(FlowTest, ATrialWaitsForAFullDiskAndThatDoesNotCountAsItsTime) {
  const std::string state = FreshFolder();
  if (mount("tmpfs", state.c_str(), "tmpfs", 0, "size=400k") != 0) GTEST_SKIP() << "cannot mount a small disk here";
  constexpr int64_t kReports = 10000;
  const std::string config = ReportingConfig(kReports);
  BackgroundCommand run(kFaultyProgram, {"run", config, "--state-dir", state, "--set", "trial_timeout=4s"});
  ASSERT_TRUE(run.WaitForLine("models in the space"));
  EXPECT_FALSE(run.WaitForLine("model 1", /*seconds=*/6)) << "the time limit is over by now";
  ASSERT_EQ(mount("tmpfs", state.c_str(), "tmpfs", MS_REMOUNT, "size=256m"), 0);
  EXPECT_TRUE(run.WaitForLine("model 1 succeeded"));
  kill(run.pid(), SIGINT);
  EXPECT_EQ(run.Wait(), 1);
  ExpectReports(state, kReports);
  umount(state.c_str());
}

}  // namespace
}  // namespace lanista
