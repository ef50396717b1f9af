#include "src/launcher/local_head.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "actors/head.h"
#include "actors/live_actors.h"
#include "actors/training_service.h"
#include "actors/worker.h"
#include "caf/actor_system.hpp"
#include "caf/scoped_actor.hpp"
#include "src/base/bounded_message.h"
#include "src/base/device_name.h"
#include "src/base/logging.h"
#include "src/base/shared_bytes.h"
#include "src/base/status.h"
#include "src/base/unique_id.h"
#include "src/devices/device_source.h"
#include "src/devices/local.h"
#include "src/experiment/setup.h"
#include "src/files/data_channel.h"
#include "src/launcher/actor_system.h"
#include "src/launcher/blocking_requests.h"
#include "src/launcher/counting_channel.h"
#include "src/launcher/device_requirements.h"
#include "src/launcher/node_bridge.h"
#include "src/launcher/node_sources.h"
#include "src/storage/journal.h"
#include "src/trial_process/parent.h"

namespace lanista {
namespace {

// Sources of nodes have this long to end what they started: a machine behind ssh takes half a minute.
constexpr std::chrono::seconds kSourcesLimit(40);

// The final states of experiments: an actor that watches sets them, and other threads wait for them.
class FinalStates {
 public:
  void Set(const std::string& experiment, const v1::StateChanged& state) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      states_[experiment] = state;
    }
    changed_.notify_all();
  }

  v1::StateChanged Wait(const std::string& experiment) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return states_.count(experiment) > 0; });
    return states_[experiment];
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, v1::StateChanged> states_;
};

// Calls the launcher's function until it is closed: events that still wait then are told to nobody. Thread-safe.
class Listener {
 public:
  explicit Listener(LocalHead::Watcher watcher) : watcher_(std::move(watcher)) {}

  void OnEvent(const v1::ExperimentEvent& event) {
    if (closed_) return;  // Without the lock, for which Close waits.
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!closed_) watcher_(event);
  }

  // Waits for a call that is under way; afterwards there is none.
  void Close() {
    closed_ = true;
    const std::lock_guard<std::mutex> lock(mutex_);
  }

 private:
  const LocalHead::Watcher watcher_;
  std::atomic<bool> closed_{false};
  // Held during a call.
  std::mutex mutex_;
};

// Passes events to the launcher's function, and ends after the last event.
WatcherActor::behavior_type Watch(WatcherActor::pointer self, const std::shared_ptr<Listener>& listener,
                                  FinalStates* final_states) {
  return {[self, listener, final_states](const v1::ExperimentEvent& event) {
    listener->OnEvent(event);
    if (!event.has_state() || !IsFinal(event.state().state())) return;
    final_states->Set(event.experiment(), event.state());
    self->quit();
  }};
}

// Passes all events to the function of a head that serves clients.
WatcherActor::behavior_type WatchServed(WatcherActor::pointer, LocalHead::Watcher watcher) {
  return {[watcher = std::move(watcher)](const v1::ExperimentEvent& event) { watcher(event); }};
}

// Whether the configuration says that this machine offers no device.
bool SelectsNothing(const v1::ExperimentConfig& config) {
  const auto& blocks = config.training_service();
  return !blocks.empty() && std::all_of(blocks.begin(), blocks.end(), [](const v1::TrainingServiceConfig& block) {
    const v1::LocalConfig& local = block.local();
    return block.has_local() && local.has_cpu_slots() && local.cpu_slots() == 0 && local.gpu_indices().empty();
  });
}

v1::ResumeExperiment ResumeRequest(const std::string& experiment, const v1::ExperimentConfig& config) {
  v1::ResumeExperiment resume;
  resume.set_experiment(experiment);
  *resume.mutable_config() = config;
  return resume;
}

}  // namespace

