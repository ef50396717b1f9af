#include "src/experiment/recovery.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "src/base/clock.h"
#include "src/base/status.h"
#include "src/storage/state_dir.h"

namespace lanista {
namespace {

absl::Status Contradiction(int model, const char* what) {
  return absl::DataLossError(absl::StrCat("the journal contradicts itself: model ", model, " ", what));
}

bool IsFinal(v1::ExperimentState state) {
  return state == v1::DONE || state == v1::STOPPED || state == v1::EXPERIMENT_FAILED;
}

class Recovery {
 public:
  Recovery(const JournalReader& journal, GuardedStrategy& strategy, Ledger& ledger)
      : journal_(journal),
        strategy_(strategy),
        ledger_(ledger),
        objective_(journal.experiment().config().objective()) {}

  absl::StatusOr<StartingPoint> Run() {
    LANISTA_RETURN_IF_ERROR(NoteInterruption());
    LANISTA_RETURN_IF_ERROR(ReplayStrategy());
    LANISTA_RETURN_IF_ERROR(FindKeptWeights());
    LANISTA_RETURN_IF_ERROR(journal_.VisitModels([this](const ModelRecord& model) { return RestoreModel(model); }));
    LANISTA_ASSIGN_OR_RETURN(const int last_trial, journal_.LastTrial());
    ledger_.RestoreTrials(last_trial);
    LANISTA_RETURN_IF_ERROR(RestoreAttempts());
    std::stable_sort(untold_.begin(), untold_.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    for (auto& [decided, tell] : untold_) start_.untold.push_back(std::move(tell));
    LANISTA_ASSIGN_OR_RETURN(start_.ran, journal_.TimeIn({v1::RUNNING}));
    return std::move(start_);
  }

 private:
  // Appends a record of now.
  v1::JournalRecord& AddFact() {
    v1::JournalRecord& record = *start_.facts.add_records();
    *record.mutable_time() = Now();
    return record;
  }

  // Between the last fact and now the experiment was not RUNNING.
  absl::Status NoteInterruption() {
    LANISTA_ASSIGN_OR_RETURN(const StateRecord state, journal_.State());
    if (IsFinal(state.change.state())) return absl::OkStatus();
    LANISTA_ASSIGN_OR_RETURN(const absl::Time last, journal_.LastTime());
    v1::JournalRecord& record = AddFact();
    *record.mutable_time() = ToTimestamp(last);
    record.mutable_state()->set_state(v1::INTERRUPTED);
    record.mutable_state()->set_reason("the process that ran it ended before the experiment did");
    return absl::OkStatus();
  }

  absl::Status ReplayStrategy() {
    return journal_.VisitStrategyCalls([this](const v1::StrategyCall& call) -> absl::Status {
      LANISTA_RETURN_IF_ERROR(strategy_.Replay(call, objective_));
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

  absl::Status FindKeptWeights() {
    const int best = journal_.experiment().config().keep_weights().best();
    if (best == 0) return absl::OkStatus();
    LANISTA_ASSIGN_OR_RETURN(const std::vector<ModelRecord> models, journal_.BestModels(best));
    LANISTA_ASSIGN_OR_RETURN(const std::vector<AttemptRecord> attempts, journal_.Attempts());
    for (const ModelRecord& model : models) {
      const auto deciding = std::find_if(attempts.begin(), attempts.end(), [&](const AttemptRecord& attempt) {
        return attempt.model == model.model && attempt.attempt == model.outcome->attempt();
      });
      if (deciding == attempts.end())
        return Contradiction(model.model, "has an outcome and not the attempt that decided");
      kept_weights_[model.model] =
          absl::StrCat(journal_.folder(), "/", TrialOutputFolder(deciding->trial, model.model, deciding->members > 1));
    }
    return absl::OkStatus();
  }

  absl::Status RestoreModel(const ModelRecord& model) {
    const auto proposed = proposed_.find(model.model);
    if (model.model != ledger_.models() + 1) return Contradiction(ledger_.models() + 1, "is missing");
    if (model.model > models_proposed_) return Contradiction(model.model, "was never proposed");
    if (model.outcome.has_value() && model.outcome->outcome() != v1::CANCELED) {
      v1::ModelOutcome outcome = *model.outcome;
      outcome.set_model(model.model);
      const auto kept = kept_weights_.find(model.model);
      ledger_.RestoreClosed(outcome, kept == kept_weights_.end() ? "" : kept->second);
      if (proposed == proposed_.end()) return absl::OkStatus();
      v1::TellRequest tell;
      tell.set_model(model.model);
      *tell.mutable_sample() = std::move(proposed->second);
      tell.set_outcome(outcome.outcome());
      const auto value = outcome.metrics().values().find("default");
      if (value != outcome.metrics().values().end()) tell.set_value(value->second);
      untold_.emplace_back(model.decided, std::move(tell));
      return absl::OkStatus();
    }
    if (proposed == proposed_.end())
      return Contradiction(model.model, "has no outcome, and the strategy was told of one");
    ledger_.Create(proposed->second);
    waiting_.insert(model.model);
    if (model.outcome.has_value()) AddFact().mutable_reopened()->set_model(model.model);
    return absl::OkStatus();
  }

  absl::Status RestoreAttempts() {
    LANISTA_ASSIGN_OR_RETURN(const auto steps, journal_.UndecidedSteps());
    for (const auto& [model, step] : steps) {
      v1::ModelEvent reported;
      reported.set_model(model);
      reported.mutable_intermediate()->set_step(step);
      ledger_.Report(reported);
    }
    LANISTA_ASSIGN_OR_RETURN(const std::vector<AttemptRecord> attempts, journal_.UndecidedAttempts());
    for (const AttemptRecord& attempt : attempts) RestoreAttempt(attempt);
    for (const int model : waiting_) start_.models.push_back(ledger_.open_model(model));
    for (auto& [model, again] : alone_) start_.alone.push_back(std::move(again));
    return absl::OkStatus();
  }

  void RestoreAttempt(const AttemptRecord& attempt) {
    ledger_.PlanOne(attempt.model, attempt.attempt, attempt.trial, attempt.members > 1, attempt.alone_because);
    waiting_.erase(attempt.model);
    alone_.erase(attempt.model);
    v1::ModelEvent event;
    event.set_experiment(journal_.experiment().experiment());
    event.set_trial(attempt.trial);
    event.set_model(attempt.model);
    event.set_attempt(attempt.attempt);
    *event.mutable_ended() = attempt.end;
    if (!attempt.ended.has_value()) {
      *event.mutable_time() = Now();
      event.mutable_ended()->set_outcome(v1::LOST);
      event.mutable_ended()->set_lost_cause(v1::HEAD_ENDED);
      *AddFact().mutable_event() = event;
    } else if (attempt.end.outcome() == v1::CANCELED) {
      // As far as the model is concerned, the stop was the head's end.
      event.mutable_ended()->set_outcome(v1::LOST);
      event.mutable_ended()->set_lost_cause(v1::HEAD_ENDED);
    }
    Ledger::Decision decision = ledger_.EndAttempt(event);
    if (decision.again.has_value() && decision.may_merge) {
      waiting_.insert(attempt.model);
    } else if (decision.again.has_value()) {
      alone_[attempt.model] = *std::move(decision.again);
    } else if (decision.outcome.has_value()) {
      // Its head ended between the end of the attempt and the outcome.
      *AddFact().mutable_outcome() = *decision.outcome;
      untold_.emplace_back(absl::InfiniteFuture(), ledger_.Close(*decision.outcome).tell);
    }
  }

  const JournalReader& journal_;
  GuardedStrategy& strategy_;
  Ledger& ledger_;
  const v1::Objective objective_;

  StartingPoint start_;
  int models_proposed_ = 0;
  // As the strategy proposed them: models that it was not told of.
  std::map<int, v1::Sample> proposed_;
  // Folders of the best models' weights.
  std::map<int, std::string> kept_weights_;
  // What runs next, by model.
  std::set<int> waiting_;
  std::map<int, v1::RunAgain> alone_;
  // With the time of the outcome.
  std::vector<std::pair<absl::Time, v1::TellRequest>> untold_;
};

}  // namespace

absl::StatusOr<StartingPoint> Recover(const JournalReader& journal, GuardedStrategy& strategy, Ledger& ledger) {
  return Recovery(journal, strategy, ledger).Run();
}

}  // namespace lanista
