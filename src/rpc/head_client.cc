#include "src/rpc/head_client.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "grpcpp/grpcpp.h"
#include "nlohmann/json.hpp"
#include "protos/node.grpc.pb.h"
#include "protos/service.grpc.pb.h"
#include "src/base/status.h"
#include "src/rpc/channel.h"
#include "src/rpc/grpc_status.h"
#include "src/rpc/unreachable.h"
#include "src/views/document_parts.h"
#include "src/views/documents.h"

namespace lanista {
namespace {

using Json = nlohmann::ordered_json;
using Clock = std::chrono::system_clock;

// Of the first addresses of a head's name two may drop what comes.
constexpr std::chrono::seconds kConnectLimit = 2 * kConnectTimeout + std::chrono::seconds(2);
// Of calls that wait for nobody: a head that takes longer does not answer.
constexpr std::chrono::minutes kAnswerLimit(2);
// So long a head may be away while it is asked to create something.
constexpr std::chrono::seconds kReturnLimit(10);
constexpr std::chrono::milliseconds kRetryDelay(200);

// Of messages of an upload: large enough for a fast network, and small enough for a slow one.
constexpr size_t kPieceBytes = size_t{256} << 10;
constexpr int kFilesOfMessage = 10000;

using UploadStream = grpc::ClientReaderWriter<v1::UploadRequest, v1::UploadReply>;

// False: the head takes no more.
bool SendList(const v1::UploadList& list, UploadStream& stream) {
  v1::UploadRequest request;
  const auto send_if = [&](bool complete) {
    v1::UploadList& part = *request.mutable_list();
    if (!complete && part.files_size() + part.folders_size() < kFilesOfMessage) return true;
    part.set_complete(complete);
    const bool sent = stream.Write(request);
    request.Clear();
    return sent;
  };
  for (const std::string& folder : list.folders()) {
    request.mutable_list()->add_folders(folder);
    if (!send_if(false)) return false;
  }
  for (const v1::UploadFile& file : list.files()) {
    *request.mutable_list()->add_files() = file;
    if (!send_if(false)) return false;
  }
  return send_if(true);
}

// The bytes of files, small ones together, in messages.
class PieceWriter {
 public:
  explicit PieceWriter(UploadStream* stream) : stream_(*stream) {}

  // False, here and below: the head takes no more.
  bool Write(absl::string_view bytes) {
    while (ok_ && !bytes.empty()) {
      std::string& content = *request_.mutable_content();
      const absl::string_view now = bytes.substr(0, kPieceBytes - content.size());
      content.append(now.data(), now.size());
      bytes.remove_prefix(now.size());
      if (content.size() == kPieceBytes) Flush();
    }
    return ok_;
  }
  bool Flush() {
    if (!ok_ || request_.content().empty()) return ok_;
    ok_ = stream_.Write(request_);
    request_.Clear();
    return ok_;
  }
  bool ok() const { return ok_; }

 private:
  UploadStream& stream_;
  v1::UploadRequest request_;
  bool ok_ = true;
};

// The last key of the document.
const char* EntriesOf(v1::ListTrialsRequest::View view) {
  switch (view) {
    case v1::ListTrialsRequest::MERGED:
      return "trials";
    case v1::ListTrialsRequest::CSV:
      return "lines";
    default:
      return "models";
  }
}

absl::Status Damaged() { return absl::DataLossError("the head's answer is no document: is it another version?"); }

// The entries that documents have under `key`, of all pages; `list` asks for one page.
template <typename Request, typename List>
absl::StatusOr<std::vector<Json>> EntriesOfAllPages(const char* key, const List& list) {
  std::vector<Json> entries;
  Request request;
  do {
    LANISTA_ASSIGN_OR_RETURN(const auto reply, list(request));
    Json page = Json::parse(reply.json(), nullptr, false);
    if (!page.is_object() || !page[key].is_array()) return Damaged();
    for (Json& entry : page[key]) entries.push_back(std::move(entry));
    // A page that leads to itself would never end.
    if (!reply.next_page_token().empty() && reply.next_page_token() == request.page_token()) return Damaged();
    request.set_page_token(reply.next_page_token());
  } while (!request.page_token().empty());
  return entries;
}

}  // namespace

class HeadClient::Impl {
 public:
  Impl(HeadAccess access, std::shared_ptr<grpc::Channel> channel)
      : access_(std::move(access)),
        address_(access_.address.ToText()),
        channel_(std::move(channel)),
        stub_(v1::ExperimentService::NewStub(channel_)),
        node_stub_(v1::NodeService::NewStub(channel_)) {}

