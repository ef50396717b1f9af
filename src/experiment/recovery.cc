#include "src/experiment/recovery.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "src/base/clock.h"
#include "src/base/status.h"

namespace lanista {
namespace {

absl::Status Contradiction(int model, const char* what) {
  return absl::DataLossError(absl::StrCat("the journal contradicts itself: model ", model, " ", what));
}

// Whether the attempt began on one of these nodes, and has no end.
bool BeganOn(const AttemptRecord& attempt, const std::set<std::string>& nodes) {
  return attempt.started.has_value() && !attempt.ended.has_value() && nodes.count(attempt.device.node()) > 0;
}

class Recovery {
 public:
  Recovery(const JournalReader& journal, GuardedStrategy& strategy, GuardedStopper* stopper, AttemptLedger& ledger,
           const std::set<std::string>& nodes)
      : journal_(journal), strategy_(strategy), stopper_(stopper), ledger_(ledger), nodes_(nodes) {}

  absl::StatusOr<StartingPoint> Run() {
    LANISTA_ASSIGN_OR_RETURN(last_, journal_.LastTime());
    LANISTA_RETURN_IF_ERROR(NoteInterruption(journal_, &start_.facts));
    LANISTA_RETURN_IF_ERROR(ReplayStrategy());
    LANISTA_RETURN_IF_ERROR(ReplayStopper());
    LANISTA_ASSIGN_OR_RETURN(kept_weights_, journal_.Weights());
    LANISTA_RETURN_IF_ERROR(journal_.VisitModels([this](const ModelRecord& model) { return RestoreModel(model); }));
    LANISTA_ASSIGN_OR_RETURN(const int last_trial, journal_.LastTrial());
    ledger_.RestoreTrials(last_trial);
    LANISTA_RETURN_IF_ERROR(CountSteps());
    LANISTA_RETURN_IF_ERROR(EndUnended());
    LANISTA_RETURN_IF_ERROR(RestoreAttempts());
    LANISTA_RETURN_IF_ERROR(SortByOutcome(start_.untold));
    LANISTA_ASSIGN_OR_RETURN(start_.ran, journal_.TimeIn({v1::ExperimentState::RUNNING}, last_));
    return std::move(start_);
  }

 private:
  // Appends a record with the present time.
  v1::JournalRecord& AddFact() {
    v1::JournalRecord& record = *start_.facts.add_records();
    *record.mutable_time() = Now();
    return record;
  }

  absl::Status ReplayStrategy() {
    return journal_.VisitStrategyCalls([this](const v1::StrategyCall& call) -> absl::Status {
      LANISTA_RETURN_IF_ERROR(strategy_.Replay(call));
      start_.strategy_calls = call.sequence();
      if (call.has_tell()) {
        proposed_.erase(call.tell().model());
        return absl::OkStatus();
      }
      start_.exhausted = call.ask().reply().exhausted();
      // Models are numbered in the order in which they were proposed.
      for (const v1::Sample& sample : call.ask().reply().samples()) proposed_[++models_proposed_] = sample;
      return absl::OkStatus();
    });
  }

  absl::Status ReplayStopper() {
    if (stopper_ == nullptr) return absl::OkStatus();
    return journal_.VisitStoppingCalls([this](const v1::StoppingCall& call) -> absl::Status {
      LANISTA_RETURN_IF_ERROR(stopper_->Replay(call));
      start_.stopping_calls = call.sequence();
      if (call.has_report()) {
        const v1::StepReport& report = call.report().report();
        verdicts_[report.model()][report.step()] = call.report().verdict();
        return absl::OkStatus();
      }
      const int model = call.ended().model();
      verdicts_.erase(model);
      if (static_cast<size_t>(model) >= ended_.size()) ended_.resize(static_cast<size_t>(model) + 1);
      ended_[static_cast<size_t>(model)] = true;
      return absl::OkStatus();
    });
  }

