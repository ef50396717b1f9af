// `slurm`: nodes that are submitted to Slurm as there is work for them.
#include <chrono>
#include <functional>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "google/protobuf/text_format.h"
#include "src/base/file_lock.h"
#include "src/base/logging.h"
#include "src/base/output_files.h"
#include "src/base/read_file.h"
#include "src/base/status.h"
#include "src/base/unique_fd.h"
#include "src/base/unique_id.h"
#include "src/devices/node_source.h"
#include "src/devices/slurm_commands.h"
#include "src/devices/slurm_jobs.h"

namespace lanista {
namespace {

using google::protobuf::TextFormat;

// Of thousands of jobs.
constexpr uint64_t kMaxLedgerBytes = 1 << 20;
// Heads that use the same state folder.
constexpr int kMaxLedgers = 100;
// A head that was told to end has little time.
constexpr std::chrono::seconds kEndLimit(5);
// Enough to tell this user's heads apart, and short enough to be read.
constexpr size_t kHeadIdDigits = 8;

absl::Duration ToDuration(const google::protobuf::Duration& duration) {
  return absl::Seconds(duration.seconds()) + absl::Nanoseconds(duration.nanos());
}

// The ledger in the file, or a new one with a prefix of its own. INVALID_ARGUMENT: the file holds something else.
absl::StatusOr<v1::SlurmLedger> ReadLedger(const std::string& path) {
  v1::SlurmLedger ledger;
  const absl::StatusOr<std::string> text = ReadWholeFile(path, kMaxLedgerBytes);
  if (absl::IsNotFound(text.status())) {
    ledger.set_prefix("lanista-" + NewUniqueId().substr(0, kHeadIdDigits));
    return ledger;
  }
  if (!text.ok()) return text.status();
  if (!TextFormat::ParseFromString(*text, &ledger) || ledger.prefix().empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        path,
        ": is no list of Slurm jobs. Without it, jobs of an earlier head are not known: cancel them and remove it"));
  }
  return ledger;
}

SlurmJobs::Options JobOptions(const v1::SlurmConfig& config, const std::string& folder) {
  SlurmJobs::Options options;
  options.devices_per_node = DevicesPerNode(config);
  options.min_nodes = config.min_nodes();
  if (config.has_max_nodes()) options.max_nodes = config.max_nodes();
  if (config.has_idle_timeout()) options.idle_timeout = ToDuration(config.idle_timeout());
  if (config.has_poll_interval()) options.poll_interval = ToDuration(config.poll_interval());
  options.log_folder = folder;
  return options;
}

class SlurmSource final : public NodeSource {
 public:
  // `lock`: of the ledger.
  SlurmSource(v1::SlurmConfig config, NodeSourceContext context, SlurmNode node, std::string ledger_file, UniqueFd lock,
              const v1::SlurmLedger& ledger)
      : config_(std::move(config)),
        context_(std::move(context)),
        node_(std::move(node)),
        ledger_file_(std::move(ledger_file)),
        lock_(std::move(lock)),
        jobs_(JobOptions(config_, node_.folder), ledger) {}

  Prospect Step(const Situation& situation) override {
    Prospect prospect;
    bool looked = false;
    ending_ = situation.ending;
    // One job after the other, as many as are wanted. A slow controller takes its time for each.
    while (!is_ending()) {
      const SlurmJobs::Decision decision = jobs_.Decide(absl::Now(), situation.waiting, situation.nodes);
      prospect.drain.insert(prospect.drain.end(), decision.drain.begin(), decision.drain.end());
      if (!decision.cancel.empty()) Cancel(decision.cancel);
      if (decision.look && !std::exchange(looked, true)) Look();
      if (!decision.submit.has_value() || !Submit(*decision.submit)) break;
    }
    prospect.devices = jobs_.ExpectedDevices();
    prospect.device_memory = MemoryPerDevice(config_);
    prospect.device_kind = config_.gpus() > 0 ? v1::DeviceKind::GPU : v1::DeviceKind::CPU;
    prospect.labels = NodePairs(config_, "--label=");
    for (const auto& [name, folder] : NodePairs(config_, "--data=")) prospect.data.push_back(name);
    prospect.coming = jobs_.Coming();
    prospect.because = jobs_.Because();
    return prospect;
  }

  void End() override {
    const v1::SlurmLedger ledger = jobs_.Ledger();
    std::vector<std::string> ids;
    for (const v1::SlurmLedgerJob& job : ledger.job()) {
      const std::string name = jobs_.NameOf(job.number());
      if (job.id().empty()) {
        EndJobs(ScancelByNameCommand(name), name);
      } else {
        ids.push_back(job.id());
      }
    }
    if (!ids.empty()) EndJobs(ScancelCommand(ids, /*only_pending=*/false), absl::StrJoin(ids, " "));
    // The next head looks for them, and finds that they are gone.
    TrySaveLedger();
  }

 private:
  bool is_ending() const { return ending_ && ending_(); }

  // Of a Step: once the head is told to end, few seconds are left for all that it runs.
  absl::StatusOr<CommandAnswer> RunInStep(Command command) const {
    if (is_ending()) return absl::CancelledError("the head ends");
    command.ending = ending_;
    return context_.run_command(command);
  }

