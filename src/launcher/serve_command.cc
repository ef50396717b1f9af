// serve.
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "spdlog/spdlog.h"
#include "src/base/build_id.h"
#include "src/base/logging.h"
#include "src/base/output_files.h"
#include "src/base/status.h"
#include "src/config/paths.h"
#include "src/launcher/commands.h"
#include "src/launcher/console.h"
#include "src/launcher/device_options.h"
#include "src/launcher/exit_codes.h"
#include "src/launcher/local_head.h"
#include "src/launcher/signal_thread.h"
#include "src/rpc/address.h"
#include "src/rpc/head_server.h"
#include "src/service/experiments.h"
#include "src/service/news.h"
#include "src/storage/state_dir.h"

namespace lanista {
namespace {

// The first signal ends the head; a second one ends it at once.
class UntilSignal {
 public:
  void OnSignal(int count) {
    if (count > 1) _exit(kExitKilled);
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      came_ = true;
    }
    changed_.notify_one();
  }
  void Wait() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return came_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool came_ = false;
};

absl::StatusOr<Address> ListenAddress(const CommandLine& line) {
  absl::StatusOr<Address> address = ParseAddress(line.listen);
  if (!address.ok()) return Annotate(address.status(), "--listen");
  if (address->is_loopback() || line.insecure) return address;
  return absl::InvalidArgumentError(
      absl::StrCat("--listen ", line.listen,
                   ": other machines reach it, and there is no encryption and no token: whoever "
                   "does so can run programs as you. Listen on 127.0.0.1 (and use `ssh -L` from elsewhere), or add "
                   "--insecure where you trust the whole network"));
}

}  // namespace

absl::StatusOr<int> Serve(const CommandContext& context) {
  const CommandLine& line = context.line;
  LANISTA_ASSIGN_OR_RETURN(const Address wanted, ListenAddress(line));
  LANISTA_ASSIGN_OR_RETURN(const std::string root, context.state_dir);
  LANISTA_ASSIGN_OR_RETURN(const std::string head_file, ResolvePath(line.head_file, UserDirectory()));
  LANISTA_ASSIGN_OR_RETURN(const StateDir state_dir, StateDir::Open(root));
  LoggingOptions logging;
  if (!line.log_level.empty()) logging.console_level = line.log_level;
  logging.file = absl::StrCat(state_dir.root(), "/lanista.log");
  LANISTA_RETURN_IF_ERROR(SetUpLogging(logging));

  CatchStopSignals();
  signal(SIGPIPE, SIG_IGN);
  UntilSignal until;
  const SignalThread signals([&](int count) { until.OnSignal(count); });

  News news;
  LocalHead::Options options{state_dir, context.trial_program,
                             [&news](const v1::ExperimentEvent& event) { news.Publish(event.experiment()); },
                             line.max_priority};
  LANISTA_ASSIGN_OR_RETURN(std::unique_ptr<LocalHead> head, LocalHead::Start(std::move(options), DevicesOf(line)));
  Experiments experiments(state_dir, head.get(), &news);
  // First the port: without it nothing may run.
  LANISTA_ASSIGN_OR_RETURN(std::unique_ptr<HeadServer> server, HeadServer::Start(wanted, &experiments));
  const absl::Cleanup end = [&] {
    // Clients hear that the head ends before they could see that nobody runs their experiments.
    server->Close();
    // Calls that wait for the head return.
    head->End();
    server.reset();
  };
  LANISTA_ASSIGN_OR_RETURN(NodeGateway* const nodes, head->AcceptNodes(std::chrono::seconds(line.lost_after)));
  // Without a trial program nobody's is another one.
  server->AcceptNodes(nodes, ReadBuildId(context.trial_program.path).value_or(""));
  // Before anybody can ask: what goes on is never seen as interrupted.
  head->ResumeServed();
  server->Open();

  const std::string address = server->address().ToText();
  spdlog::info("listening on {}", address);
  if (!head_file.empty()) LANISTA_RETURN_IF_ERROR(WriteFile(head_file, address + "\n"));
  if (line.json) {
    PrintJson({{"listening", address}});
  } else {
    PrintLine(absl::StrCat("listening on ", address));
  }
  std::fflush(stdout);

  until.Wait();
  spdlog::info("ending: what runs can be resumed");
  return kExitDone;
}

}  // namespace lanista
