#include "actors/experiment.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "actors/delay.h"
#include "actors/experiment_end.h"
#include "actors/journal_facts.h"
#include "src/base/clock.h"
#include "src/base/logging.h"
#include "src/base/status.h"
#include "src/trial_process/event_window.h"

namespace lanista {
namespace {

// How often the watchdog looks for requests without an answer.
constexpr std::chrono::minutes kWatchdogPeriod(1);
// After this long without an answer the journal is asked whether it is alive: a full disk may take as long as it likes.
constexpr std::chrono::minutes kJournalLimit(10);
// A journal that does not say so in this time never will: the experiment ends instead of hanging.
constexpr std::chrono::minutes kPingLimit(1);
// How often a strategy or a stopper that takes long is mentioned in the log. They may take as long as they like.
constexpr std::chrono::minutes kThinkingNotice(10);
// Most models in flight where devices cannot train so many at a time: what a client asks for must not take all of the
// head's memory.
constexpr int64_t kMostWaiting = 20000;

}  // namespace

ExperimentSelf::behavior_type Experiment(ExperimentSelf::stateful_pointer<ExperimentState> self,
                                         ExperimentOptions options) {
  return self->state.MakeBehavior(std::move(options));
}

ExperimentSelf::behavior_type ExperimentState::MakeBehavior(ExperimentOptions options) {
  options_ = std::move(options);
  engine_ = options_.make_engine(ModelOwnerActor(self_));
  // They end together, however one ends.
  self_->link_to(engine_);
  self_->link_to(options_.strategy);
  if (options_.stopper) self_->link_to(options_.stopper);
  self_->link_to(options_.journal);
  state_counted_.Move({options_.telemetry, &options_.telemetry->experiments[v1::ExperimentState::RUNNING]});
  SayWeightsBar();
  Start();
  return {
      [this](const v1::PlannedTrials& planned) { return OnPlanned(planned); },
      [this](v1::ModelEvent& event) { OnModelEvent(std::move(event)); },
      [this](const v1::DeviceShare& share) { OnShare(share); },
      [this](const v1::StopExperiment& stop) { Stop(v1::ExperimentState::STOPPED, stop.reason()); },
      [this](deadline_atom) { Stop(v1::ExperimentState::DONE, "max_duration is over"); },
      [this](caf::tick_atom) { OnWatchdog(); },
  };
}

void ExperimentState::Start() {
  StartingPoint start = std::exchange(options_.start, {});
  strategy_calls_ = start.strategy_calls;
  stopping_calls_ = start.stopping_calls;
  exhausted_ = start.exhausted;
  untold_ = std::move(start.untold);
  const int facts = start.facts.records_size();
  AddState(start.facts, v1::ExperimentState::RUNNING, "");
  start.facts.mutable_records()->rbegin()->mutable_state()->set_served(options_.served);
  const auto recorded = [this, facts](int64_t first_number) {
    v1::ExperimentEvent event;
    *event.mutable_space() = options_.space;
    Watch(std::move(event), 0);
    if (final_state_ == v1::ExperimentState::STATE_UNSPECIFIED)
      WatchState(v1::ExperimentState::RUNNING, "", first_number + facts);
  };
  Record(std::move(start.facts), recorded, [] {});
  if (options_.config.has_max_duration()) {
    const absl::Duration left = absl::FromChrono(Delay(options_.config.max_duration())) - start.ran;
    self_->delayed_send(self_, Delay(std::max(left, absl::ZeroDuration())), deadline_atom_v);
  }
  for (v1::RunAgain& again : start.alone) self_->send(engine_, std::move(again));
  if (!start.models.empty()) {
    v1::RunModels run;
    for (v1::TrialModel& model : start.models) *run.add_models() = std::move(model);
    SendModels(std::move(run), /*full=*/Room() <= 0);
  }
  Proceed();
}

void ExperimentState::Proceed() {
  if (final_state_ == v1::ExperimentState::STATE_UNSPECIFIED) {
    // Its answer leads here.
    if (asking_) return;
    TellAll();
    Fill();
  }
  MaybeFinish();
}

void ExperimentState::TellAll() {
  for (v1::TellRequest& tell : untold_) {
    *AddCall().mutable_tell() = tell;
    self_->send(options_.strategy, std::move(tell));
  }
  untold_.clear();
}

void ExperimentState::Fill() {
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
              Stop(v1::ExperimentState::FAILED,
                   absl::StrCat("the strategy failed: ", std::string(FromCafError(error).message())));
            });
}