class LocalHead::Impl {
 public:
  Impl(Options options, std::vector<v1::Device> devices)
      : devices_(std::move(devices)),
        state_dir_(options.state_dir),
        end_limit_(options.end_limit),
        telemetry_(options.telemetry),
        disk_room_(std::make_shared<DiskRoom>(options.keep_free)),
        shared_data_(devices_.size() > 1 ? options.shared_data : ""),
        system_(system_config_) {
    const ForeignCall call;
    const SpawnWorker spawn_worker = [this, trial_program = options.trial_program](
                                         int number, const v1::Device& device,
                                         const WorkerOwnerActor& owner) -> WorkerActor {
      WorkerConfig config;
      config.number = number;
      config.device = device;
      config.make_channel = [this, trial_program, in_process = device.isolation() == v1::LocalConfig::IN_PROCESS] {
        return std::make_unique<CountingChannel>(
            WithData(
                in_process ? trial_program.in_process() : MakeTrialProcess(trial_program.path, {shared_data_.path()}),
                trial_program.data),
            &constructions_);
      };
      const WorkerActor worker = system_.spawn<caf::detached>(Worker, std::move(config), owner);
      live_.Add(worker, absl::StrCat("the worker of ", DeviceName(device)));
      return worker;
    };
    const bool serves = options.served != nullptr;
    std::set<std::string> nodes;
    if (serves) {
      const v1::KnownNodes known = ReadKnownNodes(state_dir_);
      for (const v1::KnownNode& node : known.nodes()) nodes.insert(node.name());
    }
    // Detached: a strategy that computes on the actor system's threads does not delay the devices.
    service_ = system_.spawn<caf::detached>(
        TrainingService, TrainingServiceOptions{WithPlace(devices_), spawn_worker, std::max(2, AvailableProcessors()),
                                                serves || options.open, telemetry_, options.lost_after, nodes,
                                                options.trial_program.data.names(), options.labels});
    live_.Add(service_, "the training service");
    if (serves) served_ = system_.spawn(WatchServed, std::move(options.served));
    HeadOptions head{state_dir_, service_, live_, serves, options.max_priority};
    head.telemetry = telemetry_;
    head.weights_bars = weights_bars_;
    head.nodes = std::move(nodes);
    head_ = system_.spawn<caf::detached>(Head, std::move(head));
    live_.Add(head_, "the head");
  }

  // Ends all actors, and what sources of nodes have started. Returns the names of what does not end; this object must
  // then live as long as the process.
  std::vector<std::string> Shutdown() {
    // The nodes that the sources have started end at the same time as the actors.
    if (sources_.has_value()) sources_->Stop();
    caf::anon_send_exit(head_, caf::exit_reason::user_shutdown);
    if (nodes_.has_value()) nodes_->End();
    caf::anon_send_exit(service_, caf::exit_reason::user_shutdown);
    for (const auto& [watcher, listener] : watchers_) caf::anon_send_exit(watcher, caf::exit_reason::user_shutdown);
    if (served_) caf::anon_send_exit(served_, caf::exit_reason::user_shutdown);
    for (const auto& [watcher, listener] : watchers_) listener->Close();
    std::vector<std::string> left = live_.WaitForNone(end_limit_);
    if (sources_.has_value()) {
      for (const std::string& source : sources_->Wait(kSourcesLimit)) {
        left.push_back(absl::StrCat("what ", source, " started, which may still be there"));
      }
    }
    return left;
  }

  // Lets all waiting callers return. An actor that is busy for long (its disk hangs, or it replays a strategy) ends
  // later, and its answer is dropped.
  void ReleaseCallers() { requests_.ReleaseCallers(); }

  // The answer to a request to the head; UNAVAILABLE once ReleaseCallers was called, CANCELLED once it was abandoned.
  template <typename Answer, typename... Message>
  absl::StatusOr<Answer> AskUnless(const Abandoned& abandoned, Message... message) {
    return requests_.AskUnless<Answer>(head_, abandoned, std::move(message)...);
  }
  // The same for the service.
  absl::StatusOr<v1::Discovered> AskServiceUnless(const Abandoned& abandoned, v1::Discover request) {
    return requests_.AskUnless<v1::Discovered>(service_, abandoned, std::move(request));
  }
  template <typename Answer, typename... Message>
  absl::StatusOr<Answer> Ask(Message... message) {
    return AskUnless<Answer>(nullptr, std::move(message)...);
  }

  // A discovery that still waits is not wanted any more.
  void Withdraw(const std::string& asked_by) {
    v1::CancelExperiment cancel;
    cancel.set_experiment(asked_by);
    cancel.set_discovery(true);
    caf::anon_send(service_, std::move(cancel));
  }

