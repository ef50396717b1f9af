// The order in which trials wait for a device.
#ifndef LANISTA_ACTORS_TRIAL_QUEUE_H_
#define LANISTA_ACTORS_TRIAL_QUEUE_H_

#include <cstddef>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "actors/interfaces.h"

namespace lanista {

// A trial and whom to tell of it.
struct QueuedTrial {
  v1::TrialSpec spec;
  TrialOwnerActor owner;
};

// Retries go first; then the higher priority; then the experiment with fewer trials running (fair share); then who came
// first. A plain class for one thread.
class TrialQueue {
 public:
  void Push(QueuedTrial trial);

  // Takes the next trial out; its experiment counts as running one more until Finished. nullopt if none waits.
  std::optional<QueuedTrial> Pop();

  // A trial that Pop gave out is over.
  void Finished(const std::string& experiment);

  // Takes a model out of the trial with this number, and with its last one the trial. Returns a trial of that model
  // alone; nullopt if none such waits.
  std::optional<QueuedTrial> RemoveModel(const std::string& experiment, int trial, int model);

  // Takes all waiting trials of an experiment out.
  std::vector<QueuedTrial> Remove(const std::string& experiment);

  bool empty() const { return waiting_.empty(); }

 private:
  // Whether `a` goes before `b`, which came earlier.
  bool Before(const QueuedTrial& a, const QueuedTrial& b) const;

  // In order of arrival.
  std::list<QueuedTrial> waiting_;
  std::map<std::string, int> running_;
};

}  // namespace lanista

#endif  // LANISTA_ACTORS_TRIAL_QUEUE_H_
