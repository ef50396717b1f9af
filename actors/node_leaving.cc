// How a node leaves its head, and ends (3 and 4 of node.h).
#include <chrono>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "actors/node.h"

namespace lanista {
namespace {

// So long workers may take to end, and the head to hear of it.
constexpr std::chrono::seconds kLeaveLimit(5);

}  // namespace

void NodeState::OnDeadline() {
  if (!deadline_.Rings(self_)) return;
  if (delivering_.has_value() && !delivering_->empty()) {
    // What has not arrived is done again elsewhere.
    const std::set<std::string> given_up = *std::exchange(delivering_, std::set<std::string>());
    for (const std::string& id : given_up) {
      if (const auto found = assignments_.find(id); found != assignments_.end()) found->second.outputs = nullptr;
    }
    deadline_.Set(self_, kLeaveLimit);
    return SayLeaving();
  }
  if (leaving_.empty()) {
    end_ = absl::UnavailableError(absl::StrCat("there was no head for ",
                                               absl::FormatDuration(absl::FromChrono(options_.give_up_after)),
                                               " (--give-up-after): what ran here was ended"));
  }
  End();
}

void NodeState::Drain() {
  draining_ = true;
  CheckDrained();
}

void NodeState::CheckDrained() {
  if (!draining_ || !leaving_.empty() || !assignments_.empty()) return;
  Leave("it was drained", absl::OkStatus());
}

void NodeState::Leave(const std::string& because, const absl::Status& end) {
  if (!leaving_.empty()) return;
  leaving_ = because.empty() ? "it was ended" : because;
  end_ = end;
  deadline_.Set(self_, kLeaveLimit);
  for (auto& [id, assignment] : assignments_) {
    if (assignment.preparing != nullptr) assignment.preparing->Cancel();
  }
  for (const Device& device : devices_) {
    if (device.worker != nullptr) self_->send_exit(device.worker, caf::exit_reason::user_shutdown);
  }
  SayLeaving();
}

void NodeState::SayLeaving() {
  for (const Device& device : devices_) {
    if (device.worker != nullptr) return;
  }
  // Nobody has to know.
  if (link_ == nullptr || !welcome_) return End();
  if (DeliverBeforeLeaving()) return;
  v1::NodeMessage message;
  message.mutable_leaving()->set_because(leaving_);
  Send(std::move(message));
}

void NodeState::End() {
  if (link_ != nullptr) link_->Close();
  options_.on_end(end_);
  self_->quit();
}

}  // namespace lanista
