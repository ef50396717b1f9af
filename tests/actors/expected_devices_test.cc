#include "actors/expected_devices.h"

#include <cstdint>
#include <string>

#include "gtest/gtest.h"

namespace lanista {
namespace {

constexpr int64_t kGiB = 1 << 30;

v1::ExpectDevices Expect(const std::string& source, int devices, const std::string& program = "p") {
  v1::ExpectDevices expect;
  expect.set_source(source);
  expect.set_program(program);
  expect.set_devices(devices);
  return expect;
}

TEST(ExpectedDevicesTest, TheLastThatASourceSaidCounts) {
  ExpectedDevices expected;
  EXPECT_TRUE(expected.Set(Expect("slurm", 4)));
  EXPECT_FALSE(expected.Set(Expect("slurm", 4)));
  EXPECT_TRUE(expected.Set(Expect("slurm", 2)));
  EXPECT_TRUE(expected.Set(Expect("ssh", 3)));
  EXPECT_EQ(expected.Count("p", {}, {}), 5);
}

TEST(ExpectedDevicesTest, OnlyThoseCountThatCouldRunTheTrials) {
  ExpectedDevices expected;
  v1::ExpectDevices with_data = Expect("a", 1);
  with_data.add_data("mnist");
  with_data.add_data("cifar");
  expected.Set(with_data);
  expected.Set(Expect("b", 2, "another program"));
  EXPECT_EQ(expected.Count("p", {}, {}), 1);
  EXPECT_EQ(expected.Count("", {}, {}), 3) << "any program";
  EXPECT_EQ(expected.Count("", {"mnist"}, {}), 1);
  EXPECT_EQ(expected.Count("", {"mnist", "svhn"}, {}), 0);
}

TEST(ExpectedDevicesTest, DevicesOfUnknownMemoryHaveWhatTheirLikesHad) {
  ExpectedDevices expected;
  v1::ExpectDevices gpus = Expect("a", 1);
  gpus.set_device_kind(v1::DeviceKind::GPU);
  v1::RequirementsConfig requirements;
  requirements.set_min_device_memory(16 * kGiB);
  EXPECT_TRUE(expected.MayMeet(gpus, requirements)) << "nobody knows";
  v1::Device device;
  device.set_kind(v1::DeviceKind::GPU);
  device.set_memory(8 * kGiB);
  expected.Joined(device, {});
  EXPECT_FALSE(expected.MayMeet(gpus, requirements));
  device.set_memory(24 * kGiB);
  expected.Joined(device, {});
  EXPECT_TRUE(expected.MayMeet(gpus, requirements));
  gpus.set_device_memory(8 * kGiB);
  EXPECT_FALSE(expected.MayMeet(gpus, requirements)) << "its source knows";
}

TEST(ExpectedDevicesTest, SaysWhyTheyAreNotThere) {
  ExpectedDevices expected;
  EXPECT_EQ(expected.WhyNotThere(), "");
  v1::ExpectDevices slurm = Expect("slurm", 1), ssh = Expect("ssh", 1);
  slurm.set_because("2 jobs are queued");
  ssh.set_because("the machine does not answer");
  expected.Set(ssh);
  expected.Set(slurm);
  expected.Set(Expect("z", 1));
  EXPECT_EQ(expected.WhyNotThere(), "2 jobs are queued; the machine does not answer");
}

}  // namespace
}  // namespace lanista
