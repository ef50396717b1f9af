// What models have to reach so that their weights are kept, of all experiments of a head.
#ifndef LANISTA_SRC_EXPERIMENT_WEIGHTS_BARS_H_
#define LANISTA_SRC_EXPERIMENT_WEIGHTS_BARS_H_

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "protos/trial.pb.h"

namespace lanista {

// Experiments say theirs, whenever an outcome is in the journal; nodes are told. One object a head, because a node asks
// for the bar at the end of each model: the experiment's actor would answer behind all that is reported. Thread-safe.
class WeightsBars {
 public:
  // Absent: any model's weights may be kept, or the experiment has ended.
  void Set(const std::string& experiment, std::optional<v1::WeightsBar> bar) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (bar.has_value()) {
      bars_[experiment] = *std::move(bar);
    } else {
      bars_.erase(experiment);
    }
  }

  // Without a metric where there is none.
  v1::WeightsBar Get(const std::string& experiment) const {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = bars_.find(experiment);
    return found == bars_.end() ? v1::WeightsBar() : found->second;
  }

 private:
  mutable std::mutex mutex_;
  // Protected by mutex_.
  std::map<std::string, v1::WeightsBar> bars_;
};

using WeightsBarsPtr = std::shared_ptr<WeightsBars>;

}  // namespace lanista

#endif  // LANISTA_SRC_EXPERIMENT_WEIGHTS_BARS_H_
