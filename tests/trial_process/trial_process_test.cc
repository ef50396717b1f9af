#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <cstdlib>
#include <fstream>
#include <mutex>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "src/base/framing.h"
#include "src/trial_process/event_window.h"
#include "src/trial_process/parent.h"

namespace lanista {
namespace {

using ::testing::HasSubstr;

// A channel to the fake trial program, and what came back.
class TrialProcessTest : public ::testing::Test {
 protected:
  void Start(int64_t memory_limit = 0) {
    v1::Device device;
    device.set_memory_limit(memory_limit);
    Start(device);
  }

  void Start(v1::Device device) {
    channel_ = MakeTrialProcess(std::getenv("FAKE_TRIAL_PROGRAM"));
    device.set_threads(3);
    const absl::Status status = channel_->Start(device, {[this](v1::TrialEvent event) {
                                                           const std::lock_guard<std::mutex> lock(mutex_);
                                                           said_.push_back(event.ended().experiment());
                                                           if (event.has_model()) events_.push_back(event.model());
                                                           changed_.notify_all();
                                                         },
                                                         [this](v1::ProcessExited exited) {
                                                           const std::lock_guard<std::mutex> lock(mutex_);
                                                           exits_.push_back(exited);
                                                           changed_.notify_all();
                                                         }});
    ASSERT_TRUE(status.ok()) << status;
  }

  void Order(const std::string& order) {
    v1::TrialRequest request;
    request.mutable_run()->set_experiment(order);
    ASSERT_EQ(channel_->Send(request), absl::OkStatus());
  }

  // The same for a trial of model 1.
  void OrderTrial(const std::string& order) {
    v1::TrialRequest request;
    request.mutable_run()->set_experiment(order);
    request.mutable_run()->add_models()->set_model(1);
    ASSERT_EQ(channel_->Send(request), absl::OkStatus());
  }

  // Waits for so many events, or for the end of the process; returns all events.
  std::vector<std::string> Said(size_t count) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return said_.size() >= count || !exits_.empty(); });
    return said_;
  }

  v1::ProcessExited Exit() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return !exits_.empty(); });
    return exits_[0];
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> said_;
  std::vector<v1::ModelEvent> events_;
  std::vector<v1::ProcessExited> exits_;
  std::unique_ptr<TrialChannel> channel_;
};

TEST_F(TrialProcessTest, SetsUpAndAnswersInOrder) {
  Start();
  Order("echo");
  Order("echo");
  EXPECT_EQ(Said(3), (std::vector<std::string>{"ready", "echo", "echo"}));
}

TEST_F(TrialProcessTest, ARequestNeverBlocksAndNoneIsLost) {
  Start();
  constexpr size_t kRequests = 20000;
  for (size_t i = 0; i < kRequests; ++i) Order("echo");
  EXPECT_EQ(Said(kRequests + 1).size(), kRequests + 1);
}

TEST_F(TrialProcessTest, ARequestThatIsTooLargeIsRefusedAndTheNextIsNot) {
  Start();
  v1::TrialRequest request;
  request.mutable_run()->set_experiment(std::string(kMaxFrameBytes, 'x'));
  EXPECT_EQ(channel_->Send(request).code(), absl::StatusCode::kResourceExhausted);
  Order("echo");
  EXPECT_EQ(Said(2), (std::vector<std::string>{"ready", "echo"}));
}

TEST_F(TrialProcessTest, TheChildHasItsGroupItsLimitItsThreadsAndNoDescriptorOfOurs) {
  const int inherited = open("/dev/null", O_RDONLY);  // Not close-on-exec.
  ASSERT_GE(inherited, 0);
  const char* const limit = kLimitsMemory ? "1125899906842624" : "18446744073709551615";
  Start(/*memory_limit=*/1LL << 50);
  Order("surroundings");
  EXPECT_THAT(Said(2), ::testing::ElementsAre("ready", absl::StrCat("own group; 0 1 2 3 ; ", limit, "; 3")));
  close(inherited);
}

TEST_F(TrialProcessTest, WhereMemoryRunsOutWhatTrainsNothingGoesFirst) {
  int own = 0;
  std::ifstream("/proc/self/oom_score_adj") >> own;
  v1::Device device;
  Start(device);
  Order("oom score");
  EXPECT_THAT(Said(2), ::testing::ElementsAre("ready", absl::StrCat((own + 1000) / 2)));
  channel_ = nullptr;
  exits_.clear();
  said_.clear();
  device.set_prepares(true);
  Start(device);
  Order("oom score");
  EXPECT_THAT(Said(2), ::testing::ElementsAre("ready", "1000"));
}

TEST_F(TrialProcessTest, TheChildOfAGpuSeesThatOneAlone) {
  setenv("CUDA_VISIBLE_DEVICES", "3,1", 1);
  v1::Device device;
  device.set_kind(v1::DeviceKind::GPU);
  device.set_index(1);
  device.set_uuid("GPU-ab11");
  Start(device);
  Order("getenv CUDA_VISIBLE_DEVICES");
  Order("getenv CUDA_DEVICE_ORDER");
  Order("getenv CUBLAS_WORKSPACE_CONFIG");
  EXPECT_EQ(Said(4), (std::vector<std::string>{"ready", "GPU-ab11", "PCI_BUS_ID", ":4096:8"}));
  unsetenv("CUDA_VISIBLE_DEVICES");

  setenv("CUBLAS_WORKSPACE_CONFIG", ":16:8", 1);
  channel_ = nullptr;
  said_.clear();
  exits_.clear();
  Start(device);
  Order("getenv CUBLAS_WORKSPACE_CONFIG");
  EXPECT_EQ(Said(2).back(), ":16:8") << "the user's own";
  unsetenv("CUBLAS_WORKSPACE_CONFIG");
}

