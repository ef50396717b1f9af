// What the options of single fields (protos/options.proto) do not say of devices.
#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "protos/experiment.pb.h"
#include "src/base/field_rules.h"

namespace lanista {
namespace {

std::optional<Violation> CheckLocal(const v1::LocalConfig& local, const std::string& path) {
  if (local.has_cpu_slots() && local.cpu_slots() == 0 && local.gpu_indices().empty()) {
    return Violation{JoinPath(path, "cpu_slots"), "0 slots and no gpu_indices: nothing could run; at least 1"};
  }
  return std::nullopt;
}

// A program's argument, as it is handed on without a shell.
std::optional<Violation> CheckArgument(const std::string& argument, const std::string& path) {
  if (argument.size() > 1 && argument.front() == '-' &&
      argument.find_first_of(std::string("\0\n\r", 3)) == std::string::npos) {
    return std::nullopt;
  }
  return Violation{path, "must be one argument that begins with '-', for example \"--constraint=a100\""};
}

// Whether sbatch takes `name` for that option: Slurm takes unique beginnings of names.
bool Means(const std::string& name, const std::string& option) {
  return name.size() > 4 && absl::StartsWith(option, name);
}

// Arguments of sbatch that would break the promise of one machine a job, or of finding the head's own jobs again.
bool IsOurs(const std::string& option) {
  const std::string name = option.substr(0, option.find('='));
  for (const char* const ours : {"--job-name", "--array", "--nodes", "--ntasks", "--parsable", "--wait", "--wrap",
                                 "--test-only", "--hold", "--cpus-per-task", "--output", "--chdir"}) {
    if (Means(name, ours)) return true;
  }
  return option.size() >= 2 && option[1] != '-' && std::string("JaNnWHcoD").find(option[1]) != std::string::npos;
}

// Whether an argument of sbatch names clusters. squeue and scancel look at those of SLURM_CLUSTERS.
bool NamesClusters(const std::string& option) {
  return absl::StartsWith(option, "-M") || Means(option.substr(0, option.find('=')), "--clusters");
}

// What ssh reads as one word: it hands these on to commands of its configuration (ProxyCommand), and a '-' at the
// beginning would make it an option.
std::optional<Violation> CheckSshWord(const std::string& text, const char* also, const std::string& path) {
  const auto allowed = [also](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || std::string(also).find(c) != std::string::npos;
  };
  const bool good = text.size() <= 255 && text.front() != '-' && std::all_of(text.begin(), text.end(), allowed);
  if (good) return std::nullopt;
  return Violation{path, absl::StrCat("must be letters, digits and ", also, " (at most 255), and not begin with '-'")};
}

// Arguments of `lanista node` that say how it gets to its head, or what the machine's other fields say.
bool IsSetForMachines(const std::string& option) {
  const std::string name = option.substr(0, option.find('='));
  for (const char* const ours : {"--head", "--head-file", "--name", "--trial-program", "--cpu-slots", "--gpus", "--tls",
                                 "--tls-ca", "--tls-cert", "--tls-key", "--token-file", "--insecure"}) {
    if (name == ours) return true;
  }
  return false;
}

std::optional<Violation> CheckMachine(const v1::MachineConfig& machine, const std::string& path) {
  if (auto violation = CheckSshWord(machine.host(), "._-:%", JoinPath(path, "host"))) return violation;
  if (machine.has_user()) {
    if (machine.user().empty()) return Violation{JoinPath(path, "user"), "is empty; leave it out for ssh's own"};
    if (auto violation = CheckSshWord(machine.user(), "._-@+", JoinPath(path, "user"))) return violation;
  }
  if (machine.has_cpu_slots() && machine.cpu_slots() == 0 && machine.gpu_indices().empty()) {
    return Violation{JoinPath(path, "cpu_slots"), "0 slots and no gpu_indices: nothing could run; at least 1"};
  }
  for (int i = 0; i < machine.node_option_size(); ++i) {
    const std::string at = absl::StrCat(JoinPath(path, "node_option"), "[", i, "]");
    if (auto violation = CheckArgument(machine.node_option(i), at)) return violation;
    if (IsSetForMachines(machine.node_option(i))) {
      return Violation{at, absl::StrCat(machine.node_option(i), " is set by Lanista")};
    }
  }
  return std::nullopt;
}

std::optional<Violation> CheckSlurm(const v1::SlurmConfig& slurm, const std::string& path) {
  if (slurm.has_time_limit() && slurm.time_limit().seconds() < 60) {
    return Violation{JoinPath(path, "time_limit"), "must be at least a minute, because Slurm counts in minutes"};
  }
  if (slurm.has_poll_interval() && slurm.poll_interval().seconds() < 1) {
    return Violation{JoinPath(path, "poll_interval"), "must be at least a second"};
  }
  if (slurm.min_nodes() > (slurm.has_max_nodes() ? slurm.max_nodes() : 1)) {
    return Violation{JoinPath(path, "min_nodes"), "must be at most max_nodes, which is 1 where it is not set"};
  }
  for (const auto& [name, value] :
       {std::pair("partition", &slurm.partition()), std::pair("account", &slurm.account())}) {
    if (value->find_first_of(std::string("\0\n\r", 3)) != std::string::npos) {
      return Violation{JoinPath(path, name), "must be on one line"};
    }
  }
  for (int i = 0; i < slurm.option_size(); ++i) {
    const std::string at = absl::StrCat(JoinPath(path, "option"), "[", i, "]");
    if (auto violation = CheckArgument(slurm.option(i), at)) return violation;
    if (IsOurs(slurm.option(i))) {
      return Violation{at, absl::StrCat(slurm.option(i), " is set by Lanista: a node is one task on one machine")};
    }
    if (NamesClusters(slurm.option(i))) {
      return Violation{at, absl::StrCat(slurm.option(i), " would submit jobs that this head cannot find again: set ",
                                        "SLURM_CLUSTERS where the head runs")};
    }
  }
  for (int i = 0; i < slurm.node_option_size(); ++i) {
    if (auto violation =
            CheckArgument(slurm.node_option(i), absl::StrCat(JoinPath(path, "node_option"), "[", i, "]"))) {
      return violation;
    }
  }
  return std::nullopt;
}

}  // namespace

LANISTA_REGISTER_CHECK(v1::LocalConfig, CheckLocal);
LANISTA_REGISTER_CHECK(v1::MachineConfig, CheckMachine);
LANISTA_REGISTER_CHECK(v1::SlurmConfig, CheckSlurm);

}  // namespace lanista
