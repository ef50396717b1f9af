// What the server shows of itself in TLS.
#ifndef LANISTA_SRC_WEB_TLS_CERTIFICATE_H_
#define LANISTA_SRC_WEB_TLS_CERTIFICATE_H_

#include <gnutls/gnutls.h>

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "src/base/changed_files.h"

namespace lanista {

// A certificate and its key in two files, which may be replaced at any time: connections that begin after that show the
// new one. Used by one thread at a time.
class TlsCertificate {
 public:
  // As a session of GnuTLS takes it, which must hold it as long as it lives.
  using Credentials = std::shared_ptr<gnutls_certificate_credentials_st>;

  // Errors: those of ReadTlsIdentity (src/base/pem_files.h).
  static absl::StatusOr<std::unique_ptr<TlsCertificate>> Open(const std::string& certificate_file,
                                                              const std::string& key_file);

  // For a connection that begins. Files that cannot be used change nothing, which the log says.
  const Credentials& Current();

 private:
  TlsCertificate(const std::string& certificate_file, const std::string& key_file)
      : certificate_file_(certificate_file), key_file_(key_file), changed_({certificate_file, key_file}) {}

  absl::StatusOr<Credentials> Read() const;

  const std::string certificate_file_;
  const std::string key_file_;
  ChangedFiles changed_;
  Credentials current_;
};

}  // namespace lanista

#endif  // LANISTA_SRC_WEB_TLS_CERTIFICATE_H_
