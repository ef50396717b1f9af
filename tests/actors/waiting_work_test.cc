#include "actors/waiting_work.h"

#include <chrono>
#include <deque>
#include <set>
#include <string>
#include <utility>

#include "tests/actors/device_pool_test.h"

namespace lanista {
namespace {

class WaitingWorkTest : public DevicePoolTest {
 protected:
  void Queue(const v1::TrialSpec& trial) { queue_.Push({trial, {}}); }

  void Discover(const std::string& experiment, const DataNames& data = {}) {
    QueuedDiscovery discovery;
    discovery.request.set_experiment(experiment);
    discovery.data = data;
    discoveries_.push_back(std::move(discovery));
  }

  std::string Lacking(const std::string& experiment = "e") const { return waiting_.LackingFor(experiment, now_); }

  static v1::ExpectDevices Expect() {
    v1::ExpectDevices expect;
    expect.set_source("slurm");
    expect.set_program("p");
    return expect;
  }

  const DevicePool::TimePoint now_{std::chrono::hours(1000)};
  ExpectedDevices expected_;
  TrialHistory history_;
  TrialQueue queue_;
  ReturningTrials returning_;
  std::deque<QueuedDiscovery> discoveries_;
  std::set<std::string> absent_;
  Placement placement_{pool_, history_};
  WaitingWork waiting_{{queue_, discoveries_, returning_}, {pool_, placement_, expected_, history_, absent_}};
};

TEST_F(WaitingWorkTest, NothingIsLackingWhereNothingWaitsOrADeviceIsThere) {
  EXPECT_EQ(Lacking(), "");
  Queue(MakeTrial("e", 1));
  AddGpu("n");
  EXPECT_EQ(Lacking(), "");
}

TEST_F(WaitingWorkTest, WithoutAnyDeviceSaysWhyNoneIsThere) {
  Queue(MakeTrial("e", 1));
  EXPECT_EQ(Lacking(), "a device: this head has none of its own, and no node has joined it");
  absent_ = {"n", "m"};
  EXPECT_EQ(Lacking(), "a device: this head has none of its own, and of its nodes none has returned (m, n)");
  v1::ExpectDevices expect = Expect();
  expect.set_because("2 jobs are queued");
  expected_.Set(expect);
  EXPECT_EQ(Lacking(), "a device: 2 jobs are queued");
}

TEST_F(WaitingWorkTest, SaysWhatTheDevicesLack) {
  Slot& slot = AddGpu("n");
  Discover("d", {"mnist"});
  EXPECT_EQ(Lacking("d"),
            "a node that has the data 'mnist' (`node --data mnist=DIR`): none of those that are there has it");
  v1::TrialSpec trial = MakeTrial("e", 1);
  trial.set_program("p");
  Queue(trial);
  EXPECT_EQ(Lacking(),
            "a node with the program that discovered its space (build id p): none of those that are there runs it");
  pool_.Learn(slot, "p");
  EXPECT_EQ(Lacking(), "");
  pool_.WorkerDown(slot);
  EXPECT_EQ(Lacking(), "a device: each of the 1 that could run it is down, or its node is silent or drained");
}

TEST_F(WaitingWorkTest, SaysThatNodesRefuse) {
  AddGpu("n");
  Queue(MakeTrial("e", 1));
  for (int i = 0; i < 2; ++i) history_.AddRefusal("e", "no room", now_);
  EXPECT_EQ(Lacking(), "a node that can take it: no room");
  AddGpu("");
  EXPECT_EQ(Lacking(), "");
}

TEST_F(WaitingWorkTest, CountsWhatDevicesThatMayComeCouldRun) {
  EXPECT_EQ(waiting_.CountFor(Expect(), now_), 0);
  v1::TrialSpec trial = MakeTrial("e", 1);
  trial.set_program("p");
  Queue(trial);
  trial.set_trial(2);
  trial.set_program("another");
  Queue(trial);
  Discover("d");
  Discover("f", {"mnist"});
  EXPECT_EQ(waiting_.CountFor(Expect(), now_), 2) << "a trial, and a discovery without data";
  v1::ExpectDevices with_data = Expect();
  with_data.add_data("mnist");
  EXPECT_EQ(waiting_.CountFor(with_data, now_), 3);
  // A device of this machine is about to begin one of them.
  SetIdle(AddGpu(""), /*warm=*/false);
  EXPECT_EQ(waiting_.CountFor(Expect(), now_), 1);
  EXPECT_EQ(waiting_.Experiments(), (std::set<std::string>{"d", "e", "f"}));
}

}  // namespace
}  // namespace lanista
