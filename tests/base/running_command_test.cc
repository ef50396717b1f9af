#include "src/base/running_command.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "src/base/command.h"
#include "src/base/unique_fd.h"

namespace lanista {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Event = RunningCommand::Event;

constexpr auto kNever = RunningCommand::Clock::time_point::max();

class RunningCommandTest : public ::testing::Test {
 protected:
  RunningCommandTest() : stop_(eventfd(0, EFD_CLOEXEC)) { std::signal(SIGPIPE, SIG_IGN); }

  static std::unique_ptr<RunningCommand> Shell(const std::string& script, const std::string& input_file = "") {
    auto command = RunningCommand::Start({"sh", "-c", script}, input_file);
    EXPECT_TRUE(command.ok()) << command.status();
    return command.ok() ? *std::move(command) : nullptr;
  }
  // All lines to the end.
  static std::vector<std::string> Lines(RunningCommand& command) {
    std::vector<std::string> lines;
    while (command.Next(-1, kNever) == Event::kLine) lines.push_back(command.line());
    return lines;
  }

  const UniqueFd stop_;
};

TEST_F(RunningCommandTest, OutputAndErrorsComeAsLinesAndThenTheEnd) {
  const auto command = Shell("echo one; echo two >&2; echo; printf rest; exit 7");
  EXPECT_THAT(Lines(*command), ElementsAre("one", "two", "", "rest"));
  EXPECT_EQ(command->exit_code(), 7);
  EXPECT_EQ(command->Next(-1, kNever), Event::kEnded) << "it stays at its end";
}

TEST_F(RunningCommandTest, ASignalIsAnExitCode) {
  const auto command = Shell("kill -9 $$");
  EXPECT_THAT(Lines(*command), ElementsAre());
  EXPECT_EQ(command->exit_code(), 128 + SIGKILL);
}

TEST_F(RunningCommandTest, ItIsTalkedTo) {
  const auto command = Shell("read -r name; echo \"hello $name\"; cat > /dev/null; echo bye");
  ASSERT_TRUE(command->Write("ann\n", stop_.get()).ok());
  ASSERT_EQ(command->Next(-1, kNever), Event::kLine);
  EXPECT_EQ(command->line(), "hello ann");
  command->EndInput();
  EXPECT_THAT(Lines(*command), ElementsAre("bye"));
}

TEST_F(RunningCommandTest, AFileIsItsInput) {
  const std::string path = ::testing::TempDir() + "/running_command_input_" + std::to_string(getpid());
  std::ofstream(path) << std::string(300000, 'x');
  EXPECT_THAT(Lines(*Shell("wc -c", path)), ElementsAre("300000"));
  unlink(path.c_str());
  EXPECT_TRUE(absl::IsNotFound(RunningCommand::Start({"cat"}, path).status()));
}

TEST_F(RunningCommandTest, WaitingEndsWhenItIsStoppedOrLate) {
  const auto command = Shell("read -r never");
  EXPECT_EQ(command->Next(stop_.get(), RunningCommand::Clock::now()), Event::kDeadline);
  eventfd_write(stop_.get(), 1);
  EXPECT_EQ(command->Next(stop_.get(), kNever), Event::kStopped);
  // The command does not read, and a pipe holds only 64 KiB.
  EXPECT_TRUE(absl::IsCancelled(command->Write(std::string(1 << 20, 'x'), stop_.get())));
}

TEST_F(RunningCommandTest, WhatHasEndedReadsNothing) {
  const auto command = Shell("exit 0");
  EXPECT_TRUE(absl::IsUnavailable(command->Write(std::string(1 << 20, 'x'), stop_.get())));
  EXPECT_THAT(Lines(*command), ElementsAre());
}

TEST_F(RunningCommandTest, ALongLineIsCutAndTheNextOneIsWhole) {
  const auto command = Shell("head -c 300000 /dev/zero | tr '\\0' x; echo; echo next");
  const std::vector<std::string> lines = Lines(*command);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0], std::string(64 << 10, 'x'));
  EXPECT_EQ(lines[1], "next");
}

TEST_F(RunningCommandTest, AMissingProgramIsNamed) {
  const absl::Status status = RunningCommand::Start({"no-such-program"}).status();
  EXPECT_TRUE(absl::IsNotFound(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("no-such-program"));
}

TEST_F(RunningCommandTest, NothingThatItHasStartedStays) {
  auto command = Shell("sleep 1000 & echo $!; wait");
  ASSERT_EQ(command->Next(-1, kNever), Event::kLine);
  const pid_t child = std::stoi(command->line());
  ASSERT_EQ(kill(child, 0), 0);
  command.reset();
  const auto is_gone = [child] {
    std::ifstream status("/proc/" + std::to_string(child) + "/stat");
    std::string text;
    std::getline(status, text);
    // Or a zombie, where nobody waits for orphans.
    return text.empty() || text.find(") Z ") != std::string::npos || text.find(") X ") != std::string::npos;
  };
  const auto give_up = RunningCommand::Clock::now() + std::chrono::minutes(1);
  while (!is_gone() && RunningCommand::Clock::now() < give_up)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_TRUE(is_gone());
}

TEST(CommandTest, WhereNobodyWaitsForItAnyLongerItIsKilled) {
  Command command;
  command.arguments = {"sleep", "600"};
  command.limit = std::chrono::minutes(10);
  command.ending = [] { return true; };
  command.grace = std::chrono::milliseconds(1);
  const absl::Status killed = RunCommand(command).status();
  EXPECT_TRUE(absl::IsCancelled(killed)) << killed;
  EXPECT_THAT(std::string(killed.message()), HasSubstr("sleep"));
  // What is done within the time that is left has done its work.
  command.arguments = {"echo", "done"};
  command.grace = std::chrono::minutes(10);
  const absl::StatusOr<CommandAnswer> answer = RunCommand(command);
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->output, "done\n");
}

}  // namespace
}  // namespace lanista
