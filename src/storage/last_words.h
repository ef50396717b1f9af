// Records why an experiment ended if its journal cannot be written any more.
//
// It is one line of text in a file beside the journal. The file gets its room on the disk when the experiment starts,
// so that the line can be written even if the disk is full.
#ifndef LANISTA_SRC_STORAGE_LAST_WORDS_H_
#define LANISTA_SRC_STORAGE_LAST_WORDS_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "src/base/unique_fd.h"

namespace lanista {

class LastWords {
 public:
  struct Words {
    absl::Time time;
    std::string reason;
  };

  // Makes the file in `folder`, empty but as large as it will ever be. What an earlier process wrote there stays, until
  // Write.
  static absl::StatusOr<LastWords> Reserve(const std::string& folder);

  // Writes the line; what does not fit is cut off. Needs no room on most file systems.
  absl::Status Write(absl::Time time, absl::string_view reason);

  // The line in `folder`; nullopt if there is none.
  static std::optional<Words> Read(const std::string& folder);

 private:
  explicit LastWords(UniqueFd file) : file_(std::move(file)) {}

  UniqueFd file_;
};

}  // namespace lanista

#endif  // LANISTA_SRC_STORAGE_LAST_WORDS_H_
