#include "actors/assignment_messages.h"

#include <cstddef>
#include <variant>

#include "absl/strings/str_cat.h"
#include "src/base/framing.h"

namespace lanista {
namespace {

// Work has to fit into a message of the stream, with the rest of that message.
constexpr size_t kMaxWorkBytes = kMaxFrameBytes - (64 << 10);

}  // namespace

v1::HeadMessage AssignmentMessage(const NodeAssignments::Assignment& assignment) {
  v1::HeadMessage message;
  v1::Assignment& proto = *message.mutable_assignment();
  proto.set_id(assignment.id);
  proto.set_device(assignment.device);
  if (const auto* const trial = std::get_if<NodeAssignments::Trial>(&assignment.work)) {
    *proto.mutable_trial() = trial->spec;
  } else {
    *proto.mutable_discover() = std::get<NodeAssignments::Discovery>(assignment.work).request;
  }
  return message;
}

v1::HeadMessage CancelMessage(const std::string& assignment) {
  v1::HeadMessage message;
  message.mutable_cancel()->set_assignment(assignment);
  return message;
}

v1::HeadMessage StopMessage(const std::string& assignment, int model) {
  v1::HeadMessage message;
  message.mutable_stop()->set_assignment(assignment);
  message.mutable_stop()->set_model(model);
  return message;
}

v1::HeadMessage RecordedMessage(const v1::AssignmentRecorded& recorded) {
  v1::HeadMessage message;
  *message.mutable_recorded() = recorded;
  return message;
}

v1::HeadMessage ReceivedMessage(const std::string& assignment, int64_t number) {
  v1::HeadMessage message;
  message.mutable_received()->set_assignment(assignment);
  message.mutable_received()->set_number(number);
  return message;
}

std::vector<v1::HeadMessage> MessagesAgain(const NodeAssignments::Assignment& assignment) {
  std::vector<v1::HeadMessage> messages;
  if (const auto* const discovery = std::get_if<NodeAssignments::Discovery>(&assignment.work)) {
    if (discovery->canceled) messages.push_back(CancelMessage(assignment.id));
    return messages;
  }
  const auto& trial = std::get<NodeAssignments::Trial>(assignment.work);
  if (trial.canceled) messages.push_back(CancelMessage(assignment.id));
  for (const auto& [number, model] : trial.open) {
    if (model.stopped) messages.push_back(StopMessage(assignment.id, number));
    if (model.recorded.has_value()) messages.push_back(RecordedMessage(*model.recorded));
  }
  return messages;
}

absl::Status CheckSize(const google::protobuf::MessageLite& work) {
  const size_t size = work.ByteSizeLong();
  if (size <= kMaxWorkBytes) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat("it has ", size, " bytes, and ", kMaxWorkBytes,
                                                   " can be sent; large constants belong into the buffers of a "
                                                   "TorchScript file"));
}

}  // namespace lanista
