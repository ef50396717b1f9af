#include "src/launcher/progress.h"

#include <signal.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "src/base/component.h"
#include "src/base/device_name.h"
#include "src/base/display_text.h"
#include "src/base/metric_names.h"
#include "src/goals/ranking.h"
#include "src/space/space.h"
#include "src/storage/journal.h"
#include "src/views/tables.h"

namespace lanista {
namespace {

constexpr int kMinBarWidth = 10;
// At most this many kinds of failures are counted separately, with a line each. All further kinds count as one.
constexpr size_t kMaxKinds = 20;
// Lines of the block about failures.
constexpr size_t kMaxFailureLines = 3;
// How long discovery may take before a line says what it does: on a terminal, and elsewhere (also between two lines).
constexpr absl::Duration kQuietOnTerminal = absl::Seconds(1);
constexpr absl::Duration kQuietElsewhere = absl::Seconds(30);

std::string FormatNumber(double value) { return absl::StrFormat("%.5g", value); }

// "default 0.97  loss 0.1": `default` first.
std::string FormatMetrics(const v1::Metrics& metrics) {
  std::string text;
  const std::map<std::string, double> sorted(metrics.values().begin(), metrics.values().end());
  const auto found = sorted.find(kDefaultMetric);
  if (found != sorted.end()) text = absl::StrCat("default ", FormatNumber(found->second));
  for (const auto& [name, value] : sorted) {
    if (name == kDefaultMetric) continue;
    absl::StrAppend(&text, text.empty() ? "" : "  ", OneLine(name), " ", FormatNumber(value));
  }
  return text;
}

std::string Bar(int done, int total, int width) {
  const int filled = total <= 0 ? width : static_cast<int>(int64_t{width} * std::min(done, total) / total);
  return absl::StrCat("[", std::string(filled, '#'), std::string(width - filled, '.'), "]");
}

int Percent(int done, int total) {
  return total <= 0 ? 100 : static_cast<int>(int64_t{100} * std::min(done, total) / total);
}

// "44 models/h"; empty as long as the rate is unknown.
std::string Rate(int models, absl::Duration elapsed) {
  const double hours = absl::ToDoubleHours(elapsed);
  if (models == 0 || hours <= 0) return "";
  return absl::StrFormat(models / hours < 10 ? "  %.1f models/h" : "  %.0f models/h", models / hours);
}

// Whether a model may be proposed twice: without dedup, or by a user's own strategy that does not say.
bool MayRepeat(const v1::StrategyConfig& strategy) {
  const auto& stages = strategy.chain().stage();
  if (std::any_of(stages.begin(), stages.end(), [](const auto& stage) { return MayRepeat(stage.strategy()); })) {
    return true;
  }
  if (const auto dedup = NumberOfComponent(strategy, v1::FieldRules::DEDUP)) return *dedup == 0;
  return RulesOfComponent(strategy).proposes_again();
}

// The same rule as in CostLimits (src/experiment/cost_limits.h), which applies if the head knows the graphs.
bool MayPassOver(const v1::ExperimentConfig& config, const Goals& goals) {
  if (RulesOfComponent(config.evaluator()).has_own_costs() || !RulesOfComponent(config.engine()).knows_graphs()) {
    return false;
  }
  return goals.Limits(kParamsMetric) || goals.Limits(kFlopsMetric) || goals.Limits(kMemoryMetric);
}

std::optional<int> MaxModels(const v1::ExperimentConfig& config) {
  if (!config.has_max_trial_number()) return std::nullopt;
  return config.max_trial_number();
}

// "  failed 2"; empty for 0.
std::string Count(const char* what, int count) { return count == 0 ? "" : absl::StrCat("  ", what, " ", count); }

}  // namespace

std::string ShortDuration(absl::Duration duration) {
  const int64_t seconds = std::max<int64_t>(0, absl::ToInt64Seconds(duration + absl::Milliseconds(500)));
  if (seconds < 60) return absl::StrCat(seconds, "s");
  if (seconds < 3600) return absl::StrFormat("%dm%02ds", seconds / 60, seconds % 60);
  return absl::StrFormat("%dh%02dm", seconds / 3600, seconds / 60 % 60);
}

std::string FormatFailure(const v1::Failure& failure) {
  std::string text = absl::AsciiStrToLower(v1::Failure::Reason_Name(failure.reason()));
  absl::StrReplaceAll({{"_", " "}}, &text);
  if (failure.reason() == v1::Failure::SIGNAL) {
    const char* const description = strsignal(failure.signal());
    text = absl::StrCat("signal ", failure.signal(), " (", description == nullptr ? "unknown" : description, ")");
  } else if (failure.reason() == v1::Failure::EXIT) {
    text = absl::StrCat("the model's code called exit(", failure.exit_status(), ")");
  }
  const std::string message = ReasonLine(failure.message());
  return message.empty() ? text : absl::StrCat(text, ": ", message);
}

Progress::Progress(const v1::ExperimentConfig& config, bool live, absl::Time now,
                   const std::optional<EarlierProgress>& earlier)
    : name_(OneLine(config.name())),
      goals_(config),
      live_(live),
      repeats_(MayRepeat(config.strategy())),
      passes_over_(MayPassOver(config, goals_)),
      max_models_(MaxModels(config)),
      steps_(NumberOfComponent(config.evaluator(), v1::FieldRules::STEPS)),
      learning_since_(now),
      next_tick_(now + kQuietElsewhere) {
  if (!earlier.has_value()) return;
  // Canceled models run again.
  succeeded_ = earlier->counts.succeeded;
  failed_ = earlier->counts.failed;
  stopped_early_ = earlier->counts.stopped_early;
  infeasible_ = earlier->counts.infeasible;
  earlier_ = finished();
  for (const ModelRecord& model : earlier->front) {
    if (auto values = goals_.BestValues(*model.outcome)) {
      AddToFront({model.model, *std::move(values), OneLine(model.sample_json)});
    }
  }
}

std::optional<int> Progress::total() const {
  // No further models come, even if more were expected.
  if (state_ == v1::ExperimentState::DONE) return finished();
  if (!space_size_ || (passes_over_ && !max_models_)) return max_models_;
  // Models that break a limit do not count towards max_trial_number, but they count as models of the space.
  const int left = std::max(0, *space_size_ - infeasible_);
  return max_models_ ? std::min(*max_models_, left) : left;
}

std::vector<std::string> Progress::Update(const v1::ExperimentEvent& event, absl::Time now) {
  learning_ = false;
  switch (event.kind_case()) {
    case v1::ExperimentEvent::kSpace:
      return OnSpace(event.experiment(), event.space());
    case v1::ExperimentEvent::kState:
      return OnState(event.state());
    case v1::ExperimentEvent::kModel:
      return OnModel(event.model(), now);
    case v1::ExperimentEvent::kOutcome:
      return OnOutcome(event.outcome());
    case v1::ExperimentEvent::KIND_NOT_SET:
      return {};
  }
  return {};
}

std::vector<std::string> Progress::Tick(absl::Time now) {
  if (live_ || !learning_ || now < next_tick_) return {};
  next_tick_ = now + kQuietElsewhere;
  return {absl::StrCat("still learning the space: ", Counted(constructions_, "construction"), " tried, ",
                       ShortDuration(now - learning_since_))};
}

std::vector<std::string> Progress::SetWaiting(absl::string_view waiting_for) {
  const bool waited = !waiting_for_.empty();
  waiting_for_ = OneLine(waiting_for);
  if (live_) return {};
  if (!waiting_for_.empty()) return {absl::StrCat("waits for ", waiting_for_)};
  if (waited) return {"waits no longer"};
  return {};
}

std::vector<std::string> Progress::OnSpace(const std::string& experiment, const v1::SpaceSpec& spec) {
  std::string models = absl::StrCat(SpaceSizeText(""), " in the space");
  const auto space = Space::FromProto(spec);
  if (space.ok() && space->size().has_value()) {
    const mpz_class& size = *space->size();
    models = absl::StrCat(SpaceSizeText(size.get_str()), " in the space");
    if (!repeats_ && size <= std::numeric_limits<int>::max()) {
      space_size_ = static_cast<int>(size.get_si());
    }
  }
  if (total()) absl::StrAppend(&models, ", at most ", *total(), " to try");
  if (earlier_ > 0) absl::StrAppend(&models, "; ", Counted(earlier_, "model"), " finished before");
  std::vector<std::string> lines = {absl::StrCat("experiment ", experiment, ": ", models)};
  for (const std::string& warning : spec.warnings()) lines.push_back(absl::StrCat("warning: ", OneLine(warning)));
  return lines;
}

std::vector<std::string> Progress::OnState(const v1::StateChanged& change) {
  state_ = change.state();
  // `run` prints why an experiment failed after its end.
  if (state_ != v1::ExperimentState::STOPPING) return {};
  return {absl::StrCat("stopping", change.reason().empty() ? "" : ": ", ReasonLine(change.reason()))};
}

std::vector<std::string> Progress::OnModel(const v1::ModelEvent& event, absl::Time now) {
  const std::pair<int, int> key(event.model(), event.attempt());
  if (event.has_started()) {
    if (!first_start_) first_start_ = now;
    running_[key] = {now, DeviceName(event.started().device()), std::nullopt};
    return {};
  }
  const auto running = running_.find(key);
  if (running == running_.end()) return {};
  if (event.has_intermediate()) {
    running->second.latest = event.intermediate();
  } else if (event.has_ended()) {
    took_[event.model()] = now - running->second.start;
    running_.erase(running);
    // Said once for the trial, not for each of its models.
    if (event.ended().outcome() == v1::ModelEnded::UNMERGED && unmerged_.insert(event.trial()).second) {
      return {absl::StrCat(ReasonLine(event.ended().failure().message()), "; all of its models run again, each alone")};
    }
  }
  return {};
}

std::vector<std::string> Progress::OnOutcome(const v1::ModelOutcome& outcome) {
  std::string took;
  if (const auto found = took_.find(outcome.model()); found != took_.end()) {
    took = absl::StrCat(" (", ShortDuration(found->second), ")");
    took_.erase(found);
  }
  const std::string model = absl::StrCat("model ", outcome.model());
  const std::string sample = OneLine(Space::ToJson(outcome.sample()));
  switch (outcome.outcome()) {
    case v1::ModelEnded::SUCCEEDED: {
      ++succeeded_;
      if (auto values = goals_.BestValues(outcome)) AddToFront({outcome.model(), *std::move(values), sample});
      if (live_) return {};
      const std::string breaks = OneLine(goals_.DescribeViolation(outcome.metrics()));
      return {absl::StrCat(model, " succeeded", took, breaks.empty() ? "" : ", but breaks a limit: ", breaks, ": ",
                           FormatMetrics(outcome.metrics()), "  ", sample)};
    }
    case v1::ModelEnded::FAILED: {
      ++failed_;
      const std::string failure = FormatFailure(outcome.failure());
      const bool is_new = IsNewKind(failure);
      if (live_ && !is_new) return {};
      return {absl::StrCat(model, " failed", took, ": ", failure, "  ", sample)};
    }
    case v1::ModelEnded::STOPPED_EARLY:
      ++stopped_early_;
      if (live_) return {};
      return {absl::StrCat(model, " stopped early", took, ": step ", outcome.stopped_step(), ": ",
                           ReasonLine(outcome.stopped_because()), "  ", sample)};
    case v1::ModelEnded::INFEASIBLE:
      ++infeasible_;
      if (live_) return {};
      return {absl::StrCat(model, " infeasible", took, ": ", OneLine(goals_.DescribeViolation(outcome.metrics())), "  ",
                           sample)};
    default:
      ++canceled_;
      if (live_) return {};
      return {absl::StrCat(model, " canceled", took, "  ", sample)};
  }
}

void Progress::AddToFront(Best model) {
  for (Best& other : front_) {
    if (other.values == model.values) {
      ++other.equal;
      return;
    }
    if (Beats(other.values, model.values)) return;
  }
  const auto beaten = [&model](const Best& other) { return Beats(model.values, other.values); };
  front_.erase(std::remove_if(front_.begin(), front_.end(), beaten), front_.end());
  front_.push_back(std::move(model));
}

std::string Progress::BestLine() const {
  if (front_.empty()) {
    return goals_.has_limits() && succeeded_ + infeasible_ > 0 ? "best: no model is within the limits yet" : "";
  }
  const Best& best = *std::max_element(front_.begin(), front_.end(),
                                       [](const Best& a, const Best& b) { return a.values[0] < b.values[0]; });
  const std::string model = absl::StrCat("model ", best.model, "  ", best.sample);
  std::vector<std::string> values;
  for (size_t i = 0; i < best.values.size(); ++i) {
    const auto& [metric, objective] = goals_.objectives()[i];
    // If `default` is the only objective, its name tells nothing.
    const bool named = best.values.size() > 1 || metric != kDefaultMetric;
    values.push_back(absl::StrCat(named ? OneLine(metric) + " " : "", FormatNumber(Turned(best.values[i], objective))));
  }
  if (!goals_.has_several_objectives()) return absl::StrCat("best: ", values[0], "  ", model);
  int models = 0;
  for (const Best& one : front_) models += one.equal;
  return absl::StrCat("best: ", Counted(models, "model"), " that no other beats; ", absl::StrJoin(values, ", "), ": ",
                      model);
}

bool Progress::IsNewKind(const std::string& failure) {
  const std::string kind = WithoutNumbers(failure);
  const bool known = failure_kinds_.count(kind) > 0;
  const bool room = failure_kinds_.size() < kMaxKinds;
  FailureKind& counted = failure_kinds_[known || room ? kind : ""];
  if (counted.count++ == 0) counted.text = known || room ? failure : "of other kinds";
  return !known && room;
}

std::string Progress::Head(int width, absl::Time now) const {
  const std::string name = absl::StrCat(Ellipsize(name_, std::max(12, width / 3)), "  ");
  if (learning_) {
    return absl::StrCat(name, "learning the space  ", ShortDuration(now - learning_since_), "  ",
                        Counted(constructions_, "construction"), " tried");
  }
  const std::optional<int> total = this->total();
  std::string counts =
      total ? absl::StrCat("  ", Percent(finished(), *total), "%  ", finished(), "/", Counted(*total, "model"))
            : Counted(finished(), "model");
  absl::StrAppend(&counts, Count("succeeded", succeeded_), Count("failed", failed_),
                  Count("stopped early", stopped_early_), Count("infeasible", infeasible_),
                  Count("canceled", canceled_));
  if (first_start_) {
    const absl::Duration elapsed = now - *first_start_;
    absl::StrAppend(&counts, "  ", ShortDuration(elapsed), Rate(finished() - earlier_, elapsed));
    if (state_ == v1::ExperimentState::STOPPING) {
      absl::StrAppend(&counts, "  stopping");
    } else if (total && finished() > earlier_ && finished() < *total) {
      absl::StrAppend(&counts, "  ETA ", ShortDuration(elapsed * (*total - finished()) / (finished() - earlier_)));
    }
  }
  if (!total) return name + counts;
  // Two brackets; the last column stays free.
  const int room = width - DisplayWidth(name) - DisplayWidth(counts) - 3;
  return absl::StrCat(name, Bar(finished(), *total, std::max(kMinBarWidth, room)), counts);
}

std::vector<std::string> Progress::FailureLines() const {
  std::vector<const FailureKind*> kinds;
  for (const auto& [key, kind] : failure_kinds_) {
    if (kind.count > 1) kinds.push_back(&kind);
  }
  std::stable_sort(kinds.begin(), kinds.end(), [](const auto* a, const auto* b) { return a->count > b->count; });
  if (kinds.size() > kMaxFailureLines) kinds.resize(kMaxFailureLines);
  std::vector<std::string> lines;
  for (const FailureKind* kind : kinds) {
    lines.push_back(absl::StrCat(Counted(kind->count, "model"), " failed: ", kind->text));
  }
  return lines;
}

std::string Progress::RunningLine(int model, const Running& running, absl::Time now) const {
  std::string line = absl::StrCat("  model ", model, "  ", running.device, "  ", ShortDuration(now - running.start));
  if (!running.latest) return line;
  // Steps count from 0: after the first of ten this is "step 1 of 10".
  const int step = running.latest->step();
  absl::StrAppend(&line, "  step ", steps_ ? absl::StrCat(step + 1, " of ", *steps_) : absl::StrCat(step), "  ",
                  FormatMetrics(running.latest->metrics()));
  return line;
}

std::vector<std::string> Progress::Block(int height, int width, absl::Time now) const {
  if (learning_ && now - learning_since_ < kQuietOnTerminal) return {};
  const size_t room = std::max<size_t>(2, height);
  std::vector<std::string> lines = {Head(width, now)};
  if (!waiting_for_.empty()) lines.push_back(absl::StrCat("waits for ", waiting_for_));
  if (std::string best = BestLine(); !best.empty() && lines.size() < room) lines.push_back(std::move(best));
  for (std::string& line : FailureLines()) {
    if (lines.size() < room) lines.push_back(std::move(line));
  }
  size_t shown = 0;
  for (const auto& [key, running] : running_) {
    // The last line says how many slots are not shown, if there is more than one.
    if (lines.size() + 1 == room && running_.size() - shown > 1) {
      lines.push_back(absl::StrCat("  and ", running_.size() - shown, " more"));
      break;
    }
    if (lines.size() >= room) break;
    lines.push_back(RunningLine(key.first, running, now));
    ++shown;
  }
  return lines;
}

}  // namespace lanista
