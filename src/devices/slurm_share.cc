#include "src/devices/slurm_share.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace lanista {
namespace {

// A number that is larger is none that Slurm wrote.
constexpr int64_t kMost = int64_t{1} << 40;

// nullopt: it is not set, or no positive number. Slurm writes 0 where a job has all the memory of its machines.
std::optional<int64_t> Positive(const char* text) {
  int64_t number = 0;
  if (text == nullptr || !absl::SimpleAtoi(text, &number) || number < 1 || number > kMost) return std::nullopt;
  return number;
}

}  // namespace

SlurmShare ReadSlurmShare(const std::function<const char*(const char*)>& variable) {
  SlurmShare share;
  // Only slurmd sets this one.
  if (variable("SLURMD_NODENAME") == nullptr) return share;
  if (const auto job = Positive(variable("SLURM_JOB_ID"))) share.job = absl::StrCat(*job);
  if (const auto end = Positive(variable("SLURM_JOB_END_TIME"))) share.job_end = absl::FromUnixSeconds(*end);
  const std::optional<int64_t> processors = Positive(variable("SLURM_CPUS_ON_NODE"));
  if (processors.has_value() && *processors <= INT32_MAX) share.processors = static_cast<int>(*processors);
  if (const std::optional<int64_t> whole = Positive(variable("SLURM_MEM_PER_NODE"))) {
    share.memory = *whole * kMebibyte;
  } else if (const std::optional<int64_t> each = Positive(variable("SLURM_MEM_PER_CPU"));
             each.has_value() && share.processors.has_value() && *each <= kMost / *share.processors) {
    share.memory = *each * *share.processors * kMebibyte;
  }
  return share;
}

}  // namespace lanista
