// The metrics that Lanista itself knows by name; all others are the evaluator's own.
#ifndef LANISTA_SRC_BASE_METRIC_NAMES_H_
#define LANISTA_SRC_BASE_METRIC_NAMES_H_

#include "protos/experiment.pb.h"

namespace lanista {

// What strategies and stoppers compare where no objective names another metric.
inline constexpr char kDefaultMetric[] = "default";
// Trained and frozen parameters.
inline constexpr char kParamsMetric[] = "params";
// Operations of one run; of graphs only.
inline constexpr char kFlopsMetric[] = "flops";
// Bytes that a model takes while it trains, as estimated from its graph: a limit only, and no metric that models have.
inline constexpr char kMemoryMetric[] = "memory";

// Whether the evaluator may report a metric of any name: a table's columns and users' own evaluators.
inline bool MayReportAnyMetric(const v1::EvaluatorConfig& evaluator) {
  return evaluator.has_table() || evaluator.has_custom();
}

}  // namespace lanista

#endif  // LANISTA_SRC_BASE_METRIC_NAMES_H_
