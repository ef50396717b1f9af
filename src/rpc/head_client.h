// A head over the network, as blocking calls.
#ifndef LANISTA_SRC_RPC_HEAD_CLIENT_H_
#define LANISTA_SRC_RPC_HEAD_CLIENT_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "nlohmann/json_fwd.hpp"
#include "protos/node.pb.h"
#include "protos/service.pb.h"
#include "src/rpc/head_access.h"

namespace lanista {

// Errors have the head's codes and messages. UNAVAILABLE: no head can be reached there. Thread-safe.
class HeadClient {
 public:
  // Connects with the first call. Errors of the files in `access`: see MakeChannel.
  static absl::StatusOr<std::unique_ptr<HeadClient>> Make(const HeadAccess& access);
  // Without TLS, and without a token.
  explicit HeadClient(const Address& address);
  ~HeadClient();

  // Where the request has an id it is sent again for some seconds, should the head go while it answers.
  absl::StatusOr<v1::CreateExperimentReply> Create(const v1::CreateExperimentRequest& request);
  absl::StatusOr<v1::ValidateExperimentReply> Validate(const v1::ValidateExperimentRequest& request);
  absl::StatusOr<v1::GetExperimentReply> Get(const v1::GetExperimentRequest& request);
  absl::StatusOr<v1::ListExperimentsReply> List(const v1::ListExperimentsRequest& request);
  absl::StatusOr<v1::StopExperimentReply> Stop(const v1::StopExperimentRequest& request);
  absl::StatusOr<v1::ResumeExperimentReply> Resume(const v1::ResumeExperimentRequest& request);
  absl::StatusOr<v1::DeleteExperimentReply> Delete(const v1::DeleteExperimentRequest& request);
  absl::StatusOr<v1::GetTrialReply> GetTrial(const v1::GetTrialRequest& request);
  absl::StatusOr<v1::DrainNodeReply> DrainNode(const v1::DrainNodeRequest& request);
  absl::StatusOr<v1::FindPathsReply> FindPaths(const v1::FindPathsRequest& request);
  // Brings what is listed to the head, and returns the folder that it has there. `read` gives all bytes of the file
  // with this position in the list to its argument, which returns false where no more are wanted.
  using ReadFile = std::function<absl::Status(int file, const std::function<bool(absl::string_view)>& take)>;
  absl::StatusOr<std::string> Upload(const v1::UploadList& list, const ReadFile& read);
  // Exports at the head, and gives what comes to `take`, on this thread, in its order; an error of `take` ends it, and
  // is returned. May take minutes.
  absl::Status Download(const v1::DownloadRequest& request,
                        const std::function<absl::Status(const v1::DownloadReply&)>& take);
  // The document of `nodes`, of all pages.
  absl::StatusOr<nlohmann::ordered_json> ListNodes();
  absl::StatusOr<v1::ListNodesReply> ListNodes(const v1::ListNodesRequest& request);
  // The document of `list`, of all pages.
  absl::StatusOr<nlohmann::ordered_json> ListAll();
  // The document of `trials`, or of another view of it, of all pages.
  absl::StatusOr<nlohmann::ordered_json> ListTrials(const v1::ListTrialsRequest& request);
  // The same in parts, as they come: the first is the document with the first entries of its last key, and each other
  // one an array of further entries.
  absl::Status ListTrials(const v1::ListTrialsRequest& request,
                          const std::function<void(nlohmann::ordered_json part)>& take);

  // Calls `on_event` with each event behind request.after, on this thread, until the experiment ends (OK) or
  // `on_event` returns false (OK). After any error one may go on from the number of the last event. `on_connected` is
  // called before, once the head was reached.
  absl::Status Watch(
      const v1::WatchRequest& request, const std::function<bool(const v1::ExperimentEvent&)>& on_event,
      const std::function<void()>& on_connected = [] {});

 private:
  class Impl;
  explicit HeadClient(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace lanista

#endif  // LANISTA_SRC_RPC_HEAD_CLIENT_H_
