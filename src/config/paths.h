// Where relative paths start: at the configuration file, or where the user stands.
#ifndef LANISTA_SRC_CONFIG_PATHS_H_
#define LANISTA_SRC_CONFIG_PATHS_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"

namespace lanista {

// The folder in which the user typed the command: BUILD_WORKING_DIRECTORY under `bazel run` (which starts programs
// elsewhere), else the working directory. Absolute.
std::string UserDirectory();

// `path` as an absolute path: a leading `~` is the home folder ($HOME), anything else relative starts at `folder`. One
// that begins with data:// (data_paths.h) stays as it is. Nothing is looked up on disk. INVALID_ARGUMENT where there is
// no $HOME.
absl::StatusOr<std::string> ResolvePath(const std::string& path, const std::string& folder);

// Resolves every field of `config` (and of the messages in it) that holds a path, and parameters of `custom` components
// that do (component.h).
absl::Status ResolvePaths(google::protobuf::Message& config, const std::string& folder);

// Whether the field holds a path: its option (rules).path says so (protos/options.proto).
bool HoldsPath(const google::protobuf::FieldDescriptor& field);

// Calls `visit` with each path in `config` that is not empty, and with the field that it is in
// ("evaluator.table.path"), up to the first error, which is returned.
absl::Status VisitPaths(const google::protobuf::Message& config,
                        const std::function<absl::Status(const std::string& field, const std::string& path)>& visit);

// INVALID_ARGUMENT: a path of the client's machine came in this field. Says what to send instead.
absl::Status BarePathError(const std::string& field, const std::string& path);

// The paths in `config` that are not empty, each once, in the order in which they were found.
std::vector<std::string> PathsIn(const google::protobuf::Message& config);

// Puts `map(path)` in the place of each path that is set.
void MapPaths(const std::function<std::string(const std::string&)>& map, google::protobuf::Message* config);

// The same for the parts of a TrialSpec, a Discover or a SpaceModel that come from the user's configuration. What is
// not there stays as it is: nothing is only defaulted.
template <typename Work>
void MapSpacePaths(const std::function<std::string(const std::string&)>& map, Work* work) {
  if (work->has_space()) MapPaths(map, work->mutable_space());
  if (work->has_engine()) MapPaths(map, work->mutable_engine());
}
// And for its evaluator.
template <typename Work>
void MapWorkPaths(const std::function<std::string(const std::string&)>& map, Work* work) {
  MapSpacePaths(map, work);
  if (work->has_evaluator()) MapPaths(map, work->mutable_evaluator());
}

}  // namespace lanista

#endif  // LANISTA_SRC_CONFIG_PATHS_H_