  absl::Status RestoreModel(const ModelRecord& model) {
    const auto proposed = proposed_.find(model.model);
    if (model.model != ledger_.models() + 1) return Contradiction(ledger_.models() + 1, "is missing");
    if (model.model > models_proposed_) return Contradiction(model.model, "was never proposed");
    if (model.outcome.has_value() && model.outcome->outcome() != v1::ModelEnded::CANCELED) {
      v1::ModelOutcome outcome = *model.outcome;
      outcome.set_model(model.model);
      const auto kept = kept_weights_.find(model.model);
      ledger_.RestoreClosed(outcome, kept == kept_weights_.end() ? "" : kept->second);
      const auto number = static_cast<size_t>(model.model);
      if (stopper_ != nullptr && (number >= ended_.size() || !ended_[number])) {
        unended_.push_back(TellOf(outcome, v1::Sample(), 0, ledger_.goals()));
      }
      if (proposed != proposed_.end())
        start_.untold.push_back(TellOf(outcome, std::move(proposed->second), 0, ledger_.goals()));
      return absl::OkStatus();
    }
    if (proposed == proposed_.end())
      return Contradiction(model.model, "has no outcome, and the strategy was told of one");
    ledger_.Create(proposed->second);
    waiting_.insert(model.model);
    if (model.outcome.has_value()) AddFact().mutable_reopened()->set_model(model.model);
    return absl::OkStatus();
  }

  // Fills in the numbers of steps of models whose outcome was not told to the strategy or the stopper.
  absl::Status CountSteps() {
    std::map<int, StepCounter> counters;
    for (const v1::TellRequest& tell : start_.untold) counters[tell.model()];
    for (const v1::TellRequest& tell : unended_) counters[tell.model()];
    std::vector<int> models;
    for (const auto& entry : counters) models.push_back(entry.first);
    LANISTA_ASSIGN_OR_RETURN(const std::vector<IntermediateRecord> reports, journal_.IntermediatesOf(models));
    for (const IntermediateRecord& report : reports) counters[report.model].Add(report.intermediate);
    for (std::vector<v1::TellRequest>* const tells : {&start_.untold, &unended_}) {
      for (v1::TellRequest& tell : *tells) {
        if (tell.outcome() != v1::ModelEnded::STOPPED_EARLY) tell.set_steps(counters[tell.model()].steps());
      }
    }
    return absl::OkStatus();
  }

  // Tells the stopper the outcomes that it was not told.
  absl::Status EndUnended() {
    LANISTA_RETURN_IF_ERROR(SortByOutcome(unended_));
    for (const v1::TellRequest& ended : unended_) LANISTA_RETURN_IF_ERROR(TellEnd(ended));
    return absl::OkStatus();
  }

  absl::Status TellEnd(const v1::TellRequest& ended) {
    if (stopper_ == nullptr) return absl::OkStatus();
    LANISTA_RETURN_IF_ERROR(stopper_->Ended(ended));
    *AddStoppingCall().mutable_ended() = ended;
    return absl::OkStatus();
  }

  v1::StoppingCall& AddStoppingCall() {
    v1::StoppingCall& call = *AddFact().mutable_stopping_call();
    call.set_sequence(++start_.stopping_calls);
    return call;
  }

  absl::Status RestoreAttempts() {
    const std::vector<int> undecided(waiting_.begin(), waiting_.end());
    LANISTA_ASSIGN_OR_RETURN(const std::vector<AttemptRecord> attempts, journal_.AttemptsOf(undecided));
    LANISTA_ASSIGN_OR_RETURN(const std::vector<IntermediateRecord> reports, journal_.IntermediatesOf(undecided));
    for (const AttemptRecord& attempt : attempts) {
      if (BeganOn(attempt, nodes_)) on_nodes_[attempt.trial];
    }
    // Both are sorted by model and attempt.
    auto report = reports.begin();
    for (const AttemptRecord& attempt : attempts) {
      // The number of its last event but for that of the build, whose number is not recorded; its start has the first.
      int last_sequence = attempt.started.has_value() ? 1 : 0;
      ledger_.PlanOne(attempt.model, attempt.attempt, attempt.trial, attempt.members > 1, attempt.alone_because);
      v1::ModelEvent event = EventOf(attempt);
      if (attempt.started.has_value()) {
        event.mutable_started()->set_resumed_steps(attempt.resumed_steps);
        *event.mutable_started()->mutable_device() = attempt.device;
        ledger_.Note(event);
      }
      for (; report != reports.end() && report->model == attempt.model && report->attempt == attempt.attempt;
           ++report) {
        *event.mutable_intermediate() = report->intermediate;
        event.set_sequence(report->sequence);
        last_sequence = std::max(last_sequence, report->sequence);
        if (ledger_.Note(event)) RestoreStep(event, report->time);
      }
      if (!attempt.ended.has_value() && on_nodes_.count(attempt.trial) > 0) {
        StayOnNode(attempt, last_sequence);
      } else {
        LANISTA_RETURN_IF_ERROR(RestoreEnd(attempt));
      }
    }
    LANISTA_RETURN_IF_ERROR(JudgeUnheard());
    for (auto& entry : on_nodes_) start_.on_nodes.push_back(std::move(entry.second));
    for (const int model : waiting_) start_.models.push_back(ledger_.open_model(model));
    for (auto& [model, again] : alone_) start_.alone.push_back(std::move(again));
    return absl::OkStatus();
  }

