#include "src/rpc/experiment_service.h"

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"
#include "src/base/json_line.h"
#include "src/base/status.h"
#include "src/rpc/download_messages.h"
#include "src/rpc/grpc_status.h"
#include "src/rpc/refused_call.h"
#include "src/rpc/stream_writer.h"

namespace lanista {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kMaxStreams = 1000;
// Each holds all models of an experiment.
constexpr int kMaxTrialLists = 8;
// A client that takes longer for one message of such a list has gone, or does not mean it.
constexpr std::chrono::seconds kTrialListLimit(60);
// For the whole list: until it ends, the write-ahead log of the journal cannot shrink.
constexpr std::chrono::minutes kTrialListTotalLimit(10);
// Each is written by one of a few threads.
constexpr int kMaxUploads = 16;
// A client that sends nothing for so long has gone, or does not mean it.
constexpr std::chrono::seconds kUploadIdleLimit(60);
// And one that takes nothing.
constexpr std::chrono::seconds kDownloadIdleLimit(60);
// Of a request: configurations with graphs in them are the largest.
constexpr size_t kMaxRequestBytes = 16 << 20;
// Of ListTrialsReply.json, as soon as it has more: well below the 4 MiB that clients take by default.
constexpr size_t kPageBytes = 1 << 20;

// A document as pages of text (ListTrialsReply.json).
class TrialPages {
 public:
  explicit TrialPages(DocumentInParts document) : document_(std::move(document)) {}

  // False: there are no more. DEADLINE_EXCEEDED: the client took too long for all of them.
  absl::StatusOr<bool> Next(std::string* text) {
    if (std::chrono::steady_clock::now() > deadline_) {
      return absl::DeadlineExceededError(
          absl::StrCat("the list was not read within ", kTrialListTotalLimit.count(), " minutes"));
    }
    text->clear();
    while (text->size() < kPageBytes) {
      if (next_ == entries_.size()) {
        LANISTA_ASSIGN_OR_RETURN(entries_, document_.next());
        next_ = 0;
        if (entries_.empty()) break;
      }
      absl::StrAppend(text, text->empty() ? "" : ",", JsonLine(std::exchange(entries_[next_++], nullptr)));
    }
    const bool first = std::exchange(first_, false);
    if (!first && text->empty()) return false;
    *text = absl::StrCat("[", *text, "]");
    if (first) {
      std::string head = JsonLine(document_.beginning);
      // "[]}" at its end makes room for the first entries.
      head.resize(head.size() - 3);
      *text = absl::StrCat(head, *text, "}");
    }
    return true;
  }

 private:
  DocumentInParts document_;
  const std::chrono::steady_clock::time_point deadline_ = std::chrono::steady_clock::now() + kTrialListTotalLimit;
  // Of the current part; those before next_ were written.
  std::vector<Json> entries_;
  size_t next_ = 0;
  bool first_ = true;
};

// One of `most` that there may be at a time, counted in `taken`, for as long as the result lives. Else
// RESOURCE_EXHAUSTED says `why_not`.
absl::StatusOr<std::shared_ptr<void>> Take(std::atomic<int>* taken, int most, const std::string& why_not) {
  const std::shared_ptr<void> one(nullptr, [taken](void*) { --*taken; });
  if (++*taken <= most) return one;
  return absl::ResourceExhaustedError(why_not);
}

}  // namespace

