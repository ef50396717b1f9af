// Which Slurm jobs a head has, and which it wants. Decides only: Slurm's commands are run by slurm.cc, which says what
// they answered.
//
// A job is one node on one machine. Its name is PREFIX-NUMBER, and so is its node's; where Slurm has requeued the job
// the node is PREFIX-NUMBER.TIMES, because the first copy may still run.
//
//   (none) --(1)--> recorded --(2)--> queued --(3)--> joined --(4)--> ending --(6)--> (none)
//                      |                 |              |
//                      +--(6)            +--(5)--> ending (canceled)
//
//   1. Decide wants one more. Its number is in the ledger, on the disk, before sbatch is called.
//   2. sbatch said its id; or, where sbatch gave no answer, squeue shows a job of its name.
//   3. Its node has joined the head.
//   4. The node has left, was told to, or is lost. Slurm may requeue the job: it is queued again then, even where Slurm
//      has lost sight of the job's first copy and its node is still there.
//   5. Fewer are wanted for as long as the idle timeout, and it still waits in Slurm's queue.
//   6. squeue does not show it any more. Where sbatch gave no answer, twice: the first may have come too early.
//
// Where sbatch failed, the job may be there all the same (its answer was lost): no other is submitted before squeue has
// answered.
//
// Jobs that are refused, or end before their node has joined, or whose node leaves without ever having had work while
// some waited, delay the next one: 10 s, then twice as long each time, up to 10 min.
#ifndef LANISTA_SRC_DEVICES_SLURM_JOBS_H_
#define LANISTA_SRC_DEVICES_SLURM_JOBS_H_

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "protos/node.pb.h"
#include "protos/slurm.pb.h"

namespace lanista {

// A job, as squeue shows it.
struct QueuedJob {
  std::string id;
  std::string name;
  // "PENDING", "RUNNING", "COMPLETING", ...
  std::string state;
  // Why it waits: "Resources", "Priority", ...
  std::string reason;
};

// A plain class for one thread.
class SlurmJobs {
 public:
  struct Options {
    int devices_per_node = 1;
    int min_nodes = 0;
    int max_nodes = 1;
    absl::Duration idle_timeout = absl::Seconds(60);
    absl::Duration poll_interval = absl::Seconds(30);
    // In which file the job of a name leaves what it prints, for people.
    std::string log_folder;
  };
  // What is to be done now.
  struct Decision {
    // Write the ledger, then submit the job with this number.
    std::optional<int> submit;
    // Cancel those of these ids that still wait.
    std::vector<std::string> cancel;
    // Nodes that are to leave.
    std::vector<std::string> drain;
    // Call squeue.
    bool look = false;
  };

  // `ledger`: what is on the disk; with a prefix.
  SlurmJobs(Options options, const v1::SlurmLedger& ledger);

  // `waiting`: trials that nodes could run and no device is free for. `nodes`: all of the head.
  Decision Decide(absl::Time now, int waiting, const std::vector<v1::NodeStatus>& nodes);

  // sbatch answered.
  void Submitted(int number, const std::string& id);
  // It did not, or refused, in these words.
  void NotSubmitted(absl::Time now, int number, const std::string& why);
  // squeue answered when asked at `asked`.
  void Looked(absl::Time asked, absl::Time now, const std::vector<QueuedJob>& queue);
  // It did not, in these words.
  void NotLooked(absl::Time now, const std::string& why);

  std::string NameOf(int number) const;
  // To be on the disk.
  v1::SlurmLedger Ledger() const;
  // Devices that may come, beside those of the nodes that were there at the last decision: of nodes that are on their
  // way, and of as many as there are (one at least), so that the work that waits grows with the nodes and not faster.
  int ExpectedDevices() const;
  // Nodes that were asked for and have not joined.
  std::vector<v1::NodeStatus> Coming() const;
  // Why there are not enough nodes, for people; empty: none is lacking.
  std::string Because() const;

 private:
  struct Job {
    std::string id;
    std::string state;
    std::string reason;
    // When sbatch was called; of an earlier head's jobs, when this one began.
    absl::Time asked;
    // Looks that have not shown it, one after the other.
    int missing = 0;
    // A node of it is there: of one that was requeued, perhaps the first copy.
    bool here = false;
    // A node of it has joined since it was last pending: the copy of this number, or a later one.
    bool had_node = false;
    int next_copy = 0;
    // Of its nodes that have joined; -1: none has.
    int newest_copy = -1;
    // nullopt: it is not canceled.
    std::optional<absl::Time> canceled;
    // When sbatch failed for it, or gave no answer.
    std::optional<absl::Time> refused;
  };
  struct Node {
    int number = 0;
    int copy = 0;
    absl::Time joined;
    // nullopt: it has work.
    std::optional<absl::Time> idle_since;
    bool worked = false;
    bool leaving = false;
  };

  // The number and the copy that a node's name stands for; nullopt: it is none of ours.
  std::optional<std::pair<int, int>> Parse(absl::string_view name) const;
  void UpdateNodes(absl::Time now, const std::vector<v1::NodeStatus>& nodes);
  // What Slurm gave up, and would hold for ever.
  void CancelHeld(absl::Time now, Decision& decision);
  // Of a job that is requeued while its first copy lives, the first copy leaves.
  void DrainCopies(Decision& decision);
  void DrainIdle(absl::Time now, int waiting, Decision& decision);
  void CancelSurplus(absl::Time now, int needed, Decision& decision);
  // Slurm has requeued it and will never start it by itself.
  static bool IsHeld(const Job& job);
  // Jobs whose node may still join.
  static bool IsComing(const Job& job);
  int CountComing() const;
  // Nodes that stay, jobs or not.
  int CountHere() const;
  // Nodes that have just joined, and may get work in a moment.
  int CountSettling(absl::Time now) const;
  // sbatch failed, and squeue has not answered since.
  bool MayHaveAnother() const;
  // All that counts against max_nodes.
  int CountAll() const;
  void Delay(absl::Time now, const std::string& why);

  const Options options_;
  const std::string prefix_;
  int last_number_ = 0;
  std::map<int, Job> jobs_;
  // By name.
  std::map<std::string, Node> nodes_;
  // More jobs wait than are needed, since then.
  std::optional<absl::Time> surplus_since_;
  // When squeue was called last, and when last with an answer; nullopt: never.
  std::optional<absl::Time> looked_;
  std::optional<absl::Time> answered_;
  absl::Time not_before_ = absl::InfinitePast();
  int failures_ = 0;
  // What Slurm, or a job, did last that is in the way; empty: nothing.
  std::string problem_;
  std::string look_problem_;
};

}  // namespace lanista

#endif  // LANISTA_SRC_DEVICES_SLURM_JOBS_H_
