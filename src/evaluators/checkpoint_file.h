// The file from which a trial of a built-in evaluator goes on after an earlier attempt was lost.
//
//   "LANCKPT1"                          the format
//   size of the header                  8 bytes, little endian
//   v1.CheckpointHeader
//   elements of the header's tensors    row-major, without gaps
//   Checksum of all before it           8 bytes, little endian
//
// The file is data: nothing in it is executed, and it is not trusted. Before memory is allocated, sizes are checked
// against the file's own size. Before anything is used, the checksum is checked.
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
  // In the file's order. When a checkpoint is written, these are the tensors that training uses, not copies. When it
  // was read, they are dense and on the CPU.
  std::vector<NamedTensor> tensors;
};

// Writes `checkpoint` to a file beside `path`, syncs it and renames it over `path`. Tensors are written one by one, and
// only those that are not on the CPU or not contiguous are copied, so memory for one copy is enough. Errors are those
// of OutputFiles, and INVALID_ARGUMENT for a tensor of a type that cannot be written.
absl::Status WriteCheckpoint(const std::string& path, const Checkpoint& checkpoint);

// Reads it. NOT_FOUND: there is none. FAILED_PRECONDITION: its identity is not `identity`. INVALID_ARGUMENT: it is
// damaged, or something else.
absl::StatusOr<Checkpoint> ReadCheckpoint(const std::string& path, const std::string& identity);

// The status that ReadCheckpoint would return, found without allocating the tensors.
absl::Status CheckCheckpointFile(const std::string& path, const std::string& identity);

}  // namespace lanista

#endif  // LANISTA_SRC_EVALUATORS_CHECKPOINT_FILE_H_
