#include "src/launcher/head_port.h"

#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "src/base/build_id.h"
#include "src/base/logging.h"
#include "src/base/output_files.h"
#include "src/base/status.h"
#include "src/base/unique_id.h"
#include "src/config/paths.h"
#include "src/rpc/head_file.h"

namespace lanista {
namespace {

constexpr size_t kTokenBytes = 32;

}  // namespace

absl::StatusOr<Address> ListenAddress(const CommandLine& line) {
  absl::StatusOr<Address> address = ParseAddress(line.listen);
  if (!address.ok()) return Annotate(address.status(), "--listen");
  std::vector<std::string> missing;
  if (line.safety.tls_cert.empty()) missing.push_back("--tls-cert FILE --tls-key FILE");
  if (line.safety.token_file.empty()) missing.push_back("--token-file FILE");
  LANISTA_RETURN_IF_ERROR(CheckReach(line, *address, absl::StrCat("--listen ", line.listen),
                                     "whoever does so could run programs as you", missing, "docs/cluster.md"));
  return address;
}

absl::Status CheckReach(const CommandLine& line, const Address& address, const std::string& option,
                        const std::string& danger, const std::vector<std::string>& missing, const std::string& docs) {
  if (address.is_loopback() || line.insecure || missing.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      option, ": other machines reach it, and ", danger, ". Add ", absl::StrJoin(missing, " and "), " (", docs,
      " has the commands that make them); or listen on 127.0.0.1 (and use `ssh -L` from elsewhere); or add "
      "--insecure where you trust the whole network"));
}

absl::StatusOr<PortProtection> ProtectionOf(const SafetyOptions& options) {
  PortProtection protection;
  for (const auto& [path, option] : {std::pair(&protection.tls_certificate_file, &options.tls_cert),
                                     std::pair(&protection.tls_key_file, &options.tls_key),
                                     std::pair(&protection.tls_client_authorities_file, &options.tls_client_ca),
                                     std::pair(&protection.client_token_file, &options.token_file),
                                     std::pair(&protection.node_token_file, &options.node_token_file)}) {
    LANISTA_ASSIGN_OR_RETURN(*path, ResolvePath(*option, UserDirectory()));
  }
  return protection;
}

bool SeeksNodes(const TrainingServices& blocks) { return std::any_of(blocks.begin(), blocks.end(), BringsNodes); }

absl::StatusOr<std::optional<TunnelToken>> TunnelToken::MakeIfWanted(const TrainingServices& blocks) {
  if (std::none_of(blocks.begin(), blocks.end(), WantsTunnels)) return std::nullopt;
  LANISTA_ASSIGN_OR_RETURN(TemporaryFolder folder, TemporaryFolder::Make());
  TunnelToken token(std::move(folder), RandomHex(kTokenBytes));
  LANISTA_RETURN_IF_ERROR(WriteFile(token.file(), token.token() + "\n"));
  if (chmod(token.file().c_str(), S_IRUSR | S_IWUSR) != 0) return ErrnoToStatus(errno, token.file());
  return token;
}

std::string TunnelToken::file() const { return folder_.path() + "/token"; }

absl::Status SeekNodes(const CommandContext& context, LocalHead& head, const TrainingServices& blocks,
                       const std::string& state_dir, const HeadServer& server,
                       const std::optional<TunnelToken>& tunnel_token) {
  if (!SeeksNodes(blocks)) return absl::OkStatus();
  NodeSourceContext source;
  char program[PATH_MAX] = {};
  if (readlink("/proc/self/exe", program, sizeof(program) - 1) < 0) return ErrnoToStatus(errno, "/proc/self/exe");
  source.program = program;
  source.trial_program = context.trial_program.path;
  const Address& address = server.address();
  LANISTA_ASSIGN_OR_RETURN(const Address for_others, AddressForOthers(address));
  source.head = for_others.ToText();
  if (tunnel_token.has_value()) {
    source.tunnel_end = server.tunnel_address().ToText();
    source.tunnel_token = tunnel_token->token();
  }
  source.state_dir = state_dir;
  LANISTA_ASSIGN_OR_RETURN(const std::string build, ReadBuildId(context.trial_program.path));
  const bool others_dial = std::any_of(blocks.begin(), blocks.end(), [](const v1::TrainingServiceConfig& block) {
    return BringsNodes(block) && !WantsTunnels(block);
  });
  if (address.is_loopback() && others_dial) {
    LogWarning("this head listens on {}: nodes on other machines reach it by a tunnel only (--listen)",
               address.ToText());
  }
  return head.SeekNodes(blocks, std::move(source), build);
}

}  // namespace lanista
