#include "src/launcher/signal_thread.h"

#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <future>
#include <memory>
#include <string>

#include "gtest/gtest.h"
#include "src/base/output_files.h"
#include "src/launcher/exit_codes.h"
#include "src/launcher/interrupt_note.h"

namespace lanista {
namespace {

TEST(SignalThreadTest, CountsTheSignalsAndTheEarlyOnesWait) {
  CatchStopSignals();
  kill(getpid(), SIGINT);  // Nobody takes it yet.
  std::promise<void> first;
  std::promise<int> second, third;
  auto signals = std::make_unique<SignalThread>([&](int count) {
    if (count == 1) first.set_value();
    if (count == 2) second.set_value(count);
    if (count == 3) third.set_value(count);
  });
  first.get_future().wait();
  kill(getpid(), SIGTERM);
  EXPECT_EQ(second.get_future().get(), 2);
  kill(getpid(), SIGHUP);
  EXPECT_EQ(third.get_future().get(), 3);
  signals.reset();  // Ends although no signal comes.
}

TEST(InterruptNoteTest, WhatWasBegunToBeWrittenIsRemoved) {
  const std::string folder = ::testing::TempDir() + "/interrupted";
  std::filesystem::create_directories(folder);
  const auto write_until_signal = [&folder] {
    const InterruptNote note("interrupted: nothing was written");
    OutputFiles files;
    const bool written = files.Write(folder + "/finished", "x").ok() && files.Commit().ok();
    const bool begun = files.Write(folder + "/begun", "x").ok();
    if (written && begun) kill(getpid(), SIGINT);
    while (written && begun) pause();
  };
  EXPECT_EXIT(write_until_signal(), ::testing::ExitedWithCode(kExitKilled), "interrupted: nothing was written");
  EXPECT_TRUE(std::filesystem::remove(folder + "/finished"));
  EXPECT_TRUE(std::filesystem::is_empty(folder));
}

}  // namespace
}  // namespace lanista
