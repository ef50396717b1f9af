// What protects a head's port.
#ifndef LANISTA_SRC_RPC_PORT_PROTECTION_H_
#define LANISTA_SRC_RPC_PORT_PROTECTION_H_

#include <string>

namespace lanista {

// Paths of files, all of which may be replaced while the head runs. Empty: none.
struct PortProtection {
  // PEM. Both or none; without them nothing is encrypted.
  std::string tls_certificate_file;
  std::string tls_key_file;
  // PEM. Where it is given, clients and nodes need a certificate of one of its authorities.
  std::string tls_client_authorities_file;
  // See TokenFile and CallCheck.
  std::string client_token_file;
  std::string node_token_file;
  // Clients may call nothing.
  bool nodes_only = false;

  bool has_tls() const { return !tls_certificate_file.empty(); }
};

}  // namespace lanista

#endif  // LANISTA_SRC_RPC_PORT_PROTECTION_H_
