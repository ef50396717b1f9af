// ExperimentService of protos/service.proto over Experiments: threads, streams and codes; nothing else.
#ifndef LANISTA_SRC_RPC_EXPERIMENT_SERVICE_H_
#define LANISTA_SRC_RPC_EXPERIMENT_SERVICE_H_

#include <atomic>
#include <memory>

#include "absl/status/statusor.h"
#include "protos/service.grpc.pb.h"
#include "src/base/work_queue.h"
#include "src/rpc/download_messages.h"
#include "src/rpc/upload_stream.h"
#include "src/service/experiments.h"

namespace lanista {

// So many clients may export at a time. Each has a thread, and its files are on the head's disk.
inline constexpr int kMaxDownloads = 8;

// No call of gRPC's waits for a disk or a device: threads of queues do. Outlives the server that it is in.
class ExperimentServiceImpl : public v1::ExperimentService::CallbackService {
 public:
  explicit ExperimentServiceImpl(Experiments* experiments) : experiments_(*experiments) {}

  // See HeadServer.
  void Open() { open_ = true; }
  void Close();

 private:
  using Context = grpc::CallbackServerContext;

  grpc::ServerUnaryReactor* Create(Context* context, const v1::CreateExperimentRequest* request,
                                   v1::CreateExperimentReply* reply) override;
  grpc::ServerUnaryReactor* Validate(Context* context, const v1::ValidateExperimentRequest* request,
                                     v1::ValidateExperimentReply* reply) override;
  grpc::ServerUnaryReactor* Get(Context* context, const v1::GetExperimentRequest* request,
                                v1::GetExperimentReply* reply) override;
  grpc::ServerUnaryReactor* List(Context* context, const v1::ListExperimentsRequest* request,
                                 v1::ListExperimentsReply* reply) override;
  grpc::ServerUnaryReactor* Stop(Context* context, const v1::StopExperimentRequest* request,
                                 v1::StopExperimentReply* reply) override;
  grpc::ServerUnaryReactor* Resume(Context* context, const v1::ResumeExperimentRequest* request,
                                   v1::ResumeExperimentReply* reply) override;
  grpc::ServerUnaryReactor* Delete(Context* context, const v1::DeleteExperimentRequest* request,
                                   v1::DeleteExperimentReply* reply) override;
  grpc::ServerUnaryReactor* GetTrial(Context* context, const v1::GetTrialRequest* request,
                                     v1::GetTrialReply* reply) override;
  grpc::ServerWriteReactor<v1::ListTrialsReply>* ListTrials(Context* context,
                                                            const v1::ListTrialsRequest* request) override;
  grpc::ServerWriteReactor<v1::WatchReply>* Watch(Context* context, const v1::WatchRequest* request) override;
  grpc::ServerUnaryReactor* FindPaths(Context* context, const v1::FindPathsRequest* request,
                                      v1::FindPathsReply* reply) override;
  grpc::ServerBidiReactor<v1::UploadRequest, v1::UploadReply>* Upload(Context* context) override;
  grpc::ServerWriteReactor<v1::DownloadReply>* Download(Context* context, const v1::DownloadRequest* request) override;

  // What may wait for a device, a thread for each call.
  static constexpr int kMaxWaits = 16;
  struct Waits {
    std::atomic<int> calls{0};
    WorkQueue queue{kMaxWaits, kMaxWaits};
  };

  // Answers with what `call` returns, on a thread of `queue`.
  template <typename Call, typename Request, typename Reply>
  grpc::ServerUnaryReactor* AnswerBy(Context* context, WorkQueue& queue, Call call, const Request* request,
                                     Reply* reply);
  // The same for a method that may wait, until its client has gone. RESOURCE_EXHAUSTED, at once: kMaxWaits do already.
  template <typename Request, typename Reply>
  grpc::ServerUnaryReactor* AnswerLate(Context* context, Waits& waits,
                                       absl::StatusOr<Reply> (Experiments::*method)(const Request&,
                                                                                    const ExperimentRunner::Abandoned&),
                                       const Request* request, Reply* reply);
  // The same for any other method.
  template <typename Request, typename Reply>
  grpc::ServerUnaryReactor* Answer(Context* context, WorkQueue& queue,
                                   absl::StatusOr<Reply> (Experiments::*method)(const Request&), const Request* request,
                                   Reply* reply);
  // What a stream holds as long as it lives; RESOURCE_EXHAUSTED: there are too many.
  absl::StatusOr<std::shared_ptr<void>> TakeStream();

  // The same for uploads, lists of trials and downloads, which are fewer.
  absl::StatusOr<std::shared_ptr<void>> TakeUpload();
  absl::StatusOr<std::shared_ptr<void>> TakeTrialList();
  absl::StatusOr<std::shared_ptr<void>> TakeDownload();

  absl::StatusOr<std::unique_ptr<DownloadMessages>> MakeDownload(const v1::DownloadRequest& request,
                                                                 const ModelMaker::Abandoned& abandoned);

  // UNAVAILABLE unless it is open.
  absl::Status CheckOpen() const;

  Experiments& experiments_;
  std::atomic<bool> open_{false};
  std::atomic<int> streams_{0};
  std::atomic<int> uploads_{0};
  std::atomic<int> trial_lists_{0};
  std::atomic<int> downloads_{0};
  // Short looks at the disk.
  WorkQueue reads_{4, 1000};
  // What writes or reads much.
  WorkQueue works_{4, 1000};
  // Nothing else may wait behind these, nor one of them behind the other.
  Waits validations_;
  Waits resumptions_;
  // What clients send: disks may be slow.
  WorkQueue upload_works_{2, 100};
  // Exports, and their files: a thread for each, because one that waits for its turn must not hold up another's files.
  WorkQueue download_works_{kMaxDownloads, 0};
};

}  // namespace lanista

#endif  // LANISTA_SRC_RPC_EXPERIMENT_SERVICE_H_
