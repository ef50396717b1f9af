#include "actors/placement.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/actors/device_pool_test.h"

namespace lanista {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class PlacementTest : public DevicePoolTest {
 protected:
  // The devices of the kinds where the trial may run ("0 2 ").
  std::string May(const v1::TrialSpec& trial) const {
    std::vector<int> numbers;
    for (const DevicePool::Kind* const kind : placement_.KindsFor(trial, now_)) {
      numbers.insert(numbers.end(), kind->devices.begin(), kind->devices.end());
    }
    std::sort(numbers.begin(), numbers.end());
    std::string text;
    for (const int number : numbers) absl::StrAppend(&text, number, " ");
    return text;
  }

  static v1::TrialSpec TrialOf(int64_t memory) {
    v1::TrialSpec trial = MakeTrial("e", 1);
    trial.set_estimated_memory(memory);
    return trial;
  }

  // A device of a node that ends in so long, when it had so long in all.
  Slot& AddEnding(milliseconds left, milliseconds lifetime) {
    v1::Device device;
    device.set_kind(v1::DeviceKind::GPU);
    device.set_node("job");
    device.set_memory(kGiB);
    Slot& slot = pool_.Add(device, /*local=*/false, {}, {});
    slot.ends = now_ + left;
    slot.lifetime = lifetime;
    pool_.SetWorker(slot, MakeWorker());
    return slot;
  }

