#include "src/launcher/local_run.h"

#include <utility>

#include "nlohmann/json.hpp"
#include "src/base/status.h"
#include "src/config/config.h"
#include "src/launcher/head_port.h"
#include "src/launcher/node_port.h"
#include "src/launcher/page.h"
#include "src/storage/find_experiment.h"
#include "src/storage/journal.h"

namespace lanista {

absl::StatusOr<EarlierExperiment> FindEarlier(const std::string& state_dir, const std::string& experiment,
                                              const std::vector<std::string>& overrides) {
  EarlierExperiment earlier;
  const StateDir folders = StateDir::OpenReadOnly(state_dir);
  LANISTA_ASSIGN_OR_RETURN(earlier.id, FindExperiment(folders, experiment));
  LANISTA_ASSIGN_OR_RETURN(const std::string folder, folders.ExperimentFolder(earlier.id));
  // Closed before a head opens the journal: a transaction that stays open would keep SQLite from tidying its log.
  LANISTA_ASSIGN_OR_RETURN(const JournalReader reader, JournalReader::Open(folder));
  LANISTA_ASSIGN_OR_RETURN(earlier.config, ConfigToResume(reader.experiment().config(), overrides));
  LANISTA_ASSIGN_OR_RETURN(earlier.progress.counts, reader.CountModels());
  LANISTA_ASSIGN_OR_RETURN(earlier.progress.front, reader.ParetoFront());
  return earlier;
}

LocalRun::LocalRun(const CommandContext& context, StateDir state_dir, TelemetryPtr telemetry)
    : context_(context), state_dir_(std::move(state_dir)), telemetry_(std::move(telemetry)) {}

LocalRun::~LocalRun() { End(); }

absl::StatusOr<std::unique_ptr<LocalRun>> LocalRun::Open(const CommandContext& context, const StateDir& state_dir,
                                                         const v1::ExperimentConfig& config) {
  LocalHead::Options options{state_dir, context.trial_program};
  options.open = SeeksNodes(config.training_service());
  options.labels = context.labels;
  options.shared_data = state_dir.SharedDataFolder();
  options.keep_free = context.line.keep_free;
  std::unique_ptr<LocalRun> run(new LocalRun(context, state_dir, options.telemetry));
  LANISTA_ASSIGN_OR_RETURN(run->head_, LocalHead::Start(std::move(options), config));
  if (SeeksNodes(config.training_service())) {
    LANISTA_ASSIGN_OR_RETURN(
        run->port_, NodePort::Open(context, *run->head_, config.training_service(), state_dir, run->telemetry_));
  }
  return run;
}

absl::Status LocalRun::OpenPage(std::function<void(const std::string&, const std::string&)> stop) {
  RunPage::Search search{std::move(stop), [this](const std::string& experiment) { return WaitingFor(experiment); },
                         nullptr};
  if (port_ != nullptr) search.nodes = [this] { return Nodes(); };
  LANISTA_ASSIGN_OR_RETURN(
      page_, RunPage::Start(context_.line, state_dir_, context_.trial_program, telemetry_, std::move(search)));
  return absl::OkStatus();
}

absl::StatusOr<nlohmann::ordered_json> LocalRun::Nodes() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (ended_) return absl::UnavailableError("the search has ended, and its nodes have left");
  return port_->Nodes();
}

std::string LocalRun::WaitingFor(const std::string& experiment) {
  const std::lock_guard<std::mutex> lock(mutex_);
  return ended_ ? "" : head_->WaitingFor(experiment);
}

std::string LocalRun::node_address() const { return port_ == nullptr ? "" : port_->address(); }
std::string LocalRun::page_link() const { return page_ == nullptr ? "" : page_->link(); }

LocalHead::Watcher LocalRun::WithPage(LocalHead::Watcher watcher) {
  return [this, watcher = std::move(watcher)](const v1::ExperimentEvent& event) {
    if (page_ != nullptr) page_->OnEvent(event);
    watcher(event);
  };
}

absl::StatusOr<std::string> LocalRun::Submit(const v1::ExperimentConfig& config, LocalHead::Watcher watcher,
                                             const LocalHead::Abandoned& abandoned) {
  return head_->Submit(config, context_.line.durable, WithPage(std::move(watcher)), abandoned);
}

absl::Status LocalRun::Resume(const std::string& experiment, const v1::ExperimentConfig& config,
                              LocalHead::Watcher watcher, const LocalHead::Abandoned& abandoned) {
  // It can be stopped while its space is discovered, before its first event.
  if (page_ != nullptr) page_->Began(experiment);
  return head_->Resume(experiment, config, context_.line.durable, WithPage(std::move(watcher)), abandoned);
}

void LocalRun::End() {
  if (head_ == nullptr) return;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (std::exchange(ended_, true)) return;
  }
  // The port's calls wait for the head.
  if (port_ != nullptr) port_->Close();
  head_->End();
}

}  // namespace lanista
