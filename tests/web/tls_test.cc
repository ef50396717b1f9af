// The page by HTTPS: what a client of OpenSSL's sees.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <chrono>
#include <fstream>
#include <memory>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "src/web/web_server.h"
#include "tests/rpc/certificates.h"
#include "tests/service/service_testing.h"

namespace lanista {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kToken[] = "secret";
constexpr char kNames[] = "DNS:localhost,IP:127.0.0.1";
constexpr std::chrono::seconds kPatience(60);

// A connection of a client that trusts one authority only, and wants a server of this name.
class SecureClient {
 public:
  SecureClient(const std::string& authority_file, int port, const std::string& name = "localhost",
               int newest_version = TLS1_3_VERSION)
      : context_(SSL_CTX_new(TLS_client_method()), &SSL_CTX_free), bio_(nullptr, &BIO_free_all) {
    // Old versions are refused by the server, not by this side.
    SSL_CTX_set_security_level(context_.get(), 0);
    SSL_CTX_set_min_proto_version(context_.get(), TLS1_VERSION);
    SSL_CTX_set_max_proto_version(context_.get(), newest_version);
    EXPECT_EQ(SSL_CTX_load_verify_locations(context_.get(), authority_file.c_str(), nullptr), 1);
    SSL_CTX_set_verify(context_.get(), SSL_VERIFY_PEER, nullptr);
    bio_.reset(BIO_new_ssl_connect(context_.get()));
    BIO_get_ssl(bio_.get(), &ssl_);
    SSL_set1_host(ssl_, name.c_str());
    BIO_set_conn_hostname(bio_.get(), absl::StrCat("127.0.0.1:", port).c_str());
    connected_ = BIO_do_connect(bio_.get()) == 1 && BIO_do_handshake(bio_.get()) == 1;
    ERR_clear_error();
  }

  // The handshake has succeeded, and the server is who it should be.
  bool connected() const { return connected_; }

  long serial() const {
    const std::unique_ptr<X509, decltype(&X509_free)> shown(SSL_get1_peer_certificate(ssl_), &X509_free);
    return ASN1_INTEGER_get(X509_get0_serialNumber(shown.get()));
  }

  // The next answer of this connection, headers and all; "": there was none.
  std::string Get(const std::string& path, const std::string& headers = "") {
    const std::string request = absl::StrCat("GET ", path, " HTTP/1.1\r\nHost: localhost\r\n", headers, "\r\n");
    if (BIO_write(bio_.get(), request.data(), static_cast<int>(request.size())) <= 0) return "";
    std::string answer;
    size_t body = std::string::npos, length = 0;
    while (body == std::string::npos || answer.size() < body + length) {
      char buffer[16 << 10];
      const int got = BIO_read(bio_.get(), buffer, sizeof(buffer));
      if (got <= 0) return "";
      answer.append(buffer, static_cast<size_t>(got));
      const size_t end = answer.find("\r\n\r\n");
      if (body != std::string::npos || end == std::string::npos) continue;
      body = end + 4;
      constexpr char kLength[] = "Content-Length: ";
      const size_t at = answer.find(kLength);
      if (at > end) return "";
      const size_t digits = at + sizeof(kLength) - 1;
      if (!absl::SimpleAtoi(answer.substr(digits, answer.find('\r', digits) - digits), &length)) return "";
    }
    return answer;
  }

 private:
  std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context_;
  std::unique_ptr<BIO, decltype(&BIO_free_all)> bio_;
  SSL* ssl_ = nullptr;
  bool connected_ = false;
};

class TlsTest : public ServiceTest {
 protected:
  absl::Status Start(const TestCertificate& files) {
    WebOptions options;
    options.token = kToken;
    options.api.mode = "serve";
    options.tls_certificate_file = files.certificate;
    options.tls_key_file = files.key;
    auto server = WebServer::Start(options, &experiments_);
    if (server.ok()) server_ = *std::move(server);
    return server.status();
  }

