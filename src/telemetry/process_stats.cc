#include "src/telemetry/process_stats.h"

#include <dirent.h>
#include <sys/resource.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"

namespace lanista {
namespace {

std::string ReadAll(const char* path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

int64_t CountOpenFiles() {
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir("/proc/self/fd"), &closedir);
  if (folder == nullptr) return 0;
  int64_t files = 0;
  while (const dirent* const entry = readdir(folder.get())) files += entry->d_name[0] != '.';
  // Without the folder's own.
  return files - 1;
}

int64_t MaxFiles() {
  rlimit limit = {};
  return getrlimit(RLIMIT_NOFILE, &limit) == 0 ? static_cast<int64_t>(limit.rlim_cur) : 0;
}

// In seconds since 1970; 0: not known.
double BootTime() {
  for (const absl::string_view line : absl::StrSplit(ReadAll("/proc/stat"), '\n')) {
    double seconds = 0;
    if (absl::StartsWith(line, "btime ") && absl::SimpleAtod(line.substr(6), &seconds)) return seconds;
  }
  return 0;
}

}  // namespace

std::optional<ProcessLine> ParseProcessLine(absl::string_view text) {
  // The second field is the program's name in parentheses, which may hold spaces and parentheses itself.
  const size_t name_end = text.rfind(')');
  if (name_end == absl::string_view::npos) return std::nullopt;
  const std::vector<absl::string_view> fields =
      absl::StrSplit(text.substr(name_end + 1), absl::ByAnyChar(" \n"), absl::SkipEmpty());
  ProcessLine line;
  // The first one here is the third of proc(5).
  const auto read = [&fields](size_t number, int64_t* value) {
    return number - 3 < fields.size() && absl::SimpleAtoi(fields[number - 3], value);
  };
  const bool complete = read(14, &line.user_ticks) && read(15, &line.system_ticks) && read(20, &line.threads) &&
                        read(22, &line.start_ticks) && read(23, &line.virtual_memory) && read(24, &line.resident_pages);
  return complete ? std::optional<ProcessLine>(line) : std::nullopt;
}

std::optional<ProcessStats> ReadProcessStats() {
  const std::optional<ProcessLine> line = ParseProcessLine(ReadAll("/proc/self/stat"));
  if (!line.has_value()) return std::nullopt;
  static const double boot_time = BootTime();
  const auto ticks = static_cast<double>(sysconf(_SC_CLK_TCK));
  ProcessStats stats;
  stats.resident_memory = line->resident_pages * sysconf(_SC_PAGESIZE);
  stats.virtual_memory = line->virtual_memory;
  stats.cpu_seconds = static_cast<double>(line->user_ticks + line->system_ticks) / ticks;
  stats.start_time = boot_time + static_cast<double>(line->start_ticks) / ticks;
  stats.threads = line->threads;
  stats.open_files = CountOpenFiles();
  stats.max_files = MaxFiles();
  return stats;
}

}  // namespace lanista
