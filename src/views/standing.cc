#include "src/views/standing.h"

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "src/base/status.h"

namespace lanista {

double Seconds(absl::Duration duration) {
  return static_cast<double>(absl::ToInt64Milliseconds(std::max(duration, absl::ZeroDuration()))) / 1000.0;
}

absl::StatusOr<Standing> StandingOf(const JournalReader& reader, absl::Time now) {
  Standing standing;
  LANISTA_ASSIGN_OR_RETURN(const StateRecord state, reader.State());
  standing.status = v1::ExperimentState::State_Name(state.change.state());
  standing.reason = state.change.reason();
  absl::Time until = std::min(now, absl::Now());
  if (IsFinal(state.change.state())) {
    standing.ended = until = state.time;
  } else if (!reader.holder().has_value()) {
    standing.interrupted = true;
    standing.status = "INTERRUPTED";
    standing.reason = absl::StrCat("the process that ran it ended before the experiment did; `resume ",
                                   reader.experiment().experiment(), "` goes on with it");
    LANISTA_ASSIGN_OR_RETURN(until, reader.LastTime());
  }
  // Before a resume nothing ran.
  LANISTA_ASSIGN_OR_RETURN(const absl::Duration away,
                           reader.TimeIn({v1::ExperimentState::DONE, v1::ExperimentState::STOPPED,
                                          v1::ExperimentState::FAILED, v1::ExperimentState::INTERRUPTED},
                                         until));
  standing.seconds = Seconds(until - reader.created() - away);
  return standing;
}

std::string ModelStatus(const std::optional<v1::ModelOutcome>& outcome, bool started, bool interrupted) {
  if (outcome.has_value()) return v1::ModelEnded::Outcome_Name(outcome->outcome());
  if (interrupted) return "INTERRUPTED";
  return started ? "RUNNING" : "QUEUED";
}

void ShownAttempt::See(const AttemptRecord& attempt, const std::optional<v1::ModelOutcome>& outcome) {
  const bool behind_outcome = outcome.has_value() && outcome->attempt() > 0 && attempt.attempt > outcome->attempt();
  if (!behind_outcome) {
    if (number_ > 0) earlier_.push_back({number_, std::numeric_limits<int>::max()});
    // One that never started, because its head was killed before, took nothing back.
    const int kept = attempt.started.has_value() ? attempt.resumed_steps : std::numeric_limits<int>::max();
    for (EarlierAttempt& earlier : earlier_) earlier.kept_steps = std::min(earlier.kept_steps, kept);
    number_ = attempt.attempt;
  }
  started_ = attempt.started.has_value() && !attempt.ended.has_value();
}

bool ShownAttempt::Shows(int attempt, int step) const {
  if (attempt == number_) return true;
  const auto found = std::find_if(earlier_.begin(), earlier_.end(),
                                  [attempt](const EarlierAttempt& earlier) { return earlier.number == attempt; });
  return found != earlier_.end() && step < found->kept_steps;
}

}  // namespace lanista
