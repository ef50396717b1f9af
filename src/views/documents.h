// What scripts see of experiments: JSON documents made from journals. The text tables of tables.h show the same.
//
// Times are ISO 8601, UTC. Numbers that JSON does not know (NaN, infinity) print as null.
#ifndef LANISTA_SRC_VIEWS_DOCUMENTS_H_
#define LANISTA_SRC_VIEWS_DOCUMENTS_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "nlohmann/json.hpp"
#include "src/storage/journal.h"
#include "src/storage/state_dir.h"

namespace lanista {

struct ViewOptions {
  // Length of `best`.
  int best = 10;
  // The end of the time that a running experiment has taken.
  absl::Time now = absl::InfiniteFuture();
};

// `show`: {
//   "id", "name",
//   "status": CREATED RUNNING STOPPING DONE STOPPED FAILED, or INTERRUPTED: not at its end, and no process holds it
//   "reason": why it is in this state, for people ("" if there is nothing to say)
//   "objective": "MAXIMIZE" or "MINIMIZE", "seed",
//   "space_size": number of models as a decimal string; null if it is unknown,
//   "models": {"total", "succeeded", "failed", "stopped_early", "canceled", "unfinished"},
//   "best": [{"model", "default", "metrics": {name: value}, "sample": {label: candidate}}], best first,
//   "failures": [{"reason", "message", "signal", "count", "models": [the first ten]}], most frequent first,
//   "created", "ended": null while it runs,
//   "seconds": from the start to the end; now, where it runs; the last sign of life, where it was interrupted
// }
absl::StatusOr<nlohmann::ordered_json> ShowDocument(const JournalReader& reader, const ViewOptions& options = {});

// `trials`: {
//   "id", "objective": "MAXIMIZE" or "MINIMIZE",
//   "models": [{
//     "id", "sample": {label: candidate},
//     "status": QUEUED RUNNING INTERRUPTED SUCCEEDED FAILED STOPPED_EARLY CANCELED,
//     "metrics": {"final": {name: value} or null, "intermediate": [{"step", "time", "metrics": {name:
//       value}}]}: of the deciding attempt, or of the latest one,
//     "failure": null or {"reason", "message", "signal", "exit_status"} (the last two null for other reasons),
//     "stopped": null or {"step", "because"}: the verdict that stopped the model early,
//     "attempts": [{"attempt", "trial", "device", "node", "start", "end", "seconds", "merged_with": [model ids],
//       "alone_because": why it was not merged, where models are, "models_memory": bytes that all models of the trial
//       took at most, "outcome", "failure"}]: null for what has not happened yet or is not known
//   }]
// }
absl::StatusOr<nlohmann::ordered_json> TrialsDocument(const JournalReader& reader);

// Keeps those models of a TrialsDocument that have the status (in any case; empty: all), in the order of `sort`
// ("model": by number; "best": by `default`, the best first, of models that ran to their end and then of others;
// "duration": by the seconds of the last attempt, the longest first), and at most `limit` (0: all).
void SelectTrials(const std::string& sort, const std::string& status, int limit, nlohmann::ordered_json* document);

// `list`: {"experiments": [{"id", "name", "status", "reason", "created", "seconds", "models": {...}, "best": [as in
// `show`, of the best model alone]}]}, oldest first. An experiment whose journal cannot be read has the status
// UNREADABLE, and why as its reason.
absl::StatusOr<nlohmann::ordered_json> ListDocument(const StateDir& state_dir, const ViewOptions& options = {});

// Parts that other documents share: {name: value}, `default` first and then by name; {label: candidate}.
nlohmann::ordered_json MetricsJson(const v1::Metrics& metrics);
nlohmann::ordered_json SampleJson(const ModelRecord& model);

// Any of these as text: indented; bytes that are not UTF-8 (an exception's) are replaced instead of refused, and
// control characters are escaped.
std::string ToText(const nlohmann::ordered_json& document);

}  // namespace lanista

#endif  // LANISTA_SRC_VIEWS_DOCUMENTS_H_