  // Sorts the messages in the order in which the outcomes were recorded; outcomes that are yet to be recorded come
  // last.
  absl::Status SortByOutcome(std::vector<v1::TellRequest>& tells) {
    std::vector<int> models;
    for (const v1::TellRequest& tell : tells) models.push_back(tell.model());
    LANISTA_ASSIGN_OR_RETURN(const auto numbers, journal_.OutcomeNumbers(models));
    const auto number = [&numbers](const v1::TellRequest& tell) {
      const auto found = numbers.find(tell.model());
      return found == numbers.end() ? std::numeric_limits<int64_t>::max() : found->second;
    };
    std::stable_sort(tells.begin(), tells.end(),
                     [&number](const auto& a, const auto& b) { return number(a) < number(b); });
    return absl::OkStatus();
  }

  // A step of a model without an outcome. Its verdict stands, if there is one.
  void RestoreStep(const v1::ModelEvent& event, absl::Time time) {
    const std::optional<v1::StepReport> report = ledger_.Recorded(event);
    const auto& verdicts = verdicts_[event.model()];
    const auto verdict = report.has_value() ? verdicts.find(report->step()) : verdicts.end();
    if (verdict != verdicts.end()) {
      NoteStop(event.model(), ledger_.Judge(*report, verdict->second));
      return;
    }
    unheard_.emplace_back(time, event.model());
    if (report.has_value()) next_reports_[event.model()] = *report;
  }

