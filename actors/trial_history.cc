#include "actors/trial_history.h"

#include <algorithm>
#include <cstddef>

#include "actors/worker_restart_delay.h"

namespace lanista {
namespace {

// Of so many trials of an experiment the longest tells how long the next one may take.
constexpr size_t kDurations = 20;

}  // namespace

const DataNames& TrialHistory::DataOfTrials(const std::string& experiment) const {
  static const auto* const kNone = new DataNames;
  const auto found = data_.find(experiment);
  return found == data_.end() ? *kNone : found->second;
}

void TrialHistory::AddDuration(const std::string& experiment, std::chrono::milliseconds duration) {
  std::deque<std::chrono::milliseconds>& durations = durations_[experiment];
  durations.push_back(duration);
  if (durations.size() > kDurations) durations.pop_front();
}

std::optional<std::chrono::milliseconds> TrialHistory::Longest(const std::string& experiment) const {
  const auto durations = durations_.find(experiment);
  if (durations == durations_.end()) return std::nullopt;
  return *std::max_element(durations->second.begin(), durations->second.end());
}

std::chrono::seconds TrialHistory::AddRefusal(const std::string& experiment, const std::string& because,
                                              TimePoint now) {
  Refusals& refusals = refusals_[experiment];
  const std::chrono::seconds delay = RestartDelay(++refusals.count);
  refusals.because = because;
  refusals.until = now + delay;
  return delay;
}

bool TrialHistory::WasRefused(const std::string& experiment, TimePoint now) const {
  const auto found = refusals_.find(experiment);
  return found != refusals_.end() && now < found->second.until;
}

void TrialHistory::Forget(const std::string& experiment) {
  durations_.erase(experiment);
  refusals_.erase(experiment);
}

}  // namespace lanista
