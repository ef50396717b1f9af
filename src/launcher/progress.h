// What `run` shows of an experiment: counted from its events, rendered as text. No clock, no terminal, no thread of its
// own: see ProgressView.
#ifndef LANISTA_SRC_LAUNCHER_PROGRESS_H_
#define LANISTA_SRC_LAUNCHER_PROGRESS_H_

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "protos/messages.pb.h"
#include "src/goals/goals.h"
#include "src/storage/journal.h"

namespace lanista {

// What an experiment did before it goes on.
struct EarlierProgress {
  ModelCounts counts;
  // JournalReader::ParetoFront.
  std::vector<ModelRecord> front;
};

// The state of one experiment. Not thread-safe.
class Progress {
 public:
  // Discovery of the space begins at `now`. `live`: a block (below) shows successes, so that Update returns lines only
  // for failures and warnings.
  // `earlier`: if it goes on.
  Progress(const v1::ExperimentConfig& config, bool live, absl::Time now,
           const std::optional<EarlierProgress>& earlier = std::nullopt);

  // Takes in an event that came at `now`; returns the lines to print, which stay on the screen. On a live display only
  // the first failure of a kind is a line; the block counts the others.
  std::vector<std::string> Update(const v1::ExperimentEvent& event, absl::Time now);

  // Sets how many constructions discovery has tried.
  void SetConstructions(int constructions) { constructions_ = constructions; }

  // Sets what the experiment lacks to go on; empty: nothing, or it is not known. Returns the lines to print: none on a
  // live display, whose block shows it.
  std::vector<std::string> SetWaiting(absl::string_view waiting_for);

  // Returns the lines to print because time has passed: without a live display, a line now and then while discovery
  // goes on.
  std::vector<std::string> Tick(absl::Time now);

  // The live block: a bar with counts and ETA, what the experiment waits for, the best models, failures by kind, the
  // running trials; at most `height` lines (at least 2). The bar takes what is left of `width` columns. Empty in the
  // first second of learning the space.
  std::vector<std::string> Block(int height, int width, absl::Time now) const;

  // Whether what is shown changes with time, without any event.
  bool ticks() const { return learning_ || !running_.empty(); }

 private:
  struct Running {
    absl::Time start;
    std::string device;
    std::optional<v1::Intermediate> latest;
  };
  // Failures that have the same reason, and messages that differ only in numbers.
  struct FailureKind {
    std::string text;
    int count = 0;
  };
  // A model that no other model is better than.
  struct Best {
    int model;
    // Goals::BestValues.
    std::vector<double> values;
    std::string sample;
    // How many models have these values; the first is `model`.
    int equal = 1;
  };

  std::vector<std::string> OnSpace(const std::string& experiment, const v1::SpaceSpec& space);
  std::vector<std::string> OnState(const v1::StateChanged& change);
  std::vector<std::string> OnModel(const v1::ModelEvent& event, absl::Time now);
  std::vector<std::string> OnOutcome(const v1::ModelOutcome& outcome);
  // Takes in a model that may be among the best.
  void AddToFront(Best model);
  // "best: 0.75  model 1  {...}"; empty: nothing can be said yet.
  std::string BestLine() const;
  // Counts a failure; whether it is the first of its kind.
  bool IsNewKind(const std::string& failure);
  std::string Head(int width, absl::Time now) const;
  // "12 models failed: ...", of the kinds of which there are several; the most frequent first.
  std::vector<std::string> FailureLines() const;
  std::string RunningLine(int model, const Running& running, absl::Time now) const;

  // The number of models that count towards max_trial_number.
  int finished() const { return succeeded_ + failed_ + stopped_early_ + canceled_; }
  // The number of models that will be finished, or an upper bound of it; nullopt if neither is known.
  std::optional<int> total() const;

  // Constant after construction.
  const std::string name_;
  const Goals goals_;
  const bool live_;
  // The same model may be proposed again.
  const bool repeats_;
  // Limits may keep models from being proposed, so that only the strategy can find out how many are left.
  const bool passes_over_;
  // The most models that are to be tried.
  const std::optional<int> max_models_;
  // Steps of a trial, where the configuration tells.
  const std::optional<int64_t> steps_;
  const absl::Time learning_since_;

  bool learning_ = true;
  int constructions_ = 0;
  // On one line.
  std::string waiting_for_;
  absl::Time next_tick_;
  // The number of models in the space, where it limits how many are tried.
  std::optional<int> space_size_;
  std::optional<absl::Time> first_start_;
  v1::ExperimentState::State state_ = v1::ExperimentState::CREATED;
  int succeeded_ = 0;
  int failed_ = 0;
  int stopped_early_ = 0;
  int infeasible_ = 0;
  int canceled_ = 0;
  // Those that were finished before.
  int earlier_ = 0;
  // The best model; with several objectives, the Pareto front.
  std::vector<Best> front_;
  // By WithoutNumbers(FormatFailure(...)).
  std::map<std::string, FailureKind> failure_kinds_;
  // By (model, attempt).
  std::map<std::pair<int, int>, Running> running_;
  // How long the last attempt of a model took, until its outcome is known.
  std::map<int, absl::Duration> took_;
  // Merged trials that were already reported as split.
  std::set<int> unmerged_;
};

// "48s", "1m12s", "2h03m".
std::string ShortDuration(absl::Duration duration);

// Why something failed, on one line: "exception: shape mismatch in fc1 ...", "signal 11 (Segmentation fault)".
std::string FormatFailure(const v1::Failure& failure);

}  // namespace lanista

#endif  // LANISTA_SRC_LAUNCHER_PROGRESS_H_
