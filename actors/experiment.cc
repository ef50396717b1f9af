#include "actors/experiment.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "actors/delay.h"
#include "spdlog/spdlog.h"
#include "src/base/clock.h"
#include "src/base/hash.h"
#include "src/base/status.h"

namespace lanista {
namespace {

// Longer than any strategy or disk takes; shorter than for ever.
constexpr std::chrono::minutes kAnswerTimeout(10);
// So many models in a row whose workers were all lost mean that nothing can run here.
constexpr int kMaxLostInARow = 3;

// Appends a record of now.
v1::JournalRecord& AddRecord(v1::JournalBatch& batch) {
  v1::JournalRecord& record = *batch.add_records();
  *record.mutable_time() = Now();
  return record;
}

void AddState(v1::JournalBatch& batch, v1::ExperimentState state, const std::string& reason) {
  v1::StateChanged& changed = *AddRecord(batch).mutable_state();
  changed.set_state(state);
  changed.set_reason(reason);
}

}  // namespace

ExperimentSelf::behavior_type Experiment(ExperimentSelf::stateful_pointer<ExperimentStateMachine> self,
                                         ExperimentOptions options) {
  return self->state.MakeBehavior(std::move(options));
}

ExperimentSelf::behavior_type ExperimentStateMachine::MakeBehavior(ExperimentOptions options) {
  options_ = std::move(options);
  engine_ = options_.make_engine(ModelOwnerActor(self_));
  // They end together, however one ends.
  self_->link_to(engine_);
  self_->link_to(options_.strategy);
  self_->link_to(options_.journal);
  Start();
  return {
      [this](const v1::PlannedTrials& planned) { return OnPlanned(planned); },
      [this](v1::ModelEvent& event) { OnModelEvent(std::move(event)); },
      [this](v1::ModelOutcome& outcome) { OnOutcome(std::move(outcome)); },
      [this](const v1::StopExperiment& stop) { Stop(v1::STOPPED, stop.reason()); },
      [this](deadline_atom) { Stop(v1::DONE, "max_duration is over"); },
  };
}

void ExperimentStateMachine::Start() {
  if (options_.remove_weights) {
    kept_weights_.emplace(options_.config.keep_weights().best(), options_.config.objective());
  }
  v1::JournalBatch batch;
  *AddRecord(batch).mutable_space() = options_.space;
  AddState(batch, v1::RUNNING, "");
  Record(std::move(batch), [this] {
    v1::ExperimentEvent event;
    *event.mutable_space() = options_.space;
    Watch(std::move(event));
    if (final_state_ == v1::EXPERIMENT_STATE_UNSPECIFIED) WatchState(v1::RUNNING, "");
  });
  if (options_.config.has_max_duration()) {
    self_->delayed_send(self_, Delay(options_.config.max_duration()), deadline_atom_v);
  }
  Fill();
}

void ExperimentStateMachine::Fill() {
  if (asking_ || exhausted_ || final_state_ != v1::EXPERIMENT_STATE_UNSPECIFIED) return;
  const int count = std::min(Room(), Left());
  if (count <= 0) return;
  asking_ = true;
  v1::AskRequest ask;
  ask.set_count(count);
  self_->request(options_.strategy, kAnswerTimeout, std::move(ask))
      .then([this, count](v1::AskReply& reply) { OnProposal(count, std::move(reply)); },
            [this](const caf::error& error) {
              asking_ = false;
              Stop(v1::EXPERIMENT_FAILED,
                   absl::StrCat("the strategy failed: ", std::string(FromCafError(error).message())));
            });
}

int ExperimentStateMachine::Room() const { return options_.max_in_flight - static_cast<int>(in_flight_.size()); }

int ExperimentStateMachine::Left() const {
  const bool limited = options_.config.has_max_trial_number();
  return (limited ? options_.config.max_trial_number() : std::numeric_limits<int>::max()) - models_;
}

void ExperimentStateMachine::OnProposal(int asked, v1::AskReply reply) {
  asking_ = false;
  if (reply.has_error()) {
    return Stop(v1::EXPERIMENT_FAILED, absl::StrCat("the strategy failed: ", reply.error().message()));
  }
  exhausted_ = reply.exhausted();
  if (final_state_ != v1::EXPERIMENT_STATE_UNSPECIFIED) return MaybeFinish();
  if (reply.samples().empty()) {
    if (!exhausted_ && in_flight_.empty()) {
      return Stop(v1::EXPERIMENT_FAILED, "the strategy proposes nothing although nothing is running");
    }
    SendModels({}, /*full=*/true);
    return MaybeFinish();
  }

  v1::JournalBatch batch;
  v1::StrategyCall& call = *AddRecord(batch).mutable_strategy_call();
  call.set_sequence(++strategy_calls_);
  call.mutable_ask()->set_count(asked);
  *call.mutable_ask()->mutable_reply() = reply;
  v1::RunModels run;
  for (v1::Sample& sample : *reply.mutable_samples()) {
    const int ordinal = ++models_;
    v1::ModelCreated& created = *AddRecord(batch).mutable_model();
    created.set_model(ordinal);
    *created.mutable_sample() = sample;
    v1::TrialModel& model = *run.add_models();
    model.set_model(ordinal);
    model.set_attempt(1);
    model.set_model_seed(ModelSeed(options_.seed, ordinal));
    *model.mutable_sample() = sample;
    in_flight_[ordinal] = std::move(sample);
  }
  // The engine has its trials recorded before it queues them, behind this.
  Record(std::move(batch), [] {});
  SendModels(std::move(run), /*full=*/Room() == 0);
  Fill();
}

void ExperimentStateMachine::SendModels(v1::RunModels run, bool full) {
  run.set_in_flight(static_cast<int>(in_flight_.size()));
  run.set_full(full);
  run.set_last(exhausted_ || Left() == 0);
  self_->send(engine_, std::move(run));
}

caf::result<v1::Ack> ExperimentStateMachine::OnPlanned(const v1::PlannedTrials& planned) {
  if (journal_broken_) return ToCafError(absl::UnavailableError(final_reason_));
  v1::JournalBatch batch;
  for (const v1::TrialSpec& trial : planned.trials()) {
    v1::TrialQueued& queued = *AddRecord(batch).mutable_trial();
    queued.set_trial(trial.trial());
    queued.set_alone_because(trial.alone_because());
    for (const v1::TrialModel& model : trial.models()) {
      v1::TrialMember& member = *queued.add_members();
      member.set_model(model.model());
      member.set_attempt(model.attempt());
      if (kept_weights_.has_value()) {
        kept_weights_->Plan(model.model(), model.attempt(), model.output_folder() + "/weights.pt");
      }
    }
  }
  auto promise = self_->make_response_promise<v1::Ack>();
  self_->request(options_.journal, kAnswerTimeout, std::move(batch))
      .then([promise](v1::Ack& ack) mutable { promise.deliver(std::move(ack)); },
            [this, promise](caf::error& error) mutable {
              journal_broken_ = true;
              Stop(v1::EXPERIMENT_FAILED, std::string(FromCafError(error).message()));
              promise.deliver(std::move(error));
            });
  return promise;
}

void ExperimentStateMachine::OnModelEvent(v1::ModelEvent event) {
  v1::JournalBatch batch;
  *AddRecord(batch).mutable_event() = event;
  Record(std::move(batch), [this, event = std::move(event)]() mutable {
    v1::ExperimentEvent experiment_event;
    *experiment_event.mutable_model() = std::move(event);
    Watch(std::move(experiment_event));
  });
}

void ExperimentStateMachine::OnOutcome(v1::ModelOutcome outcome) {
  const auto model = in_flight_.find(outcome.model());
  if (model == in_flight_.end()) return;
  v1::TellRequest tell;
  tell.set_model(outcome.model());
  *tell.mutable_sample() = std::move(model->second);
  tell.set_outcome(outcome.outcome());
  const auto value = outcome.metrics().values().find("default");
  if (value != outcome.metrics().values().end()) tell.set_value(value->second);

  v1::JournalBatch batch;
  *AddRecord(batch).mutable_outcome() = outcome;
  v1::StrategyCall& call = *AddRecord(batch).mutable_strategy_call();
  call.set_sequence(++strategy_calls_);
  *call.mutable_tell() = tell;
  Record(std::move(batch), [this, outcome = std::move(outcome), tell = std::move(tell)]() mutable {
    self_->send(options_.strategy, std::move(tell));
    in_flight_.erase(outcome.model());
    CountOutcome(outcome);
    RemoveWeights(outcome);
    v1::ExperimentEvent event;
    *event.mutable_outcome() = std::move(outcome);
    Watch(std::move(event));
    Fill();
    MaybeFinish();
  });
}

void ExperimentStateMachine::RemoveWeights(const v1::ModelOutcome& outcome) {
  if (!kept_weights_.has_value()) return;
  for (const std::string& file : kept_weights_->End(outcome)) options_.remove_weights(file);
}

void ExperimentStateMachine::CountOutcome(const v1::ModelOutcome& outcome) {
  if (outcome.outcome() == v1::SUCCEEDED || outcome.outcome() == v1::STOPPED_EARLY) ++succeeded_;
  const bool lost = outcome.failure().reason() == v1::WORKER_LOST;
  lost_in_a_row_ = lost ? lost_in_a_row_ + 1 : 0;
  if (outcome.outcome() != v1::FAILED) return;
  if (failed_++ == 0) first_failure_ = outcome.failure().message();
  if (lost_in_a_row_ >= kMaxLostInARow) Stop(v1::EXPERIMENT_FAILED, outcome.failure().message());
}

void ExperimentStateMachine::Stop(v1::ExperimentState final_state, std::string reason) {
  if (final_state_ != v1::EXPERIMENT_STATE_UNSPECIFIED) return;
  final_state_ = final_state;
  final_reason_ = std::move(reason);
  spdlog::info("[{}] stopping: {}", options_.id, final_reason_);
  v1::CancelExperiment cancel;
  cancel.set_experiment(options_.id);
  self_->send(engine_, std::move(cancel));
  v1::JournalBatch batch;
  AddState(batch, v1::STOPPING, final_reason_);
  Record(std::move(batch), [this] { WatchState(v1::STOPPING, final_reason_); });
  MaybeFinish();
}

void ExperimentStateMachine::MaybeFinish() {
  if (!in_flight_.empty() || asking_ || finished_) return;
  if (final_state_ != v1::EXPERIMENT_STATE_UNSPECIFIED) return Finish(final_state_, final_reason_);
  const bool limit = options_.config.has_max_trial_number() && models_ >= options_.config.max_trial_number();
  if (!limit && !exhausted_) return;
  if (succeeded_ == 0 && failed_ > 0) {
    return Finish(v1::EXPERIMENT_FAILED,
                  absl::StrCat("no model succeeded, ", failed_, " failed; the first: ", first_failure_));
  }
  Finish(v1::DONE, limit ? absl::StrCat("max_trial_number: ", models_, " models") : "the space is exhausted");
}

void ExperimentStateMachine::Finish(v1::ExperimentState state, const std::string& reason) {
  finished_ = true;
  v1::JournalBatch batch;
  AddState(batch, state, reason);
  Record(std::move(batch), [this, state, reason] {
    WatchState(state, reason);
    self_->quit(caf::exit_reason::user_shutdown);
  });
}

void ExperimentStateMachine::Record(v1::JournalBatch batch, std::function<void()> then) {
  // What a broken journal cannot hold still happens, so that the experiment comes to its end.
  if (journal_broken_) return then();
  self_->request(options_.journal, kAnswerTimeout, std::move(batch))
      .then([then](const v1::Ack&) { then(); },
            [this, then](const caf::error& error) {
              journal_broken_ = true;
              Stop(v1::EXPERIMENT_FAILED, std::string(FromCafError(error).message()));
              then();
            });
}

void ExperimentStateMachine::Watch(v1::ExperimentEvent event) {
  event.set_experiment(options_.id);
  *event.mutable_time() = Now();
  self_->send(options_.watcher, std::move(event));
}

void ExperimentStateMachine::WatchState(v1::ExperimentState state, const std::string& reason) {
  v1::ExperimentEvent event;
  event.mutable_state()->set_state(state);
  event.mutable_state()->set_reason(reason);
  Watch(std::move(event));
}

}  // namespace lanista
