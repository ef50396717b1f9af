#include "src/base/cgroup.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace lanista {
namespace {

// Version 1 has no word for "no limit", but a number beyond all memory.
constexpr int64_t kNoMemoryLimit = int64_t{1} << 60;

// The folders `mount`/a/b, `mount`/a and `mount` of the group /a/b, as far as they exist: in a container the mount may
// be the group itself.
std::vector<std::string> GroupAndParents(const std::string& mount, std::string group) {
  std::vector<std::string> folders;
  std::error_code error;
  while (!group.empty() && group != "/") {
    if (std::filesystem::is_directory(mount + group, error)) folders.push_back(mount + group);
    group.resize(group.rfind('/'));
  }
  if (std::filesystem::is_directory(mount, error)) folders.push_back(mount);
  return folders;
}

// The first words of a file, or as many as there are.
std::vector<std::string> Words(const std::string& file, size_t count) {
  std::vector<std::string> words;
  std::ifstream stream(file);
  for (std::string word; words.size() < count && stream >> word;) words.push_back(word);
  return words;
}

std::optional<int64_t> Number(const std::vector<std::string>& words, size_t at) {
  int64_t number = 0;
  if (at >= words.size() || !absl::SimpleAtoi(words[at], &number)) return std::nullopt;
  return number;
}

template <typename T>
void TakeLeast(std::optional<T>* least, T value) {
  if (!least->has_value() || value < **least) *least = value;
}

// The number behind `key` in a file of lines "key number".
std::optional<int64_t> ValueOf(const std::string& file, const std::string& key) {
  std::ifstream stream(file);
  std::string name;
  int64_t value = 0;
  while (stream >> name >> value) {
    if (name == key) return value;
  }
  return std::nullopt;
}

}  // namespace

Cgroup::Cgroup(const std::string& root) : root_(root) {
  const std::string mounts = root + "/sys/fs/cgroup";
  std::ifstream groups(root + "/proc/self/cgroup");
  // Lines "number:controllers:group"; version 2 has the number 0 and no controllers.
  for (std::string line; std::getline(groups, line);) {
    const std::vector<std::string> fields = absl::StrSplit(line, absl::MaxSplits(':', 2));
    if (fields.size() != 3 || fields[2].empty() || fields[2][0] != '/') continue;
    if (fields[1].empty()) {
      // Beside version 1 it is mounted in a folder of its own, without controllers.
      version2_ = GroupAndParents(mounts, fields[2]);
    }
    for (const std::string& controller : std::vector<std::string>(absl::StrSplit(fields[1], ','))) {
      if (controller == "cpu") cpu_ = GroupAndParents(mounts + "/cpu", fields[2]);
      if (controller == "memory") memory_ = GroupAndParents(mounts + "/memory", fields[2]);
    }
  }
}

std::optional<double> Cgroup::ProcessorQuota() const {
  std::optional<double> least;
  for (const std::string& folder : version2_) {
    const std::vector<std::string> words = Words(folder + "/cpu.max", 2);
    const std::optional<int64_t> quota = Number(words, 0), period = Number(words, 1);
    if (quota && period && *quota > 0 && *period > 0) TakeLeast(&least, static_cast<double>(*quota) / *period);
  }
  for (const std::string& folder : cpu_) {
    const std::optional<int64_t> quota = Number(Words(folder + "/cpu.cfs_quota_us", 1), 0);
    const std::optional<int64_t> period = Number(Words(folder + "/cpu.cfs_period_us", 1), 0);
    if (quota && period && *quota > 0 && *period > 0) TakeLeast(&least, static_cast<double>(*quota) / *period);
  }
  return least;
}

std::optional<int64_t> Cgroup::MemoryLimit() const {
  std::optional<int64_t> least;
  for (const std::string& folder : version2_) {
    const std::optional<int64_t> limit = Number(Words(folder + "/memory.max", 1), 0);
    if (limit && *limit > 0) TakeLeast(&least, *limit);
  }
  for (const std::string& folder : memory_) {
    const std::optional<int64_t> limit = Number(Words(folder + "/memory.limit_in_bytes", 1), 0);
    if (limit && *limit > 0 && *limit < kNoMemoryLimit) TakeLeast(&least, *limit);
  }
  return least;
}

std::optional<int64_t> Cgroup::OomKills() const {
  if (!memory_.empty()) {
    if (const auto kills = ValueOf(memory_.front() + "/memory.oom_control", "oom_kill")) return kills;
  }
  if (!version2_.empty()) {
    if (const auto kills = ValueOf(version2_.front() + "/memory.events", "oom_kill")) return kills;
  }
  // The group of the whole machine counts nothing: the kernel does.
  return ValueOf(root_ + "/proc/vmstat", "oom_kill");
}

}  // namespace lanista
