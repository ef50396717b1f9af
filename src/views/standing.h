// Where an experiment stands, and which attempt its models are shown by: the rules that all views share.
#ifndef LANISTA_SRC_VIEWS_STANDING_H_
#define LANISTA_SRC_VIEWS_STANDING_H_

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "src/storage/journal.h"

namespace lanista {

struct Standing {
  // CREATED RUNNING STOPPING DONE STOPPED FAILED INTERRUPTED, and why, for people.
  std::string status;
  std::string reason;
  // Not at its end, and no process holds it.
  bool interrupted = false;
  std::optional<absl::Time> ended;
  // From its creation to its end, without the time before a resume; to `now`, where it runs.
  double seconds = 0;
};

absl::StatusOr<Standing> StandingOf(const JournalReader& reader, absl::Time now);

// A duration in whole milliseconds, like the times themselves; 0 where it is negative.
double Seconds(absl::Duration duration);

// QUEUED RUNNING INTERRUPTED SUCCEEDED FAILED STOPPED_EARLY INFEASIBLE CANCELED. `started`: an attempt has started and
// not ended.
std::string ModelStatus(const std::optional<v1::ModelOutcome>& outcome, bool started, bool interrupted);

// The attempt that a model is shown by: the one that decided, or the latest one.
class ShownAttempt {
 public:
  // The next attempt of the model, in their order.
  void See(const AttemptRecord& attempt, const std::optional<v1::ModelOutcome>& outcome);

  // 0: there is none.
  int number() const { return number_; }
  // The last attempt that was seen runs.
  bool started() const { return started_; }

  // Whether a report belongs to the model's steps: it is this attempt's, or of an earlier one from whose checkpoint
  // this one went on. `last_step`: of the report before that does. Reports come in the order of attempt and sequence.
  bool Shows(int attempt, int step, std::optional<int> last_step) const {
    return attempt == number_ || (attempt < number_ && step < resumed_steps_ && (!last_step || *last_step < step));
  }

 private:
  int number_ = 0;
  // What it went on from: earlier attempts reported these steps.
  int resumed_steps_ = 0;
  bool started_ = false;
};

}  // namespace lanista

#endif  // LANISTA_SRC_VIEWS_STANDING_H_
