#include "src/devices/slurm_share.h"

#include <map>
#include <string>

#include "gtest/gtest.h"

namespace lanista {
namespace {

constexpr int64_t kGibibyte = int64_t{1} << 30;

SlurmShare Read(const std::map<std::string, std::string>& variables) {
  return ReadSlurmShare([&](const char* name) {
    const auto variable = variables.find(name);
    return variable == variables.end() ? nullptr : variable->second.c_str();
  });
}

TEST(SlurmShareTest, AJobHasTheProcessorsAndTheMemoryOfItsMachineThatSlurmGaveIt) {
  const SlurmShare share =
      Read({{"SLURMD_NODENAME", "n1"}, {"SLURM_CPUS_ON_NODE", "6"}, {"SLURM_MEM_PER_NODE", "4096"}});
  EXPECT_EQ(share.processors, 6);
  EXPECT_EQ(share.memory, 4 * kGibibyte);
}

TEST(SlurmShareTest, MemoryMayBeCountedByProcessor) {
  const SlurmShare share =
      Read({{"SLURMD_NODENAME", "n1"}, {"SLURM_CPUS_ON_NODE", "6"}, {"SLURM_MEM_PER_CPU", "1024"}});
  EXPECT_EQ(share.memory, 6 * kGibibyte);
}

TEST(SlurmShareTest, NoMemoryIsAllTheMemory) {
  const SlurmShare share = Read({{"SLURMD_NODENAME", "n1"}, {"SLURM_CPUS_ON_NODE", "6"}, {"SLURM_MEM_PER_NODE", "0"}});
  EXPECT_EQ(share.processors, 6);
  EXPECT_FALSE(share.memory.has_value());
}

TEST(SlurmShareTest, AJobHasAnEndWhereSlurmSaysSo) {
  const SlurmShare share =
      Read({{"SLURMD_NODENAME", "n1"}, {"SLURM_JOB_ID", "4711"}, {"SLURM_JOB_END_TIME", "1795374000"}});
  EXPECT_EQ(share.job, "4711");
  EXPECT_EQ(share.job_end, absl::FromUnixSeconds(1795374000));
  EXPECT_FALSE(Read({{"SLURMD_NODENAME", "n1"}, {"SLURM_JOB_ID", "4711"}}).job_end.has_value());
  EXPECT_EQ(Read({{"SLURM_JOB_ID", "4711"}, {"SLURM_JOB_END_TIME", "1795374000"}}).job, "") << "a login node's shell";
}

TEST(SlurmShareTest, AShellOnALoginNodeIsNoJob) {
  const SlurmShare share = Read({{"SLURM_CPUS_ON_NODE", "6"}, {"SLURM_MEM_PER_NODE", "4096"}});
  EXPECT_FALSE(share.processors.has_value());
  EXPECT_FALSE(share.memory.has_value());
}

TEST(SlurmShareTest, WhatIsNoNumberSaysNothing) {
  for (const char* const text : {"", "x", "-3", "99999999999999999999", "9223372036854775807"}) {
    const SlurmShare share = Read({{"SLURMD_NODENAME", "n1"},
                                   {"SLURM_CPUS_ON_NODE", text},
                                   {"SLURM_MEM_PER_NODE", text},
                                   {"SLURM_MEM_PER_CPU", text}});
    EXPECT_FALSE(share.processors.has_value()) << text;
    EXPECT_FALSE(share.memory.has_value()) << text;
  }
}

}  // namespace
}  // namespace lanista
