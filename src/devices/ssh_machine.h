// A machine on which the head has a node over ssh.
#ifndef LANISTA_SRC_DEVICES_SSH_MACHINE_H_
#define LANISTA_SRC_DEVICES_SSH_MACHINE_H_

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "protos/experiment.pb.h"
#include "src/base/command.h"
#include "src/base/running_command.h"
#include "src/base/unique_fd.h"
#include "src/devices/ssh_commands.h"

namespace lanista {

// Has a thread of its own, which keeps a node there as long as this lives:
//
//   looks at the machine -> copies the programs that it lacks -> starts the node, and waits for its end
//
// Whatever of it fails is tried again: after 5 s, then later and later, up to 10 min. A node that leaves in order
// (`drain`) is not started again. Public functions may be called from any thread.
class SshMachine {
 public:
  struct Options {
    v1::MachineConfig config;
    // Of the node.
    std::string name;
    // See NodeStart.
    std::string key;
    NodeProgram program;
    NodeProgram trial_program;
    // Where nodes come in at the head, and the token that they need there.
    std::string tunnel_end;
    std::string token;
    CommandRunner run_command = RunCommand;
    std::chrono::milliseconds first_delay{5000};
    std::chrono::milliseconds longest_delay{600000};
    // A node that stayed for so long has worked: what comes then is a first failure.
    std::chrono::milliseconds worked_after{60000};
    // The node has so long to end.
    std::chrono::milliseconds end_limit{30000};
  };

  struct State {
    // What it does, or why there is no node, for people.
    std::string because;
    // The node is there, or is about to be.
    bool may_come = true;
    // When it was first tried.
    absl::Time since;
  };

  explicit SshMachine(Options options);
  // Stop, and waits until nothing of it is left.
  ~SshMachine();

  const std::string& name() const { return options_.name; }
  // How many devices the node has; 0: that is not known.
  int devices() const { return options_.config.cpu_slots() + options_.config.gpu_indices_size(); }
  State state() const;

  // Ends the node; returns at once.
  void Stop();

 private:
  using Clock = RunningCommand::Clock;

  void Run();
  // Until the node has ended. OK: in order.
  absl::Status HaveNode();
  absl::StatusOr<Looked> Look();
  absl::Status Copy(const NodeProgram& program);
  absl::Status StartNode();
  // ssh with its command; `tunnel_end`: as SshArguments.
  std::vector<std::string> Call(const std::string& command, const std::string& tunnel_end = "") const;
  // The input's end ends the node, too; killed is what outlives its limit.
  void EndNode(RunningCommand& ssh) const;

  void Say(const std::string& because, bool may_come);
  bool stopped() const;

  const Options options_;
  // Readable once it is stopped.
  const UniqueFd stop_;
  const absl::Time since_ = absl::Now();
  // Of StartNode's calls; and when the last one of this try began.
  int starts_ = 0;
  std::optional<Clock::time_point> node_began_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  // Protected by mutex_.
  bool stopped_ = false;
  std::string because_ = "is asked over ssh";
  bool may_come_ = true;

  std::thread thread_;
};

}  // namespace lanista

#endif  // LANISTA_SRC_DEVICES_SSH_MACHINE_H_
