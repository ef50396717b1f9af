#include "src/trial_process/event_frame.h"

#include <cstdio>
#include <cstdlib>

#include "src/base/framing.h"
#include "src/base/status.h"
#include "src/base/utf8.h"

namespace lanista {
namespace {

// The event that is sent in place of one that cannot be sent.
v1::TrialEvent Replacement(const v1::TrialEvent& event, const absl::Status& problem) {
  v1::TrialEvent replacement;
  const v1::ErrorStatus error = StatusToProto(Annotate(problem, "the trial process cannot say what it has to"));
  if (event.has_discovered()) {
    *replacement.mutable_discovered()->mutable_error() = error;
  } else if (event.has_imported()) {
    *replacement.mutable_imported()->mutable_error() = error;
  } else if (event.has_converted()) {
    *replacement.mutable_converted()->mutable_error() = error;
  } else if (event.model().has_ended()) {
    v1::ModelEvent& model = *replacement.mutable_model();
    model.set_experiment(event.model().experiment());
    model.set_trial(event.model().trial());
    model.set_model(event.model().model());
    model.set_attempt(event.model().attempt());
    model.set_sequence(event.model().sequence());
    *model.mutable_time() = event.model().time();
    model.mutable_ended()->set_outcome(v1::ModelEnded::FAILED);
    model.mutable_ended()->mutable_failure()->set_reason(v1::Failure::EXCEPTION);
    model.mutable_ended()->mutable_failure()->set_message(error.message());
    model.mutable_ended()->set_models_memory(event.model().ended().models_memory());
  } else {
    // No event can take its place (a metric's name may be too long, for example). The process ends, and the head quotes
    // its last output as the reason.
    std::fprintf(stderr, "%s\n", error.message().c_str());
    std::abort();
  }
  return replacement;
}

}  // namespace

std::string EventFrame(v1::TrialEvent event) {
  std::string frame;
  absl::Status status;
  if (MakeUtf8(&event) && event.discovered().has_space()) {
    status = absl::InvalidArgumentError("the space holds text (a label, a name, the path of a file) that is not UTF-8");
  } else {
    status = AppendFrame(event, &frame);
  }
  return status.ok() ? frame : EventFrame(Replacement(event, status));
}

}  // namespace lanista
