// Streams that end before they begin.
#ifndef LANISTA_SRC_RPC_REFUSED_CALL_H_
#define LANISTA_SRC_RPC_REFUSED_CALL_H_

#include "absl/status/status.h"
#include "src/rpc/grpc_status.h"

namespace lanista {

// The reactor of a call that only ends, with this status. `Reactor`: the base that gRPC wants for the method. Made by
// `new`; it deletes itself when the call is done.
template <typename Reactor>
class RefusedCall final : public Reactor {
 public:
  explicit RefusedCall(const absl::Status& status) { this->Finish(ToGrpcStatus(status)); }
  void OnDone() override { delete this; }
};

}  // namespace lanista

#endif  // LANISTA_SRC_RPC_REFUSED_CALL_H_
