// `remote { machine_list {} }`, with a program of the test's instead of ssh: it runs on this machine what it is given
// for another one, in a cache folder of the test's.
#include "src/devices/ssh_machine.h"

#include <sys/stat.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "src/base/command.h"
#include "src/devices/node_source.h"
#include "src/devices/ssh_commands.h"

namespace lanista {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr char kToken[] = "0123456789abcdef0123456789abcdef";

std::string Read(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// Waits for something that other processes do, however long that takes.
bool Becomes(const std::function<bool()>& condition) {
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (std::chrono::steady_clock::now() < give_up) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return false;
}

class SshMachineTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::signal(SIGPIPE, SIG_IGN);
    char folder[] = "/tmp/lanista-ssh-XXXXXX";
    root_ = mkdtemp(folder);
    path_ = std::getenv("PATH");
    setenv("PATH", absl::StrCat(root_, "/bin:", path_).c_str(), 1);
    std::filesystem::create_directories(root_ + "/bin");
    // The last argument is the command, which a login shell runs.
    Program("bin/ssh",
            "for last; do :; done\n"
            "case \"$*\" in *' -R 0:'*) echo 'Allocated port 4711 for remote forward to x:1' >&2;; esac\n"
            "cat ROOT/refuses >&2 2> /dev/null && exit 255\n"
            "XDG_CACHE_HOME=ROOT/cache\nexport XDG_CACHE_HOME\nexec sh -c \"$last\"");
    // Both stay until they are told to end.
    Program("lanista",
            "echo joined\n[ \"$(cat \"$5\")\" = TOKEN ] || exit 9\n"
            "trap 'echo left >> ROOT/ends; exit 0' TERM\ntouch ROOT/up\n"
            "while [ ! -f ROOT/breaks ]; do sleep 0.02; done\ncat ROOT/breaks >&2; exit 7");
    Program("lanista-trial", "exit 0");
  }
  void TearDown() override {
    setenv("PATH", path_.c_str(), 1);
    std::filesystem::remove_all(root_);
  }

  // A script that notes how it was called.
  void Program(const std::string& name, const std::string& body) {
    const std::string path = absl::StrCat(root_, "/", name);
    const std::string base = std::filesystem::path(name).filename();
    std::ofstream(path) << "#!/bin/sh\necho \"" << base << " $*\" >> " << root_ << "/calls\n"
                        << absl::StrReplaceAll(body, {{"ROOT", root_}, {"TOKEN", kToken}}) << "\n";
    chmod(path.c_str(), 0755);
  }
  // The node is there, and notices when it is told to end.
  bool IsUp() const {
    return Becomes([this] { return std::filesystem::exists(root_ + "/up"); });
  }
  void Write(const std::string& name, const std::string& text) const { std::ofstream(root_ + "/" + name) << text; }
  std::string Calls() const { return Read(root_ + "/calls"); }
  // Lines of `calls` that begin with this.
  int Count(const std::string& beginning) const {
    int count = 0;
    for (const absl::string_view line : absl::StrSplit(Calls(), '\n')) count += absl::StartsWith(line, beginning);
    return count;
  }
  // Files below the folder of the machine that are named so.
  std::vector<std::string> Found(const std::string& name) const {
    std::vector<std::string> found;
    // Files may go while they are looked for.
    std::error_code error;
    std::filesystem::recursive_directory_iterator entry(root_ + "/cache", error), end;
    for (; !error && entry != end; entry.increment(error)) {
      if (entry->path().filename() == name) found.push_back(entry->path());
    }
    return found;
  }

