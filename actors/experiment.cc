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

// How often the watchdog looks for requests without an answer.
constexpr std::chrono::minutes kWatchdogPeriod(1);
// A journal that takes longer to write will never answer: the experiment ends instead of hanging.
constexpr std::chrono::minutes kJournalLimit(10);
// How often a strategy that takes long is mentioned in the log. It may take as long as it likes.
constexpr std::chrono::minutes kStrategyNotice(10);
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
      [this](caf::tick_atom) { OnWatchdog(); },
  };
}

void ExperimentStateMachine::Start() {
  if (options_.remove_weights) {
    kept_weights_.emplace(options_.config.keep_weights().best(), options_.config.objective());
  }
  v1::JournalBatch batch;
  *AddRecord(batch).mutable_space() = options_.space;
  AddState(batch, v1::RUNNING, "");
  const auto recorded = [this] {
    v1::ExperimentEvent event;
    *event.mutable_space() = options_.space;
    Watch(std::move(event));
    if (final_state_ == v1::EXPERIMENT_STATE_UNSPECIFIED) WatchState(v1::RUNNING, "");
  };
  Record(std::move(batch), recorded, [] {});
  if (options_.config.has_max_duration()) {
    self_->delayed_send(self_, Delay(options_.config.max_duration()), deadline_atom_v);
  }
  Proceed();
}

void ExperimentStateMachine::Proceed() {
  if (final_state_ == v1::EXPERIMENT_STATE_UNSPECIFIED) {
    // Its answer leads here.
    if (asking_) return;
    TellAll();
    Fill();
  }
  MaybeFinish();
}

void ExperimentStateMachine::TellAll() {
  for (v1::TellRequest& tell : untold_) {
    *AddCall().mutable_tell() = tell;
    self_->send(options_.strategy, std::move(tell));
  }
  untold_.clear();
}

void ExperimentStateMachine::Fill() {
  const int count = std::min(Room(), Left());
  if (exhausted_ || count <= 0) return;
  asking_ = true;
  asked_at_ = noticed_at_ = self_->clock().now();
  StartWatchdog();
  v1::AskRequest ask;
  ask.set_count(count);
  self_->request(options_.strategy, caf::infinite, std::move(ask))
      .then([this, count](v1::AskReply& reply) { OnProposal(count, std::move(reply)); },
            [this](const caf::error& error) {
              asking_ = false;
              Stop(v1::EXPERIMENT_FAILED,
                   absl::StrCat("the strategy failed: ", std::string(FromCafError(error).message())));
            });
}

int ExperimentStateMachine::Room() const { return options_.max_in_flight - in_flight_.room_taken(); }

int ExperimentStateMachine::Left() const {
  const bool limited = options_.config.has_max_trial_number();
  return (limited ? options_.config.max_trial_number() : std::numeric_limits<int>::max()) - models_;
}

void ExperimentStateMachine::OnProposal(int asked, v1::AskReply reply) {
  asking_ = false;
  if (final_state_ != v1::EXPERIMENT_STATE_UNSPECIFIED) return MaybeFinish();
  if (reply.has_error()) {
    return Stop(v1::EXPERIMENT_FAILED, absl::StrCat("the strategy failed: ", reply.error().message()));
  }
  v1::AskCall& call = *AddCall().mutable_ask();
  call.set_count(asked);
  *call.mutable_reply() = reply;
  exhausted_ = reply.exhausted();
  // What ended since it was asked may help it to a proposal.
  const bool waits = reply.samples().empty() && untold_.empty();
  v1::JournalBatch batch = std::exchange(calls_, {});
  v1::RunModels run = MakeModels(std::move(reply), batch);
  // The engine has its trials recorded before it queues them, behind this.
  Record(
      std::move(batch), [] {}, [] {});
  if (waits && !exhausted_ && in_flight_.empty()) {
    return Stop(v1::EXPERIMENT_FAILED, "the strategy proposes nothing although nothing is running");
  }
  SendModels(std::move(run), /*full=*/waits || Room() <= 0);
  if (waits) return MaybeFinish();
  Proceed();
}

