// Nodes that train nothing, to measure a head with: they speak the protocol of protos/node.proto, each over a
// connection of its own.
//
// A trial starts when its assignment comes, reports at once, and succeeds: at once, or when it is told to.
#ifndef LANISTA_BENCH_STUB_NODES_H_
#define LANISTA_BENCH_STUB_NODES_H_

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "protos/trial.pb.h"

namespace lanista::bench {

// Used by one thread. What waits returns DEADLINE_EXCEEDED after `limit`, with what it waited for; or at once an error
// of a node: its connection ended, or the head sent what it must not.
class StubNodes {
 public:
  struct Options {
    // The head's: "127.0.0.1:7421".
    std::string head;
    int nodes = 1;
    // CPU slots of each.
    int slots = 8;
    // Of each model of a trial: how often it reports `default` before it ends. REQUIRES: fewer than
    // EventWindow::kEvents, so that no real node would make the trial wait.
    int reports = 0;
    // Trials end when EndOldest or EndAll says so.
    bool hold = false;
    // What they answer to whatever they are to discover: of a real trial process, whose program they claim to have.
    v1::Discovered discovered;
  };

  // They begin to join.
  explicit StubNodes(Options options);
  // Ends their connections without a word.
  ~StubNodes();
  StubNodes(const StubNodes&) = delete;
  StubNodes& operator=(const StubNodes&) = delete;

  // Until the head has welcomed all.
  absl::Status AwaitJoined(absl::Duration limit);
  // Until so many trials are over: the head has received their last news.
  absl::Status AwaitEnded(int trials, absl::Duration limit);
  // Until so many trials are held.
  absl::Status AwaitHeld(int trials, absl::Duration limit);

  // Ends the trial that was held for the longest time; waits for one where there is none.
  absl::Status EndOldest(absl::Duration limit);
  // Until the head has filled `count` of the slots that EndOldest made free.
  absl::Status AwaitHandovers(int count, absl::Duration limit);
  // Milliseconds from the end that EndOldest sent to the assignment that came for it, of all so far. Slots are alike,
  // and the head may fill any free one: so the first end belongs to the first assignment behind it, and so on.
  std::vector<double> handovers_ms() const;
  // Ends all that are held; no trial is held any more.
  void EndAll();

  // The longest time that the head took to answer a heartbeat.
  double slowest_beat_ms() const;

 private:
  class Impl;
  const std::unique_ptr<Impl> impl_;
};

}  // namespace lanista::bench

#endif  // LANISTA_BENCH_STUB_NODES_H_
