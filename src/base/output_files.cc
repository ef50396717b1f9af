#include "src/base/output_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "src/base/file_stamp.h"
#include "src/base/read_file.h"
#include "src/base/status.h"
#include "src/base/unfinished_files.h"

namespace lanista {
namespace {

constexpr size_t kBufferBytes = size_t{1} << 20;
// Names that a killed process with this process's id may have left behind.
constexpr int kMaxAttempts = 1000;

absl::Status CannotWrite(const std::string& path, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat("cannot write ", path, ": ", why));
}

absl::Status Error(const std::string& path) { return ErrnoToStatus(errno, absl::StrCat("cannot write ", path)); }

const char* KindOf(mode_t mode) {
  if (S_ISDIR(mode)) return "it is a folder";
  if (S_ISCHR(mode) || S_ISBLK(mode)) return "it is a device";
  if (S_ISFIFO(mode)) return "it is a pipe";
  return "it is no regular file";
}

std::string FolderOf(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

// The path without symbolic links, of a file that exists.
absl::StatusOr<std::string> WithoutLinks(const std::string& path) {
  const std::unique_ptr<char, void (*)(void*)> real(realpath(path.c_str(), nullptr), std::free);
  if (real == nullptr) return Error(path);
  return std::string(real.get());
}

// Gives a file a name beside `place`. `take` does, and fails with EEXIST where the name is taken.
absl::StatusOr<std::string> TakeName(const std::string& path, const std::string& place,
                                     const std::function<bool(const char* name)>& take) {
  static std::atomic<int> number{0};
  for (int attempt = 0; attempt < kMaxAttempts; ++attempt) {
    std::string name = absl::StrCat(FolderOf(place), "/", kUnfinishedPrefix, getpid(), ".", ++number);
    if (take(name.c_str())) return name;
    if (errno != EEXIST) break;
  }
  return Error(path);
}

absl::Status SyncFolder(const std::string& path, const std::string& place) {
  const UniqueFd folder(open(FolderOf(place).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  // Some file systems do not sync folders; a folder that may be written but not read cannot be synced.
  if (folder.get() < 0 || fsync(folder.get()) == 0 || errno == EINVAL || errno == ENOTSUP) return absl::OkStatus();
  return Error(path);
}

}  // namespace

OutputFile::~OutputFile() {
  if (!temporary_.empty()) unlink(temporary_.c_str());
}

absl::Status OutputFile::Open(const std::vector<std::string>& inputs) {
  place_ = path_;
  struct stat target = {};
  const bool exists = stat(path_.c_str(), &target) == 0;
  if (!exists && errno != ENOENT) return Error(path_);
  if (exists) {
    if (!S_ISREG(target.st_mode)) return CannotWrite(path_, KindOf(target.st_mode));
    for (const std::string& input : inputs) {
      struct stat read = {};
      if (stat(input.c_str(), &read) == 0 && IsSameFile(read, target)) {
        return CannotWrite(path_, absl::StrCat("it is a file that is read here (", input, "): name another one"));
      }
    }
    // Renaming needs no permission for the file itself; a file that its owner protected stays.
    if (access(path_.c_str(), W_OK) != 0) return Error(path_);
    LANISTA_ASSIGN_OR_RETURN(place_, WithoutLinks(path_));
  } else if (struct stat link = {}; lstat(path_.c_str(), &link) == 0) {
    return CannotWrite(path_, "it is a symbolic link that leads nowhere");
  }
  // It has no name while it is written, and the permissions that a new file has.
  file_ = UniqueFd(open(FolderOf(place_).c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666));
  if (file_.get() < 0) {
    // Some file systems have no such files, NFS for one.
    const auto create = [this](const char* name) {
      file_ = UniqueFd(open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
      return file_.get() >= 0;
    };
    LANISTA_ASSIGN_OR_RETURN(temporary_, TakeName(path_, place_, create));
  }
  if (exists && fchmod(file_.get(), target.st_mode & 07777) != 0) return Error(path_);
  return absl::OkStatus();
}

void OutputFile::Write(const void* bytes, size_t count) {
  if (!status_.ok()) return;
  buffer_.append(static_cast<const char*>(bytes), count);
  if (buffer_.size() >= kBufferBytes) Flush();
}

void OutputFile::Flush() {
  for (size_t done = 0; done < buffer_.size() && status_.ok();) {
    const ssize_t written = write(file_.get(), buffer_.data() + done, buffer_.size() - done);
    if (written >= 0) {
      done += static_cast<size_t>(written);
    } else if (errno != EINTR) {
      status_ = Error(path_);
    }
  }
  buffer_.clear();
}

absl::Status OutputFile::Finish() {
  Flush();
  LANISTA_RETURN_IF_ERROR(status_);
  if (fsync(file_.get()) != 0) return Error(path_);
  return absl::OkStatus();
}

absl::Status OutputFile::Close() {
  if (temporary_.empty()) {
    const std::string unnamed = absl::StrCat("/proc/self/fd/", file_.get());
    const auto name_it = [&unnamed](const char* name) {
      return linkat(AT_FDCWD, unnamed.c_str(), AT_FDCWD, name, AT_SYMLINK_FOLLOW) == 0;
    };
    LANISTA_ASSIGN_OR_RETURN(temporary_, TakeName(path_, place_, name_it));
  }
  if (file_.Close() != 0) return Error(path_);
  return absl::OkStatus();
}

absl::Status OutputFile::Rename() {
  if (rename(temporary_.c_str(), place_.c_str()) != 0) return Error(path_);
  temporary_.clear();
  return SyncFolder(path_, place_);
}

absl::StatusOr<OutputFile*> OutputFiles::Add(const std::string& path) {
  std::unique_ptr<OutputFile> file(new OutputFile(path));
  LANISTA_RETURN_IF_ERROR(file->Open(inputs_));
  files_.push_back(std::move(file));
  return files_.back().get();
}

absl::Status OutputFiles::Write(const std::string& path, absl::string_view content) {
  LANISTA_ASSIGN_OR_RETURN(OutputFile* const file, Add(path));
  file->Write(content);
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::string>> OutputFiles::Commit() {
  std::vector<std::string> paths;
  for (const auto& file : files_) LANISTA_RETURN_IF_ERROR(file->Finish());
  for (const auto& file : files_) LANISTA_RETURN_IF_ERROR(file->Close());
  for (const auto& file : files_) {
    LANISTA_RETURN_IF_ERROR(file->Rename());
    paths.push_back(file->path_);
  }
  files_.clear();
  return paths;
}

absl::Status WriteFile(const std::string& path, absl::string_view content, const std::vector<std::string>& inputs) {
  OutputFiles files(inputs);
  LANISTA_RETURN_IF_ERROR(files.Write(path, content));
  return files.Commit().status();
}

absl::Status CopyFile(int from, const std::string& from_path, const std::string& to) {
  OutputFiles files({from_path});
  LANISTA_ASSIGN_OR_RETURN(OutputFile* const file, files.Add(to));
  std::string piece;
  for (int64_t offset = 0; file->status().ok(); offset += static_cast<int64_t>(piece.size())) {
    LANISTA_RETURN_IF_ERROR(ReadPiece(from, from_path, offset, kBufferBytes, &piece));
    if (piece.empty()) break;
    file->Write(piece);
  }
  return files.Commit().status();
}

absl::Status MakeParentFolder(const std::string& path) {
  const std::string folder = FolderOf(path);
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  // Of a folder behind a link create_directories says that it exists already.
  std::error_code unknown;
  if (!error || std::filesystem::is_directory(folder, unknown)) return absl::OkStatus();
  return ErrnoToStatus(error.value(), absl::StrCat("cannot make the folder ", folder));
}

}  // namespace lanista
