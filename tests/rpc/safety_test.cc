// A head's port and those who may, and may not, come in: over real connections.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/crypto.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/unknown_field_set.h"
#include "grpcpp/grpcpp.h"
#include "protos/node.pb.h"
#include "src/rpc/channel.h"
#include "src/rpc/head_client.h"
#include "src/rpc/head_server.h"
#include "tests/rpc/captured_log.h"
#include "tests/rpc/certificates.h"
#include "tests/rpc/raw_call.h"
#include "tests/rpc/sockets.h"
#include "tests/service/service_testing.h"

namespace lanista {
namespace {

using ::google::protobuf::DescriptorPool;
using ::google::protobuf::ServiceDescriptor;
using ::google::protobuf::UnknownField;
using ::google::protobuf::UnknownFieldSet;
using ::testing::HasSubstr;

constexpr char kList[] = "/lanista.v1.ExperimentService/List";
constexpr char kJoin[] = "/lanista.v1.NodeService/Join";
constexpr char kBeat[] = "/lanista.v1.NodeService/Beat";
constexpr char kListInputs[] = "/lanista.v1.NodeService/ListInputs";
constexpr char kFetchInput[] = "/lanista.v1.NodeService/FetchInput";
constexpr char kFetchCheckpoint[] = "/lanista.v1.NodeService/FetchCheckpoint";
constexpr char kDeliverOutput[] = "/lanista.v1.NodeService/DeliverOutput";
constexpr char kFindWeightsBar[] = "/lanista.v1.NodeService/FindWeightsBar";
constexpr char kHealth[] = "/grpc.health.v1.Health/Check";
constexpr char kReflection[] = "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo";

class SafetyTest : public ServiceTest {
 protected:
  void Start(const PortProtection& protection, const std::string& host = "127.0.0.1") {
    auto server = HeadServer::Start({host, 0}, &experiments_, protection, telemetry_);
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    server_->Open();
  }

  // In the place of a file of the same name.
  std::string Write(const std::string& name, const std::string& text) const {
    const std::string path = files_.path() + "/" + name;
    std::ofstream(path + ".new") << text;
    chmod((path + ".new").c_str(), 0600);
    EXPECT_EQ(rename((path + ".new").c_str(), path.c_str()), 0);
    return path;
  }

  PortProtection WithTokens() const {
    PortProtection protection;
    protection.client_token_file = clients_;
    protection.node_token_file = nodes_;
    return protection;
  }
  PortProtection WithTls(const TestCertificate& certificate) const {
    PortProtection protection;
    protection.tls_certificate_file = certificate.certificate;
    protection.tls_key_file = certificate.key;
    return protection;
  }

  HeadAccess Access(const std::string& token_file = "") const {
    HeadAccess access{server_->address()};
    access.token_file = token_file;
    return access;
  }
  HeadAccess TlsAccess() const {
    HeadAccess access = Access();
    access.tls = true;
    access.authorities_file = authority_.file();
    return access;
  }

