// The probes of deploy/kubernetes ask a head for its health by names that it answers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "grpcpp/generic/generic_stub.h"
#include "grpcpp/grpcpp.h"
#include "src/rpc/address.h"
#include "src/rpc/head_server.h"
#include "tests/service/service_testing.h"

namespace lanista {
namespace {

using ::testing::ElementsAre;

// Whether the health service says that `service` is SERVING. Debian has no stub of it for C++.
bool Serves(const Address& address, const std::string& service) {
  grpc::GenericStub stub(grpc::CreateChannel(address.ToText(), grpc::InsecureChannelCredentials()));
  // HealthCheckRequest.service.
  const grpc::Slice request(absl::StrCat("\n", std::string(1, static_cast<char>(service.size())), service));
  const grpc::ByteBuffer out(&request, 1);
  grpc::ByteBuffer in;
  grpc::ClientContext context;
  std::promise<grpc::Status> done;
  stub.UnaryCall(&context, "/grpc.health.v1.Health/Check", grpc::StubOptions(), &out, &in,
                 [&done](const grpc::Status& status) { done.set_value(status); });
  if (!done.get_future().get().ok()) return false;
  grpc::Slice answer;
  // HealthCheckResponse.status: SERVING.
  return in.DumpToSingleSlice(&answer).ok() &&
         std::string(reinterpret_cast<const char*>(answer.begin()), answer.size()) == "\x08\x01";
}

class ManifestTest : public ServiceTest {};

TEST_F(ManifestTest, ProbesNameTheServicesOfAHead) {
  const std::unique_ptr<HeadServer> server = *HeadServer::Start(*ParseAddress("127.0.0.1:0"), &experiments_);
  // Of the startup, readiness and liveness probe; the empty name is the server as a whole.
  std::vector<std::string> names;
  std::ifstream manifest("deploy/kubernetes/base/head.yaml");
  for (std::string line; std::getline(manifest, line);) {
    const absl::string_view text = absl::StripAsciiWhitespace(line);
    if (text == "grpc:") names.emplace_back();
    if (absl::StartsWith(text, "service: ")) names.back() = std::string(absl::StripPrefix(text, "service: "));
  }
  EXPECT_THAT(names, ElementsAre("lanista.v1.ExperimentService", "lanista.v1.ExperimentService", ""));
  // Ready once clients may come, alive before that.
  EXPECT_FALSE(Serves(server->address(), names[0]));
  EXPECT_TRUE(Serves(server->address(), names[2]));
  server->Open();
  for (const std::string& name : names) EXPECT_TRUE(Serves(server->address(), name)) << name;
  server->Close();
  EXPECT_FALSE(Serves(server->address(), names[0]));
}

}  // namespace
}  // namespace lanista
