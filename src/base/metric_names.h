// The metrics that Lanista itself knows by name; all others are the evaluator's own.
#ifndef LANISTA_SRC_BASE_METRIC_NAMES_H_
#define LANISTA_SRC_BASE_METRIC_NAMES_H_

namespace lanista {

// The metric that strategies and stoppers compare if no objective names another one.
inline constexpr char kDefaultMetric[] = "default";
// Trained and frozen parameters.
inline constexpr char kParamsMetric[] = "params";
// Operations of one run; only graphs have this metric.
inline constexpr char kFlopsMetric[] = "flops";
// Bytes that a model takes while it trains, as estimated from its graph. Limits can name it, but no model reports it.
inline constexpr char kMemoryMetric[] = "memory";

}  // namespace lanista

#endif  // LANISTA_SRC_BASE_METRIC_NAMES_H_
