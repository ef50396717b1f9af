#include "src/launcher/sent_files.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "src/base/status.h"
#include "src/config/data_paths.h"
#include "src/config/paths.h"
#include "src/files/outgoing_files.h"
#include "src/service/path_stamp.h"

namespace lanista {
namespace {

namespace fs = std::filesystem;

// The greatest depth of folders: links may lead in circles.
constexpr int kMaxDepth = 40;

// The paths of this machine, each once. INVALID_ARGUMENT names the field of one that is not here.
absl::StatusOr<std::map<std::string, v1::PathStamp>> StampPaths(const v1::ExperimentConfig& config) {
  std::map<std::string, v1::PathStamp> stamps;
  LANISTA_RETURN_IF_ERROR(VisitPaths(config, [&stamps](const std::string& field, const std::string& path) {
    if (IsDataPath(path)) return absl::OkStatus();
    absl::StatusOr<v1::PathStamp> stamp = StampOf(path);
    if (!stamp.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat(field, ": ", std::string(stamp.status().message()),
                       ". `submit` brings files of this machine to the head; what only the head or its nodes have is "
                       "data://NAME/sub, with `--data NAME=DIR` of `serve` or `node`"));
    }
    stamps.emplace(path, *std::move(stamp));
    return absl::OkStatus();
  }));
  return stamps;
}

// The size of a file, or of all files in a folder. A file that cannot be read counts as 0: reading it later gives the
// error.
int64_t BytesOf(const std::string& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) return static_cast<int64_t>(fs::file_size(path, error));
  constexpr auto kOptions =
      fs::directory_options::follow_directory_symlink | fs::directory_options::skip_permission_denied;
  int64_t bytes = 0;
  for (fs::recursive_directory_iterator entry(path, kOptions, error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code ignored;
    if (entry.depth() > kMaxDepth) entry.disable_recursion_pending();
    if (!entry->is_regular_file(ignored)) continue;
    const auto size = static_cast<int64_t>(entry->file_size(ignored));
    if (!ignored) bytes += size;
  }
  return bytes;
}

// Checked before the files are read for their digests.
absl::Status CheckSize(const std::vector<std::string>& paths, int64_t limit) {
  int64_t bytes = 0;
  for (const std::string& path : paths) {
    bytes += BytesOf(path);
    if (bytes <= limit) continue;
    return absl::ResourceExhaustedError(
        absl::StrCat("what the experiment reads has more than the ", limit >> 20,
                     " MiB that a client may upload to this head "
                     "(`serve --upload-limit`); ",
                     path,
                     " is too much. Leave it where it is, and name it as data of the machines "
                     "that have it: data://NAME/sub, with `--data NAME=DIR` of `node` or `serve`"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status SendFiles(HeadClient& head, bool all, v1::CreateExperimentRequest* request) {
  LANISTA_ASSIGN_OR_RETURN(const auto stamps, StampPaths(request->config()));
  v1::FindPathsRequest find;
  std::vector<std::string> sent;
  for (const auto& [path, stamp] : stamps) {
    sent.push_back(path);
    *find.add_paths() = stamp;
  }
  if (sent.empty()) return absl::OkStatus();
  LANISTA_ASSIGN_OR_RETURN(const v1::FindPathsReply reply, head.FindPaths(find));
  if (!all) {
    sent.clear();
    for (int i = 0; i < find.paths_size(); ++i) {
      if (i < reply.found_size() && reply.found(i)) {
        *request->add_shared_paths() = find.paths(i);
      } else {
        sent.push_back(find.paths(i).path());
      }
    }
  }
  if (sent.empty()) return absl::OkStatus();
  LANISTA_RETURN_IF_ERROR(CheckSize(sent, reply.upload_limit()));
  std::vector<std::string> graphs;
  if (request->config().space().has_graph()) graphs.push_back(request->config().space().graph().path());
  LANISTA_ASSIGN_OR_RETURN(const OutgoingFiles files, OutgoingFiles::Make(sent, graphs));
  LANISTA_ASSIGN_OR_RETURN(const std::string folder, head.Upload(files.list(), [&files](int file, const auto& take) {
    return files.Read(file, take);
  }));
  std::map<std::string, std::string> there;
  for (const std::string& path : sent) there[path] = absl::StrCat(folder, "/", files.PlaceOf(path));
  MapPaths(
      [&there](const std::string& path) {
        const auto found = there.find(path);
        return found == there.end() ? path : found->second;
      },
      request->mutable_config());
  return absl::OkStatus();
}

}  // namespace lanista
