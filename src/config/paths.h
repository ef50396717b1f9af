// Where relative paths start: at the configuration file, or where the user stands.
#ifndef LANISTA_SRC_CONFIG_PATHS_H_
#define LANISTA_SRC_CONFIG_PATHS_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "google/protobuf/message.h"

namespace lanista {

// The folder in which the user typed the command: BUILD_WORKING_DIRECTORY under `bazel run` (which starts programs
// elsewhere), else the working directory. Absolute.
std::string UserDirectory();

// `path` as an absolute path: a leading `~` is the home folder ($HOME), anything else relative starts at `folder`.
// Nothing is looked up on disk. INVALID_ARGUMENT where there is no $HOME.
absl::StatusOr<std::string> ResolvePath(const std::string& path, const std::string& folder);

// Resolves every field of `config` (and of the messages in it) that holds a path. The list of these fields is in
// paths.cc: a new dataset adds its own there.
absl::Status ResolvePaths(google::protobuf::Message& config, const std::string& folder);

// INVALID_ARGUMENT names a field of `config` that holds a path which is not absolute.
absl::Status CheckAbsolutePaths(const google::protobuf::Message& config);

// The paths in `config` that are not empty, each once, in the order in which they were found.
std::vector<std::string> PathsIn(const google::protobuf::Message& config);

// Puts `map(path)` in the place of each path that is set.
void MapPaths(const std::function<std::string(const std::string&)>& map, google::protobuf::Message* config);

}  // namespace lanista

#endif  // LANISTA_SRC_CONFIG_PATHS_H_
