// The probes of deploy/kubernetes ask a head for its health by names that it answers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/strip.h"
#include "src/rpc/address.h"
#include "src/rpc/head_server.h"
#include "tests/rpc/raw_call.h"
#include "tests/service/service_testing.h"

namespace lanista {
namespace {

using ::testing::ElementsAre;

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
