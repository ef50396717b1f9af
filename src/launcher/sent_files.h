// `submit`: what a configuration names on this machine, for the head.
#ifndef LANISTA_SRC_LAUNCHER_SENT_FILES_H_
#define LANISTA_SRC_LAUNCHER_SENT_FILES_H_

#include "absl/status/status.h"
#include "protos/service.pb.h"
#include "src/rpc/head_client.h"

namespace lanista {

// Sees to it that the head has what the paths in request->config() name. What it sees under the same path stays where
// it is, unless `all` (request->shared_paths() says so then); the rest is uploaded, and its paths become the head's.
// INVALID_ARGUMENT names the field with a path that is not here. Errors of the upload: HeadClient's.
absl::Status SendFiles(HeadClient& head, bool all, v1::CreateExperimentRequest* request);

}  // namespace lanista

#endif  // LANISTA_SRC_LAUNCHER_SENT_FILES_H_
