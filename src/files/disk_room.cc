#include "src/files/disk_room.h"

#include <algorithm>
#include <filesystem>
#include <mutex>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace lanista {
namespace {

absl::StatusOr<DiskRoom::Space> LookAtDisk(const std::string& folder) {
  std::error_code error;
  const std::filesystem::space_info space = std::filesystem::space(folder, error);
  if (error) return absl::UnavailableError(absl::StrCat("cannot look at the disk of ", folder, ": ", error.message()));
  return DiskRoom::Space{space.available, space.capacity};
}

}  // namespace

struct DiskRoom::Promised {
  std::mutex mutex;
  // Protected by mutex. What was written of it already is not free any more, and counts twice until it has come.
  uint64_t bytes = 0;
};

DiskRoom::DiskRoom(uint64_t keep_free, Look look)
    : keep_free_(keep_free),
      look_(look != nullptr ? std::move(look) : LookAtDisk),
      promised_(std::make_shared<Promised>()) {}

absl::StatusOr<DiskRoom::Taken> DiskRoom::Take(const std::string& folder, uint64_t bytes) {
  const absl::StatusOr<Space> space = look_(folder);
  if (!space.ok()) return space.status();
  const uint64_t keep_free = std::min(keep_free_, space->size / 10);
  const std::lock_guard<std::mutex> lock(promised_->mutex);
  if (space->free < keep_free || space->free - keep_free < promised_->bytes + bytes) {
    constexpr uint64_t kMiB = 1 << 20;
    return absl::UnavailableError(absl::StrCat("the head's disk has ", space->free / kMiB, " MiB free: of these, ",
                                               keep_free / kMiB, " stay free (`serve --keep-free`), ",
                                               promised_->bytes / kMiB, " are on their way, and ", bytes / kMiB,
                                               " more were to come"));
  }
  promised_->bytes += bytes;
  return Taken(nullptr, [promised = promised_, bytes](void*) {
    const std::lock_guard<std::mutex> giving_back(promised->mutex);
    promised->bytes -= bytes;
  });
}

}  // namespace lanista
