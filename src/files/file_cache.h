// A folder of files that are named by their content, so that each is fetched once.
//
//   FOLDER/SHA256   a file; written beside its place, synced and renamed, so that what is there was complete once
//
// Its size is bounded: those that were used longest ago are removed first, and none that is in use. A file is read and
// compared with its name when it is first used after a start: one that was damaged is fetched again.
#ifndef LANISTA_SRC_FILES_FILE_CACHE_H_
#define LANISTA_SRC_FILES_FILE_CACHE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "src/files/cancellation.h"

namespace lanista {

// Thread-safe; calls block.
class FileCache {
 public:
  // The path of a file, which stays as long as this lives. May outlive the cache.
  using Pin = std::shared_ptr<const std::string>;
  // Takes the next bytes. An error ends the fetch: more came than was wanted.
  using Write = std::function<absl::Status(absl::string_view)>;
  using Fetch = std::function<absl::Status(const Write&)>;

  // Takes over what is in the folder, which it makes where it is missing. REQUIRES: no other one uses it. `make_room`:
  // lets go of something that nobody needs just now, and returns false where there is nothing.
  static absl::StatusOr<FileCache> Open(const std::string& folder, int64_t max_bytes,
                                        std::function<bool()> make_room = nullptr);

  // The file with this content, which `fetch` gets where it is not there. Where several want the same file, one gets it
  // and the others wait. CANCELLED: it was canceled. DATA_LOSS: what came has another content. ABORTED: this
  // cache has no room for it. UNAVAILABLE: this machine cannot write it. Else what `fetch` returned. REQUIRES:
  // IsSha256(sha256).
  absl::StatusOr<Pin> Get(const std::string& sha256, int64_t size, Cancellation* cancellation, const Fetch& fetch);

  // Of all files that are there, or are being fetched.
  int64_t bytes() const;

 private:
  class State;

  explicit FileCache(std::shared_ptr<State> state) : state_(std::move(state)) {}

  std::shared_ptr<State> state_;
};

}  // namespace lanista

#endif  // LANISTA_SRC_FILES_FILE_CACHE_H_
