// Sets of files that travel between a head and a node: what a trial wrote, and a checkpoint on its way to the next
// attempt. This is the sender's half: what lies in a folder, and its bytes one after the other. FileSetWriter is the
// other one.
#ifndef LANISTA_SRC_FILES_FILE_SET_H_
#define LANISTA_SRC_FILES_FILE_SET_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "protos/node.pb.h"
#include "src/base/file_stamp.h"
#include "src/base/unique_fd.h"

namespace lanista {

// How much may come at a time.
struct FileSetLimits {
  size_t files = 0;
  int64_t bytes = 0;
};

// What a model leaves in its output folder.
inline constexpr FileSetLimits kOutputLimits = {10000, int64_t{4} << 30};
// A checkpoint. Few files, which are held open while they are sent: they may be replaced meanwhile.
inline constexpr FileSetLimits kCheckpointLimits = {64, int64_t{4} << 30};
// A log. It is cut before it is sent, see OutputDeliveries.
inline constexpr FileSetLimits kLogLimits = {1, 20 << 20};

// RESOURCE_EXHAUSTED: there are more, or larger ones; says how much, and what may be.
absl::Status CheckLimits(size_t files, int64_t bytes, const FileSetLimits& limits);

// A file that is there.
struct FoundFile {
  // Relative to the folder.
  std::string path;
  FileStamp stamp;

  bool operator==(const FoundFile& other) const { return path == other.path && stamp == other.stamp; }
};

// The regular files in `folder` and below it, by their paths. Leaves out links, what is still being written
// (kUnfinishedPrefix), and folders that are too deep to travel. None where there is no such folder.
// FAILED_PRECONDITION: it cannot be read.
absl::StatusOr<std::vector<FoundFile>> FindFiles(const std::string& folder);

// The bytes of found files, from their beginnings. Used by one thread at a time.
class FileSetReader {
 public:
  // Reads them once, for their digests. Few files are held open from now on. RESOURCE_EXHAUSTED: they are more than
  // `limits` say. DATA_LOSS: one has changed since it was found. FAILED_PRECONDITION: one cannot be read. CANCELLED:
  // `stop`, see Sha256OfFile.
  static absl::StatusOr<FileSetReader> Open(const std::string& folder, const std::vector<FoundFile>& found,
                                            const FileSetLimits& limits, const std::function<bool()>& stop = {});

  // What comes.
  const v1::FileSet& files() const { return files_; }

  // The next bytes, into `piece`; false: there are no more. DATA_LOSS: a file has changed since.
  absl::StatusOr<bool> Next(std::string* piece);

 private:
  explicit FileSetReader(std::string folder) : folder_(std::move(folder)) {}

  absl::StatusOr<UniqueFd> OpenFile(const FoundFile& file) const;

  std::string folder_;
  std::vector<FoundFile> found_;
  v1::FileSet files_;
  // As far as they are held.
  std::vector<UniqueFd> held_;
  // Where it is: this file, its descriptor where it is not held, and the bytes of it that were read.
  size_t file_ = 0;
  UniqueFd open_;
  int64_t offset_ = 0;
};

}  // namespace lanista

#endif  // LANISTA_SRC_FILES_FILE_SET_H_