  v1::ExperimentService::Stub& stub() { return *stub_; }
  v1::NodeService::Stub& node_stub() { return *node_stub_; }

  // Waits for the connection; a head that refuses it is not waited for.
  absl::Status Connect() {
    const auto deadline = Clock::now() + kConnectLimit;
    grpc_connectivity_state state = channel_->GetState(/*try_to_connect=*/true);
    while (state != GRPC_CHANNEL_READY) {
      if (state == GRPC_CHANNEL_TRANSIENT_FAILURE || !channel_->WaitForStateChange(state, deadline)) {
        return WhyUnreachable(access_);
      }
      state = channel_->GetState(/*try_to_connect=*/true);
    }
    return absl::OkStatus();
  }

  // After a call that was lost: waits for the head's return. False: it is not back at `deadline`.
  bool AwaitReturn(Clock::time_point deadline) {
    // Where it is still there it may be about to end, or to begin.
    channel_->WaitForStateChange(GRPC_CHANNEL_READY, std::min(deadline, Clock::now() + kRetryDelay));
    return channel_->WaitForConnected(deadline) && Clock::now() < deadline;
  }

  absl::Status ToStatus(const grpc::Status& status) const {
    return status.error_code() == grpc::StatusCode::UNAVAILABLE ? Annotate(FromGrpcStatus(status), address_)
                                                                : FromGrpcStatus(status);
  }

  // `waits`: its answer may take as long as it likes.
  template <typename Request, typename Reply>
  absl::StatusOr<Reply> Call(grpc::Status (v1::ExperimentService::Stub::*method)(grpc::ClientContext*, const Request&,
                                                                                 Reply*),
                             const Request& request, bool waits = false) {
    return CallOn(*stub_, method, request, waits);
  }
  template <typename Stub, typename Request, typename Reply>
  absl::StatusOr<Reply> CallOn(Stub& stub, grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Reply*),
                               const Request& request, bool waits = false) {
    LANISTA_RETURN_IF_ERROR(Connect());
    grpc::ClientContext context;
    if (!waits) context.set_deadline(Clock::now() + kAnswerLimit);
    Reply reply;
    LANISTA_RETURN_IF_ERROR(ToStatus((stub.*method)(&context, request, &reply)));
    return reply;
  }

 private:
  const HeadAccess access_;
  const std::string address_;
  const std::shared_ptr<grpc::Channel> channel_;
  const std::unique_ptr<v1::ExperimentService::Stub> stub_;
  const std::unique_ptr<v1::NodeService::Stub> node_stub_;
};

