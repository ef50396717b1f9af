#include "src/rpc/experiment_service.h"

#include <chrono>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "src/base/json_line.h"
#include "src/base/status.h"
#include "src/rpc/grpc_status.h"
#include "src/rpc/refused_call.h"
#include "src/rpc/stream_writer.h"

namespace lanista {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kMaxStreams = 1000;
// Each is written by one of a few threads.
constexpr int kMaxUploads = 16;
// A client that sends nothing for so long has gone, or does not mean it.
constexpr std::chrono::seconds kUploadIdleLimit(60);
// Of a request: configurations with graphs in them are the largest.
constexpr size_t kMaxRequestBytes = 16 << 20;
// Of ListTrialsReply.json, as soon as it has more: well below the 4 MiB that clients take by default.
constexpr size_t kPageBytes = 1 << 20;

// The pages of a document of `trials`.
class TrialPages {
 public:
  explicit TrialPages(Json document) : models_(std::move(document["models"])), document_(std::move(document)) {}

  // False: there are no more.
  bool Next(std::string* text) {
    if (!first_ && next_ == models_.size()) return false;
    text->clear();
    while (next_ < models_.size() && text->size() < kPageBytes) {
      absl::StrAppend(text, text->empty() ? "" : ",", JsonLine(models_[next_]));
      // It is not needed any more, and may be large.
      models_[next_++] = nullptr;
    }
    *text = absl::StrCat("[", *text, "]");
    if (std::exchange(first_, false)) {
      document_["models"] = Json::array();
      std::string head = JsonLine(document_);
      // `models` is its last key: "[]}" makes room for the first of them.
      head.resize(head.size() - 3);
      *text = absl::StrCat(head, *text, "}");
    }
    return true;
  }

 private:
  Json models_;
  Json document_;
  size_t next_ = 0;
  bool first_ = true;
};

}  // namespace

template <typename Request, typename Reply>
grpc::ServerUnaryReactor* ExperimentServiceImpl::Answer(Context* context, WorkQueue& queue,
                                                        absl::StatusOr<Reply> (Experiments::*method)(const Request&),
                                                        const Request* request, Reply* reply) {
  grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
  if (request->ByteSizeLong() > kMaxRequestBytes) {
    reactor->Finish(ToGrpcStatus(absl::ResourceExhaustedError(
        absl::StrCat("a request may have ", kMaxRequestBytes >> 20, " MiB, this one has more"))));
    return reactor;
  }
  const bool taken = queue.TryPost([this, reactor, method, request, reply] {
    absl::Status status = CheckOpen();
    if (status.ok()) {
      absl::StatusOr<Reply> result = (experiments_.*method)(*request);
      if (result.ok()) reply->Swap(&*result);
      status = result.status();
    }
    reactor->Finish(ToGrpcStatus(status));
  });
  if (!taken) {
    reactor->Finish(ToGrpcStatus(absl::ResourceExhaustedError("too many requests wait for this head; try again")));
  }
  return reactor;
}

grpc::ServerUnaryReactor* ExperimentServiceImpl::Create(Context* context, const v1::CreateExperimentRequest* request,
                                                        v1::CreateExperimentReply* reply) {
  return Answer(context, works_, &Experiments::Create, request, reply);
}

grpc::ServerUnaryReactor* ExperimentServiceImpl::Validate(Context* context,
                                                          const v1::ValidateExperimentRequest* request,
                                                          v1::ValidateExperimentReply* reply) {
  return Answer(context, waits_, &Experiments::Validate, request, reply);
}

grpc::ServerUnaryReactor* ExperimentServiceImpl::Get(Context* context, const v1::GetExperimentRequest* request,
                                                     v1::GetExperimentReply* reply) {
  return Answer(context, reads_, &Experiments::Get, request, reply);
}

grpc::ServerUnaryReactor* ExperimentServiceImpl::List(Context* context, const v1::ListExperimentsRequest* request,
                                                      v1::ListExperimentsReply* reply) {
  return Answer(context, reads_, &Experiments::List, request, reply);
}

grpc::ServerUnaryReactor* ExperimentServiceImpl::Stop(Context* context, const v1::StopExperimentRequest* request,
                                                      v1::StopExperimentReply* reply) {
  return Answer(context, reads_, &Experiments::Stop, request, reply);
}

grpc::ServerUnaryReactor* ExperimentServiceImpl::Resume(Context* context, const v1::ResumeExperimentRequest* request,
                                                        v1::ResumeExperimentReply* reply) {
  return Answer(context, waits_, &Experiments::Resume, request, reply);
}

grpc::ServerUnaryReactor* ExperimentServiceImpl::Delete(Context* context, const v1::DeleteExperimentRequest* request,
                                                        v1::DeleteExperimentReply* reply) {
  return Answer(context, works_, &Experiments::Delete, request, reply);
}

