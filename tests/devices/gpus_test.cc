#include "src/devices/gpus.h"

#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gtest/gtest.h"

namespace lanista {
namespace {

// The fake's GPUs that a program with this CUDA_VISIBLE_DEVICES has: "index uuid", in order.
std::string Visible(const std::optional<std::string>& visible) {
  const std::vector<Gpu> gpus = ListGpus(visible, std::getenv("FAKE_NVML"));
  return absl::StrJoin(gpus, ", ",
                       [](std::string* out, const Gpu& gpu) { absl::StrAppend(out, gpu.index, " ", gpu.uuid); });
}

TEST(GpusTest, AreDescribedByTheDriver) {
  const std::vector<Gpu> gpus = ListGpus(std::nullopt, std::getenv("FAKE_NVML"));
  ASSERT_EQ(gpus.size(), 3u);
  EXPECT_EQ(gpus[1].index, 1);
  EXPECT_EQ(gpus[1].uuid, "GPU-ab11");
  EXPECT_EQ(gpus[1].model, "Fake 80");
  EXPECT_EQ(gpus[1].memory, 80);
  EXPECT_TRUE(gpus[1].active);
  EXPECT_FALSE(gpus[0].active);
}

TEST(GpusTest, ThereAreNoneWithoutADriver) { EXPECT_TRUE(ListGpus(std::nullopt, "libno_such_driver.so").empty()); }

TEST(GpusTest, WhatCudaVisibleDevicesHidesIsNotThere) {
  const struct {
    const char* visible;
    const char* expected;
  } kCases[] = {
      {"0,1,2", "0 GPU-aa00, 1 GPU-ab11, 2 GPU-cc22"},
      {"2", "0 GPU-cc22"},
      {"2,0", "0 GPU-cc22, 1 GPU-aa00"},
      {" 1 , 2 ", "0 GPU-ab11, 1 GPU-cc22"},
      {"", ""},
      {"-1", ""},
      {"0,-1,1", "0 GPU-aa00"},
      {"0,3,1", "0 GPU-aa00"},
      {"NoDevFiles", ""},
      {"GPU-cc22,GPU-aa00", "0 GPU-cc22, 1 GPU-aa00"},
      {"GPU-c", "0 GPU-cc22"},
      {"GPU-a", ""},
      {"GPU-unknown", ""},
      {"0,0", ""},
      {"0,GPU-aa00", ""},
      {"MIG-cc22-1", "0 MIG-cc22-1"},
      {"MIG-unknown", ""},
  };
  EXPECT_EQ(Visible(std::nullopt), "0 GPU-aa00, 1 GPU-ab11, 2 GPU-cc22");
  for (const auto& test : kCases) EXPECT_EQ(Visible(test.visible), test.expected) << "'" << test.visible << "'";
}

}  // namespace
}  // namespace lanista
