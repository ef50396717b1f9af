// Describes plans for users.
#ifndef LANISTA_ENGINES_CGO_EXPLAIN_H_
#define LANISTA_ENGINES_CGO_EXPLAIN_H_

#include <vector>

#include "engines/cgo/logical_plan.h"
#include "protos/messages.pb.h"

namespace lanista {

// The work of an optimised plan; consecutive steps for the same models become one entry. Work that several models share
// comes before the work of single models.
std::vector<v1::ExplainedWork> ExplainWork(const LogicalPlan& plan);

}  // namespace lanista

#endif  // LANISTA_ENGINES_CGO_EXPLAIN_H_