void ExperimentState::OnShare(const v1::DeviceShare& share) {
  const int room = Room();
  share_ = share.trials();
  if (!options_.config.has_trial_concurrency()) options_.max_trials = share_;
  if (Room() != room && !finished_) Proceed();
}

int ExperimentState::Room() const {
  const int64_t per_trial = options_.models_per_trial;
  const int64_t most = std::max(kMostWaiting, share_ * per_trial);
  const int64_t room = std::min({options_.max_trials * per_trial, most, int64_t{std::numeric_limits<int>::max()}});
  return static_cast<int>(room) - options_.ledger->room_taken();
}

int ExperimentState::Left() const {
  const bool limited = options_.config.has_max_trial_number();
  return (limited ? options_.config.max_trial_number() : std::numeric_limits<int>::max()) -
         options_.ledger->counted_models();
}

void ExperimentState::OnProposal(int asked, v1::AskReply reply) {
  asking_ = false;
  if (final_state_ != v1::ExperimentState::STATE_UNSPECIFIED) return MaybeFinish();
  if (reply.has_error()) {
    return Stop(v1::ExperimentState::FAILED, absl::StrCat("the strategy failed: ", reply.error().message()));
  }
  exhausted_ = reply.exhausted();
  // What ended since it was asked may help it to a proposal.
  const bool waits = reply.samples().empty() && untold_.empty();
  v1::AskCall& call = *AddCall().mutable_ask();
  call.set_count(asked);
  *call.mutable_reply() = reply;
  v1::JournalBatch batch = std::exchange(calls_, {});
  v1::RunModels run = MakeModels(reply, batch);
  // The engine has its trials recorded before it queues them, behind this.
  Record(
      std::move(batch), [](int64_t) {}, [] {});
  if (waits && !exhausted_ && options_.ledger->in_flight() == 0) {
    return Stop(v1::ExperimentState::FAILED, "the strategy proposes nothing although nothing is running");
  }
  SendModels(std::move(run), /*full=*/waits || Room() <= 0);
  if (waits) return MaybeFinish();
  Proceed();
}

v1::RunModels ExperimentState::MakeModels(const v1::AskReply& reply, v1::JournalBatch& batch) {
  v1::RunModels run;
  for (const v1::Sample& sample : reply.samples()) {
    v1::TrialModel& model = *run.add_models();
    model = options_.ledger->Create(sample);
    v1::ModelCreated& created = *AddRecord(batch).mutable_model();
    created.set_model(model.model());
    *created.mutable_sample() = sample;
  }
  return run;
}

void ExperimentState::SendModels(v1::RunModels run, bool full) {
  run.set_in_flight(options_.ledger->in_flight());
  run.set_full(full);
  run.set_last(exhausted_ || Left() <= 0);
  self_->send(engine_, std::move(run));
}

void ExperimentState::RunAgain(AttemptLedger::Decision& decision) {
  if (!decision.again.has_value()) return;
  if (!decision.merged || !decision.may_merge) return self_->send(engine_, *std::move(decision.again));
  v1::RunModels run;
  run.add_models()->Swap(decision.again->mutable_model());
  SendModels(std::move(run), /*full=*/Room() <= 0);
}

