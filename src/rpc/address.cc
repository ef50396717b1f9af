#include "src/rpc/address.h"

#include <arpa/inet.h>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "src/base/read_file.h"
#include "src/base/status.h"

namespace lanista {

std::string Address::ToText() const { return absl::StrCat(host, ":", port); }

std::string Address::bare_host() const { return absl::StartsWith(host, "[") ? host.substr(1, host.size() - 2) : host; }

bool Address::is_loopback() const {
  in_addr v4 = {};
  if (inet_pton(AF_INET, host.c_str(), &v4) == 1) return ntohl(v4.s_addr) >> 24 == 127;
  return host == "localhost" || host == "[::1]";
}

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

absl::StatusOr<Address> ReadAddress(const std::string& path) {
  constexpr uint64_t kMaxBytes = 1000;
  LANISTA_ASSIGN_OR_RETURN(const std::string text, ReadWholeFile(path, kMaxBytes));
  absl::StatusOr<Address> address = ParseAddress(absl::StripAsciiWhitespace(text));
  if (!address.ok()) return Annotate(address.status(), path);
  return address;
}

}  // namespace lanista