v1::RunModels ExperimentStateMachine::MakeModels(v1::AskReply reply, v1::JournalBatch& batch) {
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
    in_flight_.Add(ordinal, std::move(sample));
  }
  return run;
}

void ExperimentStateMachine::SendModels(v1::RunModels run, bool full) {
  run.set_in_flight(in_flight_.size());
  run.set_full(full);
  run.set_last(exhausted_ || Left() == 0);
  self_->send(engine_, std::move(run));
}

caf::result<v1::Ack> ExperimentStateMachine::OnPlanned(const v1::PlannedTrials& planned) {
  if (!journal_.ok()) return ToCafError(journal_);
  v1::JournalBatch batch;
  for (const v1::TrialSpec& trial : planned.trials()) {
    v1::TrialQueued& queued = *AddRecord(batch).mutable_trial();
    queued.set_trial(trial.trial());
    queued.set_alone_because(trial.alone_because());
    for (const v1::TrialModel& model : trial.models()) {
      v1::TrialMember& member = *queued.add_members();
      member.set_model(model.model());
      member.set_attempt(model.attempt());
      in_flight_.Plan(model.model(), trial.trial());
      if (kept_weights_.has_value()) {
        kept_weights_->Plan(model.model(), model.attempt(), model.output_folder());
      }
    }
  }
  auto promise = self_->make_response_promise<v1::Ack>();
  RequestJournal(
      std::move(batch), [promise]() mutable { promise.deliver(v1::Ack()); },
      [promise](const caf::error& error) mutable { promise.deliver(error); });
  return promise;
}

void ExperimentStateMachine::OnModelEvent(v1::ModelEvent event) {
  v1::JournalBatch batch;
  *AddRecord(batch).mutable_event() = event;
  const auto recorded = [this, event = std::move(event)] {
    v1::ExperimentEvent experiment_event;
    *experiment_event.mutable_model() = event;
    Watch(std::move(experiment_event));
  };
  Record(std::move(batch), recorded, [] {});
}

void ExperimentStateMachine::OnOutcome(v1::ModelOutcome outcome) {
  std::optional<v1::Sample> sample = in_flight_.TakeSample(outcome.model());
  if (!sample.has_value()) return;
  v1::TellRequest tell;
  tell.set_model(outcome.model());
  *tell.mutable_sample() = *std::move(sample);
  tell.set_outcome(outcome.outcome());
  const auto value = outcome.metrics().values().find("default");
  if (value != outcome.metrics().values().end()) tell.set_value(value->second);

  v1::JournalBatch batch;
  *AddRecord(batch).mutable_outcome() = outcome;
  const int model = outcome.model();
  Record(
      std::move(batch),
      [this, outcome = std::move(outcome), tell = std::move(tell)] { OnOutcomeRecorded(outcome, tell); },
      [this, model] { OnOutcomeLost(model); });
}

void ExperimentStateMachine::OnOutcomeRecorded(v1::ModelOutcome outcome, v1::TellRequest tell) {
  in_flight_.End(outcome.model());
  untold_.push_back(std::move(tell));
  CountOutcome(outcome);
  RemoveWeights(outcome);
  const std::string failure = outcome.failure().message();
  const bool data_unreadable = outcome.failure().reason() == v1::DATA_UNREADABLE;
  v1::ExperimentEvent event;
  *event.mutable_outcome() = std::move(outcome);
  Watch(std::move(event));
  if (data_unreadable || lost_in_a_row_ >= kMaxLostInARow) return Stop(v1::EXPERIMENT_FAILED, failure);
  Proceed();
}

void ExperimentStateMachine::OnOutcomeLost(int model) {
  in_flight_.End(model);
  MaybeFinish();
}

void ExperimentStateMachine::CountOutcome(const v1::ModelOutcome& outcome) {
  if (outcome.outcome() == v1::SUCCEEDED || outcome.outcome() == v1::STOPPED_EARLY) ++succeeded_;
  if (outcome.outcome() == v1::FAILED && failed_++ == 0) first_failure_ = outcome.failure().message();
  const bool lost = outcome.outcome() == v1::FAILED && outcome.failure().reason() == v1::WORKER_LOST;
  lost_in_a_row_ = lost ? lost_in_a_row_ + 1 : 0;
}

