// Files that somebody may replace at any time: keys, certificates, tokens.
#ifndef LANISTA_SRC_BASE_CHANGED_FILES_H_
#define LANISTA_SRC_BASE_CHANGED_FILES_H_

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace lanista {

// Notices changed files by their metadata: inode, size and times. Used by one thread at a time.
class ChangedFiles {
 public:
  // Reads the metadata at most once every `interval`.
  explicit ChangedFiles(std::vector<std::string> paths, std::chrono::milliseconds interval = std::chrono::seconds(1));

  // Whether a file was replaced, written, removed or made since the last call that returned true; for the first such
  // call, since the construction. Read the files after it: what is written meanwhile is a change of the next call.
  bool Changed();

 private:
  // The metadata of a file that change with it.
  struct Stamp {
    dev_t device = 0;
    ino_t inode = 0;
    off_t size = -1;
    // Nanoseconds.
    int64_t modified = 0;
    int64_t status_changed = 0;

    bool operator==(const Stamp& other) const;
  };

  std::vector<Stamp> Look() const;

  const std::vector<std::string> paths_;
  const std::chrono::milliseconds interval_;
  std::chrono::steady_clock::time_point last_look_;
  std::vector<Stamp> stamps_;
};

}  // namespace lanista

#endif  // LANISTA_SRC_BASE_CHANGED_FILES_H_
