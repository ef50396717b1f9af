// Files that somebody may replace at any time: keys, certificates, tokens.
#ifndef LANISTA_SRC_BASE_CHANGED_FILES_H_
#define LANISTA_SRC_BASE_CHANGED_FILES_H_

#include <chrono>
#include <string>
#include <vector>

#include "src/base/file_stamp.h"

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
  std::vector<FileStamp> Look() const;

  const std::vector<std::string> paths_;
  const std::chrono::milliseconds interval_;
  std::chrono::steady_clock::time_point last_look_;
  std::vector<FileStamp> stamps_;
};

}  // namespace lanista

#endif  // LANISTA_SRC_BASE_CHANGED_FILES_H_
