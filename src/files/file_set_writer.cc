#include "src/files/file_set_writer.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "src/base/display_text.h"
#include "src/base/open_beneath.h"
#include "src/base/status.h"
#include "src/base/utf8.h"

namespace lanista {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxPathBytes = 1000;
// Of a name that is shown.
constexpr size_t kMaxShownBytes = 255;

absl::Status CannotWrite(const std::string& path, int error) {
  return absl::UnavailableError(ErrnoToStatus(error, absl::StrCat("cannot write ", OneLine(ToUtf8(path)))).message());
}

absl::Status IsOther(const std::string& path) {
  return absl::DataLossError(
      absl::StrCat("what came is not the file '", OneLine(ToUtf8(path)), "' that was announced"));
}

// The error of a file or a folder of the set that cannot be made, because of another one or of the system.
absl::Status CannotMake(const std::string& path, int error) {
  if (error != EEXIST && error != ENOTDIR && error != EISDIR) return CannotWrite(path, error);
  return absl::InvalidArgumentError(absl::StrCat("two of the files are called '", OneLine(ToUtf8(path)), "'"));
}

}  // namespace

absl::Status CheckSetPath(absl::string_view path) {
  if (IsPathBelow(path, kMaxPathBytes)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("'", OneLine(ToUtf8(path.substr(0, kMaxShownBytes))), "' cannot be a file below a folder"));
}

FileSetWriter::FileSetWriter(v1::FileSet files, std::string staging)
    : files_(std::move(files)), staging_(std::move(staging)) {}

FileSetWriter::~FileSetWriter() {
  std::error_code ignored;
  fs::remove_all(staging_, ignored);
}

absl::StatusOr<std::unique_ptr<FileSetWriter>> FileSetWriter::Begin(v1::FileSet files, std::string staging,
                                                                    const FileSetLimits& limits) {
  int64_t bytes = 0;
  for (const v1::SetFile& file : files.files()) {
    LANISTA_RETURN_IF_ERROR(CheckSetPath(file.path()));
    if (!IsSha256(file.sha256()) || file.size() < 0) {
      return absl::InvalidArgumentError("a file was announced without its SHA-256 or its size");
    }
    // Sizes that cannot be do not add up to one that can.
    bytes = std::min(file.size(), limits.bytes + 1) + std::min(bytes, limits.bytes + 1);
  }
  LANISTA_RETURN_IF_ERROR(CheckLimits(static_cast<size_t>(files.files_size()), bytes, limits));
  if (mkdir(staging.c_str(), 0777) != 0) return CannotWrite(staging, errno);
  return std::unique_ptr<FileSetWriter>(new FileSetWriter(std::move(files), std::move(staging)));
}

absl::Status FileSetWriter::OpenNext() {
  while (file_.get() < 0 && next_ < files_.files_size()) {
    const v1::SetFile& file = files_.files(next_++);
    const fs::path path = fs::path(staging_) / file.path();
    std::error_code error;
    fs::create_directories(path.parent_path(), error);
    if (error) return CannotMake(file.path(), error.value());
    file_ = UniqueFd(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666));
    if (file_.get() < 0) return CannotMake(file.path(), errno);
    digest_ = std::make_unique<Sha256Stream>();
    left_ = file.size();
    if (left_ == 0) LANISTA_RETURN_IF_ERROR(CloseFile());
  }
  return absl::OkStatus();
}

absl::Status FileSetWriter::CloseFile() {
  const v1::SetFile& file = files_.files(next_ - 1);
  if (digest_->Finish() != file.sha256()) return IsOther(file.path());
  if (fsync(file_.get()) != 0 || file_.Close() != 0) return CannotWrite(file.path(), errno);
  return absl::OkStatus();
}

absl::Status FileSetWriter::Write(absl::string_view bytes) {
  while (!bytes.empty()) {
    LANISTA_RETURN_IF_ERROR(OpenNext());
    if (file_.get() < 0) return absl::DataLossError("more came than was announced");
    const absl::string_view part = bytes.substr(0, static_cast<size_t>(std::min<int64_t>(left_, bytes.size())));
    for (size_t done = 0; done < part.size();) {
      const ssize_t written = write(file_.get(), part.data() + done, part.size() - done);
      if (written >= 0) {
        done += static_cast<size_t>(written);
      } else if (errno != EINTR) {
        return CannotWrite(files_.files(next_ - 1).path(), errno);
      }
    }
    digest_->Add(part);
    left_ -= static_cast<int64_t>(part.size());
    bytes.remove_prefix(part.size());
    if (left_ == 0) LANISTA_RETURN_IF_ERROR(CloseFile());
  }
  return absl::OkStatus();
}

absl::Status FileSetWriter::Finish() {
  LANISTA_RETURN_IF_ERROR(OpenNext());
  return file_.get() < 0 ? absl::OkStatus() : IsOther(files_.files(next_ - 1).path());
}

absl::Status FileSetWriter::MoveFolder(const std::string& root, const std::string& path) {
  return Move(staging_, root, path);
}

absl::Status FileSetWriter::MoveFile(const std::string& root, const std::string& path) {
  if (files_.files_size() != 1) return absl::InvalidArgumentError("one file was expected");
  return Move(absl::StrCat(staging_, "/", files_.files(0).path()), root, path);
}

absl::Status FileSetWriter::Move(const std::string& from, const std::string& root, const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return absl::InternalError("there is no folder to write to");
  const absl::StatusOr<UniqueFd> parent = MakeFolderBeneath(root, path.substr(0, slash));
  if (!parent.ok()) return absl::UnavailableError(parent.status().message());
  const std::string name = path.substr(slash + 1);
  // What is there gets into staging_, and goes with it.
  int moved = renameat2(AT_FDCWD, from.c_str(), parent->get(), name.c_str(), RENAME_EXCHANGE);
  if (moved != 0 && (errno == EINVAL || errno == ENOSYS)) {
    // Not every file system can exchange.
    const std::string former = staging_ + ".former";
    if (renameat(parent->get(), name.c_str(), AT_FDCWD, former.c_str()) != 0 && errno != ENOENT) {
      return CannotWrite(path, errno);
    }
    moved = renameat(AT_FDCWD, from.c_str(), parent->get(), name.c_str());
    std::error_code ignored;
    fs::remove_all(former, ignored);
  } else if (moved != 0 && errno == ENOENT) {
    moved = renameat(AT_FDCWD, from.c_str(), parent->get(), name.c_str());
  }
  if (moved != 0 || (fsync(parent->get()) != 0 && errno != EINVAL)) return CannotWrite(path, errno);
  return absl::OkStatus();
}

}  // namespace lanista
