#include "actors/worker.h"

#include <signal.h>
#include <string.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <iterator>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "actors/delay.h"
#include "actors/model_events.h"
#include "src/base/device_name.h"
#include "src/base/logging.h"
#include "src/base/status.h"
#include "src/base/utf8.h"
#include "src/space/space.h"

namespace lanista {
namespace {

// A trial program that takes longer to say that it is ready never will.
constexpr std::chrono::seconds kReadyLimit(120);
// Before a space's constructor first runs, or a trial starts, the evaluator reads its data: a lot of it, maybe.
constexpr std::chrono::minutes kPrepareLimit(30);
// One run of a space's constructor.
constexpr std::chrono::seconds kConstructorLimit(120);
// A canceled trial that goes on after this is killed.
constexpr std::chrono::seconds kCancelGrace(5);
// So many assignments may end the process before discovery gives up.
constexpr int kMaxSkipped = 100;
constexpr int kMaxFailedStarts = 3;
// A process that is there for preparing work alone holds memory that trials may need.
constexpr std::chrono::seconds kIdlePlaceLimit(60);
// After so many processes that were killed from outside, what they tried may be to blame after all.
constexpr int kMaxLostDiscoveries = 3;

// Whether a model that failed so may have damaged its trial process for those that come after it. An exception does
// not: it unwinds what the model had, and each trial sets LibTorch's state anew. On a GPU it may be an error of CUDA,
// after which every call fails.
bool SpoilsProcess(v1::Failure::Reason reason, const v1::Device& device) {
  switch (reason) {
    case v1::Failure::EXCEPTION:
      return device.kind() == v1::DeviceKind::GPU;
    case v1::Failure::NAN_LOSS:
    case v1::Failure::NO_METRIC:
    case v1::Failure::SPACE_MISMATCH:
    case v1::Failure::MERGED_TRIAL_FAILED:
    case v1::Failure::DATA_UNREADABLE:
      return false;
    default:
      return true;
  }
}

// Whether it is a signal by which people, batch systems and service managers end processes. Models do not die of them
// by themselves.
bool EndsFromOutside(int signal) {
  return signal == SIGKILL || signal == SIGTERM || signal == SIGINT || signal == SIGHUP;
}

// The last lines of a log: what a process wrote before it died ("terminate called after ...").
std::string LastOutput(const std::string& log_file) {
  constexpr std::streamoff kBytes = 600;
  std::ifstream log(log_file, std::ios::binary | std::ios::ate);
  if (log_file.empty() || !log) return "";
  log.seekg(-std::min<std::streamoff>(kBytes, log.tellg()), std::ios::end);
  const std::string tail((std::istreambuf_iterator<char>(log)), std::istreambuf_iterator<char>());
  return ToUtf8(absl::StripAsciiWhitespace(tail));
}

}  // namespace

WorkerSelf::behavior_type Worker(WorkerSelf::stateful_pointer<WorkerState> self, WorkerConfig config,
                                 WorkerOwnerActor owner) {
  return self->state.MakeBehavior(std::move(config), std::move(owner));
}

WorkerSelf::behavior_type WorkerState::MakeBehavior(WorkerConfig config, WorkerOwnerActor owner) {
  keep_alive_ = WorkerSelf(self_);
  config_ = std::move(config);
  owner_ = std::move(owner);
  self_->set_down_handler([self = self_](const caf::down_msg&) { self->quit(caf::exit_reason::user_shutdown); });
  self_->monitor(owner_);
  BecomeIdle();
  return {
      [this](v1::TrialSpec& spec) {
        Trial& trial = work_.emplace<Trial>();
        trial.spec = std::move(spec);
        for (const v1::TrialModel& model : trial.spec.models())
          trial.open_models[model.model()].attempt = model.attempt();
        TakeWork();
      },
      [this](v1::CancelTrial& cancel) { OnCancel(std::move(cancel)); },
      [this](const v1::StopModel& stop) { OnStop(stop); },
      [this](const v1::EventsRecorded& recorded) {
        if (process_.channel != nullptr) process_.channel->Recorded(recorded);
      },
      [this](v1::Discover& request) -> caf::result<v1::Discovered> {
        const auto promise = self_->make_response_promise<v1::Discovered>();
        work_ = Discovery{std::move(request), promise, std::nullopt, false, 0};
        TakeWork();
        return promise;
      },
      [this](int32_t generation, v1::TrialEvent& event) {
        if (generation == generation_) OnEvent(std::move(event));
      },
      [this](int32_t generation, const v1::ProcessExited& exited) {
        if (generation == generation_) OnExit(exited);
      },
      [this](deadline_atom) { OnDeadline(); },
  };
}

void WorkerState::TakeWork() {
  if (process_.channel == nullptr) return StartProcess();
  if (process_.ready) BeginWork();
}

void WorkerState::StopProcess() {
  process_ = Process();
  ++generation_;
  BeginStep();
}

void WorkerState::StartProcess() {
  StopProcess();
  BeginStep(kReadyLimit);
  process_.channel = config_.make_channel();
  const auto weak = caf::actor_cast<caf::weak_actor_ptr>(WorkerSelf(self_));
  const auto send = [weak, generation = generation_](auto message) {
    if (const auto strong = weak.lock()) {
      caf::anon_send(caf::actor_cast<WorkerSelf>(strong), generation, std::move(message));
    }
  };
  const absl::Status status = process_.channel->Start(config_.device, {send, send});
  if (!status.ok()) self_->quit(ToCafError(status));
}

void WorkerState::BeginStep(std::chrono::milliseconds limit, absl::string_view limit_name) {
  process_.too_late =
      absl::StrCat("there was no result after ", absl::FormatDuration(absl::FromChrono(limit)), limit_name);
  deadline_.Set(self_, Delay(absl::FromChrono(limit)));
  held_up_.reset();
}

void WorkerState::OnDeadline() {
  if (!deadline_.Rings(self_) || process_.channel == nullptr) return;
  // The owner is not told: that could cross with the next work.
  if (std::holds_alternative<Idle>(work_) && process_.ready) return StopProcess();
  if (held_up_.has_value()) {
    const std::chrono::milliseconds before = std::exchange(*held_up_, process_.channel->held_up());
    if (*held_up_ > before) return deadline_.Set(self_, *held_up_ - before);
  }
  process_.killed = true;
  process_.channel->Kill();
}

void WorkerState::BeginWork() {
  BeginStep();
  if (auto* const trial = std::get_if<Trial>(&work_)) return BeginTrial(*trial);
  if (auto* const discovery = std::get_if<Discovery>(&work_)) return BeginDiscovery(*discovery);
}

void WorkerState::BecomeIdle() {
  work_ = Idle();
  v1::WorkerReady ready;
  ready.set_worker(config_.number);
  ready.set_warm(process_.ready);
  self_->send(owner_, std::move(ready));
  if (process_.ready && config_.device.prepares()) deadline_.Set(self_, kIdlePlaceLimit);
}

void WorkerState::BeginTrial(const Trial& trial) {
  v1::TrialRequest request;
  *request.mutable_run() = trial.spec;
  const absl::Status sent = process_.channel->Send(request);
  if (sent.ok()) {
    BeginStep(kPrepareLimit, " of preparing the trial (reading its data)");
    for (const int model : trial.stopped) SendStop(trial.spec, model);
    return;
  }
  v1::Failure failure;
  failure.set_reason(v1::Failure::EXCEPTION);
  failure.set_message(absl::StrCat("the trial cannot be described to its process: ", sent.message()));
  ReportEnd(trial, v1::ModelEnded::FAILED, failure);
  EndWork(/*end_process=*/false);
}

void WorkerState::BeginDiscovery(Discovery& discovery) {
  discovery.assignment.reset();
  discovery.trying = false;
  v1::TrialRequest request;
  const bool converts = discovery.request.has_convert();
  if (converts) {
    *request.mutable_convert() = discovery.request.convert();
  } else {
    *request.mutable_discover() = discovery.request;
  }
  const absl::Status sent = process_.channel->Send(request);
  if (sent.ok()) return BeginStep(kPrepareLimit);
  if (converts) {
    FailConversion(discovery, Annotate(sent, "the model cannot be described to a trial process"));
    return EndWork(/*end_process=*/false);
  }
  v1::Discovered discovered;
  *discovered.mutable_error() = StatusToProto(Annotate(sent, "the space cannot be described to a trial process"));
  discovery.promise.deliver(std::move(discovered));
  EndWork(/*end_process=*/false);
}

void WorkerState::EndWork(bool end_process) {
  BeginStep();
  if (end_process || process_.killed) StopProcess();
  BecomeIdle();
}

void WorkerState::OnCancel(v1::CancelTrial cancel) {
  auto* const discovery = std::get_if<Discovery>(&work_);
  if (discovery != nullptr && discovery->request.has_convert() && cancel.trial() == 0) {
    FailConversion(*discovery, absl::CancelledError("nobody waits for it any more"));
    // A process that is being started stays: the next work may come soon.
    return process_.ready ? EndWork(/*end_process=*/true) : BecomeIdle();
  }
  auto* const trial = std::get_if<Trial>(&work_);
  if (trial == nullptr || trial->canceled || cancel.experiment() != trial->spec.experiment() ||
      cancel.trial() != trial->spec.trial()) {
    return;
  }
  if (!process_.ready) {
    // The process that is being started stays: the next work may come soon.
    ReportEnd(*trial, v1::ModelEnded::CANCELED);
    return BecomeIdle();
  }
  trial->canceled = true;
  v1::TrialRequest request;
  *request.mutable_cancel() = std::move(cancel);
  process_.channel->Send(request).IgnoreError();  // It is small: it fits.
  BeginGrace(*trial);
}

void WorkerState::OnStop(const v1::StopModel& stop) {
  auto* const trial = std::get_if<Trial>(&work_);
  if (trial == nullptr || stop.experiment() != trial->spec.experiment() || stop.trial() != trial->spec.trial() ||
      trial->open_models.count(stop.model()) == 0 || !trial->stopped.insert(stop.model()).second) {
    return;
  }
  if (!process_.ready) {
    if (!AllStopped(*trial)) return;
    ReportEnd(*trial, v1::ModelEnded::STOPPED_EARLY);
    return BecomeIdle();
  }
  SendStop(trial->spec, stop.model());
  if (AllStopped(*trial)) BeginGrace(*trial);
}

void WorkerState::SendStop(const v1::TrialSpec& trial, int model) {
  v1::TrialRequest request;
  request.mutable_stop()->set_experiment(trial.experiment());
  request.mutable_stop()->set_trial(trial.trial());
  request.mutable_stop()->set_model(model);
  process_.channel->Send(request).IgnoreError();  // It is small: it fits.
}

bool WorkerState::AllStopped(const Trial& trial) {
  return std::all_of(trial.open_models.begin(), trial.open_models.end(),
                     [&](const auto& open) { return trial.stopped.count(open.first) > 0; });
}

void WorkerState::BeginGrace(Trial& trial) {
  if (!std::exchange(trial.in_grace, true)) BeginStep(kCancelGrace);
}

void WorkerState::OnEvent(v1::TrialEvent event) {
  if (event.has_ready()) {
    // Killed: it took too long.
    if (process_.ready || process_.killed) return;
    if (event.ready().has_error()) return self_->quit(ToCafError(StatusFromProto(event.ready().error())));
    process_.ready = true;
    failed_starts_ = 0;
    v1::ProcessUp up;
    up.set_worker(config_.number);
    self_->send(owner_, std::move(up));
    return BeginWork();
  }
  // Nobody has asked it for anything yet.
  if (!process_.ready) return;
  if (auto* const trial = std::get_if<Trial>(&work_)) {
    if (event.has_model()) return OnModelEvent(*trial, std::move(*event.mutable_model()));
    if (event.has_ended()) OnTrialEnded(*trial, event.ended());
    return;
  }
  if (auto* const discovery = std::get_if<Discovery>(&work_)) {
    if (event.has_discovering() && !process_.killed) {
      discovery->assignment = std::move(*event.mutable_discovering()->mutable_assignment());
      discovery->trying = event.discovering().trying();
      return BeginStep(kConstructorLimit);
    }
    if (discovery->request.has_convert()) {
      if (!event.has_converted()) return;
      v1::Discovered discovered;
      *discovered.mutable_converted() = std::move(*event.mutable_converted());
      discovery->promise.deliver(std::move(discovered));
      return EndWork(/*end_process=*/false);
    }
    if (!event.has_discovered()) return;
    // A model that it tried may have ended with an exception.
    const bool spoiled = SpoilsProcess(v1::Failure::EXCEPTION, config_.device) &&
                         (event.discovered().has_error() || event.discovered().tries_failed());
    discovery->promise.deliver(std::move(*event.mutable_discovered()));
    return EndWork(/*end_process=*/spoiled);
  }
}

std::string WorkerState::TagOf(const Trial& trial) const {
  return LogTag(trial.spec.experiment(), trial.spec.trial(), config_.device.node());
}

void WorkerState::OnTrialEnded(const Trial& trial, const v1::TrialEnded& ended) {
  if (ended.experiment() != trial.spec.experiment() || ended.trial() != trial.spec.trial()) return;
  if (ended.recycle()) {
    LogInfo("{}{}: its trial process is replaced: {}", TagOf(trial), DeviceName(config_.device),
            ended.recycle_because());
  }
  // The trial process runs the user's code: its promise that all models ended may be broken.
  const bool complete = trial.open_models.empty();
  v1::Failure failure;
  failure.set_reason(v1::Failure::EXIT);
  failure.set_message("the trial ended without a word about this model");
  ReportEnd(trial, v1::ModelEnded::FAILED, failure);
  EndWork(/*end_process=*/ended.recycle() || trial.spoiled_process || !complete);
}

void WorkerState::OnModelEvent(Trial& trial, v1::ModelEvent event) {
  if (event.experiment() != trial.spec.experiment() || event.trial() != trial.spec.trial()) return;
  const auto open = trial.open_models.find(event.model());
  if (open == trial.open_models.end()) return;
  const bool stopped = trial.stopped.count(event.model()) > 0;
  const absl::Status checked = CheckEvent(event, open->second, trial.canceled, stopped);
  if (!checked.ok()) return FailTrial(trial, std::string(checked.message()));
  open->second.last_sequence = event.sequence();
  trial.begun = true;
  if (event.has_started() && !trial.in_grace && !trial.spec.has_timeout()) BeginStep();
  if (event.has_started() && !trial.in_grace && trial.spec.has_timeout()) {
    const std::chrono::milliseconds limit = Delay(trial.spec.timeout());
    const int models = trial.spec.models_size();
    BeginStep(limit * models, models > 1 ? " (trial_timeout, for each model)" : " (trial_timeout)");
    held_up_ = process_.channel->held_up();
  }
  if (event.has_ended()) {
    trial.spoiled_process |=
        event.ended().has_failure() && SpoilsProcess(event.ended().failure().reason(), config_.device);
    trial.open_models.erase(open);
    if (!trial.open_models.empty() && AllStopped(trial)) BeginGrace(trial);
  }
  self_->send(owner_, std::move(event));
}

void WorkerState::FailTrial(const Trial& trial, const std::string& why) {
  LogWarning("{}{}: its trial process {}: it is replaced", TagOf(trial), DeviceName(config_.device), why);
  v1::Failure failure;
  failure.set_reason(v1::Failure::EXCEPTION);
  failure.set_message(absl::StrCat("the trial process broke its protocol: it ", why));
  ReportEnd(trial, v1::ModelEnded::FAILED, failure);
  EndWork(/*end_process=*/true);
}

void WorkerState::OnExit(const v1::ProcessExited& exited) {
  if (!process_.ready) {
    // Its work was canceled: nobody waits for a process.
    if (std::holds_alternative<Idle>(work_)) return StopProcess();
    if (++failed_starts_ < kMaxFailedStarts) return StartProcess();
    const std::string why = absl::StrCat("no trial process comes up: ", Explain(exited).message());
    return self_->quit(ToCafError(absl::UnavailableError(why)));
  }
  if (auto* const trial = std::get_if<Trial>(&work_)) {
    OnExitInTrial(*trial, exited);
  } else if (auto* const discovery = std::get_if<Discovery>(&work_)) {
    OnExitInDiscovery(*discovery, exited);
  } else {
    LogWarning("{}{}: its idle trial process ended", NodeTag(config_.device.node()), DeviceName(config_.device));
    StopProcess();
  }
}

void WorkerState::OnExitInTrial(const Trial& trial, const v1::ProcessExited& exited) {
  const v1::Failure failure = Explain(exited, trial.spec.log_file());
  if (trial.canceled) {
    ReportEnd(trial, v1::ModelEnded::CANCELED);
  } else if (failure.reason() == v1::Failure::WORKER_LOST) {
    ReportEnd(trial, v1::ModelEnded::LOST, failure, v1::ModelEnded::PROCESS_KILLED);
  } else if (!trial.begun && !process_.killed) {
    ReportEnd(trial, v1::ModelEnded::LOST, failure, v1::ModelEnded::PROCESS_ENDED);
  } else {
    ReportEnd(trial, v1::ModelEnded::FAILED, failure);
  }
  EndWork(/*end_process=*/true);
}

void WorkerState::OnExitInDiscovery(Discovery& discovery, const v1::ProcessExited& exited) {
  const v1::Failure failure = Explain(exited);
  if (failure.reason() == v1::Failure::WORKER_LOST && ++discovery.lost < kMaxLostDiscoveries) return StartProcess();
  if (discovery.request.has_convert()) {
    FailConversion(discovery, absl::InternalError(absl::StrCat("the model could not be written: ", failure.message())));
    return EndWork(/*end_process=*/true);
  }
  // What trains beside it may have taken the memory: that says nothing about the space.
  const bool crowded_out = exited.out_of_memory() && config_.device.prepares();
  if (discovery.trying && !crowded_out) {
    discovery.request.set_trying_failed(absl::StrCat("the model ", Space::ToJson(*discovery.assignment),
                                                     ", tried on a sample, ended its process: ", failure.message()));
    return StartProcess();
  }
  // An assignment of no choices is the whole space: nothing would be left.
  const bool can_skip = discovery.assignment.has_value() && discovery.assignment->decisions_size() > 0;
  if (can_skip && !crowded_out && discovery.request.skip_size() < kMaxSkipped) {
    *discovery.request.add_skip() = *discovery.assignment;
    return StartProcess();
  }
  v1::Discovered discovered;
  // What somebody else did may pass.
  const auto code = failure.reason() == v1::Failure::WORKER_LOST ? absl::StatusCode::kUnavailable
                                                                 : absl::StatusCode::kFailedPrecondition;
  *discovered.mutable_error() = StatusToProto(absl::Status(
      code, absl::StrCat("the space cannot be learned: ", discovery.assignment.has_value() ? "while" : "before",
                         " its constructor ran, ", failure.message())));
  discovered.set_out_of_memory(crowded_out);
  discovery.promise.deliver(std::move(discovered));
  EndWork(/*end_process=*/true);
}

void WorkerState::FailConversion(Discovery& discovery, const absl::Status& why) {
  v1::Discovered discovered;
  *discovered.mutable_converted()->mutable_error() = StatusToProto(why);
  discovery.promise.deliver(std::move(discovered));
}

void WorkerState::ReportEnd(const Trial& trial, v1::ModelEnded::Outcome outcome, const v1::Failure& failure,
                            v1::ModelEnded::LostCause lost_cause) {
  for (const v1::TrialModel& model : trial.spec.models()) {
    const auto open = trial.open_models.find(model.model());
    if (open == trial.open_models.end()) continue;
    const bool stopped = trial.stopped.count(model.model()) > 0;
    const int last = open->second.last_sequence;
    self_->send(owner_, stopped ? EndedEvent(trial.spec, model, last, v1::ModelEnded::STOPPED_EARLY)
                                : EndedEvent(trial.spec, model, last, outcome, failure, lost_cause));
  }
  v1::TrialEnded ended;
  ended.set_experiment(trial.spec.experiment());
  ended.set_trial(trial.spec.trial());
  self_->send(owner_, ended);
}

v1::Failure WorkerState::Explain(const v1::ProcessExited& exited, const std::string& log_file) const {
  v1::Failure failure;
  failure.set_signal(exited.signal());
  failure.set_exit_status(exited.exit_status());
  if (process_.killed) {
    failure.set_reason(v1::Failure::TIME_OUT);
    failure.set_message(process_.too_late);
    return failure;
  }
  if (exited.out_of_memory()) {
    failure.set_reason(v1::Failure::OUT_OF_MEMORY);
    failure.set_message("the kernel ended the trial process because the machine's memory ran out");
  } else if (EndsFromOutside(exited.signal())) {
    // Not by us, and not by the kernel.
    failure.set_reason(v1::Failure::WORKER_LOST);
    failure.set_message(absl::StrCat("somebody else killed the trial process (signal ", exited.signal(), ")"));
  } else if (exited.signal() != 0) {
    failure.set_reason(v1::Failure::SIGNAL);
    failure.set_message(
        absl::StrCat("the trial process was ended by signal ", exited.signal(), " (", strsignal(exited.signal()), ")"));
  } else {
    failure.set_reason(v1::Failure::EXIT);
    failure.set_message(absl::StrCat("the trial process ended by itself with status ", exited.exit_status()));
  }
  if (!exited.message().empty()) absl::StrAppend(failure.mutable_message(), ": ", exited.message());
  if (const std::string output = LastOutput(log_file); !output.empty()) {
    absl::StrAppend(failure.mutable_message(), "; its last output: ", output);
  }
  return failure;
}

}  // namespace lanista
