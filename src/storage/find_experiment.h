// Finds the experiment that a user's text names.
#ifndef LANISTA_SRC_STORAGE_FIND_EXPERIMENT_H_
#define LANISTA_SRC_STORAGE_FIND_EXPERIMENT_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "src/storage/state_dir.h"

namespace lanista {

// The id of the experiment that `text` names. Tries in this order: an id; "latest", for the last experiment that was
// created and can be read; the beginning of exactly one id. INVALID_ARGUMENT: no id can have these characters, or
// several ids begin so (the message lists them). NOT_FOUND: there is no such experiment.
absl::StatusOr<std::string> FindExperiment(const StateDir& state_dir, absl::string_view text);

}  // namespace lanista

#endif  // LANISTA_SRC_STORAGE_FIND_EXPERIMENT_H_
