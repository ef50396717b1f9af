// A discovery, or a conversion, that a training service has to have done.
#ifndef LANISTA_ACTORS_QUEUED_DISCOVERY_H_
#define LANISTA_ACTORS_QUEUED_DISCOVERY_H_

#include <set>
#include <string>

#include "absl/status/status.h"
#include "actors/data_names.h"
#include "actors/interfaces.h"
#include "caf/typed_response_promise.hpp"

namespace lanista {

struct QueuedDiscovery {
  v1::Discover request;
  caf::typed_response_promise<v1::Discovered> promise;
  // The names of what it reads.
  DataNames data;
  // Workers of this machine, and nodes, that went down with it.
  int lost_workers = 0;
  std::set<std::string> lost_nodes;
  // A place could not do it.
  bool needs_device = false;
  // A conversion: nodes that gave it back or went down with it.
  int places = 0;
  // Nobody waits for it any more: it comes to its end where it is.
  bool canceled = false;
};

// Whether it is the experiment's, or was asked for by it.
bool IsOf(const v1::Discover& discovery, const std::string& experiment);

// The experiment; without one, what `asked_by` says.
const std::string& AskerOf(const v1::Discover& discovery);

// Whether a discovery that a worker could not do was not to blame: it did not begin there, or its node left in order.
// `local`: a worker of this machine.
bool IsBlameless(bool local, const absl::Status& failure);

// A worker could not do it, or went down with it: counts that. Returns whether another one is to try it: a bounded
// number of times, and not where the failure will not pass. `node`: its node, where it is not `local`.
bool CountFailure(QueuedDiscovery& discovery, bool local, const std::string& node, const absl::Status& failure);

}  // namespace lanista

#endif  // LANISTA_ACTORS_QUEUED_DISCOVERY_H_