HeadClient::HeadClient(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
HeadClient::HeadClient(const Address& address) {
  // Without files nothing can be wrong.
  impl_ = std::make_unique<Impl>(HeadAccess{address}, *MakeChannel({address}));
}
HeadClient::~HeadClient() = default;

absl::StatusOr<std::unique_ptr<HeadClient>> HeadClient::Make(const HeadAccess& access) {
  LANISTA_ASSIGN_OR_RETURN(std::shared_ptr<grpc::Channel> channel, MakeChannel(access));
  return std::unique_ptr<HeadClient>(new HeadClient(std::make_unique<Impl>(access, std::move(channel))));
}

using Stub = v1::ExperimentService::Stub;

absl::StatusOr<v1::DrainNodeReply> HeadClient::DrainNode(const v1::DrainNodeRequest& request) {
  return impl_->CallOn(impl_->node_stub(), &v1::NodeService::Stub::DrainNode, request);
}

absl::StatusOr<Json> HeadClient::ListNodes() {
  LANISTA_ASSIGN_OR_RETURN(std::vector<Json> nodes,
                           EntriesOfAllPages<v1::ListNodesRequest>(
                               "nodes", [this](const v1::ListNodesRequest& request) { return ListNodes(request); }));
  return Json{{"nodes", std::move(nodes)}};
}

absl::StatusOr<v1::ListNodesReply> HeadClient::ListNodes(const v1::ListNodesRequest& request) {
  return impl_->CallOn(impl_->node_stub(), &v1::NodeService::Stub::ListNodes, request);
}

absl::StatusOr<v1::CreateExperimentReply> HeadClient::Create(const v1::CreateExperimentRequest& request) {
  // Where nobody is there, nothing was lost.
  LANISTA_RETURN_IF_ERROR(impl_->Connect());
  std::optional<Clock::time_point> give_up;
  while (true) {
    auto reply = impl_->Call(&Stub::Create, request);
    const bool lost = absl::IsUnavailable(reply.status()) || absl::IsDeadlineExceeded(reply.status());
    if (!lost || request.request_id().empty()) return reply;
    if (!give_up.has_value()) give_up = Clock::now() + kReturnLimit;
    if (!impl_->AwaitReturn(*give_up)) return reply;
  }
}

absl::StatusOr<v1::ValidateExperimentReply> HeadClient::Validate(const v1::ValidateExperimentRequest& request) {
  return impl_->Call(&Stub::Validate, request, /*waits=*/true);
}

absl::StatusOr<v1::GetExperimentReply> HeadClient::Get(const v1::GetExperimentRequest& request) {
  return impl_->Call(&Stub::Get, request);
}

absl::StatusOr<v1::ListExperimentsReply> HeadClient::List(const v1::ListExperimentsRequest& request) {
  return impl_->Call(&Stub::List, request);
}

absl::StatusOr<v1::StopExperimentReply> HeadClient::Stop(const v1::StopExperimentRequest& request) {
  return impl_->Call(&Stub::Stop, request);
}

absl::StatusOr<v1::ResumeExperimentReply> HeadClient::Resume(const v1::ResumeExperimentRequest& request) {
  return impl_->Call(&Stub::Resume, request, /*waits=*/true);
}

absl::StatusOr<v1::DeleteExperimentReply> HeadClient::Delete(const v1::DeleteExperimentRequest& request) {
  return impl_->Call(&Stub::Delete, request);
}

absl::StatusOr<v1::GetTrialReply> HeadClient::GetTrial(const v1::GetTrialRequest& request) {
  return impl_->Call(&Stub::GetTrial, request);
}

absl::StatusOr<v1::FindPathsReply> HeadClient::FindPaths(const v1::FindPathsRequest& request) {
  return impl_->Call(&Stub::FindPaths, request);
}

absl::StatusOr<std::string> HeadClient::Upload(const v1::UploadList& list, const ReadFile& read) {
  LANISTA_RETURN_IF_ERROR(impl_->Connect());
  grpc::ClientContext context;
  const auto stream = impl_->stub().Upload(&context);
  // Any of these calls fails where the head has ended the stream: it says why at the end.
  const auto end = [&]() -> absl::Status {
    const absl::Status status = impl_->ToStatus(stream->Finish());
    return status.ok() || absl::IsCancelled(status) ? absl::UnavailableError("the head has ended the upload") : status;
  };
  if (!SendList(list, *stream)) return end();
  std::vector<int> wanted;
  v1::UploadReply reply;
  do {
    if (!stream->Read(&reply)) return end();
    wanted.insert(wanted.end(), reply.wanted().files().begin(), reply.wanted().files().end());
  } while (reply.has_wanted() && !reply.wanted().complete());
  PieceWriter writer(stream.get());
  for (const int file : wanted) {
    if (file < 0 || file >= list.files_size()) return Damaged();
    const absl::Status status = read(file, [&writer](absl::string_view bytes) { return writer.Write(bytes); });
    if (!writer.ok()) return end();
    if (status.ok()) continue;
    context.TryCancel();
    stream->Finish();
    return status;
  }
  if (!writer.Flush() || !stream->Read(&reply)) return end();
  stream->WritesDone();
  LANISTA_RETURN_IF_ERROR(impl_->ToStatus(stream->Finish()));
  if (reply.folder().empty()) return Damaged();
  return reply.folder();
}

absl::Status HeadClient::Download(const v1::DownloadRequest& request,
                                  const std::function<absl::Status(const v1::DownloadReply&)>& take) {
  LANISTA_RETURN_IF_ERROR(impl_->Connect());
  grpc::ClientContext context;
  const auto stream = impl_->stub().Download(&context, request);
  v1::DownloadReply reply;
  absl::Status taken;
  while (taken.ok() && stream->Read(&reply)) taken = take(reply);
  if (!taken.ok()) context.TryCancel();
  const grpc::Status ended = stream->Finish();
  LANISTA_RETURN_IF_ERROR(taken);
  const absl::Status status = impl_->ToStatus(ended);
  if (absl::IsCancelled(status)) return absl::UnavailableError("the head has ended the export");
  // That of a format says what it cannot express.
  if (absl::IsUnimplemented(status) && status.message().empty()) {
    return absl::FailedPreconditionError(
        "the head cannot export: it is older than this Lanista; install the same release on both machines, or export "
        "where its state folder is");
  }
  return status;
}

absl::StatusOr<Json> HeadClient::ListAll() {
  LANISTA_ASSIGN_OR_RETURN(
      std::vector<Json> entries,
      EntriesOfAllPages<v1::ListExperimentsRequest>(
          "experiments", [this](const v1::ListExperimentsRequest& request) { return List(request); }));
  SortOldestFirst(&entries);
  return Json{{"experiments", std::move(entries)}};
}

absl::StatusOr<Json> HeadClient::ListTrials(const v1::ListTrialsRequest& request) {
  Json document;
  LANISTA_RETURN_IF_ERROR(ListTrials(request, [&document](Json part) {
    if (document.is_null()) {
      document = std::move(part);
      return;
    }
    Json& entries = *std::prev(document.end());
    for (Json& entry : part) entries.push_back(std::move(entry));
  }));
  return document;
}

absl::Status HeadClient::ListTrials(const v1::ListTrialsRequest& request, const std::function<void(Json part)>& take) {
  LANISTA_RETURN_IF_ERROR(impl_->Connect());
  grpc::ClientContext context;
  const auto stream = impl_->stub().ListTrials(&context, request);
  v1::ListTrialsReply reply;
  bool first = true;
  while (stream->Read(&reply)) {
    Json part = Json::parse(reply.json(), nullptr, false);
    const bool good = first ? part.is_object() && !part.empty() &&
                                  std::prev(part.end()).key() == EntriesOf(request.view()) &&
                                  std::prev(part.end())->is_array()
                            : part.is_array();
    if (!good) {
      context.TryCancel();
      stream->Finish();
      return Damaged();
    }
    first = false;
    take(std::move(part));
  }
  LANISTA_RETURN_IF_ERROR(impl_->ToStatus(stream->Finish()));
  return first ? Damaged() : absl::OkStatus();
}

absl::Status HeadClient::Watch(const v1::WatchRequest& request,
                               const std::function<bool(const v1::ExperimentEvent&)>& on_event,
                               const std::function<void()>& on_connected) {
  LANISTA_RETURN_IF_ERROR(impl_->Connect());
  on_connected();
  grpc::ClientContext context;
  const auto stream = impl_->stub().Watch(&context, request);
  v1::WatchReply reply;
  while (stream->Read(&reply)) {
    for (const v1::ExperimentEvent& event : reply.events()) {
      if (on_event(event)) continue;
      context.TryCancel();
      stream->Finish();
      return absl::OkStatus();
    }
  }
  const absl::Status status = impl_->ToStatus(stream->Finish());
  // A head that ends cancels the calls that come last; this side cancels none whose end counts.
  return absl::IsCancelled(status) ? absl::UnavailableError("the head has ended the watch") : status;
}

}  // namespace lanista
