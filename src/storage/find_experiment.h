// Experiments by what a user types.
#ifndef LANISTA_SRC_STORAGE_FIND_EXPERIMENT_H_
#define LANISTA_SRC_STORAGE_FIND_EXPERIMENT_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "src/storage/state_dir.h"

namespace lanista {

// The id of the experiment that `text` stands for, the first of these that fits: its id; "latest", the experiment that
// was created last (of those that can be read); the beginning of exactly one id. INVALID_ARGUMENT: no id can look so,
// or it is the beginning of several, which the message lists. NOT_FOUND: there is none.
absl::StatusOr<std::string> FindExperiment(const StateDir& state_dir, absl::string_view text);

}  // namespace lanista

#endif  // LANISTA_SRC_STORAGE_FIND_EXPERIMENT_H_
