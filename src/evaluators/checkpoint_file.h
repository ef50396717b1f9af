// The file that lets a trial of a built-in evaluator go on where an earlier attempt was lost.
//
//   "LANCKPT1"                          the format
//   size of the header                  8 bytes, little endian
//   v1.CheckpointHeader
//   elements of the header's tensors    row-major, without gaps
//   Checksum of all before it           8 bytes, little endian
//
// The file is data: nothing in it is executed, and it is not trusted. Sizes are checked against the file's own before
// anything is allocated, and the checksum before anything is used.
#ifndef LANISTA_SRC_EVALUATORS_CHECKPOINT_FILE_H_
#define LANISTA_SRC_EVALUATORS_CHECKPOINT_FILE_H_

#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "protos/checkpoint.pb.h"

namespace lanista {

// A checkpoint in memory.
struct Checkpoint {
  // Without `tensors`.
  v1::CheckpointHeader header;
  struct NamedTensor {
    // As in v1.CheckpointTensor.
    std::string name;
    at::Tensor tensor;
  };
  // In the file's order. Of one to be written: what training uses, not copies. Of one that was read: dense, on the CPU.
  std::vector<NamedTensor> tensors;
};

// Writes `checkpoint` over what is at `path`: beside it, synced and renamed, tensor by tensor, so that at most one is
// copied (where it is not on the CPU, or not contiguous). Errors are those of OutputFiles. INVALID_ARGUMENT also: a
// tensor's type cannot be written.
absl::Status WriteCheckpoint(const std::string& path, const Checkpoint& checkpoint);

// Reads it. NOT_FOUND: there is none. FAILED_PRECONDITION: its identity is not `identity`. INVALID_ARGUMENT: it is
// damaged, or something else.
absl::StatusOr<Checkpoint> ReadCheckpoint(const std::string& path, const std::string& identity);

// The status that ReadCheckpoint would have, without memory for the tensors.
absl::Status CheckCheckpointFile(const std::string& path, const std::string& identity);

}  // namespace lanista

#endif  // LANISTA_SRC_EVALUATORS_CHECKPOINT_FILE_H_
