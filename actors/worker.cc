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
#include "spdlog/spdlog.h"
#include "src/base/status.h"
#include "src/base/utf8.h"
#include "src/space/space.h"

namespace lanista {
namespace {

// A trial program that takes longer to say that it is ready never will.
constexpr std::chrono::seconds kReadyLimit(120);
// Before a space's constructor first runs, its evaluator reads its data: a lot of it, maybe.
constexpr std::chrono::minutes kPrepareLimit(30);
// One run of a space's constructor.
constexpr std::chrono::seconds kConstructorLimit(120);
// A canceled trial that goes on after this is killed.
constexpr std::chrono::seconds kCancelGrace(5);
// So many assignments may end the process before discovery gives up.
constexpr int kMaxSkipped = 100;
constexpr int kMaxFailedStarts = 3;

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
  StartProcess();
  return {
      [this](v1::TrialSpec& spec) {
        Trial& trial = work_.emplace<Trial>();
        trial.spec = std::move(spec);
        for (const v1::TrialModel& model : trial.spec.models()) trial.open_models[model.model()] = 0;
        if (process_.ready) BeginWork();
      },
      [this](v1::CancelTrial& cancel) { OnCancel(std::move(cancel)); },
      [this](v1::Discover& request) -> caf::result<v1::Discovered> {
        const auto promise = self_->make_response_promise<v1::Discovered>();
        work_ = Discovery{std::move(request), promise, std::nullopt};
        if (process_.ready) BeginWork();
        return promise;
      },
      [this](int32_t generation, v1::TrialEvent& event) {
        if (generation == generation_) OnEvent(std::move(event));
      },
      [this](int32_t generation, const v1::ProcessExited& exited) {
        if (generation == generation_) OnExit(exited);
      },
      [this](deadline_atom, int32_t step) {
        if (step != step_) return;
        process_.killed = true;
        process_.channel->Kill();
      },
  };
}

void WorkerState::StartProcess() {
  process_ = Process();
  ++generation_;
  BeginStep(kReadyLimit);
  process_.channel = config_.make_channel();
  const auto weak = caf::actor_cast<caf::weak_actor_ptr>(WorkerSelf(self_));
  const auto send = [weak, generation = generation_](auto message) {
    if (const auto strong = weak.lock()) {
      caf::anon_send(caf::actor_cast<WorkerSelf>(strong), generation, std::move(message));
    }
  };
  const absl::Status status = process_.channel->Start(config_.device, {send, send});
  if (!status.ok()) {
    spdlog::error("worker {}: {}", config_.number, std::string(status.message()));
    self_->quit(ToCafError(status));
  }
}

void WorkerState::BeginStep(std::chrono::milliseconds limit, absl::string_view limit_name) {
  BeginStep();
  process_.too_late =
      absl::StrCat("there was no result after ", absl::FormatDuration(absl::FromChrono(limit)), limit_name);
  self_->delayed_send(self_, Delay(absl::FromChrono(limit)), deadline_atom_v, step_);
}

void WorkerState::BeginWork() {
  BeginStep();
  if (auto* const trial = std::get_if<Trial>(&work_)) return BeginTrial(*trial);
  if (auto* const discovery = std::get_if<Discovery>(&work_)) return BeginDiscovery(*discovery);
  if (std::holds_alternative<Idle>(work_)) return;
  work_ = Idle();
  v1::WorkerReady ready;
  ready.set_worker(config_.number);
  self_->send(owner_, std::move(ready));
}

void WorkerState::BeginTrial(const Trial& trial) {
  v1::TrialRequest request;
  *request.mutable_run() = trial.spec;
  const absl::Status sent = process_.channel->Send(request);
  if (sent.ok()) return;
  v1::Failure failure;
  failure.set_reason(v1::EXCEPTION);
  failure.set_message(absl::StrCat("the trial cannot be described to its process: ", sent.message()));
  ReportEnd(trial, v1::FAILED, failure);
  EndWork(/*replace_process=*/false);
}

void WorkerState::BeginDiscovery(Discovery& discovery) {
  discovery.assignment.reset();
  discovery.trying = false;
  v1::TrialRequest request;
  *request.mutable_discover() = discovery.request;
  const absl::Status sent = process_.channel->Send(request);
  if (sent.ok()) return BeginStep(kPrepareLimit);
  v1::Discovered discovered;
  *discovered.mutable_error() = StatusToProto(Annotate(sent, "the space cannot be described to a trial process"));
  discovery.promise.deliver(std::move(discovered));
  EndWork(/*replace_process=*/false);
}

void WorkerState::EndWork(bool replace_process) {
  work_ = NoWork();
  if (replace_process || process_.killed) return StartProcess();
  BeginWork();
}

void WorkerState::OnCancel(v1::CancelTrial cancel) {
  auto* const trial = std::get_if<Trial>(&work_);
  if (trial == nullptr || trial->canceled || cancel.experiment() != trial->spec.experiment() ||
      cancel.trial() != trial->spec.trial()) {
    return;
  }
  if (!process_.ready) {
    ReportEnd(*trial, v1::CANCELED);
    work_ = NoWork();
    return;
  }
  trial->canceled = true;
  v1::TrialRequest request;
  *request.mutable_cancel() = std::move(cancel);
  process_.channel->Send(request).IgnoreError();  // It is small: it fits.
  BeginStep(kCancelGrace);
}

void WorkerState::OnEvent(v1::TrialEvent event) {
  if (event.has_ready()) {
    // Killed: it took too long.
    if (process_.ready || process_.killed) return;
    process_.ready = true;
    failed_starts_ = 0;
    return BeginWork();
  }
  // Nobody has asked it for anything yet.
  if (!process_.ready) return;
  if (auto* const trial = std::get_if<Trial>(&work_)) {
    if (event.has_model()) return OnModelEvent(*trial, std::move(*event.mutable_model()));
    if (!event.has_ended()) return;
    self_->send(owner_, event.ended());
    return EndWork(event.ended().recycle() || trial->model_failed);
  }
  if (auto* const discovery = std::get_if<Discovery>(&work_)) {
    if (event.has_discovering() && !process_.killed) {
      discovery->assignment = std::move(*event.mutable_discovering()->mutable_assignment());
      discovery->trying = event.discovering().trying();
      return BeginStep(kConstructorLimit);
    }
    if (!event.has_discovered()) return;
    discovery->promise.deliver(std::move(*event.mutable_discovered()));
    return EndWork(/*replace_process=*/false);
  }
}

void WorkerState::OnModelEvent(Trial& trial, v1::ModelEvent event) {
  const auto open = trial.open_models.find(event.model());
  if (open == trial.open_models.end()) return;
  open->second = event.sequence();
  trial.begun = true;
  if (event.has_started() && trial.spec.has_timeout() && !trial.canceled) {
    const std::chrono::milliseconds limit = Delay(trial.spec.timeout());
    const int models = trial.spec.models_size();
    BeginStep(limit * models, models > 1 ? " (trial_timeout, for each model)" : " (trial_timeout)");
  }
  if (event.has_ended()) {
    trial.model_failed |= event.ended().outcome() == v1::FAILED || event.ended().outcome() == v1::UNMERGED;
    trial.open_models.erase(open);
  }
  self_->send(owner_, std::move(event));
}

void WorkerState::OnExit(const v1::ProcessExited& exited) {
  if (!process_.ready) {
    if (++failed_starts_ < kMaxFailedStarts) return StartProcess();
    const std::string why = absl::StrCat("no trial process comes up: ", Explain(exited).message());
    spdlog::error("worker {}: {}", config_.number, why);
    return self_->quit(ToCafError(absl::UnavailableError(why)));
  }
  if (auto* const trial = std::get_if<Trial>(&work_)) {
    OnExitInTrial(*trial, exited);
  } else if (auto* const discovery = std::get_if<Discovery>(&work_)) {
    OnExitInDiscovery(*discovery, exited);
  } else {
    spdlog::warn("worker {}: its idle trial process ended; starting another", config_.number);
  }
  StartProcess();
}

void WorkerState::OnExitInTrial(const Trial& trial, const v1::ProcessExited& exited) {
  if (trial.canceled) {
    ReportEnd(trial, v1::CANCELED);
  } else {
    ReportEnd(trial, trial.begun ? v1::FAILED : v1::LOST, Explain(exited, trial.spec.log_file()));
  }
  work_ = NoWork();
}

void WorkerState::OnExitInDiscovery(Discovery& discovery, const v1::ProcessExited& exited) {
  if (discovery.trying) {
    discovery.request.set_trying_failed(
        absl::StrCat("the model ", Space::ToJson(*discovery.assignment),
                     ", tried on a sample, ended its process: ", Explain(exited).message()));
    return;
  }
  // An assignment of no choices is the whole space: nothing would be left.
  const bool can_skip = discovery.assignment.has_value() && discovery.assignment->decisions_size() > 0;
  if (can_skip && discovery.request.skip_size() < kMaxSkipped) {
    *discovery.request.add_skip() = *discovery.assignment;
    return;
  }
  v1::Discovered discovered;
  *discovered.mutable_error() = StatusToProto(absl::FailedPreconditionError(
      absl::StrCat("the space cannot be learned: ", discovery.assignment.has_value() ? "while" : "before",
                   " its constructor ran, ", Explain(exited).message())));
  discovery.promise.deliver(std::move(discovered));
  work_ = NoWork();
}

void WorkerState::ReportEnd(const Trial& trial, v1::Outcome outcome, const v1::Failure& failure) {
  for (const v1::TrialModel& model : trial.spec.models()) {
    const auto open = trial.open_models.find(model.model());
    if (open == trial.open_models.end()) continue;
    self_->send(owner_, EndedEvent(trial.spec, model, open->second, outcome, failure));
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
    failure.set_reason(v1::TIME_OUT);
    failure.set_message(process_.too_late);
    return failure;
  }
  if (exited.out_of_memory()) {
    failure.set_reason(v1::OUT_OF_MEMORY);
    failure.set_message("the kernel ended the trial process because the machine's memory ran out");
  } else if (exited.signal() != 0) {
    failure.set_reason(v1::SIGNAL);
    failure.set_message(
        absl::StrCat("the trial process was ended by signal ", exited.signal(), " (", strsignal(exited.signal()), ")"));
  } else {
    failure.set_reason(v1::EXIT);
    failure.set_message(absl::StrCat("the trial process ended by itself with status ", exited.exit_status()));
  }
  if (!exited.message().empty()) absl::StrAppend(failure.mutable_message(), ": ", exited.message());
  if (const std::string output = LastOutput(log_file); !output.empty()) {
    absl::StrAppend(failure.mutable_message(), "; its last output: ", output);
  }
  return failure;
}

}  // namespace lanista
