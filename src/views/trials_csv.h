// The models of an experiment as a table that evaluator { table {} } reads.
#ifndef LANISTA_SRC_VIEWS_TRIALS_CSV_H_
#define LANISTA_SRC_VIEWS_TRIALS_CSV_H_

#include <string>

#include "absl/status/statusor.h"
#include "nlohmann/json_fwd.hpp"
#include "src/storage/journal.h"

namespace lanista {

struct TrialsCsvOptions {
  // Control characters in texts are replaced, so that none of them can move the cursor.
  bool for_terminal = false;
};

// A line for each model of `document` (a TrialsDocument of the same experiment, perhaps of some of its models) that
// succeeded, in its order. Columns: the choices in the order of the space, empty where they are not active; the final
// metrics, `default` first and the others by name; and `default@1`, `default@2`, ...: `default` after each step, up to
// one that has none. What is NaN or infinite is left out. Cells are quoted as in RFC 4180; lines end in LF.
// FAILED_PRECONDITION: the space is not known yet, or a choice and a metric have the same name.
absl::StatusOr<std::string> TrialsCsv(const JournalReader& reader, const nlohmann::ordered_json& document,
                                      const TrialsCsvOptions& options);

// The table as a document for transport: {"left_out": how many models did not succeed, "lines": the table, split at
// each LF}. `limit` and `sort`: see TrialsQuery. Errors: see TrialsCsv.
absl::StatusOr<nlohmann::ordered_json> TrialsCsvDocument(const JournalReader& reader, int limit,
                                                         const std::string& sort, const TrialsCsvOptions& options);

}  // namespace lanista

#endif  // LANISTA_SRC_VIEWS_TRIALS_CSV_H_
