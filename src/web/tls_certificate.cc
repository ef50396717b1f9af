#include "src/web/tls_certificate.h"

#include "absl/strings/str_cat.h"
#include "src/base/logging.h"
#include "src/base/pem_files.h"
#include "src/base/status.h"

namespace lanista {
namespace {

gnutls_datum_t Datum(const std::string& text) {
  return {reinterpret_cast<unsigned char*>(const_cast<char*>(text.data())), static_cast<unsigned int>(text.size())};
}

}  // namespace

absl::StatusOr<std::unique_ptr<TlsCertificate>> TlsCertificate::Open(const std::string& certificate_file,
                                                                     const std::string& key_file) {
  std::unique_ptr<TlsCertificate> certificate(new TlsCertificate(certificate_file, key_file));
  LANISTA_ASSIGN_OR_RETURN(certificate->current_, certificate->Read());
  return certificate;
}

const TlsCertificate::Credentials& TlsCertificate::Current() {
  if (!changed_.Changed()) return current_;
  absl::StatusOr<Credentials> read = Read();
  if (read.ok()) {
    current_ = *std::move(read);
    LogInfo("{}: read again, for the web page", certificate_file_);
  } else {
    LogWarning("{}; the certificate that was there before stays", std::string(read.status().message()));
  }
  return current_;
}

absl::StatusOr<TlsCertificate::Credentials> TlsCertificate::Read() const {
  LANISTA_ASSIGN_OR_RETURN(const TlsIdentity identity, ReadTlsIdentity(certificate_file_, key_file_));
  if (identity.expired) LogWarning("{}: the certificate has expired: browsers refuse it", certificate_file_);
  gnutls_certificate_credentials_t made = nullptr;
  int error = gnutls_certificate_allocate_credentials(&made);
  if (error < 0) return absl::ResourceExhaustedError(absl::StrCat("no memory for ", certificate_file_));
  const Credentials credentials(made, &gnutls_certificate_free_credentials);
  const gnutls_datum_t certificates = Datum(identity.certificates), key = Datum(identity.key);
  error = gnutls_certificate_set_x509_key_mem2(made, &certificates, &key, GNUTLS_X509_FMT_PEM, nullptr, 0);
  if (error >= 0) return credentials;
  return absl::InvalidArgumentError(
      absl::StrCat(certificate_file_, " and ", key_file_, ": GnuTLS cannot use them: ", gnutls_strerror(error)));
}

}  // namespace lanista
