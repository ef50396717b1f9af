#include "src/base/changed_files.h"

#include <sys/stat.h>

#include <tuple>
#include <utility>

namespace lanista {
namespace {

int64_t Nanoseconds(const timespec& time) { return static_cast<int64_t>(time.tv_sec) * 1000000000 + time.tv_nsec; }

}  // namespace

bool ChangedFiles::Stamp::operator==(const Stamp& other) const {
  return std::tie(device, inode, size, modified, status_changed) ==
         std::tie(other.device, other.inode, other.size, other.modified, other.status_changed);
}

ChangedFiles::ChangedFiles(std::vector<std::string> paths, std::chrono::milliseconds interval)
    : paths_(std::move(paths)), interval_(interval), last_look_(std::chrono::steady_clock::now()), stamps_(Look()) {}

bool ChangedFiles::Changed() {
  const auto now = std::chrono::steady_clock::now();
  if (now - last_look_ < interval_) return false;
  last_look_ = now;
  std::vector<Stamp> stamps = Look();
  if (stamps == stamps_) return false;
  stamps_ = std::move(stamps);
  return true;
}

std::vector<ChangedFiles::Stamp> ChangedFiles::Look() const {
  std::vector<Stamp> stamps;
  for (const std::string& path : paths_) {
    Stamp& stamp = stamps.emplace_back();
    struct stat file = {};
    // A file that is not there has a stamp, too.
    if (stat(path.c_str(), &file) != 0) continue;
    stamp = {file.st_dev, file.st_ino, file.st_size, Nanoseconds(file.st_mtim), Nanoseconds(file.st_ctim)};
  }
  return stamps;
}

}  // namespace lanista
