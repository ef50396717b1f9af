#include "src/rpc/node_service.h"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "grpcpp/alarm.h"
#include "grpcpp/grpcpp.h"
#include "nlohmann/json.hpp"
#include "src/base/status.h"
#include "src/files/received_outputs.h"
#include "src/rpc/grpc_status.h"
#include "src/rpc/output_receiver.h"
#include "src/rpc/refused_call.h"
#include "src/rpc/stream_writer.h"
#include "src/service/request_checks.h"
#include "src/views/document_parts.h"
#include "src/views/nodes_view.h"

namespace lanista {
namespace {

// More than there may be nodes: some join anew while their old streams end.
constexpr size_t kMaxNodeStreams = kMaxNodes + 100;
// What a node that does not read may let wait.
constexpr size_t kMaxQueued = 10000;
constexpr int64_t kMaxQueuedBytes = 256 << 20;
// Of files.
constexpr int kMaxFileStreams = 1000;
constexpr int kFileThreads = 4;
// Of files in a message of ListInputs: well below the 4 MiB of a message, whatever their paths are.
constexpr int kFilesOfMessage = 500;
// Of ListNodes.
constexpr int kMaxPage = 1000;

const std::vector<std::string> kNodeStates = {"JOINED", "SILENT", "DRAINING", "COMING"};

absl::Status CheckListNodes(const v1::ListNodesRequest& request) {
  LANISTA_RETURN_IF_ERROR(CheckRange(request.page_size(), 0, kMaxPage, "page_size"));
  LANISTA_RETURN_IF_ERROR(
      CheckSize(request.state_size(), static_cast<int64_t>(kNodeStates.size()), "state", "entries"));
  for (const std::string& state : request.state()) {
    if (state.empty()) return absl::InvalidArgumentError("state: an entry is empty");
    LANISTA_RETURN_IF_ERROR(CheckWord(state, kNodeStates, "state"));
  }
  return absl::OkStatus();
}

// Keeps the nodes of the page, by name. Returns the token of the next page.
std::string KeepPage(const v1::ListNodesRequest& request, v1::NodeList* list) {
  const auto& states = request.state();
  std::map<std::string, v1::NodeStatus> by_name;
  for (v1::NodeStatus& node : *list->mutable_nodes()) {
    const std::string& state = v1::NodeStatus::Condition_Name(node.condition());
    const bool wanted = states.empty() || std::find(states.begin(), states.end(), state) != states.end();
    if (wanted && node.name() > request.page_token()) by_name.emplace(node.name(), std::move(node));
  }
  const auto page = static_cast<size_t>(request.page_size() == 0 ? kMaxPage : request.page_size());
  list->clear_nodes();
  for (auto& [name, node] : by_name) {
    if (static_cast<size_t>(list->nodes_size()) == page) return list->nodes().rbegin()->name();
    *list->add_nodes() = std::move(node);
  }
  return "";
}

// What the gateway answers, for the thread that waits for it.
template <typename Answer>
class Asked {
 public:
  void Set(absl::StatusOr<Answer> answer) {
    const std::lock_guard<std::mutex> lock(mutex_);
    answer_.emplace(std::move(answer));
  }
  // nullopt: it has not come.
  std::optional<absl::StatusOr<Answer>> answer() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return answer_;
  }

 private:
  mutable std::mutex mutex_;
  // Protected by mutex_.
  std::optional<absl::StatusOr<Answer>> answer_;
};

}  // namespace

