#include "src/service/upload_session.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "src/base/status.h"

namespace lanista {
namespace {

// Of UploadWanted: well below the 4 MiB of a message.
constexpr int kWantedOfMessage = 100000;

}  // namespace

absl::StatusOr<std::deque<v1::UploadReply>> UploadSession::Handle(v1::UploadRequest request) {
  std::deque<v1::UploadReply> replies;
  if (done_) return absl::InvalidArgumentError("the upload is complete");
  if (request.has_list()) {
    LANISTA_RETURN_IF_ERROR(HandleList(std::move(*request.mutable_list()), &replies));
    return replies;
  }
  if (upload_ == nullptr) return absl::InvalidArgumentError("the list of the files comes first");
  LANISTA_RETURN_IF_ERROR(upload_->Write(request.content()));
  LANISTA_RETURN_IF_ERROR(FinishIfComplete(&replies));
  return replies;
}

absl::Status UploadSession::HandleList(v1::UploadList part, std::deque<v1::UploadReply>* replies) {
  if (upload_ != nullptr) return absl::InvalidArgumentError("list: it was complete");
  list_bytes_ += static_cast<int64_t>(part.ByteSizeLong());
  list_.MergeFrom(part);
  const bool too_many = list_.files_size() > kMaxUploadedFiles || list_.folders_size() > kMaxUploadedFiles;
  if (too_many || list_bytes_ > kMaxUploadListBytes) {
    const std::string most = too_many ? absl::StrCat(kMaxUploadedFiles, " files, and as many folders")
                                      : absl::StrCat("names and digests of ", kMaxUploadListBytes >> 20, " MiB");
    return absl::ResourceExhaustedError(
        absl::StrCat("an upload has at most ", most,
                     ": name them as data of the machines that have them, data://NAME/sub, with `--data NAME=DIR` of "
                     "`node` or `serve`"));
  }
  if (!part.complete()) return absl::OkStatus();
  LANISTA_ASSIGN_OR_RETURN(upload_, begin_(std::move(list_)));
  SayWanted(replies);
  return FinishIfComplete(replies);
}

void UploadSession::SayWanted(std::deque<v1::UploadReply>* replies) const {
  replies->emplace_back().mutable_wanted();
  for (const int file : upload_->wanted()) {
    if (replies->back().wanted().files_size() == kWantedOfMessage) replies->emplace_back();
    replies->back().mutable_wanted()->add_files(file);
  }
  replies->back().mutable_wanted()->set_complete(true);
}

absl::Status UploadSession::FinishIfComplete(std::deque<v1::UploadReply>* replies) {
  if (!upload_->complete()) return absl::OkStatus();
  LANISTA_ASSIGN_OR_RETURN(*replies->emplace_back().mutable_folder(), upload_->Finish());
  done_ = true;
  return absl::OkStatus();
}

}  // namespace lanista
