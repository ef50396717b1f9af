#include "actors/trial_queue.h"

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
