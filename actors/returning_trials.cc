#include "actors/returning_trials.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace lanista {
namespace {

v1::ReturningTrial ToProto(const ReturningTrials::Trial& trial) {
  v1::ReturningTrial proto;
  *proto.mutable_spec() = trial.queued.spec;
  *proto.mutable_device() = trial.device;
  *proto.mutable_recorded() = {trial.recorded.begin(), trial.recorded.end()};
  *proto.mutable_stopped() = {trial.queued.stopped.begin(), trial.queued.stopped.end()};
  proto.set_assignment(trial.assignment);
  return proto;
}

}  // namespace

std::string WhyNotToKeep(const v1::ReturningTrial& wanted, const v1::HeldTrial& held) {
  if (!wanted.assignment().empty() && held.assignment() != wanted.assignment()) {
    return "what began there was another assignment";
  }
  for (int i = 0; i < wanted.spec().models_size(); ++i) {
    const v1::TrialModel& model = wanted.spec().models(i);
    const auto attempt =
        std::find_if(held.attempts().begin(), held.attempts().end(),
                     [&](const v1::HeldAttempt& candidate) { return candidate.model() == model.model(); });
    if (attempt == held.attempts().end() || attempt->attempt() != model.attempt()) {
      return absl::StrCat("it has no attempt ", model.attempt(), " of model ", model.model());
    }
    if (attempt->recorded() > wanted.recorded(i)) {
      return absl::StrCat("the journal has lost what model ", model.model(), " reported");
    }
  }
  return "";
}

void ReturningTrials::GiveUp(const std::string& experiment) {
  expected_.erase(experiment);
  Lost lost;
  SettleAll(experiment, &lost);
}

ReturningTrials::Lost ReturningTrials::Add(const v1::ReturningTrials& trials, const TrialOwnerActor& owner) {
  expected_.erase(trials.experiment());
  for (const v1::ReturningTrial& proto : trials.trials()) {
    Trial trial{{proto.spec(), owner},
                proto.device(),
                {proto.recorded().begin(), proto.recorded().end()},
                proto.assignment(),
                {}};
    trial.queued.stopped = {proto.stopped().begin(), proto.stopped().end()};
    size_ += trials_[trials.experiment()].emplace(proto.spec().trial(), std::move(trial)).second;
  }
  Lost lost;
  SettleAll(trials.experiment(), &lost);
  // Those of nodes that came before, without them.
  const std::map<int, Trial> now = Of(trials.experiment());
  for (const auto& [number, trial] : now) {
    const bool is_here =
        std::any_of(nodes_.begin(), nodes_.end(), [&](const Node& node) { return node.name == trial.device.node(); });
    if (trial.worker == nullptr && is_here) lost.push_back(Take(trials.experiment(), number));
  }
  return lost;
}

ReturningTrials::Lost ReturningTrials::OnNode(const v1::NodeReturned& returned, const WorkerActor& worker,
                                              Answer answer) {
  Node& node = nodes_.emplace_back();
  node.name = returned.node();
  node.worker = worker;
  node.held = {returned.trials().begin(), returned.trials().end()};
  node.answer = std::move(answer);
  std::set<std::string> experiments;
  for (const v1::HeldTrial& held : node.held) experiments.insert(held.experiment());
  Lost lost;
  for (const std::string& experiment : experiments) {
    if (expected_.count(experiment) > 0) {
      node.open.insert(experiment);
    } else {
      Settle(node, experiment, &lost);
    }
  }
  for (const std::string& experiment : Experiments()) {
    const std::map<int, Trial> now = Of(experiment);
    for (const auto& [number, trial] : now) {
      if (trial.worker == nullptr && trial.device.node() == node.name) lost.push_back(Take(experiment, number));
    }
  }
  AnswerIfSettled(node);
  return lost;
}

std::optional<WorkerActor> ReturningTrials::WorkerOf(const std::string& node) const {
  const auto found =
      std::find_if(nodes_.begin(), nodes_.end(), [&node](const Node& candidate) { return candidate.name == node; });
  return found == nodes_.end() ? std::nullopt : std::make_optional(found->worker);
}

