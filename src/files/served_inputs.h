// The head's files, for nodes that do not see them: lists what assignments read, and opens what was listed. Nothing
// else is ever opened for a node.
#ifndef LANISTA_SRC_FILES_SERVED_INPUTS_H_
#define LANISTA_SRC_FILES_SERVED_INPUTS_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "protos/node.pb.h"
#include "src/base/unique_fd.h"
#include "src/base/work_queue.h"
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

// Thread-safe.
class ServedInputs {
 public:
  using SetPtr = std::shared_ptr<const InputSet>;
  using Done = std::function<void(absl::StatusOr<SetPtr>)>;

  ServedInputs();
  // Gives up what is being read.
  ~ServedInputs();

  // Calls `done`, once, with what the assignment reads: now, where that is known, else on a thread of this object, when
  // everything was read. All assignments of an experiment that name the same paths get the same answer, as long as this
  // remembers it: so all nodes train on the same data. Errors: those of InputSet::Read. UNAVAILABLE: it is not open.
  // CANCELLED, perhaps: whoever asked (`caller`) has gone; where all have who wait for a set, it is not read on.
  void List(const v1::AssignmentInputs& inputs, std::weak_ptr<const void> caller, Done done);

  // A file of the set with this content. Reads it, perhaps for long, where it has changed since it was listed: call it
  // on a thread that may block. PERMISSION_DENIED: there is none. FAILED_PRECONDITION names the file, where it is
  // another one now. UNAVAILABLE: it is not open.
  absl::StatusOr<ServedFile> Open(const InputSet& set, const std::string& sha256);

  // It is open at first. Where it is not, what is being read is given up.
  void SetOpen(bool open) { open_ = open; }

 private:
  struct Waiting {
    std::weak_ptr<const void> caller;
    Done done;
  };
  // Made for whoever needs it first; others wait for that.
  struct Entry {
    std::string key;
    // Null: not made yet.
    SetPtr set;
    bool being_made = false;
    std::vector<Waiting> waiting;
  };

  // With mutex_ locked, as the next one.
  std::shared_ptr<Entry> Find(const v1::AssignmentInputs& inputs);
  static bool IsWanted(const Entry& entry);
  void Make(const std::shared_ptr<Entry>& entry, const v1::AssignmentInputs& inputs);

  std::atomic<bool> open_{true};
  FileDigests digests_;
  std::mutex mutex_;
  // Protected by mutex_, as they themselves are. The last one used comes first.
  std::list<std::shared_ptr<Entry>> entries_;

  // Last: its threads use the rest. Of its own, so that files travel while a large folder is read.
  WorkQueue queue_;
};

}  // namespace lanista

#endif  // LANISTA_SRC_FILES_SERVED_INPUTS_H_
