#include "src/devices/ssh_machine.h"

#include <sys/eventfd.h>
#include <sys/utsname.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "src/base/display_text.h"
#include "src/base/logging.h"
#include "src/base/status.h"
#include "src/base/utf8.h"

namespace lanista {
namespace {

// The connection, and reading the programs there.
constexpr std::chrono::minutes kLookLimit(2);
// A program of a hundred megabytes over a slow line.
constexpr std::chrono::hours kCopyLimit(1);
// ssh itself waits 15 s for the connection.
constexpr std::chrono::minutes kTunnelLimit(1);
// Where ssh itself failed.
constexpr int kSshFailed = 255;
constexpr char kGiveUpAfterSeconds[] = "120";
// Lines of ssh and of the node that may explain its end.
constexpr size_t kKeptLines = 10;

// Why ssh, or what it ran, ended so.
absl::Status Failure(int exit_code, const std::vector<std::string>& lines) {
  std::string words = LastWords(lines);
  if (words.empty()) {
    words = exit_code == kSshFailed ? "the connection was lost" : absl::StrCat("it ended with exit code ", exit_code);
  }
  return absl::UnavailableError(words);
}

void Keep(std::string line, std::vector<std::string>* lines) {
  lines->push_back(std::move(line));
  if (lines->size() > kKeptLines) lines->erase(lines->begin());
}

// Reads until it has ended; `on_line` says whether a line is an answer, else it is kept as an explanation. The exit
// code is 0.
template <typename OnLine>
absl::Status ReadToEnd(RunningCommand& command, int stop_fd, RunningCommand::Clock::duration limit, OnLine on_line) {
  const auto deadline = RunningCommand::Clock::now() + limit;
  std::vector<std::string> lines;
  while (true) {
    switch (command.Next(stop_fd, deadline)) {
      case RunningCommand::Event::kLine:
        if (!on_line(command.line())) Keep(command.line(), &lines);
        break;
      case RunningCommand::Event::kEnded:
        return command.exit_code() == 0 ? absl::OkStatus() : Failure(command.exit_code(), lines);
      case RunningCommand::Event::kStopped:
        return absl::CancelledError("the head ends");
      case RunningCommand::Event::kDeadline:
        return absl::DeadlineExceededError(absl::StrCat("ssh did not end within ",
                                                        std::chrono::duration_cast<std::chrono::seconds>(limit).count(),
                                                        " s and was killed"));
    }
  }
}

}  // namespace

SshMachine::SshMachine(Options options)
    : options_(std::move(options)), stop_(eventfd(0, EFD_CLOEXEC)), thread_([this] { Run(); }) {}

SshMachine::~SshMachine() {
  Stop();
  thread_.join();
}

SshMachine::State SshMachine::state() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return {because_, may_come_, since_};
}

void SshMachine::Stop() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopped_ = true;
  }
  changed_.notify_all();
  eventfd_write(stop_.get(), 1);
}

bool SshMachine::stopped() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return stopped_;
}

void SshMachine::Say(const std::string& because, bool may_come) {
  const std::lock_guard<std::mutex> lock(mutex_);
  because_ = because;
  may_come_ = may_come;
}

void SshMachine::Run() {
  std::chrono::milliseconds delay = options_.first_delay;
  while (!stopped()) {
    node_began_.reset();
    const absl::Status end = HaveNode();
    if (stopped()) return;
    if (end.ok()) {
      Say("left (`drain`, or a signal there): it comes back when this head is started again", /*may_come=*/false);
      return LogInfo("node {} has left {}, and is not started again", name(), options_.config.host());
    }
    if (node_began_.has_value() && Clock::now() - *node_began_ > options_.worked_after) delay = options_.first_delay;
    const std::string because(end.message());
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(delay).count();
    LogWarning("{}: {}; tried again in {} s", name(), because, seconds);
    Say(because, /*may_come=*/false);
    std::unique_lock<std::mutex> lock(mutex_);
    if (changed_.wait_for(lock, delay, [this] { return stopped_; })) return;
    delay = std::min(2 * delay, options_.longest_delay);
  }
}

absl::Status SshMachine::HaveNode() {
  Say("is asked over ssh", /*may_come=*/true);
  LANISTA_ASSIGN_OR_RETURN(Looked there, Look());
  utsname own = {};
  if (uname(&own) == 0 && there.machine != own.machine) {
    return absl::FailedPreconditionError(
        absl::StrCat("its processors are ", there.machine, ", and the programs of this head are for ", own.machine));
  }
  bool copied = false;
  for (const NodeProgram* program : {&options_.program, &options_.trial_program}) {
    if (there.programs.count(program->sha256) > 0) continue;
    if (copied && program->sha256 == options_.program.sha256) continue;
    Say(absl::StrCat("gets a copy of ", program->name), /*may_come=*/true);
    LANISTA_RETURN_IF_ERROR(Copy(*program));
    copied = true;
  }
  if (copied) {
    LANISTA_ASSIGN_OR_RETURN(there, Look());
    for (const NodeProgram* program : {&options_.program, &options_.trial_program}) {
      if (there.programs.count(program->sha256) > 0) continue;
      return absl::FailedPreconditionError(absl::StrCat(program->path, " was copied, and is not there"));
    }
  }
  if (!there.libraries.empty()) {
    return absl::FailedPreconditionError(LibraryAdvice(there.libraries, options_.run_command));
  }
  Say("is started", /*may_come=*/true);
  node_began_ = Clock::now();
  return StartNode();
}

