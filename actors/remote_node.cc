#include "actors/remote_node.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "actors/model_events.h"
#include "google/protobuf/util/time_util.h"
#include "spdlog/spdlog.h"
#include "src/base/bounded_message.h"
#include "src/base/clock.h"
#include "src/base/display_text.h"
#include "src/base/framing.h"
#include "src/base/logging.h"
#include "src/base/status.h"
#include "src/base/utf8.h"
#include "src/config/data_folders.h"
#include "src/config/data_paths.h"
#include "src/config/labels.h"
#include "src/files/assignment_inputs.h"
#include "src/files/conversion_folder.h"
#include "src/storage/journal.h"
#include "src/storage/state_dir.h"

namespace lanista {
namespace {

using google::protobuf::util::TimeUtil;

// Of texts by which a node calls itself.
constexpr int kMaxIdBytes = 200;
// What a node may have that the head is still to hear of, for each device.
constexpr int kMaxAssignmentsPerDevice = 4;
// A device with so many trials that have ended and are not in the journal gets no other: the node keeps what they said.
constexpr int kMaxEndedPerDevice = 2;
// The device of the worker by which what concerns kept trials comes: none.
constexpr int32_t kNoDevice = -1;
// What a node may have on its way to the journal, in excess of what each of its trials may have between two
// acknowledgements.
constexpr EventAmount kMostUnrecorded = {16384, 32 << 20};
// Of a node that says when it ends.
constexpr absl::Duration kLongestLife = absl::Hours(24 * 365);
// Work has to fit into a message of the stream, with the rest of that message.
constexpr size_t kMaxWorkBytes = kMaxFrameBytes - (64 << 10);

absl::Status Lie(const std::string& what) { return absl::InvalidArgumentError(absl::StrCat("the node ", what)); }

// Of texts that stand in tables, in the log, and in the journal once for each attempt.
bool IsShortLine(const std::string& text) { return text.size() <= kMaxIdBytes && Printable(text) == text; }

bool IsDevice(const v1::Device& device) {
  const bool is_kind = device.kind() == v1::CPU || (device.kind() == v1::GPU && !device.prepares());
  return is_kind && device.index() >= 0 && device.threads() >= 0 && device.memory_limit() >= 0 &&
         device.memory() >= 0 && IsShortLine(device.model()) && IsShortLine(device.uuid());
}

// What the service hears of a worker, or a discovery, that is lost so (TrainingServiceActor's DeviceJoined).
caf::error LossOfWork(v1::LostCause cause, const std::string& why) {
  return ToCafError(cause == v1::NODE_LEFT ? absl::AbortedError(why) : absl::UnavailableError(why));
}

}  // namespace

absl::Status RemoteNode::Check(const v1::NodeHello& hello) {
  if (hello.protocol_version() != kNodeProtocolVersion) {
    return absl::FailedPreconditionError(
        absl::StrCat("the node speaks version ", hello.protocol_version(), " of the protocol (Lanista ",
                     OneLine(ToUtf8(hello.version().substr(0, kMaxIdBytes))), "), the head version ",
                     kNodeProtocolVersion, ": install the same release on both machines"));
  }
  absl::Status name = CheckNodeName(hello.name());
  if (!name.ok()) return name;
  for (const std::string* id : {&hello.instance(), &hello.program(), &hello.version()}) {
    if (id->empty() || !IsShortLine(*id)) return Lie("does not say which instance, program and version it is");
  }
  const auto places = std::count_if(hello.devices().begin(), hello.devices().end(),
                                    [](const v1::Device& device) { return device.prepares(); });
  if (places > 1) return Lie("has several places for preparing work");
  const int devices = hello.devices_size() - static_cast<int>(places);
  if (devices < 1 || devices > kMaxDevicesOfNode) {
    return Lie(absl::StrCat("has ", devices, " devices; 1 to ", kMaxDevicesOfNode, " can join"));
  }
  for (const v1::Device& device : hello.devices()) {
    if (!IsDevice(device)) return Lie("describes a device that cannot be");
  }
  if (hello.assignments_size() > kMaxAssignmentsPerDevice * hello.devices_size()) {
    return Lie("names more assignments than it can have");
  }
  if (hello.held_trials_size() > hello.assignments_size()) return Lie("has more trials than assignments");
  if (!IsTime(hello.now())) return Lie("has no time");
  if (hello.data_size() > DataFolders::kMaxFolders) return Lie("has more data than it can have");
  for (const std::string& data : hello.data()) {
    if (!CheckDataName(data).ok()) return Lie("has data with an impossible name");
  }
  if (static_cast<int>(hello.labels().size()) > kMaxLabels) return Lie("has more labels than it can have");
  for (const auto& [key, value] : hello.labels()) {
    if (!CheckLabelKey(key).ok() || !CheckLabelValue(value).ok()) return Lie("has an impossible label");
  }
  return absl::OkStatus();
}

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
      all_unrecorded_(unrecorded),
      devices_(static_cast<size_t>(hello.devices_size())),
      heard_(self->clock().now()) {
  for (size_t i = 0; i < devices_.size(); ++i) {
    devices_[i].device = hello.devices(static_cast<int>(i));
    devices_[i].device.set_node(name_);
  }
}

const WorkerActor& RemoteNode::KeptWorker() {
  if (kept_worker_ == nullptr) kept_worker_ = self_->spawn(RemoteWorker, number_, kNoDevice, 0, NodesSelf(self_));
  return kept_worker_;
}

void RemoteNode::Keep(const v1::HeldTrial& held, const v1::ReturningTrial& wanted) {
  Trial trial;
  trial.spec = wanted.spec();
  trial.begun = true;
  for (int i = 0; i < trial.spec.models_size(); ++i) {
    const v1::TrialModel& model = trial.spec.models(i);
    OpenModel& open = trial.open[model.model()];
    open.attempt = model.attempt();
    open.last_sequence = open.known = wanted.recorded(i);
    open.stopped = std::find(wanted.stopped().begin(), wanted.stopped().end(), model.model()) != wanted.stopped().end();
    if (open.known == 0) continue;
    // The head before may not have said so, and the trial may wait for it.
    v1::AssignmentRecorded& recorded = open.recorded.emplace();
    recorded.set_assignment(held.assignment());
    recorded.set_model(model.model());
    recorded.set_attempt(model.attempt());
    recorded.set_sequence(open.known);
  }
  for (const v1::HeldAttempt& attempt : held.attempts()) {
    if (trial.open.count(attempt.model()) == 0) trial.closed.insert(attempt.model());
  }
  trial.window.Begin(trial.spec);
  const bool has_device = held.device() >= 0 && held.device() < static_cast<int>(devices_.size());
  const bool is_free =
      has_device && (held.ended() || devices_[static_cast<size_t>(held.device())].assignment == nullptr);
  if (!is_free || held.assignment().empty() || held.received() < 0 || Find(held.assignment()) != nullptr) {
    v1::Failure failure;
    failure.set_reason(v1::WORKER_LOST);
    failure.set_message(absl::StrCat("node ", name_, " says of the trial what cannot be"));
    return ReportEnd(trial, v1::LOST, failure, v1::HEAD_ENDED);
  }
  spdlog::info("{}it has returned, and the trial goes on", LogTag(trial.spec.experiment(), trial.spec.trial(), name_));
  Assignment& kept = Add({held.assignment(), held.device(), held.received(), held.received(), std::move(trial)});
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
  for (const auto& entry : assignments_) {
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
      SendAssignment(*assignment);
    }
    SayAgain(*assignment);
  }
  CheckDrained();
  return absl::OkStatus();
}

