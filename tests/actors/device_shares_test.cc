#include "actors/device_shares.h"

#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/actors/device_pool_test.h"

namespace lanista {
namespace {

class DeviceSharesTest : public DevicePoolTest {
 protected:
  static DeviceUserActor::behavior_type User(DeviceUserActor::pointer) {
    return {[](const v1::DeviceShare&) {}};
  }

  DeviceUserActor Want(const std::string& experiment, int priority = 0, int most_trials = 0) {
    v1::WantDevices wants;
    wants.set_experiment(experiment);
    wants.set_priority(priority);
    if (most_trials > 0) wants.set_most_trials(most_trials);
    const DeviceUserActor user = Spawn(User);
    EXPECT_TRUE(shares_.Want(wants, user));
    names_[user.address()] = experiment;
    return user;
  }

  // Who is told what: "a 2, b 1".
  std::string Told() {
    std::string text;
    for (const auto& [user, share] : shares_.Divide(pool_, expected_, history_)) {
      absl::StrAppend(&text, text.empty() ? "" : ", ", names_.at(user.address()), " ", share.trials());
    }
    return text;
  }

  DeviceShares shares_;
  ExpectedDevices expected_;
  TrialHistory history_;
  std::map<caf::actor_addr, std::string> names_;
};

TEST_F(DeviceSharesTest, EqualsShareEvenlyAndHearOfItOnce) {
  for (int i = 0; i < 5; ++i) AddGpu("n");
  const DeviceUserActor a = Want("a");
  EXPECT_EQ(Told(), "a 5");
  EXPECT_EQ(Told(), "");
  Want("b");
  EXPECT_EQ(Told(), "a 3, b 2");
  EXPECT_TRUE(shares_.Forget(a.address()));
  EXPECT_FALSE(shares_.Forget(a.address()));
  EXPECT_EQ(Told(), "b 5");
}

TEST_F(DeviceSharesTest, NobodyGetsMoreThanItCanUseOrLessThanOneTrial) {
  for (int i = 0; i < 5; ++i) AddGpu("n");
  Want("a");
  Want("b", /*priority=*/0, /*most_trials=*/1);
  EXPECT_EQ(Told(), "b 1, a 4");
  Want("c", /*priority=*/1);
  EXPECT_EQ(Told(), "c 5, a 1") << "of b the share is the same";
}

TEST_F(DeviceSharesTest, DevicesThatMayComeCount) {
  Want("a");
  EXPECT_EQ(Told(), "a 1");
  v1::ExpectDevices expect;
  expect.set_source("slurm");
  expect.set_devices(3);
  expected_.Set(expect);
  EXPECT_EQ(Told(), "a 3");
}

TEST_F(DeviceSharesTest, OnlyDevicesWithItsDataAreOfUse) {
  AddGpu("n", kGiB, {"mnist"});
  for (int i = 0; i < 3; ++i) AddGpu("m");
  history_.SetData("a", {"mnist"});
  Want("a");
  Want("b");
  EXPECT_EQ(Told(), "a 1, b 3");
}

}  // namespace
}  // namespace lanista