void ExperimentStateMachine::RemoveWeights(const v1::ModelOutcome& outcome) {
  if (!kept_weights_.has_value()) return;
  for (const std::string& folder : kept_weights_->End(outcome)) options_.remove_weights(folder);
}

void ExperimentStateMachine::Stop(v1::ExperimentState final_state, std::string reason) {
  if (final_state_ != v1::EXPERIMENT_STATE_UNSPECIFIED) return MaybeFinish();
  final_state_ = final_state;
  final_reason_ = std::move(reason);
  spdlog::info("[{}] stopping: {}", options_.id, final_reason_);
  v1::CancelExperiment cancel;
  cancel.set_experiment(options_.id);
  self_->send(engine_, std::move(cancel));
  v1::JournalBatch batch = std::exchange(calls_, {});
  AddState(batch, v1::STOPPING, final_reason_);
  Record(
      std::move(batch), [this] { WatchState(v1::STOPPING, final_reason_); }, [] {});
  MaybeFinish();
}

void ExperimentStateMachine::MaybeFinish() {
  if (!in_flight_.empty() || finished_) return;
  if (final_state_ != v1::EXPERIMENT_STATE_UNSPECIFIED) return Finish(final_state_, final_reason_);
  if (asking_) return;
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
  v1::JournalBatch batch = std::exchange(calls_, {});
  AddState(batch, state, reason);
  Record(
      std::move(batch), [this, state, reason] { End(state, reason); },
      // A state that is not in the journal is none that the experiment has. The journal's actor keeps this one.
      [this] { End(v1::EXPERIMENT_FAILED, std::string(journal_.message())); });
}

void ExperimentStateMachine::End(v1::ExperimentState state, const std::string& reason) {
  WatchState(state, reason);
  self_->quit(caf::exit_reason::user_shutdown);
}

void ExperimentStateMachine::Record(v1::JournalBatch batch, std::function<void()> recorded,
                                    std::function<void()> lost) {
  if (!journal_.ok()) return lost();
  RequestJournal(std::move(batch), std::move(recorded), [lost = std::move(lost)](const caf::error&) { lost(); });
}

void ExperimentStateMachine::RequestJournal(v1::JournalBatch batch, std::function<void()> recorded,
                                            std::function<void(const caf::error&)> lost) {
  journal_writes_.push_back(self_->clock().now());
  StartWatchdog();
  self_->request(options_.journal, caf::infinite, std::move(batch))
      .then(
          [this, recorded = std::move(recorded)](const v1::Ack&) {
            journal_writes_.pop_front();
            recorded();
          },
          [this, lost = std::move(lost)](const caf::error& error) {
            journal_writes_.pop_front();
            OnJournalBroken(error);
            lost(error);
          });
}

void ExperimentStateMachine::StartWatchdog() {
  if (std::exchange(watchdog_runs_, true)) return;
  self_->delayed_send(self_, kWatchdogPeriod, caf::tick_atom_v);
}

void ExperimentStateMachine::OnWatchdog() {
  watchdog_runs_ = false;
  const auto now = self_->clock().now();
  if (!journal_writes_.empty() && now - journal_writes_.front() >= kJournalLimit) {
    finished_ = true;
    return End(v1::EXPERIMENT_FAILED, absl::StrCat("the journal has not answered for ", kJournalLimit.count(),
                                                   " minutes: its disk seems to hang"));
  }
  if (asking_ && now - noticed_at_ >= kStrategyNotice) {
    noticed_at_ = now;
    spdlog::info("[{}] the strategy has been computing its next models for {} minutes", options_.id,
                 std::chrono::duration_cast<std::chrono::minutes>(now - asked_at_).count());
  }
  if (asking_ || !journal_writes_.empty()) StartWatchdog();
}

void ExperimentStateMachine::OnJournalBroken(const caf::error& error) {
  if (journal_.ok()) journal_ = FromCafError(error);
  Stop(v1::EXPERIMENT_FAILED, std::string(journal_.message()));
}

v1::StrategyCall& ExperimentStateMachine::AddCall() {
  v1::StrategyCall& call = *AddRecord(calls_).mutable_strategy_call();
  call.set_sequence(++strategy_calls_);
  return call;
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
