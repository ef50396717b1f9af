// The limits that control groups (versions 1 and 2) set for this process: its own group's and those of the groups
// above.
#ifndef LANISTA_SRC_BASE_CGROUP_H_
#define LANISTA_SRC_BASE_CGROUP_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace lanista {

// Reads files of the kernel in each call. Any thread may call it.
class Cgroup {
 public:
  // `root`: the folder that holds /proc and /sys, for tests. Control groups are looked for where all distributions and
  // container runtimes mount them: below /sys/fs/cgroup.
  explicit Cgroup(const std::string& root = "");

  // The processors' time that this process may use each second, in seconds (2.5: two and a half processors). nullopt:
  // no limit.
  std::optional<double> ProcessorQuota() const;

  // Bytes of memory that this process may use together with all others of a group. nullopt: no limit.
  std::optional<int64_t> MemoryLimit() const;

  // How often the kernel has killed a process of this process's group because memory ran out. nullopt: not known.
  std::optional<int64_t> OomKills() const;

 private:
  std::string root_;
  // The folders of this process's group and of those above it, its own first: version 2, and the controllers of version
  // 1. Empty: there is none.
  std::vector<std::string> version2_;
  std::vector<std::string> cpu_;
  std::vector<std::string> memory_;
};

}  // namespace lanista

#endif  // LANISTA_SRC_BASE_CGROUP_H_