template <typename Call, typename Request, typename Reply>
grpc::ServerUnaryReactor* ExperimentServiceImpl::AnswerBy(Context* context, WorkQueue& queue, Call call,
                                                          const Request* request, Reply* reply) {
  grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
  if (request->ByteSizeLong() > kMaxRequestBytes) {
    reactor->Finish(ToGrpcStatus(absl::ResourceExhaustedError(
        absl::StrCat("a request may have ", kMaxRequestBytes >> 20, " MiB, this one has more"))));
    return reactor;
  }
  const bool taken = queue.TryPost([this, reactor, call = std::move(call), request, reply] {
    absl::Status status = CheckOpen();
    if (status.ok()) {
      absl::StatusOr<Reply> result = call(*request);
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

template <typename Request, typename Reply>
grpc::ServerUnaryReactor* ExperimentServiceImpl::AnswerLate(
    Context* context, Waits& waits,
    absl::StatusOr<Reply> (Experiments::*method)(const Request&, const ExperimentRunner::Abandoned&),
    const Request* request, Reply* reply) {
  const absl::StatusOr<std::shared_ptr<void>> taken =
      Take(&waits.calls, kMaxWaits,
           absl::StrCat(kMaxWaits, " calls of this kind wait for this head's devices already; try again later"));
  if (!taken.ok()) {
    grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
    reactor->Finish(ToGrpcStatus(taken.status()));
    return reactor;
  }
  const auto call = [this, context, method, waiting = *taken](const Request& each) {
    return (experiments_.*method)(each, [context] { return context->IsCancelled(); });
  };
  return AnswerBy(context, waits.queue, call, request, reply);
}

template <typename Request, typename Reply>
grpc::ServerUnaryReactor* ExperimentServiceImpl::Answer(Context* context, WorkQueue& queue,
                                                        absl::StatusOr<Reply> (Experiments::*method)(const Request&),
                                                        const Request* request, Reply* reply) {
  const auto call = [this, method](const Request& each) { return (experiments_.*method)(each); };
  return AnswerBy(context, queue, call, request, reply);
}

grpc::ServerUnaryReactor* ExperimentServiceImpl::Create(Context* context, const v1::CreateExperimentRequest* request,
                                                        v1::CreateExperimentReply* reply) {
  return Answer(context, works_, &Experiments::Create, request, reply);
}

grpc::ServerUnaryReactor* ExperimentServiceImpl::Validate(Context* context,
                                                          const v1::ValidateExperimentRequest* request,
                                                          v1::ValidateExperimentReply* reply) {
  return AnswerLate(context, validations_, &Experiments::Validate, request, reply);
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
  return AnswerLate(context, resumptions_, &Experiments::Resume, request, reply);
}

grpc::ServerUnaryReactor* ExperimentServiceImpl::Delete(Context* context, const v1::DeleteExperimentRequest* request,
                                                        v1::DeleteExperimentReply* reply) {
  return Answer(context, works_, &Experiments::Delete, request, reply);
}

grpc::ServerUnaryReactor* ExperimentServiceImpl::GetTrial(Context* context, const v1::GetTrialRequest* request,
                                                          v1::GetTrialReply* reply) {
  return Answer(context, works_, &Experiments::GetTrial, request, reply);
}

grpc::ServerWriteReactor<v1::ListTrialsReply>* ExperimentServiceImpl::ListTrials(Context* context,
                                                                                 const v1::ListTrialsRequest* request) {
  using Writer = StreamWriter<v1::ListTrialsReply>;
  const std::shared_ptr<Writer> writer = Writer::Start(&works_);
  writer->LimitWrites(context, kTrialListLimit);
  writer->SetMake([this, request = *request, list = TakeTrialList(), pages = std::shared_ptr<TrialPages>()](
                      v1::ListTrialsReply* reply) mutable -> absl::StatusOr<Writer::Made> {
    LANISTA_RETURN_IF_ERROR(list.status());
    LANISTA_RETURN_IF_ERROR(CheckOpen());
    if (pages == nullptr) {
      LANISTA_ASSIGN_OR_RETURN(DocumentInParts document, experiments_.ListTrialsInParts(request));
      pages = std::make_shared<TrialPages>(std::move(document));
    }
    LANISTA_ASSIGN_OR_RETURN(const bool more, pages->Next(reply->mutable_json()));
    return more ? Writer::Made::kWrite : Writer::Made::kEnd;
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

grpc::ServerBidiReactor<v1::UploadRequest, v1::UploadReply>* ExperimentServiceImpl::Upload(Context* context) {
  using Refused = RefusedCall<grpc::ServerBidiReactor<v1::UploadRequest, v1::UploadReply>>;
  absl::Status status = CheckOpen();
  if (!status.ok()) return new Refused(status);
  absl::StatusOr<std::shared_ptr<void>> slot = TakeUpload();
  if (!slot.ok()) return new Refused(slot.status());
  return UploadStream::Start(context, &experiments_, &upload_works_, *std::move(slot), kUploadIdleLimit);
}

absl::StatusOr<std::unique_ptr<DownloadMessages>> ExperimentServiceImpl::MakeDownload(
    const v1::DownloadRequest& request, const ModelMaker::Abandoned& abandoned) {
  LANISTA_ASSIGN_OR_RETURN(ExportedFiles exported, experiments_.Export(request, abandoned));
  return DownloadMessages::Make(std::move(exported), abandoned);
}

grpc::ServerWriteReactor<v1::DownloadReply>* ExperimentServiceImpl::Download(Context* context,
                                                                             const v1::DownloadRequest* request) {
  using Writer = StreamWriter<v1::DownloadReply>;
  using Refused = RefusedCall<grpc::ServerWriteReactor<v1::DownloadReply>>;
  const absl::Status status = CheckOpen();
  if (!status.ok()) return new Refused(status);
  // At once: each of the queue's threads may be busy for minutes.
  absl::StatusOr<std::shared_ptr<void>> taken = TakeDownload();
  if (!taken.ok()) return new Refused(taken.status());
  const std::shared_ptr<Writer> writer = Writer::Start(&download_works_);
  writer->LimitWrites(context, kDownloadIdleLimit);
  const auto abandoned = [this, &writer = *writer] { return !open_ || writer.canceled(); };
  writer->SetMake(
      [this, request = *request, slot = *std::move(taken), abandoned, messages = std::shared_ptr<DownloadMessages>()](
          v1::DownloadReply* reply) mutable -> absl::StatusOr<Writer::Made> {
        LANISTA_RETURN_IF_ERROR(CheckOpen());
        if (messages == nullptr) {
          absl::StatusOr<std::unique_ptr<DownloadMessages>> made = MakeDownload(request, abandoned);
          // What was given up because this head ends is said to be so.
          if (!made.ok()) LANISTA_RETURN_IF_ERROR(CheckOpen());
          LANISTA_ASSIGN_OR_RETURN(messages, std::move(made));
        }
        LANISTA_ASSIGN_OR_RETURN(const bool more, messages->Next(reply));
        return more ? Writer::Made::kWrite : Writer::Made::kEnd;
      });
  writer->Wake();
  return writer.get();
}

void ExperimentServiceImpl::Close() {
  open_ = false;
  experiments_.WakeWatches();
}

absl::Status ExperimentServiceImpl::CheckOpen() const {
  if (open_) return absl::OkStatus();
  return absl::UnavailableError("this head has not begun yet, or ends; try again");
}

absl::StatusOr<std::shared_ptr<void>> ExperimentServiceImpl::TakeStream() {
  return Take(&streams_, kMaxStreams, absl::StrCat("this head has ", kMaxStreams, " streams already; try again"));
}

absl::StatusOr<std::shared_ptr<void>> ExperimentServiceImpl::TakeUpload() {
  return Take(&uploads_, kMaxUploads,
              absl::StrCat("this head takes ", kMaxUploads, " uploads at a time; try again in a moment"));
}

absl::StatusOr<std::shared_ptr<void>> ExperimentServiceImpl::TakeTrialList() {
  return Take(&trial_lists_, kMaxTrialLists,
              absl::StrCat("this head sends ", kMaxTrialLists, " lists of trials at a time; try again in a moment"));
}

absl::StatusOr<std::shared_ptr<void>> ExperimentServiceImpl::TakeDownload() {
  return Take(&downloads_, kMaxDownloads,
              absl::StrCat(kMaxDownloads, " clients of this head export already; try again in a moment"));
}

}  // namespace lanista
