// Room on the head's disk that files from nodes leave to others: to journals above all, without which no experiment
// goes on.
#ifndef LANISTA_SRC_FILES_DISK_ROOM_H_
#define LANISTA_SRC_FILES_DISK_ROOM_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"

namespace lanista {

// Thread-safe.
class DiskRoom {
 public:
  // In bytes, for users without privileges.
  struct Space {
    uint64_t free = 0;
    uint64_t size = 0;
  };
  using Look = std::function<absl::StatusOr<Space>(const std::string& folder)>;
  // Room that something on its way to the disk will take, until this goes.
  using Taken = std::shared_ptr<void>;

  static constexpr uint64_t kKeepFree = uint64_t{1} << 30;

  // `keep_free`: so many bytes stay free; of a disk with less than ten times that, a tenth. `look`: looks at the disk
  // of a folder; else statvfs does.
  explicit DiskRoom(uint64_t keep_free = kKeepFree, Look look = nullptr);

  // Takes room on the disk of `folder`, which is there. UNAVAILABLE: there is too little, for now; says how much.
  absl::StatusOr<Taken> Take(const std::string& folder, uint64_t bytes);

 private:
  struct Promised;

  const uint64_t keep_free_;
  const Look look_;
  // Shared with what was taken, which may outlive this.
  const std::shared_ptr<Promised> promised_;
};

}  // namespace lanista

#endif  // LANISTA_SRC_FILES_DISK_ROOM_H_