std::vector<std::string> SshMachine::Call(const std::string& command, const std::string& tunnel_end) const {
  std::vector<std::string> arguments = SshArguments(options_.config, tunnel_end);
  arguments.push_back(command);
  return arguments;
}

absl::StatusOr<Looked> SshMachine::Look() {
  LANISTA_ASSIGN_OR_RETURN(const std::unique_ptr<RunningCommand> ssh,
                           RunningCommand::Start(Call(RunScriptFromInput(LookScript()))));
  // A program that ends before it has read all says why.
  ssh->Write(absl::StrCat(LookScript(), LookInput({options_.program, options_.trial_program})), stop_.get())
      .IgnoreError();
  ssh->EndInput();
  Looked looked;
  LANISTA_RETURN_IF_ERROR(ReadToEnd(*ssh, stop_.get(), kLookLimit,
                                    [&](const std::string& line) { return ParseLookedLine(line, &looked); }));
  if (looked.complete) return looked;
  return absl::UnavailableError("a login there runs no commands, or what it runs says something else");
}

absl::Status SshMachine::Copy(const NodeProgram& program) {
  LogInfo("{}: {} is copied", name(), program.path);
  LANISTA_ASSIGN_OR_RETURN(const std::unique_ptr<RunningCommand> ssh,
                           RunningCommand::Start(Call(CopyCommand(program, options_.key)), program.path));
  const absl::Status status = ReadToEnd(*ssh, stop_.get(), kCopyLimit, [](const std::string&) { return false; });
  return status.ok() ? status : Annotate(status, absl::StrCat(program.name, " cannot be copied"));
}

absl::Status SshMachine::StartNode() {
  NodeStart start;
  start.key = options_.key;
  start.count = ++starts_;
  start.token = options_.token;
  start.program = options_.program;
  start.trial_program = options_.trial_program;
  const v1::MachineConfig& config = options_.config;
  start.options = {"--name", options_.name};
  const bool says_when =
      std::any_of(config.node_option().begin(), config.node_option().end(),
                  [](const std::string& option) { return absl::StartsWith(option, "--give-up-after"); });
  // No head comes back by the tunnel of a connection that is lost.
  if (!says_when) start.options.insert(start.options.end(), {"--give-up-after", kGiveUpAfterSeconds});
  if (config.has_cpu_slots())
    start.options.insert(start.options.end(), {"--cpu-slots", absl::StrCat(config.cpu_slots())});
  if (!config.gpu_indices().empty()) {
    start.options.insert(start.options.end(), {"--gpus", absl::StrJoin(config.gpu_indices(), ",")});
  }
  start.options.insert(start.options.end(), config.node_option().begin(), config.node_option().end());

  LANISTA_ASSIGN_OR_RETURN(const std::unique_ptr<RunningCommand> ssh,
                           RunningCommand::Start(Call(RunScriptFromInput(StartScript()), options_.tunnel_end)));
  std::vector<std::string> lines;
  Clock::time_point deadline = Clock::now() + kTunnelLimit;
  while (true) {
    switch (ssh->Next(stop_.get(), deadline)) {
      case RunningCommand::Event::kLine:
        if (const std::optional<int> port = ParseAllocatedPort(ssh->line()); port.has_value() && start.port == 0) {
          start.port = *port;
          ssh->Write(absl::StrCat(StartScript(), StartInput(start)), stop_.get()).IgnoreError();
          deadline = Clock::time_point::max();
        } else {
          LogInfo("{}: {}", name(), OneLine(ToUtf8(ssh->line())));
          Keep(ssh->line(), &lines);
          // What was said before explains nothing that comes.
          if (absl::StartsWith(ssh->line(), "joined ")) lines.clear();
        }
        break;
      case RunningCommand::Event::kEnded:
        return ssh->exit_code() == 0 ? absl::OkStatus() : Failure(ssh->exit_code(), lines);
      case RunningCommand::Event::kStopped:
        EndNode(*ssh);
        return absl::CancelledError("the head ends");
      case RunningCommand::Event::kDeadline:
        return absl::DeadlineExceededError(absl::StrCat("ssh made no tunnel within a minute",
                                                        lines.empty() ? "" : absl::StrCat(": ", LastWords(lines))));
    }
  }
}

void SshMachine::EndNode(RunningCommand& ssh) const {
  ssh.EndInput();
  const Clock::time_point deadline = Clock::now() + options_.end_limit;
  while (true) {
    const RunningCommand::Event event = ssh.Next(/*stop_fd=*/-1, deadline);
    if (event == RunningCommand::Event::kEnded) return;
    if (event != RunningCommand::Event::kDeadline) continue;
    return LogError("node {} may still be on {}: it did not end within {} s", name(), options_.config.host(),
                    std::chrono::duration_cast<std::chrono::seconds>(options_.end_limit).count());
  }
}

}  // namespace lanista
