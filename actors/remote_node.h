// One node, as the head sees it: its stream, its devices and what they do. No actor: NodesActor owns it.
//
// A device of a node joins the training service, with a RemoteWorker, when the node says that it is idle; it leaves
// when its worker at the node is down, or the node is gone. What runs there is an assignment:
//
//   (none) --(1)--> sent --(2)--> ended --(3)--> (none)
//     \               ^  \                          ^
//      \------(5)-----+    +-----------(4)-----------+
//
//   1. The training service gave the device's worker a trial or a discovery. The assignment has an id that no other one
//      has, of this or of another head.
//   2. The trial's last news came: the device is free for the next one. Of such assignments a device has few: while it
//      has, it gets nothing new.
//   3. All that was said of the trial is in the journal.
//   4. The discovery's last news came; or the device or the node is lost. Then a trial's models that have not ended are
//      LOST for that reason (CANCELED or STOPPED_EARLY where that was asked for), and the worker goes down. Of a trial
//      that had not begun when its node left nothing is said: the training service queues it again, because its worker
//      goes down.
//   5. The node had the trial from a head before this one, and its experiment still wants it (Keep). What the node says
//      of it goes on where the journal ends: what is there is dropped.
//
// News of an assignment are numbered, and passed on in order, exactly once: what was received before is dropped, and a
// gap is an error. News of an assignment that is not here (any more) are dropped, and the node hears that nobody wants
// them. The node keeps each until it hears that, or that they are in the journal. After a lost connection the node
// joins again and says which assignments it has. Of those, the ones that are here go on, and what was said in vain is
// said once more: the assignment itself, where the node does not know it, and that it was canceled, stopped or
// recorded.
//
// What the node says is acknowledged when it is in the journal: reports with EventsRecorded, by which the trial may
// report more, and the end of a trial with the one for all of it (of model 0). So a head that takes the place of this
// one hears the rest. Other last news (a worker went down, the device was not free, a space) are acknowledged when they
// were received: a head that ends before it acts on them does that work again in any case.
//
// Memory: one message of the node's at a time is on its way (NodeLink::Next), and of an assignment this keeps its
// specification, and a few numbers for each of its models. While too many reports of the node wait for the journal
// (may_say_more), nothing more is read from its stream: then what its trials report waits there, see node.h.
#ifndef LANISTA_ACTORS_REMOTE_NODE_H_
#define LANISTA_ACTORS_REMOTE_NODE_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "actors/clock_offset.h"
#include "actors/node_assignments.h"
#include "actors/remote_worker.h"
#include "caf/actor_clock.hpp"
#include "caf/error.hpp"
#include "protos/returning.pb.h"
#include "src/config/labels.h"
#include "src/experiment/weights_bars.h"
#include "src/telemetry/telemetry.h"
#include "src/trial_process/event_window.h"

namespace lanista {

struct NodesOptions {
  TrainingServiceActor service;
  // The nodes that the head before this one had, and where to write down which this one has: called whenever that has
  // changed, for the next head, and again where that failed. Null: nobody wants to know.
  v1::KnownNodes known = {};
  std::function<absl::Status(const v1::KnownNodes&)> remember = {};
  // Names this head, from its start to its end.
  std::string head;
  // A node that is silent for so long gets no new work, ...
  std::chrono::milliseconds lease{std::chrono::seconds(10)};
  // ... and after so long what it runs is lost.
  std::chrono::milliseconds lost_after{std::chrono::minutes(2)};
  // The state folder, where experiments have their folders.
  std::string state_root;
  // The fields of HeadHello with these names.
  std::string marker_file;
  std::string marker;
  TelemetryPtr telemetry = std::make_shared<Telemetry>();
  // The head's experiments say here which weights are still wanted.
  WeightsBarsPtr weights_bars = std::make_shared<WeightsBars>();
};

class RemoteNode : public std::enable_shared_from_this<RemoteNode> {
 public:
  using Promise = NodeAssignments::Promise;
  using TimePoint = caf::actor_clock::time_point;