caf::result<v1::Ack> ExperimentState::OnPlanned(const v1::PlannedTrials& planned) {
  if (!journal_.ok()) return ToCafError(journal_);
  v1::JournalBatch batch;
  std::vector<int> models;
  for (int i = 0; i < planned.trials_size(); ++i) {
    const v1::TrialSpec& trial = planned.trials(i);
    v1::TrialQueued& queued = *AddRecord(batch).mutable_trial();
    if (i < planned.plans_size() && planned.plans(i).ByteSizeLong() > 0) *queued.mutable_plan() = planned.plans(i);
    queued.set_trial(trial.trial());
    queued.set_alone_because(trial.alone_because());
    for (const v1::TrialModel& model : trial.models()) {
      v1::TrialMember& member = *queued.add_members();
      member.set_model(model.model());
      member.set_attempt(model.attempt());
      models.push_back(model.model());
    }
    if (const absl::Status status = options_.ledger->Plan(queued); !status.ok()) return ToCafError(status);
  }
  auto promise = self_->make_response_promise<v1::Ack>();
  Record(
      std::move(batch), [promise](int64_t) mutable { promise.deliver(v1::Ack()); },
      [this, promise, models = std::move(models)]() mutable {
        promise.deliver(ToCafError(journal_));
        for (const int model : models) Drop(model);
      });
  return promise;
}

void ExperimentState::OnModelEvent(v1::ModelEvent event) {
  v1::JournalBatch batch;
  *AddRecord(batch).mutable_event() = event;
  const bool is_step = options_.ledger->Note(event);
  const bool ends = event.has_ended() && options_.ledger->is_open(event.model()) &&
                    options_.ledger->open_model(event.model()).attempt() == event.attempt();
  AttemptLedger::Decision decision;
  if (event.has_ended()) decision = options_.ledger->EndAttempt(event);
  // Its trial is recorded behind this.
  RunAgain(decision);
  std::optional<v1::EventsRecorded> acknowledgement;
  if (IsAcknowledged(event)) acknowledgement = AcknowledgementOf(event);
  // Nobody waits for a verdict to hear that it is recorded.
  std::optional<v1::EventsRecorded> end;
  if (event.has_ended()) end = AcknowledgementOf(event);
  const int decided = decision.outcome.has_value() ? event.model() : 0;
  if (decided != 0) options_.ledger->Describe(*decision.outcome, &AddRecord(batch));
  Record(
      std::move(batch),
      [this, event = std::move(event), is_step, ends, outcome = std::move(decision.outcome), acknowledgement,
       end](int64_t first_number) mutable {
        if (ends) options_.telemetry->attempts_ended[event.ended().outcome()].Add();
        if (end.has_value()) self_->send(engine_, *std::move(end));
        if (is_step) AskStopper(options_.ledger->Recorded(event));
        if (acknowledgement.has_value()) {
          unacknowledged_[event.model()].push_back(*std::move(acknowledgement));
          Acknowledge(event.model());
        }
        v1::ExperimentEvent experiment_event;
        *experiment_event.mutable_model() = std::move(event);
        Watch(std::move(experiment_event), first_number);
        if (outcome.has_value()) OnOutcomeRecorded(*std::move(outcome), first_number + 1);
      },
      [this, decided, acknowledgement, end]() mutable {
        // Nobody keeps it: a trial that waits for it can hear that it is canceled.
        if (acknowledgement.has_value()) self_->send(engine_, *std::move(acknowledgement));
        if (end.has_value()) self_->send(engine_, *std::move(end));
        Drop(decided);
      });
}

void ExperimentState::Acknowledge(int model) {
  const auto found = unacknowledged_.find(model);
  if (found == unacknowledged_.end()) return;
  std::deque<v1::EventsRecorded>& waiting = found->second;
  while (!waiting.empty() && options_.ledger->IsJudged(waiting.front())) {
    self_->send(engine_, std::move(waiting.front()));
    waiting.pop_front();
  }
  if (waiting.empty()) unacknowledged_.erase(found);
}

void ExperimentState::SayWeightsBar() { options_.weights_bars->Set(options_.id, options_.ledger->weights_bar()); }

