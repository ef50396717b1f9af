// Plans in words.
#ifndef LANISTA_ENGINES_CGO_EXPLAIN_H_
#define LANISTA_ENGINES_CGO_EXPLAIN_H_

#include "engines/cgo/logical_plan.h"
#include "protos/messages.pb.h"

namespace lanista {

// Adds the work of an optimised plan to `trial`, steps in a row that are done for the same models as one. What several
// models share comes before what they do apart.
void ExplainWork(const LogicalPlan& plan, v1::ExplainedTrial* trial);

}  // namespace lanista

#endif  // LANISTA_ENGINES_CGO_EXPLAIN_H_
