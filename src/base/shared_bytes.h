// Large constant data that several processes of one machine hold in memory once.
//
// The bytes are in a file, and each process maps this file: the kernel keeps one copy, which counts in no process's
// data (RLIMIT_DATA) and can be read again from the file if memory gets short.
//
//   FOLDER/CHECKSUM-SIZE   locked (flock) by the processes that map it, and thus no longer than they live
//   FOLDER/turn            locked by a process that writes one of them, and removed by it
//
// Nobody trusts the files: a process compares a file with its own copy of the bytes before it gives up this copy.
#ifndef LANISTA_SRC_BASE_SHARED_BYTES_H_
#define LANISTA_SRC_BASE_SHARED_BYTES_H_

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "src/base/unique_fd.h"

namespace lanista {

// A mapped file. Immutable: any number of threads may read it, and a write ends the process.
class SharedBytes {
 public:
  // Maps the file in `folder` that has the content of `bytes`. Makes the folder and the file where they are missing;
  // then also removes files of the folder that no process maps. Before it writes it waits while another process writes
  // a file of the folder. RESOURCE_EXHAUSTED: the disk has too little room. DATA_LOSS: the file is damaged. Else the
  // system's error. REQUIRES: `bytes` is not empty. Thread-safe.
  static absl::StatusOr<std::shared_ptr<const SharedBytes>> Share(const std::string& folder, absl::string_view bytes);

  ~SharedBytes();
  SharedBytes(const SharedBytes&) = delete;
  SharedBytes& operator=(const SharedBytes&) = delete;

  const void* data() const { return data_; }
  size_t size() const { return size_; }

 private:
  SharedBytes(UniqueFd file, void* data, size_t size) : file_(std::move(file)), data_(data), size_(size) {}

  // Holds the lock.
  const UniqueFd file_;
  void* const data_;
  const size_t size_;
};

// Removes the files of `folder` that no process maps, and the folder if it is empty then. Files of other names stay.
void RemoveUnusedSharedBytes(const std::string& folder);

// The folder as long as processes that this one starts use it: begins and ends with RemoveUnusedSharedBytes.
class SharedBytesFolder {
 public:
  // Empty: there is none.
  explicit SharedBytesFolder(std::string path);
  ~SharedBytesFolder();
  SharedBytesFolder(const SharedBytesFolder&) = delete;
  SharedBytesFolder& operator=(const SharedBytesFolder&) = delete;

  const std::string& path() const { return path_; }

 private:
  const std::string path_;
};

}  // namespace lanista

#endif  // LANISTA_SRC_BASE_SHARED_BYTES_H_
