// The order in which trials wait for a device.
#ifndef LANISTA_ACTORS_TRIAL_QUEUE_H_
#define LANISTA_ACTORS_TRIAL_QUEUE_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "actors/interfaces.h"

namespace lanista {

// A trial and whom to tell of it.
struct QueuedTrial {
  v1::TrialSpec spec;
  TrialOwnerActor owner;
  // When it came.
  std::chrono::steady_clock::time_point since = {};
  // Since it was given to a device: it was canceled, or these of its models were stopped.
  bool canceled = false;
  std::set<int> stopped{};
  // How often it came back from a device without having begun.
  int returned = 0;
  // All that it said is in the journal.
  bool recorded = false;
};

// Retries go first; then the higher priority; then the experiment with fewer trials running (fair share); then who came
// first.
//
// Not every trial may run on the device that is free: Pop takes the first one that suits. So that a trial that needs
// one of the few large devices does not starve there, because others have fewer trials running (on all the small ones),
// it goes before its equals once kMostOvertaken trials that came later have gone before it.
//
// Trials of an experiment that need the same of a device wait in one line. Pop looks at the first of each line only.
//
// A plain class for one thread.
class TrialQueue {
 public:
  // Whether a trial may go now. Depends on its experiment (whose trials read the same data), program and estimated
  // memory alone.
  using Suits = std::function<bool(const v1::TrialSpec&)>;

  void Push(QueuedTrial trial);

  // A trial that Pop gave out, and that is Finished, did not begin: it waits again, before its equals.
  void Return(QueuedTrial trial);

  // Takes the next trial that suits out; its experiment counts as running one more until Finished. nullopt if there is
  // none.
  std::optional<QueuedTrial> Pop(const Suits& suits = [](const v1::TrialSpec&) { return true; });

  // A trial runs that Pop did not give out: its experiment counts as running one more until Finished.
  void Began(const std::string& experiment) { ++experiments_[experiment].running; }

  // A trial that Pop gave out, or that Began, is over.
  void Finished(const std::string& experiment);

  // Takes a model out of the trial with this number, and with its last one the trial. Returns a trial of that model
  // alone; nullopt if none such waits.
  std::optional<QueuedTrial> RemoveModel(const std::string& experiment, int trial, int model);

  // Takes all waiting trials of an experiment out, in order of arrival.
  std::vector<QueuedTrial> Remove(const std::string& experiment);

  bool empty() const { return size_ == 0; }
  size_t size() const { return size_; }
  // When the trial came that has waited longest; nullopt: none waits.
  std::optional<std::chrono::steady_clock::time_point> OldestSince() const;

  // Of each line of the experiment the trial that is its first.
  std::vector<const v1::TrialSpec*> FirstOfLines(const std::string& experiment) const;
  // How many trials wait that suit.
  int Count(const Suits& suits) const;
  // Those with trials that wait.
  std::vector<std::string> Experiments() const;

 private:
  static constexpr int kMostOvertaken = 32;

  // Retries first, then by priority; then what the trials need: program and estimated memory.
  using LineKey = std::tuple<bool, int, std::string, int64_t>;
  struct Line {
    // By arrival.
    std::map<int64_t, QueuedTrial> trials;
    // How many trials that came later have gone before its first one, where that might have gone.
    int overtaken = 0;
  };
  struct Experiment {
    std::map<LineKey, Line> lines;
    // Where each trial waits.
    std::map<int, std::pair<LineKey, int64_t>> places;
    int running = 0;
  };
  using Lines = std::map<LineKey, Line>;

  static LineKey KeyOf(const v1::TrialSpec& spec);
  void Insert(QueuedTrial trial, int64_t arrival);
  QueuedTrial Take(Experiment& experiment, Lines::iterator line, int64_t arrival);
  // Forgets an experiment of which nothing waits or runs.
  void Forget(const std::string& experiment);

  std::map<std::string, Experiment> experiments_;
  size_t size_ = 0;
  // When each that waits came.
  std::multiset<std::chrono::steady_clock::time_point> since_;
  int64_t arrivals_ = 0;
  int64_t returns_ = 0;
};

}  // namespace lanista

#endif  // LANISTA_ACTORS_TRIAL_QUEUE_H_
