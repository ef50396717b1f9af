// TorchScript files that graphs refer to: read once a process.
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
  // Opens it, or finds it open. NOT_FOUND; FAILED_PRECONDITION: its content is not what the graph was made from;
  // INVALID_ARGUMENT: LibTorch cannot read it.
  static absl::StatusOr<std::shared_ptr<const Archive>> Open(const v1::Archive& archive);

  // A parameter or buffer by its path; nullptr if there is none.
  const at::Tensor* FindTensor(const std::string& path) const;

  // A deep copy of the submodule at `path` (empty: the whole). NOT_FOUND names the file.
  absl::StatusOr<torch::jit::Module> CopyModule(const std::string& path) const;

 private:
  Archive(std::string path, torch::jit::Module module);

  const std::string path_;
  const torch::jit::Module module_;
  std::unordered_map<std::string, at::Tensor> tensors_;
};

}  // namespace lanista::ops

#endif  // LANISTA_SRC_OPS_ARCHIVE_TORCH_H_