  // Resumes these experiments; returns once the head has received all requests.
  void ResumeAll(const std::vector<v1::ResumeExperiment>& requests) {
    const ForeignCall call;
    caf::scoped_actor self(system_);
    // Errors are logged.
    for (const v1::ResumeExperiment& request : requests) self->send(head_, request, served_);
    // This answer comes after the others, because the messages of one sender are handled in order.
    self->request(head_, caf::infinite, v1::StopExperiment()).receive([] {}, [](const caf::error&) {});
  }

  // The disk comes first: only the user can mend it.
  std::string WaitingFor(const std::string& experiment) {
    const absl::StatusOr<std::string> folder = state_dir_.ExperimentFolder(experiment);
    if (folder.ok()) {
      std::string room = disk_room_->WaitingFor(*folder);
      if (!room.empty()) return room;
    }
    v1::AskWaiting ask;
    ask.set_experiment(experiment);
    std::string because;
    const ForeignCall call;
    caf::scoped_actor self(system_);
    // If the service has ended, nothing waits for a device.
    self->request(service_, caf::infinite, std::move(ask))
        .receive([&](const v1::Waiting& waiting) { because = waiting.because(); }, [](const caf::error&) {});
    return because;
  }

  WatcherActor MakeWatcher(Watcher watcher) {
    const ForeignCall call;
    // Detached: the launcher's function may write to a slow terminal.
    auto listener = std::make_shared<Listener>(std::move(watcher));
    const WatcherActor actor = system_.spawn<caf::detached>(Watch, listener, &final_states_);
    live_.Add(actor, "the progress display");
    watchers_.push_back({actor, std::move(listener)});
    return actor;
  }

  NodeGateway* AcceptNodes(NodesOptions options) {
    options.telemetry = telemetry_;
    options.weights_bars = weights_bars_;
    nodes_.emplace(&system_, service_, std::move(options));
    live_.Add(nodes_->actor(), "the nodes");
    return &*nodes_;
  }

  absl::Status SeekNodes(const google::protobuf::RepeatedPtrField<v1::TrainingServiceConfig>& blocks,
                         NodeSourceContext context, const std::string& program) {
    sources_.emplace(&system_, service_, &*nodes_, program);
    nodes_->set_coming([this] { return sources_->Coming(); });
    for (int i = 0; i < blocks.size(); ++i) {
      if (!BringsNodes(blocks.Get(i))) continue;
      const std::string field = absl::StrCat("training_service[", i, "]");
      context.name = absl::StrCat("nodes-", i);
      auto source = NodeSourceRegistry::Get().Create(blocks.Get(i), context);
      if (!source.ok()) return Annotate(source.status(), field);
      sources_->Add(field, *std::move(source));
    }
    return absl::OkStatus();
  }

  void Stop(v1::StopExperiment stop) { caf::anon_send(head_, std::move(stop)); }
  FinalStates& final_states() { return final_states_; }
  int constructions() const { return constructions_; }
  const std::vector<v1::Device>& devices() const { return devices_; }
  const StateDir& state_dir() const { return state_dir_; }
  const WatcherActor& served() const { return served_; }
  const DiskRoomPtr& disk_room() const { return disk_room_; }

 private:
  const std::vector<v1::Device> devices_;
  const StateDir state_dir_;
  const std::chrono::milliseconds end_limit_;
  const TelemetryPtr telemetry_;
  const DiskRoomPtr disk_room_;
  const WeightsBarsPtr weights_bars_ = std::make_shared<WeightsBars>();
  // Before the system, whose end is the end of the trial processes. A single process shares nothing.
  const SharedBytesFolder shared_data_;
  // Before the system, whose destructor waits for the actors that use them.
  FinalStates final_states_;
  LiveActors live_;
  std::atomic<int> constructions_{0};
  ActorSystemConfig system_config_;
  caf::actor_system system_;
  BlockingRequests requests_{&system_};
  TrainingServiceActor service_;
  std::optional<NodeBridge> nodes_;
  std::optional<NodeSources> sources_;
  HeadActor head_;
  std::vector<std::pair<WatcherActor, std::shared_ptr<Listener>>> watchers_;
  // Null: the head serves nobody.
  WatcherActor served_;
};

