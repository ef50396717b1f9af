// Where a node's files go: the head.
#ifndef LANISTA_SRC_FILES_FILE_SINK_H_
#define LANISTA_SRC_FILES_FILE_SINK_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "protos/node.pb.h"
#include "src/files/cancellation.h"
#include "src/files/file_set.h"

namespace lanista {

// Thread-safe; calls block.
class FileSink {
 public:
  virtual ~FileSink() = default;

  // Delivers one set of files. `header`: without `instance` and `files`. OK: it is at its place at the head.
  // UNAVAILABLE and NOT_FOUND may pass, as with FileSource, and so does DATA_LOSS: a file changed while it was sent.
  // CANCELLED: it was canceled. Else what NodeService says.
  virtual absl::Status Deliver(const v1::OutputHeader& header, FileSetReader* files, Cancellation* cancellation) = 0;

  // What a model of this assignment has to reach so that its weights are kept. Errors as above.
  virtual absl::StatusOr<v1::WeightsBar> FindWeightsBar(const std::string& assignment, Cancellation* cancellation) = 0;
};

}  // namespace lanista

#endif  // LANISTA_SRC_FILES_FILE_SINK_H_
