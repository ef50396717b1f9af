// Where a node gets the head's files from.
#ifndef LANISTA_SRC_FILES_FILE_SOURCE_H_
#define LANISTA_SRC_FILES_FILE_SOURCE_H_

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "protos/node.pb.h"
#include "src/files/cancellation.h"
#include "src/files/file_cache.h"

namespace lanista {

// Thread-safe; calls block. UNAVAILABLE and NOT_FOUND may pass: the connection is lost, or the head does not know the
// assignment, because it has begun anew and the node has not joined it yet. CANCELLED: it was canceled. Else what
// NodeService says.
class FileSource {
 public:
  virtual ~FileSource() = default;

  // What the assignment reads.
  virtual absl::StatusOr<v1::InputList> List(const std::string& assignment, Cancellation* cancellation) = 0;
  // One of these files, from its beginning; an error of `write` is returned.
  virtual absl::Status Fetch(const std::string& assignment, const std::string& sha256, Cancellation* cancellation,
                             const FileCache::Write& write) = 0;
  // The checkpoint that a model of the assignment goes on from: calls `begin` with its files, perhaps none, and then
  // `write` with what is in them, one after the other. An error of theirs is returned. DATA_LOSS: it changed meanwhile.
  virtual absl::Status FetchCheckpoint(const std::string& assignment, int model, Cancellation* cancellation,
                                       const std::function<absl::Status(const v1::FileSet&)>& begin,
                                       const FileCache::Write& write) = 0;
};

}  // namespace lanista

#endif  // LANISTA_SRC_FILES_FILE_SOURCE_H_
