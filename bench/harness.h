// Shared by the benchmarks.
#ifndef LANISTA_BENCH_HARNESS_H_
#define LANISTA_BENCH_HARNESS_H_

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace lanista::bench {

// Ends the program with a message if `status` is an error.
void CheckOk(const absl::Status& status);

// The value; ends the program if it is an error.
template <typename T>
T ValueOrDie(absl::StatusOr<T> value) {
  CheckOk(value.status());
  return *std::move(value);
}

// A new folder in the temporary one, removed with all that is in it; a program that ends by exit() leaves it, and so
// what explains its failure. Ends the program if it cannot be made.
class TempFolder {
 public:
  TempFolder();
  ~TempFolder();
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// Measures the wall time since its construction.
class Stopwatch {
 public:
  double Seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }

 private:
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// The median; for an even number of values, the mean of the middle two. REQUIRES: `values` is not empty.
double Median(std::vector<double> values);

// The path of one of Lanista's programs ("lanista"): in this program's runfiles, or as Bazel built it. Ends the program
// if it does not exist.
std::string Program(const std::string& name);

// Restarts this program on one core and with one thread (libraries read both settings when they are loaded), and prints
// the core. Call it first in main.
void UseOneCore(char** argv);

// Use after UseOneCore: while an object lives, this thread, and the threads and programs that it starts, may use up to
// `most` of the cores that this program had at its start.
class CoresForChildren {
 public:
  explicit CoresForChildren(int most);
  ~CoresForChildren();
  CoresForChildren(const CoresForChildren&) = delete;
  CoresForChildren& operator=(const CoresForChildren&) = delete;

  int count() const { return count_; }

 private:
  int count_ = 0;
};

}  // namespace lanista::bench

#endif  // LANISTA_BENCH_HARNESS_H_
