#include "src/evaluators/checkpoint_file.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <c10/core/ScalarType.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "src/base/checksum.h"
#include "src/base/output_files.h"
#include "src/base/status.h"
#include "src/base/unique_fd.h"

namespace lanista {
namespace {

constexpr char kMagic[] = "LANCKPT1";
constexpr size_t kMagicBytes = sizeof(kMagic) - 1;
// Of names, shapes and the metrics of all epochs.
constexpr uint64_t kMaxHeaderBytes = uint64_t{64} << 20;
constexpr int kMaxDims = 64;
// Elements pass in pieces that stay in the processor's cache.
constexpr size_t kPieceBytes = size_t{256} << 10;

constexpr at::ScalarType kTypes[] = {at::kFloat, at::kDouble, at::kHalf,         at::kBFloat16,
                                     at::kLong,  at::kInt,    at::kShort,        at::kChar,
                                     at::kByte,  at::kBool,   at::kComplexFloat, at::kComplexDouble};

std::optional<at::ScalarType> TypeOf(const std::string& name) {
  for (const at::ScalarType type : kTypes) {
    if (name == c10::toString(type)) return type;
  }
  return std::nullopt;
}

// Both directions of a file pass its checksum.
class Writer {
 public:
  explicit Writer(OutputFile* file) : file_(file) {}

  void Write(const void* bytes, size_t count) {
    const auto* next = static_cast<const char*>(bytes);
    while (count > 0) {
      const size_t piece = std::min(count, kPieceBytes);
      checksum_.Add(next, piece);
      file_->Write(next, piece);
      next += piece;
      count -= piece;
    }
  }
  void WriteNumber(uint64_t number) { Write(&number, sizeof(number)); }

  uint64_t checksum() const { return checksum_.Value(); }

 private:
  OutputFile* const file_;
  Checksum checksum_;
};

class Reader {
 public:
  // NOT_FOUND: there is no such file. INVALID_ARGUMENT: it is no regular file.
  static absl::StatusOr<Reader> Open(const std::string& path) {
    const auto error = [&] { return ErrnoToStatus(errno, absl::StrCat("cannot read ", path)); };
    Reader reader;
    reader.path_ = path;
    // A pipe would wait for a writer.
    reader.file_ = UniqueFd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
    struct stat info = {};
    if (reader.file_.get() < 0 || fstat(reader.file_.get(), &info) != 0) return error();
    if (!S_ISREG(info.st_mode)) return reader.Damaged("it is no regular file");
    reader.left_ = static_cast<uint64_t>(info.st_size);
    return reader;
  }

  // Bytes that are still to come.
  uint64_t left() const { return left_; }

  absl::Status Read(void* bytes, size_t count) {
    if (count > left_) return Damaged("it is too short");
    left_ -= count;
    auto* next = static_cast<char*>(bytes);
    while (count > 0) {
      const ssize_t got = read(file_.get(), next, std::min(count, kPieceBytes));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return ErrnoToStatus(errno, absl::StrCat("cannot read ", path_));
      if (got == 0) return Damaged("it became shorter");
      checksum_.Add(next, static_cast<size_t>(got));
      next += got;
      count -= static_cast<size_t>(got);
    }
    return absl::OkStatus();
  }
  absl::StatusOr<uint64_t> ReadNumber() {
    uint64_t number = 0;
    LANISTA_RETURN_IF_ERROR(Read(&number, sizeof(number)));
    return number;
  }
  absl::Status Skip(uint64_t count) {
    std::string piece(kPieceBytes, '\0');
    while (count > 0) {
      const size_t size = std::min<uint64_t>(count, piece.size());
      LANISTA_RETURN_IF_ERROR(Read(&piece[0], size));
      count -= size;
    }
    return absl::OkStatus();
  }

  uint64_t checksum() const { return checksum_.Value(); }

  absl::Status Damaged(const std::string& how) const {
    return absl::InvalidArgumentError(absl::StrCat(path_, " is no checkpoint: ", how));
  }

