// A program of the system that runs for long, and talks meanwhile (ssh).
#ifndef LANISTA_SRC_BASE_RUNNING_COMMAND_H_
#define LANISTA_SRC_BASE_RUNNING_COMMAND_H_

#include <sys/types.h>

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "src/base/unique_fd.h"

namespace lanista {

// Runs in a process group of its own, with the environment of RunCommand. Used by one thread.
class RunningCommand {
 public:
  using Clock = std::chrono::steady_clock;

  // What Next saw.
  enum class Event { kLine, kEnded, kStopped, kDeadline };

  // `arguments`: the program, looked for on PATH, and its arguments; no shell reads them. `input_file` is its standard
  // input; empty: what Write says. NOT_FOUND: there is no such program, or no such file.
  static absl::StatusOr<std::unique_ptr<RunningCommand>> Start(std::vector<std::string> arguments,
                                                               const std::string& input_file = "");
  // Kills it, with all that it started.
  ~RunningCommand();

  // Hands it `text`, all of it, or waits until it ends or there is something to read at `stop_fd`. UNAVAILABLE: it does
  // not read any more. CANCELLED: it was stopped. REQUIRES: no input file; SIGPIPE is ignored.
  absl::Status Write(absl::string_view text, int stop_fd);
  // Nothing more will be written.
  void EndInput() { input_ = UniqueFd(); }

  // Waits for a line of its output or its errors, which come as one; for its end, after its last line; for something to
  // read at `stop_fd` (-1: for nothing else); or for the deadline. Of a longer line the first 64 KiB are kept.
  Event Next(int stop_fd, Clock::time_point deadline);

  // After kLine: the line, without its line break.
  const std::string& line() const { return line_; }
  // After kEnded: 128 + the signal, where one ended it.
  int exit_code() const { return exit_code_; }

 private:
  RunningCommand(pid_t pid, UniqueFd input, UniqueFd output)
      : pid_(pid), input_(std::move(input)), output_(std::move(output)) {}

  // Moves a line from read_ to line_; false: there is none. A rest without line break counts once nothing more comes.
  bool TakeLine();
  void Read();
  // Waits for the process; kills it where it goes on without outputs.
  void Reap();

  // 0: it was waited for.
  pid_t pid_;
  UniqueFd input_;
  // -1: it has ended.
  UniqueFd output_;
  std::string read_;
  std::string line_;
  int exit_code_ = 0;
};

}  // namespace lanista

#endif  // LANISTA_SRC_BASE_RUNNING_COMMAND_H_
