// Connections to a head, for everybody who dials one.
#ifndef LANISTA_SRC_RPC_CHANNEL_H_
#define LANISTA_SRC_RPC_CHANNEL_H_

#include <chrono>
#include <memory>

#include "absl/status/statusor.h"
#include "grpcpp/channel.h"
#include "src/rpc/head_access.h"

namespace lanista {

// So long connecting to one address may take: some trips to the other end of the world, and a head that has much to do.
// A name may have several addresses, which are tried one after the other.
inline constexpr std::chrono::seconds kConnectTimeout(5);

// A channel whose calls carry the token; the file is read again when it changes. Certificates are read now. It connects
// when it is first used. INVALID_ARGUMENT, FAILED_PRECONDITION, NOT_FOUND: a file is wrong, or the token would travel
// unencrypted.
absl::StatusOr<std::shared_ptr<grpc::Channel>> MakeChannel(const HeadAccess& access);

}  // namespace lanista

#endif  // LANISTA_SRC_RPC_CHANNEL_H_
