#include "src/files/disk_room.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <mutex>
#include <optional>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "spdlog/spdlog.h"

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

absl::StatusOr<std::unique_ptr<DiskRoom::Taken>> DiskRoom::Take(const std::string& folder, uint64_t bytes) {
  const std::lock_guard<std::mutex> lock(shared_->mutex);
  const absl::StatusOr<Space> space = look_(folder);
  if (!space.ok()) return space.status();
  const uint64_t needed = std::min(keep_free_, space->size / 10) + shared_->promised + bytes;
  if (bytes > kSmall && space->free < needed) {
    const auto now = std::chrono::steady_clock::now();
    if (!shared_->warned.has_value() || now - *shared_->warned >= kBetweenWarnings) {
      shared_->warned = now;
      spdlog::warn(
          "what nodes deliver waits there, and so do the ends of their models: the disk of {} has {} MiB free, and {} "
          "MiB are to stay free for journals (--keep-free); `delete` makes room",
          folder, space->free / kMiB, std::min(keep_free_, space->size / 10) / kMiB);
    }
    return absl::UnavailableError("the head's disk is nearly full, and takes nothing more from nodes (--keep-free)");
  }
  shared_->promised += bytes;
  return std::make_unique<Taken>(shared_, bytes);
}

}  // namespace lanista
