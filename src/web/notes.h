// What people note about models: stars and texts, in a file beside the journal.
#ifndef LANISTA_SRC_WEB_NOTES_H_
#define LANISTA_SRC_WEB_NOTES_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "nlohmann/json_fwd.hpp"

namespace lanista {

// The file `notes.json` in an experiment's folder: {"notes": {"3": {"star": true, "note": "text"}}}. Model 3 is not in
// it if it has neither a star nor a text. Thread-safe, and so are several processes: who writes holds the lock of
// `notes.lock` beside it.

// A folder without notes has an empty list. DATA_LOSS: the file holds something else.
absl::StatusOr<nlohmann::ordered_json> ReadNotes(const std::string& folder);

// Replaces the note of one model. INVALID_ARGUMENT: the text has more than 10,000 bytes.
absl::Status WriteNote(const std::string& folder, int model, bool star, const std::string& text);

}  // namespace lanista

#endif  // LANISTA_SRC_WEB_NOTES_H_
