#include "actors/trial_queue.h"

#include <algorithm>

namespace lanista {

TrialQueue::LineKey TrialQueue::KeyOf(const v1::TrialSpec& spec) {
  return {!spec.retry(), -spec.priority(), spec.program(), spec.estimated_memory()};
}

void TrialQueue::Push(QueuedTrial trial) { Insert(std::move(trial), ++arrivals_); }

void TrialQueue::Return(QueuedTrial trial) { Insert(std::move(trial), -++returns_); }

void TrialQueue::Insert(QueuedTrial trial, int64_t arrival) {
  Experiment& experiment = experiments_[trial.spec.experiment()];
  const LineKey key = KeyOf(trial.spec);
  experiment.places[trial.spec.trial()] = {key, arrival};
  since_.insert(trial.since);
  experiment.lines[key].trials.emplace(arrival, std::move(trial));
  ++size_;
}

std::optional<QueuedTrial> TrialQueue::Pop(const Suits& suits) {
  // Retry, priority; whether it was overtaken too often; running, arrival.
  using Rank = std::tuple<bool, int, bool, int, int64_t>;
  struct Candidate {
    Rank rank;
    Experiment* experiment;
    Lines::iterator line;
  };
  std::vector<Candidate> candidates;
  for (auto& entry : experiments_) {
    Lines& lines = entry.second.lines;
    for (auto line = lines.begin(); line != lines.end(); ++line) {
      const auto& [arrival, first] = *line->second.trials.begin();
      if (!suits(first.spec)) continue;
      candidates.push_back({{std::get<0>(line->first), std::get<1>(line->first),
                             line->second.overtaken < kMostOvertaken, entry.second.running, arrival},
                            &entry.second,
                            line});
    }
  }
  const auto next = std::min_element(candidates.begin(), candidates.end(),
                                     [](const Candidate& a, const Candidate& b) { return a.rank < b.rank; });
  if (next == candidates.end()) return std::nullopt;
  const int64_t arrival = std::get<4>(next->rank);
  for (const Candidate& other : candidates) other.line->second.overtaken += std::get<4>(other.rank) < arrival;
  next->line->second.overtaken = 0;
  ++next->experiment->running;
  return Take(*next->experiment, next->line, arrival);
}

QueuedTrial TrialQueue::Take(Experiment& experiment, Lines::iterator line, int64_t arrival) {
  const auto found = line->second.trials.find(arrival);
  QueuedTrial trial = std::move(found->second);
  line->second.trials.erase(found);
  if (line->second.trials.empty()) experiment.lines.erase(line);
  experiment.places.erase(trial.spec.trial());
  since_.erase(since_.find(trial.since));
  --size_;
  return trial;
}

void TrialQueue::Finished(const std::string& experiment) {
  const auto found = experiments_.find(experiment);
  if (found == experiments_.end() || found->second.running == 0) return;
  --found->second.running;
  Forget(experiment);
}

void TrialQueue::Forget(const std::string& experiment) {
  const auto found = experiments_.find(experiment);
  if (found->second.running == 0 && found->second.lines.empty()) experiments_.erase(found);
}

std::optional<QueuedTrial> TrialQueue::RemoveModel(const std::string& experiment, int trial, int model) {
  const auto found = experiments_.find(experiment);
  if (found == experiments_.end()) return std::nullopt;
  const auto place = found->second.places.find(trial);
  if (place == found->second.places.end()) return std::nullopt;
  const auto line = found->second.lines.find(place->second.first);
  const int64_t arrival = place->second.second;
  QueuedTrial& waiting = line->second.trials.at(arrival);
  auto& models = *waiting.spec.mutable_models();
  const auto member = std::find_if(models.begin(), models.end(),
                                   [&](const v1::TrialModel& candidate) { return candidate.model() == model; });
  if (member == models.end()) return std::nullopt;
  QueuedTrial removed;
  removed.spec.set_experiment(experiment);
  removed.spec.set_trial(trial);
  *removed.spec.add_models() = std::move(*member);
  removed.owner = waiting.owner;
  models.erase(member);
  if (models.empty()) {
    Take(found->second, line, arrival);
    Forget(experiment);
  }
  return removed;
}

std::vector<QueuedTrial> TrialQueue::Remove(const std::string& experiment) {
  std::vector<QueuedTrial> removed;
  const auto found = experiments_.find(experiment);
  if (found == experiments_.end()) return removed;
  std::map<int64_t, QueuedTrial> waiting;
  for (auto& line : found->second.lines) waiting.merge(line.second.trials);
  for (auto& trial : waiting) {
    since_.erase(since_.find(trial.second.since));
    removed.push_back(std::move(trial.second));
  }
  size_ -= removed.size();
  found->second.lines.clear();
  found->second.places.clear();
  Forget(experiment);
  return removed;
}

std::optional<std::chrono::steady_clock::time_point> TrialQueue::OldestSince() const {
  if (since_.empty()) return std::nullopt;
  return *since_.begin();
}

std::vector<const v1::TrialSpec*> TrialQueue::FirstOfLines(const std::string& experiment) const {
  std::vector<const v1::TrialSpec*> first;
  const auto found = experiments_.find(experiment);
  if (found == experiments_.end()) return first;
  for (const auto& line : found->second.lines) first.push_back(&line.second.trials.begin()->second.spec);
  return first;
}

int TrialQueue::Count(const Suits& suits) const {
  size_t count = 0;
  for (const auto& entry : experiments_) {
    for (const auto& line : entry.second.lines) {
      if (suits(line.second.trials.begin()->second.spec)) count += line.second.trials.size();
    }
  }
  return static_cast<int>(count);
}

std::vector<std::string> TrialQueue::Experiments() const {
  std::vector<std::string> experiments;
  for (const auto& [experiment, state] : experiments_) {
    if (!state.lines.empty()) experiments.push_back(experiment);
  }
  return experiments;
}

}  // namespace lanista
