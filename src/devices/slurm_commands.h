// What Slurm's commands are called with, and what their answers mean. Tried with Slurm 22.05 and 24.11.
#ifndef LANISTA_SRC_DEVICES_SLURM_COMMANDS_H_
#define LANISTA_SRC_DEVICES_SLURM_COMMANDS_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "protos/experiment.pb.h"
#include "src/base/command.h"
#include "src/devices/slurm_jobs.h"
#include "src/devices/slurm_share.h"

namespace lanista {

// What a node's job starts.
struct SlurmNode {
  // Absolute paths.
  std::string program;
  std::string trial_program;
  std::string head_file;
  // Where the job's output goes.
  std::string folder;
};

// How many devices a node of the block has.
int DevicesPerNode(const v1::SlurmConfig& config);

// Memory of each, as DeviceMemory; 0: not known.
int64_t MemoryPerDevice(const v1::SlurmConfig& config);

// What its nodes are given by `node_option: "--label=KEY=VALUE"`, for the option "--label=".
std::map<std::string, std::string> NodePairs(const v1::SlurmConfig& config, absl::string_view option);

// Submits a job of this name, with the script as its input. A node's name is the job's, with ".TIMES" where it was
// requeued.
Command SbatchCommand(const v1::SlurmConfig& config, const SlurmNode& node, const std::string& name);

// The job's id. UNAVAILABLE: `result` is no answer, in sbatch's words.
absl::StatusOr<std::string> ParseSbatch(const Command& command, const CommandAnswer& result);

// All jobs of this user.
Command SqueueCommand();
// UNAVAILABLE: `result` is no answer, in squeue's words.
absl::StatusOr<std::vector<QueuedJob>> ParseSqueue(const Command& command, const CommandAnswer& result);

// Ends jobs; with `only_pending`, those that still wait.
Command ScancelCommand(const std::vector<std::string>& ids, bool only_pending);
// Ends the job of this name.
Command ScancelByNameCommand(const std::string& name);

// When Slurm will end a job.
Command JobEndCommand(const std::string& id);
// A time as squeue prints it ("2026-11-22T19:00:00", local time); nullopt: it is none ("NONE", "N/A", "Unknown").
std::optional<absl::Time> ParseSlurmTime(absl::string_view text);

// When Slurm will end the job that `share` is of; nullopt: it is of none, or the time is not known. Asks squeue where
// the job's variables do not say it (Slurm 22.05). A time that is over is none: the job runs, so Slurm has not ended it
// then, and a node that believed it would get no work for ever.
std::optional<absl::Time> FindJobEnd(const SlurmShare& share, const CommandRunner& run_command, absl::Time now);

}  // namespace lanista

#endif  // LANISTA_SRC_DEVICES_SLURM_COMMANDS_H_
