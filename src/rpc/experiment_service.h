// ExperimentService of protos/service.proto over Experiments: threads, streams and codes; nothing else.
#ifndef LANISTA_SRC_RPC_EXPERIMENT_SERVICE_H_
#define LANISTA_SRC_RPC_EXPERIMENT_SERVICE_H_

#include <atomic>
#include <memory>

#include "absl/status/statusor.h"
#include "protos/service.grpc.pb.h"
#include "src/base/work_queue.h"
#include "src/rpc/upload_stream.h"
#include "src/service/experiments.h"

namespace lanista {

// No call of gRPC's waits for a disk or a device: threads of three queues do. Outlives the server that it is in.
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

  // Answers with what `method` returns, on a thread of `queue`.
  template <typename Request, typename Reply>
  grpc::ServerUnaryReactor* Answer(Context* context, WorkQueue& queue,
                                   absl::StatusOr<Reply> (Experiments::*method)(const Request&), const Request* request,
                                   Reply* reply);
  // What a stream holds as long as it lives; RESOURCE_EXHAUSTED: there are too many.
  absl::StatusOr<std::shared_ptr<void>> TakeStream();

  // The same for uploads, which are fewer.
  absl::StatusOr<std::shared_ptr<void>> TakeUpload();

  // UNAVAILABLE unless it is open.
  absl::Status CheckOpen() const;

  Experiments& experiments_;
  std::atomic<bool> open_{false};
  std::atomic<int> streams_{0};
  std::atomic<int> uploads_{0};
  // Short looks at the disk.
  WorkQueue reads_{4, 1000};
  // What writes or reads much.
  WorkQueue works_{4, 1000};
  // What waits for devices: nothing else may wait behind it.
  WorkQueue waits_{16, 100};
  // What clients send: disks may be slow.
  WorkQueue upload_works_{2, 100};
};

}  // namespace lanista

#endif  // LANISTA_SRC_RPC_EXPERIMENT_SERVICE_H_
