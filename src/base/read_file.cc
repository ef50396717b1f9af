#include "src/base/read_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "absl/strings/str_cat.h"
#include "src/base/status.h"
#include "src/base/unique_fd.h"

namespace lanista {
namespace {

constexpr uint64_t kFirstChunk = uint64_t{1} << 16;

// OK for what can be read to an end.
absl::Status CheckKind(const std::string& path, const struct stat& file) {
  if (S_ISREG(file.st_mode) || S_ISFIFO(file.st_mode)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("cannot read ", path, ": ", S_ISDIR(file.st_mode) ? "it is a folder" : "it is no regular file"));
}

}  // namespace

absl::StatusOr<std::string> ReadWholeFile(const std::string& path, uint64_t max_bytes) {
  const auto error = [&] { return ErrnoToStatus(errno, absl::StrCat("cannot read ", path)); };
  const auto too_large = [&] {
    return absl::InvalidArgumentError(
        absl::StrCat("cannot read ", path, ": it is larger than the ", max_bytes, " bytes that such a file may have"));
  };
  struct stat info = {};
  // Before it is opened: opening a device may already do something.
  if (stat(path.c_str(), &info) != 0) return error();
  LANISTA_RETURN_IF_ERROR(CheckKind(path, info));
  const UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (file.get() < 0 || fstat(file.get(), &info) != 0) return error();
  LANISTA_RETURN_IF_ERROR(CheckKind(path, info));

  const uint64_t size = S_ISREG(info.st_mode) ? static_cast<uint64_t>(info.st_size) : 0;
  if (size > max_bytes) return too_large();
  std::string content;
  // One byte more, to see the end without another allocation.
  uint64_t chunk = std::max(kFirstChunk, size + 1);
  for (size_t end = 0;; chunk = std::max(kFirstChunk, static_cast<uint64_t>(end))) {
    content.resize(end + chunk);
    while (end < content.size()) {
      const ssize_t count = read(file.get(), &content[end], content.size() - end);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return error();
      if (count == 0) {
        content.resize(end);
        return content;
      }
      end += static_cast<size_t>(count);
      if (end > max_bytes) return too_large();
    }
  }
}

absl::Status ReadPiece(int file, const std::string& path, int64_t offset, size_t most, std::string* piece) {
  piece->resize(most);
  ssize_t count = 0;
  do {
    count = pread(file, &(*piece)[0], most, offset);
  } while (count < 0 && errno == EINTR);
  if (count < 0) return ErrnoToStatus(errno, absl::StrCat("cannot read ", path));
  piece->resize(static_cast<size_t>(count));
  return absl::OkStatus();
}

}  // namespace lanista
