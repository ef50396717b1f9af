#include "actors/engine.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "src/base/logging.h"
#include "src/space/space.h"
#include "src/storage/state_dir.h"

namespace lanista {
namespace {

// The model leaves a trial that has not begun.
void RemoveFromPlan(int model, v1::TrialPlan* plan) {
  auto& work = *plan->mutable_work();
  for (v1::ExplainedWork& shared : work) {
    auto& models = *shared.mutable_models();
    models.erase(std::remove(models.begin(), models.end(), model), models.end());
  }
  work.erase(
      std::remove_if(work.begin(), work.end(), [](const v1::ExplainedWork& own) { return own.models().empty(); }),
      work.end());
}

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
  trials_ = options_.trials;
  // Without it no trial would ever end, and the experiment would wait for ever.
  self_->set_down_handler([self = self_](const caf::down_msg& down) {
    if (down.reason != caf::exit_reason::user_shutdown) self->quit(down.reason);
  });
  self_->monitor(service_);
  AwaitNodes();
  Want();
  return {
      [this](v1::RunModels& request) { OnModels(std::move(request)); },
      [this](v1::RunAgain& again) {
        v1::TrialSpec trial = options_.trial_template;
        trial.set_retry(true);
        trial.set_alone_because(std::move(*again.mutable_alone_because()));
        trial.add_models()->Swap(again.mutable_model());
        // Behind those that try again already.
        const auto first_new = std::find_if(waiting_.begin(), waiting_.end(),
                                            [](const WaitingTrial& other) { return !other.spec.retry(); });
        waiting_.insert(first_new, WaitingTrial{std::move(trial), {}});
        LaunchWaiting();
        Want();
      },
      [this](v1::StopModel& stop) { OnStop(std::move(stop)); },
      [this](v1::EventsRecorded& recorded) { OnRecorded(std::move(recorded)); },
      [this](const v1::CancelExperiment& cancel) {
        canceled_ = last_ = true;
        waiting_.clear();
        self_->send(service_, cancel);
        Want();
      },
      [this](v1::ModelEvent& event) {
        ExplainMismatch(&event);
        if (event.has_ended()) OnEnded(event);
        self_->send(owner_, std::move(event));
      },
      [this](const v1::DeviceShare& share) { OnShare(share); },
  };
}

void EngineState::AwaitNodes() {
  v1::ReturningTrials returning;
  returning.set_experiment(options_.trial_template.experiment());
  for (TrialOnNode& on_node : std::exchange(options_.on_nodes, {})) {
    RunningTrial& running = running_[on_node.trial];
    running.num_models = on_node.num_models;
    // It says nothing about the estimates of this planner.
    running.retry = true;
    running.queued = true;
    v1::ReturningTrial& trial = *returning.add_trials();
    v1::TrialSpec& spec = *trial.mutable_spec();
    spec = options_.trial_template;
    spec.set_trial(on_node.trial);
    spec.set_alone_because(on_node.alone_because);
    for (v1::TrialModel& model : on_node.models) {
      running.open_models.insert(model.model());
      *spec.add_models() = std::move(model);
    }
    SetPaths(on_node.num_models, &spec);
    *trial.mutable_device() = std::move(on_node.device);
    trial.set_assignment(std::move(on_node.assignment));
    *trial.mutable_recorded() = {on_node.recorded.begin(), on_node.recorded.end()};
    *trial.mutable_stopped() = {on_node.stopped.begin(), on_node.stopped.end()};
  }
  self_->send(service_, std::move(returning), TrialOwnerActor(self_));
}

void EngineState::SetPaths(int num_models, v1::TrialSpec* trial) const {
  trial->set_log_file(absl::StrCat(options_.folder, "/", TrialLogFile(trial->trial())));
  for (v1::TrialModel& model : *trial->mutable_models()) {
    model.set_output_folder(
        absl::StrCat(options_.folder, "/", TrialOutputFolder(trial->trial(), model.model(), num_models > 1)));
  }
}

void EngineState::OnRecorded(v1::EventsRecorded recorded) {
  const int trial = recorded.trial();
  const auto ends = unrecorded_ends_.find(trial);
  if (ends != unrecorded_ends_.end()) {
    const auto end = ends->second.find(recorded.model());
    if (end != ends->second.end() && end->second <= recorded.sequence()) ends->second.erase(end);
    if (ends->second.empty()) {
      unrecorded_ends_.erase(ends);
      if (running_.count(trial) == 0) {
        recorded.Clear();
        recorded.set_experiment(options_.trial_template.experiment());
        recorded.set_trial(trial);
        return self_->send(service_, std::move(recorded));
      }
    }
  }
  if (running_.count(trial) > 0) self_->send(service_, std::move(recorded));
}

void EngineState::Want() {
  std::optional<int> most = options_.max_trials;
  // Devices that it has no trials for are others'.
  if (last_) most = std::min(Trials(), most.value_or(Trials()));
  if (std::exchange(has_wanted_, true) && wanted_ == most) return;
  wanted_ = most;
  v1::WantDevices wants;
  wants.set_experiment(options_.trial_template.experiment());
  wants.set_program(options_.trial_template.program());
  wants.set_priority(options_.trial_template.priority());
  if (most.has_value()) wants.set_most_trials(*most);
  if (options_.trial_template.has_requirements()) {
    *wants.mutable_requirements() = options_.trial_template.requirements();
  }
  self_->send(service_, std::move(wants), DeviceUserActor(self_));
}

void EngineState::OnShare(const v1::DeviceShare& share) {
  options_.share = share;
  options_.planner->SetDeviceMemory(share.device_memory());
  LaunchWaiting();
  self_->send(owner_, share);
}

void EngineState::OnModels(v1::RunModels request) {
  std::vector<v1::TrialModel> models(std::make_move_iterator(request.mutable_models()->begin()),
                                     std::make_move_iterator(request.mutable_models()->end()));
  last_ = request.last() || canceled_;
  if (!models.empty()) {
    const int could_run = std::min(MaxTrials(), options_.share.trials());
    for (PlannedTrial& planned : options_.planner->Plan(std::move(models), could_run - Trials())) {
      v1::TrialSpec trial = options_.trial_template;
      for (v1::TrialModel& model : planned.models) *trial.add_models() = std::move(model);
      trial.set_alone_because(planned.alone_because);
      trial.set_estimated_memory(planned.expected_memory);
      v1::TrialPlan plan;
      plan.set_memory(planned.estimated_memory);
      for (v1::ExplainedWork& work : planned.work) *plan.add_work() = std::move(work);
      waiting_.push_back({std::move(trial), std::move(plan)});
    }
    LaunchWaiting();
  }
  Want();
}

void EngineState::OnStop(v1::StopModel stop) {
  for (auto trial = waiting_.begin(); trial != waiting_.end(); ++trial) {
    auto& models = *trial->spec.mutable_models();
    const auto model = std::find_if(models.begin(), models.end(),
                                    [&](const v1::TrialModel& waiting) { return waiting.model() == stop.model(); });
    if (model == models.end()) continue;
    models.erase(model);
    RemoveFromPlan(stop.model(), &trial->plan);
    if (models.empty()) waiting_.erase(trial);
    return Want();
  }
  for (auto& [number, trial] : running_) {
    if (trial.open_models.count(stop.model()) == 0) continue;
    // What is not queued yet is stopped when it is.
    if (!trial.queued) return trial.stopped.push_back(stop.model());
    stop.set_trial(number);
    return self_->send(service_, std::move(stop));
  }
}

void EngineState::LaunchWaiting() {
  std::vector<WaitingTrial> trials;
  while (!waiting_.empty() && static_cast<int>(running_.size() + trials.size()) < MaxTrials()) {
    trials.push_back(std::move(waiting_.front()));
    waiting_.pop_front();
  }
  if (!trials.empty()) Launch(std::move(trials));
}

void EngineState::Launch(std::vector<WaitingTrial> trials) {
  v1::PlannedTrials planned;
  for (WaitingTrial& waiting : trials) {
    v1::TrialSpec& trial = waiting.spec;
    trial.set_trial(++trials_);
    RunningTrial& running = running_[trials_];
    running.num_models = trial.models_size();
    running.retry = trial.retry();
    running.estimated_memory = waiting.plan.memory();
    for (const v1::TrialModel& model : trial.models()) running.open_models.insert(model.model());
    SetPaths(running.num_models, &trial);
    *planned.add_trials() = std::move(trial);
    *planned.add_plans() = std::move(waiting.plan);
  }
  // The owner gives up on its journal by itself.
  self_->request(owner_, caf::infinite, planned)
      .then(
          [this, planned](const v1::Ack&) {
            for (const v1::TrialSpec& trial : planned.trials()) Queue(trial);
            // What was canceled meanwhile must not run.
            if (!canceled_) return;
            v1::CancelExperiment cancel;
            cancel.set_experiment(options_.trial_template.experiment());
            self_->send(service_, std::move(cancel));
          },
          [this, planned](const caf::error& error) {
            // The owner knows what becomes of their models.
            const absl::Status status = FromCafError(error);
            if (!absl::IsCancelled(status)) {
              LogError("{}trials could not be recorded and are not run: {}",
                       LogTag(options_.trial_template.experiment()), std::string(status.message()));
            }
            for (const v1::TrialSpec& trial : planned.trials()) running_.erase(trial.trial());
            Want();
          });
}

void EngineState::Queue(const v1::TrialSpec& trial) {
  self_->send(service_, trial, TrialOwnerActor(self_));
  RunningTrial& running = running_.at(trial.trial());
  running.queued = true;
  for (const int model : running.stopped) {
    v1::StopModel stop;
    stop.set_experiment(trial.experiment());
    stop.set_trial(trial.trial());
    stop.set_model(model);
    self_->send(service_, std::move(stop));
  }
}

void EngineState::ExplainMismatch(v1::ModelEvent* event) const {
  if (!event->ended().has_actual_space()) return;
  std::string* const message = event->mutable_ended()->mutable_failure()->mutable_message();
  absl::StrAppend(message, "; what differs (here: the program, there: the experiment):\n",
                  DescribeDifference(event->ended().actual_space(), options_.space));
  event->mutable_ended()->clear_actual_space();
}

void EngineState::OnEnded(const v1::ModelEvent& event) {
  const auto running = running_.find(event.trial());
  if (running == running_.end()) return;
  RunningTrial& trial = running->second;
  if (trial.open_models.erase(event.model()) > 0) unrecorded_ends_[event.trial()][event.model()] = event.sequence();
  trial.measured_memory = std::max(trial.measured_memory, event.ended().models_memory());
  trial.well &=
      event.ended().outcome() == v1::ModelEnded::SUCCEEDED || event.ended().outcome() == v1::ModelEnded::STOPPED_EARLY;
  if (!trial.open_models.empty()) return;
  // A model that takes all that there is says nothing about others, and one that runs again was not estimated.
  if (trial.well && !trial.retry && trial.measured_memory > 0) {
    options_.planner->ObserveMemory(trial.estimated_memory, trial.num_models, trial.measured_memory);
  }
  running_.erase(running);
  LaunchWaiting();
  Want();
}

}  // namespace lanista
