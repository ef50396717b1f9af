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

#include "absl/time/time.h"
#include "protos/messages.pb.h"

namespace lanista {

// The state of one experiment. Not thread-safe.
class Progress {
 public:
  // `live`: there is a block that shows what goes well, so that lines are for what went wrong alone.
  Progress(const v1::ExperimentConfig& config, bool live);

  // Takes in an event that came at `now`; returns the lines to print for good.
  std::vector<std::string> Update(const v1::ExperimentEvent& event, absl::Time now);

  // The live block: a bar with counts and ETA, the best model, the running trials; at most `height` lines (at least 2).
  std::vector<std::string> Block(int height, absl::Time now) const;

  // Whether the block shows times that go on.
  bool ticks() const { return !running_.empty(); }

 private:
  struct Running {
    absl::Time start;
    std::string device;
    std::optional<v1::Intermediate> latest;
  };
  struct Best {
    int model;
    double value;
    std::string sample;
  };

  std::vector<std::string> OnSpace(const std::string& experiment, const v1::SpaceSpec& space);
  std::vector<std::string> OnState(const v1::StateChanged& change);
  std::vector<std::string> OnModel(const v1::ModelEvent& event, absl::Time now);
  std::vector<std::string> OnOutcome(const v1::ModelOutcome& outcome);

  int finished() const { return succeeded_ + failed_ + stopped_early_ + canceled_; }

  // Constant after construction.
  const std::string name_;
  const bool minimize_;
  const bool live_;

  // Models to come to, if it is known.
  std::optional<int> total_;
  std::optional<absl::Time> first_start_;
  v1::ExperimentState state_ = v1::CREATED;
  int succeeded_ = 0;
  int failed_ = 0;
  int stopped_early_ = 0;
  int canceled_ = 0;
  std::optional<Best> best_;
  // By (model, attempt).
  std::map<std::pair<int, int>, Running> running_;
  // How long the last attempt of a model took, until its outcome is known.
  std::map<int, absl::Duration> took_;
  // Merged trials whose end was told.
  std::set<int> unmerged_;
};

// "48s", "1m12s", "2h03m".
std::string ShortDuration(absl::Duration duration);

// Why something failed, on one line: "exception: shape mismatch in fc1 ...", "signal 11 (Segmentation fault)".
std::string FormatFailure(const v1::Failure& failure);

// `text` on one line: runs of white space and control characters become one space.
std::string OneLine(const std::string& text);

}  // namespace lanista

#endif  // LANISTA_SRC_LAUNCHER_PROGRESS_H_
