// Calls of methods for which this program has no stub.
#ifndef LANISTA_TESTS_RPC_RAW_CALL_H_
#define LANISTA_TESTS_RPC_RAW_CALL_H_

#include <future>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "grpcpp/generic/generic_stub.h"
#include "grpcpp/grpcpp.h"
#include "src/rpc/address.h"
#include "src/rpc/channel.h"
#include "src/rpc/grpc_status.h"

namespace lanista {

// Sends the bytes of one request; returns those of the reply.
inline absl::StatusOr<std::string> CallRaw(const std::shared_ptr<grpc::Channel>& channel, const std::string& method,
                                           const std::string& request = "") {
  grpc::GenericStub stub(channel);
  const grpc::Slice slice(request);
  const grpc::ByteBuffer out(&slice, 1);
  grpc::ByteBuffer in;
  grpc::ClientContext context;
  std::promise<grpc::Status> done;
  stub.UnaryCall(&context, method, grpc::StubOptions(), &out, &in,
                 [&done](const grpc::Status& status) { done.set_value(status); });
  if (const grpc::Status status = done.get_future().get(); !status.ok()) return FromGrpcStatus(status);
  std::vector<grpc::Slice> slices;
  if (const grpc::Status status = in.Dump(&slices); !status.ok()) return FromGrpcStatus(status);
  std::string reply;
  for (const grpc::Slice& part : slices) reply.append(reinterpret_cast<const char*>(part.begin()), part.size());
  return reply;
}

// Whether the health service says that `service` is SERVING. Debian has no stub of it for C++.
inline bool Serves(const Address& address, const std::string& service) {
  // HealthCheckRequest.service.
  const absl::StatusOr<std::string> reply =
      CallRaw(*MakeChannel({address}), "/grpc.health.v1.Health/Check",
              absl::StrCat("\n", std::string(1, static_cast<char>(service.size())), service));
  // HealthCheckResponse.status.
  return reply.ok() && *reply == "\x08\x01";
}

}  // namespace lanista

#endif  // LANISTA_TESTS_RPC_RAW_CALL_H_
