// A head in a process of its own, and what it takes of the machine.
#ifndef LANISTA_BENCH_HEAD_PROCESS_H_
#define LANISTA_BENCH_HEAD_PROCESS_H_

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "src/rpc/address.h"

namespace lanista::bench {

// Used by one thread.
class HeadProcess {
 public:
  // Starts `lanista serve` without devices of its own on a free port, and waits until it can be reached. It keeps its
  // state and its log (head.log) in `folder`, which is made.
  static absl::StatusOr<std::unique_ptr<HeadProcess>> Start(const std::string& folder);
  // Kills it.
  ~HeadProcess();
  HeadProcess(const HeadProcess&) = delete;
  HeadProcess& operator=(const HeadProcess&) = delete;

  const Address& address() const { return address_; }
  const std::string& state_dir() const { return folder_; }

  // Of all its threads, since it began. Errors, here and below: it has ended.
  absl::StatusOr<double> CpuSeconds() const;
  absl::StatusOr<int64_t> ResidentBytes() const;
  // The most that it ever had.
  absl::StatusOr<int64_t> PeakResidentBytes() const;

  // The error with what is known of the head: whether it runs, and where its log is.
  absl::Status Explain(const absl::Status& error);

 private:
  HeadProcess(std::string folder, pid_t pid, int out) : folder_(std::move(folder)), pid_(pid), stdout_(out) {}

  absl::Status AwaitListening();
  // A line of /proc/PID/status, in bytes.
  absl::StatusOr<int64_t> MemoryLine(const std::string& name) const;

  const std::string folder_;
  // 0: it has ended, and `end_` says how.
  pid_t pid_;
  std::string end_;
  // The end of a pipe. The head may write to it as long as it lives.
  const int stdout_;
  Address address_;
};

}  // namespace lanista::bench

#endif  // LANISTA_BENCH_HEAD_PROCESS_H_
