// Frames on a byte stream: four bytes of length (little endian), then one protobuf message.
#ifndef LANISTA_SRC_BASE_FRAMING_H_
#define LANISTA_SRC_BASE_FRAMING_H_

#include <cstddef>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/message_lite.h"

namespace lanista {

// No frame is larger, in bytes: a peer that claims more is broken or hostile.
constexpr size_t kMaxFrameBytes = 64 << 20;

// Appends `message` as a frame to `out`. RESOURCE_EXHAUSTED if it is larger than kMaxFrameBytes (nothing is appended).
absl::Status AppendFrame(const google::protobuf::MessageLite& message, std::string* out);

// Cuts a stream into frames. Used by one thread.
class FrameDecoder {
 public:
  // Takes what was read from the stream.
  void Append(absl::string_view bytes);

  // The next complete frame's message; nullopt until more bytes come. RESOURCE_EXHAUSTED if a frame claims more than
  // kMaxFrameBytes, after which the stream cannot be read on.
  absl::StatusOr<std::optional<std::string>> Next();

 private:
  std::string buffer_;
  // Where the first unread byte stands in buffer_.
  size_t begin_ = 0;
};

}  // namespace lanista

#endif  // LANISTA_SRC_BASE_FRAMING_H_
