// Trials that ran on nodes when the head before this one ended.
//
// An experiment that goes on says which trials it wants back (Add). Each of them waits for its node:
//
//   WAITING --(1)--> BACK --(3)--> (gone)
//      \                            ^
//       +------------(2)------------+
//
//   1. The node joined and has the trial, with the same attempts and with everything that the journal lacks.
//   2. The node joined without it, or did not join in time, or nobody wants the trial any more.
//   3. The trial has ended, or its node is gone.
//
// Nodes and experiments come in any order. A node is answered when all experiments that it has trials of are known:
// those that are about to go on (Expect) have said what they want, or that they do not go on (GiveUp).
//
// A plain class for one thread. It sends nothing: what has to be told to owners is returned.
#ifndef LANISTA_ACTORS_RETURNING_TRIALS_H_
#define LANISTA_ACTORS_RETURNING_TRIALS_H_

#include <cstddef>
#include <functional>
#include <list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "actors/interfaces.h"
#include "actors/trial_queue.h"

namespace lanista {

class ReturningTrials {
 public:
  struct Trial {
    QueuedTrial queued;
    // `node` is the node's name.
    v1::Device device;
    // v1::ReturningTrial's.
    std::vector<int> recorded;
    std::string assignment;
    // Null: it waits for its node.
    WorkerActor worker;
  };
  using Lost = std::vector<Trial>;
  using Answer = std::function<void(v1::KeptTrials)>;

  // The experiment is about to go on.
  void Expect(const std::string& experiment) { expected_.insert(experiment); }
  // It does not go on, or not with trials of nodes.
  void GiveUp(const std::string& experiment);
  // It goes on, and these are the trials that it wants back. Returns those whose node is here without them.
  Lost Add(const v1::ReturningTrials& trials, const TrialOwnerActor& owner);
  // The node is here, with these trials. `answer` is called once, now or later. Returns those that it lacks.
  Lost OnNode(const v1::NodeReturned& returned, const WorkerActor& worker, Answer answer);
  // A node that was here is gone. Returns what had come back with it and has not ended.
  Lost OnNodeGone(const caf::actor_addr& worker);
  // Returns the experiment's trials that still wait: for too long.
  Lost Overdue(const std::string& experiment);

  // The worker of a node that is here, which goes when the node does; nullopt: there is no such node.
  std::optional<WorkerActor> WorkerOf(const std::string& node) const;
  // Whether a node waits to hear what this experiment wants.
  bool is_awaited(const std::string& experiment) const;
  // nullptr: there is none.
  Trial* Find(const std::string& experiment, int trial);
  // By number; empty: there are none.
  const std::map<int, Trial>& Of(const std::string& experiment) const;
  // It is gone. REQUIRES: there is one.
  Trial Take(const std::string& experiment, int trial);
  size_t size() const { return size_; }
  // The experiments that have trials here.
  std::vector<std::string> Experiments() const;
  // Which nodes the experiment's trials wait for, for people ("node a to return with trial 7"). Empty: they do not
  // wait.
  std::string Lacking(const std::string& experiment) const;

 private:
  // A node that is here.
  struct Node {
    std::string name;
    WorkerActor worker;
    std::vector<v1::HeldTrial> held;
    // Experiments that have not said what they want, and what goes on of the others.
    std::set<std::string> open;
    v1::KeptTrials kept;
    // Null: it was answered.
    Answer answer;
  };

  // Settles what the node has of an experiment whose wishes are known.
  void Settle(Node& node, const std::string& experiment, Lost* lost);
  void SettleAll(const std::string& experiment, Lost* lost);
  static void AnswerIfSettled(Node& node);

  std::set<std::string> expected_;
  std::map<std::string, std::map<int, Trial>> trials_;
  size_t size_ = 0;
  std::list<Node> nodes_;
};

// Why the node cannot go on with the trial; empty: it can.
std::string WhyNotToKeep(const v1::ReturningTrial& wanted, const v1::HeldTrial& held);

}  // namespace lanista

#endif  // LANISTA_ACTORS_RETURNING_TRIALS_H_
