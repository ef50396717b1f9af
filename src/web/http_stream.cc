#include "src/web/http_stream.h"

#include <microhttpd.h>
#include <sys/socket.h>

#include <algorithm>
#include <utility>

namespace lanista {

void HttpStream::Write(std::shared_ptr<const std::string> text) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (gone_ || ended_ || text->empty()) return;
  // What waits now has been waiting since it came, and not since the last text was taken.
  if (unsent_ == 0) last_taken_ = Clock::now();
  unsent_ += text->size();
  texts_.push_back(std::move(text));
  ResumeLocked();
}

void HttpStream::End() {
  const std::lock_guard<std::mutex> lock(mutex_);
  ended_ = true;
  ResumeLocked();
}

void HttpStream::Abort() {
  const std::lock_guard<std::mutex> lock(mutex_);
  gone_ = true;
  texts_.clear();
  unsent_ = 0;
  if (connection_ == nullptr) return;
  // A connection whose client reads nothing waits for room to write; this ends the wait.
  const MHD_ConnectionInfo* const info = MHD_get_connection_info(connection_, MHD_CONNECTION_INFO_CONNECTION_FD);
  if (info != nullptr) shutdown(info->connect_fd, SHUT_RDWR);
  ResumeLocked();
}

size_t HttpStream::unsent() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return unsent_;
}

HttpStream::Clock::time_point HttpStream::last_taken() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return last_taken_;
}

bool HttpStream::gone() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return gone_;
}

void HttpStream::Attach(MHD_Connection* connection) {
  const std::lock_guard<std::mutex> lock(mutex_);
  connection_ = connection;
}

void HttpStream::Detach() {
  const std::lock_guard<std::mutex> lock(mutex_);
  connection_ = nullptr;
  suspended_ = false;
  gone_ = true;
  texts_.clear();
  unsent_ = 0;
}

ssize_t HttpStream::Take(char* buffer, size_t size) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (gone_) return MHD_CONTENT_READER_END_WITH_ERROR;
  if (texts_.empty()) {
    if (ended_) return MHD_CONTENT_READER_END_OF_STREAM;
    // Under the lock: whoever writes next resumes it.
    suspended_ = true;
    MHD_suspend_connection(connection_);
    return 0;
  }
  size_t copied = 0;
  while (copied < size && !texts_.empty()) {
    const std::string& text = *texts_.front();
    const size_t part = std::min(size - copied, text.size() - taken_);
    text.copy(buffer + copied, part, taken_);
    copied += part;
    taken_ += part;
    if (taken_ < text.size()) continue;
    texts_.pop_front();
    taken_ = 0;
  }
  unsent_ -= copied;
  last_taken_ = Clock::now();
  return static_cast<ssize_t>(copied);
}

void HttpStream::ResumeLocked() {
  if (!suspended_) return;
  suspended_ = false;
  MHD_resume_connection(connection_);
}

}  // namespace lanista
