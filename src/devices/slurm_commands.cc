#include "src/devices/slurm_commands.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "src/base/display_text.h"
#include "src/base/shell_word.h"
#include "src/base/utf8.h"

namespace lanista {
namespace {

int Processors(const v1::SlurmConfig& config) { return config.has_cpus() ? config.cpus() : 1; }

// The node runs as a step, because Slurm tells steps first that a job is preempted. srun takes the processors from no
// variable since 22.05.
std::string Script(const v1::SlurmConfig& config, const SlurmNode& node) {
  std::string script = "#!/bin/sh\nexec srun --nodes=1 --ntasks=1 ";
  absl::StrAppend(&script, "--cpus-per-task=", Processors(config), " \\\n  ", QuotedShellWord(node.program),
                  " node --head-file ", QuotedShellWord(node.head_file), " --trial-program ",
                  QuotedShellWord(node.trial_program),
                  " \\\n  --name \"$SLURM_JOB_NAME${SLURM_RESTART_COUNT:+.$SLURM_RESTART_COUNT}\" --cpu-slots ",
                  config.gpus() > 0 ? 0 : Processors(config));
  if (config.gpus() > 0) {
    std::vector<int> gpus;
    for (int gpu = 0; gpu < config.gpus(); ++gpu) gpus.push_back(gpu);
    absl::StrAppend(&script, " --gpus ", absl::StrJoin(gpus, ","));
  }
  for (const std::string& option : config.node_option()) absl::StrAppend(&script, " ", QuotedShellWord(option));
  return script + "\n";
}

absl::Status NoAnswer(const Command& command, const CommandAnswer& result) {
  return absl::UnavailableError(WhatItSaid(command, result));
}

}  // namespace

int DevicesPerNode(const v1::SlurmConfig& config) { return config.gpus() > 0 ? config.gpus() : Processors(config); }

int64_t MemoryPerDevice(const v1::SlurmConfig& config) {
  return config.gpus() > 0 ? 0 : config.memory() / Processors(config);
}

std::map<std::string, std::string> NodePairs(const v1::SlurmConfig& config, absl::string_view option) {
  std::map<std::string, std::string> pairs;
  for (absl::string_view given : config.node_option()) {
    if (absl::ConsumePrefix(&given, option)) pairs.insert(absl::StrSplit(given, absl::MaxSplits('=', 1)));
  }
  return pairs;
}

Command SbatchCommand(const v1::SlurmConfig& config, const SlurmNode& node, const std::string& name) {
  Command command{{"sbatch", "--parsable", "--job-name=" + name, "--nodes=1", "--ntasks=1",
                   absl::StrCat("--cpus-per-task=", Processors(config)), "--requeue", "--open-mode=append",
                   // %x is the job's name.
                   absl::StrCat("--output=", absl::StrReplaceAll(node.folder, {{"%", "%%"}}), "/%x.log"),
                   "--chdir=" + node.folder}};
  std::vector<std::string>& arguments = command.arguments;
  if (config.has_partition()) arguments.push_back("--partition=" + config.partition());
  if (config.has_account()) arguments.push_back("--account=" + config.account());
  if (config.has_time_limit()) arguments.push_back(absl::StrCat("--time=", config.time_limit().seconds() / 60));
  if (config.has_memory()) {
    arguments.push_back(absl::StrCat("--mem=", (config.memory() + kMebibyte - 1) / kMebibyte, "M"));
  }
  if (config.gpus() > 0) arguments.push_back(absl::StrCat("--gres=gpu:", config.gpus()));
  arguments.insert(arguments.end(), config.option().begin(), config.option().end());
  command.input = Script(config, node);
  return command;
}

absl::StatusOr<std::string> ParseSbatch(const Command& command, const CommandAnswer& result) {
  // "4711", or "4711;cluster".
  const std::vector<std::string> parts = absl::StrSplit(absl::StripAsciiWhitespace(result.output), ';');
  int64_t id = 0;
  if (result.exit_code != 0 || !absl::SimpleAtoi(parts.front(), &id) || id < 1) return NoAnswer(command, result);
  return parts.front();
}

Command SqueueCommand() { return {{"squeue", "--me", "--noheader", "--format=%i|%T|%j|%r"}}; }

absl::StatusOr<std::vector<QueuedJob>> ParseSqueue(const Command& command, const CommandAnswer& result) {
  if (result.exit_code != 0) return NoAnswer(command, result);
  // A job that it does not show would count as gone.
  if (result.cut) return absl::UnavailableError("squeue: its answer is longer than 1 MiB");
  std::vector<QueuedJob> jobs;
  for (const absl::string_view line : absl::StrSplit(result.output, '\n', absl::SkipWhitespace())) {
    const std::vector<std::string> fields = absl::StrSplit(line, absl::MaxSplits('|', 3));
    if (fields.size() != 4) continue;
    jobs.push_back(
        {std::string(absl::StripAsciiWhitespace(fields[0])), fields[2], fields[1], OneLine(ToUtf8(fields[3]))});
  }
  return jobs;
}

Command ScancelCommand(const std::vector<std::string>& ids, bool only_pending) {
  // Quiet about those that have ended.
  Command command{{"scancel", "--quiet"}};
  if (only_pending) command.arguments.push_back("--state=PENDING");
  command.arguments.insert(command.arguments.end(), ids.begin(), ids.end());
  return command;
}

Command ScancelByNameCommand(const std::string& name) { return {{"scancel", "--me", "--name=" + name}}; }

Command JobEndCommand(const std::string& id) { return {{"squeue", "--noheader", "--job=" + id, "--format=%e"}}; }

std::optional<absl::Time> ParseSlurmTime(absl::string_view text) {
  absl::Time time;
  std::string error;
  if (!absl::ParseTime("%Y-%m-%dT%H:%M:%S", absl::StripAsciiWhitespace(text), absl::LocalTimeZone(), &time, &error)) {
    return std::nullopt;
  }
  return time;
}

std::optional<absl::Time> FindJobEnd(const SlurmShare& share, const CommandRunner& run_command, absl::Time now) {
  std::optional<absl::Time> end = share.job_end;
  if (!share.job.empty() && !end.has_value()) {
    const absl::StatusOr<CommandAnswer> answer = run_command(JobEndCommand(share.job));
    if (answer.ok() && answer->exit_code == 0) end = ParseSlurmTime(answer->output);
  }
  if (end.has_value() && *end <= now) end.reset();
  return end;
}

}  // namespace lanista
