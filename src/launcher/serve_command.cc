// serve.
#include <signal.h>

#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "spdlog/spdlog.h"
#include "src/base/logging.h"
#include "src/base/output_files.h"
#include "src/base/status.h"
#include "src/config/paths.h"
#include "src/launcher/commands.h"
#include "src/launcher/console.h"
#include "src/launcher/exit_codes.h"
#include "src/launcher/local_head.h"
#include "src/launcher/page.h"
#include "src/launcher/signal_thread.h"
#include "src/launcher/until_signal.h"
#include "src/rpc/address.h"
#include "src/rpc/head_server.h"
#include "src/service/experiments.h"
#include "src/service/news.h"
#include "src/storage/state_dir.h"
#include "src/web/web_server.h"

namespace lanista {
namespace {

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

// A `local` block with the devices of the command line.
v1::ExperimentConfig DevicesOf(const CommandLine& line) {
  v1::ExperimentConfig config;
  v1::LocalConfig& local = *config.add_training_service()->mutable_local();
  if (line.cpu_slots.has_value()) local.set_cpu_slots(*line.cpu_slots);
  for (const int gpu : line.gpus) local.add_gpu_indices(gpu);
  return config;
}

}  // namespace

absl::StatusOr<int> Serve(const CommandContext& context) {
  const CommandLine& line = context.line;
  LANISTA_ASSIGN_OR_RETURN(const Address wanted, ListenAddress(line));
  LANISTA_ASSIGN_OR_RETURN(const std::string root, context.state_dir);
  LANISTA_ASSIGN_OR_RETURN(const std::string head_file, ResolvePath(line.head_file, UserDirectory()));
  LANISTA_ASSIGN_OR_RETURN(const StateDir state_dir, StateDir::Open(root));
  std::optional<WebOptions> page;
  if (!line.web.empty()) {
    LANISTA_ASSIGN_OR_RETURN(page, PageOptions(line, state_dir.root(), "serve"));
    page->open = false;
  }
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
                             [&news](const v1::ExperimentEvent& event) { news.Publish(event.experiment()); }};
  LANISTA_ASSIGN_OR_RETURN(std::unique_ptr<LocalHead> head, LocalHead::Start(std::move(options), DevicesOf(line)));
  Experiments experiments(state_dir, head.get(), &news);
  // First the port: without it nothing may run.
  LANISTA_ASSIGN_OR_RETURN(std::unique_ptr<HeadServer> server, HeadServer::Start(wanted, &experiments));
  std::unique_ptr<WebServer> web;
  if (page.has_value()) {
    LANISTA_ASSIGN_OR_RETURN(web, WebServer::Start(*page, &experiments));
  }
  const absl::Cleanup end = [&] {
    // Clients hear that the head ends before they could see that nobody runs their experiments.
    server->Close();
    if (web != nullptr) web->Close();
    // Calls that wait for the head return.
    head->End();
    web.reset();
    server.reset();
  };
  // Before anybody can ask: what goes on is never seen as interrupted.
  head->ResumeServed();
  server->Open();
  if (web != nullptr) web->Open();

  const std::string address = server->address().ToText();
  spdlog::info("listening on {}", address);
  if (!head_file.empty()) LANISTA_RETURN_IF_ERROR(WriteFile(head_file, address + "\n"));
  if (line.json) {
    PrintJson({{"listening", address},
               {"page", web == nullptr ? nlohmann::ordered_json() : nlohmann::ordered_json(web->link())}});
  } else {
    PrintLine(absl::StrCat("listening on ", address));
    if (web != nullptr) PrintLine(PageLine(web->link()));
  }
  std::fflush(stdout);

  until.Wait();
  spdlog::info("ending: what runs can be resumed");
  return kExitDone;
}

}  // namespace lanista
