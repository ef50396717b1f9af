// NodeService of protos/node.proto over NodeGateway: streams, codes and documents; nothing else.
#ifndef LANISTA_SRC_RPC_NODE_SERVICE_H_
#define LANISTA_SRC_RPC_NODE_SERVICE_H_

#include <atomic>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "protos/node.grpc.pb.h"
#include "src/base/work_queue.h"
#include "src/files/served_inputs.h"
#include "src/rpc/node_limits.h"
#include "src/service/node_gateway.h"

namespace lanista {

// gRPC's threads hand over messages, and block nowhere. Outlives the server that it is in.
class NodeServiceImpl : public v1::NodeService::CallbackService {
 public:
  NodeServiceImpl();
  ~NodeServiceImpl() override;

  // See HeadServer. Until Accept all calls get UNAVAILABLE; nodes whose streams end so try again.
  void Accept(NodeGateway* nodes, std::string program, const NodeLimits& limits);
  void Open();
  void Close();

 private:
  class Stream;
  using Context = grpc::CallbackServerContext;

  grpc::ServerBidiReactor<v1::NodeMessage, v1::HeadMessage>* Join(Context* context) override;
  grpc::ServerUnaryReactor* Beat(Context* context, const v1::BeatRequest* request, v1::BeatReply* reply) override;
  grpc::ServerWriteReactor<v1::InputList>* ListInputs(Context* context, const v1::ListInputsRequest* request) override;
  grpc::ServerWriteReactor<v1::FilePiece>* FetchInput(Context* context, const v1::FetchInputRequest* request) override;
  grpc::ServerReadReactor<v1::OutputPart>* DeliverOutput(Context* context, v1::DeliverOutputReply* reply) override;
  grpc::ServerUnaryReactor* FindWeightsBar(Context* context, const v1::WeightsBarRequest* request,
                                           v1::WeightsBar* reply) override;
  grpc::ServerWriteReactor<v1::CheckpointPart>* FetchCheckpoint(Context* context,
                                                                const v1::FetchCheckpointRequest* request) override;
  grpc::ServerUnaryReactor* ListNodes(Context* context, const v1::ListNodesRequest* request,
                                      v1::ListNodesReply* reply) override;
  grpc::ServerUnaryReactor* DrainNode(Context* context, const v1::DrainNodeRequest* request,
                                      v1::DrainNodeReply* reply) override;

  // UNAVAILABLE unless it is open.
  absl::Status CheckOpen();
  // A stream that `make` writes, once it has been answered what `ask` asks, for the stream.
  template <typename Message, typename Answer, typename Ask, typename Make>
  grpc::ServerWriteReactor<Message>* WriteAnswer(Ask ask, Make make);
  // The answer being what the assignment reads.
  template <typename Message, typename Make>
  grpc::ServerWriteReactor<Message>* WriteInputs(const v1::ListInputsRequest& request, Make make);

  // Set before it is open.
  NodeGateway* nodes_ = nullptr;
  std::string program_;
  NodeLimits limits_;

  std::mutex mutex_;
  // Protected by mutex_.
  bool open_ = false;
  std::set<std::shared_ptr<Stream>> streams_;

  // Shared: the gateway may answer when this has ended.
  const std::shared_ptr<ServedInputs> inputs_ = std::make_shared<ServedInputs>();
  // Streams of files. Last: its threads use the rest.
  std::atomic<int> file_streams_{0};
  WorkQueue files_;
  // Of what nodes deliver: a disk that is slow or full holds up nothing that they fetch.
  WorkQueue deliveries_;
};

}  // namespace lanista

#endif  // LANISTA_SRC_RPC_NODE_SERVICE_H_
