// What a node was given, as its head knows it: its assignments, how far the node has told of them, and how much of that
// is in the journal. remote_node.h has the life of an assignment.
#ifndef LANISTA_ACTORS_NODE_ASSIGNMENTS_H_
#define LANISTA_ACTORS_NODE_ASSIGNMENTS_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "actors/interfaces.h"
#include "actors/model_events.h"
#include "caf/typed_response_promise.hpp"
#include "protos/node.pb.h"
#include "protos/returning.pb.h"
#include "src/trial_process/event_window.h"

namespace lanista {

// A plain class for one thread. It sends nothing, and knows no devices but by their number.
class NodeAssignments {
 public:
  using Promise = caf::typed_response_promise<v1::Discovered>;
  using TimePoint = EventWindow::Clock::time_point;

  struct OpenModel : OpenAttempt {
    bool stopped = false;
    // Events up to this one were in the journal when this head began.
    int known = 0;
    // The last that was said; nullopt: nothing.
    std::optional<v1::AssignmentRecorded> recorded;
    // Reports that will be acknowledged: their sequence numbers, and those of the news with them.
    std::deque<std::pair<int, int64_t>> marks;
  };
  struct Trial {
    v1::TrialSpec spec;
    // The models that have not ended.
    std::map<int, OpenModel> open;
    // Of a kept one: the models whose ends were in the journal before.
    std::set<int> closed;
    // The node has said something of it.
    bool begun = false;
    bool canceled = false;
    // All that was said of it is in the journal.
    bool recorded = false;
    EventWindow window;
  };
  struct Discovery {
    v1::Discover request;
    Promise promise;
    // A conversion: nothing of it is taken any more.
    bool canceled = false;
  };
  struct Assignment {
    std::string id;
    int32_t device = 0;
    // The number of its last news, and of the last that are in the journal.
    int64_t received = 0;
    int64_t recorded = 0;
    std::variant<Trial, Discovery> work;
    // The last news of the trial came.
    bool ended = false;
  };
  // By id.
  using Map = std::unordered_map<std::string, Assignment>;
  // What a node reports.
  enum class Report {
    // The journal has it already, from the head before this one.
    kKnown,
    kNew,
  };

  // `all_unrecorded`: where what is unrecorded of this node's trials is added. It outlives this.
  explicit NodeAssignments(EventAmount* all_unrecorded) : all_unrecorded_(all_unrecorded) {}
  NodeAssignments(const NodeAssignments&) = delete;
  NodeAssignments& operator=(const NodeAssignments&) = delete;

  // A trial that this head gives to the node: nothing was said of it yet.
  static Trial NewTrial(v1::TrialSpec spec);
  // A trial that the node has from the head before, and that its experiment wants back.
  static Trial KeptTrial(const v1::HeldTrial& held, const v1::ReturningTrial& wanted);

  // It is found by its id from now on, at the same address until Forget.
  Assignment& Add(Assignment assignment);
  // Its reports do not count any more, and it is gone.
  void Forget(Assignment& assignment);
  // nullptr: there is none.
  Assignment* Find(const std::string& id);
  const Assignment* Find(const std::string& id) const;
  // That of a trial; nullptr: there is none. `likely`: which it probably is; may be null.
  Assignment* FindTrial(Assignment* likely, const std::string& experiment, int trial);
  Map& all() { return assignments_; }

  // The node says this of a trial: it is noted, and an end closes its model. INVALID_ARGUMENT: the node lies.
  static absl::StatusOr<Report> Note(Assignment& assignment, const v1::ModelEvent& event);
  // The event, which was new, is on its way to the journal, as it is there. REQUIRES: Note of it.
  void AddUnrecorded(Assignment& assignment, const v1::ModelEvent& event, TimePoint now);
  // Reports of a model are in the journal. Returns what the node has to hear of that; nullopt: nothing.
  std::optional<v1::AssignmentRecorded> Record(Assignment& assignment, const v1::EventsRecorded& recorded,
                                               TimePoint now);
  // Nobody may acknowledge what the trial has reported: it does not count any more.
  void ForgetUnrecorded(Trial& trial);
  // Whether the node's next message should be read. `too_many`: all nodes together wait for the journal with too much.
  bool may_say_more(bool too_many) const;

  // The ends of a trial's models that have not ended. They end so; but those that were stopped, or all if the trial was
  // canceled, end as was asked for.
  static std::vector<v1::ModelEvent> EndsOf(const Trial& trial, v1::ModelEnded::Outcome outcome,
                                            const v1::Failure& failure = {},
                                            v1::ModelEnded::LostCause cause = v1::ModelEnded::LOST_CAUSE_UNSPECIFIED);

 private:
  // Changes what is unrecorded of a trial, and of the node with it.
  void Count(Trial& trial, const std::function<void(EventWindow&)>& change);

  EventAmount* const all_unrecorded_;
  EventAmount unrecorded_;
  // Each event looks here.
  Map assignments_;
};

}  // namespace lanista

#endif  // LANISTA_ACTORS_NODE_ASSIGNMENTS_H_
