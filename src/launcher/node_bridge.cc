#include "src/launcher/node_bridge.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "caf/event_based_actor.hpp"
#include "google/protobuf/text_format.h"
#include "src/base/logging.h"
#include "src/base/output_files.h"
#include "src/base/read_file.h"
#include "src/base/status.h"
#include "src/base/unique_id.h"
#include "src/launcher/actor_system.h"

namespace lanista {
namespace {

constexpr uint64_t kMaxMarkerBytes = 100;
constexpr uint64_t kMaxKnownBytes = 16 << 20;

std::string KnownNodesFile(const StateDir& state_dir) { return absl::StrCat(state_dir.root(), "/nodes.textproto"); }

}  // namespace

absl::StatusOr<NodesOptions> PrepareForNodes(const StateDir& state_dir, std::chrono::milliseconds lost_after) {
  NodesOptions options;
  options.head = NewUniqueId();
  options.lost_after = lost_after;
  options.lease = std::min(options.lease, lost_after / 2);
  options.state_root = state_dir.root();
  options.marker_file = absl::StrCat(state_dir.root(), "/marker");
  absl::StatusOr<std::string> marker = ReadWholeFile(options.marker_file, kMaxMarkerBytes);
  if (!marker.ok() || marker->empty()) {
    marker = NewUniqueId();
    LANISTA_RETURN_IF_ERROR(WriteFile(options.marker_file, *marker));
  }
  options.marker = *std::move(marker);
  return options;
}

v1::KnownNodes ReadKnownNodes(const StateDir& state_dir) {
  v1::KnownNodes known;
  const std::string file = KnownNodesFile(state_dir);
  const absl::StatusOr<std::string> content = ReadWholeFile(file, kMaxKnownBytes);
  if (content.ok() && google::protobuf::TextFormat::ParseFromString(*content, &known)) return known;
  if (!absl::IsNotFound(content.status())) {
    LogWarning("{} cannot be read{}: what nodes ran for the head before runs again", file,
               content.ok() ? "" : absl::StrCat(" (", content.status().message(), ")"));
  }
  return v1::KnownNodes();
}

void RememberNodes(const StateDir& state_dir, NodesOptions* options) {
  options->known = ReadKnownNodes(state_dir);
  options->remember = [file = KnownNodesFile(state_dir), failed = false](const v1::KnownNodes& known) mutable {
    std::string text;
    google::protobuf::TextFormat::PrintToString(known, &text);
    absl::Status written = WriteFile(file, text);
    // Said once: NodesActor tries again.
    if (!std::exchange(failed, !written.ok()) && !written.ok()) {
      LogWarning("which nodes there are cannot be kept: {}", std::string(written.message()));
    }
    return written;
  };
}

NodeBridge::NodeBridge(caf::actor_system* system, TrainingServiceActor service, NodesOptions options)
    : system_(*system) {
  options.service = std::move(service);
  const ForeignCall call;
  nodes_ = system_.spawn<caf::detached>(Nodes, std::move(options));
}

void NodeBridge::End() { caf::anon_send_exit(nodes_, caf::exit_reason::user_shutdown); }

void NodeBridge::Receive(const NodeLinkPtr& link, v1::NodeMessage message) {
  caf::anon_send(nodes_, link, std::move(message));
}

void NodeBridge::Lost(const NodeLinkPtr& link) { caf::anon_send(nodes_, link); }

template <typename Answer, typename Message>
void NodeBridge::Ask(Message message, std::function<void(absl::StatusOr<Answer>)> done) {
  const ForeignCall call;
  system_.spawn([nodes = nodes_, message = std::move(message), done = std::move(done)](caf::event_based_actor* self) {
    self->request(nodes, caf::infinite, message)
        .then([done](Answer& answer) { done(std::move(answer)); },
              [done](const caf::error& error) { done(FromCafError(error)); });
  });
}

void NodeBridge::Beat(const v1::BeatRequest& request, std::function<void(const absl::Status&)> done) {
  // Only this actor is involved, so the call never waits for a thread of the actor system.
  caf::anon_send(nodes_, std::make_shared<Heartbeat>(request, std::move(done)));
}

void NodeBridge::Inputs(const v1::ListInputsRequest& request,
                        std::function<void(absl::StatusOr<v1::AssignmentInputs>)> done) {
  Ask<v1::AssignmentInputs>(request, std::move(done));
}

void NodeBridge::Outputs(const v1::OutputsRequest& request,
                         std::function<void(absl::StatusOr<v1::AssignmentOutputs>)> done) {
  Ask<v1::AssignmentOutputs>(request, std::move(done));
}

void NodeBridge::List(std::function<void(absl::StatusOr<v1::NodeList>)> done) {
  Ask<v1::NodeList>(v1::ListNodesRequest(),
                    [coming = coming_, done = std::move(done)](absl::StatusOr<v1::NodeList> list) {
                      if (list.ok() && coming != nullptr) {
                        for (v1::NodeStatus& node : coming()) *list->add_nodes() = std::move(node);
                      }
                      done(std::move(list));
                    });
}

void NodeBridge::Drain(const v1::DrainNodeRequest& request, std::function<void(const absl::Status&)> done) {
  Ask<v1::DrainNodeReply>(
      request, [done = std::move(done)](const absl::StatusOr<v1::DrainNodeReply>& reply) { done(reply.status()); });
}

}  // namespace lanista