LocalHead::LocalHead(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

LocalHead::~LocalHead() {
  // If actors are left, they still use it.
  if (LeaveBehind(impl_->Shutdown())) static_cast<void>(impl_.release());
}

bool LocalHead::LeftActorsBehind() { return left_actors_behind; }

absl::StatusOr<NodeGateway*> LocalHead::AcceptNodes(std::chrono::milliseconds lost_after) {
  LANISTA_ASSIGN_OR_RETURN(NodesOptions options, PrepareForNodes(impl_->state_dir(), lost_after));
  // Only a head that serves clients resumes what an earlier head left; `run` does not.
  if (impl_->served() != nullptr) RememberNodes(impl_->state_dir(), &options);
  return impl_->AcceptNodes(std::move(options));
}

absl::Status LocalHead::SeekNodes(const google::protobuf::RepeatedPtrField<v1::TrainingServiceConfig>& blocks,
                                  NodeSourceContext context, const std::string& program) {
  return impl_->SeekNodes(blocks, std::move(context), program);
}

absl::StatusOr<std::unique_ptr<LocalHead>> LocalHead::Start(Options options, const v1::ExperimentConfig& config) {
  const bool open = options.open || options.served != nullptr;
  // With an open pool, trials wait for a node that has the data.
  if (!open) LANISTA_RETURN_IF_ERROR(options.trial_program.data.CheckHas(config));
  std::vector<v1::Device> devices;
  if (!open || !SelectsNothing(config)) {
    LANISTA_ASSIGN_OR_RETURN(devices, SelectDevices(config.training_service()));
  }
  if (devices.empty() && !open) {
    // No node can join (`validate`): one process of this machine takes their part.
    LANISTA_ASSIGN_OR_RETURN(devices, SelectDevices({}));
    devices.resize(1);
  }
  const size_t fitting = PutFittingFirst(config.requirements(), options.labels, &devices);
  if (!open && !options.discovers_only) {
    // Elsewhere trials wait for a node.
    const std::string why = WhyNoDeviceFits(config.requirements(), options.labels, devices);
    if (!why.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("requirements: ", why,
                       "; change them, or this machine's devices and labels (training_service, --label), or submit the "
                       "experiment to a head whose nodes meet them"));
    }
    devices.resize(fitting);
  }
  // Further devices would only start processes that get no trial.
  const int wanted =
      config.has_trial_concurrency() ? std::max(1, config.trial_concurrency()) : static_cast<int>(devices.size());
  if (static_cast<int>(devices.size()) > wanted) devices.resize(static_cast<size_t>(wanted));
  for (const v1::Device& device : devices) {
    if (device.isolation() == v1::LocalConfig::IN_PROCESS && !options.trial_program.in_process) {
      return absl::InvalidArgumentError(
          "isolation: IN_PROCESS needs a program with the trial half linked in: run it with lanista-trial, or with "
          "your own program");
    }
  }
  return std::unique_ptr<LocalHead>(new LocalHead(std::make_unique<Impl>(std::move(options), std::move(devices))));
}

absl::StatusOr<v1::Validated> LocalHead::Validate(const v1::ExperimentConfig& config, int plan_models,
                                                  const Abandoned& abandoned) {
  v1::ValidateExperiment validate;
  *validate.mutable_config() = config;
  validate.set_plan_models(plan_models);
  const std::string asked_by = NewUniqueId();
  validate.set_asked_by(asked_by);
  absl::StatusOr<v1::Validated> validated = impl_->AskUnless<v1::Validated>(abandoned, std::move(validate));
  if (absl::IsCancelled(validated.status())) impl_->Withdraw(asked_by);
  if (validated.ok()) LANISTA_RETURN_IF_ERROR(StatusFromProto(validated->error()));
  return validated;
}

absl::StatusOr<v1::Converted> LocalHead::Convert(const v1::Convert& request, const std::string& program,
                                                 const Abandoned& abandoned) {
  v1::Discover work;
  *work.mutable_convert() = request;
  work.set_program(program);
  work.set_asked_by(NewUniqueId());
  const absl::StatusOr<v1::Discovered> answer = impl_->AskServiceUnless(abandoned, work);
  if (absl::IsCancelled(answer.status())) impl_->Withdraw(work.asked_by());
  LANISTA_RETURN_IF_ERROR(answer.status());
  // It has taken the request for a discovery.
  if (!answer->has_converted()) return absl::UnavailableError("the node is older than this head, and cannot do it");
  if (!answer->converted().has_error()) return answer->converted();
  const absl::Status failed = StatusFromProto(answer->converted().error());
  // UNAVAILABLE says that no node takes it.
  const absl::StatusCode code = absl::IsUnavailable(failed) ? absl::StatusCode::kInternal : failed.code();
  return absl::Status(code, BoundedMessage(failed.message()));
}

