// Why a head cannot be reached. gRPC says no more than that a handshake failed.
#ifndef LANISTA_SRC_RPC_UNREACHABLE_H_
#define LANISTA_SRC_RPC_UNREACHABLE_H_

#include "absl/status/status.h"
#include "src/rpc/head_access.h"

namespace lanista {

// UNAVAILABLE, always: "no head can be reached at H:P", and what to check. Dials once more, with a TLS of its own, and
// takes some seconds at most.
absl::Status WhyUnreachable(const HeadAccess& access);

}  // namespace lanista

#endif  // LANISTA_SRC_RPC_UNREACHABLE_H_
