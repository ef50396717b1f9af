#include "bench/stub_cluster.h"

#include <algorithm>
#include <future>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "bench/harness.h"
#include "src/base/status.h"
#include "src/config/paths.h"
#include "src/rpc/head_client.h"
#include "src/service/path_stamp.h"
#include "src/storage/state_dir.h"
#include "src/trial_process/parent.h"

namespace lanista::bench {
namespace {

constexpr absl::Duration kStallInterval = absl::Seconds(5);
constexpr absl::Duration kLookInterval = absl::Milliseconds(20);

}  // namespace

absl::StatusOr<v1::Discovered> Discover(const v1::ExperimentConfig& config) {
  v1::TrialRequest request;
  *request.mutable_discover()->mutable_space() = config.space();
  *request.mutable_discover()->mutable_engine() = config.engine();
  *request.mutable_discover()->mutable_evaluator() = config.evaluator();
  v1::Device device;
  device.set_kind(v1::DeviceKind::CPU);
  device.set_threads(1);

  std::promise<absl::StatusOr<v1::Discovered>> promise;
  bool answered = false;
  const auto answer = [&](absl::StatusOr<v1::Discovered> discovered) {
    if (!std::exchange(answered, true)) promise.set_value(std::move(discovered));
  };
  const auto process = MakeTrialProcess(Program("lanista-trial"));
  LANISTA_RETURN_IF_ERROR(process->Start(
      device, {[&](v1::TrialEvent event) {
                 if (event.has_discovered()) answer(std::move(*event.mutable_discovered()));
               },
               [&](const v1::ProcessExited&) { answer(absl::UnavailableError("the trial process ended")); }}));
  LANISTA_RETURN_IF_ERROR(process->Send(request));
  std::future<absl::StatusOr<v1::Discovered>> future = promise.get_future();
  if (future.wait_for(absl::ToChronoSeconds(kStepLimit)) != std::future_status::ready) {
    return absl::DeadlineExceededError("the trial process did not discover the space in time");
  }
  LANISTA_ASSIGN_OR_RETURN(v1::Discovered discovered, future.get());
  LANISTA_RETURN_IF_ERROR(StatusFromProto(discovered.error()));
  return discovered;
}

v1::ExperimentConfig SearchConfig(const Search& search) {
  v1::ExperimentConfig config;
  config.set_name("cluster");
  config.mutable_space()->set_registered("mnist_cnn");
  config.mutable_strategy()->mutable_random()->set_dedup(false);
  config.mutable_engine()->mutable_direct();
  config.mutable_evaluator()->mutable_constant()->set_value(0.5);
  config.set_max_trial_number(search.trials);
  config.set_trial_concurrency(search.nodes * kSlots);
  config.set_seed(1);
  return config;
}

absl::StatusOr<std::unique_ptr<Cluster>> Cluster::Start(const std::string& folder, const Search& search,
                                                        const Spaces& spaces, bool hold, int more_nodes) {
  LANISTA_ASSIGN_OR_RETURN(std::unique_ptr<HeadProcess> head, HeadProcess::Start(folder));
  StubNodes::Options options;
  options.head = head->address().ToText();
  options.nodes = search.nodes + more_nodes;
  options.slots = kSlots;
  options.reports = search.reports;
  options.hold = hold;
  options.program = spaces.search.program();
  options.discover = [&spaces](const v1::Discover& request) {
    return request.engine().has_cgo() ? spaces.windows : spaces.search;
  };
  std::unique_ptr<Cluster> cluster(new Cluster(search, std::move(head), std::move(options)));
  LANISTA_RETURN_IF_ERROR(cluster->Explain(cluster->nodes_.AwaitJoined(kStepLimit)));
  return cluster;
}

absl::Status Cluster::Submit() {
  LANISTA_ASSIGN_OR_RETURN(experiment_, Submit(SearchConfig(search_)));
  return absl::OkStatus();
}

absl::StatusOr<std::string> Cluster::Submit(const v1::ExperimentConfig& config) {
  HeadClient client(head_->address());
  v1::CreateExperimentRequest request;
  *request.mutable_config() = config;
  request.set_request_id(absl::StrCat("bench-", ++submitted_));
  // The head reads them where they are.
  for (const std::string& path : PathsIn(config)) {
    LANISTA_ASSIGN_OR_RETURN(*request.add_shared_paths(), StampOf(path));
  }
  LANISTA_ASSIGN_OR_RETURN(const v1::CreateExperimentReply reply, client.Create(request));
  return reply.experiment();
}

absl::Status Cluster::AwaitEnded(int trials, absl::Duration limit) {
  const absl::Time deadline = absl::Now() + limit;
  while (true) {
    const absl::Status status = nodes_.AwaitEnded(trials, kStallInterval);
    if (!absl::IsDeadlineExceeded(status) || absl::Now() > deadline) return status;
    // Where it has failed nothing more will come.
    LANISTA_RETURN_IF_ERROR(IsDone().status());
  }
}

absl::StatusOr<double> Cluster::AwaitDone(absl::Duration limit) const {
  const absl::Time deadline = absl::Now() + limit;
  while (true) {
    LANISTA_ASSIGN_OR_RETURN(const bool done, IsDone());
    if (done) return CheckJournal();
    if (absl::Now() > deadline) return absl::DeadlineExceededError("time is up: the search was not DONE");
    absl::SleepFor(kLookInterval);
  }
}

absl::StatusOr<JournalReader> Cluster::OpenJournal() const {
  LANISTA_ASSIGN_OR_RETURN(const std::string folder,
                           StateDir::OpenReadOnly(head_->state_dir()).ExperimentFolder(experiment_));
  return JournalReader::Open(folder);
}

absl::StatusOr<bool> Cluster::IsDone() const {
  LANISTA_ASSIGN_OR_RETURN(const JournalReader reader, OpenJournal());
  LANISTA_ASSIGN_OR_RETURN(const StateRecord last, reader.State());
  const v1::ExperimentState::State state = last.change.state();
  if (state == v1::ExperimentState::DONE || !IsFinal(state)) return state == v1::ExperimentState::DONE;
  return absl::InternalError(
      absl::StrCat("the search ended as ", v1::ExperimentState::State_Name(state), ": ", last.change.reason()));
}

absl::StatusOr<double> Cluster::CheckJournal() const {
  LANISTA_ASSIGN_OR_RETURN(const JournalReader reader, OpenJournal());
  LANISTA_ASSIGN_OR_RETURN(const ModelCounts counts, reader.CountModels());
  if (counts.total != search_.trials || counts.succeeded != search_.trials) {
    return absl::InternalError(absl::StrCat("of ", search_.trials, " models ", counts.total,
                                            " are in the journal, and ", counts.succeeded, " of them succeeded"));
  }
  if (search_.reports > 0) {
    LANISTA_ASSIGN_OR_RETURN(const std::vector<IntermediateRecord> reports, reader.Intermediates());
    const size_t sent = static_cast<size_t>(search_.trials) * static_cast<size_t>(search_.reports);
    if (reports.size() != sent) {
      return absl::InternalError(absl::StrCat("of ", sent, " reports ", reports.size(), " are in the journal"));
    }
  }
  LANISTA_ASSIGN_OR_RETURN(const std::vector<StateRecord> states, reader.States());
  const auto running = std::find_if(states.begin(), states.end(), [](const StateRecord& state) {
    return state.change.state() == v1::ExperimentState::RUNNING;
  });
  if (running == states.end()) return absl::InternalError("the search is DONE and never ran");
  return absl::ToDoubleSeconds(states.back().time - running->time);
}

}  // namespace lanista::bench
