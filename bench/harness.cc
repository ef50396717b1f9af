#include "bench/harness.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <sstream>
#include <string>

namespace lanista::bench {
namespace {

// Environment variables: the id of the process that pinned itself, and the cores that it had before.
constexpr char kPinned[] = "LANISTA_BENCH_PINNED";
constexpr char kAllCores[] = "LANISTA_BENCH_CORES";

cpu_set_t one_core;
cpu_set_t all_cores;

// Ends the program if a system call failed.
void CheckSystem(int result, const char* what) {
  if (result >= 0) return;
  std::fprintf(stderr, "benchmark: cannot %s: %s\n", what, std::strerror(errno));
  std::exit(1);
}

// The core numbers, each followed by a space.
std::string PrintCores(const cpu_set_t& cores) {
  std::string text;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &cores)) text += std::to_string(core) + " ";
  }
  return text;
}

void ParseCores(const char* text, cpu_set_t* cores) {
  CPU_ZERO(cores);
  std::istringstream numbers(text);
  for (int core; numbers >> core;) CPU_SET(core, cores);
}

}  // namespace

void CheckOk(const absl::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "benchmark: %s\n", status.ToString().c_str());
  std::exit(1);
}

TempFolder::TempFolder() : path_((std::filesystem::temp_directory_path() / "lanista-bench-XXXXXX").string()) {
  CheckSystem(mkdtemp(path_.data()) == nullptr ? -1 : 0, "make a folder in the temporary one");
}

TempFolder::~TempFolder() { std::filesystem::remove_all(path_); }

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

std::string Program(const std::string& name) {
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe");
  for (const auto& folder :
       {self.parent_path().parent_path(), std::filesystem::path(self.string() + ".runfiles/lanista")}) {
    if (std::filesystem::exists(folder / name)) return (folder / name).string();
  }
  CheckOk(absl::NotFoundError("cannot find " + name));
  std::abort();
}

void UseOneCore(char** argv) {
  const std::string self = std::to_string(getpid());
  const char* const pinned = std::getenv(kPinned);
  // An inherited variable may come from another process; exec keeps the process id.
  if (pinned != nullptr && pinned == self) {
    CheckSystem(sched_getaffinity(0, sizeof one_core, &one_core), "ask for this program's cores");
    ParseCores(std::getenv(kAllCores), &all_cores);
    unsetenv(kPinned);
    unsetenv(kAllCores);
    std::printf("pinned to core %d of %d, one thread\n", sched_getcpu(), CPU_COUNT(&all_cores));
    return;
  }
  cpu_set_t cores;
  CheckSystem(sched_getaffinity(0, sizeof cores, &cores), "ask for this program's cores");
  setenv(kAllCores, PrintCores(cores).c_str(), 1);
  const int core = sched_getcpu();
  CPU_ZERO(&cores);
  CPU_SET(core, &cores);
  CheckSystem(sched_setaffinity(0, sizeof cores, &cores), "pin this program to a core");
  for (const char* const threads : {"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"}) {
    setenv(threads, "1", 1);
  }
  setenv(kPinned, self.c_str(), 1);
  CheckSystem(execv("/proc/self/exe", argv), "start again on one core");
}

CoresForChildren::CoresForChildren(int most) {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  for (int core = 0; core < CPU_SETSIZE && count_ < most; ++core) {
    if (!CPU_ISSET(core, &all_cores)) continue;
    CPU_SET(core, &cores);
    ++count_;
  }
  CheckSystem(sched_setaffinity(0, sizeof cores, &cores), "use several cores");
}

CoresForChildren::~CoresForChildren() {
  CheckSystem(sched_setaffinity(0, sizeof one_core, &one_core), "go back to one core");
}

}  // namespace lanista::bench
