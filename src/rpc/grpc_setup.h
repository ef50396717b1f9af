// What server and client want of the library.
#ifndef LANISTA_SRC_RPC_GRPC_SETUP_H_
#define LANISTA_SRC_RPC_GRPC_SETUP_H_

#include <cstdlib>

#include "src/base/openssl_exit.h"

namespace lanista {

// Keeps gRPC's own log from stderr, unless the user asks for it (GRPC_VERBOSITY=ERROR): our errors say what to do. Its
// threads may go on until the process has ended.
// REQUIRES: before anything else of gRPC is used.
inline void SetUpGrpc() {
  setenv("GRPC_VERBOSITY", "NONE", /*overwrite=*/0);
  KeepOpenSslAtExit();
}

// GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA: 0 is as many as one likes. Otherwise gRPC stops asking after two, and a watch
// in which nothing happens would never notice that the other side has gone without a word.
inline constexpr int kPingsWithoutData = 0;

}  // namespace lanista

#endif  // LANISTA_SRC_RPC_GRPC_SETUP_H_
