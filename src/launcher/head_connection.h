// What commands with --head have in common.
#ifndef LANISTA_SRC_LAUNCHER_HEAD_CONNECTION_H_
#define LANISTA_SRC_LAUNCHER_HEAD_CONNECTION_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"
#include "protos/experiment.pb.h"
#include "src/launcher/commands.h"
#include "src/rpc/head_access.h"
#include "src/rpc/head_client.h"

namespace lanista {

// The way to the head that --head names, by the options of the command line and LANISTA_TOKEN_FILE. INVALID_ARGUMENT:
// it is no address, or a path cannot be.
absl::StatusOr<HeadAccess> HeadAccessOf(const CommandLine& line);

// The head that --head names. Errors: see HeadAccessOf and HeadClient::Make.
absl::StatusOr<std::unique_ptr<HeadClient>> ConnectToHead(const CommandContext& context);

struct HeadExperiment {
  // Of `show`.
  nlohmann::ordered_json document;
  v1::ExperimentConfig config;
};

// `experiment`: as typed.
absl::StatusOr<HeadExperiment> GetFromHead(HeadClient& head, const std::string& experiment);

// `resume ID --head H:P`.
absl::StatusOr<int> ResumeOnHead(const CommandContext& context);

}  // namespace lanista

#endif  // LANISTA_SRC_LAUNCHER_HEAD_CONNECTION_H_
