#include "src/rpc/head_file.h"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "src/base/output_files.h"
#include "src/base/read_file.h"
#include "src/base/status.h"

namespace lanista {
namespace {

// The longest name of a host, a port, and white space.
constexpr uint64_t kMaxBytes = 300;
constexpr size_t kMaxHostName = 256;

absl::StatusOr<std::string> MachineName() {
  std::array<char, kMaxHostName> name = {};
  if (gethostname(name.data(), name.size() - 1) != 0) return ErrnoToStatus(errno, "this machine's name");
  return std::string(name.data());
}

}  // namespace

absl::StatusOr<Address> AddressForOthers(const Address& address) {
  if (address.host != "0.0.0.0" && address.host != "[::]") return address;
  LANISTA_ASSIGN_OR_RETURN(std::string name, MachineName());
  return Address{std::move(name), address.port};
}

absl::Status WriteHeadFile(const std::string& path, const Address& address) {
  LANISTA_ASSIGN_OR_RETURN(const Address written, AddressForOthers(address));
  return WriteFile(path, absl::StrCat(written.ToText(), "\n"));
}

absl::StatusOr<Address> ReadHeadFile(const std::string& path) {
  LANISTA_ASSIGN_OR_RETURN(const std::string text, ReadWholeFile(path, kMaxBytes));
  const absl::StatusOr<Address> address = ParseAddress(absl::StripAsciiWhitespace(text));
  if (!address.ok()) return Annotate(address.status(), path);
  return address;
}

}  // namespace lanista
