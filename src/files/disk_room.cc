#include "src/files/disk_room.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iterator>
#include <map>
#include <mutex>
#include <optional>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "src/base/logging.h"
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
  // What got no room when it asked last.
  struct Refusal {
    uint64_t bytes = 0;
    Clock::time_point time;
  };

  std::mutex mutex;
  // Protected by mutex: bytes that are taken and not written yet; when the log warned last; and who waits, by folder
  // and name.
  uint64_t promised = 0;
  std::optional<Clock::time_point> warned;
  std::map<std::pair<std::string, std::string>, Refusal> refusals;
};

void DiskRoom::Taken::Written(uint64_t bytes) {
  const uint64_t written = std::min(bytes, bytes_);
  bytes_ -= written;
  const std::lock_guard<std::mutex> lock(shared_->mutex);
  shared_->promised -= written;
}

DiskRoom::DiskRoom(uint64_t keep_free, Look look, std::function<Clock::time_point()> now)
    : keep_free_(keep_free),
      look_(look != nullptr ? std::move(look) : LookAtDisk),
      now_(now != nullptr ? std::move(now) : Clock::now),
      shared_(std::make_shared<Shared>()) {}

std::string DiskRoom::Lack(const std::string& folder, const Space& space, uint64_t bytes) const {
  const uint64_t kept = std::min(keep_free_, space.size / 10);
  if (space.free >= kept + bytes) return "";
  return absl::StrCat("the disk of ", folder, " has ", space.free / kMiB, " MiB free; ", bytes / kMiB,
                      " MiB are to come, and ", kept / kMiB,
                      " MiB stay free for journals (--keep-free): `delete` makes room");
}

absl::StatusOr<std::unique_ptr<DiskRoom::Taken>> DiskRoom::Take(const std::string& folder, uint64_t bytes,
                                                                const std::string& waits) {
  const std::lock_guard<std::mutex> lock(shared_->mutex);
  LANISTA_ASSIGN_OR_RETURN(const Space space, look_(folder));
  auto& refusals = shared_->refusals;
  const std::string lack = bytes <= kSmall ? "" : Lack(folder, space, shared_->promised + bytes);
  if (lack.empty()) {
    refusals.erase({folder, waits});
    shared_->promised += bytes;
    return std::make_unique<Taken>(shared_, bytes);
  }
  const Clock::time_point now = now_();
  for (auto refusal = refusals.begin(); refusal != refusals.end();) {
    refusal = now - refusal->second.time > kPatience ? refusals.erase(refusal) : std::next(refusal);
  }
  if (!waits.empty()) refusals[{folder, waits}] = {bytes, now};
  if (!shared_->warned.has_value() || now - *shared_->warned >= kBetweenWarnings) {
    shared_->warned = now;
    LogWarning("what nodes deliver waits there, and so do the ends of their models: {}", lack);
  }
  return absl::UnavailableError("the head's disk is nearly full, and takes nothing more from nodes (--keep-free)");
}

std::string DiskRoom::WaitingFor(const std::string& folder) const {
  uint64_t most = 0;
  uint64_t promised = 0;
  {
    const std::lock_guard<std::mutex> lock(shared_->mutex);
    promised = shared_->promised;
    const Clock::time_point now = now_();
    for (const auto& [key, refusal] : shared_->refusals) {
      if (key.first == folder && now - refusal.time <= kPatience) most = std::max(most, refusal.bytes);
    }
  }
  if (most == 0) return "";
  const absl::StatusOr<Space> space = look_(folder);
  if (!space.ok()) return "";
  const std::string lack = Lack(folder, *space, promised + most);
  return lack.empty() ? "" : absl::StrCat("room for what nodes deliver: ", lack);
}

}  // namespace lanista
