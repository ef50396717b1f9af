#include "src/launcher/head_connection.h"

#include <cstdlib>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "nlohmann/json.hpp"
#include "src/base/status.h"
#include "src/config/paths.h"
#include "src/launcher/received_export.h"
#include "src/rpc/address.h"

namespace lanista {
namespace {

// How long a head may be unreachable while it is watched.
constexpr absl::Duration kAwayLimit = absl::Minutes(1);
constexpr absl::Duration kRetryDelay = absl::Milliseconds(300);
// A connection that lasts so long was one to a head that is there, even if no event came.
constexpr absl::Duration kThereAfter = absl::Seconds(10);

// The code of an error of this machine's disk may be that of a head that cannot be reached, or refuses the token.
absl::Status OfThisMachine(const absl::Status& status) {
  const bool may_mean_head = absl::IsUnavailable(status) || absl::IsPermissionDenied(status);
  return may_mean_head ? absl::InternalError(status.message()) : status;
}

}  // namespace

absl::StatusOr<HeadAccess> HeadAccessOf(const CommandLine& line) {
  HeadAccess access;
  if (line.head_file.empty()) {
    const absl::StatusOr<Address> address = ParseAddress(line.head);
    if (!address.ok()) return Annotate(address.status(), "--head");
    access.address = *address;
  }
  const SafetyOptions& safety = line.safety;
  if (safety.tls_cert.empty() != safety.tls_key.empty()) {
    return absl::InvalidArgumentError("--tls-cert and --tls-key: name both, or none");
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

absl::Status FollowOnHead(HeadClient& head, v1::WatchRequest* request,
                          const std::function<bool(const v1::ExperimentEvent&)>& on_event,
                          const std::function<void(absl::string_view note)>& note) {
  std::optional<absl::Time> gone_since;
  while (true) {
    absl::Time connected = absl::InfiniteFuture();
    const absl::Status status = head.Watch(
        *request,
        [&](const v1::ExperimentEvent& event) {
          gone_since.reset();
          if (event.number() > 0) request->set_after(event.number());
          // "latest" may be another one when the head is back.
          if (!event.experiment().empty()) request->set_experiment(event.experiment());
          return on_event(event);
        },
        [&connected] { connected = absl::Now(); });
    if (!absl::IsUnavailable(status)) return status;
    if (absl::Now() - connected > kThereAfter) gone_since.reset();
    if (!gone_since.has_value()) {
      gone_since = absl::Now();
      note(absl::StrCat("the head has gone (", std::string(status.message()), "); waiting for its return"));
    }
    if (absl::Now() - *gone_since > kAwayLimit) return status;
    absl::SleepFor(kRetryDelay);
  }
}

absl::StatusOr<std::vector<std::string>> ExportFromHead(HeadClient& head, const v1::DownloadRequest& request,
                                                        const std::string& folder,
                                                        const std::function<void(const std::string& warning)>& warn) {
  ReceivedExport received(request.format(), folder, warn);
  LANISTA_RETURN_IF_ERROR(
      head.Download(request, [&](const v1::DownloadReply& reply) { return OfThisMachine(received.Take(reply)); }));
  absl::StatusOr<std::vector<std::string>> paths = received.Finish();
  if (!paths.ok()) return OfThisMachine(paths.status());
  return paths;
}

}  // namespace lanista
