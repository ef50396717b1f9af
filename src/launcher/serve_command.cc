// serve.
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <climits>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
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
#include "src/launcher/page.h"
#include "src/launcher/signal_thread.h"
#include "src/launcher/until_signal.h"
#include "src/rpc/address.h"
#include "src/rpc/head_server.h"
#include "src/rpc/port_protection.h"
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
  std::vector<std::string> missing;
  if (line.safety.tls_cert.empty()) missing.push_back("--tls-cert FILE --tls-key FILE");
  if (line.safety.token_file.empty()) missing.push_back("--token-file FILE");
  if (missing.empty()) return address;
  return absl::InvalidArgumentError(absl::StrCat(
      "--listen ", line.listen, ": other machines reach it, and whoever does so could run programs as you. Add ",
      absl::StrJoin(missing, " and "),
      " (docs/cluster.md has the commands that make them); or listen on 127.0.0.1 (and use `ssh -L` from "
      "elsewhere); or add --insecure where you trust the whole network"));
}

absl::StatusOr<PortProtection> ProtectionOf(const SafetyOptions& options) {
  PortProtection protection;
  for (const auto& [path, option] : {std::pair(&protection.tls_certificate_file, &options.tls_cert),
                                     std::pair(&protection.tls_key_file, &options.tls_key),
                                     std::pair(&protection.tls_client_authorities_file, &options.tls_client_ca),
                                     std::pair(&protection.client_token_file, &options.token_file),
                                     std::pair(&protection.node_token_file, &options.node_token_file)}) {
    LANISTA_ASSIGN_OR_RETURN(*path, ResolvePath(*option, UserDirectory()));
  }
  return protection;
}

// What other machines call it: this machine's name if it listens on all of its addresses.
std::string AddressForOthers(Address address) {
  char name[HOST_NAME_MAX + 1] = {};
  const bool listens_on_all = address.host == "0.0.0.0" || address.host == "[::]";
  if (listens_on_all && gethostname(name, sizeof(name) - 1) == 0) address.host = name;
  return address.ToText();
}

// As many open files as this user may have: each connection is one, and journals must never lack theirs.
void RaiseFileLimit() {
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace

absl::StatusOr<int> Serve(const CommandContext& context) {
  const CommandLine& line = context.line;
  LANISTA_ASSIGN_OR_RETURN(const Address wanted, ListenAddress(line));
  LANISTA_ASSIGN_OR_RETURN(const PortProtection protection, ProtectionOf(line.safety));
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
  RaiseFileLimit();
  UntilSignal until;
  const SignalThread signals([&](int count) { until.OnSignal(count); });

  News news;
  LocalHead::Options options{state_dir, context.trial_program,
                             [&news](const v1::ExperimentEvent& event) { news.Publish(event.experiment()); },
                             line.max_priority};
  LANISTA_ASSIGN_OR_RETURN(std::unique_ptr<LocalHead> head, LocalHead::Start(std::move(options), DevicesOf(line)));
  Experiments experiments(state_dir, head.get(), &news, {line.max_experiments, {}});
  // First the port: without it nothing may run.
  LANISTA_ASSIGN_OR_RETURN(std::unique_ptr<HeadServer> server, HeadServer::Start(wanted, &experiments, protection));
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
  LANISTA_ASSIGN_OR_RETURN(NodeGateway* const nodes, head->AcceptNodes(std::chrono::seconds(line.lost_after)));
  // Without a trial program nobody's is another one.
  server->AcceptNodes(nodes, ReadBuildId(context.trial_program.path).value_or(""));
  // Before anybody can ask: what goes on is never seen as interrupted.
  head->ResumeServed();
  server->Open();
  if (web != nullptr) web->Open();

  const std::string address = server->address().ToText();
  spdlog::info("listening on {}", address);
  if (!head_file.empty()) {
    LANISTA_RETURN_IF_ERROR(WriteFile(head_file, AddressForOthers(server->address()) + "\n"));
  }
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
