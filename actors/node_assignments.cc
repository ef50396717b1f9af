#include "actors/node_assignments.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "actors/node_hello.h"

namespace lanista {
namespace {

// What a node may have on its way to the journal, in excess of what each of its trials may have between two
// acknowledgements.
constexpr EventAmount kMostUnrecordedOfNode = {16384, 32 << 20};

}  // namespace

NodeAssignments::Trial NodeAssignments::NewTrial(v1::TrialSpec spec) {
  Trial trial;
  trial.spec = std::move(spec);
  for (const v1::TrialModel& model : trial.spec.models()) trial.open[model.model()].attempt = model.attempt();
  trial.window.Begin(trial.spec);
  return trial;
}

NodeAssignments::Trial NodeAssignments::KeptTrial(const v1::HeldTrial& held, const v1::ReturningTrial& wanted) {
  Trial trial;
  trial.spec = wanted.spec();
  trial.begun = true;
  for (int i = 0; i < trial.spec.models_size(); ++i) {
    const v1::TrialModel& model = trial.spec.models(i);
    OpenModel& open = trial.open[model.model()];
    open.attempt = model.attempt();
    open.last_sequence = open.known = wanted.recorded(i);
    open.stopped = std::find(wanted.stopped().begin(), wanted.stopped().end(), model.model()) != wanted.stopped().end();
    if (open.known == 0) continue;
    // The head before may not have said so, and the trial may wait for it.
    v1::AssignmentRecorded& recorded = open.recorded.emplace();
    recorded.set_assignment(held.assignment());
    recorded.set_model(model.model());
    recorded.set_attempt(model.attempt());
    recorded.set_sequence(open.known);
  }
  for (const v1::HeldAttempt& attempt : held.attempts()) {
    if (trial.open.count(attempt.model()) == 0) trial.closed.insert(attempt.model());
  }
  trial.window.Begin(trial.spec);
  return trial;
}

NodeAssignments::Assignment& NodeAssignments::Add(Assignment assignment) {
  const std::string id = assignment.id;
  return assignments_.emplace(id, std::move(assignment)).first->second;
}

void NodeAssignments::Forget(Assignment& assignment) {
  if (auto* const trial = std::get_if<Trial>(&assignment.work)) ForgetUnrecorded(*trial);
  const std::string id = assignment.id;
  assignments_.erase(id);
}

NodeAssignments::Assignment* NodeAssignments::Find(const std::string& id) {
  const auto found = assignments_.find(id);
  return found == assignments_.end() ? nullptr : &found->second;
}

const NodeAssignments::Assignment* NodeAssignments::Find(const std::string& id) const {
  const auto found = assignments_.find(id);
  return found == assignments_.end() ? nullptr : &found->second;
}

NodeAssignments::Assignment* NodeAssignments::FindTrial(Assignment* likely, const std::string& experiment, int trial) {
  const auto is_it = [&](const Assignment& assignment) {
    const auto* const found = std::get_if<Trial>(&assignment.work);
    return found != nullptr && found->spec.experiment() == experiment && found->spec.trial() == trial;
  };
  if (likely != nullptr && is_it(*likely)) return likely;
  // One that has ended, or was kept.
  const auto other =
      std::find_if(assignments_.begin(), assignments_.end(), [&](const auto& entry) { return is_it(entry.second); });
  return other == assignments_.end() ? nullptr : &other->second;
}

absl::StatusOr<NodeAssignments::Report> NodeAssignments::Note(Assignment& assignment, const v1::ModelEvent& event) {
  auto* const trial = std::get_if<Trial>(&assignment.work);
  if (trial == nullptr || event.experiment() != trial->spec.experiment() || event.trial() != trial->spec.trial()) {
    return Lie("reports on a trial that it was not given");
  }
  const auto open = trial->open.find(event.model());
  const bool is_open = open != trial->open.end();
  const bool is_known = is_open ? event.attempt() == open->second.attempt && event.sequence() >= 1 &&
                                      event.sequence() <= open->second.known
                                : trial->closed.count(event.model()) > 0;
  if (is_known) {
    // The head before has recorded it (and all that was said before: the journal keeps the order), and did not come to
    // say so.
    assignment.recorded = assignment.received;
    return Report::kKnown;
  }
  if (!is_open) {
    return Lie(absl::StrCat("reports on model ", event.model(), ", which has ended or is not of its trial"));
  }
  const absl::Status checked = CheckEvent(event, open->second, trial->canceled, open->second.stopped);
  if (!checked.ok()) return Lie(std::string(checked.message()));
  open->second.last_sequence = event.sequence();
  trial->begun = true;
  if (event.has_ended()) trial->open.erase(open);
  return Report::kNew;
}

void NodeAssignments::AddUnrecorded(Assignment& assignment, const v1::ModelEvent& event, TimePoint now) {
  Trial& trial = std::get<Trial>(assignment.work);
  Count(trial, [&](EventWindow& window) { window.Read(event, now); });
  const auto open = trial.open.find(event.model());
  if (open != trial.open.end() && IsAcknowledged(event)) {
    open->second.marks.emplace_back(event.sequence(), assignment.received);
  }
}

std::optional<v1::AssignmentRecorded> NodeAssignments::Record(Assignment& assignment,
                                                              const v1::EventsRecorded& recorded, TimePoint now) {
  Trial& trial = std::get<Trial>(assignment.work);
  const auto open = trial.open.find(recorded.model());
  if (open == trial.open.end() || open->second.attempt != recorded.attempt()) return std::nullopt;
  v1::AssignmentRecorded message;
  message.set_assignment(assignment.id);
  message.set_model(recorded.model());
  message.set_attempt(recorded.attempt());
  message.set_sequence(recorded.sequence());
  open->second.recorded = message;
  Count(trial, [&](EventWindow& window) { window.Recorded(recorded, now); });
  // What was said before it is recorded, too: the journal keeps the order.
  auto& marks = open->second.marks;
  for (; !marks.empty() && marks.front().first <= recorded.sequence(); marks.pop_front()) {
    assignment.recorded = std::max(assignment.recorded, marks.front().second);
  }
  return message;
}

void NodeAssignments::ForgetUnrecorded(Trial& trial) {
  Count(trial, [](EventWindow& window) { window = EventWindow(); });
}

void NodeAssignments::Count(Trial& trial, const std::function<void(EventWindow&)>& change) {
  const EventAmount before = trial.window.excess();
  change(trial.window);
  const EventAmount after = trial.window.excess();
  for (EventAmount* const amount : {&unrecorded_, all_unrecorded_}) {
    *amount -= before;
    *amount += after;
  }
}

bool NodeAssignments::may_say_more(bool too_many) const {
  return !unrecorded_.reaches(too_many ? EventAmount{1, 1} : kMostUnrecordedOfNode);
}

std::vector<v1::ModelEvent> NodeAssignments::EndsOf(const Trial& trial, v1::ModelEnded::Outcome outcome,
                                                    const v1::Failure& failure, v1::ModelEnded::LostCause cause) {
  std::vector<v1::ModelEvent> ends;
  for (const v1::TrialModel& model : trial.spec.models()) {
    const auto open = trial.open.find(model.model());
    if (open == trial.open.end()) continue;
    const int last = open->second.last_sequence;
    if (open->second.stopped) {
      ends.push_back(EndedEvent(trial.spec, model, last, v1::ModelEnded::STOPPED_EARLY));
    } else if (trial.canceled) {
      ends.push_back(EndedEvent(trial.spec, model, last, v1::ModelEnded::CANCELED));
    } else {
      ends.push_back(EndedEvent(trial.spec, model, last, outcome, failure, cause));
    }
  }
  return ends;
}

}  // namespace lanista
