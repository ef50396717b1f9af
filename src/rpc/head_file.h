// The file in which a head says where it is, for nodes that start before it, or stay when it moves to another machine.
#ifndef LANISTA_SRC_RPC_HEAD_FILE_H_
#define LANISTA_SRC_RPC_HEAD_FILE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "src/rpc/address.h"

namespace lanista {

// What other machines dial: the machine's name where a head listens on all addresses of its machine (0.0.0.0 or [::]).
absl::StatusOr<Address> AddressForOthers(const Address& address);

// Writes AddressForOthers, with a line break, into the file at once: who reads it meanwhile gets the old one. Errors:
// those of WriteFile.
absl::Status WriteHeadFile(const std::string& path, const Address& address);

// NOT_FOUND: there is no file yet. INVALID_ARGUMENT: it holds something else than an address. Messages name the file.
absl::StatusOr<Address> ReadHeadFile(const std::string& path);

}  // namespace lanista

#endif  // LANISTA_SRC_RPC_HEAD_FILE_H_
