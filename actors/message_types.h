// CAF's view of our messages: protobuf messages travel as they are.
#ifndef LANISTA_ACTORS_MESSAGE_TYPES_H_
#define LANISTA_ACTORS_MESSAGE_TYPES_H_

#include <string>
#include <type_traits>

#include "absl/status/status.h"
#include "caf/error.hpp"
#include "caf/meta/load_callback.hpp"
#include "caf/sec.hpp"
#include "caf/type_id.hpp"
#include "google/protobuf/message.h"
#include "protos/messages.pb.h"
#include "protos/node.pb.h"
#include "protos/returning.pb.h"
#include "protos/status.pb.h"
#include "protos/trial.pb.h"

namespace lanista::v1 {

// Serialises any of our messages, should it cross a process border.
template <typename Inspector, typename Message>
std::enable_if_t<std::is_base_of_v<google::protobuf::Message, Message>, typename Inspector::result_type> inspect(
    Inspector& inspector, Message& message) {
  std::string bytes;
  if constexpr (Inspector::reads_state) {
    bytes = message.SerializeAsString();
    return inspector(bytes);
  } else {
    const auto parse = [&]() -> caf::error {
      if (message.ParseFromString(bytes)) return caf::none;
      return caf::sec::invalid_argument;
    };
    return inspector(bytes, caf::meta::load_callback(parse));
  }
}

}  // namespace lanista::v1

