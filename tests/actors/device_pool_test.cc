#include "tests/actors/device_pool_test.h"

#include <vector>

namespace lanista {
namespace {

TEST_F(DevicePoolTest, DevicesThatAreAlikeAreOfOneKind) {
  AddGpu("n", 64 * kGiB);
  AddGpu("n", 64 * kGiB + 4096);
  AddGpu("m", 64 * kGiB);
  ASSERT_EQ(pool_.kinds().size(), 1u) << "no program is known of either node";
  EXPECT_EQ(pool_.kinds().begin()->second.devices, (std::set<int>{0, 1, 2}));
  EXPECT_EQ(pool_.kinds().begin()->second.least_memory, 64 * kGiB);
  AddGpu("n", 32 * kGiB);
  AddGpu("n", 64 * kGiB, {"mnist"});
  AddGpu("", 64 * kGiB);
  EXPECT_EQ(pool_.kinds().size(), 4u);
}

TEST_F(DevicePoolTest, AllDevicesOfANodeRunWhatOneOfThemRuns) {
  Slot& first = AddGpu("n");
  AddGpu("n");
  AddGpu("m");
  pool_.Learn(first, "p");
  EXPECT_EQ(pool_.MemoriesOf("p", {}, {}).size(), 2u);
  EXPECT_EQ(pool_.MemoriesOf("", {}, {}).size(), 3u);
  AddGpu("n");
  EXPECT_EQ(pool_.MemoriesOf("p", {}, {}).size(), 3u) << "its node is known";
}

TEST_F(DevicePoolTest, AnIdleDeviceIsOneWithAWorkerThatIsNotHeld) {
  Slot& slot = AddGpu("n");
  EXPECT_FALSE(pool_.AnyIdle());
  SetIdle(slot);
  EXPECT_TRUE(pool_.AnyIdle());
  EXPECT_TRUE(Hold("n", /*leaving=*/false));
  EXPECT_FALSE(pool_.AnyIdle());
  EXPECT_TRUE(Release("n"));
  EXPECT_TRUE(pool_.AnyIdle());
  pool_.WorkerDown(slot);
  EXPECT_FALSE(pool_.AnyIdle());
  pool_.SetWorker(slot, MakeWorker());
  EXPECT_FALSE(pool_.AnyIdle()) << "its next worker is not ready";
  SetIdle(slot);
  EXPECT_TRUE(pool_.AnyIdle());
  pool_.Occupy(slot);
  EXPECT_FALSE(pool_.AnyIdle());
  EXPECT_FALSE(Hold("m", /*leaving=*/false)) << "there is no such node";
}

TEST_F(DevicePoolTest, DevicesThatMayNeverTakeATrialDoNotCount) {
  Slot& failing = AddGpu("n");
  AddGpu("m");
  EXPECT_EQ(pool_.MemoriesOf("", {}, {}).size(), 2u);
  for (int downs = 1; downs < DevicePool::kMaxFirstWorkers; ++downs) {
    pool_.WorkerDown(failing);
    EXPECT_EQ(pool_.MemoriesOf("", {}, {}).size(), 2u) << "it may come back";
    pool_.SetWorker(failing, MakeWorker());
  }
  pool_.WorkerDown(failing);
  EXPECT_EQ(pool_.MemoriesOf("", {}, {}).size(), 1u);
  Hold("m", /*leaving=*/true);
  EXPECT_TRUE(pool_.MemoriesOf("", {}, {}).empty());
}

TEST_F(DevicePoolTest, OnlySoManyProcessesStartOnThisMachine) {
  pool_.Begin(/*max_starting=*/1, std::make_shared<Telemetry>());
  Slot& cold = AddGpu("");
  Slot& other = AddGpu("");
  SetIdle(other, /*warm=*/false);
  const DevicePool::Kind& kind = *other.kind;
  EXPECT_EQ(pool_.Idle(kind), &other);
  pool_.Occupy(cold);
  EXPECT_FALSE(pool_.may_start());
  EXPECT_EQ(pool_.Idle(kind), nullptr);
  SetIdle(other, /*warm=*/true);
  EXPECT_EQ(pool_.Idle(kind), &other) << "its process is up";
  pool_.ProcessUp(cold);
  EXPECT_TRUE(pool_.may_start());
}

TEST_F(DevicePoolTest, ANumberIsNeverGivenAgain) {
  Slot& first = AddGpu("n");
  const int number = first.number;
  pool_.Remove(first);
  EXPECT_EQ(pool_.Find(number), nullptr);
  EXPECT_TRUE(pool_.kinds().empty());
  EXPECT_NE(AddGpu("n").number, number);
  EXPECT_TRUE(pool_.kinds().begin()->second.programs.empty());
}

TEST_F(DevicePoolTest, APlaceForPreparingWorkIsNoDevice) {
  Slot& place = AddPlace("n");
  SetIdle(place);
  EXPECT_TRUE(pool_.kinds().empty());
  EXPECT_FALSE(pool_.AnyIdle());
  EXPECT_EQ(pool_.places(), std::set<int>{place.number});
  EXPECT_TRUE(pool_.DevicesOf({}).devices().empty());
  pool_.Remove(place);
  EXPECT_TRUE(pool_.places().empty());
}

TEST_F(DevicePoolTest, SaysWhenItHasChanged) {
  Slot& slot = AddGpu("n");
  EXPECT_GT(changes_, 0);
  changes_ = 0;
  SetIdle(slot);
  EXPECT_EQ(changes_, 0) << "what a device does now changes no share";
  Hold("n", /*leaving=*/false);
  EXPECT_EQ(changes_, 1);
  pool_.GiveUp(slot);
  EXPECT_EQ(changes_, 2);
  EXPECT_TRUE(pool_.kinds().empty());
}

}  // namespace
}  // namespace lanista
