// How a client, or a node, gets to a head.
#ifndef LANISTA_SRC_RPC_HEAD_ACCESS_H_
#define LANISTA_SRC_RPC_HEAD_ACCESS_H_

#include <string>

#include "src/rpc/address.h"

namespace lanista {

// Paths of files are absolute; empty: none.
struct HeadAccess {
  Address address;
  // Encrypt, and make sure that the head is the one of `address`.
  bool tls = false;
  // PEM: the authorities that are trusted to say so. Empty: the system's.
  std::string authorities_file = {};
  // PEM, both or none: the own certificate, for heads that want one.
  std::string certificate_file = {};
  std::string key_file = {};
  // See TokenFile: the first one is sent with each call.
  std::string token_file = {};
  // The token may travel unencrypted to another machine.
  bool insecure = false;
  // Holds HOST:PORT, which takes the place of `address` whenever a node dials.
  std::string address_file = {};
};

}  // namespace lanista

#endif  // LANISTA_SRC_RPC_HEAD_ACCESS_H_
