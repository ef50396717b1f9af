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
#include "actors/model_events.h"
#include "google/protobuf/util/time_util.h"
#include "spdlog/spdlog.h"
#include "src/base/status.h"

namespace lanista {
namespace {

using google::protobuf::util::TimeUtil;

// A canceled trial that goes on after this is killed.
constexpr std::chrono::seconds kCancelGrace(5);
// One run of a space's constructor may take so long.
constexpr int kConstructorSeconds = 120;
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
  return std::string(absl::StripAsciiWhitespace(tail));
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
        phase_ = Phase::kRunning;
        spec_ = std::move(spec);
        open_models_.clear();
        for (const v1::TrialModel& model : spec_.models()) open_models_[model.model()] = 0;
        model_failed_ = canceled_ = timed_out_ = false;
        v1::TrialRequest request;
        *request.mutable_run() = spec_;
        channel_->Send(request);
      },
      [this](v1::CancelTrial& cancel) {
        if (phase_ != Phase::kRunning || cancel.experiment() != spec_.experiment() || cancel.trial() != spec_.trial()) {
          return;
        }
        canceled_ = true;
        v1::TrialRequest request;
        *request.mutable_cancel() = std::move(cancel);
        channel_->Send(request);
        self_->delayed_send(self_, kCancelGrace, kill_atom_v, generation_, spec_.trial());
      },
      [this](v1::Discover& request) -> caf::result<v1::Discovered> {
        phase_ = Phase::kDiscovering;
        discover_ = std::move(request);
        discover_promise_ = self_->make_response_promise<v1::Discovered>();
        v1::TrialRequest trial_request;
        *trial_request.mutable_discover() = discover_;
        channel_->Send(trial_request);
        return discover_promise_;
      },
      [this](int32_t generation, v1::TrialEvent& event) {
        if (generation != generation_) return;
        switch (event.kind_case()) {
          case v1::TrialEvent::kReady:
            return OnReady();
          case v1::TrialEvent::kModel:
            return OnModelEvent(std::move(*event.mutable_model()));
          case v1::TrialEvent::kEnded:
            return OnTrialEnded(event.ended());
          case v1::TrialEvent::kDiscovering:
            return OnDiscovering(event.discovering());
          case v1::TrialEvent::kDiscovered:
            return OnDiscovered(std::move(*event.mutable_discovered()));
          case v1::TrialEvent::kImported:   // Commands ask for these,
          case v1::TrialEvent::kConverted:  // workers never.
          case v1::TrialEvent::KIND_NOT_SET:
            return;
        }
      },
      [this](int32_t generation, const v1::ProcessExited& exited) {
        if (generation == generation_) OnExit(exited);
      },
      [this](deadline_atom, int32_t generation, int32_t step) {
        if (generation == generation_ && step == step_) OnDeadline(step);
      },
      [this](kill_atom, int32_t generation, int32_t trial) {
        if (generation == generation_ && phase_ == Phase::kRunning && spec_.trial() == trial) channel_->Kill();
      },
  };
}

void WorkerState::StartProcess() {
  phase_ = Phase::kStarting;
  ++generation_;
  channel_ = config_.make_channel();
  const auto weak = caf::actor_cast<caf::weak_actor_ptr>(WorkerSelf(self_));
  const auto send = [weak, generation = static_cast<int32_t>(generation_)](auto message) {
    if (const auto strong = weak.lock()) {
      caf::anon_send(caf::actor_cast<WorkerSelf>(strong), generation, std::move(message));
    }
  };
  const absl::Status status = channel_->Start(config_.device, {send, send});
  if (!status.ok()) {
    spdlog::error("worker {}: {}", config_.number, std::string(status.message()));
    self_->quit(ToCafError(status));
  }
}

void WorkerState::ReplaceProcess() {
  channel_ = nullptr;
  StartProcess();
}

void WorkerState::BecomeIdle() {
  phase_ = Phase::kIdle;
  v1::WorkerReady ready;
  ready.set_worker(config_.number);
  self_->send(owner_, std::move(ready));
}

void WorkerState::OnReady() {
  failed_starts_ = 0;
  if (!discover_promise_.pending()) return BecomeIdle();
  phase_ = Phase::kDiscovering;
  v1::TrialRequest request;
  *request.mutable_discover() = discover_;
  channel_->Send(request);
}

