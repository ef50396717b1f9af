// Nodes that train nothing, to measure a head with: they speak the protocol of protos/node.proto, each over a
// connection of its own.
//
// A trial starts when its assignment comes, reports at once, and succeeds: at once, or when EndOldest is called.
#ifndef LANISTA_BENCH_STUB_NODES_H_
#define LANISTA_BENCH_STUB_NODES_H_

#include <functional>
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
    // Trials end when EndOldest says so.
    bool hold = false;
    // Which program they claim to have, and what that finds in a space: the answers of a real trial process. Called on
    // threads of gRPC; must not block.
    std::string program;
    std::function<v1::Discovered(const v1::Discover&)> discover;
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

  // Of an experiment's trials those that are held.
  int held(const std::string& experiment) const;
  absl::Status AwaitHeld(const std::string& experiment, int trials, absl::Duration limit);
  // Ends the one that was held for the longest time; waits for one where there is none.
  absl::Status EndOldest(const std::string& experiment, absl::Duration limit);
  // Until the experiment has filled `count` of the slots that EndOldest took from it.
  absl::Status AwaitHandovers(const std::string& experiment, int count, absl::Duration limit);
  // Milliseconds from the end that EndOldest sent to the assignment that came for it, of all so far. Slots are alike,
  // and the head may fill any free one: so the first end belongs to the first assignment behind it, and so on.
  std::vector<double> handovers_ms(const std::string& experiment) const;

  // The longest time that the head took to answer a heartbeat.
  double slowest_beat_ms() const;

 private:
  class Impl;
  const std::unique_ptr<Impl> impl_;
};

}  // namespace lanista::bench

#endif  // LANISTA_BENCH_STUB_NODES_H_
