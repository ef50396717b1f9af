#include "src/base/cgroup.h"

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "gtest/gtest.h"

namespace lanista {
namespace {

// A file system root with these files.
class CgroupTest : public ::testing::Test {
 protected:
  CgroupTest() {
    root_ = ::testing::TempDir() + "/cgroup.XXXXXX";
    EXPECT_NE(mkdtemp(root_.data()), nullptr);
  }
  ~CgroupTest() override { std::filesystem::remove_all(root_); }

  Cgroup With(const std::map<std::string, std::string>& files) const {
    for (const auto& [path, text] : files) {
      std::filesystem::create_directories(std::filesystem::path(root_ + path).parent_path());
      std::ofstream(root_ + path) << text;
    }
    return Cgroup(root_);
  }

  std::string root_;
};

TEST_F(CgroupTest, WithoutControlGroupsThereAreNoLimits) {
  const Cgroup cgroup = With({{"/proc/vmstat", "pgpgin 3\noom_kill 5\n"}});
  EXPECT_EQ(cgroup.ProcessorQuota(), std::nullopt);
  EXPECT_EQ(cgroup.MemoryLimit(), std::nullopt);
  EXPECT_EQ(cgroup.OomKills(), 5);
}

TEST_F(CgroupTest, Version2HasTheLeastLimitOfTheGroupAndThoseAboveIt) {
  const Cgroup cgroup = With({
      {"/proc/self/cgroup", "0::/user.slice/job\n"},
      {"/proc/vmstat", "oom_kill 5\n"},
      {"/sys/fs/cgroup/user.slice/job/cpu.max", "max 100000\n"},
      {"/sys/fs/cgroup/user.slice/job/memory.max", "3000000000\n"},
      {"/sys/fs/cgroup/user.slice/job/memory.events", "low 0\nhigh 1\nmax 2\noom 3\noom_kill 4\n"},
      {"/sys/fs/cgroup/user.slice/cpu.max", "250000 100000\n"},
      {"/sys/fs/cgroup/user.slice/memory.max", "max\n"},
  });
  EXPECT_EQ(cgroup.ProcessorQuota(), 2.5);
  EXPECT_EQ(cgroup.MemoryLimit(), 3000000000);
  EXPECT_EQ(cgroup.OomKills(), 4);
}

TEST_F(CgroupTest, InAContainerTheMountMayBeTheGroupItself) {
  const Cgroup cgroup = With({
      {"/proc/self/cgroup", "4:memory:/docker/0123\n3:cpuset:/docker/0123\n2:cpu,cpuacct:/docker/0123\n"},
      {"/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "150000\n"},
      {"/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n"},
      {"/sys/fs/cgroup/memory/memory.limit_in_bytes", "1073741824\n"},
      {"/sys/fs/cgroup/memory/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n"},
  });
  EXPECT_EQ(cgroup.ProcessorQuota(), 1.5);
  EXPECT_EQ(cgroup.MemoryLimit(), 1073741824);
  EXPECT_EQ(cgroup.OomKills(), 2);
}

TEST_F(CgroupTest, Version1SaysNoLimitInNumbers) {
  const Cgroup cgroup = With({
      {"/proc/self/cgroup", "4:memory:/job\n2:cpu:/job\n0::/\n"},
      {"/sys/fs/cgroup/cpu/job/cpu.cfs_quota_us", "-1\n"},
      {"/sys/fs/cgroup/cpu/job/cpu.cfs_period_us", "100000\n"},
      {"/sys/fs/cgroup/memory/job/memory.limit_in_bytes", "9223372036854771712\n"},
      {"/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"},
  });
  EXPECT_EQ(cgroup.ProcessorQuota(), std::nullopt);
  EXPECT_EQ(cgroup.MemoryLimit(), std::nullopt);
}

}  // namespace
}  // namespace lanista
