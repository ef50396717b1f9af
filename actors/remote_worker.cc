#include "actors/remote_worker.h"

#include <utility>

namespace lanista {

WorkerActor::behavior_type RemoteWorker(WorkerActor::pointer self, int32_t node, int32_t device, int32_t number,
                                        const NodesSelf& nodes) {
  self->set_down_handler([self](const caf::down_msg&) { self->quit(caf::exit_reason::user_shutdown); });
  self->monitor(nodes);
  return {
      [=](v1::TrialSpec& spec) { self->send(nodes, node, device, number, std::move(spec)); },
      [=](v1::CancelTrial& cancel) { self->send(nodes, node, device, std::move(cancel)); },
      [=](v1::StopModel& stop) { self->send(nodes, node, device, std::move(stop)); },
      [=](v1::EventsRecorded& recorded) { self->send(nodes, node, device, std::move(recorded)); },
      [=](v1::Discover& request) { return self->delegate(nodes, node, device, number, std::move(request)); },
  };
}

}  // namespace lanista
