#include "src/launcher/progress.h"

#include <signal.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "src/space/space.h"

namespace lanista {
namespace {

constexpr int kBarWidth = 24;

std::string FormatNumber(double value) { return absl::StrFormat("%.5g", value); }

// "default 0.97  loss 0.1": `default` first.
std::string FormatMetrics(const v1::Metrics& metrics) {
  std::string text;
  const std::map<std::string, double> sorted(metrics.values().begin(), metrics.values().end());
  const auto found = sorted.find("default");
  if (found != sorted.end()) text = absl::StrCat("default ", FormatNumber(found->second));
  for (const auto& [name, value] : sorted) {
    if (name != "default") absl::StrAppend(&text, text.empty() ? "" : "  ", OneLine(name), " ", FormatNumber(value));
  }
  return text;
}

std::string DeviceName(const v1::Device& device) {
  return absl::StrCat(device.kind() == v1::GPU ? "gpu" : "cpu", " ", device.index());
}

std::string Bar(int done, int total) {
  const int filled = total <= 0 ? kBarWidth : static_cast<int>(int64_t{kBarWidth} * std::min(done, total) / total);
  return absl::StrCat("[", std::string(filled, '#'), std::string(kBarWidth - filled, '.'), "]");
}

// "  failed 2", or nothing.
std::string Count(const char* what, int count) { return count == 0 ? "" : absl::StrCat("  ", what, " ", count); }

}  // namespace

std::string ShortDuration(absl::Duration duration) {
  const int64_t seconds = std::max<int64_t>(0, absl::ToInt64Seconds(duration + absl::Milliseconds(500)));
  if (seconds < 60) return absl::StrCat(seconds, "s");
  if (seconds < 3600) return absl::StrFormat("%dm%02ds", seconds / 60, seconds % 60);
  return absl::StrFormat("%dh%02dm", seconds / 3600, seconds / 60 % 60);
}

std::string OneLine(const std::string& text) {
  std::string line;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte > ' ' && byte != 0x7f) {
      line += c;
    } else if (!line.empty() && line.back() != ' ') {
      line += ' ';
    }
  }
  absl::StripTrailingAsciiWhitespace(&line);
  return line;
}

std::string FormatFailure(const v1::Failure& failure) {
  std::string text = absl::AsciiStrToLower(v1::FailureReason_Name(failure.reason()));
  absl::StrReplaceAll({{"_", " "}}, &text);
  if (failure.reason() == v1::SIGNAL) {
    const char* const description = strsignal(failure.signal());
    text = absl::StrCat("signal ", failure.signal(), " (", description == nullptr ? "unknown" : description, ")");
  } else if (failure.reason() == v1::EXIT) {
    text = absl::StrCat("the model's code called exit(", failure.exit_status(), ")");
  }
  const std::string message = OneLine(failure.message());
  return message.empty() ? text : absl::StrCat(text, ": ", message);
}

Progress::Progress(const v1::ExperimentConfig& config, bool live)
    : name_(OneLine(config.name())), minimize_(config.objective() == v1::MINIMIZE), live_(live) {
  if (config.has_max_trial_number()) total_ = config.max_trial_number();
}

std::vector<std::string> Progress::Update(const v1::ExperimentEvent& event, absl::Time now) {
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

std::vector<std::string> Progress::OnSpace(const std::string& experiment, const v1::SpaceSpec& spec) {
  std::string models = "an unknown number of models in the space";
  const auto space = Space::FromProto(spec);
  if (space.ok() && space->size().has_value()) {
    const mpz_class& size = *space->size();
    models = absl::StrCat(size.get_str(), size == 1 ? " model" : " models", " in the space");
    if (size <= std::numeric_limits<int>::max()) {
      const int count = static_cast<int>(size.get_si());
      total_ = total_ ? std::min(*total_, count) : count;
    }
  }
  if (total_) absl::StrAppend(&models, ", at most ", *total_, " to try");
  std::vector<std::string> lines = {absl::StrCat("experiment ", experiment, ": ", models)};
  for (const std::string& warning : spec.warnings()) lines.push_back(absl::StrCat("warning: ", OneLine(warning)));
  return lines;
}

std::vector<std::string> Progress::OnState(const v1::StateChanged& change) {
  state_ = change.state();
  if (state_ != v1::STOPPING && state_ != v1::EXPERIMENT_FAILED) return {};
  return {absl::StrCat(state_ == v1::STOPPING ? "stopping" : "the experiment failed",
                       change.reason().empty() ? "" : ": ", OneLine(change.reason()))};
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
    // Once for the trial.
    if (event.ended().outcome() == v1::UNMERGED && unmerged_.insert(event.trial()).second) {
      return {absl::StrCat(OneLine(event.ended().failure().message()), "; all of its models run again, each alone")};
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
    case v1::SUCCEEDED: {
      ++succeeded_;
      const auto value = outcome.metrics().values().find("default");
      if (value != outcome.metrics().values().end() &&
          (!best_ || (minimize_ ? value->second < best_->value : value->second > best_->value))) {
        best_ = {outcome.model(), value->second, sample};
      }
      if (live_) return {};
      return {absl::StrCat(model, " succeeded", took, ": ", FormatMetrics(outcome.metrics()), "  ", sample)};
    }
    case v1::FAILED:
      ++failed_;
      return {absl::StrCat(model, " failed", took, ": ", FormatFailure(outcome.failure()), "  ", sample)};
    case v1::STOPPED_EARLY:
      ++stopped_early_;
      if (live_) return {};
      return {absl::StrCat(model, " stopped early", took, ": ", FormatMetrics(outcome.metrics()), "  ", sample)};
    default:
      ++canceled_;
      if (live_) return {};
      return {absl::StrCat(model, " canceled", took, "  ", sample)};
  }
}

std::vector<std::string> Progress::Block(int height, absl::Time now) const {
  std::string head = absl::StrCat(name_, "  ");
  if (total_) {
    absl::StrAppend(&head, Bar(finished(), *total_), "  ", finished(), "/", *total_, " models");
  } else {
    absl::StrAppend(&head, finished(), " models");
  }
  absl::StrAppend(&head, Count("succeeded", succeeded_), Count("failed", failed_),
                  Count("stopped early", stopped_early_), Count("canceled", canceled_));
  if (first_start_) {
    const absl::Duration elapsed = now - *first_start_;
    absl::StrAppend(&head, "  ", ShortDuration(elapsed));
    if (state_ == v1::STOPPING) {
      absl::StrAppend(&head, "  stopping");
    } else if (total_ && finished() > 0 && finished() < *total_) {
      absl::StrAppend(&head, "  ETA ", ShortDuration(elapsed * (*total_ - finished()) / finished()));
    }
  }
  std::vector<std::string> lines = {head};
  if (best_) {
    lines.push_back(absl::StrCat("best: ", FormatNumber(best_->value), "  model ", best_->model, "  ", best_->sample));
  }
  const size_t room = std::max<size_t>(2, height);
  for (const auto& [key, running] : running_) {
    // One more line may have to say how many are not shown.
    const size_t shown = lines.size() - (best_ ? 2 : 1);
    if (lines.size() + 1 == room && running_.size() - shown > 1) {
      lines.push_back(absl::StrCat("  and ", running_.size() - shown, " more"));
      break;
    }
    if (lines.size() >= room) break;
    std::string line =
        absl::StrCat("  model ", key.first, "  ", running.device, "  ", ShortDuration(now - running.start));
    if (running.latest) {
      absl::StrAppend(&line, "  step ", running.latest->step(), "  ", FormatMetrics(running.latest->metrics()));
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace lanista