ReturningTrials::Lost ReturningTrials::OnNodeGone(const caf::actor_addr& worker) {
  Lost lost;
  const auto gone =
      std::find_if(nodes_.begin(), nodes_.end(), [&](const Node& node) { return node.worker.address() == worker; });
  if (gone == nodes_.end()) return lost;
  for (const std::string& experiment : Experiments()) {
    const std::map<int, Trial> now = Of(experiment);
    for (const auto& [number, trial] : now) {
      if (trial.worker == gone->worker) lost.push_back(Take(experiment, number));
    }
  }
  nodes_.erase(gone);
  return lost;
}

ReturningTrials::Lost ReturningTrials::Overdue(const std::string& experiment) {
  Lost lost;
  const std::map<int, Trial> now = Of(experiment);
  for (const auto& [number, trial] : now) {
    if (trial.worker == nullptr) lost.push_back(Take(experiment, number));
  }
  return lost;
}

bool ReturningTrials::is_awaited(const std::string& experiment) const {
  return std::any_of(nodes_.begin(), nodes_.end(), [&](const Node& node) { return node.open.count(experiment) > 0; });
}

ReturningTrials::Trial* ReturningTrials::Find(const std::string& experiment, int trial) {
  const auto trials = trials_.find(experiment);
  if (trials == trials_.end()) return nullptr;
  const auto found = trials->second.find(trial);
  return found == trials->second.end() ? nullptr : &found->second;
}

const std::map<int, ReturningTrials::Trial>& ReturningTrials::Of(const std::string& experiment) const {
  static const auto& none = *new std::map<int, Trial>();
  const auto found = trials_.find(experiment);
  return found == trials_.end() ? none : found->second;
}

ReturningTrials::Trial ReturningTrials::Take(const std::string& experiment, int trial) {
  const auto trials = trials_.find(experiment);
  const auto found = trials->second.find(trial);
  Trial taken = std::move(found->second);
  trials->second.erase(found);
  if (trials->second.empty()) trials_.erase(trials);
  --size_;
  return taken;
}

std::vector<std::string> ReturningTrials::Experiments() const {
  std::vector<std::string> experiments;
  for (const auto& entry : trials_) experiments.push_back(entry.first);
  return experiments;
}

std::string ReturningTrials::Lacking(const std::string& experiment) const {
  std::map<std::string, std::vector<int>> by_node;
  for (const auto& [number, trial] : Of(experiment)) {
    if (trial.worker == nullptr) by_node[trial.device.node()].push_back(number);
  }
  std::vector<std::string> lacking;
  for (const auto& [node, numbers] : by_node) {
    lacking.push_back(absl::StrCat("node ", node, " to return with ", numbers.size() == 1 ? "trial " : "trials ",
                                   absl::StrJoin(numbers, ", ")));
  }
  return absl::StrJoin(lacking, "; ");
}

void ReturningTrials::Settle(Node& node, const std::string& experiment, Lost* lost) {
  node.open.erase(experiment);
  for (const v1::HeldTrial& held : node.held) {
    if (held.experiment() != experiment) continue;
    Trial* const trial = Find(experiment, held.trial());
    if (trial == nullptr || trial->worker != nullptr || trial->device.node() != node.name) continue;
    v1::ReturningTrial wanted = ToProto(*trial);
    if (!WhyNotToKeep(wanted, held).empty()) {
      lost->push_back(Take(experiment, held.trial()));
      continue;
    }
    trial->worker = node.worker;
    *node.kept.add_trials() = std::move(wanted);
  }
}

void ReturningTrials::SettleAll(const std::string& experiment, Lost* lost) {
  for (Node& node : nodes_) {
    if (node.open.count(experiment) == 0) continue;
    Settle(node, experiment, lost);
    AnswerIfSettled(node);
  }
}

void ReturningTrials::AnswerIfSettled(Node& node) {
  if (!node.open.empty() || node.answer == nullptr) return;
  node.held.clear();
  std::exchange(node.answer, nullptr)(std::move(node.kept));
}

}  // namespace lanista
