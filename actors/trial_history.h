// What a training service remembers of each experiment's trials, to find devices for the next ones.
#ifndef LANISTA_ACTORS_TRIAL_HISTORY_H_
#define LANISTA_ACTORS_TRIAL_HISTORY_H_

#include <chrono>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "actors/data_names.h"
#include "caf/actor_clock.hpp"

namespace lanista {

// A plain class for one thread.
class TrialHistory {
 public:
  using TimePoint = caf::actor_clock::time_point;

  // The data that all of its trials read.
  void SetData(const std::string& experiment, DataNames data) { data_[experiment] = std::move(data); }
  void ForgetData(const std::string& experiment) { data_.erase(experiment); }
  // Empty: they read none.
  const DataNames& DataOfTrials(const std::string& experiment) const;

  // One of its trials took so long.
  void AddDuration(const std::string& experiment, std::chrono::milliseconds duration);
  // Of the last few; nullopt: none has ended.
  std::optional<std::chrono::milliseconds> Longest(const std::string& experiment) const;

  // A node could not take work of the experiment, perhaps because its data has no room there: no node is asked for a
  // while that grows, because it would be the first to be asked for again. Returns that while.
  std::chrono::seconds AddRefusal(const std::string& experiment, const std::string& because, TimePoint now);
  // Whether that is so now.
  bool WasRefused(const std::string& experiment, TimePoint now) const;
  // REQUIRES: it was refused, and its work was not done since.
  const std::string& WhyRefused(const std::string& experiment) const { return refusals_.at(experiment).because; }
  // Its work was done, or is not to be done any more.
  void ForgetRefusals(const std::string& experiment) { refusals_.erase(experiment); }

  // Its trials are over: all but what they read is forgotten.
  void Forget(const std::string& experiment);

 private:
  // Nodes that gave work of an experiment back, since the last of it was done.
  struct Refusals {
    int count = 0;
    std::string because;
    // No node is asked before.
    TimePoint until = TimePoint::min();
  };

  // Only of those that read data.
  std::map<std::string, DataNames> data_;
  std::map<std::string, std::deque<std::chrono::milliseconds>> durations_;
  std::map<std::string, Refusals> refusals_;
};

}  // namespace lanista

#endif  // LANISTA_ACTORS_TRIAL_HISTORY_H_
