#include "src/runtime/archive_torch.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/set.h>
#include <caffe2/serialize/read_adapter_interface.h>
#include <torch/csrc/jit/serialization/import.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <map>
#include <mutex>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "src/base/read_file.h"
#include "src/base/sha256.h"
#include "src/base/status.h"
#include "src/runtime/archive_check.h"
#include "src/runtime/operator_check_torch.h"

namespace lanista::runtime {
namespace {

// The bytes of a file, for LibTorch's reader.
class Bytes final : public caffe2::serialize::ReadAdapterInterface {
 public:
  explicit Bytes(std::string bytes) : bytes_(std::move(bytes)) {}

  size_t size() const override { return bytes_.size(); }

  size_t read(uint64_t position, void* buffer, size_t count, const char* /*what*/) const override {
    if (position > bytes_.size()) return 0;
    const absl::string_view part = absl::string_view(bytes_).substr(position, count);
    std::memcpy(buffer, part.data(), part.size());
    return part.size();
  }

 private:
  const std::string bytes_;
};

// LibTorch's error, reworded for users.
absl::Status LoadError(const std::string& path, const std::string& what) {
  const size_t start = std::min(what.find_first_not_of(" \n"), what.size());
  const std::string first_line = what.substr(start, what.find('\n', start) - start);
  if (absl::StrContains(what, "maximum supported version")) {
    return absl::InvalidArgumentError(
        absl::StrCat(path,
                     " is of a newer format than this LibTorch reads: save it with an older PyTorch, or build "
                     "Lanista with a newer LibTorch (",
                     first_line, ")"));
  }
  if (absl::StrContains(what, "Unknown builtin op")) {
    return absl::InvalidArgumentError(absl::StrCat(path, " uses an operator that LibTorch does not have (", first_line,
                                                   "): only its own can be imported"));
  }
  return absl::InvalidArgumentError(absl::StrCat("LibTorch cannot read ", path, ": ", first_line));
}

absl::StatusOr<torch::jit::Module> Load(const std::string& path, std::string bytes) {
  LANISTA_RETURN_IF_ERROR(CheckArchive(path, bytes));
  try {
    const torch::jit::Module module = torch::jit::load(std::make_shared<Bytes>(std::move(bytes)), at::kCPU);
    LANISTA_RETURN_IF_ERROR(Annotate(CheckOperators(module), path));
    return module;
  } catch (const c10::Error& error) {
    return LoadError(path, error.what_without_backtrace());
  } catch (const std::exception& error) {
    return LoadError(path, error.what());
  }
}

// Puts right what Module::deepcopy makes of tensors. It takes all that share a storage for the same one, so that views
// of different parts (the weights of an LSTM that was flattened, for example) all become the first of them. In these
// copies storages are shared as in the original, as far as the module uses them, and what shows the same elements is
// one tensor.
class TensorCopies {
 public:
  explicit TensorCopies(const c10::IValue& original) {
    original.visit([this](const c10::IValue& value) {
      if (value.isTensor()) Use(value.toTensor());
      return false;
    });
  }

  // What belongs in the place of `copy`, which was made from `original`.
  c10::IValue Copy(const c10::IValue& original, const c10::IValue& copy) {
    if (original.isTensor()) return CopyTensor(original.toTensor());
    if (original.isObject()) {
      CopySlots(*original.toObjectRef().type(), original.toObjectRef(), copy.toObjectRef());
    } else if (original.isTuple()) {
      std::vector<c10::IValue> elements;
      for (size_t i = 0; i < original.toTupleRef().elements().size(); ++i) {
        elements.push_back(Copy(original.toTupleRef().elements()[i], copy.toTupleRef().elements()[i]));
      }
      copy.toTupleRef().setElements(std::move(elements));
    } else if (original.isList()) {
      const c10::List<c10::IValue> from = original.toList();
      c10::List<c10::IValue> to = copy.toList();
      for (size_t i = 0; i < from.size(); ++i) to.set(i, Copy(from.get(i), to.get(i)));
    } else if (original.isGenericDict()) {
      // Both have the same order.
      const c10::Dict<c10::IValue, c10::IValue> from = original.toGenericDict();
      auto to = copy.toGenericDict().begin();
      for (const auto& entry : from) {
        to->setValue(Copy(entry.value(), to->value()));
        ++to;
      }
    }
    return copy;
  }

 private:
  // What is used of a storage, and the copy of that.
  struct Bytes {
    int64_t begin = std::numeric_limits<int64_t>::max();
    int64_t end = 0;
    at::Tensor copy;
  };
  // Storage, type, offset, sizes, strides, and whether it is trained.
  using View = std::tuple<const void*, at::ScalarType, int64_t, std::vector<int64_t>, std::vector<int64_t>, bool>;

