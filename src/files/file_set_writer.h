// The receiver's half of a set of files (file_set.h): it comes into a folder beside its place, is checked, and gets to
// its place as a whole, or leaves nothing.
#ifndef LANISTA_SRC_FILES_FILE_SET_WRITER_H_
#define LANISTA_SRC_FILES_FILE_SET_WRITER_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "protos/node.pb.h"
#include "src/base/sha256_stream.h"
#include "src/base/unique_fd.h"
#include "src/files/file_set.h"

namespace lanista {

// OK if `path` may name a file of a set: relative, of at most 1000 bytes, with names of at most 255, none of them "."
// or "..". INVALID_ARGUMENT else.
absl::Status CheckSetPath(absl::string_view path);

// Used by one thread at a time. UNAVAILABLE is the system's: a full disk.
class FileSetWriter {
 public:
  // `staging`: the folder that it comes into. Not there yet, and nobody else's; its parent is there. INVALID_ARGUMENT:
  // these cannot be files of one folder. RESOURCE_EXHAUSTED: they are more than `limits` say.
  static absl::StatusOr<std::unique_ptr<FileSetWriter>> Begin(v1::FileSet files, std::string staging,
                                                              const FileSetLimits& limits);
  // Removes what lies in `staging`.
  ~FileSetWriter();
  FileSetWriter(const FileSetWriter&) = delete;
  FileSetWriter& operator=(const FileSetWriter&) = delete;

  // The next bytes of the set. DATA_LOSS: they are not those of the files that were announced.
  absl::Status Write(absl::string_view bytes);
  // DATA_LOSS: something is missing. Afterwards everything is on the disk.
  absl::Status Finish();

  // Put the set, or the only file of one, at `path`, relative to `root`, in the place of what may be there. No part of
  // the path may be a link; folders on the way are made. REQUIRES: Finish().ok(), and `staging` is on the same file
  // system.
  absl::Status MoveFolder(const std::string& root, const std::string& path);
  absl::Status MoveFile(const std::string& root, const std::string& path);

 private:
  FileSetWriter(v1::FileSet files, std::string staging);

  // Opens the next file that has bytes, and makes those that are empty. OK with no open file: there is none.
  absl::Status OpenNext();
  absl::Status CloseFile();
  absl::Status Move(const std::string& from, const std::string& root, const std::string& path);

  const v1::FileSet files_;
  const std::string staging_;
  // What is being written: the number of the file that comes next, the one before it, and how much of that one is
  // missing.
  int next_ = 0;
  UniqueFd file_;
  std::unique_ptr<Sha256Stream> digest_;
  int64_t left_ = 0;
};

}  // namespace lanista

#endif  // LANISTA_SRC_FILES_FILE_SET_WRITER_H_
