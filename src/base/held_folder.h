// Folders of which one can see whether anybody still uses them, or whether a process that was killed has left them.
#ifndef LANISTA_SRC_BASE_HELD_FOLDER_H_
#define LANISTA_SRC_BASE_HELD_FOLDER_H_

#include <string>

#include "absl/status/statusor.h"
#include "src/base/unique_fd.h"

namespace lanista {

// Holds a folder by a lock on its file `lock`, as long as the result lives, and no longer than this process does.
// ALREADY_EXISTS: somebody else holds it, or is about to remove it. NOT_FOUND: there is no such folder. Else the
// system's error. Thread-safe.
absl::StatusOr<UniqueFd> HoldFolder(const std::string& folder);

// Removes what is in `parent`, and `parent` itself once nothing is left, but leaves the folders alone that somebody
// holds, in this process or another one, or whose lock cannot be tried. Removes links, never what they point to. What
// cannot be removed stays.
// Thread-safe.
void RemoveUnlessHeld(const std::string& parent);

}  // namespace lanista

#endif  // LANISTA_SRC_BASE_HELD_FOLDER_H_
