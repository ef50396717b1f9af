// NodeActor: this machine's devices, at work for a head elsewhere. Owns a WorkerActor for each, as a head does for its
// own, and tells the head what they say.
//
//   AWAY --(1)--> JOINED --(3)--> LEAVING --(4)--> (ended)
//     ^             |
//     +-----(2)-----+
//
//   1. A stream is open: it says hello, and which assignments it has. The head answers which of them go on; the others
//      are canceled and forgotten. Then it says once more what the head has not received. A head that took the place of
//      another one learns what these assignments are (HeldTrial), so that they can go on, too.
//   2. The stream has ended. What runs goes on, for give_up_after: where no head welcomed the node until then, it ends
//      with UNAVAILABLE. Where the stream ended in a way that another would, too (EndsNode), it ends with that.
//   3. It was asked to, or the head wants it to and nothing runs any more. First all workers end, with their processes:
//      the head may start what they ran elsewhere at once.
//   4. The head knows (NodeLeaving, and the end of the stream); or it takes too long. It ends with OK.
//
// A node that does not see the head's files (HeadHello.marker) brings what an assignment reads to this machine before
// its worker gets it (NodeFiles); until then nothing of it has begun, and it ends at once where the head cancels it (a
// discovery, too, which else ends by itself, unless it is a conversion). Where this machine cannot take it, the
// assignment is refused. Where it can take nothing now (its disk is full), the device pauses, too, as if its worker had
// gone down. Where nobody can take it, it ends: what was discovered or converted is that error, or the trial's models
// FAILED.
//
// What a trial writes there goes to the head (TrialOutputs): its checkpoints while it runs, the rest at its end. The
// end of a model is said when what it left has arrived, and the end of the assignment after that; until then the device
// is not idle. So does what a conversion writes, before its answer is said. A node that leaves waits for the last
// checkpoints, but not for long.
//
// A device whose worker goes down gets another one: at once, then after 1 s, 2 s and so on up to 256 s, as long as no
// work is done there.
//
// Memory: what is not in the head's journal is kept. That is bounded: a trial reports no more than EventWindow lets it
// (src/trial_process/event_window.h), and less where there are many devices, until the head says that its reports are
// recorded. So while the head is away a trial that reports a lot waits, and the rest goes on. What is kept of
// assignments that have ended is a few trials for each device: while more of them are not in the journal it gets no
// other.
#ifndef LANISTA_ACTORS_NODE_H_
#define LANISTA_ACTORS_NODE_H_

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "actors/alarm.h"
#include "actors/interfaces.h"
#include "caf/stateful_actor.hpp"
#include "caf/typed_event_based_actor.hpp"
#include "src/files/node_files.h"

namespace lanista {

// How the preparation of an assignment ended.
using PreparedPtr = std::shared_ptr<const absl::StatusOr<LocalWorkPtr>>;

}  // namespace lanista

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(lanista::PreparedPtr)

namespace lanista {

struct NodeOptions {
  // What the node says of itself, without the fields `assignments` and `now`. `devices` are all that the node has.
  v1::NodeHello hello;
  // Makes the worker with a number for a device.
  std::function<WorkerActor(int number, const v1::Device& device, const WorkerOwnerActor& owner)> spawn_worker;
  // For heads whose files this machine does not see. Outlives the node.
  NodeFiles* files = nullptr;
  std::chrono::milliseconds give_up_after{std::chrono::hours(1)};
  // Called when a head has welcomed the node. This and on_end run on the node's thread and must not block.
  std::function<void()> on_joined;
  // Called with the reason when the node ends. Its workers, and what they do, end with it.
  std::function<void(const absl::Status&)> on_end;
};

// With its messages to itself: a deadline; that it is time for a device's next worker, or that its pause is over; how
// the preparation of an assignment ended; and how the delivery of what one of its models wrote (0: of the rest).
using NodeSelf =
    NodeActor::extend<caf::reacts_to<deadline_atom>, caf::reacts_to<deadline_atom, int32_t>,
                      caf::reacts_to<std::string, PreparedPtr>, caf::reacts_to<std::string, int32_t, v1::ErrorStatus>>;

class NodeState {
 public:
  static inline const char* name = "node";

  explicit NodeState(NodeSelf::pointer self) : self_(self) {}

  NodeSelf::behavior_type MakeBehavior(NodeOptions options);

 private:
  struct Assignment {
    int device = 0;
    // The trial's, where it is one. Its models are not kept here.
    std::string experiment;
    int trial = 0;
    // What a head that does not know the assignment is told of it. The trial number is missing where no head may want
    // the trial to go on.
    v1::HeldTrial held;
    // What the head has not acknowledged.
    std::deque<v1::AssignmentNews> unreceived;
    int64_t last_number = 0;
    bool ended = false;
    // While its files are brought; else null, and `proto` is empty.
    std::shared_ptr<Cancellation> preparing;
    v1::Assignment proto;
    // What the head stopped meanwhile.
    std::set<int> stopped;
    // Brings what the trial writes to the head. Null: nothing that it writes has to travel.
    std::unique_ptr<TrialOutputs> outputs;
    // The weights of its models have to arrive at the head.
    bool keep_weights = false;
    // What is said when what was written has arrived: the ends of its models, and its last news.
    std::map<int, v1::ModelEvent> held_ends;
    std::optional<v1::AssignmentNews> held_last;
  };
  struct Device {
    // Null: it is down.
    WorkerActor worker;
    bool idle = false;
    bool warm = false;
    // It gets no work for a while, because of down_because.
    bool paused = false;
    // The files of the last assignment, as long as its trial process may read them. Null: it reads none.
    LocalWorkPtr work;
    // The assignment that runs; empty: none, or one that was forgotten.
    std::string running;
    std::string down_because;
    // Workers that went down, and assignments that were refused, since work was last done here.
    int downs = 0;
  };
  using Assignments = std::map<std::string, Assignment>;

