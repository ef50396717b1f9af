// TorchScript files that graphs refer to. This is the only place that lets LibTorch open one.
#ifndef LANISTA_SRC_OPS_ARCHIVE_TORCH_H_
#define LANISTA_SRC_OPS_ARCHIVE_TORCH_H_

#include <torch/script.h>

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "protos/graph.pb.h"

namespace lanista::ops {

// One file. Immutable: what it hands out must not be changed.
class Archive {
 public:
  // Reads it once, and checks (CheckArchive, CheckOperators), hashes and loads those same bytes; or finds it where it
  // is still in use. Without a digest in `archive` the file may be any, and is checked like any other.
  //
  // NOT_FOUND; FAILED_PRECONDITION: its content is not what the graph was made from; INVALID_ARGUMENT: it is truncated,
  // hostile or of a newer format, or its code uses an operator that is refused. LibTorch's reader may crash on a
  // hostile file: call this in a trial process only. Thread-safe.
  static absl::StatusOr<std::shared_ptr<const Archive>> Open(const v1::Archive& archive);

  // Of the bytes that were read.
  const std::string& sha256() const { return sha256_; }

  const torch::jit::Module& module() const { return module_; }

  // A parameter or buffer by its path; nullptr if there is none.
  const at::Tensor* FindTensor(const std::string& path) const;

  // A deep copy of the submodule at `path` (empty: the whole). NOT_FOUND names the file.
  absl::StatusOr<torch::jit::Module> CopyModule(const std::string& path) const;

 private:
  Archive(std::string path, std::string sha256, torch::jit::Module module);

  const std::string path_;
  const std::string sha256_;
  const torch::jit::Module module_;
  std::unordered_map<std::string, at::Tensor> tensors_;
};

}  // namespace lanista::ops

#endif  // LANISTA_SRC_OPS_ARCHIVE_TORCH_H_
