#include "actors/ended_trials.h"

namespace lanista {

void EndedTrials::Add(const std::string& experiment, int trial, const WorkerActor& worker,
                      const caf::actor_addr& owner) {
  trials_[experiment][trial] = {worker, owner};
}

std::optional<WorkerActor> EndedTrials::Recorded(const std::string& experiment, int trial) {
  const auto trials = trials_.find(experiment);
  if (trials == trials_.end()) return std::nullopt;
  const auto ended = trials->second.find(trial);
  if (ended == trials->second.end()) return std::nullopt;
  WorkerActor worker = std::move(ended->second.worker);
  trials->second.erase(ended);
  if (trials->second.empty()) trials_.erase(trials);
  return worker;
}

std::vector<std::pair<int, WorkerActor>> EndedTrials::OwnerGone(const std::string& experiment,
                                                                const caf::actor_addr& owner) {
  std::vector<std::pair<int, WorkerActor>> gone;
  const auto trials = trials_.find(experiment);
  if (trials == trials_.end()) return gone;
  for (auto next = trials->second.begin(); next != trials->second.end();) {
    const auto ended = next++;
    if (ended->second.owner != owner) continue;
    gone.emplace_back(ended->first, std::move(ended->second.worker));
    trials->second.erase(ended);
  }
  if (trials->second.empty()) trials_.erase(trials);
  return gone;
}

}  // namespace lanista