  const DevicePool::TimePoint now_{std::chrono::hours(1000)};
  TrialHistory history_;
  Placement placement_{pool_, history_};
};

TEST_F(PlacementTest, ATrialGoesWhereItsProgramAndItsDataAre) {
  Slot& first = AddGpu("n", kGiB, {"mnist"});
  AddGpu("m");
  v1::TrialSpec trial = MakeTrial("e", 1);
  EXPECT_EQ(May(trial), "0 1 ");
  history_.SetData("e", {"mnist"});
  EXPECT_EQ(May(trial), "0 ");
  trial.set_program("p");
  EXPECT_EQ(May(trial), "") << "nobody knows what runs there";
  pool_.Learn(first, "p");
  EXPECT_EQ(May(trial), "0 ");
}

TEST_F(PlacementTest, ATrialGoesWhereItHasRoomElseToTheLargest) {
  AddGpu("n", 8 * kGiB);
  AddGpu("m", 24 * kGiB);
  EXPECT_EQ(May(TrialOf(4 * kGiB)), "0 1 ");
  EXPECT_EQ(May(TrialOf(16 * kGiB)), "1 ");
  EXPECT_EQ(May(TrialOf(99 * kGiB)), "1 ");
  // Its node drains: nobody knows whether it will ever take another trial.
  Hold("m", /*leaving=*/true);
  EXPECT_EQ(May(TrialOf(16 * kGiB)), "0 ");
}

TEST_F(PlacementTest, OfIdleDevicesAWarmOneIsFirstThenASmallOne) {
  Slot& large = AddGpu("a", 24 * kGiB);
  Slot& small = AddGpu("b", 8 * kGiB);
  EXPECT_EQ(placement_.IdleFor(TrialOf(kGiB), now_), nullptr);
  SetIdle(large, /*warm=*/false);
  EXPECT_EQ(placement_.IdleFor(TrialOf(kGiB), now_), &large);
  SetIdle(small, /*warm=*/false);
  EXPECT_EQ(placement_.IdleFor(TrialOf(kGiB), now_), &small);
  SetIdle(large, /*warm=*/true);
  EXPECT_EQ(placement_.IdleFor(TrialOf(kGiB), now_), &large);
  EXPECT_EQ(placement_.IdleFor(TrialOf(16 * kGiB), now_), &large);
}

TEST_F(PlacementTest, ATrialGoesWhereItIsLikelyToEndInTime) {
  AddEnding(seconds(10), std::chrono::hours(1));
  const v1::TrialSpec trial = MakeTrial("e", 1);
  EXPECT_EQ(May(trial), "0 ") << "nobody knows how long it takes";
  history_.AddDuration("e", seconds(9));
  EXPECT_EQ(May(trial), "0 ");
  history_.AddDuration("e", seconds(11));
  EXPECT_EQ(May(trial), "");
  history_.AddDuration("e", std::chrono::hours(2));
  EXPECT_EQ(May(trial), "0 ") << "even all of its life is too short: it goes on elsewhere from its checkpoint";
  AddEnding(seconds(0), std::chrono::hours(1));
  EXPECT_EQ(May(trial), "0 ") << "it is over";
}

TEST_F(PlacementTest, WhatNodesRefusedStaysOnThisMachineForAWhile) {
  AddGpu("n");
  AddGpu("");
  const v1::TrialSpec trial = MakeTrial("e", 1);
  for (int i = 0; i < 2; ++i) history_.AddRefusal("e", "no room", now_);
  EXPECT_EQ(May(trial), "1 ");
  history_.ForgetRefusals("e");
  EXPECT_EQ(May(trial), "0 1 ");
}

TEST_F(PlacementTest, ADiscoveryGoesFirstWhereSomethingIsLearnt) {
  Slot& known = AddGpu("n");
  Slot& unknown = AddGpu("m");
  pool_.Learn(known, "p");
  SetIdle(known);
  SetIdle(unknown, /*warm=*/false);
  QueuedDiscovery discovery;
  EXPECT_EQ(placement_.IdleForDiscovery(discovery, now_), &unknown);
  discovery.data = {"mnist"};
  EXPECT_EQ(placement_.IdleForDiscovery(discovery, now_), nullptr);
}

TEST_F(PlacementTest, APlaceTakesADiscoveryThatNeedsNoDevice) {
  Slot& place = AddPlace("n");
  QueuedDiscovery discovery;
  EXPECT_EQ(placement_.PlaceFor(discovery, now_), nullptr) << "it is busy";
  SetIdle(place);
  EXPECT_EQ(placement_.PlaceFor(discovery, now_), &place);
  discovery.needs_device = true;
  EXPECT_EQ(placement_.PlaceFor(discovery, now_), nullptr);
}

TEST_F(PlacementTest, AConversionGoesToANodeWithItsProgram) {
  Slot& here = AddPlace("");
  SetIdle(here);
  QueuedDiscovery conversion;
  conversion.request.mutable_convert();
  conversion.request.set_program("p");
  EXPECT_EQ(placement_.PlaceFor(conversion, now_), nullptr);
  EXPECT_EQ(placement_.CheckConversion(conversion).message(),
            "no node is there with the program of the experiment's space (build id p) (`lanista node` on a machine "
            "offers one)");
  Slot& place = AddPlace("n");
  pool_.Learn(place, "p");
  EXPECT_TRUE(placement_.CheckConversion(conversion).ok()) << "it waits while the place is busy";
  EXPECT_EQ(placement_.PlaceFor(conversion, now_), nullptr);
  SetIdle(place);
  EXPECT_EQ(placement_.PlaceFor(conversion, now_), &place);
}

TEST_F(PlacementTest, WhatAPlaceCouldNotDoADeviceMayDo) {
  Slot& place = AddPlace("n");
  v1::Discovered discovered;
  EXPECT_FALSE(placement_.NeedsDevice(place, discovered));
  discovered.set_tries_failed(true);
  EXPECT_FALSE(placement_.NeedsDevice(place, discovered)) << "its machine has no GPU";
  Slot& gpu = AddGpu("n");
  EXPECT_TRUE(placement_.NeedsDevice(place, discovered));
  EXPECT_FALSE(placement_.NeedsDevice(gpu, discovered)) << "it is one";
  discovered.clear_tries_failed();
  discovered.set_out_of_memory(true);
  EXPECT_TRUE(placement_.NeedsDevice(place, discovered));
  discovered.mutable_converted();
  EXPECT_FALSE(placement_.NeedsDevice(place, discovered));
}

}  // namespace
}  // namespace lanista
