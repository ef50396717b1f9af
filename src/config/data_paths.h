// data://NAME/sub: data that stays where it is. It names something below the folder that a machine has under this name
// (`--data NAME=DIR` of `node`, `serve` and `run`), which is another folder on each.
#ifndef LANISTA_SRC_CONFIG_DATA_PATHS_H_
#define LANISTA_SRC_CONFIG_DATA_PATHS_H_

#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace lanista {

struct DataPath {
  std::string name;
  // Relative to the folder, without ".", ".." and slashes at its ends. Empty: the folder itself.
  std::string sub;
};

// Whether it begins as one does.
bool IsDataPath(absl::string_view path);

// INVALID_ARGUMENT: there is no NAME or an impossible one, `..`, an empty part, or a NUL byte.
absl::StatusOr<DataPath> ParseDataPath(absl::string_view path);

// OK if it may be a NAME: 1 to 64 of the characters A-Z a-z 0-9 _ . -, the first a letter or a digit.
absl::Status CheckDataName(absl::string_view name);

// The NAMEs in paths, of which others may be plain paths.
std::set<std::string> DataNamesOf(const std::vector<std::string>& paths);

}  // namespace lanista

#endif  // LANISTA_SRC_CONFIG_DATA_PATHS_H_