  NodeSourceContext Context() const {
    NodeSourceContext context;
    context.program = root_ + "/lanista";
    context.trial_program = root_ + "/lanista-trial";
    context.head = "head:7421";
    context.tunnel_end = "127.0.0.1:7422";
    context.tunnel_token = kToken;
    return context;
  }
  static absl::StatusOr<std::unique_ptr<NodeSource>> Create(const std::string& remote,
                                                            const NodeSourceContext& context) {
    v1::TrainingServiceConfig block;
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString("remote { " + remote + " }", &block)) << remote;
    return NodeSourceRegistry::Get().Create(block, context);
  }
  std::unique_ptr<NodeSource> Make(const std::string& remote) const {
    auto source = Create(remote, Context());
    EXPECT_TRUE(source.ok()) << source.status();
    return source.ok() ? *std::move(source) : nullptr;
  }
  // A machine whose second try comes soon.
  SshMachine::Options Options() const {
    SshMachine::Options options;
    options.config.set_host("gpu1");
    options.name = "gpu1";
    options.key = "key-0";
    // Their digests are those of the files.
    options.program = {root_ + "/lanista", "lanista", Digest("lanista")};
    options.trial_program = {root_ + "/lanista-trial", "lanista-trial", Digest("lanista-trial")};
    options.tunnel_end = "127.0.0.1:7422";
    options.token = kToken;
    options.first_delay = options.longest_delay = std::chrono::milliseconds(1);
    return options;
  }
  std::string Digest(const std::string& name) const {
    const absl::StatusOr<CommandAnswer> answer = RunCommand({{"sha256sum", root_ + "/" + name}});
    EXPECT_TRUE(answer.ok()) << answer.status();
    return answer.ok() ? answer->output.substr(0, 64) : "";
  }

  std::string root_;
  std::string path_;
};

