// What a client and the head tell each other in an upload (ExperimentService.Upload), whatever carries it.
#ifndef LANISTA_SRC_SERVICE_UPLOAD_SESSION_H_
#define LANISTA_SRC_SERVICE_UPLOAD_SESSION_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "protos/service.pb.h"
#include "src/service/uploads.h"

namespace lanista {

//   Listing --(1)--> Receiving --(2)--> Done
//
//   1. The last part of the list came. The client hears what is wanted.
//   2. All of that came: where nothing is wanted, at once. The client hears the folder.
//
// Used by one thread at a time; calls write to the disk. Where it ends early nothing stays that is not complete.
class UploadSession {
 public:
  using Begin = std::function<absl::StatusOr<std::unique_ptr<Upload>>(v1::UploadList list)>;

  // `begin`: Uploads::Begin, or what leads there. Called once the list is complete.
  explicit UploadSession(Begin begin) : begin_(std::move(begin)) {}

  // What the client says next; returns what it hears, perhaps nothing. An error ends the upload. INVALID_ARGUMENT: it
  // is not the client's turn to say that. RESOURCE_EXHAUSTED: there is too much. Else those of Upload.
  absl::StatusOr<std::deque<v1::UploadReply>> Handle(v1::UploadRequest request);

  // The client has heard the folder, or will with the last answer.
  bool done() const { return done_; }

 private:
  absl::Status HandleList(v1::UploadList part, std::deque<v1::UploadReply>* replies);
  void SayWanted(std::deque<v1::UploadReply>* replies) const;
  absl::Status FinishIfComplete(std::deque<v1::UploadReply>* replies);

  const Begin begin_;
  v1::UploadList list_;
  int64_t list_bytes_ = 0;
  // Null: the list is not complete.
  std::unique_ptr<Upload> upload_;
  bool done_ = false;
};

}  // namespace lanista

#endif  // LANISTA_SRC_SERVICE_UPLOAD_SESSION_H_
