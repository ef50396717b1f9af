// Room on the head's disk that files from nodes leave to others: to journals above all, without which no experiment
// goes on.
#ifndef LANISTA_SRC_FILES_DISK_ROOM_H_
#define LANISTA_SRC_FILES_DISK_ROOM_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"

namespace lanista {

// Thread-safe.
class DiskRoom {
  struct Shared;

 public:
  // In bytes, for users without privileges.
  struct Space {
    uint64_t free = 0;
    uint64_t size = 0;
  };
  using Look = std::function<absl::StatusOr<Space>(const std::string& folder)>;
  using Clock = std::chrono::steady_clock;

  // Room for something on its way to the disk, until this goes; it may outlive the DiskRoom. Used by one thread.
  class Taken {
   public:
    Taken(std::shared_ptr<Shared> shared, uint64_t bytes) : shared_(std::move(shared)), bytes_(bytes) {}
    ~Taken() { Written(bytes_); }
    Taken(const Taken&) = delete;
    Taken& operator=(const Taken&) = delete;
    // So many bytes of it are on the disk, and not free any more.
    void Written(uint64_t bytes);

   private:
    const std::shared_ptr<Shared> shared_;
    uint64_t bytes_;
  };

  static constexpr uint64_t kKeepFree = uint64_t{1} << 30;
  // What is not larger is let through: what a trial printed.
  static constexpr uint64_t kSmall = uint64_t{1} << 16;
  // Whoever was refused and did not ask again for so long does not wait any more. Nodes ask every half minute.
  static constexpr std::chrono::minutes kPatience{2};

  // `keep_free`: so many bytes stay free; of a disk with less than ten times that, a tenth. `look`: looks at the disk
  // of a folder; else the system is asked. `now`: the time; else the system's.
  explicit DiskRoom(uint64_t keep_free = kKeepFree, Look look = nullptr,
                    std::function<Clock::time_point()> now = nullptr);

  // Takes room on the disk of `folder`, which is there. `waits`: what does not go on without it, by a name of the
  // caller's; empty: nothing. UNAVAILABLE: there is too little, for now; the log says how much, once a minute.
  absl::StatusOr<std::unique_ptr<Taken>> Take(const std::string& folder, uint64_t bytes, const std::string& waits = "");

  // What `folder` waits for, in the words of `show`: something of it got no room when it asked last, and would get none
  // now. Else empty. Looks at the disk, which may take long, and holds up nobody meanwhile.
  std::string WaitingFor(const std::string& folder) const;

 private:
  // Why so many bytes have no room in this space; empty: they have.
  std::string Lack(const std::string& folder, const Space& space, uint64_t bytes) const;

  const uint64_t keep_free_;
  const Look look_;
  const std::function<Clock::time_point()> now_;
  const std::shared_ptr<Shared> shared_;
};
using DiskRoomPtr = std::shared_ptr<DiskRoom>;

}  // namespace lanista

#endif  // LANISTA_SRC_FILES_DISK_ROOM_H_
