// What commands with --head have in common.
#ifndef LANISTA_SRC_LAUNCHER_HEAD_CONNECTION_H_
#define LANISTA_SRC_LAUNCHER_HEAD_CONNECTION_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "nlohmann/json.hpp"
#include "protos/experiment.pb.h"
#include "protos/service.pb.h"
#include "src/launcher/commands.h"
#include "src/rpc/head_access.h"
#include "src/rpc/head_client.h"

namespace lanista {

// The way to the head that --head names, by the options of the command line and LANISTA_TOKEN_FILE; with
// `node --head-file` the address stays empty. INVALID_ARGUMENT: it is no address, or a path cannot be.
absl::StatusOr<HeadAccess> HeadAccessOf(const CommandLine& line);

// The head that --head names. Errors: see HeadAccessOf and HeadClient::Make.
absl::StatusOr<std::unique_ptr<HeadClient>> ConnectToHead(const CommandContext& context);

struct HeadExperiment {
  // Of `show`.
  nlohmann::ordered_json document;
  v1::ExperimentConfig config;
};

// `experiment` is the text that the user typed.
absl::StatusOr<HeadExperiment> GetFromHead(HeadClient& head, const std::string& experiment);

// Calls `on_event` with all events after `request`'s last one, up to the end of the experiment, or until it returns
// false. If the head is unreachable for a moment, calls `note` and connects again. Updates the request's last event, so
// that the caller can continue after an error. Errors: those of HeadClient::Watch.
absl::Status FollowOnHead(HeadClient& head, v1::WatchRequest* request,
                          const std::function<bool(const v1::ExperimentEvent&)>& on_event,
                          const std::function<void(absl::string_view note)>& note);

// Exports at the head and writes the files below `folder` on this machine. `warn` is told what they cannot express.
// Returns their paths, best model first. Errors: those of HeadClient::Download and of ReceivedExport.
absl::StatusOr<std::vector<std::string>> ExportFromHead(HeadClient& head, const v1::DownloadRequest& request,
                                                        const std::string& folder,
                                                        const std::function<void(const std::string& warning)>& warn);

// `resume ID --head H:P`.
absl::StatusOr<int> ResumeOnHead(const CommandContext& context);

}  // namespace lanista

#endif  // LANISTA_SRC_LAUNCHER_HEAD_CONNECTION_H_
