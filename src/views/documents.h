// What scripts see of experiments: JSON documents made from journals. The text tables of tables.h show the same.
//
// Times are ISO 8601, UTC. Numbers that JSON does not know (NaN, infinity) print as null.
#ifndef LANISTA_SRC_VIEWS_DOCUMENTS_H_
#define LANISTA_SRC_VIEWS_DOCUMENTS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "nlohmann/json_fwd.hpp"
#include "src/storage/journal.h"
#include "src/storage/state_dir.h"

namespace lanista {

struct ViewOptions {
  // Length of `best`, where there is one objective.
  int best = 10;
  // The end of the time that a running experiment has taken.
  absl::Time now = absl::InfiniteFuture();
  // What a running experiment lacks to go on; empty: nothing, or it is not known.
  std::string waiting_for = {};
};

// `show`: {
//   "id", "name",
//   "status": CREATED RUNNING STOPPING DONE STOPPED FAILED, or INTERRUPTED: not at its end, and no process holds it
//   "reason": why it is in this state, for people ("" if there is nothing to say)
//   "waiting_for": what it lacks to go on, where its head says so: "a device: ..."; else null,
//   "objective": "MAXIMIZE" or "MINIMIZE": the goal of the first of the
//   "objectives": [{"metric", "goal": "MAXIMIZE" or "MINIMIZE"}], at least one,
//   "constraints": [{"metric", "max", "min"}] (null: no such limit), "seed",
//   "space_size": number of models as a decimal string; null if it is unknown,
//   "models": {"total", "succeeded", "failed", "stopped_early", "infeasible", "canceled", "unfinished"},
//   "best": [{"model", "default", "metrics": {name: value}, "sample": {label: candidate}}], best first, of models that
//     succeeded and keep all limits; with several objectives the whole Pareto front: those that no other model beats,
//   "nearest": where no model keeps all limits the one that breaks them least: {"model", "violation", "breaks"} as in
//     `trials`; else null,
//   "failures": [{"reason", "message", "signal", "count", "models": [the first ten]}], most frequent first,
//   "created", "ended": null while it runs,
//   "seconds": from the start to the end; now, where it runs; the last sign of life, where it was interrupted
// }
absl::StatusOr<nlohmann::ordered_json> ShowDocument(const JournalReader& reader, const ViewOptions& options = {});

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

// Of a space: {"name", "choices": [{"label", "kind", "candidates", "n_chosen", "active_if": [[{"label", "chosen"}]]}],
// "space_size": as in `show`}, the beginning of the document of `validate`. Errors: those of Space::FromProto.
absl::StatusOr<nlohmann::ordered_json> SpaceDocument(const std::string& name, v1::SpaceSpec spec);

// `list`: {"experiments": [{"id", "name", "status", "reason", "waiting_for", "created", "seconds", "objectives",
// "models": {...}, "best": [as in `show`, of the best model alone]}]}, oldest first. An experiment whose journal cannot
// be read has the status UNREADABLE, and why as its reason.
absl::StatusOr<nlohmann::ordered_json> ListDocument(const StateDir& state_dir, const ViewOptions& options = {});

// The entries of `experiments` for these ids, in their order. `make` makes the entry of one whose journal can be read.
std::vector<nlohmann::ordered_json> ListEntries(
    const StateDir& state_dir, const std::vector<std::string>& ids,
    const std::function<absl::StatusOr<nlohmann::ordered_json>(const JournalReader& reader)>& make);

// One of them; and that of an experiment whose journal cannot be read.
absl::StatusOr<nlohmann::ordered_json> ListEntry(const JournalReader& reader, const ViewOptions& options = {});
nlohmann::ordered_json UnreadableEntry(const std::string& id, const absl::Status& status);

// Puts entries of `experiments` into the order of `list`.
void SortOldestFirst(std::vector<nlohmann::ordered_json>* entries);

// Parts that other documents share: {name: value}, `default` first and then by name; {label: candidate}; a count, null
// where it is not known; a time.
nlohmann::ordered_json MetricsJson(const v1::Metrics& metrics);
nlohmann::ordered_json SampleJson(const ModelRecord& model);
nlohmann::ordered_json CountJson(const std::optional<int64_t>& count);
nlohmann::ordered_json TimeJson(absl::Time time);

// Any of these as text: indented; bytes that are not UTF-8 (an exception's) are replaced instead of refused, and
// control characters are escaped.
std::string ToText(const nlohmann::ordered_json& document);

}  // namespace lanista

#endif  // LANISTA_SRC_VIEWS_DOCUMENTS_H_
