#include "src/data/input_file.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <limits>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "src/base/status.h"

namespace lanista::data {
namespace {

// Real data sets compress less than this (deflate's limit is 1032); small files are not checked.
constexpr uint64_t kMaxRatio = 300;
constexpr uint64_t kSmall = uint64_t{1} << 26;

}  // namespace

absl::StatusOr<InputFile> InputFile::Open(const std::string& path) {
  std::error_code error;
  const auto type = std::filesystem::status(path, error).type();
  // Reading from a pipe could block forever.
  if (type != std::filesystem::file_type::regular && type != std::filesystem::file_type::not_found && !error) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": not a regular file"));
  }
  errno = 0;
  Handle file(gzopen(path.c_str(), "rb"));
  if (file == nullptr) return ErrnoToStatus(errno, path);
  const uint64_t size = std::filesystem::file_size(path, error);
  if (error) return ErrnoToStatus(error.value(), path);
  return InputFile(path, std::move(file), size);
}

absl::StatusOr<std::string> InputFile::ReadUpTo(uint64_t count) {
  constexpr uint64_t kFirstChunk = 1 << 20;
  constexpr uint64_t kLargestChunk = 1 << 28;
  std::string data;
  uint64_t chunk = kFirstChunk;
  while (data.size() < count) {
    const uint64_t before = data.size();
    const uint64_t wanted = std::min({count - before, chunk, kLargestChunk});
    data.resize(before + wanted);
    const int read = gzread(file_.get(), data.data() + before, static_cast<unsigned>(wanted));
    data.resize(before + std::max(read, 0));
    position_ += data.size() - before;
    if (position_ > kSmall && position_ / kMaxRatio > size_) {
      return Corrupt(absl::StrCat("refused: its ", size_, " bytes of gzip unpack to more than ", kMaxRatio,
                                  " times as many; unpack it yourself if that is right"));
    }
    if (static_cast<int64_t>(read) < static_cast<int64_t>(wanted)) {
      int code = Z_OK;
      const std::string message = gzerror(file_.get(), &code);
      if (code == Z_ERRNO) return ErrnoToStatus(errno, path_);
      if (code == Z_BUF_ERROR) return Corrupt(absl::StrCat("truncated: the gzip stream ends after byte ", position_));
      if (code != Z_OK) return Corrupt(absl::StrCat("corrupt gzip stream after byte ", position_, ": ", message));
      break;
    }
    chunk *= 2;
  }
  return data;
}

absl::StatusOr<std::string> InputFile::Read(uint64_t count) {
  const uint64_t start = position_;
  LANISTA_ASSIGN_OR_RETURN(std::string data, ReadUpTo(count));
  if (data.size() < count) {
    return Corrupt(
        absl::StrCat("truncated: ", count, " bytes expected from byte ", start, " on, ", data.size(), " are there"));
  }
  return data;
}

absl::StatusOr<std::string> InputFile::ReadAll(uint64_t max_bytes) {
  LANISTA_ASSIGN_OR_RETURN(std::string data, ReadUpTo(max_bytes));
  if (data.size() == max_bytes) {
    LANISTA_ASSIGN_OR_RETURN(const std::string more, ReadUpTo(1));
    if (!more.empty()) return Corrupt(absl::StrCat("larger than the ", max_bytes, " bytes that such a file may have"));
  }
  return data;
}

absl::Status InputFile::ExpectEnd() {
  const uint64_t end = position_;
  LANISTA_ASSIGN_OR_RETURN(const std::string rest, ReadUpTo(1));
  if (!rest.empty()) return Corrupt(absl::StrCat("unexpected data from byte ", end, " on, where the file should end"));
  return absl::OkStatus();
}

absl::Status InputFile::Corrupt(const std::string& problem) const {
  return absl::InvalidArgumentError(absl::StrCat(path_, ": ", problem));
}

}  // namespace lanista::data