// A node's stream. Reads the next message when the last one has been dealt with; writes one at a time, and queues those
// that wait. Ends once: whoever wants to, first.
class NodeServiceImpl::Stream final : public grpc::ServerBidiReactor<v1::NodeMessage, v1::HeadMessage>,
                                      public NodeLink,
                                      public std::enable_shared_from_this<Stream> {
 public:
  // `on_done`: nothing of gRPC's happens to it any more.
  Stream(Context* context, NodeGateway* nodes, std::function<void(const std::shared_ptr<Stream>&)> on_done)
      : context_(*context), nodes_(*nodes), on_done_(std::move(on_done)) {}

  // Once there is a shared_ptr to it. It ends, if the node's first message takes longer than `hello_limit`.
  void Begin(std::chrono::milliseconds hello_limit) {
    hello_alarm_.Set(std::chrono::system_clock::now() + hello_limit, [weak = weak_from_this()](bool expired) {
      const std::shared_ptr<Stream> stream = weak.lock();
      if (stream != nullptr && expired) stream->Close(absl::DeadlineExceededError("the node did not say hello"));
    });
    Next();
  }

  void Send(v1::HeadMessage message) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (end_.has_value()) return;
    queued_bytes_ += static_cast<int64_t>(message.ByteSizeLong());
    queue_.push_back(std::move(message));
    if (queue_.size() > kMaxQueued || queued_bytes_ > kMaxQueuedBytes) {
      EndLocked(absl::ResourceExhaustedError("the node does not read what the head says"));
      // Nor would it read this. The call lives as long as a write cannot be done with, which the lock sees to.
      return context_.TryCancel();
    }
    if (queue_.size() == 1) StartWrite(&queue_.front());
  }

  void Next() override {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!end_.has_value()) StartRead(&message_);
  }

  void Close(const absl::Status& status) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    EndLocked(status);
  }

 private:
  void OnReadDone(bool ok) override {
    hello_alarm_.Cancel();
    if (!ok) return OnGone();
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (end_.has_value()) return;
    }
    nodes_.Receive(shared_from_this(), std::move(message_));
  }

  void OnWriteDone(bool ok) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    queued_bytes_ -= static_cast<int64_t>(queue_.front().ByteSizeLong());
    queue_.pop_front();
    if (end_.has_value()) return Finish(ToGrpcStatus(*end_));
    // OnReadDone or OnCancel says the rest.
    if (ok && !queue_.empty()) StartWrite(&queue_.front());
    if (ok) return;
    queue_.clear();
    queued_bytes_ = 0;
  }

  void OnCancel() override { OnGone(); }

  void OnDone() override {
    nodes_.Lost(shared_from_this());
    on_done_(shared_from_this());
  }

  // The node said its last message, or its connection is lost.
  void OnGone() {
    const std::lock_guard<std::mutex> lock(mutex_);
    EndLocked(absl::CancelledError("the node has gone"));
  }

  void EndLocked(const absl::Status& status) {
    if (end_.has_value()) return;
    end_ = status;
    // A message that is being written stays; when it has left, OnWriteDone ends the stream.
    if (queue_.empty()) return Finish(ToGrpcStatus(status));
    queue_.erase(queue_.begin() + 1, queue_.end());
  }

  Context& context_;
  NodeGateway& nodes_;
  const std::function<void(const std::shared_ptr<Stream>&)> on_done_;
  v1::NodeMessage message_;
  // Until the first message.
  grpc::Alarm hello_alarm_;

  std::mutex mutex_;
  // Protected by mutex_. The first of the queue is being written.
  std::deque<v1::HeadMessage> queue_;
  int64_t queued_bytes_ = 0;
  // Absent: it has not ended.
  std::optional<absl::Status> end_;
};

NodeServiceImpl::NodeServiceImpl()
    : files_(kFileThreads, kMaxFileStreams), deliveries_(kFileThreads, kMaxFileStreams) {}

NodeServiceImpl::~NodeServiceImpl() { inputs_->SetOpen(false); }

void NodeServiceImpl::Accept(NodeGateway* nodes, std::string program, const NodeLimits& limits) {
  nodes_ = nodes;
  limits_ = limits;
  program_ = std::move(program);
}

void NodeServiceImpl::Open() {
  inputs_->SetOpen(true);
  const std::lock_guard<std::mutex> lock(mutex_);
  open_ = true;
}

void NodeServiceImpl::Close() {
  std::set<std::shared_ptr<Stream>> streams;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    open_ = false;
    streams = streams_;
  }
  inputs_->SetOpen(false);
  for (const std::shared_ptr<Stream>& stream : streams) stream->Close(absl::UnavailableError("the head ends"));
}

absl::Status NodeServiceImpl::CheckOpen() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (open_ && nodes_ != nullptr) return absl::OkStatus();
  return absl::UnavailableError("this head has not begun yet, or ends; try again");
}

grpc::ServerBidiReactor<v1::NodeMessage, v1::HeadMessage>* NodeServiceImpl::Join(Context* context) {
  using Refused = RefusedCall<grpc::ServerBidiReactor<v1::NodeMessage, v1::HeadMessage>>;
  const absl::Status open = CheckOpen();
  if (!open.ok()) return new Refused(open);
  const auto stream = std::make_shared<Stream>(context, nodes_, [this](const std::shared_ptr<Stream>& done) {
    const std::lock_guard<std::mutex> lock(mutex_);
    streams_.erase(done);
  });
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (streams_.size() >= kMaxNodeStreams) {
      return new Refused(absl::ResourceExhaustedError("this head has too many streams of nodes; try again"));
    }
    streams_.insert(stream);
  }
  stream->Begin(limits_.hello);
  return stream.get();
}

