// The stream between a worker and its trial process: frames, and the messages in them.
// Input: a byte, so many of which (and one) are read at a time; the stream.
#include "src/base/framing.h"

#include <optional>
#include <string>
#include <vector>

#include "protos/trial.pb.h"
#include "tests/fuzz/fuzz.h"

namespace lanista {
namespace {

struct Decoded {
  std::vector<std::string> frames;
  bool broken = false;
};

void ReadOn(FrameDecoder* decoder, Decoded* decoded) {
  while (!decoded->broken) {
    absl::StatusOr<std::optional<std::string>> frame = decoder->Next();
    decoded->broken = !frame.ok();
    if (!frame.ok() || !frame->has_value()) return;
    decoded->frames.push_back(**std::move(frame));
  }
}

Decoded Decode(absl::string_view stream, size_t piece) {
  FrameDecoder decoder;
  Decoded decoded;
  for (size_t at = 0; at < stream.size() && !decoded.broken; at += piece) {
    decoder.Append(stream.substr(at, piece));
    ReadOn(&decoder, &decoded);
  }
  return decoded;
}

// What is understood is sent on as it was meant.
template <typename Message>
void SendOn(const std::string& frame) {
  Message message, received;
  if (!message.ParseFromString(frame)) return;
  std::string bytes;
  fuzz::Require(AppendFrame(message, &bytes).ok(), "a message that came in a frame does not fit into one");
  const Decoded decoded = Decode(bytes, bytes.size());
  fuzz::Require(decoded.frames.size() == 1 && received.ParseFromString(decoded.frames[0]), "a frame is lost");
  fuzz::Require(received.ByteSizeLong() == message.ByteSizeLong(), "a message is changed on its way");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::Input input(data, size);
  const size_t piece = 1 + size_t{input.Byte()};
  const absl::string_view stream = input.Rest();
  const Decoded decoded = Decode(stream, piece), whole = Decode(stream, stream.size() + 1);
  fuzz::Require(decoded.frames == whole.frames, "frames depend on how the stream is read");
  fuzz::Require(decoded.broken == whole.broken, "whether a stream is broken depends on how it is read");
  for (const std::string& frame : decoded.frames) {
    SendOn<v1::TrialRequest>(frame);
    SendOn<v1::TrialEvent>(frame);
  }
  return 0;
}

}  // namespace lanista