  // `number`: no other node of this head has it. `options` outlive it. REQUIRES: CheckHello(hello).ok().
  // `unrecorded`: where this adds what its trials have reported and is not recorded, in excess of what each may.
  RemoteNode(NodesSelf::pointer self, const NodesOptions& options, int32_t number, const v1::NodeHello& hello,
             EventAmount* unrecorded);

  // The node has this trial, which an earlier head gave it, and its experiment wants it back. Before the first Join.
  // What is said of all such trials goes by KeptWorker(), which the service has.
  void Keep(const v1::HeldTrial& held, const v1::ReturningTrial& wanted);
  // The worker of trials that were kept. The first call spawns it.
  const WorkerActor& KeptWorker();

  // The node's stream is this one from now on, and it said this on it; an earlier stream gets ABORTED.
  // INVALID_ARGUMENT: it is not what it was.
  absl::Status Join(NodeLinkPtr link, const v1::NodeHello& hello);
  // Something of the node's was heard.
  void Heard();
  void OnBeat(const v1::BeatRequest& beat);
  // The stream has ended.
  void OnLinkLost();
  // INVALID_ARGUMENT, here and below: the node says what cannot be true.
  absl::Status OnNews(v1::AssignmentNews news);
  absl::Status OnDevice(const v1::DeviceNews& news);

  // From its workers. `worker`: which of the device's; a trial, or a discovery, of one that has been replaced does not
  // begin.
  void OnTrial(int32_t device, int32_t worker, v1::TrialSpec spec);
  void OnDiscover(int32_t device, int32_t worker, v1::Discover request, Promise promise);
  void OnCancel(int32_t device, const v1::CancelTrial& cancel);
  void OnStop(int32_t device, const v1::StopModel& stop);
  void OnRecorded(int32_t device, const v1::EventsRecorded& recorded);

  // What an assignment of its reads. NOT_FOUND: it has no such assignment.
  absl::StatusOr<v1::AssignmentInputs> Inputs(const std::string& assignment) const;
  // Where what it writes belongs. NOT_FOUND: it has no such assignment, or it writes nothing. ABORTED: it was canceled.
  absl::StatusOr<v1::AssignmentOutputs> Outputs(const std::string& assignment) const;

  // For how long nothing has been heard of the node.
  std::chrono::milliseconds SilentFor() const;
  // That it has been silent for long counts from now on, or not any more.
  void SetSilent(bool silent);
  // No time passes for it in which this head stood still.
  void Forgive(std::chrono::milliseconds time);
  void Drain();
  // All that it has is lost, its workers go down, its stream ends with this status.
  void Leave(v1::ModelEnded::LostCause cause, const std::string& why, const absl::Status& status);

  int32_t number() const { return number_; }
  const std::string& name() const { return name_; }
  const std::string& instance() const { return instance_; }
  const NodeLinkPtr& link() const { return link_; }
  bool draining() const { return draining_; }
  NodeCondition state() const {
    return silent_ ? NodeCondition::kSilent : draining_ ? NodeCondition::kDraining : NodeCondition::kJoined;
  }
  // Whether its next message should be read. `too_many`: all nodes together wait for the journal with too much.
  bool may_say_more(bool too_many) const { return assignments_.may_say_more(too_many); }
  v1::NodeStatus Status() const;

 private:
  using Assignment = NodeAssignments::Assignment;
  using Discovery = NodeAssignments::Discovery;
  using Trial = NodeAssignments::Trial;
  struct Device {
    v1::Device device;
    // Null: it is not in the service.
    WorkerActor worker;
    // How many it has had, with this one.
    int32_t workers = 0;
    // The number that the service gave to the worker. Absent: the service has not answered yet.
    std::optional<int32_t> worker_number;
    // What the node said last of its worker there.
    bool idle = false;
    bool warm = false;
    // The service knows that it is idle.
    bool said_ready = false;
    // One of assignments_; null: the device has no work.
    Assignment* assignment = nullptr;
    // How many of its trials have ended and are not in the journal.
    int ended = 0;
  };

