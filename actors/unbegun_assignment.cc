#include "actors/unbegun_assignment.h"

#include <string>
#include <utility>

#include "actors/model_events.h"
#include "src/base/status.h"

namespace lanista {

std::vector<v1::AssignmentNews> NewsOfUnbegun(const v1::Assignment& assignment, const std::set<int>& stopped,
                                              const absl::Status& why) {
  std::vector<v1::AssignmentNews> all;
  v1::AssignmentNews last;
  if (absl::IsUnavailable(why) || absl::IsAborted(why)) {
    last.set_refused(std::string(why.message()));
  } else if (assignment.discover().has_convert()) {
    *last.mutable_discovered()->mutable_converted()->mutable_error() = StatusToProto(why);
  } else if (assignment.has_discover()) {
    *last.mutable_discovered()->mutable_error() = StatusToProto(why);
  } else {
    v1::Failure failure;
    failure.set_reason(v1::Failure::DATA_UNREADABLE);
    failure.set_message(std::string(why.message()));
    for (const v1::TrialModel& model : assignment.trial().models()) {
      v1::AssignmentNews& news = all.emplace_back();
      if (stopped.count(model.model()) > 0) {
        *news.mutable_event() = EndedEvent(assignment.trial(), model, 0, v1::ModelEnded::STOPPED_EARLY);
      } else if (absl::IsCancelled(why)) {
        *news.mutable_event() = EndedEvent(assignment.trial(), model, 0, v1::ModelEnded::CANCELED);
      } else {
        *news.mutable_event() = EndedEvent(assignment.trial(), model, 0, v1::ModelEnded::FAILED, failure);
      }
    }
    last.mutable_ended()->set_experiment(assignment.trial().experiment());
    last.mutable_ended()->set_trial(assignment.trial().trial());
  }
  all.push_back(std::move(last));
  return all;
}

}  // namespace lanista