grpc::ServerUnaryReactor* ExperimentServiceImpl::GetTrial(Context* context, const v1::GetTrialRequest* request,
                                                          v1::GetTrialReply* reply) {
  return Answer(context, works_, &Experiments::GetTrial, request, reply);
}

grpc::ServerWriteReactor<v1::ListTrialsReply>* ExperimentServiceImpl::ListTrials(Context*,
                                                                                 const v1::ListTrialsRequest* request) {
  using Writer = StreamWriter<v1::ListTrialsReply>;
  const std::shared_ptr<Writer> writer = Writer::Start(&works_);
  writer->SetMake([this, request = *request, stream = TakeStream(), pages = std::shared_ptr<TrialPages>()](
                      v1::ListTrialsReply* reply) mutable -> absl::StatusOr<Writer::Made> {
    LANISTA_RETURN_IF_ERROR(stream.status());
    LANISTA_RETURN_IF_ERROR(CheckOpen());
    if (pages == nullptr) {
      LANISTA_ASSIGN_OR_RETURN(Json document, experiments_.ListTrials(request));
      pages = std::make_shared<TrialPages>(std::move(document));
    }
    return pages->Next(reply->mutable_json()) ? Writer::Made::kWrite : Writer::Made::kEnd;
  });
  writer->Wake();
  return writer.get();
}

grpc::ServerWriteReactor<v1::WatchReply>* ExperimentServiceImpl::Watch(Context*, const v1::WatchRequest* request) {
  using Writer = StreamWriter<v1::WatchReply>;
  const std::shared_ptr<Writer> writer = Writer::Start(&reads_);
  const auto wake = [weak = std::weak_ptr<Writer>(writer)] {
    if (const std::shared_ptr<Writer> woken = weak.lock()) woken->Wake();
  };
  writer->SetMake([this, request = *request, stream = TakeStream(), wake, watch = std::shared_ptr<ExperimentWatch>(),
                   ended = false](v1::WatchReply* reply) mutable -> absl::StatusOr<Writer::Made> {
    LANISTA_RETURN_IF_ERROR(stream.status());
    if (ended) return Writer::Made::kEnd;
    LANISTA_RETURN_IF_ERROR(CheckOpen());
    if (watch == nullptr) {
      LANISTA_ASSIGN_OR_RETURN(watch, experiments_.Watch(request, wake));
    }
    absl::StatusOr<ExperimentWatch::Batch> batch = watch->Next();
    // What ends with this head goes on with the next one.
    if (absl::IsAborted(batch.status())) LANISTA_RETURN_IF_ERROR(CheckOpen());
    if (!batch.ok()) return batch.status();
    ended = batch->ended;
    for (v1::ExperimentEvent& event : batch->events) reply->add_events()->Swap(&event);
    if (!reply->events().empty()) return Writer::Made::kWrite;
    return ended ? Writer::Made::kEnd : Writer::Made::kWait;
  });
  writer->Wake();
  return writer.get();
}

grpc::ServerUnaryReactor* ExperimentServiceImpl::FindPaths(Context* context, const v1::FindPathsRequest* request,
                                                           v1::FindPathsReply* reply) {
  return Answer(context, works_, &Experiments::FindPaths, request, reply);
}

grpc::ServerBidiReactor<v1::UploadRequest, v1::UploadReply>* ExperimentServiceImpl::Upload(Context*) {
  using Refused = RefusedCall<grpc::ServerBidiReactor<v1::UploadRequest, v1::UploadReply>>;
  absl::Status status = CheckOpen();
  if (!status.ok()) return new Refused(status);
  absl::StatusOr<std::shared_ptr<void>> slot = TakeUpload();
  if (!slot.ok()) return new Refused(slot.status());
  return UploadStream::Start(&experiments_, &upload_works_, *std::move(slot), kUploadIdleLimit);
}

void ExperimentServiceImpl::Close() {
  open_ = false;
  experiments_.WakeWatches();
}

absl::StatusOr<std::shared_ptr<void>> ExperimentServiceImpl::TakeUpload() {
  const std::shared_ptr<void> slot(nullptr, [this](void*) { --uploads_; });
  if (++uploads_ <= kMaxUploads) return slot;
  return absl::ResourceExhaustedError(
      absl::StrCat("this head takes ", kMaxUploads, " uploads at a time; try again in a moment"));
}

absl::Status ExperimentServiceImpl::CheckOpen() const {
  if (open_) return absl::OkStatus();
  return absl::UnavailableError("this head has not begun yet, or ends; try again");
}

absl::StatusOr<std::shared_ptr<void>> ExperimentServiceImpl::TakeStream() {
  const std::shared_ptr<void> stream(nullptr, [this](void*) { --streams_; });
  if (++streams_ <= kMaxStreams) return stream;
  return absl::ResourceExhaustedError(absl::StrCat("this head has ", kMaxStreams, " streams already; try again"));
}

}  // namespace lanista
