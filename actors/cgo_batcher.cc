#include "actors/cgo_batcher.h"

#include <algorithm>
#include <utility>

#include "actors/delay.h"

namespace lanista {

CgoBatcherSelf::behavior_type CgoBatcher(CgoBatcherSelf::stateful_pointer<CgoBatcherState> self,
                                         const ModelWindow& window, EngineActor engine) {
  return self->state.MakeBehavior(window, std::move(engine));
}

CgoBatcherSelf::behavior_type CgoBatcherState::MakeBehavior(const ModelWindow& window, EngineActor engine) {
  window_ = window;
  engine_ = std::move(engine);
  // They end together, however one ends.
  self_->link_to(engine_);
  return {
      [this](v1::RunModels& request) { OnModels(std::move(request)); },
      [this](v1::RunAgain& again) { self_->send(engine_, std::move(again)); },
      [this](const v1::StopModel& stop) { OnStop(stop); },
      [this](v1::EventsRecorded& recorded) { self_->send(engine_, std::move(recorded)); },
      [this](const v1::CancelExperiment& cancel) {
        waiting_.clear_models();
        self_->send(engine_, cancel);
      },
      [this](deadline_atom) {
        if (deadline_.Rings(self_)) Close();
      },
  };
}

void CgoBatcherState::OnModels(v1::RunModels request) {
  const bool opens = waiting_.models().empty() && !request.models().empty();
  for (v1::TrialModel& model : *request.mutable_models()) *waiting_.add_models() = std::move(model);
  waiting_.set_last(request.last());
  const int count = waiting_.models_size();
  if (count >= window_.max_models || request.last() || (request.full() && count == request.in_flight())) {
    return Close();
  }
  if (!opens) return;
  deadline_.Set(self_, Delay(window_.waiting_time));
}

void CgoBatcherState::OnStop(const v1::StopModel& stop) {
  auto& models = *waiting_.mutable_models();
  const auto model = std::find_if(models.begin(), models.end(),
                                  [&](const v1::TrialModel& waiting) { return waiting.model() == stop.model(); });
  if (model == models.end()) return self_->send(engine_, stop);
  models.erase(model);
}

void CgoBatcherState::Close() {
  deadline_.Clear();
  // That nothing else comes, the engine must hear without models, too: it gives devices back then.
  if (!waiting_.models().empty() || waiting_.last()) self_->send(engine_, std::exchange(waiting_, v1::RunModels()));
}

}  // namespace lanista
