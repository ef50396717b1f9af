// Writing files: all files that Lanista writes for its user, and all weights, go through here.
//
// A file appears at its place when it is complete and on the disk: it is written beside its place without a name, or,
// where the file system has no such files, under another name; synced and renamed. So what was there before stays until
// then, and after any error; a process that is killed leaves nothing (but for a file with another name:
// unfinished_files.h). A file that is replaced keeps its permissions. A symbolic link is followed, as `>` of a shell
// does: the file that it leads to is replaced.
//
// Used by one thread.
#ifndef LANISTA_SRC_BASE_OUTPUT_FILES_H_
#define LANISTA_SRC_BASE_OUTPUT_FILES_H_

#include <sys/types.h>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "src/base/unique_fd.h"

namespace lanista {

// A file that is being written.
class OutputFile {
 public:
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  // Removes what was not committed.
  ~OutputFile();

  // Appends. After an error nothing more is written, and OutputFiles::Commit returns that error: a writer of a library
  // that throws in its destructor (LibTorch's) need not know.
  void Write(const void* bytes, size_t count);
  void Write(absl::string_view bytes) { Write(bytes.data(), bytes.size()); }
  // The error so far, for those who would rather stop than go on for nothing.
  const absl::Status& status() const { return status_; }

 private:
  friend class OutputFiles;

  explicit OutputFile(std::string path) : path_(std::move(path)) {}

  absl::Status Open(const std::vector<std::string>& inputs);
  // Hands what is buffered to the system.
  void Flush();
  // Everything is on the disk, not at its place yet.
  absl::Status Finish();
  // It has the other name. A step of its own: until here nothing is left of a killed process, and none may fail behind
  // the first renaming.
  absl::Status Close();
  absl::Status Rename();

  // As the user gave it, and without links.
  std::string path_, place_;
  // The other name; empty: it has none.
  std::string temporary_;
  UniqueFd file_;
  std::string buffer_;
  absl::Status status_;
};

// Files that belong together.
class OutputFiles {
 public:
  // `inputs`: files that are read to make these: none of them is overwritten, under whatever name or link.
  explicit OutputFiles(std::vector<std::string> inputs = {}) : inputs_(std::move(inputs)) {}

  // Begins a file. The result lives as long as this. INVALID_ARGUMENT: at `path` there is something that is no regular
  // file (a folder, a device), a link that leads nowhere, or an input. Else the system's error: no such folder, no
  // permission, a full disk. Messages begin with "cannot write PATH: ".
  absl::StatusOr<OutputFile*> Add(const std::string& path);

  // Add and Write.
  absl::Status Write(const std::string& path, absl::string_view content);

  // Puts all files at their places once all of them are complete, and returns their paths in the order of Add. An error
  // leaves what was there before (but an error of the system between two renames).
  absl::StatusOr<std::vector<std::string>> Commit();

 private:
  const std::vector<std::string> inputs_;
  std::vector<std::unique_ptr<OutputFile>> files_;
};

// Writes one file. Errors: those of OutputFiles.
absl::Status WriteFile(const std::string& path, absl::string_view content, const std::vector<std::string>& inputs = {});

// Writes a copy of an open regular file, however it was opened and whatever has its name by now. `from_path` names it
// in messages, and is no place for the copy. Errors: those of OutputFiles, and "cannot read FROM_PATH: ".
absl::Status CopyFile(int from, const std::string& from_path, const std::string& to);

// Makes the folder in which `path` lies, and those above it, where they are missing.
absl::Status MakeParentFolder(const std::string& path);

}  // namespace lanista

#endif  // LANISTA_SRC_BASE_OUTPUT_FILES_H_