  // Asks the stopper for the verdicts that are missing.
  absl::Status JudgeUnheard() {
    std::stable_sort(unheard_.begin(), unheard_.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    for (const auto& entry : unheard_) {
      const auto next = next_reports_.find(entry.second);
      // The model was stopped at an earlier step.
      if (next == next_reports_.end()) continue;
      const v1::StepReport report = next->second;
      next_reports_.erase(next);
      LANISTA_ASSIGN_OR_RETURN(const v1::StopVerdict verdict, stopper_->Report(report));
      v1::ReportCall& call = *AddStoppingCall().mutable_report();
      *call.mutable_report() = report;
      *call.mutable_verdict() = verdict;
      AttemptLedger::Judgement judgement = ledger_.Judge(report, verdict);
      NoteStop(report.model(), judgement);
      if (judgement.next.has_value()) next_reports_[report.model()] = *judgement.next;
      LANISTA_RETURN_IF_ERROR(Follow(report.model(), std::move(judgement.decision)));
    }
    return absl::OkStatus();
  }

  v1::ModelEvent EventOf(const AttemptRecord& attempt) const {
    v1::ModelEvent event;
    event.set_experiment(journal_.experiment().experiment());
    event.set_trial(attempt.trial);
    event.set_model(attempt.model);
    event.set_attempt(attempt.attempt);
    return event;
  }

  // The attempt may go on where it is.
  void StayOnNode(const AttemptRecord& attempt, int last_sequence) {
    waiting_.erase(attempt.model);
    alone_.erase(attempt.model);
    TrialOnNode& trial = on_nodes_[attempt.trial];
    trial.trial = attempt.trial;
    trial.num_models = attempt.members;
    trial.alone_because = attempt.alone_because;
    // A member of which nothing was said yet is where the others are.
    if (attempt.started.has_value()) {
      trial.device = attempt.device;
      trial.assignment = attempt.assignment;
    }
    trial.models.push_back(ledger_.open_model(attempt.model));
    trial.recorded.push_back(last_sequence);
  }

  // A verdict may have stopped a model whose trial goes on.
  void NoteStop(int model, const AttemptLedger::Judgement& judgement) {
    if (judgement.stop_in_trial == 0) return;
    const auto trial = on_nodes_.find(judgement.stop_in_trial);
    if (trial != on_nodes_.end()) trial->second.stopped.insert(model);
  }

  // Decides what follows from the end of an attempt, or from the end of its head if the attempt has none.
  absl::Status RestoreEnd(const AttemptRecord& attempt) {
    waiting_.erase(attempt.model);
    alone_.erase(attempt.model);
    v1::ModelEvent event = EventOf(attempt);
    *event.mutable_ended() = attempt.end;
    // For the model, a stop is the same as the end of the head.
    if (!attempt.ended.has_value() || attempt.end.outcome() == v1::ModelEnded::CANCELED) {
      event.mutable_ended()->set_outcome(v1::ModelEnded::LOST);
      event.mutable_ended()->set_lost_cause(v1::ModelEnded::HEAD_ENDED);
    }
    if (!attempt.ended.has_value()) {
      *event.mutable_time() = ToTimestamp(last_);
      *AddFact().mutable_event() = event;
    }
    return Follow(attempt.model, ledger_.EndAttempt(event));
  }

  absl::Status Follow(int model, AttemptLedger::Decision decision) {
    if (decision.again.has_value() && decision.may_merge) {
      waiting_.insert(model);
    } else if (decision.again.has_value()) {
      alone_[model] = *std::move(decision.again);
    } else if (decision.outcome.has_value()) {
      // The head ended after the end of the attempt (or after the verdict that stopped it) and before the outcome.
      ledger_.Describe(*decision.outcome, &AddFact());
      start_.untold.push_back(ledger_.Close(*decision.outcome).tell);
      return TellEnd(start_.untold.back());
    }
    return absl::OkStatus();
  }

  const JournalReader& journal_;
  GuardedStrategy& strategy_;
  GuardedStopper* const stopper_;
  AttemptLedger& ledger_;
  const std::set<std::string>& nodes_;

  StartingPoint start_;
  // The time of the last fact.
  absl::Time last_;
  int models_proposed_ = 0;
  // The samples of models whose outcome the strategy was not told, as it proposed them.
  std::map<int, v1::Sample> proposed_;
  // The stopper's verdicts by model and step, for models whose outcome it was not told; and the models whose outcome it
  // was told.
  std::map<int, std::map<int, v1::StopVerdict>> verdicts_;
  std::vector<bool> ended_;
  // Outcomes to tell to the stopper.
  std::vector<v1::TellRequest> unended_;
  // The times and models of steps without a verdict; and, for each such model, the step that is judged next.
  std::vector<std::pair<absl::Time, int>> unheard_;
  std::map<int, v1::StepReport> next_reports_;
  // JournalReader::Weights.
  std::map<int, std::string> kept_weights_;
  // The models that run next.
  std::set<int> waiting_;
  std::map<int, v1::RunAgain> alone_;
  // By trial.
  std::map<int, TrialOnNode> on_nodes_;
};

}  // namespace

absl::Status NoteInterruption(const JournalReader& journal, v1::JournalBatch* facts) {
  LANISTA_ASSIGN_OR_RETURN(const std::vector<StateRecord> states, journal.States());
  if (states.empty() || IsFinal(states.back().change.state())) return absl::OkStatus();
  LANISTA_ASSIGN_OR_RETURN(const absl::Time last, journal.LastTime());
  LANISTA_ASSIGN_OR_RETURN(const StateRecord now, journal.State());
  v1::JournalRecord& record = *facts->add_records();
  *record.mutable_time() = ToTimestamp(last);
  if (IsFinal(now.change.state())) {
    // The state is only in the last words, because the journal could not be written any more.
    *record.mutable_state() = now.change;
    return absl::OkStatus();
  }
  record.mutable_state()->set_state(v1::ExperimentState::INTERRUPTED);
  record.mutable_state()->set_reason("the process that ran it ended before the experiment did");
  return absl::OkStatus();
}

absl::StatusOr<StartingPoint> Recover(const JournalReader& journal, GuardedStrategy& strategy, GuardedStopper* stopper,
                                      AttemptLedger& ledger, const std::set<std::string>& nodes) {
  return Recovery(journal, strategy, stopper, ledger, nodes).Run();
}

absl::StatusOr<bool> HasTrialsOn(const JournalReader& journal, const std::set<std::string>& nodes) {
  bool has = false;
  LANISTA_RETURN_IF_ERROR(journal.VisitAttempts(std::nullopt, [&](const AttemptRecord& attempt) {
    has |= BeganOn(attempt, nodes);
    return absl::OkStatus();
  }));
  return has;
}

}  // namespace lanista
