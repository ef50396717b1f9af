#include "actors/node.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/time/time.h"
#include "actors/held_trial.h"
#include "actors/unbegun_assignment.h"
#include "actors/worker_restart_delay.h"
#include "src/base/clock.h"
#include "src/base/device_name.h"
#include "src/base/logging.h"
#include "src/base/read_file.h"
#include "src/base/status.h"

namespace lanista {
namespace {

constexpr uint64_t kMaxMarkerBytes = 4096;

// Whether this machine sees the files of the head.
bool SeesFiles(const v1::HeadHello& hello) {
  const absl::StatusOr<std::string> content = ReadWholeFile(hello.marker_file(), kMaxMarkerBytes);
  return content.ok() && *content == hello.marker();
}

}  // namespace

NodeSelf::behavior_type Node(NodeSelf::stateful_pointer<NodeState> self, NodeOptions options) {
  return self->state.MakeBehavior(std::move(options));
}

NodeSelf::behavior_type NodeState::MakeBehavior(NodeOptions options) {
  options_ = std::move(options);
  self_->set_down_handler([this](const caf::down_msg& down) { OnDown(down); });
  devices_.resize(static_cast<size_t>(options_.hello.devices_size()));
  for (int device = 0; device < options_.hello.devices_size(); ++device) Spawn(device);
  deadline_.Set(self_, options_.give_up_after);
  return {
      [this](const v1::WorkerReady& ready) {
        Device& device = devices_[static_cast<size_t>(ready.worker())];
        device.idle = true;
        device.warm = ready.warm();
        device.work = nullptr;
        SayDevice(ready.worker());
        CheckDrained();
      },
      [this](const v1::ProcessUp& up) {
        devices_[static_cast<size_t>(up.worker())].warm = true;
        SayDevice(up.worker());
      },
      [this](v1::ModelEvent& event) {
        auto* const running = RunningTrial(event.experiment(), event.trial());
        if (running == nullptr) return;
        const LocalWorkPtr& work = devices_[static_cast<size_t>(running->second.device)].work;
        if (work != nullptr) work->ToHead(&event);
        if (HoldEnd(running, &event)) return;
        v1::AssignmentNews news;
        *news.mutable_event() = std::move(event);
        Say(running, std::move(news));
      },
      [this](v1::TrialEnded& ended) {
        auto* const running = RunningTrial(ended.experiment(), ended.trial());
        if (running == nullptr) return;
        v1::AssignmentNews news;
        *news.mutable_ended() = std::move(ended);
        SayLast(running, std::move(news));
      },
      [this](const HeadLinkPtr& link) { OnOpen(link); },
      [this](const HeadLinkPtr& link, v1::HeadMessage& message) { OnMessage(link, std::move(message)); },
      [this](const HeadLinkPtr& link, const v1::ErrorStatus& status) { OnClosed(link, StatusFromProto(status)); },
      [this](const v1::NodeLeaving& leaving) { Leave(leaving.because(), absl::OkStatus()); },
      [this](deadline_atom) { OnDeadline(); },
      [this](deadline_atom, int32_t device) { OnRestart(device); },
      [this](const std::string& assignment, const PreparedPtr& prepared) { OnPrepared(assignment, prepared); },
      [this](const std::string& assignment, int32_t model, const v1::ErrorStatus& status) {
        OnDelivered(assignment, model, StatusFromProto(status));
      },
  };
}

void NodeState::Spawn(int number) {
  if (!leaving_.empty()) return;
  Device& device = devices_[static_cast<size_t>(number)];
  device.worker = options_.spawn_worker(number, options_.hello.devices(number), WorkerOwnerActor(self_));
  self_->monitor(device.worker);
}

void NodeState::Pause(int number, const std::string& because) {
  Device& device = devices_[static_cast<size_t>(number)];
  device.paused = true;
  device.down_because = because;
  // Another try at once would end in the same way.
  const std::chrono::seconds delay = std::max(RestartDelay(++device.downs), std::chrono::seconds(1));
  LogWarning("{}: {}; trying again in {} s", DeviceName(options_.hello.devices(number)), because, delay.count());
  self_->delayed_send(self_, delay, deadline_atom_v, static_cast<int32_t>(number));
}

void NodeState::OnRestart(int number) {
  Device& device = devices_[static_cast<size_t>(number)];
  device.paused = false;
  if (device.worker == nullptr) return Spawn(number);
  SayDevice(number);
}

void NodeState::OnOpen(const HeadLinkPtr& link) {
  if (link_ != nullptr) link_->Close();
  if (!leaving_.empty()) return link->Close();
  link_ = link;
  welcome_ = false;
  v1::NodeMessage message;
  *message.mutable_hello() = options_.hello;
  *message.mutable_hello()->mutable_now() = Now();
  message.mutable_hello()->set_marker(marker_);
  for (const auto& [id, assignment] : assignments_) {
    message.mutable_hello()->add_assignments(id);
    if (assignment.held.trial() == 0) continue;
    v1::HeldTrial& held = *message.mutable_hello()->add_held_trials();
    held = assignment.held;
    held.set_ended(assignment.ended);
  }
  link_->Send(std::move(message));
}

void NodeState::OnMessage(const HeadLinkPtr& link, v1::HeadMessage message) {
  if (link != link_ || (!welcome_ && !message.has_hello())) return;
  const auto find = [this](const std::string& id) {
    const auto found = assignments_.find(id);
    const bool goes_on = found != assignments_.end() && !found->second.ended && !found->second.held_last.has_value();
    return goes_on ? &*found : nullptr;
  };
  switch (message.kind_case()) {
    case v1::HeadMessage::kHello:
      return OnHello(message.hello());
    case v1::HeadMessage::kAssignment:
      return OnAssignment(std::move(*message.mutable_assignment()));
    case v1::HeadMessage::kReceived:
      return OnReceived(message.received());
    case v1::HeadMessage::kCancel:
      CancelOutputs(message.cancel().assignment());
      if (auto* const assignment = find(message.cancel().assignment())) Cancel(assignment);
      return;
    case v1::HeadMessage::kStop:
      if (auto* const assignment = find(message.stop().assignment())) {
        StopModel(&assignment->second, message.stop().model());
      }
      return;
    case v1::HeadMessage::kRecorded:
      if (const auto* const assignment = find(message.recorded().assignment())) {
        v1::EventsRecorded recorded;
        recorded.set_experiment(assignment->second.experiment);
        recorded.set_trial(assignment->second.trial);
        recorded.set_model(message.recorded().model());
        recorded.set_attempt(message.recorded().attempt());
        recorded.set_sequence(message.recorded().sequence());
        self_->send(devices_[static_cast<size_t>(assignment->second.device)].worker, std::move(recorded));
      }
      return;
    case v1::HeadMessage::kDrain:
      return Drain();
    case v1::HeadMessage::KIND_NOT_SET:
      return;
  }
}

void NodeState::OnHello(const v1::HeadHello& hello) {
  welcome_ = true;
  said_away_ = false;
  deadline_.Clear();
  marker_ = hello.marker();
  const bool saw_them = std::exchange(sees_head_files_, SeesFiles(hello));
  if (saw_them && !sees_head_files_) {
    LogWarning(
        "this machine does not see the head's {}: what trials read and write is copied (a --state-dir of the head in a "
        "folder that both machines share under the same path saves that)",
        hello.marker_file());
  }
  std::map<std::string, int64_t> keep;
  for (int i = 0; i < std::min(hello.keep_size(), hello.received_size()); ++i) keep[hello.keep(i)] = hello.received(i);
  for (auto next = assignments_.begin(); next != assignments_.end();) {
    const auto it = next++;
    auto& [id, assignment] = *it;
    if (const auto kept = keep.find(id); kept != keep.end()) {
      v1::NewsReceived received;
      received.set_assignment(id);
      received.set_number(kept->second);
      OnReceived(received);
      continue;
    }
    if (!assignment.ended) {
      Device& device = devices_[static_cast<size_t>(assignment.device)];
      device.running.clear();
      if (assignment.preparing != nullptr) {
        // Its worker has not heard of it, and says nothing; nor does the head want to hear anything.
        assignment.preparing->Cancel();
        device.idle = true;
      } else {
        Cancel(&*it);
      }
    }
    assignments_.erase(it);
  }
  for (const auto& [id, assignment] : assignments_) {
    for (const v1::AssignmentNews& news : assignment.unreceived) {
      v1::NodeMessage message;
      *message.mutable_news() = news;
      Send(std::move(message));
    }
  }
  for (size_t device = 0; device < devices_.size(); ++device) SayDevice(static_cast<int>(device));
  options_.on_joined();
  // Perhaps nothing of what it had is wanted any more.
  CheckDrained();
}

void NodeState::OnAssignment(v1::Assignment proto) {
  // Said once more, because the stream ended in between.
  if (assignments_.count(proto.id()) > 0) return;
  const bool known = proto.device() >= 0 && proto.device() < static_cast<int>(devices_.size());
  auto* const assignment = &*assignments_.emplace(proto.id(), Assignment()).first;
  assignment->second.device = known ? proto.device() : 0;
  Device& device = devices_[static_cast<size_t>(assignment->second.device)];
  if (!known || !device.idle || device.paused || !device.running.empty() ||
      proto.kind_case() == v1::Assignment::KIND_NOT_SET) {
    v1::AssignmentNews refused;
    const bool is_down = device.worker == nullptr || device.paused;
    refused.set_refused(is_down ? device.down_because : "the device is not free for this assignment");
    return SayLast(assignment, std::move(refused));
  }
  device.idle = false;
  device.running = proto.id();
  assignment->second.held = HeldTrialOf(proto);
  if (proto.has_trial()) {
    assignment->second.experiment = proto.trial().experiment();
    assignment->second.trial = proto.trial().trial();
  }
  if (sees_head_files_) return Begin(assignment->first, std::move(proto));
  assignment->second.proto = std::move(proto);
  assignment->second.preparing = options_.files->Prepare(
      assignment->second.proto,
      [self = NodeSelf(self_), id = assignment->first](absl::StatusOr<LocalWorkPtr> prepared) {
        caf::anon_send(self, id, std::make_shared<const absl::StatusOr<LocalWorkPtr>>(std::move(prepared)));
      });
}

void NodeState::OnPrepared(const std::string& id, const PreparedPtr& prepared) {
  const auto found = assignments_.find(id);
  // It was canceled, lost with its device or forgotten meanwhile, or all of them are.
  if (!leaving_.empty() || found == assignments_.end() || found->second.preparing == nullptr) return;
  Assignment& assignment = found->second;
  assignment.preparing = nullptr;
  v1::Assignment proto = std::move(assignment.proto);
  assignment.proto.Clear();
  if (!prepared->ok()) return EndUnbegun(&*found, proto, prepared->status());
  const LocalWorkPtr work = **prepared;
  if (proto.has_trial()) {
    assignment.outputs = options_.files->Follow(proto, work);
    assignment.keep_weights = proto.trial().keep_weights();
    work->ToHere(proto.mutable_trial());
  } else {
    work->ToHere(proto.mutable_discover());
  }
  devices_[static_cast<size_t>(assignment.device)].work = work;
  Begin(id, std::move(proto));
  for (const int model : assignment.stopped) StopModel(&assignment, model);
}

void NodeState::EndUnbegun(Assignments::value_type* assignment, const v1::Assignment& proto, const absl::Status& why) {
  const int number = assignment->second.device;
  // Other work may be done here, where only this one finds no room.
  if (absl::IsUnavailable(why)) Pause(number, std::string(why.message()));
  std::vector<v1::AssignmentNews> news = NewsOfUnbegun(proto, assignment->second.stopped, why);
  v1::AssignmentNews last = std::move(news.back());
  news.pop_back();
  for (v1::AssignmentNews& one : news) Say(assignment, std::move(one));
  SayLast(assignment, std::move(last));
  devices_[static_cast<size_t>(number)].idle = true;
  SayDevice(number);
}

void NodeState::Begin(const std::string& id, v1::Assignment proto) {
  const Device& device = devices_[static_cast<size_t>(proto.device())];
  if (proto.has_trial()) return self_->send(device.worker, std::move(*proto.mutable_trial()));
  self_->request(device.worker, caf::infinite, std::move(*proto.mutable_discover()))
      .then(
          [this, id, held = std::weak_ptr(device.work)](v1::Discovered& discovered) {
            const auto found = assignments_.find(id);
            if (found == assignments_.end()) return;
            const LocalWorkPtr work = held.lock();
            if (work != nullptr) work->ToHead(&discovered);
            const bool has_files = discovered.has_converted() && !discovered.converted().has_error();
            v1::AssignmentNews news;
            *news.mutable_discovered() = std::move(discovered);
            if (work != nullptr && has_files) return DeliverConverted(&*found, work, std::move(news));
            SayLast(&*found, std::move(news));
          },
          [](const caf::error&) {
            // The worker is gone: OnDown says so. Where it was while it had this request, nobody calls any of these
            // two, and they stay: so they hold nothing.
          });
}

void NodeState::OnReceived(const v1::NewsReceived& received) {
  const auto found = assignments_.find(received.assignment());
  if (found == assignments_.end()) return;
  std::deque<v1::AssignmentNews>& unreceived = found->second.unreceived;
  while (!unreceived.empty() && unreceived.front().number() <= received.number()) {
    NoteReceived(unreceived.front(), &found->second.held);
    unreceived.pop_front();
  }
  if (!found->second.ended || !unreceived.empty()) return;
  assignments_.erase(found);
  CheckDrained();
}

void NodeState::Cancel(Assignments::value_type* canceled) {
  Assignment& assignment = canceled->second;
  // Whoever takes the head's place runs it again, if it is wanted after all.
  assignment.held.Clear();
  if (const auto preparing = std::exchange(assignment.preparing, nullptr)) {
    // The device is free before the preparation has ended, which may wait for a thread.
    preparing->Cancel();
    const v1::Assignment proto = std::move(assignment.proto);
    assignment.proto.Clear();
    return EndUnbegun(canceled, proto, absl::CancelledError("it was canceled before it began"));
  }
  const WorkerActor& worker = devices_[static_cast<size_t>(assignment.device)].worker;
  if (worker == nullptr) return;
  // Of a discovery it says nothing: that ends by itself, unless it is a conversion.
  v1::CancelTrial cancel;
  cancel.set_experiment(assignment.experiment);
  cancel.set_trial(assignment.trial);
  self_->send(worker, std::move(cancel));
}

void NodeState::StopModel(Assignment* assignment, int model) {
  if (assignment->preparing != nullptr) {
    assignment->stopped.insert(model);
    return;
  }
  v1::StopModel stop;
  stop.set_experiment(assignment->experiment);
  stop.set_trial(assignment->trial);
  stop.set_model(model);
  self_->send(devices_[static_cast<size_t>(assignment->device)].worker, std::move(stop));
}

void NodeState::OnClosed(const HeadLinkPtr& link, const absl::Status& status) {
  if (link != link_) return;
  link_ = nullptr;
  const bool was_welcome = std::exchange(welcome_, false);
  if (!leaving_.empty()) {
    const bool workers_left =
        std::any_of(devices_.begin(), devices_.end(), [](const Device& device) { return device.worker != nullptr; });
    if (!workers_left) End();
    return;
  }
  if (EndsNode(status)) {
    end_ = status;
    return End();
  }
  if (was_welcome) deadline_.Set(self_, options_.give_up_after);
  if (std::exchange(said_away_, true)) return;
  LogWarning("{}{}; trying again for {}{}", NodeTag(options_.hello.name()), std::string(status.message()),
             absl::FormatDuration(absl::FromChrono(options_.give_up_after)),
             was_welcome ? ", and what runs goes on" : "");
}

void NodeState::OnDown(const caf::down_msg& down) {
  const auto found = std::find_if(devices_.begin(), devices_.end(), [&](const Device& device) {
    return device.worker != nullptr && device.worker.address() == down.source;
  });
  if (found == devices_.end()) return;
  Device& device = *found;
  const auto number = static_cast<int>(found - devices_.begin());
  device.worker = nullptr;
  device.work = nullptr;
  device.idle = device.warm = false;
  if (!leaving_.empty()) return SayLeaving();

  device.down_because = std::string(Annotate(FromCafError(down.reason), "the worker went down").message());
  const std::chrono::seconds delay = RestartDelay(++device.downs);
  LogWarning("{}{}: {}; trying again in {} s", NodeTag(options_.hello.name()),
             DeviceName(options_.hello.devices(number)), device.down_because, delay.count());
  if (auto* const running = Running(number)) {
    v1::AssignmentNews news;
    // What is still being prepared was not begun: it is no fault of its models.
    if (running->second.preparing != nullptr) {
      news.set_refused(device.down_because);
    } else {
      news.set_lost(device.down_because);
    }
    SayLast(running, std::move(news));
  }
  if (!IsHeld(number)) device.running.clear();
  // The next worker comes when the pause is over.
  if (device.paused) return;
  SayDevice(number);
  if (delay.count() == 0) return Spawn(number);
  self_->delayed_send(self_, delay, deadline_atom_v, static_cast<int32_t>(number));
}

NodeState::Assignments::value_type* NodeState::RunningTrial(const std::string& experiment, int trial) {
  for (const Device& device : devices_) {
    const auto found = device.running.empty() ? assignments_.end() : assignments_.find(device.running);
    if (found == assignments_.end()) continue;
    if (found->second.experiment == experiment && found->second.trial == trial) return &*found;
  }
  return nullptr;
}

NodeState::Assignments::value_type* NodeState::Running(int device) {
  const std::string& id = devices_[static_cast<size_t>(device)].running;
  const auto found = id.empty() ? assignments_.end() : assignments_.find(id);
  return found == assignments_.end() ? nullptr : &*found;
}

void NodeState::Say(Assignments::value_type* assignment, v1::AssignmentNews news) {
  news.set_assignment(assignment->first);
  news.set_number(++assignment->second.last_number);
  assignment->second.unreceived.push_back(news);
  v1::NodeMessage message;
  *message.mutable_news() = std::move(news);
  Send(std::move(message));
}

void NodeState::SayLast(Assignments::value_type* assignment, v1::AssignmentNews news) {
  if (HoldLast(assignment, &news)) return;
  assignment->second.ended = true;
  if (const auto preparing = std::exchange(assignment->second.preparing, nullptr)) preparing->Cancel();
  Device& device = devices_[static_cast<size_t>(assignment->second.device)];
  if (device.running == assignment->first) device.running.clear();
  if (!news.has_lost() && !news.has_refused()) device.downs = 0;
  Say(assignment, std::move(news));
}

void NodeState::SayDevice(int number) {
  if (IsHeld(number)) return;
  const Device& device = devices_[static_cast<size_t>(number)];
  const bool is_down = device.worker == nullptr || device.paused;
  // It will say when its next worker is idle.
  if (!is_down && !device.idle && !device.warm) return;
  v1::NodeMessage message;
  v1::DeviceNews& news = *message.mutable_device();
  news.set_device(number);
  news.set_idle(device.idle && !device.paused);
  news.set_warm(device.warm);
  if (is_down) news.set_down_because(device.down_because);
  Send(std::move(message));
}

void NodeState::Send(v1::NodeMessage message) {
  if (link_ != nullptr && welcome_) link_->Send(std::move(message));
}

}  // namespace lanista
