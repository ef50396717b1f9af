#include "src/launcher/page.h"

#include <mutex>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "src/base/status.h"
#include "src/config/paths.h"
#include "src/exporters/common/formats.h"
#include "src/launcher/head_port.h"
#include "src/launcher/trial_model_maker.h"
#include "src/rpc/address.h"
#include "src/service/experiment_runner.h"
#include "src/service/news.h"
#include "src/web/token.h"

namespace lanista {
namespace {

// Messages for actions that the page cannot do in this mode; they name the command that can.
WebActions ActionsOf(const std::string& mode) {
  WebActions actions;
  if (mode == "run") {
    actions.resume = "this process runs one search; `lanista resume ID` goes on with another one";
  } else if (mode == "view") {
    actions.stop = "nothing runs here: Ctrl-C where the search runs stops it, or `lanista stop ID --head H:P`";
    actions.resume = "nothing runs here; `lanista resume ID` goes on with it";
    actions.remove = "this page only shows what is in the state folder; `lanista delete ID` deletes it";
  }
  return actions;
}

std::vector<ExportFormat> ExportableFormats() {
  std::vector<ExportFormat> formats;
  for (const exporters::Format& format : exporters::Formats()) {
    formats.push_back({format.name, exporters::NeedsName(format.rules.needs())});
  }
  return formats;
}

// The actions of the page of a search: it can only be stopped.
class StoppingRunner : public ExperimentRunner {
 public:
  explicit StoppingRunner(RunPage::Search search) : search_(std::move(search)) {}

  absl::StatusOr<v1::Validated> Validate(const v1::ExperimentConfig&, int, const Abandoned&) override {
    return Refusal();
  }
  absl::StatusOr<std::string> Create(const v1::ExperimentConfig&, const std::string&) override { return Refusal(); }
  absl::Status Resume(const std::string&, const v1::ExperimentConfig&, const Abandoned&) override { return Refusal(); }
  bool Runs(const std::string& experiment) const override {
    const std::lock_guard<std::mutex> lock(mutex_);
    return experiment == experiment_;
  }
  std::string WaitingFor(const std::string& experiment) override { return search_.waiting_for(experiment); }
  void Stop(const std::string& experiment, const std::string& reason) override { search_.stop(experiment, reason); }

  // The search is this experiment.
  void Began(const std::string& experiment) {
    const std::lock_guard<std::mutex> lock(mutex_);
    experiment_ = experiment;
  }

 private:
  static absl::Status Refusal() { return absl::FailedPreconditionError("this process runs one search"); }

  const RunPage::Search search_;
  mutable std::mutex mutex_;
  // Protected by mutex_. Empty: it has not begun.
  std::string experiment_;
};

}  // namespace

absl::StatusOr<WebOptions> PageOptions(const CommandLine& line, const std::string& state_dir, const std::string& mode) {
  const std::string option = mode == "view" ? "--listen" : "--web";
  // A port without a host means this machine only.
  const bool port_only = !absl::StrContains(line.web, ':');
  const absl::StatusOr<Address> address = ParseAddress(port_only ? absl::StrCat("127.0.0.1:", line.web) : line.web);
  if (!address.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(option, ": '", line.web, "' is no address; write PORT or HOST:PORT, for example 8081"));
  }
  std::vector<std::string> missing;
  if (line.safety.tls_cert.empty()) missing.push_back("--tls-cert FILE --tls-key FILE");
  LANISTA_RETURN_IF_ERROR(CheckReach(line, *address, absl::StrCat(option, " ", line.web),
                                     "what is sent is not encrypted", missing, "docs/web.md"));
  if (!address->is_loopback() && line.web_token == "none") {
    return absl::InvalidArgumentError(
        absl::StrCat("--web-token none: only where no other machine reaches the page; ", line.web, " is not such"));
  }
  WebOptions options;
  options.host = address->host;
  options.port = address->port;
  options.names = line.web_hosts;
  // With `serve`, --tls-cert is for the gRPC port first; a page that only this machine reaches needs no certificate.
  if (mode != "serve" || !address->is_loopback()) {
    LANISTA_ASSIGN_OR_RETURN(options.tls_certificate_file, ResolvePath(line.safety.tls_cert, UserDirectory()));
    LANISTA_ASSIGN_OR_RETURN(options.tls_key_file, ResolvePath(line.safety.tls_key, UserDirectory()));
  }
  options.api = {mode, ActionsOf(mode), ExportableFormats()};
  if (line.web_token == "none") return options;
  LANISTA_ASSIGN_OR_RETURN(options.token, StateToken(state_dir));
  // `web` runs nothing, so it has no measurements.
  if (mode == "view") return options;
  LANISTA_ASSIGN_OR_RETURN(options.metrics_token, StateToken(state_dir, kMetricsToken));
  return options;
}

Experiments::Options ForPage(ModelMaker* model_maker) {
  Experiments::Options options;
  options.model_maker = model_maker;
  return options;
}

std::string PageLine(const std::string& link) { return absl::StrCat("page: ", link); }

class RunPage::Impl {
 public:
  Impl(const StateDir& state_dir, const TrialProgram& trial_program, Search search)
      : runner_(std::move(search)),
        model_maker_(trial_program),
        experiments_(state_dir, &runner_, &news_, ForPage(&model_maker_)) {}

  absl::Status Start(const WebOptions& options) {
    LANISTA_ASSIGN_OR_RETURN(server_, WebServer::Start(options, &experiments_));
    return absl::OkStatus();
  }

  const std::string& link() const { return server_->link(); }
  void Began(const std::string& experiment) { runner_.Began(experiment); }
  void OnEvent(const v1::ExperimentEvent& event) {
    Began(event.experiment());
    news_.Publish(event.experiment());
  }

 private:
  News news_;
  StoppingRunner runner_;
  TrialModelMaker model_maker_;
  Experiments experiments_;
  std::unique_ptr<WebServer> server_;
};

RunPage::RunPage(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
RunPage::~RunPage() = default;

absl::StatusOr<std::unique_ptr<RunPage>> RunPage::Start(const CommandLine& line, const StateDir& state_dir,
                                                        const TrialProgram& trial_program, TelemetryPtr telemetry,
                                                        Search search) {
  LANISTA_ASSIGN_OR_RETURN(WebOptions options, PageOptions(line, state_dir.root(), "run"));
  options.telemetry = std::move(telemetry);
  options.api.nodes = search.nodes;
  auto impl = std::make_unique<Impl>(state_dir, trial_program, std::move(search));
  LANISTA_RETURN_IF_ERROR(impl->Start(options));
  return std::unique_ptr<RunPage>(new RunPage(std::move(impl)));
}

const std::string& RunPage::link() const { return impl_->link(); }
void RunPage::Began(const std::string& experiment) { impl_->Began(experiment); }
void RunPage::OnEvent(const v1::ExperimentEvent& event) { impl_->OnEvent(event); }

}  // namespace lanista
