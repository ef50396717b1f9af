// Early stopping: what the stopper hears of an experiment's models, and what follows from its verdicts.
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "actors/experiment.h"
#include "actors/journal_facts.h"
#include "src/base/status.h"

namespace lanista {

void ExperimentState::AskStopper(const std::optional<v1::StepReport>& report) {
  if (!report.has_value()) return;
  stopper_told_.push_back(self_->clock().now());
  StartWatchdog();
  self_->request(options_.stopper, caf::infinite, *report)
      .then([this, report = *report](const v1::StopVerdict& verdict) { OnVerdict(report, verdict); },
            [this](const caf::error& error) { OnStopperGone(error); });
}

void ExperimentState::OnVerdict(const v1::StepReport& report, const v1::StopVerdict& verdict) {
  if (!OnStopperAnswer(verdict)) return;
  v1::JournalBatch batch;
  v1::ReportCall& call = *AddStoppingCall(batch).mutable_report();
  *call.mutable_report() = report;
  *call.mutable_verdict() = verdict;
  AttemptLedger::Judgement judgement = options_.ledger->Judge(report, verdict);
  Acknowledge(report.model());
  RunAgain(judgement.decision);
  std::optional<v1::ModelOutcome> outcome = std::move(judgement.decision.outcome);
  const int decided = outcome.has_value() ? report.model() : 0;
  if (decided != 0) options_.ledger->Describe(*outcome, &AddRecord(batch));
  Record(
      std::move(batch),
      [this, model = report.model(), trial = judgement.stop_in_trial,
       outcome = std::move(outcome)](int64_t first_number) mutable {
        if (trial != 0) StopTraining(trial, model);
        if (outcome.has_value()) OnOutcomeRecorded(*std::move(outcome), first_number + 1);
      },
      [this, decided] { Drop(decided); });
  AskStopper(judgement.next);
}

void ExperimentState::StopTraining(int trial, int model) {
  v1::StopModel stop;
  stop.set_experiment(options_.id);
  stop.set_trial(trial);
  stop.set_model(model);
  self_->send(engine_, std::move(stop));
}

void ExperimentState::TellStopper(const v1::TellRequest& tell) {
  if (!options_.stopper || final_state_ != v1::ExperimentState::STATE_UNSPECIFIED) return;
  v1::TellRequest ended = tell;
  // It needs no sample.
  ended.clear_sample();
  stopper_told_.push_back(self_->clock().now());
  StartWatchdog();
  self_->request(options_.stopper, caf::infinite, ended)
      .then(
          [this, ended](const v1::StopVerdict& answer) {
            if (!OnStopperAnswer(answer)) return;
            v1::JournalBatch batch;
            *AddStoppingCall(batch).mutable_ended() = ended;
            Record(
                std::move(batch), [](int64_t) {}, [] {});
          },
          [this](const caf::error& error) { OnStopperGone(error); });
}

bool ExperimentState::OnStopperAnswer(const v1::StopVerdict& answer) {
  stopper_told_.pop_front();
  if (final_state_ != v1::ExperimentState::STATE_UNSPECIFIED || finished_) return false;
  if (!answer.has_error()) return true;
  Stop(v1::ExperimentState::FAILED, absl::StrCat("the stopper failed: ", answer.error().message()));
  return false;
}

void ExperimentState::OnStopperGone(const caf::error& error) {
  stopper_told_.pop_front();
  Stop(v1::ExperimentState::FAILED, absl::StrCat("the stopper failed: ", std::string(FromCafError(error).message())));
}

v1::StoppingCall& ExperimentState::AddStoppingCall(v1::JournalBatch& batch) {
  v1::StoppingCall& call = *AddRecord(batch).mutable_stopping_call();
  call.set_sequence(++stopping_calls_);
  return call;
}

}  // namespace lanista
