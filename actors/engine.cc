#include "actors/engine.h"

#include <chrono>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "spdlog/spdlog.h"
#include "src/space/space.h"

namespace lanista {
namespace {

// A model whose attempts were all lost has failed: whatever loses them may be its doing after all.
constexpr int kMaxAttempts = 3;
// A disk that takes longer than this to write a few facts is as good as broken.
constexpr std::chrono::minutes kRecordTimeout(2);

}  // namespace

EngineActor::behavior_type Engine(EngineActor::stateful_pointer<EngineState> self, EngineOptions options,
                                  ModelOwnerActor owner, TrainingServiceActor service) {
  return self->state.MakeBehavior(std::move(options), std::move(owner), std::move(service));
}

EngineActor::behavior_type EngineState::MakeBehavior(EngineOptions options, ModelOwnerActor owner,
                                                     TrainingServiceActor service) {
  options_ = std::move(options);
  owner_ = std::move(owner);
  service_ = std::move(service);
  return {
      [this](v1::ModelEvent& event) {
        ExplainMismatch(&event);
        self_->send(owner_, event);
        if (event.has_ended()) OnEnded(event);
      },
      [this](v1::RunModels& request) {
        std::vector<v1::TrialModel> models(std::make_move_iterator(request.mutable_models()->begin()),
                                           std::make_move_iterator(request.mutable_models()->end()));
        for (const v1::TrialModel& model : models) open_[model.model()] = model;
        Launch(options_.planner->Plan(std::move(models)), /*retry=*/false);
      },
      [this](const v1::CancelExperiment& cancel) {
        canceled_ = true;
        self_->send(service_, cancel);
      },
  };
}

void EngineState::Launch(std::vector<std::vector<v1::TrialModel>> groups, bool retry) {
  v1::PlannedTrials planned;
  for (std::vector<v1::TrialModel>& group : groups) {
    v1::TrialSpec& trial = *planned.add_trials();
    trial = options_.trial_template;
    trial.set_trial(++trials_);
    trial.set_retry(retry);
    trial.set_output_folder(absl::StrCat(options_.output_folder, "/", trials_));
    trial.set_log_file(absl::StrCat(options_.log_folder, "/trial-", trials_, ".log"));
    for (v1::TrialModel& model : group) *trial.add_models() = std::move(model);
  }
  self_->request(owner_, kRecordTimeout, planned)
      .then(
          [this, planned](const v1::Ack&) {
            for (const v1::TrialSpec& trial : planned.trials()) self_->send(service_, trial, TrialOwnerActor(self_));
            // What was canceled meanwhile must not run.
            if (!canceled_) return;
            v1::CancelExperiment cancel;
            cancel.set_experiment(options_.trial_template.experiment());
            self_->send(service_, std::move(cancel));
          },
          [this, planned](const caf::error& error) {
            // The owner knows that its journal is broken; the models end here.
            for (const v1::TrialSpec& trial : planned.trials()) {
              for (const v1::TrialModel& model : trial.models()) {
                open_.erase(model.model());
                v1::ModelOutcome outcome;
                outcome.set_model(model.model());
                outcome.set_outcome(v1::CANCELED);
                *outcome.mutable_sample() = model.sample();
                self_->send(owner_, std::move(outcome));
              }
            }
            spdlog::error("trials could not be recorded and are not run: {}",
                          std::string(FromCafError(error).message()));
          });
}

void EngineState::ExplainMismatch(v1::ModelEvent* event) const {
  if (!event->ended().has_actual_space()) return;
  std::string* const message = event->mutable_ended()->mutable_failure()->mutable_message();
  absl::StrAppend(message, "; what differs (here: the program, there: the experiment):\n",
                  DescribeDifference(event->ended().actual_space(), options_.space));
  event->mutable_ended()->clear_actual_space();
}

void EngineState::OnEnded(const v1::ModelEvent& event) {
  const auto open = open_.find(event.model());
  if (open == open_.end() || open->second.attempt() != event.attempt()) return;
  if (event.ended().outcome() == v1::LOST && !canceled_ && event.attempt() < kMaxAttempts) {
    open->second.set_attempt(event.attempt() + 1);
    return Launch({{open->second}}, /*retry=*/true);
  }
  Decide(event);
}

void EngineState::Decide(const v1::ModelEvent& event) {
  const v1::ModelEnded& ended = event.ended();
  v1::ModelOutcome outcome;
  outcome.set_model(event.model());
  outcome.set_attempt(event.attempt());
  outcome.set_outcome(ended.outcome());
  if (ended.outcome() == v1::LOST) outcome.set_outcome(canceled_ ? v1::CANCELED : v1::FAILED);
  if (ended.has_metrics()) *outcome.mutable_metrics() = ended.metrics();
  if (ended.has_failure() && outcome.outcome() == v1::FAILED) *outcome.mutable_failure() = ended.failure();
  const auto open = open_.find(event.model());
  *outcome.mutable_sample() = ended.has_actual_sample() ? ended.actual_sample() : open->second.sample();
  open_.erase(open);
  self_->send(owner_, std::move(outcome));
}

}  // namespace lanista
