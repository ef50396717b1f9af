#include "src/ops/archive_torch.h"

#include <map>
#include <mutex>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "src/base/sha256.h"
#include "src/base/status.h"

namespace lanista::ops {

Archive::Archive(std::string path, torch::jit::Module module) : path_(std::move(path)), module_(std::move(module)) {
  for (const auto& parameter : module_.named_parameters()) tensors_[parameter.name] = parameter.value;
  for (const auto& buffer : module_.named_buffers()) tensors_[buffer.name] = buffer.value;
}

absl::StatusOr<std::shared_ptr<const Archive>> Archive::Open(const v1::Archive& archive) {
  static std::mutex mutex;
  // By path and digest: whatever becomes of the file, what was read is what the digest says.
  static auto* const open = new std::map<std::pair<std::string, std::string>, std::shared_ptr<const Archive>>;
  const std::lock_guard<std::mutex> lock(mutex);
  const auto known = open->find({archive.path(), archive.sha256()});
  if (known != open->end()) return known->second;
  LANISTA_ASSIGN_OR_RETURN(const std::string digest, Sha256OfFile(archive.path()));
  if (!archive.sha256().empty() && archive.sha256() != digest) {
    return absl::FailedPreconditionError(
        absl::StrCat(archive.path(), " is not the file that the graph was made from: import it again"));
  }
  std::shared_ptr<const Archive>& entry = (*open)[{archive.path(), digest}];
  if (entry == nullptr) {
    try {
      entry.reset(new Archive(archive.path(), torch::jit::load(archive.path(), c10::kCPU)));
    } catch (const c10::Error& error) {
      return absl::InvalidArgumentError(
          absl::StrCat("cannot read ", archive.path(), ": ", error.what_without_backtrace()));
    }
  }
  return entry;
}

const at::Tensor* Archive::FindTensor(const std::string& path) const {
  const auto found = tensors_.find(path);
  return found == tensors_.end() ? nullptr : &found->second;
}

absl::StatusOr<torch::jit::Module> Archive::CopyModule(const std::string& path) const {
  torch::jit::Module module = module_;
  for (const absl::string_view part : absl::StrSplit(path, '.', absl::SkipEmpty())) {
    const std::string name(part);
    if (!module.hasattr(name) || !module.attr(name).isModule()) {
      return absl::NotFoundError(absl::StrCat(path_, " has no module '", path, "'"));
    }
    module = module.attr(name).toModule();
  }
  // Copied under autograd, parameters would be results of operators, and get no gradient.
  const at::NoGradGuard no_grad;
  torch::jit::Module copy = module.deepcopy();
  const auto originals = module.named_parameters();
  auto original = originals.begin();
  for (const auto& parameter : copy.named_parameters()) {
    parameter.value.requires_grad_((*original).value.requires_grad());
    ++original;
  }
  return copy;
}

}  // namespace lanista::ops
