#include "src/web/packed_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "src/base/status.h"

namespace lanista {
namespace {

constexpr size_t kBlock = 512;
constexpr size_t kMaxName = 100;
constexpr size_t kMaxFolder = 155;
// What eleven octal digits can say; GNU and POSIX readers take larger sizes in base 256.
constexpr uint64_t kMaxOctalSize = (uint64_t{1} << 33) - 1;

absl::StatusOr<UniqueFd> OpenToRead(const std::string& path) {
  UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) return lanista::ErrnoToStatus(errno, path);
  return file;
}

absl::Status WriteAll(int file, absl::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return lanista::ErrnoToStatus(errno, "cannot pack the files");
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return absl::OkStatus();
}

std::string SizeField(uint64_t size) {
  if (size <= kMaxOctalSize) return absl::StrFormat("%011o", size);
  std::string field(12, '\0');
  field[0] = '\x80';
  for (size_t i = 11; i > 3; --i, size >>= 8) field[i] = static_cast<char>(size & 0xff);
  return field;
}

// The block before a file's bytes.
std::string Header(const std::string& folder, const std::string& name, uint64_t size, int64_t time) {
  std::string header(kBlock, '\0');
  header.replace(0, name.size(), name);
  header.replace(345, folder.size(), folder);
  header.replace(100, 7, "0000644");  // Mode.
  header.replace(108, 7, "0000000");  // Owner and group: of whoever unpacks it.
  header.replace(116, 7, "0000000");
  const std::string size_field = SizeField(size);
  header.replace(124, size_field.size(), size_field);
  header.replace(136, 11, absl::StrFormat("%011o", time));
  header.replace(148, 8, "        ");  // The checksum counts as blanks.
  header[156] = '0';                   // A regular file.
  header.replace(257, 6, absl::string_view("ustar\0", 6).data(), 6);
  header.replace(263, 2, "00");
  const unsigned sum = std::accumulate(header.begin(), header.end(), 0u,
                                       [](unsigned all, char c) { return all + static_cast<unsigned char>(c); });
  header.replace(148, 8, absl::StrFormat("%06o", sum) + std::string("\0 ", 2));
  return header;
}

absl::Status Append(const std::string& path, const std::string& folder, int archive) {
  const std::string name = std::filesystem::path(path).filename();
  if (name.size() > kMaxName || folder.size() > kMaxFolder) {
    return absl::InvalidArgumentError(absl::StrCat(folder, "/", name, ": the name is too long"));
  }
  LANISTA_ASSIGN_OR_RETURN(const UniqueFd file, OpenToRead(path));
  struct stat status = {};
  if (fstat(file.get(), &status) != 0) return lanista::ErrnoToStatus(errno, path);
  const auto size = static_cast<uint64_t>(status.st_size);
  LANISTA_RETURN_IF_ERROR(WriteAll(archive, Header(folder, name, size, status.st_mtime)));
  std::string buffer(1 << 20, '\0');
  for (uint64_t left = size; left > 0;) {
    const ssize_t got = read(file.get(), &buffer[0], std::min<uint64_t>(left, buffer.size()));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return lanista::ErrnoToStatus(errno, path);
    if (got == 0) return absl::DataLossError(absl::StrCat(path, ": became shorter while it was packed"));
    LANISTA_RETURN_IF_ERROR(WriteAll(archive, absl::string_view(buffer.data(), static_cast<size_t>(got))));
    left -= static_cast<uint64_t>(got);
  }
  return WriteAll(archive, std::string((kBlock - size % kBlock) % kBlock, '\0'));
}

}  // namespace

absl::StatusOr<PackedFiles> PackFiles(const std::vector<std::string>& paths, const std::string& name,
                                      const std::string& folder) {
  if (paths.empty()) return absl::InvalidArgumentError("there are no files");
  PackedFiles packed;
  if (paths.size() == 1) {
    packed.name = std::filesystem::path(paths[0]).filename();
    LANISTA_ASSIGN_OR_RETURN(packed.file, OpenToRead(paths[0]));
    return packed;
  }
  packed.name = name + ".tar";
  const std::string path = absl::StrCat(folder, "/", packed.name);
  packed.file = UniqueFd(open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (packed.file.get() < 0) return lanista::ErrnoToStatus(errno, path);
  unlink(path.c_str());
  for (const std::string& file : paths) {
    LANISTA_RETURN_IF_ERROR(Append(file, name, packed.file.get()));
    // Each file is on the disk once.
    unlink(file.c_str());
  }
  LANISTA_RETURN_IF_ERROR(WriteAll(packed.file.get(), std::string(2 * kBlock, '\0')));
  lseek(packed.file.get(), 0, SEEK_SET);
  return packed;
}

}  // namespace lanista