  // False: it is to be tried later.
  bool Submit(int number) {
    const std::string name = jobs_.NameOf(number);
    const absl::StatusOr<std::string> id = SubmitAs(name);
    if (!id.ok()) {
      const std::string why(id.status().message());
      LogWarning("Slurm job {} was not submitted: {}", name, why);
      jobs_.NotSubmitted(absl::Now(), number, why);
      TrySaveLedger();
      return false;
    }
    LogInfo("Slurm job {} was submitted: {}", name, *id);
    jobs_.Submitted(number, *id);
    TrySaveLedger();
    return true;
  }

  // The job's id.
  absl::StatusOr<std::string> SubmitAs(const std::string& name) {
    LANISTA_RETURN_IF_ERROR(SaveLedger());
    const Command command = SbatchCommand(config_, node_, name);
    LANISTA_ASSIGN_OR_RETURN(const CommandAnswer result, RunInStep(command));
    return ParseSbatch(command, result);
  }

  void Look() {
    const absl::Time asked = absl::Now();
    const Command command = SqueueCommand();
    const absl::StatusOr<CommandAnswer> result = RunInStep(command);
    const auto queue = result.ok() ? ParseSqueue(command, *result) : result.status();
    if (queue.ok()) {
      jobs_.Looked(asked, absl::Now(), *queue);
      TrySaveLedger();
    } else {
      LogWarning("{}", std::string(queue.status().message()));
      jobs_.NotLooked(absl::Now(), std::string(queue.status().message()));
    }
  }

  void Cancel(const std::vector<std::string>& ids) {
    LogInfo("Slurm jobs {} are not needed any more: those that wait are canceled", absl::StrJoin(ids, " "));
    const Command command = ScancelCommand(ids, /*only_pending=*/true);
    const absl::Status status = Succeeded(command, RunInStep(command));
    if (!status.ok()) LogWarning("{}", std::string(status.message()));
  }

  void EndJobs(Command command, const std::string& which) {
    command.limit = kEndLimit;
    const absl::Status status = Succeeded(command, context_.run_command(command));
    if (status.ok()) return LogInfo("Slurm jobs {} are canceled", which);
    LogError("Slurm jobs {} may still be there; cancel them by hand, or start this head again: {}", which,
             std::string(status.message()));
  }

  static absl::Status Succeeded(const Command& command, const absl::StatusOr<CommandAnswer>& result) {
    if (!result.ok()) return result.status();
    return result->exit_code == 0 ? absl::OkStatus() : absl::UnavailableError(WhatItSaid(command, *result));
  }

  absl::Status SaveLedger() {
    std::string text;
    TextFormat::PrintToString(jobs_.Ledger(), &text);
    if (text == saved_) return absl::OkStatus();
    LANISTA_RETURN_IF_ERROR(WriteFile(ledger_file_, text));
    saved_ = text;
    return absl::OkStatus();
  }

  // What is not on the disk yet is written with the next change; until then it is found by squeue.
  void TrySaveLedger() {
    const absl::Status status = SaveLedger();
    if (!status.ok()) LogError("{}", std::string(status.message()));
  }

  const v1::SlurmConfig config_;
  const NodeSourceContext context_;
  const SlurmNode node_;
  const std::string ledger_file_;
  const UniqueFd lock_;
  SlurmJobs jobs_;
  // Of the last Step.
  std::function<bool()> ending_;
  // What is on the disk.
  std::string saved_;
};

absl::StatusOr<std::unique_ptr<NodeSource>> MakeSlurm(const v1::SlurmConfig& config, const NodeSourceContext& context) {
  SlurmNode node;
  node.program = context.program;
  node.trial_program = context.trial_program;
  node.folder = config.has_folder() ? config.folder() : absl::StrCat(context.state_dir, "/slurm");
  // Two heads may have the same state folder at the same time. Each has a ledger of its own: it would count, and at its
  // end cancel, the other's jobs. After a head that was killed the ledger is free again.
  std::string ledger_file;
  absl::StatusOr<UniqueFd> lock = absl::AlreadyExistsError("");
  for (int other = 0; absl::IsAlreadyExists(lock.status()) && other < kMaxLedgers; ++other) {
    ledger_file =
        absl::StrCat(context.state_dir, "/", context.name, other == 0 ? "" : absl::StrCat(".", other), ".jobs");
    lock = LockFile(ledger_file + ".lock");
  }
  LANISTA_RETURN_IF_ERROR(lock.status());
  LANISTA_ASSIGN_OR_RETURN(const v1::SlurmLedger ledger, ReadLedger(ledger_file));
  // Another head may use the same folder for its nodes.
  node.head_file = absl::StrCat(node.folder, "/", ledger.prefix(), ".head");
  LANISTA_RETURN_IF_ERROR(MakeParentFolder(node.head_file));
  LANISTA_RETURN_IF_ERROR(WriteFile(node.head_file, context.head + "\n"));
  return std::make_unique<SlurmSource>(config, context, std::move(node), ledger_file, *std::move(lock), ledger);
}

LANISTA_REGISTER_BUILT_IN(NodeSourceRegistry, slurm, v1::SlurmConfig, MakeSlurm);

}  // namespace
}  // namespace lanista
