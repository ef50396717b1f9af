// What a node says of an assignment that no worker of its has heard of, and none ever will.
#ifndef LANISTA_ACTORS_UNBEGUN_ASSIGNMENT_H_
#define LANISTA_ACTORS_UNBEGUN_ASSIGNMENT_H_

#include <set>
#include <vector>

#include "absl/status/status.h"
#include "protos/node.pb.h"

namespace lanista {

// All news of it, in order; the last one ends it. They have no numbers yet, and do not name it. `stopped`: the models
// that the head stopped before. `why`: ABORTED and UNAVAILABLE refuse it (another device may run it), CANCELLED is what
// the head wanted, and with everything else nobody can run it.
std::vector<v1::AssignmentNews> NewsOfUnbegun(const v1::Assignment& assignment, const std::set<int>& stopped,
                                              const absl::Status& why);

}  // namespace lanista

#endif  // LANISTA_ACTORS_UNBEGUN_ASSIGNMENT_H_
