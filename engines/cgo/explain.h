// Describes plans for users.
#ifndef LANISTA_ENGINES_CGO_EXPLAIN_H_
#define LANISTA_ENGINES_CGO_EXPLAIN_H_

#include "engines/cgo/logical_plan.h"
#include "protos/messages.pb.h"

namespace lanista {

// Adds the work of an optimised plan to `trial`; consecutive steps for the same models become one entry. Work that
// several models share comes before the work of single models.
void ExplainWork(const LogicalPlan& plan, v1::ExplainedTrial* trial);

}  // namespace lanista

#endif  // LANISTA_ENGINES_CGO_EXPLAIN_H_
