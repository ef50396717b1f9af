#include "bench/harness.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>

namespace lanista::bench {

void CheckOk(const absl::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "benchmark: %s\n", status.ToString().c_str());
  std::exit(1);
}

double Median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
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
  constexpr char kDone[] = "OPENBLAS_NUM_THREADS";
  if (const char* threads = std::getenv(kDone); threads != nullptr && std::strcmp(threads, "1") == 0) return;
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  CPU_SET(sched_getcpu(), &cpus);
  sched_setaffinity(0, sizeof cpus, &cpus);
  setenv("OMP_NUM_THREADS", "1", 1);
  setenv(kDone, "1", 1);
  execv("/proc/self/exe", argv);
  std::perror("benchmark: cannot start again on one core");
  std::exit(1);
}

}  // namespace lanista::bench