TEST_F(SshMachineTest, ANodeIsStartedWithWhatItNeedsAndEndedWithoutATrace) {
  const auto source = Make(
      "machine_list { host: 'gpu1' port: 2222 user: 'ann' gpu_indices: [0, 2] cpu_slots: 1 "
      "node_option: \"--cache-dir=/a b/it's $HOME\" }");
  ASSERT_NE(source, nullptr);
  ASSERT_TRUE(Becomes([this] { return Count("lanista node") == 1; })) << Calls();
  const std::string calls = Calls();
  EXPECT_THAT(calls, HasSubstr("-o BatchMode=yes -o StrictHostKeyChecking=yes"));
  EXPECT_THAT(calls, HasSubstr("-p 2222 -l ann "));
  EXPECT_THAT(calls, HasSubstr("-R 0:127.0.0.1:7422 -- gpu1 "));
  EXPECT_THAT(calls, Not(HasSubstr(kToken))) << "every user of a machine sees the arguments of programs";
  EXPECT_THAT(calls, HasSubstr("lanista node --head 127.0.0.1:4711 --token-file " + root_ + "/cache/lanista/nodes/"));
  EXPECT_THAT(calls,
              HasSubstr("--name gpu1 --give-up-after 120 --cpu-slots 1 --gpus 0,2 --cache-dir=/a b/it's $HOME\n"));
  ASSERT_TRUE(IsUp());
  const std::vector<std::string> tokens = Found("token");
  ASSERT_EQ(tokens.size(), 1u);
  struct stat status = {};
  ASSERT_EQ(stat(tokens[0].c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);

  const NodeSource::Prospect prospect = source->Step({});
  ASSERT_EQ(prospect.coming.size(), 1u);
  EXPECT_EQ(prospect.coming[0].name(), "gpu1");
  EXPECT_EQ(prospect.coming[0].condition(), v1::NodeStatus::COMING);
  EXPECT_EQ(prospect.coming[0].devices(), 3);
  EXPECT_EQ(prospect.devices, 3);
  NodeSource::Situation joined;
  joined.nodes.emplace_back().set_name("gpu1");
  EXPECT_THAT(source->Step(joined).coming, IsEmpty());
  EXPECT_EQ(source->Step(joined).because, "");
  joined.nodes[0].set_condition(v1::NodeStatus::SILENT);
  EXPECT_THAT(source->Step(joined).coming, IsEmpty()) << "it is in the list of nodes already";
  EXPECT_THAT(source->Step(joined).because, HasSubstr("node gpu1: is started"));

  source->End();
  EXPECT_EQ(Read(root_ + "/ends"), "left\n");
  EXPECT_FALSE(std::filesystem::exists(root_ + "/cache/lanista/nodes"));
}

TEST_F(SshMachineTest, ProgramsAreCopiedOnlyWhereTheyDiffer) {
  {
    const SshMachine machine(Options());
    ASSERT_TRUE(Becomes([this] { return Count("lanista node") == 1; })) << Calls();
  }
  ASSERT_EQ(Found("lanista").size(), 2u) << "the folder and the program";
  const int calls = Count("ssh ");
  {
    const SshMachine again(Options());
    ASSERT_TRUE(Becomes([this] { return Count("lanista node") == 2; })) << Calls();
  }
  EXPECT_EQ(Count("ssh "), calls + 2) << "a look and a node";
  // One that was damaged there, and a new build.
  std::ofstream(Found("lanista-trial").at(0)) << "damaged";
  Program("lanista", "echo another build");
  {
    const SshMachine other(Options());
    ASSERT_TRUE(Becomes([this] { return Count("lanista node") >= 3; })) << Calls();
  }
  EXPECT_EQ(Found("lanista").size(), 3u);
  EXPECT_THAT(Read(Found("lanista-trial").at(0)), HasSubstr("exit 0"));
}

TEST_F(SshMachineTest, WhatANodeUsesStaysThereHoweverLongItRuns) {
  // A day is short here.
  Program("bin/timeout", "shift\nPATH=${PATH#*:} exec timeout 0.05 \"$@\"");
  const SshMachine machine(Options());
  ASSERT_TRUE(IsUp()) << Calls();
  ASSERT_TRUE(Becomes([this] { return Found("pid").size() == 1; }));
  const auto now = std::filesystem::file_time_type::clock::now();
  for (const std::string& file : {Found("token").at(0), Found("lanista").at(1), Found("lanista-trial").at(0)}) {
    const std::string folder = std::filesystem::path(file).parent_path();
    std::filesystem::last_write_time(folder, now - std::chrono::hours(24 * 40));
    EXPECT_TRUE(Becomes([&] { return std::filesystem::last_write_time(folder) > now - std::chrono::hours(1); }))
        << file;
  }
}

TEST_F(SshMachineTest, OneProgramThatIsBothIsCopiedOnce) {
  SshMachine::Options options = Options();
  options.trial_program = options.program;
  const SshMachine machine(options);
  ASSERT_TRUE(Becomes([this] { return Count("lanista node") == 1; })) << Calls();
  EXPECT_EQ(Count("ssh "), 4) << "two looks, one copy, one node";
  EXPECT_THAT(Found("lanista-trial"), IsEmpty());
}

TEST_F(SshMachineTest, WhyThereIsNoNodeIsToldInTheWordsOfSsh) {
  Write("refuses",
        "@@@@@@@@@@@@@\n"
        "No ED25519 host key is known for gpu1 and you have requested strict checking.\r\n"
        "Host key verification failed.\r\n");
  const auto source = Make("machine_list { host: 'gpu1' }");
  ASSERT_NE(source, nullptr);
  NodeSource::Prospect prospect;
  ASSERT_TRUE(Becomes([&] {
    prospect = source->Step({});
    return absl::StrContains(prospect.because, "Host key");
  }));
  EXPECT_EQ(prospect.because,
            "node gpu1: No ED25519 host key is known for gpu1 and you have requested strict checking. "
            "Host key verification failed.");
  EXPECT_EQ(prospect.coming[0].because(), prospect.because.substr(std::string("node gpu1: ").size()));
  EXPECT_EQ(prospect.devices, 0) << "nobody may count on them";
  source->End();
}

TEST_F(SshMachineTest, ANodeThatBreaksIsStartedAgainAndOneThatLeavesIsNot) {
  SshMachine machine(Options());
  ASSERT_TRUE(Becomes([this] { return Count("lanista node") == 1; })) << Calls();
  Write("breaks", "lanista: error: the disk is on fire\n");
  ASSERT_TRUE(Becomes([this] { return Count("lanista node") >= 3; })) << Calls();
  std::filesystem::remove(root_ + "/breaks");
  ASSERT_TRUE(Becomes([this] { return !Found("pid").empty(); }));
  // As `drain` does: it ends with exit code 0. A node is told once it notices that, and told again where it was the one
  // that still breaks. Told at each look, none would live long enough to notice.
  ASSERT_TRUE(Becomes([this, &machine] {
    if (std::filesystem::remove(root_ + "/up")) {
      for (const std::string& pid : Found("pid")) {
        const int number = std::atoi(Read(pid).c_str());
        if (number > 0) kill(number, SIGTERM);
      }
    }
    return absl::StartsWith(machine.state().because, "left");
  }));
  EXPECT_FALSE(machine.state().may_come);
  const int starts = Count("lanista node");
  machine.Stop();
  EXPECT_EQ(Count("lanista node"), starts);
  EXPECT_FALSE(std::filesystem::exists(root_ + "/cache/lanista/nodes"));
}

TEST_F(SshMachineTest, ANodeThatALostConnectionLeftThereIsEndedFirst) {
  // ssh goes, and what it has started stays and hears nothing of that: as where a cable is pulled.
  Program("bin/ssh",
          "for last; do :; done\nXDG_CACHE_HOME=ROOT/cache\nexport XDG_CACHE_HOME\n"
          "case \"$*\" in *' -R 0:'*) ;; *) exec sh -c \"$last\";; esac\n"
          "echo 'Allocated port 4711 for remote forward to x:1' >&2\n"
          "[ ! -f ROOT/cut ] || exec sh -c \"$last\"\n"
          "mkfifo ROOT/input\n"
          "setsid sh -c \"$last\" < ROOT/input > /dev/null 2>&1 &\n"
          "{ while [ -d ROOT ]; do sleep 0.1; done; } < /dev/null > ROOT/input 2> /dev/null &\n"
          "exec 3<&0\ncat <&3 > ROOT/input &\n"
          "while [ ! -f ROOT/cut ]; do sleep 0.02; done\nkill $!\necho 'Connection lost' >&2\nexit 255");
  SshMachine machine(Options());
  ASSERT_TRUE(IsUp()) << Calls();
  ASSERT_TRUE(Becomes([this] { return Found("pid").size() == 1; }));
  Write("cut", "");
  ASSERT_TRUE(Becomes([this] { return Count("lanista node") == 2; })) << Calls();
  EXPECT_EQ(Read(root_ + "/ends"), "left\n") << "the first one, before the second one began";
  machine.Stop();
}

TEST_F(SshMachineTest, LibrariesThatAreMissingAreNamedWithTheirPackages) {
  Program("bin/ldd",
          "echo '  libtorch.so.9 => not found'; echo \"$1: /lib/libc.so.6: version \\`GLIBC_2.99' not found\"");
  Program("bin/dpkg-query", "echo 'libtorch9:amd64: /usr/lib/x86_64-linux-gnu/libtorch.so.9'");
  const auto source = Make("machine_list { host: 'gpu1' }");
  ASSERT_NE(source, nullptr);
  std::string because;
  ASSERT_TRUE(Becomes([&] {
    because = source->Step({}).because;
    return absl::StrContains(because, "it lacks");
  }));
  EXPECT_THAT(because, HasSubstr("it lacks libtorch.so.9, "));
  EXPECT_THAT(because, HasSubstr("version `GLIBC_2.99' not found"));
  EXPECT_THAT(because, HasSubstr("(apt-get install libtorch9)"));
  EXPECT_THAT(Calls(), HasSubstr("dpkg-query --search */libtorch.so.9\n"));
  EXPECT_EQ(Count("lanista node"), 0);
  source->End();
}

TEST_F(SshMachineTest, AnotherKindOfProcessorIsNamed) {
  Program("bin/uname", "echo s390x");
  SshMachine machine(Options());
  ASSERT_TRUE(Becomes([&] { return absl::StrContains(machine.state().because, "its processors are s390x"); }));
  EXPECT_EQ(Count("lanista node"), 0);
  EXPECT_THAT(Found("lanista-trial"), IsEmpty()) << "nothing is copied";
}

TEST_F(SshMachineTest, WhatIsCopiedOntoAFullDiskIsNotKept) {
  Program("bin/cat",
          "[ $# -eq 0 ] || exec /bin/cat \"$@\"\n/bin/cat > /dev/null\n"
          "echo 'cat: write error: No space left on device' >&2; exit 1");
  SshMachine machine(Options());
  ASSERT_TRUE(Becomes([&] { return absl::StrContains(machine.state().because, "No space left on device"); }))
      << machine.state().because;
  EXPECT_THAT(machine.state().because, HasSubstr("lanista cannot be copied: "));
  EXPECT_THAT(Found(".lanista.key-0"), IsEmpty());
}

TEST_F(SshMachineTest, TheEndDoesNotWaitForAMachineThatHangs) {
  Program("bin/ssh", "touch ROOT/hangs; sleep 1000");
  const auto source = Make("machine_list { host: 'gpu1' } machine_list { host: 'gpu1' }");
  ASSERT_NE(source, nullptr);
  EXPECT_THAT(source->Step({}).because, HasSubstr("node gpu1: "));
  EXPECT_THAT(source->Step({}).because, HasSubstr("; node gpu1.2: "));
  ASSERT_TRUE(Becomes([this] { return std::filesystem::exists(root_ + "/hangs"); }));
  source->End();
}

TEST_F(SshMachineTest, NoTwoNodesHaveOneName) {
  Program("bin/ssh", "exit 255");
  const NodeSourceContext context = Context();
  const auto first =
      Create("machine_list { host: 'a.2' } machine_list { host: 'a' } machine_list { host: 'a' }", context);
  const auto second = Create("machine_list { host: 'a' }", context);
  ASSERT_TRUE(first.ok() && second.ok());
  std::vector<std::string> names;
  for (const auto* const source : {&first, &second}) {
    for (const v1::NodeStatus& node : (**source)->Step({}).coming) names.push_back(node.name());
  }
  EXPECT_THAT(names, ElementsAre("a.2", "a", "a.3", "a.4"));
}

TEST_F(SshMachineTest, AMissingKeyFileIsNamedByItsField) {
  const auto source =
      Create("machine_list { host: 'a' } machine_list { host: 'b' ssh_key_file: '/nowhere/key' }", Context());
  ASSERT_FALSE(source.ok());
  EXPECT_THAT(std::string(source.status().message()), HasSubstr("remote.machine_list[1].ssh_key_file: /nowhere/key"));
  EXPECT_EQ(Count("ssh "), 0) << "nothing was started";
}

TEST_F(SshMachineTest, AMissingProgramIsNamed) {
  const SshMachine::Options options = Options();
  setenv("PATH", "/nowhere", 1);
  const SshMachine machine(options);
  ASSERT_TRUE(Becomes([&] { return absl::StrContains(machine.state().because, "cannot start ssh"); }));
}

TEST(SshCommandsTest, ThePortOfATunnelIsRead) {
  EXPECT_EQ(ParseAllocatedPort("Allocated port 38211 for remote forward to 127.0.0.1:7421"), 38211);
  for (const char* const other :
       {"", "Allocated port x for", "Allocated port 0 for", "Allocated port 70000 for", "allocated port 1 for"}) {
    EXPECT_EQ(ParseAllocatedPort(other), std::nullopt) << other;
  }
}

TEST(SshCommandsTest, CommandsAreFitForAnyLoginShell) {
  const NodeProgram program{"/a/lanista", "lanista", std::string(64, 'a')};
  for (const std::string& command : {RunScriptFromInput(StartScript()), CopyCommand(program, "key-0")}) {
    const size_t quote = command.find('\'');
    ASSERT_NE(quote, std::string::npos);
    EXPECT_EQ(command.find('\'', quote + 1), command.size() - 1) << command;
    EXPECT_EQ(command.find_first_of("\n!\\"), std::string::npos) << command;
  }
}

TEST(SshCommandsTest, AnswersAreToldFromWhatALoginShellPrints) {
  Looked looked;
  for (const char* const line : {"lanista: machine x86_64", "lanista: has abc", "lanista: lacks libx.so.1 => not found",
                                 "lanista: lacks libx.so.1 => not found", "lanista: looked"}) {
    EXPECT_TRUE(ParseLookedLine(line, &looked)) << line;
  }
  for (const char* const line : {"Welcome to gpu1!", "lanista", "lanista: other"}) {
    EXPECT_FALSE(ParseLookedLine(line, &looked)) << line;
  }
  EXPECT_EQ(looked.machine, "x86_64");
  EXPECT_THAT(looked.programs, ElementsAre("abc"));
  EXPECT_THAT(looked.libraries, ElementsAre("libx.so.1"));
  EXPECT_TRUE(looked.complete);
}

}  // namespace
}  // namespace lanista
