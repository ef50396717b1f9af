#include "src/rpc/address.h"

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "src/base/loopback.h"

namespace lanista {

std::string Address::ToText() const { return absl::StrCat(host, ":", port); }

std::string Address::bare_host() const { return absl::StartsWith(host, "[") ? host.substr(1, host.size() - 2) : host; }

bool Address::is_loopback() const { return IsLoopbackHost(host); }

absl::StatusOr<Address> ParseAddress(absl::string_view text) {
  const size_t colon = text.rfind(':');
  Address address;
  const bool has_port = colon != absl::string_view::npos && absl::SimpleAtoi(text.substr(colon + 1), &address.port) &&
                        address.port >= 0 && address.port <= 65535;
  if (has_port) address.host = std::string(text.substr(0, colon));
  const bool bracketed = address.host.size() > 2 && address.host.front() == '[' && address.host.back() == ']';
  if (address.host.empty() || (address.host.find_first_of(": /") != std::string::npos && !bracketed)) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", text, "' is no address; write HOST:PORT, for example 127.0.0.1:7421 or [::1]:7421"));
  }
  return address;
}

}  // namespace lanista
