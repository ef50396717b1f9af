// The head's files, for nodes that do not see them: lists what assignments read, and opens what was listed. Nothing
// else is ever opened for a node.
#ifndef LANISTA_SRC_FILES_SERVED_INPUTS_H_
#define LANISTA_SRC_FILES_SERVED_INPUTS_H_

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "protos/node.pb.h"
#include "src/base/unique_fd.h"
#include "src/files/input_set.h"

namespace lanista {

// A file on its way. Used by one thread at a time.
class ServedFile {
 public:
  // The next bytes, into `piece`; false: there are no more. FAILED_PRECONDITION names the file, where it has changed
  // since it was opened.
  absl::StatusOr<bool> Next(std::string* piece);

 private:
  friend class ServedInputs;

  ServedFile(std::string path, UniqueFd file, const FileStamp& stamp)
      : path_(std::move(path)), file_(std::move(file)), stamp_(stamp) {}

  std::string path_;
  UniqueFd file_;
  FileStamp stamp_;
  int64_t offset_ = 0;
};

// Thread-safe. Calls read files, perhaps for long: they belong on a thread that may block.
class ServedInputs {
 public:
  using SetPtr = std::shared_ptr<const InputSet>;

  // What the assignment reads. All assignments of an experiment that name the same paths get the same answer, as long
  // as this remembers it: so all nodes train on the same data. Errors: those of InputSet::Read.
  absl::StatusOr<SetPtr> List(const v1::AssignmentInputs& inputs);

  // The file with this content. PERMISSION_DENIED: the assignment reads none. FAILED_PRECONDITION names the file, where
  // it has changed since it was listed.
  absl::StatusOr<ServedFile> Open(const v1::AssignmentInputs& inputs, const std::string& sha256);

 private:
  // Made by whoever needs it first; others wait for that.
  struct Entry {
    std::string key;
    std::mutex mutex;
    // Protected by mutex. Null: not made yet.
    SetPtr set;
  };

  std::shared_ptr<Entry> Find(const v1::AssignmentInputs& inputs);

  FileDigests digests_;
  std::mutex mutex_;
  // Protected by mutex_. The last one used comes first.
  std::list<std::shared_ptr<Entry>> entries_;
};

}  // namespace lanista

#endif  // LANISTA_SRC_FILES_SERVED_INPUTS_H_
