#include "src/base/framing.h"

#include <cstdint>

#include "absl/strings/str_cat.h"

namespace lanista {
namespace {

constexpr size_t kHeaderBytes = 4;

}  // namespace

absl::Status AppendFrame(const google::protobuf::MessageLite& message, std::string* out) {
  const size_t size = message.ByteSizeLong();
  if (size > kMaxFrameBytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat("a message of ", size, " bytes is larger than a frame may be (", kMaxFrameBytes, ")"));
  }
  for (size_t shift = 0; shift < 8 * kHeaderBytes; shift += 8) out->push_back(static_cast<char>(size >> shift & 0xff));
  message.AppendToString(out);
  return absl::OkStatus();
}

void FrameDecoder::Append(absl::string_view bytes) {
  buffer_.erase(0, begin_);
  begin_ = 0;
  buffer_.append(bytes.data(), bytes.size());
}

absl::StatusOr<std::optional<std::string>> FrameDecoder::Next() {
  if (buffer_.size() - begin_ < kHeaderBytes) return std::nullopt;
  uint32_t size = 0;
  for (size_t i = 0; i < kHeaderBytes; ++i) {
    size |= static_cast<uint32_t>(static_cast<unsigned char>(buffer_[begin_ + i])) << (8 * i);
  }
  if (size > kMaxFrameBytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat("a frame claims ", size, " bytes, more than the ", kMaxFrameBytes, " that are allowed"));
  }
  if (buffer_.size() - begin_ - kHeaderBytes < size) return std::nullopt;
  std::string message = buffer_.substr(begin_ + kHeaderBytes, size);
  begin_ += kHeaderBytes + size;
  return message;
}

}  // namespace lanista