void ExperimentState::OnOutcomeRecorded(v1::ModelOutcome outcome, int64_t number) {
  options_.telemetry->models_ended[outcome.outcome()].Add();
  AttemptLedger::Closed closed = options_.ledger->Close(outcome);
  SayWeightsBar();
  TellStopper(closed.tell);
  if (options_.stopper && outcome.outcome() == v1::ModelEnded::SUCCEEDED && closed.tell.steps() == 0 &&
      !std::exchange(warned_of_no_steps_, true)) {
    LogWarning(
        "{}model {} ended without an intermediate report of `default`: early stopping decides on these, and stops "
        "no model that makes none",
        LogTag(options_.id), outcome.model());
  }
  untold_.push_back(std::move(closed.tell));
  for (const std::string& folder : closed.needless_weights) options_.remove_weights(folder);
  if (!closed.needless_checkpoints.empty()) options_.remove_checkpoints(closed.needless_checkpoints);
  v1::ExperimentEvent event;
  *event.mutable_outcome() = std::move(outcome);
  Watch(std::move(event), number);
  if (!options_.ledger->hopeless().empty()) return Stop(v1::ExperimentState::FAILED, options_.ledger->hopeless());
  Proceed();
}

void ExperimentState::Drop(int model) {
  options_.ledger->Drop(model);
  MaybeFinish();
}

void ExperimentState::Stop(v1::ExperimentState::State final_state, std::string reason) {
  // It has come to another end, which may be on its way into the journal.
  if (finished_) return;
  if (final_state_ != v1::ExperimentState::STATE_UNSPECIFIED) return MaybeFinish();
  final_state_ = final_state;
  final_reason_ = std::move(reason);
  state_counted_.Move({options_.telemetry, &options_.telemetry->experiments[v1::ExperimentState::STOPPING]});
  LogInfo("{}stopping: {}", LogTag(options_.id), final_reason_);
  v1::CancelExperiment cancel;
  cancel.set_experiment(options_.id);
  self_->send(engine_, std::move(cancel));
  v1::JournalBatch batch = std::exchange(calls_, {});
  AddState(batch, v1::ExperimentState::STOPPING, final_reason_);
  const int behind_state = batch.records_size();
  std::vector<v1::ModelOutcome> outcomes = options_.ledger->Cancel();
  // No verdict is waited for any more.
  while (!unacknowledged_.empty()) Acknowledge(unacknowledged_.begin()->first);
  std::vector<int> models;
  for (const v1::ModelOutcome& outcome : outcomes) {
    options_.ledger->Describe(outcome, &AddRecord(batch));
    models.push_back(outcome.model());
  }
  Record(
      std::move(batch),
      [this, behind_state, outcomes = std::move(outcomes)](int64_t first_number) mutable {
        int64_t number = first_number + behind_state;
        WatchState(v1::ExperimentState::STOPPING, final_reason_, number - 1);
        for (v1::ModelOutcome& outcome : outcomes) OnOutcomeRecorded(std::move(outcome), number++);
      },
      [this, models = std::move(models)] {
        for (const int model : models) options_.ledger->Drop(model);
        MaybeFinish();
      });
  MaybeFinish();
}

void ExperimentState::MaybeFinish() {
  const AttemptLedger& ledger = *options_.ledger;
  if (ledger.in_flight() > 0 || finished_) return;
  if (final_state_ != v1::ExperimentState::STATE_UNSPECIFIED) return Finish(final_state_, final_reason_);
  if (asking_) return;
  const bool limit = Left() <= 0;
  if (!limit && !exhausted_) return;
  const ExperimentEnd end = EndOf(ledger, limit);
  Finish(end.state, end.reason);
}

void ExperimentState::Finish(v1::ExperimentState::State state, const std::string& reason) {
  finished_ = true;
  v1::JournalBatch batch = std::exchange(calls_, {});
  AddState(batch, state, reason);
  const int calls = batch.records_size() - 1;
  Record(
      std::move(batch),
      [this, state, reason, calls](int64_t first_number) { End(state, reason, first_number + calls); },
      // A state that is not in the journal is none that the experiment has. The journal's actor keeps this one.
      [this] { End(v1::ExperimentState::FAILED, std::string(journal_.message()), 0); });
}

