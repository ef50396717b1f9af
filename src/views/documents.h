// What scripts see of experiments: JSON documents made from journals. The text tables of tables.h show the same.
//
// Times are ISO 8601, UTC. Numbers that JSON does not know (NaN, infinity) print as null.
#ifndef LANISTA_SRC_VIEWS_DOCUMENTS_H_
#define LANISTA_SRC_VIEWS_DOCUMENTS_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
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

}  // namespace lanista

#endif  // LANISTA_SRC_VIEWS_DOCUMENTS_H_