void RemoteNode::SayAgain(const Assignment& assignment) {
  if (const auto* const discovery = std::get_if<Discovery>(&assignment.work)) {
    if (discovery->canceled) SendCancel(assignment.id);
    return;
  }
  const auto* const trial = std::get_if<Trial>(&assignment.work);
  if (trial->canceled) SendCancel(assignment.id);
  for (const auto& [number, model] : trial->open) {
    if (model.stopped) SendStop(assignment, number);
    if (model.recorded.has_value()) SendRecorded(*model.recorded);
  }
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
    spdlog::warn("node {}: its clock is off by {}; the times of its events are corrected", name_,
                 absl::FormatDuration(clock_.Get()));
  } else {
    spdlog::info("node {}: its clock is right", name_);
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
  spdlog::warn("{}it {}", NodeTag(name_), silent ? "is silent: it gets no new work" : "is heard again");
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

void RemoteNode::Leave(v1::LostCause cause, const std::string& why, const absl::Status& status) {
  for (Device& device : devices_) RemoveWorker(device, cause, why);
  while (!assignments_.empty()) {
    Assignment& assignment = assignments_.begin()->second;
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
    spdlog::warn("{}{}: {}", NodeTag(name_), DeviceName(device.device), OneLine(why));
    // What began there was lost before: what the device still has, crossed with this on its way.
    RemoveWorker(device, v1::NODE_LEFT, absl::StrCat("node ", name_, ": ", why));
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

void RemoteNode::RemoveWorker(Device& device, v1::LostCause cause, const std::string& why) {
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
  Trial trial;
  trial.spec = std::move(spec);
  for (const v1::TrialModel& model : trial.spec.models()) trial.open[model.model()].attempt = model.attempt();
  if (const absl::Status size = CheckSize(trial.spec); !size.ok()) {
    v1::Failure failure;
    failure.set_reason(v1::EXCEPTION);
    failure.set_message(absl::StrCat("the trial cannot be described to its node: ", size.message()));
    ReportEnd(trial, v1::FAILED, failure);
    return StayIdle(*device);
  }
  trial.window.Begin(trial.spec);
  Assign(*device, {"", number, 0, 0, std::move(trial)});
}

void RemoteNode::OnDiscover(int32_t number, int32_t worker, v1::Discover request, Promise promise) {
  Device* const device = DeviceOfWorker(number, worker);
  if (device == nullptr) {
    promise.deliver(LossOfWork(v1::NODE_LEFT, absl::StrCat("node ", name_, ": the device left")));
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

absl::Status RemoteNode::CheckSize(const google::protobuf::MessageLite& work) {
  const size_t size = work.ByteSizeLong();
  if (size <= kMaxWorkBytes) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat("it has ", size, " bytes, and ", kMaxWorkBytes,
                                                   " can be sent; large constants belong into the buffers of a "
                                                   "TorchScript file"));
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
    spdlog::error("{}", why);
    if (auto* const discovery = std::get_if<Discovery>(&assignment.work)) {
      discovery->promise.deliver(LossOfWork(v1::NODE_LEFT, why));
    }
    return RemoveWorker(device, v1::NODE_LEFT, why);
  }
  assignment.id = absl::StrCat(options_.head, "/", number_, "/", ++last_assignment_);
  Assignment& assigned = Add(std::move(assignment));
  device.assignment = &assigned;
  device.idle = device.said_ready = false;
  SendAssignment(assigned);
}

RemoteNode::Assignment& RemoteNode::Add(Assignment assignment) {
  const std::string id = assignment.id;
  return assignments_.emplace(id, std::move(assignment)).first->second;
}

void RemoteNode::OnCancel(int32_t number, const v1::CancelTrial& cancel) {
  if (cancel.trial() == 0) return CancelDiscovery(number, cancel.experiment());
  Assignment* const assignment = FindTrial(number, cancel.experiment(), cancel.trial());
  if (assignment == nullptr || assignment->ended) return;
  std::get<Trial>(assignment->work).canceled = true;
  SendCancel(assignment->id);
  // Nobody may acknowledge what it has reported: the node must be read on, or its end would not come.
  Count(std::get<Trial>(assignment->work), [](EventWindow& window) { window = EventWindow(); });
  if (is_current(*assignment)) Abandon(DeviceOf(*assignment));
}

void RemoteNode::CancelDiscovery(int32_t number, const std::string& experiment) {
  if (number == kNoDevice) return;
  Assignment* const assignment = devices_[static_cast<size_t>(number)].assignment;
  auto* const discovery = assignment == nullptr ? nullptr : std::get_if<Discovery>(&assignment->work);
  if (discovery == nullptr || discovery->request.experiment() != experiment) return;
  discovery->canceled = true;
  SendCancel(assignment->id);
}

void RemoteNode::Abandon(Device& device) {
  if (link_ != nullptr && !silent_) return;
  if (device.assignment == nullptr) return;
  const auto* const trial = std::get_if<Trial>(&device.assignment->work);
  if (trial == nullptr || !trial->canceled) return;
  ReportEnd(*trial, v1::LOST);
  EndAssignment(*device.assignment);
}

void RemoteNode::OnStop(int32_t number, const v1::StopModel& stop) {
  Assignment* const assignment = FindTrial(number, stop.experiment(), stop.trial());
  if (assignment == nullptr) return;
  Trial& trial = std::get<Trial>(assignment->work);
  const auto open = trial.open.find(stop.model());
  if (open == trial.open.end()) return;
  open->second.stopped = true;
  SendStop(*assignment, stop.model());
}

void RemoteNode::OnRecorded(int32_t number, const v1::EventsRecorded& recorded) {
  Assignment* const found = FindTrial(number, recorded.experiment(), recorded.trial());
  if (found == nullptr) return;
  Assignment& assignment = *found;
  Trial& trial = std::get<Trial>(assignment.work);
  if (recorded.model() == 0) {
    trial.recorded = true;
    if (assignment.ended) EndRecorded(assignment);
    return;
  }
  const auto open = trial.open.find(recorded.model());
  if (open == trial.open.end() || open->second.attempt != recorded.attempt()) return;
  v1::AssignmentRecorded message;
  message.set_assignment(assignment.id);
  message.set_model(recorded.model());
  message.set_attempt(recorded.attempt());
  message.set_sequence(recorded.sequence());
  open->second.recorded = message;
  SendRecorded(message);
  Count(trial, [&](EventWindow& window) { window.Recorded(recorded, EventWindow::Clock::now()); });
  // What was said before it is recorded, too: the journal keeps the order.
  auto& marks = open->second.marks;
  for (; !marks.empty() && marks.front().first <= recorded.sequence(); marks.pop_front()) {
    assignment.recorded = std::max(assignment.recorded, marks.front().second);
  }
  SayReceived(assignment, assignment.recorded);
}

absl::StatusOr<v1::AssignmentInputs> RemoteNode::Inputs(const std::string& assignment) const {
  const auto found = assignments_.find(assignment);
  if (found == assignments_.end()) return absl::NotFoundError("the node has no such assignment");
  const Assignment& assigned = found->second;
  if (const auto* const trial = std::get_if<Trial>(&assigned.work)) return InputsOf(trial->spec);
  return InputsOf(std::get<Discovery>(assigned.work).request);
}

absl::StatusOr<v1::AssignmentOutputs> RemoteNode::Outputs(const std::string& assignment) const {
  const auto found = assignments_.find(assignment);
  if (found == assignments_.end()) return absl::NotFoundError("the node has no such assignment");
  const Assignment& assigned = found->second;
  if (const auto* const discovery = std::get_if<Discovery>(&assigned.work)) {
    if (!discovery->request.has_convert()) {
      return absl::NotFoundError("the assignment is no trial and no conversion: it writes nothing");
    }
    if (discovery->canceled) return absl::AbortedError("the conversion was canceled: nothing of it is taken any more");
    return OutputsOf(discovery->request.convert());
  }
  const auto* const trial = std::get_if<Trial>(&assigned.work);
  if (trial->canceled) return absl::AbortedError("the trial was canceled: nothing of it is taken any more");
  v1::AssignmentOutputs outputs;
  const absl::StatusOr<std::string> folder =
      StateDir::OpenReadOnly(options_.state_root).ExperimentFolder(trial->spec.experiment());
  if (!folder.ok()) return folder.status();
  outputs.set_folder(*folder);
  outputs.set_incoming_folder(absl::StrCat(*folder, "/", IncomingFolder()));
  outputs.set_log_file(trial->spec.log_file());
  if (trial->spec.keep_weights()) {
    *outputs.mutable_weights_bar() = options_.weights_bars->Get(trial->spec.experiment());
  }
  for (const v1::TrialModel& model : trial->spec.models()) {
    if (trial->open.count(model.model()) == 0) continue;
    v1::ModelOutputs& of_model = *outputs.add_models();
    of_model.set_model(model.model());
    of_model.set_output_folder(model.output_folder());
    of_model.set_checkpoint_folder(model.checkpoint_folder());
  }
  return outputs;
}

RemoteNode::Assignment* RemoteNode::Find(const std::string& id) {
  const auto found = assignments_.find(id);
  return found == assignments_.end() ? nullptr : &found->second;
}

RemoteNode::Assignment* RemoteNode::FindTrial(int32_t number, const std::string& experiment, int trial) {
  const auto is_it = [&](const Assignment& assignment) {
    const auto* const found = std::get_if<Trial>(&assignment.work);
    return found != nullptr && found->spec.experiment() == experiment && found->spec.trial() == trial;
  };
  if (number != kNoDevice) {
    Assignment* const current = devices_[static_cast<size_t>(number)].assignment;
    if (current != nullptr && is_it(*current)) return current;
  }
  // One that has ended, or was kept.
  const auto other =
      std::find_if(assignments_.begin(), assignments_.end(), [&](const auto& entry) { return is_it(entry.second); });
  return other == assignments_.end() ? nullptr : &other->second;
}

absl::Status RemoteNode::OnNews(v1::AssignmentNews news) {
  Assignment* const found = Find(news.assignment());
  if (found == nullptr) {
    // It is over here: it was canceled, or lost with its device, while the news were on their way.
    spdlog::debug("{}news of assignment {}, which it does not have, are dropped", NodeTag(name_),
                  OneLine(BoundedMessage(news.assignment())));
    v1::HeadMessage received;
    received.mutable_received()->set_assignment(news.assignment());
    received.mutable_received()->set_number(news.number());
    Send(std::move(received));
    // However it came to be over here, nobody wants it to go on there.
    if (news.has_event()) SendCancel(news.assignment());
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
      OnLoss(assignment, v1::WORKER_DOWN, absl::StrCat("node ", name_, ": ", BoundedMessage(news.lost())));
      return absl::OkStatus();
    case v1::AssignmentNews::kRefused:
      if (news.number() != 1) return Lie("refuses what it has begun");
      OnLoss(assignment, v1::NODE_LEFT, absl::StrCat("node ", name_, ": ", BoundedMessage(news.refused())));
      return absl::OkStatus();
    case v1::AssignmentNews::KIND_NOT_SET:
      break;
  }
  return Lie("has news of an unknown kind");
}

void RemoteNode::OnLoss(Assignment& assignment, v1::LostCause cause, const std::string& why) {
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
  auto* const trial = std::get_if<Trial>(&assignment.work);
  if (trial == nullptr || event.experiment() != trial->spec.experiment() || event.trial() != trial->spec.trial()) {
    return Lie("reports on a trial that it was not given");
  }
  const auto open = trial->open.find(event.model());
  const bool is_open = open != trial->open.end();
  const bool is_known = is_open ? event.attempt() == open->second.attempt && event.sequence() >= 1 &&
                                      event.sequence() <= open->second.known
                                : trial->closed.count(event.model()) > 0;
  if (is_known) {
    // The head before has recorded it (and all that was said before: the journal keeps the order), and did not come to
    // say so.
    assignment.recorded = assignment.received;
    if (IsAcknowledged(event)) SayReceived(assignment, assignment.recorded);
    return absl::OkStatus();
  }
  if (!is_open) {
    return Lie(absl::StrCat("reports on model ", event.model(), ", which has ended or is not of its trial"));
  }
  const absl::Status checked = CheckEvent(event, open->second, trial->canceled, open->second.stopped);
  if (!checked.ok()) return Lie(std::string(checked.message()));
  open->second.last_sequence = event.sequence();
  trial->begun = true;
  if (event.has_ended()) {
    v1::Failure* const failure = event.ended().has_failure() ? event.mutable_ended()->mutable_failure() : nullptr;
    if (failure != nullptr) failure->set_message(BoundedMessage(failure->message()));
    trial->open.erase(open);
  }
  if (event.has_started()) *event.mutable_started()->mutable_device() = DeviceOf(assignment).device;
  const absl::Duration offset = clock_.Get();
  if (offset != absl::ZeroDuration()) *event.mutable_time() = ToTimestamp(ToTime(event.time()) + offset);
  Count(*trial, [&](EventWindow& window) { window.Read(event, EventWindow::Clock::now()); });
  if (IsAcknowledged(event)) open->second.marks.emplace_back(event.sequence(), assignment.received);
  self_->send(options_.service, std::move(event));
  return absl::OkStatus();
}

absl::Status RemoteNode::OnTrialEnded(Assignment& assignment, const v1::TrialEnded& ended) {
  const auto* const trial = std::get_if<Trial>(&assignment.work);
  if (trial == nullptr || ended.experiment() != trial->spec.experiment() || ended.trial() != trial->spec.trial() ||
      !trial->open.empty()) {
    return Lie("ended a trial that has not ended");
  }
  ReportEnd(*trial, v1::LOST);
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
  if (auto* const trial = std::get_if<Trial>(&assignment.work)) {
    Count(*trial, [](EventWindow& window) { window = EventWindow(); });
  }
  Device& device = DeviceOf(assignment);
  if (device.assignment == &assignment) device.assignment = nullptr;
  device.ended -= assignment.ended;
  const std::string id = assignment.id;
  assignments_.erase(id);
}

void RemoteNode::Count(Trial& trial, const std::function<void(EventWindow&)>& change) {
  const EventAmount before = trial.window.excess();
  change(trial.window);
  const EventAmount after = trial.window.excess();
  for (EventAmount* const amount : {&unrecorded_, all_unrecorded_}) {
    *amount -= before;
    *amount += after;
  }
}

bool RemoteNode::may_say_more(bool too_many) const {
  return !unrecorded_.reaches(too_many ? EventAmount{1, 1} : kMostUnrecorded);
}

void RemoteNode::LoseAssignment(Assignment& assignment, v1::LostCause cause, const std::string& why) {
  if (const auto* const trial = std::get_if<Trial>(&assignment.work)) {
    if (cause != v1::NODE_LEFT || trial->begun || trial->canceled) {
      v1::Failure failure;
      failure.set_reason(v1::WORKER_LOST);
      failure.set_message(why);
      ReportEnd(*trial, v1::LOST, failure, cause);
    }
  } else {
    std::get<Discovery>(assignment.work).promise.deliver(LossOfWork(cause, why));
  }
}

void RemoteNode::ReportEnd(const Trial& trial, v1::Outcome outcome, const v1::Failure& failure, v1::LostCause cause) {
  for (const v1::TrialModel& model : trial.spec.models()) {
    const auto open = trial.open.find(model.model());
    if (open == trial.open.end()) continue;
    const int last = open->second.last_sequence;
    if (open->second.stopped) {
      self_->send(options_.service, EndedEvent(trial.spec, model, last, v1::STOPPED_EARLY));
    } else if (trial.canceled) {
      self_->send(options_.service, EndedEvent(trial.spec, model, last, v1::CANCELED));
    } else {
      self_->send(options_.service, EndedEvent(trial.spec, model, last, outcome, failure, cause));
    }
  }
  v1::TrialEnded ended;
  ended.set_experiment(trial.spec.experiment());
  ended.set_trial(trial.spec.trial());
  self_->send(options_.service, std::move(ended));
}

void RemoteNode::Send(v1::HeadMessage message) {
  if (link_ != nullptr) link_->Send(std::move(message));
}

void RemoteNode::SendAssignment(const Assignment& assignment) {
  v1::HeadMessage message;
  v1::Assignment& proto = *message.mutable_assignment();
  proto.set_id(assignment.id);
  proto.set_device(assignment.device);
  if (const auto* const trial = std::get_if<Trial>(&assignment.work)) {
    *proto.mutable_trial() = trial->spec;
  } else {
    *proto.mutable_discover() = std::get<Discovery>(assignment.work).request;
  }
  Send(std::move(message));
}

void RemoteNode::SendCancel(const std::string& assignment) {
  v1::HeadMessage message;
  message.mutable_cancel()->set_assignment(assignment);
  Send(std::move(message));
}

void RemoteNode::SendStop(const Assignment& assignment, int model) {
  v1::HeadMessage message;
  message.mutable_stop()->set_assignment(assignment.id);
  message.mutable_stop()->set_model(model);
  Send(std::move(message));
}

void RemoteNode::SendRecorded(const v1::AssignmentRecorded& recorded) {
  v1::HeadMessage message;
  *message.mutable_recorded() = recorded;
  Send(std::move(message));
}

void RemoteNode::SayReceived(const Assignment& assignment, int64_t number) {
  if (number == 0) return;
  v1::HeadMessage message;
  message.mutable_received()->set_assignment(assignment.id);
  message.mutable_received()->set_number(number);
  Send(std::move(message));
}

v1::NodeStatus RemoteNode::Status() const {
  v1::NodeStatus status;
  status.set_name(name_);
  status.set_condition(silent_ ? v1::SILENT : draining_ ? v1::DRAINING : v1::JOINED);
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
