#include "src/base/protobuf_log.h"

#include <string>

#include "absl/strings/match.h"
#include "google/protobuf/stubs/logging.h"
#include "src/base/logging.h"

namespace lanista {
namespace {

void Handle(google::protobuf::LogLevel level, const char*, int, const std::string& text) {
  if (absl::StrContains(text, "when parsing") || absl::StartsWith(text, "Can't parse")) return;
  switch (level) {
    case google::protobuf::LOGLEVEL_INFO:
      return LogInfo("protobuf: {}", text);
    case google::protobuf::LOGLEVEL_WARNING:
      return LogWarning("protobuf: {}", text);
    default:
      return LogError("protobuf: {}", text);
  }
}

}  // namespace

void TakeProtobufLog() { google::protobuf::SetLogHandler(Handle); }

}  // namespace lanista
