// absl's statuses and gRPC's, whose codes coincide.
#ifndef LANISTA_SRC_RPC_GRPC_STATUS_H_
#define LANISTA_SRC_RPC_GRPC_STATUS_H_

#include "absl/status/status.h"
#include "grpcpp/support/status.h"

namespace lanista {

// A long message is cut: it travels in a header.
grpc::Status ToGrpcStatus(const absl::Status& status);
absl::Status FromGrpcStatus(const grpc::Status& status);

}  // namespace lanista

#endif  // LANISTA_SRC_RPC_GRPC_STATUS_H_
