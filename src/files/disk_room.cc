#include "src/files/disk_room.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "spdlog/spdlog.h"
#include "src/base/status.h"

namespace lanista {
namespace {

constexpr std::chrono::minutes kBetweenWarnings(1);
constexpr uint64_t kMiB = 1 << 20;

absl::StatusOr<DiskRoom::Space> LookAtDisk(const std::string& folder) {
  std::error_code error;
  const std::filesystem::space_info space = std::filesystem::space(folder, error);
  if (error) return absl::UnavailableError(absl::StrCat("cannot look at the disk of ", folder, ": ", error.message()));
  return DiskRoom::Space{space.available, space.capacity};
}

}  // namespace

struct DiskRoom::Shared {
  std::mutex mutex;
  // Protected by mutex: bytes that are taken and not written yet; and when the log warned last.
  uint64_t promised = 0;
  std::optional<std::chrono::steady_clock::time_point> warned;
  // Protected by mutex: what folders wanted that got no room when they asked last, in bytes.
  std::map<std::string, uint64_t> refused;
};

void DiskRoom::Taken::Written(uint64_t bytes) {
  const uint64_t written = std::min(bytes, bytes_);
  bytes_ -= written;
  const std::lock_guard<std::mutex> lock(shared_->mutex);
  shared_->promised -= written;
}

DiskRoom::DiskRoom(uint64_t keep_free, Look look)
    : keep_free_(keep_free),
      look_(look != nullptr ? std::move(look) : LookAtDisk),
      shared_(std::make_shared<Shared>()) {}

absl::StatusOr<std::string> DiskRoom::Lack(const std::string& folder, uint64_t bytes) const {
  LANISTA_ASSIGN_OR_RETURN(const Space space, look_(folder));
  const uint64_t kept = std::min(keep_free_, space.size / 10);
  if (bytes <= kSmall || space.free >= kept + shared_->promised + bytes) return "";
  return absl::StrCat("the disk of ", folder, " has ", space.free / kMiB, " MiB free, and ", kept / kMiB,
                      " MiB are to stay free for journals (--keep-free); `delete` makes room");
}

absl::StatusOr<std::unique_ptr<DiskRoom::Taken>> DiskRoom::Take(const std::string& folder, uint64_t bytes) {
  const std::lock_guard<std::mutex> lock(shared_->mutex);
  LANISTA_ASSIGN_OR_RETURN(const std::string lack, Lack(folder, bytes));
  if (!lack.empty()) {
    shared_->refused[folder] = bytes;
    const auto now = std::chrono::steady_clock::now();
    if (!shared_->warned.has_value() || now - *shared_->warned >= kBetweenWarnings) {
      shared_->warned = now;
      spdlog::warn("what nodes deliver waits there, and so do the ends of their models: {}", lack);
    }
    return absl::UnavailableError("the head's disk is nearly full, and takes nothing more from nodes (--keep-free)");
  }
  if (bytes > kSmall) shared_->refused.erase(folder);
  shared_->promised += bytes;
  return std::make_unique<Taken>(shared_, bytes);
}

std::string DiskRoom::WaitingFor(const std::string& folder) {
  const std::lock_guard<std::mutex> lock(shared_->mutex);
  const auto refused = shared_->refused.find(folder);
  if (refused == shared_->refused.end()) return "";
  const absl::StatusOr<std::string> lack = Lack(folder, refused->second);
  if (lack.ok() && !lack->empty()) return absl::StrCat("room for what nodes deliver: ", *lack);
  // It will ask again, or is not there any more.
  shared_->refused.erase(refused);
  return "";
}

}  // namespace lanista
