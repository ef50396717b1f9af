// What trials write on a node that does not see the head's files: what NodeActor says of them waits for it.
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "actors/node.h"
#include "src/base/status.h"

namespace lanista {
namespace {

// So long the last checkpoints of a node that leaves may take.
constexpr std::chrono::seconds kDeliverLimit(10);

// The end of a model whose weights will never be at the head.
void LoseWeights(const absl::Status& why, v1::ModelEnded* ended) {
  v1::ModelEnded lost;
  lost.set_models_memory(ended->models_memory());
  v1::Failure failure;
  failure.set_message(
      absl::StrCat("it was trained, but its weights could not be brought to the head: ", why.message()));
  if (absl::IsAborted(why)) {
    lost.set_outcome(v1::ModelEnded::CANCELED);
  } else if (absl::IsNotFound(why)) {
    // A head that does not know the assignment drops this, too.
    lost.set_outcome(v1::ModelEnded::LOST);
    lost.set_lost_cause(v1::ModelEnded::PROCESS_KILLED);
    failure.set_reason(v1::Failure::WORKER_LOST);
    *lost.mutable_failure() = failure;
  } else {
    lost.set_outcome(v1::ModelEnded::FAILED);
    failure.set_reason(v1::Failure::EXCEPTION);
    *lost.mutable_failure() = failure;
  }
  *ended = std::move(lost);
}

// The answer to a conversion whose files will never be at the head.
void LoseConverted(const absl::Status& why, v1::AssignmentNews* news) {
  v1::Converted& converted = *news->mutable_discovered()->mutable_converted();
  converted.Clear();
  *converted.mutable_error() = StatusToProto(Annotate(why, "what a node wrote could not be brought to the head"));
}

}  // namespace

TrialOutputs::ModelEnd NodeState::EndOf(const Assignment& assignment, const v1::ModelEvent& event) const {
  const v1::ModelEnded::Outcome outcome = event.ended().outcome();
  TrialOutputs::ModelEnd end;
  end.model = event.model();
  end.weights = assignment.keep_weights && outcome == v1::ModelEnded::SUCCEEDED;
  if (end.weights) end.metrics = event.ended().metrics();
  end.goes_on = outcome == v1::ModelEnded::LOST || outcome == v1::ModelEnded::UNMERGED;
  return end;
}

TrialOutputs::Done NodeState::TellDelivered(const std::string& id, int model) {
  return [self = NodeSelf(self_), id, model](const absl::Status& status) {
    caf::anon_send(self, id, static_cast<int32_t>(model), StatusToProto(status));
  };
}

bool NodeState::HoldEnd(Assignments::value_type* assignment, v1::ModelEvent* event) {
  Assignment& work = assignment->second;
  if (!event->has_ended()) return false;
  const TrialOutputs::ModelEnd end = EndOf(work, *event);
  if (work.outputs == nullptr) {
    // It ended while the head canceled it, and takes nothing any more.
    if (end.weights) LoseWeights(absl::AbortedError(""), event->mutable_ended());
    return false;
  }
  work.held_ends[end.model] = std::move(*event);
  work.outputs->DeliverModel(end, TellDelivered(assignment->first, end.model));
  return true;
}

bool NodeState::HoldLast(Assignments::value_type* assignment, v1::AssignmentNews* news) {
  Assignment& work = assignment->second;
  if (work.outputs == nullptr) return false;
  // A worker may go down behind the end of its trial.
  if (work.held_last.has_value()) return true;
  work.held_last = std::move(*news);
  work.outputs->DeliverRest(TellDelivered(assignment->first, 0));
  return true;
}

void NodeState::DeliverConverted(Assignments::value_type* assignment, const LocalWorkPtr& work,
                                 v1::AssignmentNews news) {
  v1::Assignment proto;
  proto.set_id(assignment->first);
  Assignment& conversion = assignment->second;
  conversion.outputs = options_.files->Follow(proto, work);
  TrialOutputs::ModelEnd end;
  end.model = kConvertedModel;
  end.all = true;
  conversion.outputs->DeliverModel(end, TellDelivered(assignment->first, end.model));
  // It waits for that: deliveries come in order.
  SayLast(assignment, std::move(news));
}

bool NodeState::IsHeld(int device) {
  const auto* const running = Running(device);
  return running != nullptr && running->second.held_last.has_value() && !running->second.ended;
}

void NodeState::OnDelivered(const std::string& id, int model, const absl::Status& status) {
  const auto found = assignments_.find(id);
  // It was forgotten, or given up because the node leaves.
  if (found == assignments_.end() || found->second.outputs == nullptr) return;
  Assignment& assignment = found->second;
  if (assignment.held_last.has_value() && assignment.held_last->discovered().has_converted() && model != 0) {
    if (!status.ok() && !absl::IsCancelled(status)) LoseConverted(status, &*assignment.held_last);
    return;
  }
  if (model != 0) {
    auto held = assignment.held_ends.extract(model);
    if (held.empty() || absl::IsCancelled(status)) return;
    if (!status.ok()) LoseWeights(status, held.mapped().mutable_ended());
    v1::AssignmentNews news;
    *news.mutable_event() = std::move(held.mapped());
    return Say(&*found, std::move(news));
  }
  // All of it has arrived: a trial's deliveries come in order.
  EndOutputs(&*found);
  if (!delivering_.has_value() || delivering_->erase(id) == 0 || !delivering_->empty()) return;
  SayLeaving();
}

void NodeState::CancelOutputs(const std::string& id) {
  const auto found = assignments_.find(id);
  if (found == assignments_.end() || found->second.outputs == nullptr) return;
  Assignment& assignment = found->second;
  for (auto& [model, event] : std::exchange(assignment.held_ends, {})) {
    if (EndOf(assignment, event).weights) LoseWeights(absl::AbortedError(""), event.mutable_ended());
    v1::AssignmentNews news;
    *news.mutable_event() = std::move(event);
    Say(&*found, std::move(news));
  }
  EndOutputs(&*found);
}

void NodeState::EndOutputs(Assignments::value_type* assignment) {
  assignment->second.outputs = nullptr;
  const int device = assignment->second.device;
  if (!assignment->second.held_last.has_value()) return;
  SayLast(assignment, *std::exchange(assignment->second.held_last, std::nullopt));
  if (leaving_.empty()) SayDevice(device);
}

bool NodeState::DeliverBeforeLeaving() {
  if (!delivering_.has_value()) {
    delivering_.emplace();
    for (const auto& [id, assignment] : assignments_) {
      if (assignment.outputs == nullptr) continue;
      delivering_->insert(id);
      if (!assignment.held_last.has_value()) assignment.outputs->DeliverRest(TellDelivered(id, 0));
    }
    if (!delivering_->empty()) deadline_.Set(self_, kDeliverLimit);
  }
  return !delivering_->empty();
}

}  // namespace lanista
