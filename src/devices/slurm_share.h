// The share of a machine that Slurm gave to the job in which this process runs.
#ifndef LANISTA_SRC_DEVICES_SLURM_SHARE_H_
#define LANISTA_SRC_DEVICES_SLURM_SHARE_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "absl/time/time.h"

namespace lanista {

// Slurm counts memory in these, of so many bytes.
inline constexpr int64_t kMebibyte = 1 << 20;

// What is not set: Slurm does not limit it, or says nothing of it. Slurm enforces a share by affinity and control
// groups only where its plugins for that are configured; else a job that took the whole machine would take it from
// others.
struct SlurmShare {
  // The job's id; empty: this process was not started by a slurmd.
  std::string job;
  // When the job will be ended.
  std::optional<absl::Time> job_end;
  std::optional<int> processors;
  // Bytes.
  std::optional<int64_t> memory;
};

// Reads the variables that slurmd sets for the processes of a job on their machine: SLURM_CPUS_ON_NODE,
// SLURM_MEM_PER_NODE, SLURM_MEM_PER_CPU, SLURM_JOB_ID, SLURM_JOB_END_TIME (sbatch(1); the last one is not set by Slurm
// 22.05). Where this process was not started by a slurmd (a shell on a login
// node may have such variables, too) nothing is set. `variable`: std::getenv.
SlurmShare ReadSlurmShare(const std::function<const char*(const char* name)>& variable);

}  // namespace lanista

#endif  // LANISTA_SRC_DEVICES_SLURM_SHARE_H_
