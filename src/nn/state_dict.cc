#include "src/nn/state_dict.h"

#include <ATen/core/Dict.h>
#include <ATen/core/grad_mode.h>
#include <c10/util/Exception.h>
#include <caffe2/serialize/inline_container.h>
#include <torch/csrc/jit/serialization/pickle.h>

#include <cstdint>
#include <map>
#include <stdexcept>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "src/base/output_files.h"
#include "src/base/read_file.h"
#include "src/base/status.h"
#include "src/base/zip_directory.h"

namespace lanista::nn {
namespace {

constexpr size_t kMaxRecords = 1000000;

// Python's pickle, protocol 2, reduced to what a dictionary of tensors needs. (See CPython's Lib/pickletools.py.)
class Pickler {
 public:
  Pickler() { bytes_ = "\x80\x02}("; }  // PROTO 2, EMPTY_DICT, MARK: the items follow.

  // `storage`: the name of the record with the tensor's elements.
  void Add(const std::string& name, const at::Tensor& tensor, const std::string& storage) {
    String(name);
    Global("torch._utils", "_rebuild_tensor_v2");
    bytes_ += "((";  // Begins the arguments, and in them the tuple that names the storage.
    String("storage");
    Global("torch", StorageClass(tensor.scalar_type()));
    String(storage);
    String("cpu");
    Int(tensor.numel());
    bytes_ += "tQ";  // TUPLE, BINPERSID
    Int(0);
    Ints(tensor.sizes());
    Ints(tensor.strides());
    bytes_ += "\x89";  // False: the tensor requires no gradient.
    Global("collections", "OrderedDict");
    bytes_ += ")R";  // No hooks.
    bytes_ += "tR";
  }

  std::string Finish() && { return std::move(bytes_) + "u."; }  // SETITEMS, STOP

 private:
  static const char* StorageClass(at::ScalarType type) {
    switch (type) {
      case at::kFloat:
        return "FloatStorage";
      case at::kDouble:
        return "DoubleStorage";
      case at::kHalf:
        return "HalfStorage";
      case at::kBFloat16:
        return "BFloat16Storage";
      case at::kLong:
        return "LongStorage";
      case at::kInt:
        return "IntStorage";
      case at::kShort:
        return "ShortStorage";
      case at::kChar:
        return "CharStorage";
      case at::kByte:
        return "ByteStorage";
      case at::kBool:
        return "BoolStorage";
      case at::kComplexFloat:
        return "ComplexFloatStorage";
      case at::kComplexDouble:
        return "ComplexDoubleStorage";
      default:
        TORCH_CHECK(false, "tensors of type ", type, " cannot be saved");
    }
  }

  void LittleEndian(uint64_t value, int count) {
    for (int i = 0; i < count; ++i) bytes_ += static_cast<char>(value >> (8 * i) & 0xff);
  }
  void String(const std::string& text) {
    bytes_ += 'X';
    LittleEndian(text.size(), 4);
    bytes_ += text;
  }
  void Global(const std::string& module, const std::string& name) {
    absl::StrAppend(&bytes_, "c", module, "\n", name, "\n");
  }
  void Int(int64_t value) {
    if (value >= 0 && value <= INT32_MAX) {
      bytes_ += 'J';
      LittleEndian(static_cast<uint64_t>(value), 4);
    } else {
      bytes_ += "\x8a\x08";  // LONG1 of eight bytes
      LittleEndian(static_cast<uint64_t>(value), 8);
    }
  }
  void Ints(at::IntArrayRef values) {
    bytes_ += '(';
    for (const int64_t value : values) Int(value);
    bytes_ += 't';
  }

