#include "src/base/pem_files.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "src/base/read_file.h"
#include "src/base/secret_file.h"
#include "src/base/status.h"

namespace lanista {
namespace {

constexpr uint64_t kMaxPemBytes = 1 << 20;

using Bio = std::unique_ptr<BIO, decltype(&BIO_free)>;
using Certificate = std::unique_ptr<X509, decltype(&X509_free)>;
using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;

Bio Over(const std::string& text) {
  return Bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())), &BIO_free);
}

// Instead of OpenSSL's own, which asks on the terminal.
int NoPassword(char*, int, int, void*) { return -1; }

Certificate NextCertificate(BIO* bio) {
  return Certificate(PEM_read_bio_X509(bio, nullptr, NoPassword, nullptr), &X509_free);
}

// The first certificate of a text, after a look at all of them.
absl::StatusOr<Certificate> CheckCertificates(const std::string& text, const std::string& file) {
  const Bio bio = Over(text);
  Certificate first = NextCertificate(bio.get());
  if (first == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat(file, ": holds no certificate in PEM (-----BEGIN CERTIFICATE-----)"));
  }
  while (NextCertificate(bio.get()) != nullptr) {
  }
  const unsigned long error = ERR_peek_last_error();
  ERR_clear_error();
  if (ERR_GET_REASON(error) == PEM_R_NO_START_LINE) return first;
  return absl::InvalidArgumentError(absl::StrCat(file, ": a certificate after the first one is broken"));
}

}  // namespace

absl::StatusOr<TlsIdentity> ReadTlsIdentity(const std::string& certificate_file, const std::string& key_file) {
  TlsIdentity identity;
  LANISTA_ASSIGN_OR_RETURN(identity.certificates, ReadWholeFile(certificate_file, kMaxPemBytes));
  LANISTA_ASSIGN_OR_RETURN(identity.key, ReadSecretFile(key_file));
  ERR_clear_error();
  LANISTA_ASSIGN_OR_RETURN(const Certificate certificate, CheckCertificates(identity.certificates, certificate_file));
  const Bio bio = Over(identity.key);
  const Key key(PEM_read_bio_PrivateKey(bio.get(), nullptr, NoPassword, nullptr), &EVP_PKEY_free);
  const bool fits = key != nullptr && X509_check_private_key(certificate.get(), key.get()) == 1;
  ERR_clear_error();
  if (key == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat(key_file, ": holds no private key in PEM that can be read without a password"));
  }
  if (!fits) {
    return absl::InvalidArgumentError(
        absl::StrCat(key_file, ": is not the key of the first certificate in ", certificate_file));
  }
  identity.expired = X509_cmp_current_time(X509_get0_notAfter(certificate.get())) < 0;
  return identity;
}

absl::StatusOr<std::string> ReadAuthorities(const std::string& file) {
  LANISTA_ASSIGN_OR_RETURN(std::string text, ReadWholeFile(file, kMaxPemBytes));
  ERR_clear_error();
  LANISTA_RETURN_IF_ERROR(CheckCertificates(text, file).status());
  return text;
}

}  // namespace lanista
