// The `slurm` source, with programs of the test's instead of Slurm's.
#include <sys/stat.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <sstream>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "src/base/command.h"
#include "src/devices/node_source.h"
#include "src/devices/slurm_commands.h"

namespace lanista {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

v1::TrainingServiceConfig Block(const std::string& text) {
  v1::TrainingServiceConfig block;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &block)) << text;
  return block;
}

std::string Read(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// PATH begins with a folder of programs that are called as Slurm's are. They write their arguments into `calls`, and do
// what a test has put there.
class SlurmTest : public ::testing::Test {
 protected:
  void SetUp() override {
    // Commands may end before they have read their input.
    std::signal(SIGPIPE, SIG_IGN);
    char folder[] = "/tmp/lanista-slurm-XXXXXX";
    root_ = mkdtemp(folder);
    path_ = std::getenv("PATH");
    setenv("PATH", absl::StrCat(root_, "/bin:", path_).c_str(), 1);
    std::filesystem::create_directories(root_ + "/bin");
    std::filesystem::create_directories(root_ + "/state");
    Program("sbatch",
            "cat > ROOT/script; n=$(cat ROOT/last 2>/dev/null || echo 100); n=$((n + 1)); echo $n > ROOT/last; "
            "for a; do case $a in --job-name=*) echo \"$n|RUNNING|${a#*=}|None\" >> ROOT/queue;; esac; done; "
            "echo $n");
    Program("squeue", "cat ROOT/queue 2>/dev/null || true");
    Program("scancel", "rm -f ROOT/queue");
  }
  void TearDown() override {
    setenv("PATH", path_.c_str(), 1);
    std::filesystem::remove_all(root_);
  }

  void Program(const std::string& name, const std::string& body) {
    const std::string path = absl::StrCat(root_, "/bin/", name);
    std::ofstream(path) << "#!/bin/sh\necho \"" << name << " $*\" >> " << root_ << "/calls\nset -eu\n"
                        << absl::StrReplaceAll(body, {{"ROOT", root_}}) << "\n";
    chmod(path.c_str(), 0755);
  }
  int Calls(const std::string& program) {
    int calls = 0;
    for (const absl::string_view line : absl::StrSplit(Read(root_ + "/calls"), '\n')) {
      calls += absl::StartsWith(line, program + " ");
    }
    return calls;
  }

  std::unique_ptr<NodeSource> Make(const std::string& block = "slurm { cpus: 2 max_nodes: 3 partition: \"low\" }") {
    NodeSourceContext context;
    context.program = "/opt/it's/lanista";
    context.trial_program = "/opt/lanista-trial";
    context.head = "head:7421";
    context.state_dir = root_ + "/state";
    context.name = "nodes-0";
    auto source = NodeSourceRegistry::Get().Create(Block(block), context);
    EXPECT_TRUE(source.ok()) << source.status();
    return source.ok() ? *std::move(source) : nullptr;
  }
  static NodeSource::Situation Waiting(int trials) {
    NodeSource::Situation situation;
    situation.waiting = trials;
    return situation;
  }

  std::string root_;
  std::string path_;
};

TEST_F(SlurmTest, JobsAreSubmittedForWhatWaits) {
  const auto source = Make();
  EXPECT_EQ(source->Step(Waiting(3)).coming.size(), 2u);
  EXPECT_EQ(Calls("sbatch"), 2);
  source->Step(Waiting(3));
  EXPECT_EQ(Calls("sbatch"), 2);
  const std::string calls = Read(root_ + "/calls");
  EXPECT_THAT(calls, HasSubstr("--parsable --job-name=lanista-"));
  EXPECT_THAT(calls, HasSubstr("--cpus-per-task=2"));
  EXPECT_THAT(calls, HasSubstr("--partition=low"));
  EXPECT_THAT(calls, Not(HasSubstr("--mem")));
  const std::string script = Read(root_ + "/script");
  EXPECT_THAT(script, HasSubstr("exec srun --nodes=1 --ntasks=1 --cpus-per-task=2"));
  EXPECT_THAT(script, HasSubstr("'/opt/it'\\''s/lanista' node --head-file '" + root_ + "/state/slurm/lanista-"));
  EXPECT_THAT(script, HasSubstr("--cpu-slots 2"));
}

TEST_F(SlurmTest, TheNextHeadFindsTheJobsOfOneThatWasKilled) {
  Make()->Step(Waiting(3));
  const auto next = Make();
  EXPECT_EQ(next->Step(Waiting(3)).coming.size(), 2u);
  EXPECT_EQ(Calls("sbatch"), 2);
  EXPECT_EQ(Calls("squeue"), 2) << "each of them has looked once";
}

TEST_F(SlurmTest, AJobWhoseAnswerWasLostIsNotSubmittedAgain) {
  Program("sbatch",
          "for a; do case $a in --job-name=*) echo \"101|PENDING|${a#*=}|Priority\" >> ROOT/queue;; esac; done; "
          "echo 'sbatch: error: Unable to contact slurm controller (connect failure)' >&2; exit 1");
  const auto source = Make();
  EXPECT_THAT(source->Step(Waiting(1)).because, HasSubstr("Unable to contact slurm controller"));
  const NodeSource::Prospect prospect = source->Step(Waiting(1));
  EXPECT_EQ(prospect.coming.size(), 1u);
  EXPECT_THAT(prospect.because, HasSubstr("Priority"));
  EXPECT_EQ(Calls("sbatch"), 1);
}

TEST_F(SlurmTest, WhatSlurmRefusesIsToldInItsWords) {
  Program("sbatch", "echo 'sbatch: error: invalid partition specified: x' >&2; exit 1");
  EXPECT_THAT(Make()->Step(Waiting(1)).because, HasSubstr("invalid partition specified: x"));
}

TEST_F(SlurmTest, AMissingProgramIsNamed) {
  setenv("PATH", "/nowhere", 1);
  EXPECT_THAT(Make()->Step(Waiting(1)).because, HasSubstr("sbatch"));
}

TEST_F(SlurmTest, TwoHeadsOnOneStateFolderLeaveEachOthersJobsAlone) {
  const auto first = Make();
  EXPECT_EQ(first->Step(Waiting(3)).coming.size(), 2u);
  const auto second = Make();
  EXPECT_EQ(second->Step(Waiting(1)).coming.size(), 1u);
  EXPECT_EQ(Calls("sbatch"), 3);
  second->End();
  EXPECT_THAT(Read(root_ + "/calls"), HasSubstr("scancel --quiet 103\n"));
}

TEST_F(SlurmTest, VariablesThatHideJobsAreNotForSqueue) {
  Program("squeue", "[ -n \"${SQUEUE_STATES:-}${SLURM_JOB_ID:-}\" ] || cat ROOT/queue");
  setenv("SQUEUE_STATES", "RUNNING", 1);
  setenv("SLURM_JOB_ID", "7", 1);
  const auto source = Make();
  source->Step(Waiting(1));
  unsetenv("SQUEUE_STATES");
  unsetenv("SLURM_JOB_ID");
  EXPECT_EQ(source->Step(Waiting(1)).coming.size(), 1u);
  EXPECT_EQ(Calls("sbatch"), 1);
}

TEST_F(SlurmTest, VariablesThatHideJobsAreNotForSbatch) {
  setenv("SBATCH_CLUSTERS", "other", 1);
  setenv("SBATCH_PARTITION", "low", 1);
  Program("sbatch", "echo \"${SBATCH_CLUSTERS:-none} ${SBATCH_PARTITION:-none}\" > ROOT/seen; echo 101");
  Make()->Step(Waiting(1));
  unsetenv("SBATCH_CLUSTERS");
  unsetenv("SBATCH_PARTITION");
  EXPECT_EQ(Read(root_ + "/seen"), "none low\n");
}

TEST_F(SlurmTest, AHeadThatIsToldToEndSubmitsNoMore) {
  const auto source = Make();
  NodeSource::Situation situation = Waiting(6);
  situation.ending = [this] { return Calls("sbatch") > 0; };
  source->Step(situation);
  EXPECT_EQ(Calls("sbatch"), 1);
  const int looks = Calls("squeue");
  source->Step(situation);
  EXPECT_EQ(Calls("squeue"), looks) << "nor does it look";
  source->End();
  EXPECT_EQ(Calls("scancel"), 1) << "but what there is goes";
}

TEST_F(SlurmTest, TheEndLeavesNoJob) {
  auto source = Make();
  source->Step(Waiting(3));
  source->End();
  EXPECT_EQ(Calls("scancel"), 1);
  EXPECT_THAT(Read(root_ + "/calls"), HasSubstr("scancel --quiet 101 102"));
  EXPECT_FALSE(std::filesystem::exists(root_ + "/queue"));
  source = nullptr;
  EXPECT_EQ(Make()->Step(Waiting(0)).because, "") << "that they are gone is as it should be";
}

TEST_F(SlurmTest, AFileThatIsNoLedgerIsNotOverwritten) {
  std::ofstream(root_ + "/state/nodes-0.jobs") << "no protobuf text";
  NodeSourceContext context;
  context.state_dir = root_ + "/state";
  context.name = "nodes-0";
  const auto source = NodeSourceRegistry::Get().Create(Block("slurm {}"), context);
  EXPECT_EQ(source.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Read(root_ + "/state/nodes-0.jobs"), "no protobuf text");
}

TEST_F(SlurmTest, WithGpusTheyAreTheDevices) {
  const auto source = Make(
      "slurm { cpus: 8 gpus: 2 memory: 1073741825 time_limit { seconds: 7200 } option: \"--qos=x\" "
      "node_option: \"--tls-ca=/a b\" node_option: \"--label=gpu=a100\" node_option: \"--label=rack=7\" "
      "node_option: \"--data=mnist=/data/mnist\" }");
  const NodeSource::Prospect prospect = source->Step(Waiting(2));
  EXPECT_EQ(prospect.devices, 2);
  EXPECT_EQ(prospect.device_kind, v1::DeviceKind::GPU);
  EXPECT_EQ(prospect.labels, (std::map<std::string, std::string>{{"gpu", "a100"}, {"rack", "7"}}));
  EXPECT_EQ(prospect.data, std::vector<std::string>{"mnist"});
  const std::string calls = Read(root_ + "/calls");
  for (const char* const argument : {"--gres=gpu:2", "--mem=1025M", "--time=120", "--qos=x"}) {
    EXPECT_THAT(calls, HasSubstr(argument));
  }
  EXPECT_THAT(Read(root_ + "/script"), HasSubstr("--cpu-slots 0 --gpus 0,1 '--tls-ca=/a b' '--label=gpu=a100'"));
}

TEST(SlurmCommandsTest, SqueueIsRead) {
  const auto jobs = ParseSqueue(SqueueCommand(), {0, "4711|PENDING|lanista-ab-1|a|b\nrubbish\n\n", ""});
  ASSERT_TRUE(jobs.ok());
  ASSERT_EQ(jobs->size(), 1u);
  EXPECT_EQ((*jobs)[0].id, "4711");
  EXPECT_EQ((*jobs)[0].state, "PENDING");
  EXPECT_EQ((*jobs)[0].name, "lanista-ab-1");
  EXPECT_EQ((*jobs)[0].reason, "a|b");
}

TEST(SlurmCommandsTest, SbatchSaysAnId) {
  const Command command{{"sbatch"}};
  EXPECT_EQ(*ParseSbatch(command, {0, "4711\n", ""}), "4711");
  EXPECT_EQ(*ParseSbatch(command, {0, "4711;cluster\n", ""}), "4711");
  EXPECT_FALSE(ParseSbatch(command, {0, "Submitted\n", ""}).ok());
  EXPECT_FALSE(ParseSbatch(command, {0, "", ""}).ok());
  EXPECT_EQ(ParseSbatch(command, {1, "", "sbatch: error: no\n"}).status().message(), "sbatch: error: no");
}

TEST(SlurmCommandsTest, TimesAreLocal) {
  setenv("TZ", "UTC", 1);
  EXPECT_EQ(ParseSlurmTime("2026-11-22T19:00:00\n"), absl::FromUnixSeconds(1795374000));
  for (const char* const none : {"", "NONE", "N/A", "Unknown"}) EXPECT_FALSE(ParseSlurmTime(none).has_value());
}

TEST(SlurmCommandsTest, TheEndOfAJobIsInItsVariablesOrAskedFor) {
  setenv("TZ", "UTC", 1);
  const absl::Time end = absl::FromUnixSeconds(1795374000), now = end - absl::Minutes(10);
  std::string asked;
  CommandAnswer answer{0, "2026-11-22T19:00:00\n", ""};
  const CommandRunner squeue = [&](const Command& command) -> absl::StatusOr<CommandAnswer> {
    asked = absl::StrJoin(command.arguments, " ");
    return answer;
  };
  SlurmShare share;
  EXPECT_EQ(FindJobEnd(share, squeue, now), std::nullopt) << "no job";
  EXPECT_EQ(asked, "");
  share.job = "4711";
  EXPECT_EQ(FindJobEnd(share, squeue, now), end);
  EXPECT_THAT(asked, HasSubstr("--job=4711"));
  EXPECT_EQ(FindJobEnd(share, squeue, end + absl::Seconds(1)), std::nullopt) << "it runs, so that is not its end";
  answer.output = "NONE\n";
  EXPECT_EQ(FindJobEnd(share, squeue, now), std::nullopt);
  answer = {1, "2026-11-22T19:00:00\n", "slurm_load_jobs error: Invalid job id specified"};
  EXPECT_EQ(FindJobEnd(share, squeue, now), std::nullopt);
  asked.clear();
  share.job_end = end;
  EXPECT_EQ(FindJobEnd(share, squeue, now), end);
  EXPECT_EQ(asked, "");
}

TEST(CommandTest, ACommandsInputAndOutputsPass) {
  const auto result = RunCommand({{"sh", "-c", "tr a b; echo no >&2; exit 3"}, std::string(300000, 'a')});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->output, std::string(300000, 'b'));
  EXPECT_EQ(result->error, "no\n");
  EXPECT_EQ(result->exit_code, 3);
}

TEST(CommandTest, WhatTakesTooLongIsKilledWithAllThatItStarted) {
  const auto result = RunCommand({{"sh", "-c", "sleep 1000 & echo $!; wait"}, "", std::chrono::milliseconds(200)});
  EXPECT_EQ(result.status().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(std::string(result.status().message()), HasSubstr("sh did not end"));
}

TEST(CommandTest, AMissingProgramIsNotFound) {
  EXPECT_EQ(RunCommand({{"there-is-no-such-program"}}).status().code(), absl::StatusCode::kNotFound);
}

TEST(CommandTest, ACommandIsNoPartOfTheHeadsOwnJob) {
  setenv("SLURM_JOB_ID", "4711", 1);
  setenv("SLURM_CONF", "/x/slurm.conf", 1);
  const auto result = RunCommand({{"sh", "-c", "echo \"${SLURM_JOB_ID-none} $SLURM_CONF\""}});
  unsetenv("SLURM_JOB_ID");
  unsetenv("SLURM_CONF");
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->output, "none /x/slurm.conf\n");
}

}  // namespace
}  // namespace lanista