void ExperimentState::End(v1::ExperimentState::State state, const std::string& reason, int64_t number) {
  options_.telemetry->experiments_ended[state].Add();
  state_counted_.Move(nullptr);
  options_.weights_bars->Set(options_.id, std::nullopt);
  WatchState(state, reason, number);
  self_->quit(caf::exit_reason::user_shutdown);
}

void ExperimentState::Record(v1::JournalBatch batch, OnRecorded recorded, OnLost lost) {
  if (!journal_.ok()) return lost();
  journal_writes_.push_back({self_->clock().now(), std::move(recorded), std::move(lost)});
  StartWatchdog();
  const auto next = [this] {
    PendingWrite write = std::move(journal_writes_.front());
    journal_writes_.pop_front();
    options_.telemetry->journal_acknowledgement.Observe(self_->clock().now() - write.since);
    return write;
  };
  self_->request(options_.journal, caf::infinite, std::move(batch))
      .then([next](const v1::Recorded& done) { next().recorded(done.first_number()); },
            [this, next](const caf::error& error) {
              PendingWrite write = next();
              OnJournalBroken(error);
              write.lost();
            });
}

void ExperimentState::StartWatchdog() {
  if (std::exchange(watchdog_runs_, true)) return;
  self_->delayed_send(self_, kWatchdogPeriod, caf::tick_atom_v);
}

void ExperimentState::OnWatchdog() {
  watchdog_runs_ = false;
  const auto now = self_->clock().now();
  if (!journal_writes_.empty() && now - journal_writes_.front().since >= kJournalLimit) {
    self_->request(options_.journal, kPingLimit, v1::Ack())
        .then([](const v1::Ack&) {},
              [this](const caf::error&) {
                finished_ = true;
                End(v1::ExperimentState::FAILED,
                    absl::StrCat("the journal has not answered for ", kJournalLimit.count(),
                                 " minutes: its disk seems to hang"),
                    0);
              });
  }
  if (asking_ && now - noticed_at_ >= kThinkingNotice) {
    noticed_at_ = now;
    LogInfo("{}the strategy has been computing its next models for {} minutes", LogTag(options_.id),
            std::chrono::duration_cast<std::chrono::minutes>(now - asked_at_).count());
  }
  if (!stopper_told_.empty() && now - std::max(stopper_told_.front(), stopper_noticed_at_) >= kThinkingNotice) {
    stopper_noticed_at_ = now;
    LogInfo("{}the stopper has been computing a verdict for {} minutes", LogTag(options_.id),
            std::chrono::duration_cast<std::chrono::minutes>(now - stopper_told_.front()).count());
  }
  if (asking_ || !stopper_told_.empty() || !journal_writes_.empty()) StartWatchdog();
}

void ExperimentState::OnJournalBroken(const caf::error& error) {
  if (journal_.ok()) journal_ = FromCafError(error);
  Stop(v1::ExperimentState::FAILED, std::string(journal_.message()));
}

v1::StrategyCall& ExperimentState::AddCall() {
  v1::StrategyCall& call = *AddRecord(calls_).mutable_strategy_call();
  call.set_sequence(++strategy_calls_);
  return call;
}

void ExperimentState::Watch(v1::ExperimentEvent event, int64_t number) {
  event.set_experiment(options_.id);
  event.set_number(number);
  *event.mutable_time() = Now();
  self_->send(options_.watcher, std::move(event));
}

void ExperimentState::WatchState(v1::ExperimentState::State state, const std::string& reason, int64_t number) {
  v1::ExperimentEvent event;
  event.mutable_state()->set_state(state);
  event.mutable_state()->set_reason(reason);
  Watch(std::move(event), number);
}

}  // namespace lanista
