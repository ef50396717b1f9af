// A file descriptor with an owner.
#ifndef LANISTA_SRC_BASE_UNIQUE_FD_H_
#define LANISTA_SRC_BASE_UNIQUE_FD_H_

#include <unistd.h>

#include <utility>

namespace lanista {

// Owns a descriptor and closes it; -1 is none.
class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~UniqueFd() {
    if (fd_ >= 0) close(fd_);
  }

  int get() const { return fd_; }

  // Closes it now. 0, or -1 with errno set: of a written file, what was not written to the disk.
  int Close() { return close(std::exchange(fd_, -1)); }

 private:
  int fd_ = -1;
};

}  // namespace lanista

#endif  // LANISTA_SRC_BASE_UNIQUE_FD_H_