  const TempFolder certificates_;
  const std::string folder_ = certificates_.path();
  const TestAuthority authority_{folder_, "authority"};
  std::unique_ptr<WebServer> server_;
};

TEST_F(TlsTest, ThePageAndItsApiComeEncrypted) {
  ASSERT_TRUE(Start(authority_.Issue("page", kNames)).ok());
  EXPECT_EQ(server_->link(), absl::StrCat("https://127.0.0.1:", server_->port(), "/#token=", kToken));
  SecureClient client(authority_.file(), server_->port());
  ASSERT_TRUE(client.connected());
  EXPECT_THAT(client.Get("/"), HasSubstr("<html"));
  EXPECT_THAT(client.Get("/api/v1/info"), HasSubstr(" 401 "));
  const std::string authorization = absl::StrCat("Authorization: Bearer ", kToken, "\r\n");
  EXPECT_THAT(client.Get("/api/v1/info", authorization), HasSubstr("\"mode\":\"serve\""));
  // What the browser says of the page that asks.
  EXPECT_THAT(client.Get("/api/v1/info", authorization + "Origin: https://localhost\r\n"), HasSubstr(" 200 "));
  EXPECT_THAT(client.Get("/api/v1/info", authorization + "Origin: https://elsewhere\r\n"), HasSubstr(" 403 "));
  // More than one record of TLS.
  EXPECT_GT(client.Get("/d3.min.js").size(), 100000u);
}

TEST_F(TlsTest, ClientsSeeWhetherItIsThePageThatTheyMean) {
  ASSERT_TRUE(Start(authority_.Issue("page", kNames)).ok());
  const TestAuthority other(folder_, "other");
  EXPECT_FALSE(SecureClient(other.file(), server_->port()).connected());
  EXPECT_FALSE(SecureClient(authority_.file(), server_->port(), "elsewhere").connected());
  EXPECT_TRUE(SecureClient(authority_.file(), server_->port()).connected());
}

TEST_F(TlsTest, NothingIsSentThatOthersCouldRead) {
  ASSERT_TRUE(Start(authority_.Issue("page", kNames)).ok());
  EXPECT_FALSE(SecureClient(authority_.file(), server_->port(), "localhost", TLS1_1_VERSION).connected());
  EXPECT_TRUE(SecureClient(authority_.file(), server_->port(), "localhost", TLS1_2_VERSION).connected());
  const std::unique_ptr<BIO, decltype(&BIO_free_all)> plain(
      BIO_new_connect(absl::StrCat("127.0.0.1:", server_->port()).c_str()), &BIO_free_all);
  ASSERT_EQ(BIO_do_connect(plain.get()), 1);
  const std::string request = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
  BIO_write(plain.get(), request.data(), static_cast<int>(request.size()));
  std::string answer;
  char buffer[1024];
  for (int got; (got = BIO_read(plain.get(), buffer, sizeof(buffer))) > 0;) {
    answer.append(buffer, static_cast<size_t>(got));
  }
  EXPECT_THAT(answer, Not(HasSubstr("HTTP")));
  EXPECT_TRUE(SecureClient(authority_.file(), server_->port()).connected()) << "it has not ended";
}

TEST_F(TlsTest, AReplacedCertificateIsShownToTheNextConnection) {
  const TestCertificate files = authority_.Issue("page", kNames);
  ASSERT_TRUE(Start(files).ok());
  SecureClient early(authority_.file(), server_->port());
  ASSERT_TRUE(early.connected());
  authority_.Issue("page", kNames);
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  long serial = early.serial();
  while (serial == early.serial() && std::chrono::steady_clock::now() < deadline) {
    const SecureClient late(authority_.file(), server_->port());
    ASSERT_TRUE(late.connected());
    serial = late.serial();
  }
  EXPECT_NE(serial, early.serial());
  EXPECT_THAT(early.Get("/"), HasSubstr("<html")) << "a connection that was there goes on";
}

TEST_F(TlsTest, FilesThatCannotBeUsedAreNamed) {
  const TestCertificate files = authority_.Issue("page", kNames);
  const TestCertificate other = authority_.Issue("other", kNames);
  EXPECT_THAT(Start({folder_ + "/nothing", files.key}).message(), HasSubstr(folder_ + "/nothing"));
  EXPECT_THAT(Start({files.certificate, other.key}).message(), HasSubstr(other.key));
  std::ofstream(folder_ + "/text") << "no certificate";
  EXPECT_THAT(Start({folder_ + "/text", files.key}).message(), HasSubstr("holds no certificate in PEM"));
}

}  // namespace
}  // namespace lanista