void WorkerState::SetDeadline(const google::protobuf::Duration& time_limit) {
  ++step_;
  self_->delayed_send(self_, std::chrono::milliseconds(TimeUtil::DurationToMilliseconds(time_limit)), deadline_atom_v,
                      static_cast<int32_t>(generation_), static_cast<int32_t>(step_));
}

void WorkerState::OnModelEvent(v1::ModelEvent event) {
  const auto open = open_models_.find(event.model());
  if (phase_ != Phase::kRunning || open == open_models_.end()) return;
  open->second = event.sequence();
  if (event.has_started() && spec_.has_timeout()) SetDeadline(TimeLimit());
  if (event.has_ended()) {
    model_failed_ |= event.ended().outcome() == v1::FAILED;
    open_models_.erase(open);
  }
  self_->send(owner_, std::move(event));
}

void WorkerState::OnTrialEnded(const v1::TrialEnded& ended) {
  if (phase_ != Phase::kRunning) return;
  ++step_;
  self_->send(owner_, ended);
  if (ended.recycle() || model_failed_) return ReplaceProcess();
  BecomeIdle();
}

void WorkerState::OnDiscovering(const v1::Discovering& discovering) {
  assignment_ = discovering.assignment();
  SetDeadline(TimeUtil::SecondsToDuration(kConstructorSeconds));
}

void WorkerState::OnDiscovered(v1::Discovered discovered) {
  if (phase_ != Phase::kDiscovering) return;
  ++step_;
  discover_promise_.deliver(std::move(discovered));
  BecomeIdle();
}

void WorkerState::OnDeadline(int) {
  timed_out_ = true;
  channel_->Kill();
}

google::protobuf::Duration WorkerState::TimeLimit() const { return spec_.timeout() * spec_.models_size(); }

v1::Failure WorkerState::Explain(const v1::ProcessExited& exited) const {
  v1::Failure failure;
  failure.set_signal(exited.signal());
  failure.set_exit_status(exited.exit_status());
  if (timed_out_) {
    failure.set_reason(v1::TIME_OUT);
    failure.set_message(absl::StrCat("no result after ", TimeUtil::ToString(TimeLimit()), " (trial_timeout",
                                     spec_.models_size() > 1 ? ", for each model)" : ")"));
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
  if (const std::string output = LastOutput(spec_.log_file()); !output.empty()) {
    absl::StrAppend(failure.mutable_message(), "; its last output: ", output);
  }
  return failure;
}

void WorkerState::OnExit(const v1::ProcessExited& exited) {
  switch (phase_) {
    case Phase::kStarting:
      if (++failed_starts_ >= kMaxFailedStarts) {
        const std::string why = Explain(exited).message();
        spdlog::error("worker {}: no trial process comes up: {}", config_.number, why);
        const absl::Status status = absl::UnavailableError(absl::StrCat("no trial process comes up: ", why));
        if (discover_promise_.pending()) discover_promise_.deliver(ToCafError(status));
        return self_->quit(ToCafError(status));
      }
      break;
    case Phase::kIdle:
      spdlog::warn("worker {}: its idle trial process ended; starting another", config_.number);
      break;
    case Phase::kRunning: {
      const v1::Failure failure = canceled_ ? v1::Failure() : Explain(exited);
      for (const v1::TrialModel& model : spec_.models()) {
        const auto open = open_models_.find(model.model());
        if (open == open_models_.end()) continue;
        self_->send(owner_, EndedEvent(spec_, model, open->second, canceled_ ? v1::CANCELED : v1::FAILED, failure));
      }
      v1::TrialEnded ended;
      ended.set_experiment(spec_.experiment());
      ended.set_trial(spec_.trial());
      self_->send(owner_, ended);
      break;
    }
    case Phase::kDiscovering: {
      if (discover_.skip_size() >= kMaxSkipped || assignment_.ByteSizeLong() == 0) {
        v1::Discovered discovered;
        *discovered.mutable_error() = StatusToProto(absl::FailedPreconditionError(
            absl::StrCat("the space cannot be learned: while its constructor ran, ", Explain(exited).message())));
        discover_promise_.deliver(std::move(discovered));
        break;
      }
      *discover_.add_skip() = assignment_;
      break;
    }
  }
  timed_out_ = false;
  ReplaceProcess();
}

}  // namespace lanista
