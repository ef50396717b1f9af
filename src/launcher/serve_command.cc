// serve.
#include <signal.h>
#include <sys/resource.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"
#include "src/base/build_id.h"
#include "src/base/file_lock.h"
#include "src/base/logging.h"
#include "src/base/status.h"
#include "src/base/unique_fd.h"
#include "src/config/config.h"
#include "src/config/paths.h"
#include "src/launcher/commands.h"
#include "src/launcher/console.h"
#include "src/launcher/device_options.h"
#include "src/launcher/exit_codes.h"
#include "src/launcher/head_port.h"
#include "src/launcher/local_head.h"
#include "src/launcher/page.h"
#include "src/launcher/signal_thread.h"
#include "src/launcher/trial_model_maker.h"
#include "src/launcher/until_signal.h"
#include "src/rpc/address.h"
#include "src/rpc/head_file.h"
#include "src/rpc/head_server.h"
#include "src/rpc/node_limits.h"
#include "src/service/experiments.h"
#include "src/service/news.h"
#include "src/service/node_gateway.h"
#include "src/service/uploads.h"
#include "src/storage/state_dir.h"
#include "src/views/nodes_view.h"
#include "src/web/web_server.h"

namespace lanista {
namespace {

// Where trials run: as --config says, and as --cpu-slots and --gpus do.
absl::StatusOr<v1::ExperimentConfig> HeadDevices(const CommandLine& line) {
  if (line.config.empty()) return DevicesOf(line);
  LANISTA_ASSIGN_OR_RETURN(const v1::HeadConfig head, LoadHeadConfig(line.config));
  v1::ExperimentConfig config;
  if (line.cpu_slots.has_value() || !line.gpus.empty()) config = DevicesOf(line);
  config.mutable_training_service()->MergeFrom(head.training_service());
  return config;
}

// One `serve` a state folder: a second one would take uploads on their way to the first for leftovers, and both would
// write down their nodes in one file.
absl::StatusOr<UniqueFd> TakeAlone(const StateDir& state_dir) {
  const std::string path = absl::StrCat(state_dir.root(), "/serve.lock");
  absl::StatusOr<UniqueFd> lock = LockFile(path);
  if (!absl::IsAlreadyExists(lock.status())) return lock;
  return absl::FailedPreconditionError(absl::StrCat("the state folder ", state_dir.root(), " is served by process ",
                                                    LockHolder(path).value_or(0),
                                                    ": stop that one first, or choose another --state-dir"));
}

// Raises the limit of open files to the most that this user may have: each connection takes one, and journals must
// always get theirs.
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
  LANISTA_ASSIGN_OR_RETURN(const v1::ExperimentConfig devices, HeadDevices(line));
  LANISTA_ASSIGN_OR_RETURN(const StateDir state_dir, StateDir::Open(root));
  LANISTA_ASSIGN_OR_RETURN(const UniqueFd alone, TakeAlone(state_dir));
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
  options.lost_after = std::chrono::seconds(line.lost_after);
  options.labels = context.labels;
  options.shared_data = state_dir.SharedDataFolder();
  options.keep_free = line.keep_free;
  const TelemetryPtr telemetry = options.telemetry;
  LANISTA_ASSIGN_OR_RETURN(std::unique_ptr<LocalHead> head, LocalHead::Start(std::move(options), devices));
  TrialModelMaker::Options maker_options;
  maker_options.nodes = [runner = head.get()](const v1::Convert& request, const std::string& program,
                                              const ModelMaker::Abandoned& abandoned) {
    return runner->Convert(request, program, abandoned);
  };
  TrialModelMaker model_maker(context.trial_program, std::move(maker_options));
  Experiments::Options experiments_options = ForPage(&model_maker);
  experiments_options.max_experiments = line.max_experiments;
  Uploads::Options uploads_options;
  uploads_options.max_bytes = static_cast<int64_t>(line.upload_limit);
  uploads_options.max_total_bytes = static_cast<int64_t>(line.upload_space);
  LANISTA_ASSIGN_OR_RETURN(const std::unique_ptr<Uploads> uploads, Uploads::Open(state_dir, uploads_options));
  experiments_options.uploads = uploads.get();
  Experiments experiments(state_dir, head.get(), &news, experiments_options);
  LANISTA_ASSIGN_OR_RETURN(const std::optional<TunnelToken> tunnel_token,
                           TunnelToken::MakeIfWanted(devices.training_service()));
  // The port comes first: if it cannot be opened, nothing may run.
  LANISTA_ASSIGN_OR_RETURN(std::unique_ptr<HeadServer> server,
                           HeadServer::Start(wanted, &experiments, protection, telemetry,
                                             tunnel_token.has_value() ? tunnel_token->file() : ""));
  // If there is no trial program here, nodes may have any.
  const std::string program = ReadBuildId(context.trial_program.path).value_or("");
  // Known before the page opens.
  NodeGateway* nodes = nullptr;
  std::unique_ptr<WebServer> web;
  if (page.has_value()) {
    page->telemetry = telemetry;
    page->api.nodes = [&nodes, &program]() -> absl::StatusOr<nlohmann::ordered_json> {
      LANISTA_ASSIGN_OR_RETURN(const v1::NodeList list, AwaitNodes(*nodes));
      return NodesDocument(list, program);
    };
    LANISTA_ASSIGN_OR_RETURN(web, WebServer::Start(*page, &experiments));
  }
  const absl::Cleanup end = [&] {
    // Clients are told that the head ends before they can see that their experiments run no more.
    server->Close();
    if (web != nullptr) web->Close();
    // Makes calls that wait for the head return.
    head->End();
    web.reset();
    server.reset();
  };
  LANISTA_ASSIGN_OR_RETURN(nodes, head->AcceptNodes(std::chrono::seconds(line.lost_after)));
  LANISTA_RETURN_IF_ERROR(
      SeekNodes(context, *head, devices.training_service(), state_dir.root(), *server, tunnel_token));
  NodeLimits limits;
  limits.disk_room = head->disk_room();
  server->AcceptNodes(nodes, program, limits);
  // Done before clients can ask, so that nobody sees these experiments as interrupted.
  head->ResumeServed();
  server->Open();
  if (web != nullptr) web->Open();

  const std::string address = server->address().ToText();
  LogInfo("listening on {}", address);
  if (!head_file.empty()) LANISTA_RETURN_IF_ERROR(WriteHeadFile(head_file, server->address()));
  if (line.json) {
    PrintJson({{"listening", address},
               {"page", web == nullptr ? nlohmann::ordered_json() : nlohmann::ordered_json(web->link())}});
  } else {
    PrintLine(absl::StrCat("listening on ", address));
    if (web != nullptr) PrintLine(PageLine(web->link()));
  }
  std::fflush(stdout);

  until.Wait();
  LogInfo("ending: what runs can be resumed");
  return kExitDone;
}

}  // namespace lanista
