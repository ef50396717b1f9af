#include "actors/model_events.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "google/protobuf/util/time_util.h"
#include "src/base/clock.h"

namespace lanista {
namespace {

using google::protobuf::util::TimeUtil;

// Sequence numbers are below what the service's own events have.
constexpr int kMaxSequence = 1 << 29;

absl::Status Wrong(const std::string& what) { return absl::InvalidArgumentError(what); }

absl::Status CheckEnd(const v1::ModelEnded& ended, bool canceled, bool stopped) {
  switch (ended.outcome()) {
    case v1::ModelEnded::SUCCEEDED:
    case v1::ModelEnded::FAILED:
    case v1::ModelEnded::UNMERGED:
    case v1::ModelEnded::INFEASIBLE:
      return absl::OkStatus();
    case v1::ModelEnded::CANCELED:
      return canceled ? absl::OkStatus() : Wrong("says CANCELED of a trial that was not canceled");
    case v1::ModelEnded::STOPPED_EARLY:
      return stopped ? absl::OkStatus() : Wrong("says STOPPED_EARLY of a model that was not stopped");
    case v1::ModelEnded::LOST:
      if (ended.lost_cause() == v1::ModelEnded::PROCESS_ENDED || ended.lost_cause() == v1::ModelEnded::PROCESS_KILLED)
        return absl::OkStatus();
      return Wrong(absl::StrCat("says that an attempt was lost for cause ", ended.lost_cause()));
    default:
      return Wrong(absl::StrCat("ends an attempt with outcome ", ended.outcome()));
  }
}

}  // namespace

v1::ModelEvent EndedEvent(const v1::TrialSpec& spec, const v1::TrialModel& model, int last_sequence,
                          v1::ModelEnded::Outcome outcome, const v1::Failure& failure,
                          v1::ModelEnded::LostCause lost_cause) {
  v1::ModelEvent event;
  event.set_experiment(spec.experiment());
  event.set_trial(spec.trial());
  event.set_model(model.model());
  event.set_attempt(model.attempt());
  event.set_sequence(last_sequence + 1);
  *event.mutable_time() = Now();
  event.mutable_ended()->set_outcome(outcome);
  event.mutable_ended()->set_lost_cause(lost_cause);
  if (failure.reason() != v1::Failure::REASON_UNSPECIFIED) *event.mutable_ended()->mutable_failure() = failure;
  return event;
}

absl::Status CheckEvent(const v1::ModelEvent& event, const OpenAttempt& open, bool canceled, bool stopped) {
  if (event.attempt() != open.attempt) {
    return Wrong(absl::StrCat("reports on attempt ", event.attempt(), " of model ", event.model(), ", not on attempt ",
                              open.attempt));
  }
  if (event.sequence() <= open.last_sequence || event.sequence() > kMaxSequence) {
    return Wrong(absl::StrCat("numbers a report ", event.sequence(), " after ", open.last_sequence));
  }
  if (event.kind_case() == v1::ModelEvent::KIND_NOT_SET || !IsTime(event.time())) {
    return Wrong("sends a report without a kind or a time");
  }
  if (event.has_built() && (event.built().params() < 0 || event.built().flops() < 0)) {
    return Wrong("says that the model has a negative number of parameters or FLOPs");
  }
  return event.has_ended() ? CheckEnd(event.ended(), canceled, stopped) : absl::OkStatus();
}

bool IsTime(const google::protobuf::Timestamp& time) {
  return time.seconds() >= 0 && time.seconds() <= TimeUtil::kTimestampMaxSeconds && time.nanos() >= 0 &&
         time.nanos() < 1000000000;
}

}  // namespace lanista