absl::StatusOr<std::string> LocalHead::Submit(const v1::ExperimentConfig& config, bool durable, Watcher watcher,
                                              const Abandoned& abandoned) {
  v1::SubmitExperiment submit;
  *submit.mutable_config() = config;
  submit.set_durable(durable);
  LANISTA_ASSIGN_OR_RETURN(
      v1::Submitted submitted,
      impl_->AskUnless<v1::Submitted>(abandoned, std::move(submit), impl_->MakeWatcher(std::move(watcher))));
  return submitted.experiment();
}

absl::Status LocalHead::Resume(const std::string& experiment, const v1::ExperimentConfig& config, bool durable,
                               Watcher watcher, const Abandoned& abandoned) {
  v1::ResumeExperiment resume = ResumeRequest(experiment, config);
  resume.set_durable(durable);
  return impl_->AskUnless<v1::Submitted>(abandoned, std::move(resume), impl_->MakeWatcher(std::move(watcher))).status();
}

namespace {

// The configuration of an experiment that an earlier serving head has not finished; nullopt if there is nothing to
// resume. If the experiment was being stopped, its end is recorded now.
absl::StatusOr<std::optional<v1::ExperimentConfig>> ConfigOfServed(const StateDir& state_dir, const std::string& id) {
  LANISTA_ASSIGN_OR_RETURN(const std::string folder, state_dir.ExperimentFolder(id));
  LANISTA_ASSIGN_OR_RETURN(const JournalReader journal, JournalReader::Open(folder));
  LANISTA_ASSIGN_OR_RETURN(const bool served, journal.Served());
  LANISTA_ASSIGN_OR_RETURN(const StateRecord state, journal.State());
  if (!served || IsFinal(state.change.state()) || journal.holder().has_value()) return std::nullopt;
  if (state.change.state() != v1::ExperimentState::STOPPING) return journal.experiment().config();
  LANISTA_RETURN_IF_ERROR(EndStopping(state_dir, id));
  LogInfo("{}was to be stopped: {}", LogTag(id), state.change.reason());
  return std::nullopt;
}

}  // namespace

absl::StatusOr<std::string> LocalHead::Create(const v1::ExperimentConfig& config, const std::string& request_id) {
  v1::ExperimentCreated created;
  *created.mutable_config() = config;
  created.set_request_id(request_id);
  LANISTA_ASSIGN_OR_RETURN(v1::Submitted submitted, impl_->Ask<v1::Submitted>(std::move(created), impl_->served()));
  return submitted.experiment();
}

absl::Status LocalHead::Resume(const std::string& experiment, const v1::ExperimentConfig& config,
                               const Abandoned& abandoned) {
  return impl_->AskUnless<v1::Submitted>(abandoned, ResumeRequest(experiment, config), impl_->served()).status();
}

void LocalHead::ResumeServed() {
  const absl::StatusOr<std::vector<std::string>> ids = impl_->state_dir().List();
  if (!ids.ok()) return LogError("{}", std::string(ids.status().message()));
  std::vector<v1::ResumeExperiment> left;
  for (const std::string& id : *ids) {
    absl::StatusOr<std::optional<v1::ExperimentConfig>> config = ConfigOfServed(impl_->state_dir(), id);
    if (!config.ok()) LogError("{}does not go on: {}", LogTag(id), std::string(config.status().message()));
    if (config.ok() && config->has_value()) left.push_back(ResumeRequest(id, **config));
  }
  impl_->ResumeAll(left);
}

void LocalHead::End() {
  impl_->Shutdown();
  impl_->ReleaseCallers();
}

std::string LocalHead::WaitingFor(const std::string& experiment) { return impl_->WaitingFor(experiment); }

DiskRoomPtr LocalHead::disk_room() const { return impl_->disk_room(); }

void LocalHead::Stop(const std::string& experiment, const std::string& reason) {
  v1::StopExperiment stop;
  stop.set_experiment(experiment);
  stop.set_reason(reason);
  impl_->Stop(std::move(stop));
}

v1::StateChanged LocalHead::Wait(const std::string& experiment) { return impl_->final_states().Wait(experiment); }

int LocalHead::constructions() const { return impl_->constructions(); }

std::vector<v1::Device> LocalHead::Devices() const { return impl_->devices(); }

}  // namespace lanista
