// The document of `trials`: every model of an experiment, its metrics and its attempts.
#ifndef LANISTA_SRC_VIEWS_TRIALS_DOCUMENT_H_
#define LANISTA_SRC_VIEWS_TRIALS_DOCUMENT_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "nlohmann/json_fwd.hpp"
#include "src/storage/journal.h"

namespace lanista {

// Which models a list of trials has, and in which order.
struct TrialsQuery {
  // Only models with this status, in any case; empty: all.
  std::string status = {};
  // At most so many, the first ones; 0: all.
  int limit = 0;
  // "model", or empty: by number. "duration": by the seconds of the last attempt, the longest first. "best": first
  // those that have a front, by it and then by the first objective; then other models that keep the limits, by the
  // first objective; then those that break them, the one that breaks them least first; then models that have no such
  // metric.
  std::string sort = {};
};

// `trials`: {
//   "id", "objective", "objectives", "constraints": as in `show`,
//   "models": [{
//     "id", "sample": {label: candidate},
//     "status": QUEUED RUNNING INTERRUPTED SUCCEEDED FAILED STOPPED_EARLY INFEASIBLE CANCELED,
//     "params", "flops": its parameters, and what one run on one sample costs (a multiply-add counts as two), as
//       counted when it was built; null: it was not built yet, or (flops) not all are known,
//     "metrics": {"final": {name: value} or null, "intermediate": [{"step", "time", "metrics": {name:
//       value}}]}: of the deciding attempt, or of the latest one,
//     "failure": null or {"reason", "message", "signal", "exit_status"} (the last two null for other reasons),
//     "stopped": null or {"step", "because"}: the verdict that stopped the model early,
//     "violation": how far its final metrics break the limits (Goals::Violation; 0: not at all); null: it has none,
//     "breaks": null or these limits: "params 1200000 (at most 1000000)",
//     "front": of a model that succeeded and keeps all limits: 0 if no other one beats it, 1 if only those of front 0
//       do, and so on (SortBestFirst); null of all others,
//     "weights": where in the experiment's folder its trained weights are kept; null: they are not,
//     "attempts": [{"attempt", "trial", "device", "node", "start", "end", "seconds", "merged_with": [model ids],
//       "alone_because": why it was not merged, where models are, "models_memory": bytes that all models of the trial
//       took at most, "outcome", "failure", "lost_cause", "resumed_steps", "assignment"}]: null for what has not
//       happened yet or is not known
//   }]
// }
absl::StatusOr<nlohmann::ordered_json> TrialsDocument(const JournalReader& reader, const TrialsQuery& query = {});

// The same document model by model, because what all models reported may be more than memory should hold. Used by one
// thread at a time.
class TrialsReader {
 public:
  // Reads all but the reports, which Next reads of the models that were asked for. `reader` outlives the result.
  static absl::StatusOr<TrialsReader> Open(const JournalReader& reader, const TrialsQuery& query = {});
  TrialsReader(TrialsReader&& other) noexcept;
  ~TrialsReader();

  // The document, whose last key `models` has no entries.
  nlohmann::ordered_json Beginning() const;
  // The next entries of `models`, in their order; empty: there are no more.
  absl::StatusOr<std::vector<nlohmann::ordered_json>> Next();

 private:
  struct Facts;

  explicit TrialsReader(std::unique_ptr<Facts> facts);

  std::unique_ptr<Facts> facts_;
};

// The entry of `models` of one model, without reading what all others reported. NOT_FOUND: there is no such model.
absl::StatusOr<nlohmann::ordered_json> TrialDocument(const JournalReader& reader, int model);

}  // namespace lanista

#endif  // LANISTA_SRC_VIEWS_TRIALS_DOCUMENT_H_
