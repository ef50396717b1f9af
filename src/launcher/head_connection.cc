#include "src/launcher/head_connection.h"

#include "src/base/status.h"
#include "src/rpc/address.h"

namespace lanista {

absl::StatusOr<std::unique_ptr<HeadClient>> ConnectToHead(const CommandContext& context) {
  const absl::StatusOr<Address> address = ParseAddress(context.line.head);
  if (!address.ok()) return Annotate(address.status(), "--head");
  return std::make_unique<HeadClient>(*address);
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
