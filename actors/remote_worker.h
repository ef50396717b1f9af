// RemoteWorkerActor: stands in, at the head, for the worker of a node's device. It looks like a WorkerActor to the
// training service and hands all that it is told to the NodesActor, which knows the device's assignments, talks to the
// node, and tells the training service what becomes of them. It ends when the device is gone, with the reason.
#ifndef LANISTA_ACTORS_REMOTE_WORKER_H_
#define LANISTA_ACTORS_REMOTE_WORKER_H_

#include <cstdint>

#include "actors/interfaces.h"
#include "caf/typed_event_based_actor.hpp"

namespace lanista {

// With its messages to itself (it is time to see who is silent) and those of the remote workers: for a node, by its
// number at the head, and a device, by its number at the node. Work also names the worker, by how many its device has
// had: it may be on its way while another one takes that one's place. What concerns a trial names that.
using NodesSelf =
    NodesActor::extend<caf::reacts_to<deadline_atom>, caf::reacts_to<int32_t, int32_t, int32_t, v1::TrialSpec>,
                       caf::reacts_to<int32_t, int32_t, v1::CancelTrial>,
                       caf::reacts_to<int32_t, int32_t, v1::StopModel>,
                       caf::reacts_to<int32_t, int32_t, v1::EventsRecorded>,
                       caf::replies_to<int32_t, int32_t, int32_t, v1::Discover>::with<v1::Discovered>>;

// Ends with `nodes`. `number`: how many workers the device has had, with this one.
WorkerActor::behavior_type RemoteWorker(WorkerActor::pointer self, int32_t node, int32_t device, int32_t number,
                                        const NodesSelf& nodes);

}  // namespace lanista

#endif  // LANISTA_ACTORS_REMOTE_WORKER_H_