  std::string bytes_;
};

// "; WHAT a, b", or "" for an empty list.
std::string Listed(const char* what, std::vector<std::string> names) {
  constexpr size_t kMost = 5;
  if (names.empty()) return "";
  const size_t more = names.size() > kMost ? names.size() - kMost : 0;
  names.resize(names.size() - more);
  return absl::StrCat("; ", what, absl::StrJoin(names, ", "), more > 0 ? absl::StrCat(" and ", more, " more") : "");
}

}  // namespace

absl::Status WriteStateDict(const std::string& path, const StateDict& tensors) {
  OutputFiles files;
  LANISTA_ASSIGN_OR_RETURN(OutputFile* const file, files.Add(path));
  LANISTA_RETURN_IF_ERROR(Annotate(WriteStateDict(file, tensors), absl::StrCat("cannot write ", path)));
  return files.Commit().status();
}

absl::Status WriteStateDict(OutputFile* file, const StateDict& tensors) {
  try {
    // LibTorch's writer throws in its destructor if it learns of an error, so `file` keeps its errors until Commit.
    caffe2::serialize::PyTorchStreamWriter writer([file](const void* bytes, size_t count) {
      file->Write(bytes, count);
      return count;
    });
    // Exporters replace only files with this mark (CheckReplaceable). PyTorch ignores the record, and drops it where it
    // saves the weights anew.
    constexpr absl::string_view kMark = "weights, written by Lanista";
    writer.writeRecord("extra/written_by", kMark.data(), kMark.size());
    Pickler pickler;
    int number = 0;
    for (const auto& [name, original] : tensors) {
      const at::Tensor tensor = original.detach().cpu().contiguous();
      const std::string storage = absl::StrCat(number++);
      writer.writeRecord("data/" + storage, tensor.data_ptr(), tensor.nbytes());
      pickler.Add(name, tensor, storage);
    }
    const std::string pickle = std::move(pickler).Finish();
    writer.writeRecord("data.pkl", pickle.data(), pickle.size());
    writer.writeEndOfFile();
  } catch (const c10::Error& error) {
    return absl::InvalidArgumentError(error.what_without_backtrace());
  }
  return absl::OkStatus();
}

absl::StatusOr<StateDict> ReadStateDict(const std::string& path) {
  std::vector<char> bytes;
  {
    LANISTA_ASSIGN_OR_RETURN(const std::string content, ReadWholeFile(path, kMostWeightsBytes));
    LANISTA_ASSIGN_OR_RETURN(const ZipDirectory zip, ZipDirectory::Open(path, content, kMaxRecords));
    for (const ZipRecord& record : zip.records()) LANISTA_RETURN_IF_ERROR(zip.Check(record));
    bytes.assign(content.begin(), content.end());
  }
  try {
    StateDict tensors;
    for (const auto& entry : torch::jit::pickle_load(bytes).toGenericDict()) {
      tensors.emplace_back(entry.key().toStringRef(), entry.value().toTensor());
    }
    return tensors;
  } catch (const c10::Error& error) {
    return absl::InvalidArgumentError(absl::StrCat(path, " holds no weights: ", error.what_without_backtrace()));
  }
}

StateDict StateDictOf(const torch::nn::Module& module) {
  StateDict tensors;
  for (const auto& parameter : module.named_parameters()) tensors.emplace_back(parameter.key(), parameter.value());
  for (const auto& buffer : module.named_buffers()) tensors.emplace_back(buffer.key(), buffer.value());
  return tensors;
}

absl::Status LoadStateDict(torch::nn::Module& module, const std::string& path) {
  LANISTA_ASSIGN_OR_RETURN(const StateDict tensors, ReadStateDict(path));
  std::map<std::string, at::Tensor> own;
  for (const auto& [name, tensor] : StateDictOf(module)) own[name] = tensor;
  std::vector<std::pair<at::Tensor, at::Tensor>> copies;
  std::vector<std::string> unexpected, reshaped;
  for (const auto& [name, tensor] : tensors) {
    const auto found = own.find(name);
    if (found == own.end()) {
      unexpected.push_back(absl::StrCat("'", name, "'"));
      continue;
    }
    if (found->second.sizes() == tensor.sizes()) {
      copies.emplace_back(found->second, tensor);
    } else {
      reshaped.push_back(absl::StrCat("'", name, "' ([", absl::StrJoin(tensor.sizes(), ", "), "] in the file, [",
                                      absl::StrJoin(found->second.sizes(), ", "), "] in the model)"));
    }
    own.erase(found);
  }
  std::vector<std::string> missing;
  for (const auto& [name, tensor] : own) missing.push_back(absl::StrCat("'", name, "'"));
  const std::string problems = absl::StrCat(Listed("the file lacks ", missing), Listed("the model lacks ", unexpected),
                                            Listed("of another shape: ", reshaped));
  if (!problems.empty()) return absl::InvalidArgumentError(absl::StrCat(path, " does not fit the model", problems));
  const at::NoGradGuard no_grad;
  for (auto& [to, from] : copies) to.copy_(from);
  return absl::OkStatus();
}

void LoadWeights(torch::nn::Module& module, const std::string& path) {
  const absl::Status status = LoadStateDict(module, path);
  if (!status.ok()) throw std::runtime_error(std::string(status.message()));
}

}  // namespace lanista::nn
