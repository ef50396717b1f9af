// What people and scripts see of the trials of an experiment whose engine merges models.
#ifndef LANISTA_SRC_VIEWS_MERGED_VIEW_H_
#define LANISTA_SRC_VIEWS_MERGED_VIEW_H_

#include <string>

#include "absl/status/statusor.h"
#include "nlohmann/json_fwd.hpp"
#include "src/storage/journal.h"
#include "src/views/text_table.h"

namespace lanista {

// `trials --merged`: {
//   "id", "merges": whether the experiment's engine merges models,
//   "trials": [{
//     "trial", "queued": time,
//     "alone_because": why it has one model; null where it has several,
//     "estimated_memory", "measured_memory": bytes of all its models together; null: not known,
//     "device", "node", "start", "end", "seconds": of the trial; null: not yet,
//     "models": [{"model", "attempt", "outcome": null: not yet,
//       "again": null, or {"attempt", "trial", "because"}: the attempt that followed, and why}],
//     "steps": all steps that are done, "steps_alone": so many would be done if each model ran alone; null: not known,
//     "work": as in `validate --explain-cgo`, with the numbers of models; none where nothing is known or shared
//   }]
// } Trials of one model are in it where the engine says why they are alone, or planned their memory.
absl::StatusOr<nlohmann::ordered_json> MergedTrialsDocument(const JournalReader& reader);

// The same as a table, for a terminal of `width` columns.
std::string MergedTrialsText(const nlohmann::ordered_json& document, int width = kAnyWidth);

}  // namespace lanista

#endif  // LANISTA_SRC_VIEWS_MERGED_VIEW_H_
