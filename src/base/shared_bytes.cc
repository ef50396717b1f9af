#include "src/base/shared_bytes.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "src/base/checksum.h"
#include "src/base/file_stamp.h"
#include "src/base/status.h"

namespace lanista {
namespace {

// Stays free on the disk: journals need room.
constexpr uint64_t kLeftFree = uint64_t{1} << 30;

// A file may be removed as unused between its opening and its lock. It is then made again, but not for ever.
constexpr int kTries = 100;

constexpr size_t kChecksumDigits = 16;

std::string NameOf(absl::string_view bytes) {
  return absl::StrFormat("%016x-%d", ChecksumOf(bytes.data(), bytes.size()), bytes.size());
}

bool IsSharedName(absl::string_view name) {
  const auto digits = [](absl::string_view text, bool (*is_digit)(unsigned char)) {
    return !text.empty() && std::all_of(text.begin(), text.end(), is_digit);
  };
  return name.size() > kChecksumDigits + 1 && name[kChecksumDigits] == '-' &&
         digits(name.substr(0, kChecksumDigits), absl::ascii_isxdigit) &&
         digits(name.substr(kChecksumDigits + 1), absl::ascii_isdigit);
}

// Waits for the lock, unless `operation` has LOCK_NB.
absl::Status Lock(int file, int operation, const std::string& path) {
  while (flock(file, operation) != 0) {
    if (errno != EINTR) return ErrnoToStatus(errno, absl::StrCat("cannot lock ", path));
  }
  return absl::OkStatus();
}

absl::StatusOr<struct stat> StatOf(int file, const std::string& path) {
  struct stat status;
  if (fstat(file, &status) != 0) return ErrnoToStatus(errno, absl::StrCat("cannot read ", path));
  return status;
}

// Whether `path` is still a name of the file.
bool HasName(int file, const std::string& path) {
  struct stat opened, named;
  return fstat(file, &opened) == 0 && lstat(path.c_str(), &named) == 0 && IsSameFile(opened, named);
}

// Removes the file, unless another one has its name meanwhile. REQUIRES: nobody maps it: `file` is locked with LOCK_EX,
// or it is this one's turn to write and the file is not complete.
void Remove(int file, const std::string& path) {
  if (HasName(file, path)) unlink(path.c_str());
}

// The turn to write files of a folder, which only one has at a time. A lock on a file of its own: who maps a file of
// data holds that one's lock for as long as the mapping lasts, and nobody may wait so long.
class Turn {
 public:
  // Waits until nobody else has the turn. NOT_FOUND: the folder was removed.
  static absl::StatusOr<Turn> Take(const std::string& folder) {
    const std::string path = TurnFile(folder);
    while (true) {
      UniqueFd file(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
      if (file.get() < 0) return ErrnoToStatus(errno, absl::StrCat("cannot open ", path));
      LANISTA_RETURN_IF_ERROR(Lock(file.get(), LOCK_EX, path));
      // Who had the turn before removed its file.
      if (HasName(file.get(), path)) return Turn(std::move(file), path);
    }
  }
  // Removes what was left by one that was killed while it had the turn.
  static void RemoveUnused(const std::string& folder) {
    const std::string path = TurnFile(folder);
    const UniqueFd file(open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    if (file.get() >= 0 && Lock(file.get(), LOCK_EX | LOCK_NB, path).ok()) Remove(file.get(), path);
  }

  ~Turn() {
    if (file_.get() >= 0) Remove(file_.get(), path_);
  }
  Turn(Turn&&) = default;

 private:
  static std::string TurnFile(const std::string& folder) { return folder + "/turn"; }

  Turn(UniqueFd file, std::string path) : file_(std::move(file)), path_(std::move(path)) {}

  UniqueFd file_;
  std::string path_;
};

absl::Status WriteAll(int file, absl::string_view bytes, const std::string& path) {
  struct statvfs disk;
  if (fstatvfs(file, &disk) != 0) return ErrnoToStatus(errno, absl::StrCat("cannot read ", path));
  if (uint64_t{disk.f_bavail} * disk.f_frsize < bytes.size() + kLeftFree) {
    return absl::ResourceExhaustedError(
        absl::StrCat("there is too little room for the ", bytes.size(), " bytes of ", path));
  }
  if (ftruncate(file, 0) != 0) return ErrnoToStatus(errno, absl::StrCat("cannot write ", path));
  for (off_t offset = 0; !bytes.empty();) {
    const ssize_t written = pwrite(file, bytes.data(), bytes.size(), offset);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return ErrnoToStatus(errno, absl::StrCat("cannot write ", path));
    bytes.remove_prefix(static_cast<size_t>(written));
    offset += written;
  }
  return absl::OkStatus();
}

// Whether nothing has to be written: all bytes are there, or the file has no name any more. A file is written from
// front to back, so a shorter one is not complete.
absl::StatusOr<bool> IsSettled(int file, absl::string_view bytes, const std::string& path) {
  LANISTA_ASSIGN_OR_RETURN(const struct stat status, StatOf(file, path));
  return status.st_nlink == 0 || static_cast<size_t>(status.st_size) == bytes.size();
}

// Writes the file unless it is complete or was removed. Afterwards the file is locked with LOCK_SH.
absl::Status Complete(int file, absl::string_view bytes, const std::string& folder, const std::string& path) {
  LANISTA_RETURN_IF_ERROR(Lock(file, LOCK_SH, path));
  LANISTA_ASSIGN_OR_RETURN(bool settled, IsSettled(file, bytes, path));
  if (settled) return absl::OkStatus();
  LANISTA_ASSIGN_OR_RETURN(const Turn turn, Turn::Take(folder));
  LANISTA_ASSIGN_OR_RETURN(settled, IsSettled(file, bytes, path));
  if (settled) return absl::OkStatus();
  const absl::Status written = WriteAll(file, bytes, path);
  if (!written.ok()) Remove(file, path);
  return written;
}

// What others may change is no place for data that is compared only once.
absl::Status CheckMine(const struct stat& status, mode_t type, const std::string& path) {
  constexpr mode_t kOthersWrite = S_IWGRP | S_IWOTH;
  if ((status.st_mode & S_IFMT) == type && status.st_uid == geteuid() && (status.st_mode & kOthersWrite) == 0) {
    return absl::OkStatus();
  }
  return absl::PermissionDeniedError(absl::StrCat(path, " is not this user's alone"));
}

absl::Status MakeFolder(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return ErrnoToStatus(error.value(), absl::StrCat("cannot make ", folder));
  chmod(folder.c_str(), S_IRWXU);
  struct stat status;
  if (lstat(folder.c_str(), &status) != 0) return ErrnoToStatus(errno, absl::StrCat("cannot read ", folder));
  return CheckMine(status, S_IFDIR, folder);
}

}  // namespace

absl::StatusOr<std::shared_ptr<const SharedBytes>> SharedBytes::Share(const std::string& folder,
                                                                      absl::string_view bytes) {
  const std::string path = absl::StrCat(folder, "/", NameOf(bytes));
  for (int tries = 0; tries < kTries; ++tries) {
    struct stat there;
    if (lstat(path.c_str(), &there) != 0) RemoveUnusedSharedBytes(folder);
    const absl::Status made = MakeFolder(folder);
    // It may have been removed as empty since it was made.
    if (absl::IsNotFound(made) && tries + 1 < kTries) continue;
    LANISTA_RETURN_IF_ERROR(made);
    UniqueFd file(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    // The folder may have been removed as empty since it was made.
    if (file.get() < 0 && errno == ENOENT) continue;
    if (file.get() < 0) return ErrnoToStatus(errno, absl::StrCat("cannot open ", path));
    LANISTA_ASSIGN_OR_RETURN(struct stat status, StatOf(file.get(), path));
    LANISTA_RETURN_IF_ERROR(CheckMine(status, S_IFREG, path));
    const absl::Status completed = Complete(file.get(), bytes, folder, path);
    if (absl::IsNotFound(completed)) continue;
    LANISTA_RETURN_IF_ERROR(completed);
    LANISTA_ASSIGN_OR_RETURN(status, StatOf(file.get(), path));
    if (status.st_nlink == 0) continue;
    void* const data = mmap(nullptr, bytes.size(), PROT_READ, MAP_SHARED, file.get(), 0);
    if (data == MAP_FAILED) return ErrnoToStatus(errno, absl::StrCat("cannot map ", path));
    std::shared_ptr<const SharedBytes> shared(new SharedBytes(std::move(file), data, bytes.size()));
    if (std::memcmp(data, bytes.data(), bytes.size()) != 0) {
      return absl::DataLossError(absl::StrCat(path, " has another content than its name says"));
    }
    return shared;
  }
  return absl::AbortedError(absl::StrCat(path, " is removed again and again"));
}

SharedBytes::~SharedBytes() { munmap(data_, size_); }

void RemoveUnusedSharedBytes(const std::string& folder) {
  namespace fs = std::filesystem;
  std::vector<std::string> paths;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    if (IsSharedName(entry->path().filename().string())) paths.push_back(entry->path().string());
  }
  for (const std::string& path : paths) {
    const UniqueFd file(open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    if (file.get() >= 0 && Lock(file.get(), LOCK_EX | LOCK_NB, path).ok()) Remove(file.get(), path);
  }
  Turn::RemoveUnused(folder);
  // Fails if there is still a file.
  rmdir(folder.c_str());
}

// A process that was killed has removed nothing.
SharedBytesFolder::SharedBytesFolder(std::string path) : path_(std::move(path)) {
  if (!path_.empty()) RemoveUnusedSharedBytes(path_);
}

SharedBytesFolder::~SharedBytesFolder() {
  if (!path_.empty()) RemoveUnusedSharedBytes(path_);
}

}  // namespace lanista
