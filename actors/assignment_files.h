// What an assignment of a node's reads at the head, and where what it writes belongs.
#ifndef LANISTA_ACTORS_ASSIGNMENT_FILES_H_
#define LANISTA_ACTORS_ASSIGNMENT_FILES_H_

#include <string>

#include "absl/status/statusor.h"
#include "actors/node_assignments.h"
#include "protos/node.pb.h"
#include "src/experiment/weights_bars.h"

namespace lanista {

v1::AssignmentInputs InputsOf(const NodeAssignments::Assignment& assignment);

// NOT_FOUND: it writes nothing. ABORTED: it was canceled. `state_root`: the head's state folder. `weights_bars`: which
// weights are still wanted.
absl::StatusOr<v1::AssignmentOutputs> OutputsOf(const NodeAssignments::Assignment& assignment,
                                                const std::string& state_root, const WeightsBars& weights_bars);

}  // namespace lanista

#endif  // LANISTA_ACTORS_ASSIGNMENT_FILES_H_
