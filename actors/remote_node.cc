#include "actors/remote_node.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "actors/assignment_files.h"
#include "actors/assignment_messages.h"
#include "actors/model_events.h"
#include "actors/node_hello.h"
#include "google/protobuf/util/time_util.h"
#include "src/base/bounded_message.h"
#include "src/base/clock.h"
#include "src/base/device_name.h"
#include "src/base/display_text.h"
#include "src/base/logging.h"
#include "src/base/status.h"
#include "src/config/labels.h"
#include "src/storage/journal.h"

namespace lanista {
namespace {

using google::protobuf::util::TimeUtil;

// A device with so many trials that have ended and are not in the journal gets no other: the node keeps what they said.
constexpr int kMaxEndedPerDevice = 2;
// The device of the worker by which what concerns kept trials comes: none.
constexpr int32_t kNoDevice = -1;
// Of a node that says when it ends.
constexpr absl::Duration kLongestLife = absl::Hours(24 * 365);

}  // namespace

RemoteNode::RemoteNode(NodesSelf::pointer self, const NodesOptions& options, int32_t number, const v1::NodeHello& hello,
                       EventAmount* unrecorded)
    : self_(self),
      options_(options),
      number_(number),
      name_(hello.name()),
      instance_(hello.instance()),
      program_(hello.program()),
      data_(hello.data().begin(), hello.data().end()),
      labels_(LabelsOf(hello.labels())),
      version_(hello.version()),
      since_(absl::Now()),
      devices_(static_cast<size_t>(hello.devices_size())),
      assignments_(unrecorded),
      heard_(self->clock().now()) {
  for (size_t i = 0; i < devices_.size(); ++i) {
    devices_[i].device = hello.devices(static_cast<int>(i));
    devices_[i].device.set_node(name_);
  }
}

caf::error RemoteNode::LossOfWork(v1::ModelEnded::LostCause cause, const std::string& why) {
  return ToCafError(cause == v1::ModelEnded::NODE_LEFT ? absl::AbortedError(why) : absl::UnavailableError(why));
}

const WorkerActor& RemoteNode::KeptWorker() {
  if (kept_worker_ == nullptr) kept_worker_ = self_->spawn(RemoteWorker, number_, kNoDevice, 0, NodesSelf(self_));
  return kept_worker_;
}

void RemoteNode::Keep(const v1::HeldTrial& held, const v1::ReturningTrial& wanted) {
  Trial trial = NodeAssignments::KeptTrial(held, wanted);
  const bool has_device = held.device() >= 0 && held.device() < static_cast<int>(devices_.size());
  const bool is_free =
      has_device && (held.ended() || devices_[static_cast<size_t>(held.device())].assignment == nullptr);
  if (!is_free || held.assignment().empty() || held.received() < 0 || assignments_.Find(held.assignment()) != nullptr) {
    v1::Failure failure;
    failure.set_reason(v1::Failure::WORKER_LOST);
    failure.set_message(absl::StrCat("node ", name_, " says of the trial what cannot be"));
    return ReportEnd(trial, v1::ModelEnded::LOST, failure, v1::ModelEnded::HEAD_ENDED);
  }
  LogInfo("{}it has returned, and the trial goes on", LogTag(trial.spec.experiment(), trial.spec.trial(), name_));
  Assignment& kept =
      assignments_.Add({held.assignment(), held.device(), held.received(), held.received(), std::move(trial)});
  if (!held.ended()) DeviceOf(kept).assignment = &kept;
}

absl::Status RemoteNode::Join(NodeLinkPtr link, const v1::NodeHello& hello) {
  if (hello.name() != name_ || hello.program() != program_ ||
      std::set<std::string>(hello.data().begin(), hello.data().end()) != data_ || LabelsOf(hello.labels()) != labels_ ||
      hello.devices_size() != static_cast<int>(devices_.size())) {
    return Lie("joined again as another one");
  }
  if (link_ != nullptr) link_->Close(absl::AbortedError("the node has joined anew"));
  link_ = std::move(link);
  Heard();
  clock_.Add(absl::Now() - ToTime(hello.now()));

  // A node whose clock is far off, or that lies, is no reason to compute with such times.
  if (hello.has_began()) began_ = ToTime(hello.began()) + clock_.Get();
  ends_ = hello.has_ends()
              ? std::clamp(ToTime(hello.ends()) + clock_.Get(), absl::Now() - kLongestLife, absl::Now() + kLongestLife)
              : absl::InfiniteFuture();

  const std::set<std::string> there(hello.assignments().begin(), hello.assignments().end());
  v1::HeadMessage message;
  v1::HeadHello& welcome = *message.mutable_hello();
  welcome.set_head(options_.head);
  *welcome.mutable_beat_interval() = TimeUtil::MillisecondsToDuration(options_.lease.count() / 4);
  welcome.set_marker_file(options_.marker_file);
  welcome.set_marker(options_.marker);
  // With what was kept a device is in the service before it is idle.
  for (Device& device : devices_) {
    if (device.assignment != nullptr && device.worker == nullptr) AddWorker(device);
  }
  // In the order of the devices; those of which a device is free come last.
  std::vector<const Assignment*> all;
  for (const Device& device : devices_) {
    if (device.assignment != nullptr) all.push_back(device.assignment);
  }
  for (const auto& entry : assignments_.all()) {
    if (!is_current(entry.second)) all.push_back(&entry.second);
  }
  for (const Assignment* const assignment : all) {
    if (there.count(assignment->id) == 0) continue;
    welcome.add_keep(assignment->id);
    welcome.add_received(assignment->recorded);
  }
  Send(std::move(message));

  for (const Assignment* const assignment : all) {
    if (there.count(assignment->id) == 0) {
      if (assignment->received > 0 || !is_current(*assignment)) return Lie("has forgotten what it ran");
      Send(AssignmentMessage(*assignment));
    }
    for (v1::HeadMessage& again : MessagesAgain(*assignment)) Send(std::move(again));
  }
  CheckDrained();
  return absl::OkStatus();
}

void RemoteNode::Heard() {
  heard_ = self_->clock().now();
  SetSilent(false);
}

void RemoteNode::OnBeat(const v1::BeatRequest& beat) {
  Heard();
  if (!beat.has_now() || !IsTime(beat.now())) return;
  clock_.Add(absl::Now() - ToTime(beat.now()));
  const bool is_off = clock_.Get() != absl::ZeroDuration();
  if (!clock_.is_certain() || is_off == std::exchange(said_clock_, is_off)) return;
  if (is_off) {
    LogWarning("node {}: its clock is off by {}; the times of its events are corrected", name_,
               absl::FormatDuration(clock_.Get()));
  } else {
    LogInfo("node {}: its clock is right", name_);
  }
}

std::chrono::milliseconds RemoteNode::SilentFor() const {
  return std::chrono::duration_cast<std::chrono::milliseconds>(self_->clock().now() - heard_);
}

void RemoteNode::Forgive(std::chrono::milliseconds time) {
  // What it said meanwhile may have been read before: then nothing is left to forgive.
  heard_ = std::min<TimePoint>(heard_ + time, self_->clock().now());
}

void RemoteNode::SetSilent(bool silent) {
  if (silent == silent_) return;
  silent_ = silent;
  LogWarning("{}it {}", NodeTag(name_), silent ? "is silent: it gets no new work" : "is heard again");
  UpdateHold();
  if (!silent) return;
  for (Device& device : devices_) Abandon(device);
}

void RemoteNode::OnLinkLost() {
  link_ = nullptr;
  for (Device& device : devices_) Abandon(device);
}

void RemoteNode::UpdateHold() {
  const bool hold = silent_ || draining_;
  if (hold == held_ && draining_ == said_leaving_) return;
  held_ = hold;
  said_leaving_ = draining_;
  SayHold();
}

void RemoteNode::SayHold() {
  v1::HoldNode message;
  message.set_node(name_);
  message.set_hold(held_);
  message.set_leaving(said_leaving_);
  self_->send(options_.service, std::move(message));
}

void RemoteNode::Drain() {
  draining_ = true;
  UpdateHold();
  CheckDrained();
}

void RemoteNode::CheckDrained() {
  const bool busy =
      std::any_of(devices_.begin(), devices_.end(), [](const Device& device) { return device.assignment != nullptr; });
  if (!draining_ || busy) return;
  v1::HeadMessage message;
  message.mutable_drain();
  Send(std::move(message));
}

void RemoteNode::Leave(v1::ModelEnded::LostCause cause, const std::string& why, const absl::Status& status) {
  for (Device& device : devices_) RemoveWorker(device, cause, why);
  while (!assignments_.all().empty()) {
    Assignment& assignment = assignments_.all().begin()->second;
    if (!assignment.ended) LoseAssignment(assignment, cause, why);
    Forget(assignment);
  }
  if (kept_worker_ != nullptr) self_->send_exit(kept_worker_, LossOfWork(cause, why));
  // Its devices stay held until the service sees their workers go: else they would be given trials that come back.
  if (link_ != nullptr) link_->Close(status);
  link_ = nullptr;
}

absl::Status RemoteNode::OnDevice(const v1::DeviceNews& news) {
  if (news.device() < 0 || news.device() >= static_cast<int>(devices_.size())) return Lie("has no such device");
  Device& device = devices_[static_cast<size_t>(news.device())];
  if (!news.down_because().empty()) {
    device.idle = device.warm = false;
    const std::string why = BoundedMessage(news.down_because());
    LogWarning("{}{}: {}", NodeTag(name_), DeviceName(device.device), OneLine(why));
    // What began there was lost before: what the device still has, crossed with this on its way.
    RemoveWorker(device, v1::ModelEnded::NODE_LEFT, absl::StrCat("node ", name_, ": ", why));
    CheckDrained();
    return absl::OkStatus();
  }
  device.warm = news.warm();
  if (news.idle()) {
    device.idle = true;
    if (device.worker == nullptr) {
      AddWorker(device);
    } else {
      SayReady(device);
    }
  } else if (news.warm() && device.assignment != nullptr && device.worker_number.has_value()) {
    v1::ProcessUp up;
    up.set_worker(*device.worker_number);
    self_->send(options_.service, std::move(up));
  }
  return absl::OkStatus();
}

void RemoteNode::AddWorker(Device& device) {
  device.worker = self_->spawn(RemoteWorker, number_, NumberOf(device), ++device.workers, NodesSelf(self_));
  v1::DeviceJoined joined;
  *joined.mutable_device() = device.device;
  joined.set_program(program_);
  if (ends_ != absl::InfiniteFuture()) *joined.mutable_ends() = ToTimestamp(ends_);
  v1::NodeOffer offer;
  offer.mutable_data()->Add(data_.begin(), data_.end());
  offer.mutable_labels()->insert(labels_.begin(), labels_.end());
  if (began_.has_value()) *offer.mutable_began() = ToTimestamp(*began_);
  self_->request(options_.service, caf::infinite, std::move(joined), std::move(offer), device.worker)
      .then(
          [weak = weak_from_this(), number = NumberOf(device), worker = device.worker](const v1::DeviceAdded& added) {
            const std::shared_ptr<RemoteNode> node = weak.lock();
            if (node == nullptr) return;
            Device& joined_device = node->devices_[static_cast<size_t>(number)];
            if (joined_device.worker != worker) return;
            joined_device.worker_number = added.worker();
            // The service knows of devices only, not of nodes.
            if (node->held_) node->SayHold();
            node->SayReady(joined_device);
          },
          [](const caf::error&) {
            // The service has ended, and so does this head.
          });
}

void RemoteNode::SayReady(Device& device) {
  if (!device.idle || device.said_ready || device.assignment != nullptr || !device.worker_number.has_value()) return;
  if (device.ended >= kMaxEndedPerDevice) return;
  device.said_ready = true;
  v1::WorkerReady ready;
  ready.set_worker(*device.worker_number);
  ready.set_warm(device.warm);
  self_->send(options_.service, std::move(ready));
}

void RemoteNode::RemoveWorker(Device& device, v1::ModelEnded::LostCause cause, const std::string& why) {
  if (Assignment* const assignment = device.assignment) {
    LoseAssignment(*assignment, cause, why);
    Forget(*assignment);
  }
  if (device.worker != nullptr) self_->send_exit(device.worker, LossOfWork(cause, why));
  device.worker = nullptr;
  device.worker_number.reset();
  device.said_ready = false;
}

RemoteNode::Device* RemoteNode::DeviceOfWorker(int32_t number, int32_t worker) {
  if (number == kNoDevice) return nullptr;
  Device& device = devices_[static_cast<size_t>(number)];
  return device.worker != nullptr && device.workers == worker ? &device : nullptr;
}

void RemoteNode::OnTrial(int32_t number, int32_t worker, v1::TrialSpec spec) {
  Device* const device = DeviceOfWorker(number, worker);
  // The service will hear that it was removed, and knows that this did not begin.
  if (device == nullptr) return;
  Trial trial = NodeAssignments::NewTrial(std::move(spec));
  if (const absl::Status size = CheckSize(trial.spec); !size.ok()) {
    v1::Failure failure;
    failure.set_reason(v1::Failure::EXCEPTION);
    failure.set_message(absl::StrCat("the trial cannot be described to its node: ", size.message()));
    ReportEnd(trial, v1::ModelEnded::FAILED, failure);
    return StayIdle(*device);
  }
  Assign(*device, {"", number, 0, 0, std::move(trial)});
}

void RemoteNode::OnDiscover(int32_t number, int32_t worker, v1::Discover request, Promise promise) {
  Device* const device = DeviceOfWorker(number, worker);
  if (device == nullptr) {
    promise.deliver(LossOfWork(v1::ModelEnded::NODE_LEFT, absl::StrCat("node ", name_, ": the device left")));
    return;
  }
  if (const absl::Status size = CheckSize(request); !size.ok()) {
    v1::Discovered discovered;
    *discovered.mutable_error() = StatusToProto(Annotate(size, "the space cannot be described to a node"));
    promise.deliver(std::move(discovered));
    return StayIdle(*device);
  }
  Assign(*device, {"", number, 0, 0, Discovery{std::move(request), std::move(promise), false}});
}

void RemoteNode::StayIdle(Device& device) {
  device.said_ready = false;
  SayReady(device);
}

void RemoteNode::Assign(Device& device, Assignment assignment) {
  // The service gives a device work when it is idle. Both works begin anew elsewhere, rather than that one is
  // forgotten.
  if (device.assignment != nullptr) {
    const std::string why = absl::StrCat("node ", name_, ": ", DeviceName(device.device), " was given work twice");
    LogError("{}", why);
    if (auto* const discovery = std::get_if<Discovery>(&assignment.work)) {
      discovery->promise.deliver(LossOfWork(v1::ModelEnded::NODE_LEFT, why));
    }
    return RemoveWorker(device, v1::ModelEnded::NODE_LEFT, why);
  }
  assignment.id = absl::StrCat(options_.head, "/", number_, "/", ++last_assignment_);
  Assignment& assigned = assignments_.Add(std::move(assignment));
  device.assignment = &assigned;
  device.idle = device.said_ready = false;
  Send(AssignmentMessage(assigned));
}

void RemoteNode::OnCancel(int32_t number, const v1::CancelTrial& cancel) {
  if (cancel.trial() == 0) return CancelDiscovery(number, cancel.experiment());
  Assignment* const assignment = FindTrial(number, cancel.experiment(), cancel.trial());
  if (assignment == nullptr || assignment->ended) return;
  std::get<Trial>(assignment->work).canceled = true;
  Send(CancelMessage(assignment->id));
  // Nobody may acknowledge what it has reported: the node must be read on, or its end would not come.
  assignments_.ForgetUnrecorded(std::get<Trial>(assignment->work));
  if (is_current(*assignment)) Abandon(DeviceOf(*assignment));
}

void RemoteNode::CancelDiscovery(int32_t number, const std::string& experiment) {
  if (number == kNoDevice) return;
  Assignment* const assignment = devices_[static_cast<size_t>(number)].assignment;
  auto* const discovery = assignment == nullptr ? nullptr : std::get_if<Discovery>(&assignment->work);
  if (discovery == nullptr || discovery->request.experiment() != experiment) return;
  discovery->canceled = true;
  Send(CancelMessage(assignment->id));
}

void RemoteNode::Abandon(Device& device) {
  if (link_ != nullptr && !silent_) return;
  if (device.assignment == nullptr) return;
  const auto* const trial = std::get_if<Trial>(&device.assignment->work);
  if (trial == nullptr || !trial->canceled) return;
  ReportEnd(*trial, v1::ModelEnded::LOST);
  EndAssignment(*device.assignment);
}

void RemoteNode::OnStop(int32_t number, const v1::StopModel& stop) {
  Assignment* const assignment = FindTrial(number, stop.experiment(), stop.trial());
  if (assignment == nullptr) return;
  Trial& trial = std::get<Trial>(assignment->work);
  const auto open = trial.open.find(stop.model());
  if (open == trial.open.end()) return;
  open->second.stopped = true;
  Send(StopMessage(assignment->id, stop.model()));
}

void RemoteNode::OnRecorded(int32_t number, const v1::EventsRecorded& recorded) {
  Assignment* const found = FindTrial(number, recorded.experiment(), recorded.trial());
  if (found == nullptr) return;
  Assignment& assignment = *found;
  if (recorded.model() == 0) {
    std::get<Trial>(assignment.work).recorded = true;
    if (assignment.ended) EndRecorded(assignment);
    return;
  }
  const auto said = assignments_.Record(assignment, recorded, EventWindow::Clock::now());
  if (!said.has_value()) return;
  Send(RecordedMessage(*said));
  SayReceived(assignment, assignment.recorded);
}

RemoteNode::Assignment* RemoteNode::FindTrial(int32_t number, const std::string& experiment, int trial) {
  Assignment* const current = number == kNoDevice ? nullptr : devices_[static_cast<size_t>(number)].assignment;
  return assignments_.FindTrial(current, experiment, trial);
}

absl::StatusOr<v1::AssignmentInputs> RemoteNode::Inputs(const std::string& assignment) const {
  const Assignment* const found = assignments_.Find(assignment);
  if (found == nullptr) return absl::NotFoundError("the node has no such assignment");
  return InputsOf(*found);
}

absl::StatusOr<v1::AssignmentOutputs> RemoteNode::Outputs(const std::string& assignment) const {
  const Assignment* const found = assignments_.Find(assignment);
  if (found == nullptr) return absl::NotFoundError("the node has no such assignment");
  return OutputsOf(*found, options_.state_root, *options_.weights_bars);
}

void RemoteNode::Send(v1::HeadMessage message) {
  if (link_ != nullptr) link_->Send(std::move(message));
}

void RemoteNode::SayReceived(const Assignment& assignment, int64_t number) {
  if (number != 0) Send(ReceivedMessage(assignment.id, number));
}

v1::NodeStatus RemoteNode::Status() const {
  v1::NodeStatus status;
  status.set_name(name_);
  status.set_condition(silent_     ? v1::NodeStatus::SILENT
                       : draining_ ? v1::NodeStatus::DRAINING
                                   : v1::NodeStatus::JOINED);
  status.set_program(program_);
  status.set_version(version_);
  status.mutable_data()->Add(data_.begin(), data_.end());
  status.mutable_labels()->insert(labels_.begin(), labels_.end());
  *status.mutable_since() = ToTimestamp(since_);
  for (const Device& device : devices_) {
    if (device.device.prepares()) continue;
    status.set_devices(status.devices() + 1);
    if (device.assignment == nullptr) continue;
    status.set_busy(status.busy() + 1);
    const auto* const trial = std::get_if<Trial>(&device.assignment->work);
    if (trial == nullptr) continue;
    v1::AssignedTrial& assigned = *status.add_trials();
    assigned.set_experiment(trial->spec.experiment());
    assigned.set_trial(trial->spec.trial());
    for (const v1::TrialModel& model : trial->spec.models()) assigned.add_models(model.model());
  }
  return status;
}

}  // namespace lanista
