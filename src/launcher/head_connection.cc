#include "src/launcher/head_connection.h"

#include <cstdlib>

#include "src/base/status.h"
#include "src/config/paths.h"
#include "src/rpc/address.h"

namespace lanista {

absl::StatusOr<HeadAccess> HeadAccessOf(const CommandLine& line) {
  const SafetyOptions& safety = line.safety;
  HeadAccess access;
  if (line.head.empty()) {
    LANISTA_ASSIGN_OR_RETURN(access.address_file, ResolvePath(line.head_file, UserDirectory()));
  } else {
    const absl::StatusOr<Address> address = ParseAddress(line.head);
    if (!address.ok()) return Annotate(address.status(), "--head");
    access.address = *address;
  }
  access.tls = safety.tls || !safety.tls_ca.empty() || !safety.tls_cert.empty();
  access.insecure = line.insecure;
  const char* const default_token_file = std::getenv("LANISTA_TOKEN_FILE");
  const bool is_default = safety.token_file.empty() && default_token_file != nullptr;
  LANISTA_ASSIGN_OR_RETURN(access.token_file,
                           ResolvePath(is_default ? default_token_file : safety.token_file, UserDirectory()));
  LANISTA_ASSIGN_OR_RETURN(access.authorities_file, ResolvePath(safety.tls_ca, UserDirectory()));
  LANISTA_ASSIGN_OR_RETURN(access.certificate_file, ResolvePath(safety.tls_cert, UserDirectory()));
  LANISTA_ASSIGN_OR_RETURN(access.key_file, ResolvePath(safety.tls_key, UserDirectory()));
  return access;
}

absl::StatusOr<std::unique_ptr<HeadClient>> ConnectToHead(const CommandContext& context) {
  LANISTA_ASSIGN_OR_RETURN(const HeadAccess access, HeadAccessOf(context.line));
  return HeadClient::Make(access);
}

absl::StatusOr<HeadExperiment> GetFromHead(HeadClient& head, const std::string& experiment) {
  v1::GetExperimentRequest request;
  request.set_experiment(experiment);
  LANISTA_ASSIGN_OR_RETURN(const v1::GetExperimentReply reply, head.Get(request));
  HeadExperiment got;
  got.document = nlohmann::ordered_json::parse(reply.json(), nullptr, false);
  if (!got.document.is_object()) {
    return absl::DataLossError("the head's answer is no document: is it another version?");
  }
  got.config = reply.config();
  return got;
}

}  // namespace lanista