grpc::ServerUnaryReactor* NodeServiceImpl::Beat(Context* context, const v1::BeatRequest* request, v1::BeatReply*) {
  grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
  const absl::Status open = CheckOpen();
  if (open.ok()) {
    nodes_->Beat(*request, [reactor](const absl::Status& status) { reactor->Finish(ToGrpcStatus(status)); });
  } else {
    reactor->Finish(ToGrpcStatus(open));
  }
  return reactor;
}

template <typename Message, typename Answer, typename Ask, typename Make>
grpc::ServerWriteReactor<Message>* NodeServiceImpl::WriteAnswer(Ask ask, Make make) {
  using Writer = StreamWriter<Message>;
  const std::shared_ptr<Writer> writer = Writer::Start(&files_);
  const auto asked = std::make_shared<Asked<Answer>>();
  const std::shared_ptr<void> stream(nullptr, [this](void*) { --file_streams_; });
  const bool too_many = ++file_streams_ > kMaxFileStreams;
  writer->SetMake([this, asked, stream, too_many,
                   make = std::move(make)](Message* message) mutable -> absl::StatusOr<typename Writer::Made> {
    LANISTA_RETURN_IF_ERROR(CheckOpen());
    if (too_many) return absl::UnavailableError("this head sends too many files already; try again");
    const std::optional<absl::StatusOr<Answer>> answer = asked->answer();
    if (!answer.has_value()) return Writer::Made::kWait;
    LANISTA_RETURN_IF_ERROR(answer->status());
    LANISTA_ASSIGN_OR_RETURN(const bool more, make(**answer, message));
    return more ? Writer::Made::kWrite : Writer::Made::kEnd;
  });
  const absl::Status open = CheckOpen();
  if (open.ok() && !too_many) {
    const std::weak_ptr<Writer> weak = writer;
    ask(weak, [asked, weak](absl::StatusOr<Answer> answer) {
      asked->Set(std::move(answer));
      if (const std::shared_ptr<Writer> woken = weak.lock()) woken->Wake();
    });
  } else {
    // It says why.
    writer->Wake();
  }
  return writer.get();
}

template <typename Message, typename Make>
grpc::ServerWriteReactor<Message>* NodeServiceImpl::WriteInputs(const v1::ListInputsRequest& request, Make make) {
  return WriteAnswer<Message, ServedInputs::SetPtr>(
      [&](std::weak_ptr<const void> stream, ServedInputs::Done done) {
        nodes_->Inputs(request, [weak = std::weak_ptr<ServedInputs>(inputs_), stream = std::move(stream),
                                 done = std::move(done)](absl::StatusOr<v1::AssignmentInputs> inputs) {
          if (!inputs.ok()) return done(inputs.status());
          if (const std::shared_ptr<ServedInputs> served = weak.lock()) served->List(*inputs, stream, done);
        });
      },
      std::move(make));
}

grpc::ServerWriteReactor<v1::InputList>* NodeServiceImpl::ListInputs(Context*, const v1::ListInputsRequest* request) {
  return WriteInputs<v1::InputList>(
      *request,
      [file = size_t{0}, folder = size_t{0}](const ServedInputs::SetPtr& set,
                                             v1::InputList* list) mutable -> absl::StatusOr<bool> {
        for (int count = 0; count < kFilesOfMessage; ++count) {
          if (folder < set->folders().size()) {
            list->add_folders(set->folders()[folder++]);
          } else if (file < set->files().size()) {
            *list->add_files() = set->files()[file++];
          } else {
            return count > 0;
          }
        }
        return true;
      });
}

grpc::ServerWriteReactor<v1::FilePiece>* NodeServiceImpl::FetchInput(Context*, const v1::FetchInputRequest* request) {
  v1::ListInputsRequest asked;
  asked.set_instance(request->instance());
  asked.set_assignment(request->assignment());
  return WriteInputs<v1::FilePiece>(
      asked,
      [this, sha256 = request->sha256(), file = std::shared_ptr<ServedFile>()](
          const ServedInputs::SetPtr& set, v1::FilePiece* piece) mutable -> absl::StatusOr<bool> {
        if (file == nullptr) {
          LANISTA_ASSIGN_OR_RETURN(ServedFile opened, inputs_->Open(*set, sha256));
          file = std::make_shared<ServedFile>(std::move(opened));
        }
        return file->Next(piece->mutable_bytes());
      });
}

