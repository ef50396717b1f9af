// Certificates for tests.
#ifndef LANISTA_TESTS_RPC_CERTIFICATES_H_
#define LANISTA_TESTS_RPC_CERTIFICATES_H_

#include <openssl/evp.h>
#include <openssl/x509.h>

#include <memory>
#include <string>

namespace lanista {

// Paths of PEM files.
struct TestCertificate {
  std::string certificate;
  std::string key;
};

// An authority that writes all it makes into a folder.
class TestAuthority {
 public:
  TestAuthority(std::string folder, const std::string& name);

  // Its own certificate.
  const std::string& file() const { return file_; }
  // `names`: as in OpenSSL's configuration, "DNS:localhost,IP:127.0.0.1". It is valid from yesterday on, until so many
  // seconds from now. A certificate of the same `file_name` is replaced.
  TestCertificate Issue(const std::string& file_name, const std::string& names, long valid_seconds = 3600) const;

 private:
  using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;
  using Certificate = std::unique_ptr<X509, decltype(&X509_free)>;

  const std::string folder_;
  const std::string file_;
  Key key_;
  Certificate certificate_;
};

}  // namespace lanista

#endif  // LANISTA_TESTS_RPC_CERTIFICATES_H_
