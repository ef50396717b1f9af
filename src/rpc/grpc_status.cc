#include "src/rpc/grpc_status.h"

#include <string>

#include "src/base/utf8.h"

namespace lanista {
namespace {

// Headers of 8 KiB are what clients take by default; each byte that is not ASCII becomes three.
constexpr size_t kMaxMessage = 2500;

}  // namespace

grpc::Status ToGrpcStatus(const absl::Status& status) {
  std::string message = ToUtf8(std::string(status.message()));
  if (message.size() > kMaxMessage) message = ToUtf8(message.substr(0, kMaxMessage)) + " ...";
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()), message);
}

absl::Status FromGrpcStatus(const grpc::Status& status) {
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
}

}  // namespace lanista