  // What a client hears.
  static absl::Status List(const HeadAccess& access) {
    const auto client = HeadClient::Make(access);
    return client.ok() ? (*client)->List({}).status() : client.status();
  }
  // The same of one that is not let in.
  static std::string NoHead(const HeadAccess& access) {
    const absl::Status status = List(access);
    EXPECT_TRUE(absl::IsUnavailable(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("no head can be reached at " + access.address.ToText()));
    return std::string(status.message());
  }

  static absl::Status Call(const HeadAccess& access, const std::string& method) {
    return CallRaw(*MakeChannel(access), method).status();
  }

  // Asks until the answer is `wanted`: files are looked at once a second.
  static bool Becomes(absl::StatusCode wanted, const std::function<absl::Status()>& ask) {
    const auto give_up = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    while (std::chrono::steady_clock::now() < give_up) {
      if (ask().code() == wanted) return true;
    }
    return false;
  }

  const TempFolder files_;
  const std::string client_token_ = std::string(32, 'c');
  const std::string node_token_ = std::string(32, 'n');
  const std::string clients_ = Write("clients", client_token_);
  const std::string nodes_ = Write("nodes", node_token_);
  const std::string wrong_ = Write("wrong", std::string(32, 'w'));
  const TestAuthority authority_{files_.path(), "ca"};
  const std::string names_ = "DNS:localhost,IP:127.0.0.1";
  const TelemetryPtr telemetry_ = std::make_shared<Telemetry>();
  std::unique_ptr<HeadServer> server_;
};

// The fields of this number of a message that is known by its numbers only.
std::vector<std::string> Fields(const std::string& message, int number) {
  UnknownFieldSet fields;
  EXPECT_TRUE(fields.ParseFromString(message));
  std::vector<std::string> found;
  for (int i = 0; i < fields.field_count(); ++i) {
    const UnknownField& field = fields.field(i);
    if (field.number() == number && field.type() == UnknownField::TYPE_LENGTH_DELIMITED) {
      found.push_back(field.length_delimited());
    }
  }
  return found;
}

TEST_F(SafetyTest, EveryMethodOfEveryServiceWantsAToken) {
  Start(WithTokens());
  // ServerReflectionRequest.list_services; ServerReflectionResponse.list_services_response.service.name.
  const absl::StatusOr<std::string> answer = CallRaw(*MakeChannel(Access(clients_)), kReflection, "\x3a\x01*");
  ASSERT_TRUE(answer.ok()) << answer.status();
  std::set<std::string> services;
  for (const std::string& list : Fields(*answer, 6)) {
    for (const std::string& service : Fields(list, 1)) services.insert(Fields(service, 1).at(0));
  }
  EXPECT_EQ(services.count("lanista.v1.ExperimentService"), 1u);
  // Whether this head takes nodes or not.
  services.insert(v1::NodeHello::descriptor()->file()->service(0)->full_name());
  int methods = 0;
  for (const std::string& name : services) {
    if (name == "grpc.health.v1.Health") continue;
    const ServiceDescriptor* const service = DescriptorPool::generated_pool()->FindServiceByName(name);
    ASSERT_NE(service, nullptr) << "the methods of " << name << " are to be named here";
    for (int i = 0; i < service->method_count(); ++i) {
      const std::string method = absl::StrCat("/", name, "/", service->method(i)->name());
      for (const std::string& tokens : {std::string(), wrong_}) {
        const absl::Status status = Call(Access(tokens), method);
        EXPECT_TRUE(absl::IsUnauthenticated(status)) << method << ": " << status;
      }
      ++methods;
    }
  }
  EXPECT_GE(methods, 15);
  const absl::Status unknown = Call(Access(), "/lanista.v1.ExperimentService/Unknown");
  EXPECT_TRUE(absl::IsUnauthenticated(unknown)) << unknown;
  EXPECT_TRUE(Call(Access(), kHealth).ok());
  EXPECT_THAT(runner_.calls_, ::testing::IsEmpty());
}

TEST_F(SafetyTest, ATokenOpensItsOwnSideOnly) {
  Start(WithTokens());
  EXPECT_TRUE(List(Access(clients_)).ok());
  const absl::Status none = List(Access());
  EXPECT_TRUE(absl::IsUnauthenticated(none)) << none;
  EXPECT_THAT(std::string(none.message()), HasSubstr("--token-file"));
  const absl::Status of_node = List(Access(nodes_));
  EXPECT_TRUE(absl::IsPermissionDenied(of_node)) << of_node;
  EXPECT_THAT(std::string(of_node.message()), HasSubstr("wants a client's token"));
  EXPECT_TRUE(absl::IsPermissionDenied(Call(Access(nodes_), kReflection)));
  EXPECT_TRUE(absl::IsPermissionDenied(Call(Access(nodes_), "/lanista.v1.NodeService/ListNodes")));
  for (const char* method :
       {kJoin, kBeat, kListInputs, kFetchInput, kFetchCheckpoint, kDeliverOutput, kFindWeightsBar}) {
    EXPECT_TRUE(absl::IsPermissionDenied(Call(Access(clients_), method)));
    const absl::Status let_in = Call(Access(nodes_), method);
    EXPECT_FALSE(absl::IsPermissionDenied(let_in) || absl::IsUnauthenticated(let_in)) << let_in;
  }
  // Streams, too.
  v1::WatchRequest watch;
  watch.set_experiment("nobody");
  const auto none_of_it = [](const v1::ExperimentEvent&) { return true; };
  EXPECT_TRUE(absl::IsUnauthenticated((*HeadClient::Make(Access(wrong_)))->Watch(watch, none_of_it)));
  EXPECT_TRUE(absl::IsNotFound((*HeadClient::Make(Access(clients_)))->Watch(watch, none_of_it)));
}

// Where a tunnel of another machine ends, as that machine's users see it.
TEST_F(SafetyTest, AtTheEndOfATunnelNodesAloneAreLetInByTheirOwnToken) {
  const std::string tunnels = Write("tunnels", std::string(32, 't'));
  PortProtection protection = WithTls(authority_.Issue("head", names_));
  protection.client_token_file = clients_;
  protection.node_token_file = nodes_;
  auto server = HeadServer::Start({"127.0.0.1", 0}, &experiments_, protection, telemetry_, tunnels);
  ASSERT_TRUE(server.ok()) << server.status();
  server_ = *std::move(server);
  server_->Open();
  ASSERT_NE(server_->tunnel_address().port, server_->address().port);

  const auto call = [this](const std::string& token_file, const char* method) {
    HeadAccess access{server_->tunnel_address()};
    access.token_file = token_file;
    return Call(access, method);
  };
  // The service was reached, which has been told of no nodes.
  EXPECT_THAT(std::string(call(tunnels, kBeat).message()), HasSubstr("this head has not begun yet"));
  for (const std::string& other : {std::string(), clients_, nodes_, wrong_}) {
    EXPECT_TRUE(absl::IsUnauthenticated(call(other, kBeat))) << other;
  }
  for (const std::string& any : {std::string(), clients_, nodes_, tunnels}) {
    EXPECT_TRUE(absl::IsPermissionDenied(call(any, kList))) << any;
    EXPECT_TRUE(absl::IsPermissionDenied(call(any, kReflection))) << any;
  }
  // Nor does the token of tunnels open the other port.
  HeadAccess outside = TlsAccess();
  outside.token_file = tunnels;
  EXPECT_TRUE(absl::IsUnauthenticated(Call(outside, kBeat)));
}

TEST_F(SafetyTest, RefusedCallsAreCountedAndTheLogNamesTheCaller) {
  Start(WithTokens());
  const CapturedLog log;
  EXPECT_TRUE(List(Access(clients_)).ok());
  EXPECT_EQ(log.text(), "");
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(absl::IsUnauthenticated(List(Access(wrong_))));
  EXPECT_TRUE(absl::IsPermissionDenied(List(Access(nodes_))));
  EXPECT_TRUE(absl::IsPermissionDenied(Call(Access(clients_), kJoin)));
  EXPECT_EQ(telemetry_->calls_refused[Refusal::kUnauthenticated].value(), 5u);
  EXPECT_EQ(telemetry_->calls_refused[Refusal::kPermissionDenied].value(), 2u);
  const std::string text = log.text();
  EXPECT_THAT(text, HasSubstr(absl::StrCat("a call was refused: ", kList, " of 127.0.0.1:")));
  EXPECT_THAT(text, HasSubstr("the token is none of this head's for clients"));
  EXPECT_THAT(text, HasSubstr("this is a node's"));
  EXPECT_THAT(text, ::testing::Not(HasSubstr(std::string(32, 'w')))) << "no token is ever in the log";
}

TEST_F(SafetyTest, WithoutANodeTokenNoNodeJoinsAHeadThatHasOneForClients) {
  PortProtection protection = WithTokens();
  protection.node_token_file.clear();
  Start(protection);
  for (const std::string& tokens : {std::string(), clients_, nodes_}) {
    const absl::Status status = Call(Access(tokens), kJoin);
    EXPECT_TRUE(absl::IsPermissionDenied(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("--node-token-file"));
  }
}

TEST_F(SafetyTest, TokensAreReplacedWhileItServes) {
  Start(WithTokens());
  // Of a client that stays, and of one that comes anew.
  const std::string mine = Write("mine", client_token_);
  const auto client = *HeadClient::Make(Access(mine));
  EXPECT_TRUE(client->List({}).ok());
  const std::string next(32, 'd');
  Write("clients", absl::StrCat(next, "\n", client_token_));
  EXPECT_TRUE(Becomes(absl::StatusCode::kOk, [&] { return List(Access(Write("next", next))); }));
  EXPECT_TRUE(client->List({}).ok());
  Write("clients", next);
  const auto ask = [&] { return client->List({}).status(); };
  EXPECT_TRUE(Becomes(absl::StatusCode::kUnauthenticated, ask));
  Write("mine", next);
  EXPECT_TRUE(Becomes(absl::StatusCode::kOk, ask));
}

TEST_F(SafetyTest, ATokenTravelsUnencryptedOnThisMachineOnly) {
  HeadAccess access{{"head.example.org", 7421}};
  EXPECT_TRUE(HeadClient::Make(access).ok()) << "no token";
  access.token_file = clients_;
  const absl::Status refused = HeadClient::Make(access).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()), HasSubstr("--tls-ca"));
  access.insecure = true;
  EXPECT_TRUE(HeadClient::Make(access).ok());
  access.insecure = false;
  access.tls = true;
  EXPECT_TRUE(HeadClient::Make(access).ok());
  access.authorities_file = clients_;
  EXPECT_TRUE(absl::IsInvalidArgument(HeadClient::Make(access).status()));
}

TEST_F(SafetyTest, TheHeadIsTheOneOfItsCertificate) {
  PortProtection protection = WithTls(authority_.Issue("head", names_));
  protection.client_token_file = clients_;
  Start(protection);
  HeadAccess access = TlsAccess();
  EXPECT_TRUE(absl::IsUnauthenticated(List(access)));
  access.token_file = clients_;
  EXPECT_TRUE(List(access).ok());
  access.address.host = "localhost";
  EXPECT_TRUE(List(access).ok());
  access.authorities_file = TestAuthority(files_.path(), "another").file();
  EXPECT_THAT(NoHead(access), HasSubstr("certificate is of none of those in " + access.authorities_file));
  access.authorities_file.clear();
  EXPECT_THAT(NoHead(access), HasSubstr("the system's authorities"));
  EXPECT_THAT(NoHead(Access(clients_)), HasSubstr("speaks TLS: add --tls-ca FILE"));
  access = TlsAccess();
  server_.reset();
  EXPECT_THAT(NoHead(access), HasSubstr("`lanista serve` starts one"));
}

TEST_F(SafetyTest, ACertificateThatDoesNotFitIsExplained) {
  Start(WithTls(authority_.Issue("head", names_)), "127.0.0.2");
  EXPECT_THAT(NoHead(TlsAccess()), HasSubstr("is for another name than 127.0.0.2"));
  Start(WithTls(authority_.Issue("other", "DNS:head.example.org")));
  HeadAccess access = TlsAccess();
  access.address.host = "localhost";
  EXPECT_THAT(NoHead(access), HasSubstr("is for another name than localhost"));
  Start(WithTls(authority_.Issue("old", names_, -60)));
  EXPECT_THAT(NoHead(TlsAccess()), HasSubstr("has expired"));
  Start({});
  EXPECT_THAT(NoHead(TlsAccess()), HasSubstr("does not speak TLS"));
}

TEST_F(SafetyTest, WhatIsNoHeadIsSaidToBeNone) {
  const SilentListener listener;
  EXPECT_THAT(NoHead(HeadAccess{listener.address()}), HasSubstr("does not answer as a head"));
}

TEST_F(SafetyTest, ClientsShowACertificateWhereTheHeadWantsOne) {
  PortProtection protection = WithTls(authority_.Issue("head", names_));
  const TestAuthority clients(files_.path(), "clients_ca");
  protection.tls_client_authorities_file = clients.file();
  Start(protection);
  HeadAccess access = TlsAccess();
  EXPECT_THAT(NoHead(access), HasSubstr("wants a client's certificate: add --tls-cert FILE"));
  const TestCertificate good = clients.Issue("me", "DNS:me"), other = authority_.Issue("you", "DNS:you");
  access.certificate_file = other.certificate;
  access.key_file = other.key;
  EXPECT_THAT(NoHead(access), HasSubstr("does not take " + other.certificate));
  access.certificate_file = good.certificate;
  access.key_file = good.key;
  EXPECT_TRUE(List(access).ok());
}

TEST_F(SafetyTest, CertificatesAreReplacedWhileItServes) {
  Start(WithTls(authority_.Issue("head", names_)));
  const HeadAccess before = TlsAccess();
  const auto watching = *HeadClient::Make(before);
  EXPECT_TRUE(watching->List({}).ok());
  const TestAuthority next(files_.path(), "next");
  HeadAccess after = before;
  after.authorities_file = next.file();
  EXPECT_THAT(NoHead(after), HasSubstr("of none of those in"));
  // What is wrong changes nothing.
  Write("head.key", "nothing");
  const auto seen_by_then = std::chrono::steady_clock::now() + std::chrono::seconds(2);
  while (std::chrono::steady_clock::now() < seen_by_then) ASSERT_TRUE(List(before).ok());
  next.Issue("head", names_);
  EXPECT_TRUE(Becomes(absl::StatusCode::kOk, [&] { return List(after); }));
  EXPECT_THAT(NoHead(before), HasSubstr("of none of those in"));
  EXPECT_TRUE(watching->List({}).ok()) << "connections that are there stay";
}

TEST_F(SafetyTest, FilesThatAreWrongAreToldBeforeItListens) {
  PortProtection protection = WithTokens();
  protection.node_token_file = Write("short", "abc");
  EXPECT_TRUE(absl::IsInvalidArgument(HeadServer::Start({"127.0.0.1", 0}, &experiments_, protection).status()));
  protection = WithTls(authority_.Issue("head", names_));
  protection.tls_key_file = authority_.Issue("other", names_).key;
  EXPECT_TRUE(absl::IsInvalidArgument(HeadServer::Start({"127.0.0.1", 0}, &experiments_, protection).status()));
}

TEST_F(SafetyTest, AHeadThatLacksDescriptorsServesAgainWhenItHasThem) {
  Start({});
  const auto there_before = *HeadClient::Make(Access());
  EXPECT_TRUE(there_before->List({}).ok());
  rlimit limit = {};
  getrlimit(RLIMIT_NOFILE, &limit);
  const rlim_t before = limit.rlim_cur;
  limit.rlim_cur = 400;
  setrlimit(RLIMIT_NOFILE, &limit);
  const ChildProcess flood([port = server_->address().port](int pipe) {
    for (int i = 0; i < 250; ++i) ConnectTo(port);
    [[maybe_unused]] const ssize_t written = write(pipe, "x", 1);
    pause();
  });
  ASSERT_TRUE(flood.WaitForByte());
  // Until it has come to the last of them.
  EXPECT_TRUE(Becomes(absl::StatusCode::kUnavailable, [this] { return List(Access()); }));
  EXPECT_TRUE(there_before->List({}).ok()) << "journals lack none";
  flood.Kill();
  EXPECT_TRUE(Becomes(absl::StatusCode::kOk, [this] { return List(Access()); }));
  limit.rlim_cur = before;
  setrlimit(RLIMIT_NOFILE, &limit);
}

TEST_F(SafetyTest, AHeadListensOnAllAddressesOfAName) {
  Start({}, "localhost");
  EXPECT_TRUE(List(Access()).ok());
  HeadAccess by_number = Access();
  by_number.address.host = "127.0.0.1";
  EXPECT_TRUE(List(by_number).ok());
  for (const char* host : {"no.such.host.invalid", "192.0.2.1"}) {
    const absl::Status status = HeadServer::Start({host, 0}, &experiments_).status();
    EXPECT_TRUE(absl::IsUnavailable(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(absl::StrCat("cannot listen on ", host)));
  }
}

// Ports with and without TLS.
class FloodTest : public SafetyTest, public ::testing::WithParamInterface<bool> {};

TEST_P(FloodTest, NoConnectionKeepsAHeadFromServing) {
  constexpr int kConnections = 1000;
  rlimit limit = {};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  // Both ends are this process's.
  ASSERT_GT(limit.rlim_cur, 2u * kConnections + 500);
  PortProtection protection = GetParam() ? WithTls(authority_.Issue("head", names_)) : PortProtection();
  protection.client_token_file = clients_;
  Start(protection);
  const std::vector<std::string> greetings = {
      "",
      "GET / HTTP/1.1\r\n\r\n",
      std::string(100000, '\0'),
      "PRI * HTTP/2.0\r\n",
      "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\xff\xff\xff\xff\xff\xff",
      // A greeting of TLS 1.2, whole and cut.
      std::string("\x16\x03\x01\x00\x2f\x01\x00\x00\x2b\x03\x03", 11) + std::string(32, 'r') +
          std::string("\x00\x00\x04\x13\x01\x00\xff\x01\x00", 9),
      std::string("\x16\x03\x01\x40\x00\x01", 6),
      // One that says it is longer than any can be.
      std::string("\x16\x03\x01\xff\xff\x01\xff\xff\xff", 9),
  };
  HeadAccess access = GetParam() ? TlsAccess() : Access();
  access.token_file = clients_;
  const auto there_before = *HeadClient::Make(access);
  EXPECT_TRUE(there_before->List({}).ok());
  std::vector<int> connections;
  for (int i = 0; i < kConnections; ++i) {
    connections.push_back(ConnectTo(server_->address().port));
    ASSERT_GE(connections.back(), 0) << i;
    const std::string& greeting = greetings[static_cast<size_t>(i) % greetings.size()];
    send(connections.back(), greeting.data(), greeting.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  }
  EXPECT_TRUE(there_before->List({}).ok());
  EXPECT_TRUE(List(access).ok()) << "one that comes now";
  for (const int connection : connections) close(connection);
  EXPECT_TRUE(List(access).ok());
}

INSTANTIATE_TEST_SUITE_P(Ports, FloodTest, ::testing::Bool());

// gRPC's threads may use it at the end of the process.
TEST(ChannelDeathTest, OpenSslCleansNothingUpAtExit) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto exit_with_channel = [] {
    // Behind what OpenSSL registers later. It refuses to begin once it has cleaned up.
    std::atexit([] { _exit(OPENSSL_init_crypto(0, nullptr) == 1 ? 0 : 1); });
    HeadAccess access;
    access.address = {"127.0.0.1", 1};
    access.tls = true;
    const bool made = MakeChannel(access).ok();
    // As gRPC does when it connects.
    OPENSSL_init_crypto(OPENSSL_INIT_LOAD_CONFIG, nullptr);
    std::exit(made ? 2 : 3);
  };
  EXPECT_EXIT(exit_with_channel(), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace lanista
