// Addresses as users type them: "127.0.0.1:7421", "[::1]:7421", "head.example.org:7421".
#ifndef LANISTA_SRC_RPC_ADDRESS_H_
#define LANISTA_SRC_RPC_ADDRESS_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace lanista {

struct Address {
  // As typed: with the brackets of an IPv6 address.
  std::string host;
  int port = 0;

  std::string ToText() const;
  // Without the brackets.
  std::string bare_host() const;
  // Whether only programs of this machine reach it.
  bool is_loopback() const;
};

// INVALID_ARGUMENT: it is no HOST:PORT.
absl::StatusOr<Address> ParseAddress(absl::string_view text);

// The one that a file holds (`serve --head-file`). Errors name the file.
absl::StatusOr<Address> ReadAddress(const std::string& path);

}  // namespace lanista

#endif  // LANISTA_SRC_RPC_ADDRESS_H_
