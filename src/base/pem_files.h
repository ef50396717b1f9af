// Certificates and keys in PEM files, checked so that an error names the file, and not a connection that fails later.
#ifndef LANISTA_SRC_BASE_PEM_FILES_H_
#define LANISTA_SRC_BASE_PEM_FILES_H_

#include <string>

#include "absl/status/statusor.h"

namespace lanista {

// A certificate and its key, as PEM: they prove in TLS who the owner is.
struct TlsIdentity {
  // The own certificate, then those of the authorities between it and the root.
  std::string certificates;
  std::string key;
  // The own certificate is valid no more.
  bool expired = false;
};

// INVALID_ARGUMENT: a file holds no certificate or no key that can be used without a password, or the key is another
// certificate's. See also ReadSecretFile, for the key.
absl::StatusOr<TlsIdentity> ReadTlsIdentity(const std::string& certificate_file, const std::string& key_file);

// The certificates of authorities. INVALID_ARGUMENT: there is none in the file, or a broken one.
absl::StatusOr<std::string> ReadAuthorities(const std::string& file);

}  // namespace lanista

#endif  // LANISTA_SRC_BASE_PEM_FILES_H_