  // The assignment of a trial; nullptr: there is none. `device` is the one that probably has it.
  Assignment* FindTrial(int32_t device, const std::string& experiment, int trial);
  // The device, if this is its worker; nullptr: it was removed, which the service hears.
  Device* DeviceOfWorker(int32_t device, int32_t worker);
  Device& DeviceOf(const Assignment& assignment) { return devices_[static_cast<size_t>(assignment.device)]; }
  // Whether its device works on it, or will.
  bool is_current(const Assignment& assignment) { return DeviceOf(assignment).assignment == &assignment; }
  int32_t NumberOf(const Device& device) const { return static_cast<int32_t>(&device - devices_.data()); }

  void AddWorker(Device& device);
  // Tells the service, if the device is idle and it does not know.
  void SayReady(Device& device);
  void Assign(Device& device, Assignment assignment);

  // In remote_node_news.cc: what the node says of its assignments, and how these end.
  absl::Status OnEvent(Assignment& assignment, v1::ModelEvent event);
  absl::Status OnTrialEnded(Assignment& assignment, const v1::TrialEnded& ended);
  absl::Status OnDiscovered(Assignment& assignment, v1::Discovered discovered);
  // The last news of an assignment that no worker can go on with.
  void OnLoss(Assignment& assignment, v1::ModelEnded::LostCause cause, const std::string& why);
  // The device does not work on it any more.
  void FreeDevice(const Assignment& assignment);
  // The assignment is over, and nothing more to be said of it.
  void EndAssignment(Assignment& assignment);
  // The trial has ended and is in the journal.
  void EndRecorded(Assignment& assignment);
  // Its reports do not count any more, and news of it are dropped.
  void Forget(Assignment& assignment);
  // The assignment is lost; the service is told, unless it is a trial that had not begun when the node left.
  void LoseAssignment(Assignment& assignment, v1::ModelEnded::LostCause cause, const std::string& why);
  // The trial is over, and its models that have not ended end so (NodeAssignments::EndsOf).
  void ReportEnd(const Trial& trial, v1::ModelEnded::Outcome outcome, const v1::Failure& failure = {},
                 v1::ModelEnded::LostCause cause = v1::ModelEnded::LOST_CAUSE_UNSPECIFIED);

  // What the service hears of a worker, or a discovery, that is lost so (TrainingServiceActor's DeviceJoined).
  static caf::error LossOfWork(v1::ModelEnded::LostCause cause, const std::string& why);
  // The device leaves the service; what it has is lost.
  void RemoveWorker(Device& device, v1::ModelEnded::LostCause cause, const std::string& why);
  // The device's, if it is this experiment's: it ends where nothing of it has begun.
  void CancelDiscovery(int32_t device, const std::string& experiment);
  // A node that does not answer ends no trial: one that was canceled ends without it.
  void Abandon(Device& device);

  // Nothing, where there is no stream: what matters is said when the node joins again.
  void Send(v1::HeadMessage message);
  // The device was given something that it never gets: it is as idle as before.
  void StayIdle(Device& device);
  // The node need not keep news up to this number.
  void SayReceived(const Assignment& assignment, int64_t number);
  void CheckDrained();
  // Tells the service whether its devices get new work.
  void UpdateHold();
  void SayHold();

  const NodesSelf::pointer self_;
  const NodesOptions& options_;
  const int32_t number_;
  const std::string name_;
  const std::string instance_;
  const std::string program_;
  // NodeHello.data.
  const std::set<std::string> data_;
  const Labels labels_;
  const std::string version_;
  const absl::Time since_;
  std::vector<Device> devices_;
  NodeAssignments assignments_;

  // Null: the connection is lost.
  NodeLinkPtr link_;
  TimePoint heard_;
  ClockOffset clock_;
  // The log says that it is off.
  bool said_clock_ = false;
  // When the node began (nullopt: it did not say), and when it will be gone, by the head's clock.
  std::optional<absl::Time> began_;
  absl::Time ends_ = absl::InfiniteFuture();
  bool silent_ = false;
  bool draining_ = false;
  // What the service was told of silent_ and draining_.
  bool held_ = false;
  bool said_leaving_ = false;
  int64_t last_assignment_ = 0;
  // The worker of trials that were kept; null: there were none.
  WorkerActor kept_worker_;
};

}  // namespace lanista

#endif  // LANISTA_ACTORS_REMOTE_NODE_H_
