// The body of an answer that is made while it is sent.
#ifndef LANISTA_SRC_WEB_HTTP_STREAM_H_
#define LANISTA_SRC_WEB_HTTP_STREAM_H_

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <string>

struct MHD_Connection;

namespace lanista {

// A queue of texts between a writer and a connection. The writer never waits; it looks at unsent() and stops by itself.
// While there is nothing to send, the connection is suspended and costs no time. Thread-safe.
class HttpStream {
 public:
  using Clock = std::chrono::steady_clock;

  // Adds to what is to be sent; the text may be shared with other streams.
  void Write(std::shared_ptr<const std::string> text);
  // The answer ends behind what was written.
  void End();
  // Closes the connection, whatever is unsent.
  void Abort();

  // Bytes that the connection has not taken yet.
  size_t unsent() const;
  // When it last took some.
  Clock::time_point last_taken() const;
  // The client has gone, or the stream was aborted: nobody reads what is written.
  bool gone() const;

  // ---- For HttpServer ----

  // From now on the connection takes the stream.
  void Attach(MHD_Connection* connection);
  // The connection is about to go.
  void Detach();
  // Takes up to `size` bytes; 0: there are none now, and the connection was suspended; negative: MHD's codes for the
  // end. On the connection's thread.
  ssize_t Take(char* buffer, size_t size);

 private:
  void ResumeLocked();

  mutable std::mutex mutex_;
  // Protected by mutex_.
  MHD_Connection* connection_ = nullptr;
  std::deque<std::shared_ptr<const std::string>> texts_;
  // Of the first of them, bytes that are taken.
  size_t taken_ = 0;
  size_t unsent_ = 0;
  Clock::time_point last_taken_ = Clock::now();
  bool suspended_ = false;
  bool ended_ = false;
  bool gone_ = false;
};

}  // namespace lanista

#endif  // LANISTA_SRC_WEB_HTTP_STREAM_H_
