// gRPC's side of what protects a head's port: encryption, and a check of each call before any service hears of it.
#ifndef LANISTA_SRC_RPC_SERVER_CREDENTIALS_H_
#define LANISTA_SRC_RPC_SERVER_CREDENTIALS_H_

#include <memory>

#include "absl/status/statusor.h"
#include "grpcpp/security/server_credentials.h"
#include "src/rpc/port_protection.h"
#include "src/rpc/refused_calls.h"

namespace lanista {

// For ServerBuilder::AddListeningPort. All files are read now, and again when they change: certificates with the next
// connection, tokens with the next call. Files that are wrong then change nothing, which the log says. Errors name the
// file. Calls that are refused are told to `refused`.
absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> MakeServerCredentials(const PortProtection& protection,
                                                                               std::shared_ptr<RefusedCalls> refused);

}  // namespace lanista

#endif  // LANISTA_SRC_RPC_SERVER_CREDENTIALS_H_
