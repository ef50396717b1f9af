// Tokens and certificates in files, without a network.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "src/base/pem_files.h"
#include "src/rpc/call_check.h"
#include "src/rpc/token_file.h"
#include "tests/rpc/certificates.h"
#include "tests/storage/storage_testing.h"

namespace lanista {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::chrono::milliseconds kAtOnce(0);

class SecretsTest : public ::testing::Test {
 protected:
  // A file that nobody else may read, in the place of one of the same name.
  std::string Write(const std::string& name, const std::string& text, mode_t mode = 0600) const {
    const std::string path = temp_.path() + "/" + name;
    std::filesystem::remove(path);
    std::ofstream(path) << text;
    chmod(path.c_str(), mode);
    return path;
  }
  std::unique_ptr<TokenFile> Tokens(const std::string& name, const std::string& text) const {
    auto tokens = TokenFile::Open(Write(name, text), kAtOnce);
    EXPECT_TRUE(tokens.ok()) << tokens.status();
    return *std::move(tokens);
  }
  std::string TokenError(const std::string& text, mode_t mode = 0600) const {
    const absl::Status status = TokenFile::Open(Write("wrong", text, mode)).status();
    EXPECT_FALSE(status.ok());
    return std::string(status.message());
  }

  const TempFolder temp_;
  const std::string first_ = std::string(16, 'a');
  const std::string second_ = std::string(64, 'b');
};

TEST_F(SecretsTest, AllTokensOfAFileAreValid) {
  const auto tokens = Tokens("t", absl::StrCat("# of Tuesday\n\n  ", first_, "\r\n", second_));
  EXPECT_TRUE(tokens->Holds(first_));
  EXPECT_TRUE(tokens->Holds(second_));
  EXPECT_FALSE(tokens->Holds(""));
  EXPECT_FALSE(tokens->Holds("# of Tuesday"));
  EXPECT_FALSE(tokens->Holds(first_ + "a"));
  EXPECT_FALSE(tokens->Holds(first_.substr(1)));
  EXPECT_EQ(tokens->First(), first_);
}

TEST_F(SecretsTest, TokensAreReplacedWhileTheyAreUsed) {
  const auto tokens = Tokens("t", first_);
  Write("t", absl::StrCat(second_, "\n", first_));
  EXPECT_TRUE(tokens->Holds(second_));
  EXPECT_TRUE(tokens->Holds(first_));
  EXPECT_EQ(tokens->First(), second_);
  Write("t", second_);
  EXPECT_FALSE(tokens->Holds(first_));
  // What is wrong changes nothing.
  std::filesystem::remove(Write("t", "short"));
  EXPECT_TRUE(tokens->Holds(second_));
  for (const char* wrong : {"short", ""}) {
    Write("t", wrong);
    EXPECT_TRUE(tokens->Holds(second_));
    EXPECT_FALSE(tokens->Holds(wrong));
  }
  Write("t", first_, 0644);
  EXPECT_FALSE(tokens->Holds(first_));
  Write("t", first_);
  EXPECT_TRUE(tokens->Holds(first_));
  EXPECT_FALSE(tokens->Holds(second_));
}

TEST_F(SecretsTest, WeakTokensAndOpenFilesAreRefusedWithoutShowingThem) {
  EXPECT_THAT(TokenError("abc\n" + second_), AllOf(HasSubstr("wrong:1: a token has from 16"), Not(HasSubstr("abc"))));
  EXPECT_THAT(TokenError("\n" + std::string(1001, 'x')), HasSubstr("wrong:2: "));
  EXPECT_THAT(TokenError("two words of a token"), AllOf(HasSubstr("without spaces"), Not(HasSubstr("words of"))));
  EXPECT_THAT(TokenError(std::string(16, '\x01')), HasSubstr("ASCII"));
  EXPECT_THAT(TokenError("# nothing\n"), AllOf(HasSubstr("holds no token"), HasSubstr("openssl rand")));
  for (const mode_t mode : {0604, 0602, 0666}) {
    EXPECT_THAT(TokenError(first_, mode), HasSubstr(absl::StrCat("`chmod o= ", temp_.path(), "/wrong`")));
  }
  EXPECT_TRUE(TokenFile::Open(Write("group", first_, 0640)).ok());
  EXPECT_TRUE(absl::IsInvalidArgument(TokenFile::Open(temp_.path()).status())) << "a folder";
  EXPECT_TRUE(absl::IsInvalidArgument(TokenFile::Open(temp_.path() + "/none").status()));
}

TEST_F(SecretsTest, EachMethodIsForSomebody) {
  EXPECT_EQ(CallerOf("/grpc.health.v1.Health/Check"), Caller::kAnybody);
  EXPECT_EQ(CallerOf("/grpc.health.v1.Health/Watch"), Caller::kAnybody);
  EXPECT_EQ(CallerOf("/lanista.v1.NodeService/Join"), Caller::kNode);
  EXPECT_EQ(CallerOf("/lanista.v1.NodeService/Beat"), Caller::kNode);
  for (const char* method :
       {"/lanista.v1.NodeService/ListNodes", "/lanista.v1.NodeService/DrainNode",
        "/lanista.v1.ExperimentService/Create", "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
        "/lanista.v1.Other/Join", "/", "", "/grpc.health.v1.HealthX/Check", "grpc.health.v1.Health/Check"}) {
    EXPECT_EQ(CallerOf(method), Caller::kClient) << method;
  }
}

TEST_F(SecretsTest, ACallNeedsTheTokenOfItsKind) {
  constexpr char kCreate[] = "/lanista.v1.ExperimentService/Create";
  constexpr char kJoin[] = "/lanista.v1.NodeService/Join";
  constexpr char kHealth[] = "/grpc.health.v1.Health/Check";
  CallCheck check(Tokens("clients", first_), Tokens("nodes", second_));
  EXPECT_TRUE(check.Check(kCreate, "Bearer " + first_).ok());
  EXPECT_TRUE(check.Check(kCreate, "bearer " + first_).ok());
  EXPECT_TRUE(check.Check(kJoin, "Bearer " + second_).ok());
  EXPECT_TRUE(check.Check(kHealth, "").ok());
  for (const std::string& wrong :
       {std::string(), first_, "Basic " + first_, std::string("Bearer "), "Bearer x" + first_}) {
    for (const char* method : {kCreate, kJoin}) {
      EXPECT_TRUE(absl::IsUnauthenticated(check.Check(method, wrong))) << method << " with " << wrong;
    }
  }
  const absl::Status of_node = check.Check(kCreate, "Bearer " + second_);
  EXPECT_TRUE(absl::IsPermissionDenied(of_node)) << of_node;
  EXPECT_THAT(std::string(of_node.message()), HasSubstr("wants a client's token"));
  const absl::Status of_client = check.Check(kJoin, "Bearer " + first_);
  EXPECT_TRUE(absl::IsPermissionDenied(of_client)) << of_client;
  EXPECT_THAT(std::string(of_client.message()), HasSubstr("wants a node's token"));

  // Whoever closes the head to clients does not leave it open to nodes.
  CallCheck no_nodes(Tokens("clients", first_), nullptr);
  for (const std::string& any : {std::string(), "Bearer " + first_}) {
    EXPECT_TRUE(absl::IsPermissionDenied(no_nodes.Check(kJoin, any)));
  }
  // Nor does a port for nodes let clients in, who need no token elsewhere.
  CallCheck nodes_only(nullptr, Tokens("nodes", second_), /*nodes_only=*/true);
  EXPECT_TRUE(nodes_only.Check(kJoin, "Bearer " + second_).ok());
  EXPECT_TRUE(nodes_only.Check(kHealth, "").ok());
  EXPECT_TRUE(absl::IsUnauthenticated(nodes_only.Check(kJoin, "")));
  for (const std::string& any : {std::string(), "Bearer " + second_}) {
    EXPECT_TRUE(absl::IsPermissionDenied(nodes_only.Check(kCreate, any)));
  }
  CallCheck open(nullptr, nullptr);
  EXPECT_TRUE(open.Check(kJoin, "").ok());
  EXPECT_TRUE(open.Check(kCreate, "").ok());
}

TEST_F(SecretsTest, CertificatesAndKeysAreCheckedWhereTheyAreRead) {
  const TestAuthority authority(temp_.path(), "ca");
  const TestCertificate head = authority.Issue("head", "DNS:localhost"), other = authority.Issue("other", "DNS:x");
  const auto good = ReadTlsIdentity(head.certificate, head.key);
  ASSERT_TRUE(good.ok()) << good.status();
  EXPECT_FALSE(good->expired);
  const TestCertificate old = authority.Issue("old", "DNS:x", -60);
  EXPECT_TRUE(ReadTlsIdentity(old.certificate, old.key)->expired);
  const auto error = [](const auto& result) {
    EXPECT_TRUE(absl::IsInvalidArgument(result.status())) << result.status();
    return std::string(result.status().message());
  };
  EXPECT_THAT(error(ReadTlsIdentity(head.certificate, other.key)),
              HasSubstr("is not the key of the first certificate"));
  EXPECT_THAT(error(ReadTlsIdentity(head.key, head.key)), HasSubstr("holds no certificate"));
  EXPECT_THAT(error(ReadTlsIdentity(head.certificate, Write("key", "nothing"))), HasSubstr("holds no private key"));
  chmod(head.key.c_str(), 0644);
  EXPECT_TRUE(absl::IsFailedPrecondition(ReadTlsIdentity(head.certificate, head.key).status()));
  EXPECT_TRUE(ReadAuthorities(authority.file()).ok());
  EXPECT_THAT(error(ReadAuthorities(head.key)), HasSubstr("holds no certificate"));
  const std::string broken = absl::StrCat(*ReadAuthorities(authority.file()), "-----BEGIN CERTIFICATE-----\nAAAA\n");
  EXPECT_THAT(error(ReadAuthorities(Write("broken", broken))), HasSubstr("is broken"));
  EXPECT_TRUE(absl::IsNotFound(ReadAuthorities(temp_.path() + "/none").status()));
}

}  // namespace
}  // namespace lanista
