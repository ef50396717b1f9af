// What a head says to a node of its assignments.
#ifndef LANISTA_ACTORS_ASSIGNMENT_MESSAGES_H_
#define LANISTA_ACTORS_ASSIGNMENT_MESSAGES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "actors/node_assignments.h"
#include "google/protobuf/message_lite.h"
#include "protos/node.pb.h"

namespace lanista {

// The device is to do it.
v1::HeadMessage AssignmentMessage(const NodeAssignments::Assignment& assignment);
// Nobody wants it any more. `assignment`: its id.
v1::HeadMessage CancelMessage(const std::string& assignment);
// One of its models need not be trained any more.
v1::HeadMessage StopMessage(const std::string& assignment, int model);
// Reports of a model are in the journal.
v1::HeadMessage RecordedMessage(const v1::AssignmentRecorded& recorded);
// The node need not keep news up to this number.
v1::HeadMessage ReceivedMessage(const std::string& assignment, int64_t number);

// What may have been said in vain, because the connection was lost, of an assignment that goes on: all but itself, in
// order.
std::vector<v1::HeadMessage> MessagesAgain(const NodeAssignments::Assignment& assignment);

// What is wrong with work of this size; OK: it fits into a message of a node's stream.
absl::Status CheckSize(const google::protobuf::MessageLite& work);

}  // namespace lanista

#endif  // LANISTA_ACTORS_ASSIGNMENT_MESSAGES_H_
