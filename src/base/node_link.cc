#include "src/base/node_link.h"

#include "absl/strings/str_cat.h"
#include "src/base/display_text.h"
#include "src/base/utf8.h"

namespace lanista {
namespace {

constexpr size_t kMaxNameBytes = 100;

}  // namespace

Heartbeat::~Heartbeat() { Answer(absl::UnavailableError("the head ends")); }

void Heartbeat::Answer(const absl::Status& status) {
  if (const Done done = std::exchange(done_, nullptr)) done(status);
}

absl::Status CheckNodeName(absl::string_view name) {
  if (!name.empty() && name.size() <= kMaxNameBytes && IsUtf8(name) && OneLine(name) == name) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("'", OneLine(ToUtf8(name.substr(0, kMaxNameBytes))),
                                                 "' is no name for a node: it has 1 to ", kMaxNameBytes,
                                                 " bytes of text on one line"));
}

bool EndsNode(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOk:
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kAlreadyExists:
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kUnauthenticated:
    case absl::StatusCode::kUnimplemented:
      return true;
    default:
      return false;
  }
}

}  // namespace lanista
