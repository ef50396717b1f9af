// The state of an experiment, and the attempt that is shown for each model: rules that all views share.
#ifndef LANISTA_SRC_VIEWS_STANDING_H_
#define LANISTA_SRC_VIEWS_STANDING_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "src/storage/journal.h"

namespace lanista {

struct Standing {
  // CREATED RUNNING STOPPING DONE STOPPED FAILED INTERRUPTED, and why, for people.
  std::string status;
  std::string reason;
  // It has not come to its end, and no process holds it.
  bool interrupted = false;
  std::optional<absl::Time> ended;
  // The time from its creation to its end, or to `now` if it runs; without the time that it waited for a resume.
  double seconds = 0;
};

absl::StatusOr<Standing> StandingOf(const JournalReader& reader, absl::Time now);

// A duration in whole milliseconds, like the times themselves; 0 if it is negative.
double Seconds(absl::Duration duration);

// QUEUED RUNNING INTERRUPTED SUCCEEDED FAILED STOPPED_EARLY INFEASIBLE CANCELED. `started`: an attempt has started and
// not ended.
std::string ModelStatus(const std::optional<v1::ModelOutcome>& outcome, bool started, bool interrupted);

// Finds the attempt that is shown for a model: the one that decided, or the latest one.
class ShownAttempt {
 public:
  // Takes the next attempt of the model, in the order of attempts.
  void See(const AttemptRecord& attempt, const std::optional<v1::ModelOutcome>& outcome);

  // The number of the attempt; 0: the model has none.
  int number() const { return number_; }
  // Whether the last attempt that was seen is running.
  bool started() const { return started_; }

  // Whether a report belongs to the model's steps: it comes from this attempt, or from an earlier one and is in the
  // checkpoint from which this attempt, perhaps by way of others, went on.
  bool Shows(int attempt, int step) const;

 private:
  struct EarlierAttempt {
    int number = 0;
    // All later attempts that started went on behind as many of its steps, or behind more of them.
    int kept_steps = 0;
  };

  int number_ = 0;
  std::vector<EarlierAttempt> earlier_;
  bool started_ = false;
};

}  // namespace lanista

#endif  // LANISTA_SRC_VIEWS_STANDING_H_