  void Spawn(int device);
  // The device gets no work for a time that grows with its `downs`.
  void Pause(int device, const std::string& because);
  // It is time for its next worker, or the pause is over.
  void OnRestart(int device);
  void OnOpen(const HeadLinkPtr& link);
  void OnMessage(const HeadLinkPtr& link, v1::HeadMessage message);
  void OnClosed(const HeadLinkPtr& link, const absl::Status& status);
  void OnDown(const caf::down_msg& down);

  void OnHello(const v1::HeadHello& hello);
  void OnAssignment(v1::Assignment proto);
  void OnPrepared(const std::string& assignment, const PreparedPtr& prepared);
  // Gives the assignment to its device's worker.
  void Begin(const std::string& id, v1::Assignment proto);
  // Ends an assignment that no worker has begun. `why` is CANCELLED where the head canceled it.
  void EndUnbegun(Assignments::value_type* assignment, const v1::Assignment& proto, const absl::Status& why);
  void OnReceived(const v1::NewsReceived& received);
  void Cancel(Assignments::value_type* assignment);
  void StopModel(Assignment* assignment, int model);

  // In node_leaving.cc: how the node leaves its head, and ends.
  void OnDeadline();
  void Drain();
  // The node leaves if it is to, and nothing is left to be done or to be said.
  void CheckDrained();
  // Ends what runs, then the node, with that status.
  void Leave(const std::string& because, const absl::Status& end);
  // Called when no worker is left.
  void SayLeaving();
  void End();

  // In node_outputs.cc: what trials write where the head's files are not seen.
  //
  // True: what is to be said waits for a delivery, and OnDelivered says it.
  bool HoldEnd(Assignments::value_type* assignment, v1::ModelEvent* event);
  bool HoldLast(Assignments::value_type* assignment, v1::AssignmentNews* news);
  void OnDelivered(const std::string& id, int model, const absl::Status& status);
  // The head takes nothing more of it: what waits for that is said.
  void CancelOutputs(const std::string& id);
  // What was written has arrived as far as it ever will: what is left is said.
  void EndOutputs(Assignments::value_type* assignment);
  // The device is to say nothing of itself before the last news of its assignment.
  bool IsHeld(int device);
  // The conversion is done: `news` is said when what it wrote has arrived.
  void DeliverConverted(Assignments::value_type* assignment, const LocalWorkPtr& work, v1::AssignmentNews news);
  // False: nothing has to arrive (any more) before the node leaves.
  bool DeliverBeforeLeaving();
  TrialOutputs::ModelEnd EndOf(const Assignment& assignment, const v1::ModelEvent& event) const;
  // For OnDelivered. `model` as there.
  TrialOutputs::Done TellDelivered(const std::string& id, int model);

  // The assignment that runs on the device; null: there is none.
  Assignments::value_type* Running(int device);
  // Of whichever device runs that trial; null: none does.
  Assignments::value_type* RunningTrial(const std::string& experiment, int trial);
  // Keeps it, and says it if there is a head.
  void Say(Assignments::value_type* assignment, v1::AssignmentNews news);
  // It is the last one.
  void SayLast(Assignments::value_type* assignment, v1::AssignmentNews news);
  void SayDevice(int device);
  void Send(v1::NodeMessage message);

  NodeSelf::pointer self_;
  NodeOptions options_;
  std::vector<Device> devices_;
  // That run, or have something that the head has not received.
  Assignments assignments_;

  // Null: there is no stream.
  HeadLinkPtr link_;
  // The head has answered on it.
  bool welcome_ = false;
  // HeadHello's, of the last head.
  std::string marker_;
  // Until a head's marker shows that it does not.
  bool sees_head_files_ = true;
  bool draining_ = false;
  // The log says that there is no head.
  bool said_away_ = false;
  // Why it leaves; empty: it does not.
  std::string leaving_;
  // What it ends with.
  absl::Status end_;
  // LEAVING: the assignments whose last deliveries are waited for. Absent: the workers have not ended yet.
  std::optional<std::set<std::string>> delivering_;
  // AWAY: when it gives up. LEAVING: when it ends anyway.
  Alarm deadline_;
};

// Spawn it detached: it reads a file of the head's.
NodeSelf::behavior_type Node(NodeSelf::stateful_pointer<NodeState> self, NodeOptions options);

}  // namespace lanista

#endif  // LANISTA_ACTORS_NODE_H_
