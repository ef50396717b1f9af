#include "src/files/input_set.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "src/base/sha256_stream.h"
#include "src/base/status.h"
#include "src/files/regular_file.h"
#include "src/graph/io.h"

namespace lanista {
namespace {

namespace fs = std::filesystem;

// Of digests that are remembered: those of one large assignment, and of some more.
constexpr size_t kMaxDigests = 2 * kMaxInputFiles;
// Folders in folders. Links may lead in circles.
constexpr int kMaxDepth = 40;
// A file that was written so recently may be written again without other times: clocks of file systems tick slowly.
constexpr absl::Duration kFresh = absl::Seconds(2);

// Collects what is to be listed, without reading files.
class Walk {
 public:
  // `is_graph`: the file is one.
  absl::Status Add(const std::string& path, bool is_graph, int depth = 0) {
    std::error_code error;
    const fs::file_status status = fs::status(path, error);
    if (status.type() == fs::file_type::directory) return AddFolder(path, depth);
    if (status.type() == fs::file_type::regular) {
      File& file = files_[path];
      file.is_graph = file.is_graph || is_graph;
      file.is_named = file.is_named || depth == 0;
      if (files_.size() <= kMaxInputFiles) return absl::OkStatus();
      return absl::ResourceExhaustedError(
          absl::StrCat("the configuration names more than ", kMaxInputFiles, " files (", path,
                       " is one too many): let the machines share the folder, under the same path"));
    }
    if (status.type() != fs::file_type::none) return absl::OkStatus();
    return CannotRead(path, error, depth);
  }

  struct File {
    bool is_graph = false;
    // By itself, not as a part of a folder.
    bool is_named = false;
  };
  // By path.
  const std::map<std::string, File>& files() const { return files_; }
  const std::set<std::string>& folders() const { return folders_; }

 private:
  absl::Status AddFolder(const std::string& path, int depth) {
    if (!folders_.insert(path).second) return absl::OkStatus();
    if (depth == kMaxDepth || folders_.size() > kMaxInputFiles) {
      return absl::ResourceExhaustedError(absl::StrCat(path, ": there are too many folders in folders"));
    }
    std::error_code error;
    for (fs::directory_iterator entry(path, error), end; !error && entry != end; entry.increment(error)) {
      LANISTA_RETURN_IF_ERROR(Add(entry->path().string(), /*is_graph=*/false, depth + 1));
    }
    return error ? CannotRead(path, error, depth) : absl::OkStatus();
  }

  // Below a folder there may be what nobody reads (lost+found, say): who does read it says what is wrong with it.
  static absl::Status CannotRead(const std::string& path, const std::error_code& error, int depth) {
    if (depth > 0) return absl::OkStatus();
    return absl::FailedPreconditionError(absl::StrCat("cannot read ", path, ": ", error.message()));
  }

  std::map<std::string, File> files_;
  std::set<std::string> folders_;
};

}  // namespace

std::string NormalPath(const std::string& path) {
  std::string normal = fs::path(path).lexically_normal().string();
  while (normal.size() > 1 && normal.back() == '/') normal.pop_back();
  return normal;
}

absl::StatusOr<std::string> FileDigests::Of(int file, const FileStamp& stamp, const std::string& path,
                                            const std::function<bool()>& stop) {
  const std::pair<dev_t, ino_t> key(stamp.device, stamp.inode);
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = known_.find(key);
    if (found != known_.end() && found->second.first == stamp) return found->second.second;
  }
  LANISTA_ASSIGN_OR_RETURN(std::string digest, Sha256OfFile(file, path, stop));
  struct stat info = {};
  if (fstat(file, &info) != 0 || FileStamp::Of(info) != stamp) {
    return absl::FailedPreconditionError(absl::StrCat(path, " is being written; wait until it is complete"));
  }
  if (absl::Now() - absl::FromUnixNanos(stamp.status_changed) < kFresh) return digest;
  const std::lock_guard<std::mutex> lock(mutex_);
  if (known_.size() >= kMaxDigests) known_.clear();
  known_[key] = {stamp, digest};
  return digest;
}

absl::StatusOr<InputSet> InputSet::Read(const v1::AssignmentInputs& inputs, FileDigests* digests,
                                        const std::function<bool()>& stop) {
  Walk walk;
  for (const std::string& path : inputs.paths()) {
    const bool is_graph =
        std::find(inputs.graph_files().begin(), inputs.graph_files().end(), path) != inputs.graph_files().end();
    LANISTA_RETURN_IF_ERROR(walk.Add(NormalPath(path), is_graph));
    // What is no regular file (a pipe, say) is never opened.
    if (!is_graph || walk.files().count(NormalPath(path)) == 0) continue;
    const absl::StatusOr<v1::ModelGraph> graph = graph::ReadFile(NormalPath(path));
    if (!graph.ok()) continue;
    for (const v1::Archive& archive : graph->archives()) {
      LANISTA_RETURN_IF_ERROR(walk.Add(NormalPath(archive.path()), /*is_graph=*/false));
    }
  }
  InputSet set;
  set.folders_.assign(walk.folders().begin(), walk.folders().end());
  for (const auto& [path, listing] : walk.files()) {
    FileStamp stamp;
    const absl::StatusOr<UniqueFd> file = OpenRegularFile(path, &stamp);
    // It was removed meanwhile.
    if (absl::IsNotFound(file.status())) continue;
    if (absl::IsFailedPrecondition(file.status()) && !listing.is_named) continue;
    LANISTA_RETURN_IF_ERROR(file.status());
    LANISTA_ASSIGN_OR_RETURN(std::string digest, digests->Of(file->get(), stamp, path, stop));
    v1::InputFile& listed = set.files_.emplace_back();
    listed.set_path(path);
    listed.set_size(stamp.size);
    listed.set_is_graph(listing.is_graph);
    set.by_digest_.emplace(digest, set.files_.size() - 1);
    listed.set_sha256(std::move(digest));
  }
  return set;
}

const v1::InputFile* InputSet::Find(const std::string& sha256) const {
  const auto found = by_digest_.find(sha256);
  return found == by_digest_.end() ? nullptr : &files_[found->second];
}

}  // namespace lanista
