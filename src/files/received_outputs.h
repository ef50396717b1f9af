// The head's half of what trials write on nodes that do not see its files: takes it, and hands out checkpoints.
// What is on its way lies in AssignmentOutputs.incoming_folder; it is removed with the ReceivedOutput, and where the
// head was killed meanwhile, when the experiment is resumed.
//
// Where things belong is the head's to say (AssignmentOutputs), and never the node's: a node names files in the folders
// that its trial has anyway.
#ifndef LANISTA_SRC_FILES_RECEIVED_OUTPUTS_H_
#define LANISTA_SRC_FILES_RECEIVED_OUTPUTS_H_

#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "protos/node.pb.h"
#include "src/files/disk_room.h"
#include "src/files/file_set.h"
#include "src/files/file_set_writer.h"

namespace lanista {

// Something that a node delivers. Used by one thread at a time; calls write files.
class ReceivedOutput {
 public:
  // PERMISSION_DENIED: the assignment writes no such thing (any more). Else those of `room` and of FileSetWriter.
  static absl::StatusOr<ReceivedOutput> Begin(const v1::AssignmentOutputs& outputs, const v1::OutputHeader& header,
                                              DiskRoom* room);

  absl::Status Write(absl::string_view bytes);
  // Puts it at its place. `outputs`: as they are now, because the assignment may have ended meanwhile.
  absl::Status Commit(const v1::AssignmentOutputs& outputs);

 private:
  ReceivedOutput(v1::OutputHeader header, std::unique_ptr<DiskRoom::Taken> room, std::unique_ptr<FileSetWriter> writer)
      : header_(std::move(header)), room_(std::move(room)), writer_(std::move(writer)) {}

  // Without `files`.
  v1::OutputHeader header_;
  // Null: what is temporary takes none.
  std::unique_ptr<DiskRoom::Taken> room_;
  std::unique_ptr<FileSetWriter> writer_;
};

// The checkpoint that the model's next attempt begins with; without files: there is none. PERMISSION_DENIED: the
// assignment has no such model (any more). DATA_LOSS: it changes just now. RESOURCE_EXHAUSTED: it is too large.
absl::StatusOr<FileSetReader> ReadCheckpoint(const v1::AssignmentOutputs& outputs, int model);

}  // namespace lanista

#endif  // LANISTA_SRC_FILES_RECEIVED_OUTPUTS_H_
