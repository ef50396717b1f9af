#include "src/launcher/signal_thread.h"

#include <signal.h>
#include <unistd.h>

#include <future>
#include <memory>

#include "gtest/gtest.h"

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

}  // namespace
}  // namespace lanista