TEST_F(TrialProcessTest, ALargeRequestArrivesWhole) {
  Start();
  const std::string large(40 << 20, 'x');
  for (int i = 0; i < 2; ++i) Order("length " + large);
  EXPECT_EQ(Said(3), (std::vector<std::string>{"ready", absl::StrCat(large.size()), absl::StrCat(large.size())}));
}

TEST_F(TrialProcessTest, AKillFromOutsideIsNotTakenForMemory) {
  Start();
  Order("kill");
  EXPECT_EQ(Exit().signal(), SIGKILL);
  EXPECT_FALSE(Exit().out_of_memory());
}

TEST_F(TrialProcessTest, TellsAnExitStatus) {
  Start();
  Order("exit");
  EXPECT_EQ(Exit().exit_status(), 7);
  EXPECT_EQ(Exit().signal(), 0);
}

TEST_F(TrialProcessTest, TellsASignal) {
  Start();
  Order("segfault");
  EXPECT_EQ(Exit().signal(), SIGSEGV);
}

TEST_F(TrialProcessTest, KillEndsWhateverItDoes) {
  Start();
  Order("sleep");
  channel_->Kill();
  EXPECT_EQ(Exit().signal(), SIGKILL);
  EXPECT_FALSE(Exit().out_of_memory()) << "we did it";
}

TEST_F(TrialProcessTest, WhatIsNoProtocolEndsTheProcess) {
  for (const char* order : {"garbage", "too large"}) {
    exits_.clear();
    Start();
    Order(order);
    EXPECT_NE(Exit().message(), "") << order;
  }
}

TEST_F(TrialProcessTest, AProcessThatClosesItsSocketIsEnded) {
  Start();
  Order("close");
  EXPECT_THAT(Exit().message(), HasSubstr("closed its connection"));
}

TEST_F(TrialProcessTest, ADescendantCannotKeepTheChannelOpen) {
  Start();
  Order("grandchild");
  EXPECT_EQ(Exit().exit_status(), 0);
}

TEST_F(TrialProcessTest, ReadsNoMoreReportsThanMayBeUnrecorded) {
  Start();
  const std::string file = ::testing::TempDir() + "/reports";
  OrderTrial("report until nobody reads " + file);
  // Requests still reach the process, however large they are, and its events are read to the end.
  v1::TrialRequest request;
  request.mutable_cancel()->set_experiment("exit" + std::string(4 << 20, ' '));
  ASSERT_EQ(channel_->Send(request), absl::OkStatus());
  EXPECT_EQ(Exit().exit_status(), 7);
  size_t reports = 0;
  std::ifstream(file) >> reports;
  EXPECT_GE(reports, static_cast<size_t>(EventWindow::kEvents));
  EXPECT_LT(reports, 50000u);
  EXPECT_EQ(events_.size(), reports);
  EXPECT_GT(channel_->held_up().count(), 0);
}

TEST_F(TrialProcessTest, ReadsOnOnceReportsAreRecorded) {
  Start();
  OrderTrial("report");
  v1::TrialRequest request;
  request.mutable_cancel()->set_experiment("echo");
  ASSERT_EQ(channel_->Send(request), absl::OkStatus());
  for (int sequence = kAcknowledgedOneOf; sequence <= 20000; sequence += kAcknowledgedOneOf) {
    // One is unrecorded for long, again and again.
    const auto may_be_read = static_cast<size_t>(sequence) - kAcknowledgedOneOf + EventWindow::kEvents;
    Said(std::min<size_t>(may_be_read, 20000));
    v1::EventsRecorded recorded;
    recorded.set_experiment("report");
    recorded.set_model(1);
    recorded.set_sequence(sequence);
    channel_->Recorded(recorded);
  }
  EXPECT_EQ(Said(20002).back(), "echo");
  ASSERT_EQ(events_.size(), 20000u);
  for (size_t i = 0; i < events_.size(); ++i) ASSERT_EQ(events_[i].sequence(), static_cast<int>(i) + 1);
}

TEST_F(TrialProcessTest, KillEndsAProcessThatWaitsToReport) {
  Start();
  OrderTrial("report");
  Said(EventWindow::kEvents);
  channel_->Kill();
  EXPECT_EQ(Exit().signal(), SIGKILL);
}

TEST_F(TrialProcessTest, DestructionEndsTheProcessAndCallsNobodyAfterwards) {
  Start();
  Order("sleep");
  channel_ = nullptr;
  EXPECT_EQ(exits_.size(), 1u);
}

TEST_F(TrialProcessTest, AProgramThatIsNotThereIsAnErrorOfStart) {
  const auto channel = MakeTrialProcess("/no/such/program");
  const absl::Status status = channel->Start({}, {});
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr("/no/such/program"));
}

}  // namespace
}  // namespace lanista
