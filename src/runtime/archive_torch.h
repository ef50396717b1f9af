// TorchScript files that graphs refer to. Only this class lets LibTorch open one.
#ifndef LANISTA_SRC_RUNTIME_ARCHIVE_TORCH_H_
#define LANISTA_SRC_RUNTIME_ARCHIVE_TORCH_H_

#include <torch/csrc/jit/api/module.h>

#include <memory>
#include <string>
#include <unordered_map>

#include "absl/status/statusor.h"
#include "protos/graph.pb.h"

namespace lanista::runtime {

// One file. Immutable: callers must not change the module and tensors that they get.
class Archive {
 public:
  // Reads the file once, then checks (CheckArchive, CheckOperators), hashes and loads those same bytes. Returns the
  // open archive if one with this path and digest is in use. Without a digest in `archive`, any content is accepted
  // that passes the checks.
  //
  // NOT_FOUND: no such file. FAILED_PRECONDITION: its content is not the content that the graph was made from.
  // INVALID_ARGUMENT: it is truncated, hostile or of a newer format, or its code uses a refused operator. LibTorch's
  // reader may crash on a hostile file: call this in a trial process only. Thread-safe.
  static absl::StatusOr<std::shared_ptr<const Archive>> Open(const v1::Archive& archive);

  // Digest of the bytes that were read.
  const std::string& sha256() const { return sha256_; }

  const torch::jit::Module& module() const { return module_; }

  // A parameter or buffer by its path; nullptr if there is none. On the CPU.
  const at::Tensor* FindTensor(const std::string& path) const;

  // A deep copy of the submodule at `path` (empty: the whole module), which the caller may change. NOT_FOUND names the
  // file.
  absl::StatusOr<torch::jit::Module> CopyModule(const std::string& path) const;

 private:
  Archive(std::string path, std::string sha256, torch::jit::Module module);

  const std::string path_;
  const std::string sha256_;
  const torch::jit::Module module_;
  std::unordered_map<std::string, at::Tensor> tensors_;
};

}  // namespace lanista::runtime

#endif  // LANISTA_SRC_RUNTIME_ARCHIVE_TORCH_H_