 private:
  std::string path_;
  UniqueFd file_;
  uint64_t left_ = 0;
  Checksum checksum_;
};

// The bytes of a tensor's elements; nullopt for one that cannot be.
std::optional<uint64_t> BytesOf(const v1::CheckpointTensor& tensor) {
  const std::optional<at::ScalarType> type = TypeOf(tensor.type());
  if (!type.has_value() || tensor.dims_size() > kMaxDims) return std::nullopt;
  uint64_t bytes = c10::elementSize(*type);
  for (const int64_t dim : tensor.dims()) {
    if (dim < 0 || __builtin_mul_overflow(bytes, static_cast<uint64_t>(dim), &bytes)) return std::nullopt;
  }
  if (bytes > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) return std::nullopt;
  return bytes;
}

bool AllFinite(const v1::CheckpointHeader& header) {
  for (const v1::CheckpointStep& step : header.steps()) {
    for (const auto& [name, value] : step.metrics()) {
      if (!std::isfinite(value)) return false;
    }
  }
  return std::isfinite(header.train_loss().sum());
}

absl::StatusOr<Checkpoint> Read(const std::string& path, const std::string& identity, bool keep_tensors) {
  LANISTA_ASSIGN_OR_RETURN(Reader reader, Reader::Open(path));
  std::string magic(kMagicBytes, '\0');
  LANISTA_RETURN_IF_ERROR(reader.Read(&magic[0], magic.size()));
  if (magic != kMagic) return reader.Damaged("it begins with something else");
  LANISTA_ASSIGN_OR_RETURN(const uint64_t header_bytes, reader.ReadNumber());
  if (header_bytes > std::min(reader.left(), kMaxHeaderBytes)) return reader.Damaged("its header is too long");
  std::string bytes(header_bytes, '\0');
  LANISTA_RETURN_IF_ERROR(reader.Read(&bytes[0], bytes.size()));
  Checkpoint checkpoint;
  if (!checkpoint.header.ParseFromString(bytes)) return reader.Damaged("its header cannot be read");
  if (checkpoint.header.identity() != identity) {
    return absl::FailedPreconditionError(
        absl::StrCat(path, " is of another model, configuration, program or kind of device"));
  }
  if (!AllFinite(checkpoint.header)) return reader.Damaged("it holds metrics that are not finite");

  uint64_t expected = sizeof(uint64_t);
  std::vector<uint64_t> sizes;
  for (const v1::CheckpointTensor& tensor : checkpoint.header.tensors()) {
    const std::optional<uint64_t> size = BytesOf(tensor);
    if (!size.has_value() || __builtin_add_overflow(expected, *size, &expected)) {
      return reader.Damaged("it describes an impossible tensor");
    }
    sizes.push_back(*size);
  }
  if (expected != reader.left()) return reader.Damaged("its size is not what its header says");

  for (size_t i = 0; i < sizes.size(); ++i) {
    if (!keep_tensors) {
      LANISTA_RETURN_IF_ERROR(reader.Skip(sizes[i]));
      continue;
    }
    const v1::CheckpointTensor& description = checkpoint.header.tensors(static_cast<int>(i));
    const std::vector<int64_t> dims(description.dims().begin(), description.dims().end());
    at::Tensor tensor = at::empty(dims, *TypeOf(description.type()));
    LANISTA_RETURN_IF_ERROR(reader.Read(tensor.data_ptr(), sizes[i]));
    checkpoint.tensors.push_back({description.name(), std::move(tensor)});
  }
  const uint64_t checksum = reader.checksum();
  LANISTA_ASSIGN_OR_RETURN(const uint64_t written, reader.ReadNumber());
  if (written != checksum) return reader.Damaged("it is damaged");
  checkpoint.header.clear_tensors();
  return checkpoint;
}

}  // namespace

absl::Status WriteCheckpoint(const std::string& path, const Checkpoint& checkpoint) {
  const at::NoGradGuard no_grad;
  v1::CheckpointHeader header = checkpoint.header;
  for (const auto& [name, tensor] : checkpoint.tensors) {
    if (tensor.layout() != at::kStrided || !TypeOf(c10::toString(tensor.scalar_type())).has_value()) {
      return absl::InvalidArgumentError(
          absl::StrCat("cannot write ", path, ": tensors of type ", c10::toString(tensor.scalar_type()),
                       tensor.layout() == at::kStrided ? "" : ", sparse,", " cannot be kept"));
    }
    v1::CheckpointTensor& description = *header.add_tensors();
    description.set_name(name);
    description.set_type(c10::toString(tensor.scalar_type()));
    description.mutable_dims()->Assign(tensor.sizes().begin(), tensor.sizes().end());
  }
  const std::string bytes = header.SerializeAsString();
  if (bytes.size() > kMaxHeaderBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("cannot write ", path, ": the names of its tensors and the metrics of ", header.steps_size(),
                     " epochs take more than ", kMaxHeaderBytes, " bytes"));
  }
  OutputFiles files;
  LANISTA_ASSIGN_OR_RETURN(OutputFile* const file, files.Add(path));
  Writer writer(file);
  writer.Write(kMagic, kMagicBytes);
  writer.WriteNumber(bytes.size());
  writer.Write(bytes.data(), bytes.size());
  for (const auto& [name, original] : checkpoint.tensors) {
    const at::Tensor tensor = original.detach().cpu().resolve_conj().resolve_neg().contiguous();
    writer.Write(tensor.data_ptr(), tensor.nbytes());
  }
  writer.WriteNumber(writer.checksum());
  return files.Commit().status();
}

absl::StatusOr<Checkpoint> ReadCheckpoint(const std::string& path, const std::string& identity) {
  return Read(path, identity, /*keep_tensors=*/true);
}

absl::Status CheckCheckpointFile(const std::string& path, const std::string& identity) {
  return Read(path, identity, /*keep_tensors=*/false).status();
}

}  // namespace lanista
