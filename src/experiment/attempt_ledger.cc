#include "src/experiment/attempt_ledger.h"

#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "src/base/hash.h"
#include "src/base/metric_names.h"
#include "src/storage/state_dir.h"

namespace lanista {
namespace {

// A model whose attempts were lost this often has failed: the model may be the cause after all.
constexpr int kMaxLost = 3;
// If this many models in a row failed that way, no model can run here.
constexpr int kMaxLostInARow = 3;

// If this many models in a row cost too much, nearly all models do.
constexpr int kMaxInfeasibleInARow = 10000;

// A model that was lost with this many different nodes has failed: it may be what takes them down.
constexpr size_t kMaxLostNodes = 3;
// And so has one that the same one or two nodes were lost with so often: it will not end there.
constexpr int kMaxNodeLosses = 10;

bool IsLost(const v1::ModelEnded& ended, v1::ModelEnded::LostCause cause) {
  return ended.outcome() == v1::ModelEnded::LOST && ended.lost_cause() == cause;
}

// Whether the attempt was lost for a reason that says nothing about the model.
bool IsBlameless(const v1::ModelEnded& ended) {
  return IsLost(ended, v1::ModelEnded::HEAD_ENDED) || IsLost(ended, v1::ModelEnded::NODE_LEFT);
}

}  // namespace

v1::TellRequest TellOf(const v1::ModelOutcome& outcome, v1::Sample sample, int steps, const Goals& goals) {
  v1::TellRequest tell;
  tell.set_model(outcome.model());
  *tell.mutable_sample() = std::move(sample);
  tell.set_outcome(outcome.outcome());
  // A model that was not trained has costs and no other metrics.
  if (outcome.outcome() != v1::ModelEnded::INFEASIBLE) {
    const auto& metrics = outcome.metrics().values();
    const auto value = metrics.find(goals.objectives()[0].metric);
    // The rule of Goals::Values. NaN would have no place in the order of a strategy's observations.
    if (value != metrics.end() && std::isfinite(value->second)) tell.set_value(value->second);
    if (goals.has_several_objectives() && goals.Values(outcome.metrics()).has_value()) {
      for (const Goal& goal : goals.objectives()) tell.add_objectives(metrics.at(goal.metric));
    }
  }
  tell.set_violation(goals.Violation(outcome.metrics()));
  // Steps that a trial reported before it was told to stop do not count.
  tell.set_steps(outcome.stopped_step() > 0 ? outcome.stopped_step() : steps);
  return tell;
}

bool StepCounter::Add(const v1::Intermediate& report) {
  if (report.metrics().values().count(kDefaultMetric) == 0 || report.step() <= last_report_) return false;
  last_report_ = report.step();
  ++steps_;
  return true;
}

AttemptLedger::AttemptLedger(const v1::ExperimentConfig& config, uint64_t seed, std::string folder)
    : seed_(seed), folder_(std::move(folder)), goals_(config), judges_(config.has_early_stopping()) {
  if (config.keep_weights().best() > 0) kept_weights_.emplace(config.keep_weights().best(), goals_);
}

v1::TrialModel AttemptLedger::Create(const v1::Sample& sample) {
  const int ordinal = ++models_;
  v1::TrialModel& model = open_[ordinal].model;
  model.set_model(ordinal);
  model.set_attempt(1);
  model.set_model_seed(ModelSeed(seed_, static_cast<uint64_t>(ordinal)));
  model.set_checkpoint_folder(absl::StrCat(folder_, "/", CheckpointFolder(ordinal)));
  *model.mutable_sample() = sample;
  in_flight_.Add(ordinal);
  return model;
}

absl::Status AttemptLedger::Plan(const v1::TrialQueued& trial) {
  if (canceled_) return absl::CancelledError("the experiment is being stopped: no trial begins any more");
  for (const v1::TrialMember& member : trial.members()) {
    PlanOne(member.model(), member.attempt(), trial.trial(), trial.members_size() > 1, trial.alone_because());
  }
  return absl::OkStatus();
}

void AttemptLedger::PlanOne(int model, int attempt, int trial, bool merged, const std::string& alone_because) {
  RestoreTrials(trial);
  const auto found = open_.find(model);
  if (found == open_.end()) return;
  Open& open = found->second;
  open.model.set_attempt(attempt);
  open.trial = trial;
  open.node.clear();
  open.merged = merged;
  // If another attempt follows, the end of this one was judged. Journals of older versions, which had no verdicts, do
  // not say so.
  open.end.reset();
  open.alone_because = alone_because;
  in_flight_.Plan(model, trial);
  if (!kept_weights_.has_value()) return;
  kept_weights_->Plan(model, attempt, TrialOutputFolder(trial, model, merged));
}

bool AttemptLedger::Note(const v1::ModelEvent& event) {
  const auto found = open_.find(event.model());
  if (found == open_.end() || found->second.model.attempt() != event.attempt()) return false;
  Open& open = found->second;
  v1::TrialModel& model = open.model;
  if (event.has_started()) open.node = event.started().device().node();
  if (event.has_started() && event.started().resumed_steps() == 0) model.set_reported_steps(0);
  if (!event.has_intermediate()) return false;
  const v1::Intermediate& report = event.intermediate();
  if (report.step() == model.reported_steps()) model.set_reported_steps(model.reported_steps() + 1);
  if (!open.steps.Add(report) || !judges_ || open.stopped.has_value()) return false;
  open.unjudged.push_back({open.steps.steps(), event.attempt(), event.sequence(), report.metrics()});
  return true;
}

std::optional<v1::StepReport> AttemptLedger::Recorded(const v1::ModelEvent& event) {
  const auto found = open_.find(event.model());
  if (found == open_.end()) return std::nullopt;
  for (Step& step : found->second.unjudged) {
    if (step.attempt == event.attempt() && step.sequence == event.sequence()) step.recorded = true;
  }
  return canceled_ ? std::nullopt : NextReport(event.model(), found->second);
}

bool AttemptLedger::IsJudged(const v1::EventsRecorded& recorded) const {
  const auto found = open_.find(recorded.model());
  if (found == open_.end() || canceled_) return true;
  const std::deque<Step>& unjudged = found->second.unjudged;
  return std::none_of(unjudged.begin(), unjudged.end(), [&](const Step& step) {
    return step.attempt == recorded.attempt() && step.sequence <= recorded.sequence();
  });
}

std::optional<v1::StepReport> AttemptLedger::NextReport(int model, Open& open) {
  if (open.unjudged.empty()) return std::nullopt;
  Step& step = open.unjudged.front();
  if (!step.recorded || std::exchange(step.told, true)) return std::nullopt;
  v1::StepReport report;
  report.set_model(model);
  report.set_step(step.step);
  report.set_value(step.metrics.values().at(kDefaultMetric));
  return report;
}

AttemptLedger::Judgement AttemptLedger::Judge(const v1::StepReport& report, const v1::StopVerdict& verdict) {
  Judgement judgement;
  const auto found = open_.find(report.model());
  if (found == open_.end() || found->second.decided || canceled_) return judgement;
  Open& open = found->second;
  Step step = std::move(open.unjudged.front());
  open.unjudged.pop_front();
  if (verdict.stop()) {
    open.unjudged.clear();
    open.stopped = {step.step, step.attempt, std::move(step.metrics), verdict.because()};
    if (!open.end.has_value()) judgement.stop_in_trial = open.trial;
  }
  judgement.next = NextReport(report.model(), open);
  if (open.unjudged.empty() && open.end.has_value()) {
    const v1::ModelEnded ended = *std::exchange(open.end, std::nullopt);
    judgement.decision = Resolve(open, ended);
  }
  return judgement;
}

AttemptLedger::Decision AttemptLedger::EndAttempt(const v1::ModelEvent& event) {
  const auto found = open_.find(event.model());
  if (found == open_.end()) return {};
  Open& open = found->second;
  if (open.decided || open.end.has_value() || open.trial == 0 || open.model.attempt() != event.attempt()) return {};
  if (!open.unjudged.empty() && !canceled_) {
    open.end = event.ended();
    return {};
  }
  return Resolve(open, event.ended());
}

AttemptLedger::Decision AttemptLedger::Resolve(Open& open, const v1::ModelEnded& ended) {
  Decision decision;
  decision.merged = open.merged;
  const bool node_lost = IsLost(ended, v1::ModelEnded::NODE_LOST);
  open.lost += ended.outcome() == v1::ModelEnded::LOST && !node_lost && !IsBlameless(ended);
  // An attempt that had not begun on the node cannot have brought it down.
  if (node_lost && !open.node.empty()) {
    open.lost_nodes.insert(open.node);
    ++open.node_losses;
  }
  if (!GoesOn(open, ended)) {
    decision.outcome = Decide(open, ended);
    return decision;
  }
  const bool says_nothing = IsBlameless(ended) || (node_lost && open.lost_nodes.size() <= 1);
  if (open.merged && !says_nothing) {
    open.must_be_alone = true;
    open.alone_because = absl::StrCat("it runs again after merged trial ", open.trial);
  }
  decision.may_merge = says_nothing && !open.must_be_alone;
  open.trial = 0;
  open.model.set_attempt(open.model.attempt() + 1);
  v1::RunAgain& again = decision.again.emplace();
  *again.mutable_model() = open.model;
  again.set_alone_because(open.alone_because);
  return decision;
}

bool AttemptLedger::GoesOn(const Open& open, const v1::ModelEnded& ended) const {
  if (canceled_ || open.stopped.has_value()) return false;
  switch (ended.outcome()) {
    case v1::ModelEnded::LOST:
      if (IsBlameless(ended)) return true;
      if (IsLost(ended, v1::ModelEnded::NODE_LOST)) return !LostWithNodes(open);
      return open.merged || open.lost < kMaxLost;
    case v1::ModelEnded::FAILED:
    case v1::ModelEnded::UNMERGED:
      return open.merged;
    default:
      return false;
  }
}

bool AttemptLedger::LostWithNodes(const Open& open) {
  return open.lost_nodes.size() >= kMaxLostNodes || open.node_losses >= kMaxNodeLosses;
}

v1::ModelOutcome AttemptLedger::Decide(Open& open, const v1::ModelEnded& ended) {
  open.decided = true;
  v1::ModelOutcome outcome = OutcomeOf(open, ended);
  if (kept_weights_.has_value() && outcome.outcome() != v1::ModelEnded::CANCELED) {
    open.weights = kept_weights_->End(outcome, ended.left_weights());
    open.weights_bar = kept_weights_->Bar();
  }
  return outcome;
}

v1::ModelOutcome AttemptLedger::OutcomeOf(const Open& open, const v1::ModelEnded& ended) const {
  v1::ModelOutcome outcome;
  outcome.set_model(open.model.model());
  *outcome.mutable_sample() = ended.has_actual_sample() ? ended.actual_sample() : open.model.sample();
  if (open.stopped.has_value()) {
    outcome.set_attempt(open.stopped->attempt);
    outcome.set_outcome(v1::ModelEnded::STOPPED_EARLY);
    *outcome.mutable_metrics() = open.stopped->metrics;
    outcome.set_stopped_step(open.stopped->step);
    outcome.set_stopped_because(open.stopped->because);
    return outcome;
  }
  outcome.set_attempt(open.model.attempt());
  outcome.set_outcome(ended.outcome());
  if (!open.unjudged.empty()) {
    outcome.set_outcome(v1::ModelEnded::CANCELED);
    return outcome;
  }
  if (ended.outcome() == v1::ModelEnded::LOST || ended.outcome() == v1::ModelEnded::UNMERGED) {
    outcome.set_outcome(canceled_ ? v1::ModelEnded::CANCELED : v1::ModelEnded::FAILED);
  }
  if (ended.outcome() == v1::ModelEnded::FAILED && open.merged && canceled_)
    outcome.set_outcome(v1::ModelEnded::CANCELED);
  if (ended.has_metrics()) *outcome.mutable_metrics() = ended.metrics();
  if (ended.has_failure() && outcome.outcome() == v1::ModelEnded::FAILED) *outcome.mutable_failure() = ended.failure();
  if (IsLost(ended, v1::ModelEnded::NODE_LOST) && outcome.outcome() == v1::ModelEnded::FAILED) {
    outcome.mutable_failure()->set_reason(v1::Failure::WORKER_LOST);
    outcome.mutable_failure()->set_message(absl::StrCat(
        "nodes were lost ", open.node_losses, " times while they ran it: ", absl::StrJoin(open.lost_nodes, ", "),
        "; what takes them down may be this model"));
  }
  return outcome;
}

std::vector<v1::ModelOutcome> AttemptLedger::Cancel() {
  canceled_ = true;
  std::vector<v1::ModelOutcome> outcomes;
  for (auto& [ordinal, open] : open_) {
    if (open.decided) continue;
    if (open.end.has_value()) {
      outcomes.push_back(Decide(open, *open.end));
      continue;
    }
    if (open.trial != 0) continue;
    open.decided = true;
    v1::ModelOutcome& outcome = outcomes.emplace_back();
    outcome.set_model(ordinal);
    // The outcome belongs to the attempt before, if there was one.
    outcome.set_attempt(open.model.attempt() - 1);
    outcome.set_outcome(v1::ModelEnded::CANCELED);
    *outcome.mutable_sample() = open.model.sample();
  }
  return outcomes;
}

void AttemptLedger::Describe(const v1::ModelOutcome& outcome, v1::JournalRecord* record) const {
  *record->mutable_outcome() = outcome;
  const std::optional<v1::WeightsKept>& kept = open_.at(outcome.model()).weights.kept;
  if (kept.has_value()) *record->mutable_weights() = *kept;
}

AttemptLedger::Closed AttemptLedger::Close(const v1::ModelOutcome& outcome) {
  const auto found = open_.find(outcome.model());
  Closed closed;
  // The sample as the strategy knows it.
  v1::TrialModel& model = found->second.model;
  closed.tell = TellOf(outcome, std::move(*model.mutable_sample()), found->second.steps.steps(), goals_);
  if (outcome.outcome() != v1::ModelEnded::CANCELED) {
    closed.needless_checkpoints = model.checkpoint_folder();
    for (const std::string& folder : found->second.weights.needless) {
      closed.needless_weights.push_back(absl::StrCat(folder_, "/", folder));
    }
    weights_bar_ = found->second.weights_bar;
  }
  Count(outcome, LostWithNodes(found->second));
  Drop(outcome.model());
  return closed;
}

void AttemptLedger::Drop(int model) {
  if (open_.erase(model) > 0) in_flight_.End(model);
}

void AttemptLedger::Count(const v1::ModelOutcome& outcome, bool lost_with_nodes) {
  if (outcome.outcome() == v1::ModelEnded::SUCCEEDED || outcome.outcome() == v1::ModelEnded::STOPPED_EARLY)
    ++succeeded_;
  if (outcome.outcome() == v1::ModelEnded::FAILED && failed_++ == 0) first_failure_ = outcome.failure().message();
  const bool lost =
      outcome.outcome() == v1::ModelEnded::FAILED && outcome.failure().reason() == v1::Failure::WORKER_LOST;
  if (!lost || !lost_with_nodes) lost_in_a_row_ = lost ? lost_in_a_row_ + 1 : 0;
  const bool data_unreadable = outcome.failure().reason() == v1::Failure::DATA_UNREADABLE;
  if (data_unreadable || lost_in_a_row_ >= kMaxLostInARow) hopeless_ = outcome.failure().message();

  // Whether a model that was stopped early would have kept the limits is not known.
  if (outcome.outcome() == v1::ModelEnded::STOPPED_EARLY) ++within_limits_;
  infeasible_in_a_row_ = outcome.outcome() == v1::ModelEnded::INFEASIBLE ? infeasible_in_a_row_ + 1 : 0;
  infeasible_ += outcome.outcome() == v1::ModelEnded::INFEASIBLE;
  if (outcome.outcome() != v1::ModelEnded::SUCCEEDED && outcome.outcome() != v1::ModelEnded::INFEASIBLE) return;
  const double violation = goals_.Violation(outcome.metrics());
  if (violation == 0) {
    ++within_limits_;
  } else if (outside_limits_++ == 0 || violation < least_violation_) {
    least_violation_ = violation;
    nearest_ = goals_.DescribeViolation(outcome.metrics());
  }
  if (infeasible_in_a_row_ < kMaxInfeasibleInARow) return;
  hopeless_ =
      absl::StrCat("the last ", infeasible_in_a_row_, " models cost more than the limits allow; the nearest has ",
                   nearest_, ": relax the limits, or change the space");
}

std::string AttemptLedger::NothingWithinLimits() const {
  if (within_limits_ > 0 || outside_limits_ == 0) return "";
  return lanista::NothingWithinLimits(outside_limits_, nearest_);
}

void AttemptLedger::RestoreClosed(const v1::ModelOutcome& outcome, const std::string& weights_folder) {
  ++models_;
  if (kept_weights_.has_value() && !weights_folder.empty()) {
    kept_weights_->Plan(outcome.model(), outcome.attempt(), weights_folder);
    kept_weights_->End(outcome);
    weights_bar_ = kept_weights_->Bar();
  }
  Count(outcome, /*lost_with_nodes=*/false);
  // The cause may have been removed in the meantime.
  lost_in_a_row_ = 0;
  infeasible_in_a_row_ = 0;
  hopeless_.clear();
}

}  // namespace lanista