  static bool IsView(const at::Tensor& tensor) {
    return tensor.defined() && tensor.layout() == at::kStrided && tensor.numel() > 0 && !tensor.is_quantized() &&
           !tensor.is_conj() && !tensor.is_neg();
  }

  void Use(const at::Tensor& tensor) {
    if (!IsView(tensor)) return;
    int64_t last = tensor.storage_offset();
    for (int64_t i = 0; i < tensor.dim(); ++i) last += (tensor.size(i) - 1) * tensor.stride(i);
    const auto size = static_cast<int64_t>(tensor.itemsize());
    Bytes& used = storages_[tensor.storage().unsafeGetStorageImpl()];
    // Where elements of any type may begin.
    constexpr int64_t kAlignment = 16;
    used.begin = std::min(used.begin, tensor.storage_offset() * size / kAlignment * kAlignment);
    used.end = std::max(used.end, (last + 1) * size);
  }

  void CopySlots(const c10::ClassType& type, const c10::ivalue::Object& original, c10::ivalue::Object& copy) {
    if (!seen_.insert(&original).second) return;
    for (size_t slot = 0; slot < type.numAttributes(); ++slot) {
      copy.setSlot(slot, Copy(original.getSlot(slot), copy.getSlot(slot)));
    }
  }

  at::Tensor CopyTensor(const at::Tensor& original) {
    if (!original.defined()) return original;
    if (!IsView(original)) return original.detach().clone().requires_grad_(original.requires_grad());
    const void* const storage = original.storage().unsafeGetStorageImpl();
    at::Tensor& copy = tensors_[View(storage, original.scalar_type(), original.storage_offset(), original.sizes().vec(),
                                     original.strides().vec(), original.requires_grad())];
    if (copy.defined()) return copy;
    Bytes& used = storages_[storage];
    if (!used.copy.defined()) {
      used.copy = at::empty({0}, at::kByte).set_(original.storage(), used.begin, {used.end - used.begin}, {1}).clone();
    }
    const int64_t offset = original.storage_offset() - used.begin / static_cast<int64_t>(original.itemsize());
    copy = at::empty({0}, original.options()).set_(used.copy.storage(), offset, original.sizes(), original.strides());
    return copy.requires_grad_(original.requires_grad());
  }

  std::set<const c10::ivalue::Object*> seen_;
  std::map<const void*, Bytes> storages_;
  std::map<View, at::Tensor> tensors_;
};

}  // namespace

Archive::Archive(std::string path, std::string sha256, torch::jit::Module module)
    : path_(std::move(path)), sha256_(std::move(sha256)), module_(std::move(module)) {
  for (const auto& parameter : module_.named_parameters()) tensors_[parameter.name] = parameter.value;
  for (const auto& buffer : module_.named_buffers()) tensors_[buffer.name] = buffer.value;
}

absl::StatusOr<std::shared_ptr<const Archive>> Archive::Open(const v1::Archive& archive) {
  static std::mutex mutex;
  // Keyed by path and digest, so that a changed file is a different archive.
  static auto* const open = new std::map<std::pair<std::string, std::string>, std::weak_ptr<const Archive>>;
  const std::lock_guard<std::mutex> lock(mutex);
  const auto find = [&](const std::string& digest) -> std::shared_ptr<const Archive> {
    const auto known = open->find({archive.path(), digest});
    return known == open->end() ? nullptr : known->second.lock();
  };
  if (auto known = find(archive.sha256()); known != nullptr) return known;
  LANISTA_ASSIGN_OR_RETURN(std::string bytes, ReadWholeFile(archive.path(), kMostWeightsBytes));
  const std::string digest = Sha256(bytes);
  if (!archive.sha256().empty() && archive.sha256() != digest) {
    return absl::FailedPreconditionError(
        absl::StrCat(archive.path(), " is not the file that the graph was made from: import it again"));
  }
  if (auto known = find(digest); known != nullptr) return known;
  LANISTA_ASSIGN_OR_RETURN(torch::jit::Module module, Load(archive.path(), std::move(bytes)));
  const std::shared_ptr<const Archive> opened(new Archive(archive.path(), digest, std::move(module)));
  (*open)[{archive.path(), digest}] = opened;
  return opened;
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
  // With autograd on, the copied parameters would be results of operators and would get no gradient.
  const at::NoGradGuard no_grad;
  torch::jit::Module copy = module.deepcopy();
  TensorCopies(module._ivalue()).Copy(module._ivalue(), copy._ivalue());
  return copy;
}

}  // namespace lanista::runtime
