#include "actors/trial_queue.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace lanista {

void TrialQueue::Push(QueuedTrial trial) { waiting_.push_back(std::move(trial)); }

bool TrialQueue::Before(const QueuedTrial& a, const QueuedTrial& b) const {
  const auto rank = [this](const QueuedTrial& trial) {
    const auto running = running_.find(trial.spec.experiment());
    return std::make_tuple(!trial.spec.retry(), -trial.spec.priority(),
                           running == running_.end() ? 0 : running->second);
  };
  return rank(a) < rank(b);
}

std::optional<QueuedTrial> TrialQueue::Pop() {
  if (waiting_.empty()) return std::nullopt;
  auto next = waiting_.begin();
  for (auto candidate = std::next(next); candidate != waiting_.end(); ++candidate) {
    if (Before(*candidate, *next)) next = candidate;
  }
  QueuedTrial trial = std::move(*next);
  waiting_.erase(next);
  ++running_[trial.spec.experiment()];
  return trial;
}

void TrialQueue::Finished(const std::string& experiment) {
  const auto running = running_.find(experiment);
  if (running != running_.end() && --running->second == 0) running_.erase(running);
}

std::optional<QueuedTrial> TrialQueue::RemoveModel(const std::string& experiment, int trial, int model) {
  const auto waiting = std::find_if(waiting_.begin(), waiting_.end(), [&](const QueuedTrial& candidate) {
    return candidate.spec.trial() == trial && candidate.spec.experiment() == experiment;
  });
  if (waiting == waiting_.end()) return std::nullopt;
  auto& models = *waiting->spec.mutable_models();
  const auto member = std::find_if(models.begin(), models.end(),
                                   [&](const v1::TrialModel& candidate) { return candidate.model() == model; });
  if (member == models.end()) return std::nullopt;
  QueuedTrial removed;
  removed.spec.set_experiment(experiment);
  removed.spec.set_trial(trial);
  *removed.spec.add_models() = std::move(*member);
  removed.owner = waiting->owner;
  models.erase(member);
  if (models.empty()) waiting_.erase(waiting);
  return removed;
}

std::vector<QueuedTrial> TrialQueue::Remove(const std::string& experiment) {
  std::vector<QueuedTrial> removed;
  for (auto trial = waiting_.begin(); trial != waiting_.end();) {
    if (trial->spec.experiment() == experiment) {
      removed.push_back(std::move(*trial));
      trial = waiting_.erase(trial);
    } else {
      ++trial;
    }
  }
  return removed;
}

}  // namespace lanista
