#include "src/api/head_calls.h"

#include <cstdio>
#include <utility>

#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"
#include "src/api/results.h"
#include "src/base/display_text.h"
#include "src/base/status.h"
#include "src/base/unique_id.h"
#include "src/config/config.h"
#include "src/config/paths.h"
#include "src/launcher/command_line.h"
#include "src/launcher/head_connection.h"
#include "src/launcher/sent_files.h"

namespace lanista::api {

absl::StatusOr<std::unique_ptr<HeadClient>> ConnectTo(const HeadSettings& settings) {
  // Where messages of the command line name an option, the setting of that name is meant.
  CommandLine line;
  line.head = settings.address;
  line.safety.tls = settings.tls;
  line.safety.tls_ca = settings.tls_ca;
  line.safety.tls_cert = settings.tls_cert;
  line.safety.tls_key = settings.tls_key;
  line.safety.token_file = settings.token_file;
  line.insecure = settings.insecure;
  LANISTA_ASSIGN_OR_RETURN(const HeadAccess access, HeadAccessOf(line));
  return HeadClient::Make(access);
}

absl::StatusOr<v1::ExperimentConfig> CheckedConfig(v1::ExperimentConfig config) {
  LANISTA_RETURN_IF_ERROR(ResolvePaths(config, UserDirectory()));
  return CompleteConfig(std::move(config));
}

absl::StatusOr<std::string> SubmitTo(HeadClient& head, v1::ExperimentConfig config, const std::string& request_id) {
  v1::CreateExperimentRequest request;
  *request.mutable_config() = std::move(config);
  request.set_request_id(request_id.empty() ? NewUniqueId() : request_id);
  LANISTA_RETURN_IF_ERROR(SendFiles(head, /*all=*/false, &request));
  LANISTA_ASSIGN_OR_RETURN(const v1::CreateExperimentReply reply, head.Create(request));
  return reply.experiment();
}

absl::StatusOr<ExperimentStatus> StatusFrom(HeadClient& head, const std::string& experiment) {
  LANISTA_ASSIGN_OR_RETURN(const HeadExperiment got, GetFromHead(head, experiment));
  return StatusOf(got.document);
}

absl::StatusOr<std::vector<FoundModel>> TopModelsFrom(HeadClient& head, const std::string& experiment, int k) {
  v1::ListTrialsRequest request;
  request.set_experiment(experiment);
  request.set_sort("best");
  LANISTA_ASSIGN_OR_RETURN(const nlohmann::ordered_json document, head.ListTrials(request));
  return BestOfTrials(document, k);
}

absl::StatusOr<std::vector<std::string>> ExportFrom(HeadClient& head, const std::string& experiment,
                                                    const ExportSettings& settings) {
  v1::DownloadRequest request;
  request.set_experiment(experiment);
  request.set_top(settings.top);
  request.set_format(settings.format);
  request.set_untrained(settings.untrained);
  LANISTA_ASSIGN_OR_RETURN(const std::string out, ResolvePath(settings.out, UserDirectory()));
  return ExportFromHead(head, request, out, [](const std::string& warning) { PrintNote(warning); });
}

void PrintNote(absl::string_view note) { std::fprintf(stderr, "lanista: %s\n", Printable(std::string(note)).c_str()); }

absl::Status CheckTop(const std::string& call, int k) {
  if (k >= 1) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(call, ": k is ", k, "; at least 1 is needed"));
}

}  // namespace lanista::api
