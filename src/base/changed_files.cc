#include "src/base/changed_files.h"

#include <sys/stat.h>

#include <utility>

namespace lanista {

ChangedFiles::ChangedFiles(std::vector<std::string> paths, std::chrono::milliseconds interval)
    : paths_(std::move(paths)), interval_(interval), last_look_(std::chrono::steady_clock::now()), stamps_(Look()) {}

bool ChangedFiles::Changed() {
  const auto now = std::chrono::steady_clock::now();
  if (now - last_look_ < interval_) return false;
  last_look_ = now;
  std::vector<FileStamp> stamps = Look();
  if (stamps == stamps_) return false;
  stamps_ = std::move(stamps);
  return true;
}

std::vector<FileStamp> ChangedFiles::Look() const {
  std::vector<FileStamp> stamps;
  for (const std::string& path : paths_) {
    struct stat file = {};
    stamps.push_back(stat(path.c_str(), &file) == 0 ? FileStamp::Of(file) : FileStamp());
  }
  return stamps;
}

}  // namespace lanista
