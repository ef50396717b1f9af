// What a node says of its assignments, and how these end (2, 3 and 4 of remote_node.h).
#include <string>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "actors/assignment_messages.h"
#include "actors/node_hello.h"
#include "actors/remote_node.h"
#include "src/base/bounded_message.h"
#include "src/base/clock.h"
#include "src/base/display_text.h"
#include "src/base/logging.h"

namespace lanista {

absl::Status RemoteNode::OnNews(v1::AssignmentNews news) {
  Assignment* const found = assignments_.Find(news.assignment());
  if (found == nullptr) {
    // It is over here: it was canceled, or lost with its device, while the news were on their way.
    LogDebug("{}news of assignment {}, which it does not have, are dropped", NodeTag(name_),
             OneLine(BoundedMessage(news.assignment())));
    Send(ReceivedMessage(news.assignment(), news.number()));
    // However it came to be over here, nobody wants it to go on there.
    if (news.has_event()) Send(CancelMessage(news.assignment()));
    return absl::OkStatus();
  }
  Assignment& assignment = *found;
  if (news.number() <= assignment.received) {
    // Said once more, because the connection was lost.
    SayReceived(assignment, assignment.recorded);
    return absl::OkStatus();
  }
  if (assignment.ended || news.number() != assignment.received + 1) {
    return Lie(absl::StrCat("left out news: ", news.number(), " follows ", assignment.received));
  }
  assignment.received = news.number();
  switch (news.kind_case()) {
    case v1::AssignmentNews::kEvent:
      return OnEvent(assignment, std::move(*news.mutable_event()));
    case v1::AssignmentNews::kEnded:
      return OnTrialEnded(assignment, news.ended());
    case v1::AssignmentNews::kDiscovered:
      return OnDiscovered(assignment, std::move(*news.mutable_discovered()));
    case v1::AssignmentNews::kLost:
      OnLoss(assignment, v1::ModelEnded::WORKER_DOWN, absl::StrCat("node ", name_, ": ", BoundedMessage(news.lost())));
      return absl::OkStatus();
    case v1::AssignmentNews::kRefused:
      if (news.number() != 1) return Lie("refuses what it has begun");
      OnLoss(assignment, v1::ModelEnded::NODE_LEFT, absl::StrCat("node ", name_, ": ", BoundedMessage(news.refused())));
      return absl::OkStatus();
    case v1::AssignmentNews::KIND_NOT_SET:
      break;
  }
  return Lie("has news of an unknown kind");
}

void RemoteNode::OnLoss(Assignment& assignment, v1::ModelEnded::LostCause cause, const std::string& why) {
  SayReceived(assignment, assignment.received);
  if (is_current(assignment)) {
    RemoveWorker(DeviceOf(assignment), cause, why);
  } else {
    LoseAssignment(assignment, cause, why);
    Forget(assignment);
  }
  CheckDrained();
}

absl::Status RemoteNode::OnEvent(Assignment& assignment, v1::ModelEvent event) {
  const absl::StatusOr<NodeAssignments::Report> report = NodeAssignments::Note(assignment, event);
  if (!report.ok()) return report.status();
  if (*report == NodeAssignments::Report::kKnown) {
    if (IsAcknowledged(event)) SayReceived(assignment, assignment.recorded);
    return absl::OkStatus();
  }
  if (event.has_ended()) {
    v1::Failure* const failure = event.ended().has_failure() ? event.mutable_ended()->mutable_failure() : nullptr;
    if (failure != nullptr) failure->set_message(BoundedMessage(failure->message()));
  }
  if (event.has_started()) {
    *event.mutable_started()->mutable_device() = DeviceOf(assignment).device;
    event.mutable_started()->set_assignment(assignment.id);
  }
  const absl::Duration offset = clock_.Get();
  if (offset != absl::ZeroDuration()) *event.mutable_time() = ToTimestamp(ToTime(event.time()) + offset);
  assignments_.AddUnrecorded(assignment, event, EventWindow::Clock::now());
  self_->send(options_.service, std::move(event));
  return absl::OkStatus();
}

absl::Status RemoteNode::OnTrialEnded(Assignment& assignment, const v1::TrialEnded& ended) {
  const auto* const trial = std::get_if<Trial>(&assignment.work);
  if (trial == nullptr || ended.experiment() != trial->spec.experiment() || ended.trial() != trial->spec.trial() ||
      !trial->open.empty()) {
    return Lie("ended a trial that has not ended");
  }
  ReportEnd(*trial, v1::ModelEnded::LOST);
  FreeDevice(assignment);
  assignment.ended = true;
  ++DeviceOf(assignment).ended;
  if (trial->recorded) EndRecorded(assignment);
  CheckDrained();
  return absl::OkStatus();
}

absl::Status RemoteNode::OnDiscovered(Assignment& assignment, v1::Discovered discovered) {
  auto* const discovery = std::get_if<Discovery>(&assignment.work);
  if (discovery == nullptr) return Lie("discovered what it was not asked for");
  SayReceived(assignment, assignment.received);
  discovery->promise.deliver(std::move(discovered));
  EndAssignment(assignment);
  return absl::OkStatus();
}

void RemoteNode::FreeDevice(const Assignment& assignment) {
  if (!is_current(assignment)) return;
  Device& device = DeviceOf(assignment);
  device.assignment = nullptr;
  device.idle = false;
}

void RemoteNode::EndAssignment(Assignment& assignment) {
  FreeDevice(assignment);
  Forget(assignment);
  CheckDrained();
}

void RemoteNode::EndRecorded(Assignment& assignment) {
  SayReceived(assignment, assignment.received);
  Device& device = DeviceOf(assignment);
  Forget(assignment);
  SayReady(device);
}

void RemoteNode::Forget(Assignment& assignment) {
  Device& device = DeviceOf(assignment);
  if (device.assignment == &assignment) device.assignment = nullptr;
  device.ended -= assignment.ended;
  assignments_.Forget(assignment);
}

void RemoteNode::LoseAssignment(Assignment& assignment, v1::ModelEnded::LostCause cause, const std::string& why) {
  if (const auto* const trial = std::get_if<Trial>(&assignment.work)) {
    if (cause != v1::ModelEnded::NODE_LEFT || trial->begun || trial->canceled) {
      v1::Failure failure;
      failure.set_reason(v1::Failure::WORKER_LOST);
      failure.set_message(why);
      ReportEnd(*trial, v1::ModelEnded::LOST, failure, cause);
    }
  } else {
    std::get<Discovery>(assignment.work).promise.deliver(LossOfWork(cause, why));
  }
}

void RemoteNode::ReportEnd(const Trial& trial, v1::ModelEnded::Outcome outcome, const v1::Failure& failure,
                           v1::ModelEnded::LostCause cause) {
  for (v1::ModelEvent& end : NodeAssignments::EndsOf(trial, outcome, failure, cause)) {
    self_->send(options_.service, std::move(end));
  }
  v1::TrialEnded ended;
  ended.set_experiment(trial.spec.experiment());
  ended.set_trial(trial.spec.trial());
  self_->send(options_.service, std::move(ended));
}

}  // namespace lanista
