// What lanista::Experiment and lanista::Client ask a head for.
#ifndef LANISTA_SRC_API_HEAD_CALLS_H_
#define LANISTA_SRC_API_HEAD_CALLS_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "include/lanista/experiment.h"
#include "protos/experiment.pb.h"
#include "src/rpc/head_client.h"

namespace lanista::api {

// Errors: those of the settings, see HeadAccessOf and HeadClient::Make.
absl::StatusOr<std::unique_ptr<HeadClient>> ConnectTo(const HeadSettings& settings);

// The configuration complete, checked, and with absolute paths: relative ones start where the user stands.
absl::StatusOr<v1::ExperimentConfig> CheckedConfig(v1::ExperimentConfig config);

// Brings what a CheckedConfig names to the head, and makes the experiment. Returns its id. A call without `request_id`
// makes one of its own.
absl::StatusOr<std::string> SubmitTo(HeadClient& head, v1::ExperimentConfig config, const std::string& request_id);

// Errors: HeadClient's, and DATA_LOSS.
absl::StatusOr<ExperimentStatus> StatusFrom(HeadClient& head, const std::string& experiment);
// REQUIRES: k is at least 1.
absl::StatusOr<std::vector<FoundModel>> TopModelsFrom(HeadClient& head, const std::string& experiment, int k);
absl::StatusOr<std::vector<std::string>> ExportFrom(HeadClient& head, const std::string& experiment,
                                                    const ExportSettings& settings);

// Tells the user what happens while a call goes on, on stderr: a program that only asks a head has no log.
void PrintNote(absl::string_view note);

// INVALID_ARGUMENT unless k is at least 1; `call` is for the message.
absl::Status CheckTop(const std::string& call, int k);

}  // namespace lanista::api

#endif  // LANISTA_SRC_API_HEAD_CALLS_H_
