// What benchmarks share.
#ifndef LANISTA_BENCH_HARNESS_H_
#define LANISTA_BENCH_HARNESS_H_

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace lanista::bench {

// Ends the program with the error, if it is one.
void CheckOk(const absl::Status& status);

// The value; ends the program on an error.
template <typename T>
T ValueOrDie(absl::StatusOr<T> value) {
  CheckOk(value.status());
  return *std::move(value);
}

// Wall time since it was made.
class Stopwatch {
 public:
  double Seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }

 private:
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// Of an even number, the mean of the middle two. REQUIRES: there are some.
double Median(std::vector<double> values);

// The path of one of our programs ("lanista"): as Bazel lays it beside this one, or as built. Ends the program if it is
// not there.
std::string Program(const std::string& name);

// Starts this program anew on one core and with one thread, because the libraries read both when they are loaded; then
// says on which core it runs. Call it first in main.
void UseOneCore(char** argv);

// After UseOneCore: while it lives, programs that this thread starts may use up to `most` of the cores that this
// program had at its start.
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
