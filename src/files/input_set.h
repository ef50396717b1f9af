// What an assignment reads, as it lies on the head's disk: files with their digests, and folders.
#ifndef LANISTA_SRC_FILES_INPUT_SET_H_
#define LANISTA_SRC_FILES_INPUT_SET_H_

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "protos/node.pb.h"
#include "src/base/file_stamp.h"

namespace lanista {

// Of one assignment: what has more is data that machines should have already.
inline constexpr size_t kMaxInputFiles = 200000;

// Digests of files that were read before and have not changed since. Thread-safe; what it remembers is bounded.
class FileDigests {
 public:
  // Of an open file with this stamp. Errors name `path`; FAILED_PRECONDITION: it was written meanwhile. CANCELLED: see
  // Sha256OfFile.
  absl::StatusOr<std::string> Of(int file, const FileStamp& stamp, const std::string& path,
                                 const std::function<bool()>& stop = {});

 private:
  std::mutex mutex_;
  // Protected by mutex_. By device and inode.
  std::map<std::pair<dev_t, ino_t>, std::pair<FileStamp, std::string>> known_;
};

// Constant once it is made.
class InputSet {
 public:
  // Lists files, folders with all that is in them and below them, and the archives that graphs name. What is not there,
  // is a device or a pipe, or is a graph that cannot be read, is left out: whoever reads it says what is wrong with it.
  // FAILED_PRECONDITION names what is there and cannot be read; RESOURCE_EXHAUSTED: there are too many files. Reads all
  // of them that `digests` does not know. CANCELLED: see Sha256OfFile.
  static absl::StatusOr<InputSet> Read(const v1::AssignmentInputs& inputs, FileDigests* digests,
                                       const std::function<bool()>& stop = {});

  // Sorted by path, each path once.
  const std::vector<v1::InputFile>& files() const { return files_; }
  const std::vector<std::string>& folders() const { return folders_; }
  // A file with this content; nullptr: there is none.
  const v1::InputFile* Find(const std::string& sha256) const;

 private:
  std::vector<v1::InputFile> files_;
  std::vector<std::string> folders_;
  // By content: an index of files_.
  std::unordered_map<std::string, size_t> by_digest_;
};

// The path as it stands in an InputSet: without ".", ".." and trailing slashes. REQUIRES: it is absolute.
std::string NormalPath(const std::string& path);

}  // namespace lanista

#endif  // LANISTA_SRC_FILES_INPUT_SET_H_
