// What the kernel knows of this process.
#ifndef LANISTA_SRC_TELEMETRY_PROCESS_STATS_H_
#define LANISTA_SRC_TELEMETRY_PROCESS_STATS_H_

#include <cstdint>
#include <optional>

#include "absl/strings/string_view.h"

namespace lanista {

struct ProcessStats {
  // In bytes.
  int64_t resident_memory = 0;
  int64_t virtual_memory = 0;
  // In seconds: of all threads, in the program and in the kernel.
  double cpu_seconds = 0;
  // In seconds since 1970.
  double start_time = 0;
  int64_t threads = 0;
  int64_t open_files = 0;
  // As many files as it may open.
  int64_t max_files = 0;
};

// nullopt: /proc does not tell. Threads of other programs (trial processes) are not in it.
std::optional<ProcessStats> ReadProcessStats();

// What /proc/PID/stat says: times are in ticks, memory in bytes and pages. nullopt: it is none.
struct ProcessLine {
  int64_t user_ticks = 0;
  int64_t system_ticks = 0;
  int64_t threads = 0;
  // Since the machine was started.
  int64_t start_ticks = 0;
  int64_t virtual_memory = 0;
  int64_t resident_pages = 0;
};
std::optional<ProcessLine> ParseProcessLine(absl::string_view text);

}  // namespace lanista

#endif  // LANISTA_SRC_TELEMETRY_PROCESS_STATS_H_