CAF_BEGIN_TYPE_ID_BLOCK(lanista, caf::first_custom_type_id)
CAF_ADD_TYPE_ID(lanista, (lanista::v1::Ack))
CAF_ADD_TYPE_ID(lanista, (lanista::v1::AskReply))
CAF_ADD_TYPE_ID(lanista, (lanista::v1::AskRequest))
CAF_ADD_TYPE_ID(lanista, (lanista::v1::AskWaiting))
CAF_ADD_TYPE_ID(lanista, (lanista::v1::AssignmentInputs))
CAF_ADD_TYPE_ID(lanista, (lanista::v1::AssignmentOutputs))
CAF_ADD_TYPE_ID(lanista, (lanista::v1::CancelExperiment))
CAF_ADD_TYPE_ID(lanista, (lanista::v1::CancelTrial))
CAF_ADD_TYPE_ID(lanista, (lanista::v1::DeviceAdded))
CAF_ADD_TYPE_ID(lanista, (lanista::v1::DeviceDemand))
CAF_ADD_TYPE_ID(lanista, (lanista::v1::DeviceJoined))
CAF_ADD_TYPE_ID(lanista, (lanista::v1::DeviceList))
CAF_ADD_TYPE_ID(lanista, (lanista::v1::DeviceShare))
CAF_ADD_TYPE_ID(lanista, (lanista::v1::Discover))
CAF_ADD_TYPE_ID(lanista, (lanista::v1::Discovered))
CAF_ADD_TYPE_ID(lanista, (lanista::v1::DrainNodeReply))
CAF_ADD_TYPE_ID(lanista, (lanista::v1::DrainNodeRequest))
CAF_ADD_TYPE_ID(lanista, (lanista::v1::ErrorStatus))
CAF_ADD_TYPE_ID(lanista, (lanista::v1::EventsRecorded))
CAF_ADD_TYPE_ID(lanista, (lanista::v1::ExpectDevices))
CAF_ADD_TYPE_ID(lanista, (lanista::v1::ExperimentCreated))
CAF_ADD_TYPE_ID(lanista, (lanista::v1::ExperimentEvent))
CAF_ADD_TYPE_ID(lanista, (lanista::v1::HeadMessage))
CAF_ADD_TYPE_ID(lanista, (lanista::v1::HoldNode))
CAF_ADD_TYPE_ID(lanista, (lanista::v1::JournalBatch))
CAF_ADD_TYPE_ID(lanista, (lanista::v1::KeptTrials))
CAF_ADD_TYPE_ID(lanista, (lanista::v1::ListDevices))
CAF_ADD_TYPE_ID(lanista, (lanista::v1::ListInputsRequest))
CAF_ADD_TYPE_ID(lanista, (lanista::v1::ListNodesRequest))
CAF_ADD_TYPE_ID(lanista, (lanista::v1::ModelEvent))
CAF_ADD_TYPE_ID(lanista, (lanista::v1::NodeLeaving))
CAF_ADD_TYPE_ID(lanista, (lanista::v1::NodeList))
CAF_ADD_TYPE_ID(lanista, (lanista::v1::NodeMessage))
CAF_ADD_TYPE_ID(lanista, (lanista::v1::NodeOffer))
CAF_ADD_TYPE_ID(lanista, (lanista::v1::NodeReturned))
CAF_ADD_TYPE_ID(lanista, (lanista::v1::OutputsRequest))
CAF_ADD_TYPE_ID(lanista, (lanista::v1::PlannedTrials))
CAF_ADD_TYPE_ID(lanista, (lanista::v1::ProcessExited))
CAF_ADD_TYPE_ID(lanista, (lanista::v1::ProcessUp))
CAF_ADD_TYPE_ID(lanista, (lanista::v1::Recorded))
CAF_ADD_TYPE_ID(lanista, (lanista::v1::ResumeExperiment))
CAF_ADD_TYPE_ID(lanista, (lanista::v1::ReturningTrials))
CAF_ADD_TYPE_ID(lanista, (lanista::v1::RunAgain))
CAF_ADD_TYPE_ID(lanista, (lanista::v1::RunModels))
CAF_ADD_TYPE_ID(lanista, (lanista::v1::StepReport))
CAF_ADD_TYPE_ID(lanista, (lanista::v1::StopExperiment))
CAF_ADD_TYPE_ID(lanista, (lanista::v1::StopModel))
CAF_ADD_TYPE_ID(lanista, (lanista::v1::StopVerdict))
CAF_ADD_TYPE_ID(lanista, (lanista::v1::SubmitExperiment))
CAF_ADD_TYPE_ID(lanista, (lanista::v1::Submitted))
CAF_ADD_TYPE_ID(lanista, (lanista::v1::TellRequest))
CAF_ADD_TYPE_ID(lanista, (lanista::v1::TrialEnded))
CAF_ADD_TYPE_ID(lanista, (lanista::v1::TrialEvent))
CAF_ADD_TYPE_ID(lanista, (lanista::v1::TrialSpec))
CAF_ADD_TYPE_ID(lanista, (lanista::v1::ValidateExperiment))
CAF_ADD_TYPE_ID(lanista, (lanista::v1::Validated))
CAF_ADD_TYPE_ID(lanista, (lanista::v1::Waiting))
CAF_ADD_TYPE_ID(lanista, (lanista::v1::WantDevices))
CAF_ADD_TYPE_ID(lanista, (lanista::v1::WorkerReady))
CAF_ADD_ATOM(lanista, lanista, commit_atom, "commit")
CAF_ADD_ATOM(lanista, lanista, deadline_atom, "deadline")
CAF_END_TYPE_ID_BLOCK(lanista)

// absl::StatusCode is the code of our CAF errors; their context is the message.
CAF_ERROR_CODE_ENUM(absl::StatusCode, "lanista")

namespace lanista {

// An error for a requester. REQUIRES: !status.ok().
caf::error ToCafError(const absl::Status& status);

// Whether ToCafError made it: it is an answer, and not CAF's word that there will be none.
bool IsStatus(const caf::error& error);

// What a requester got: ours come back as they were, CAF's own (time-outs, actors that are gone) as UNAVAILABLE.
absl::Status FromCafError(const caf::error& error);

}  // namespace lanista

#endif  // LANISTA_ACTORS_MESSAGE_TYPES_H_