grpc::ServerReadReactor<v1::OutputPart>* NodeServiceImpl::DeliverOutput(Context* context, v1::DeliverOutputReply*) {
  using Refused = RefusedCall<grpc::ServerReadReactor<v1::OutputPart>>;
  const absl::Status open = CheckOpen();
  if (!open.ok()) return new Refused(open);
  const std::shared_ptr<void> stream(nullptr, [this](void*) { --file_streams_; });
  if (++file_streams_ > kMaxFileStreams) {
    return new Refused(absl::UnavailableError("this head takes too many files already; try again"));
  }
  return OutputReceiver::Start(context, &deliveries_, nodes_, limits_, stream);
}

grpc::ServerWriteReactor<v1::CheckpointPart>* NodeServiceImpl::FetchCheckpoint(
    Context*, const v1::FetchCheckpointRequest* request) {
  v1::OutputsRequest asked;
  asked.set_instance(request->instance());
  asked.set_assignment(request->assignment());
  return WriteAnswer<v1::CheckpointPart, v1::AssignmentOutputs>(
      [&](const std::weak_ptr<const void>&, std::function<void(absl::StatusOr<v1::AssignmentOutputs>)> done) {
        nodes_->Outputs(asked, std::move(done));
      },
      [model = request->model(), reader = std::shared_ptr<FileSetReader>()](
          const v1::AssignmentOutputs& outputs, v1::CheckpointPart* part) mutable -> absl::StatusOr<bool> {
        if (reader != nullptr) return reader->Next(part->mutable_bytes());
        LANISTA_ASSIGN_OR_RETURN(FileSetReader opened, ReadCheckpoint(outputs, model));
        reader = std::make_shared<FileSetReader>(std::move(opened));
        *part->mutable_files() = reader->files();
        return true;
      });
}

grpc::ServerUnaryReactor* NodeServiceImpl::FindWeightsBar(Context* context, const v1::WeightsBarRequest* request,
                                                          v1::WeightsBar* reply) {
  grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
  const absl::Status open = CheckOpen();
  if (!open.ok()) {
    reactor->Finish(ToGrpcStatus(open));
    return reactor;
  }
  v1::OutputsRequest asked;
  asked.set_instance(request->instance());
  asked.set_assignment(request->assignment());
  nodes_->Outputs(asked, [reactor, reply](absl::StatusOr<v1::AssignmentOutputs> outputs) {
    if (outputs.ok()) *reply = std::move(*outputs->mutable_weights_bar());
    reactor->Finish(ToGrpcStatus(outputs.status()));
  });
  return reactor;
}

grpc::ServerUnaryReactor* NodeServiceImpl::ListNodes(Context* context, const v1::ListNodesRequest* request,
                                                     v1::ListNodesReply* reply) {
  grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
  const absl::Status open = CheckOpen();
  if (!open.ok()) {
    reactor->Finish(ToGrpcStatus(open));
    return reactor;
  }
  const absl::Status checked = CheckListNodes(*request);
  if (!checked.ok()) {
    reactor->Finish(ToGrpcStatus(checked));
    return reactor;
  }
  nodes_->List([reactor, request, reply, program = program_](absl::StatusOr<v1::NodeList> list) {
    if (list.ok()) {
      reply->set_next_page_token(KeepPage(*request, &*list));
      reply->set_json(ToText(NodesDocument(*list, program)));
    }
    reactor->Finish(ToGrpcStatus(list.status()));
  });
  return reactor;
}

grpc::ServerUnaryReactor* NodeServiceImpl::DrainNode(Context* context, const v1::DrainNodeRequest* request,
                                                     v1::DrainNodeReply*) {
  grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
  const absl::Status open = CheckOpen();
  if (open.ok()) {
    nodes_->Drain(*request, [reactor](const absl::Status& status) { reactor->Finish(ToGrpcStatus(status)); });
  } else {
    reactor->Finish(ToGrpcStatus(open));
  }
  return reactor;
}

}  // namespace lanista
