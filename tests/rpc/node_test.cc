// Nodes and a head's port, over real connections.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <condition_variable>
#include <deque>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "google/protobuf/util/time_util.h"
#include "grpcpp/generic/generic_stub.h"
#include "grpcpp/grpcpp.h"
#include "nlohmann/json.hpp"
#include "protos/node.grpc.pb.h"
#include "protos/service.grpc.pb.h"
#include "src/base/framing.h"
#include "src/base/node_link.h"
#include "src/base/sha256.h"
#include "src/files/conversion_folder.h"
#include "src/files/file_set.h"
#include "src/files/trial_outputs.h"
#include "src/rpc/file_client.h"
#include "src/rpc/head_client.h"
#include "src/rpc/head_file.h"
#include "src/rpc/head_server.h"
#include "src/rpc/node_client.h"
#include "src/rpc/node_limits.h"
#include "tests/rpc/sockets.h"
#include "tests/service/service_testing.h"

namespace lanista {
namespace {

using google::protobuf::util::TimeUtil;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// What happened, for a test that waits for it.
template <typename Value>
class Events {
 public:
  void Add(Value value) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      values_.push_back(std::move(value));
    }
    changed_.notify_all();
  }
  // The next one.
  Value Take() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return !values_.empty(); });
    Value value = std::move(values_.front());
    values_.pop_front();
    return value;
  }
  size_t size() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return values_.size();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Value> values_;
};

// A head's half that is played by the test.
class FakeGateway : public NodeGateway {
 public:
  using Received = std::pair<NodeLinkPtr, v1::NodeMessage>;

  // How many nodes there are beside "n". Set while nobody asks.
  int more_nodes_ = 0;
  // Outputs waits for it on the threads of its callers, as a disk may let them wait. Set while nobody asks.
  std::shared_future<void> outputs_held_;

  void Receive(const NodeLinkPtr& link, v1::NodeMessage message) override { received_.Add({link, std::move(message)}); }
  void Lost(const NodeLinkPtr& link) override { lost_.Add(link); }
  void Beat(const v1::BeatRequest& request, std::function<void(const absl::Status&)> done) override {
    beats_.Add(request.instance());
    const std::lock_guard<std::mutex> lock(mutex_);
    done(beat_status_);
  }
  void Inputs(const v1::ListInputsRequest& request,
              std::function<void(absl::StatusOr<v1::AssignmentInputs>)> done) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = inputs_.find({request.instance(), request.assignment()});
    if (found == inputs_.end()) return done(absl::NotFoundError("the node has no such assignment"));
    done(found->second);
  }
  void Outputs(const v1::OutputsRequest& request,
               std::function<void(absl::StatusOr<v1::AssignmentOutputs>)> done) override {
    if (outputs_held_.valid()) outputs_held_.wait();
    const std::lock_guard<std::mutex> lock(mutex_);
    if (request.instance() != "i" || request.assignment() != "a")
      return done(absl::NotFoundError("no such assignment"));
    done(outputs_);
    if (next_outputs_.has_value()) outputs_ = *std::exchange(next_outputs_, std::nullopt);
  }
  void List(std::function<void(absl::StatusOr<v1::NodeList>)> done) override {
    v1::NodeList list;
    for (int i = 0; i < more_nodes_; ++i) {
      list.add_nodes()->set_name(absl::StrCat("more-", i));
      list.mutable_nodes(i)->set_condition(i % 2 == 0 ? v1::NodeStatus::JOINED : v1::NodeStatus::SILENT);
    }
    v1::NodeStatus& node = *list.add_nodes();
    node.set_name("n");
    node.set_condition(v1::NodeStatus::DRAINING);
    node.set_program("p");
    node.set_devices(2);
    node.set_busy(1);
    node.add_trials()->set_experiment("x");
    done(list);
  }
  void Drain(const v1::DrainNodeRequest& request, std::function<void(const absl::Status&)> done) override {
    done(request.node() == "n" ? absl::OkStatus() : absl::NotFoundError("there is no node " + request.node()));
  }

  void SetBeatStatus(const absl::Status& status) {
    const std::lock_guard<std::mutex> lock(mutex_);
    beat_status_ = status;
  }

  // The node has this assignment, which reads these files.
  void Assign(const std::string& instance, const std::string& assignment, const std::vector<std::string>& paths) {
    v1::AssignmentInputs inputs;
    inputs.set_experiment("x");
    for (const std::string& path : paths) inputs.add_paths(path);
    const std::lock_guard<std::mutex> lock(mutex_);
    inputs_[{instance, assignment}] = inputs;
  }

  // Where assignment a of instance i writes; and, where there is one, the answer after the next.
  void SetOutputs(const absl::StatusOr<v1::AssignmentOutputs>& outputs,
                  const std::optional<absl::StatusOr<v1::AssignmentOutputs>>& next = std::nullopt) {
    const std::lock_guard<std::mutex> lock(mutex_);
    outputs_ = outputs;
    next_outputs_ = next;
  }

  Events<Received> received_;
  Events<NodeLinkPtr> lost_;
  Events<std::string> beats_;

 private:
  std::mutex mutex_;
  // Protected by mutex_.
  absl::Status beat_status_;
  // By instance and assignment.
  std::map<std::pair<std::string, std::string>, v1::AssignmentInputs> inputs_;
  absl::StatusOr<v1::AssignmentOutputs> outputs_ = absl::NotFoundError("");
  std::optional<absl::StatusOr<v1::AssignmentOutputs>> next_outputs_;
};

class NodeServiceTest : public ServiceTest {
 protected:
  using Closed = std::pair<HeadLinkPtr, absl::Status>;

  NodeServiceTest() {
    server_ = *HeadServer::Start(*ParseAddress("127.0.0.1:0"), &experiments_);
    server_->AcceptNodes(&gateway_, "p");
    server_->Open();
  }

  // A node that says hello with this name on each stream.
  void StartNode(const std::string& name) {
    NodeClient::Options options;
    options.head.address = address_.value_or(server_->address());
    options.find_head = find_head_;
    options.instance = "instance of " + name;
    options.first_delay = options.longest_delay = std::chrono::milliseconds(20);
    NodeClient::Handlers handlers;
    handlers.on_open = [this, name](const HeadLinkPtr& link) {
      v1::NodeMessage message;
      message.mutable_hello()->set_name(name);
      link->Send(std::move(message));
      opened_.Add(link);
    };
    handlers.on_message = [this](const HeadLinkPtr&, v1::HeadMessage message) { told_.Add(std::move(message)); };
    handlers.on_closed = [this](const HeadLinkPtr& link, const absl::Status& status) { closed_.Add({link, status}); };
    node_.emplace(std::move(options), std::move(handlers));
  }

  static v1::HeadMessage Welcome(int beat_milliseconds) {
    v1::HeadMessage message;
    *message.mutable_hello()->mutable_beat_interval() = TimeUtil::MillisecondsToDuration(beat_milliseconds);
    return message;
  }
  // A node's stream whose hello the head has.
  NodeLinkPtr Joined(int beat_milliseconds = 60000) {
    const NodeLinkPtr link = gateway_.received_.Take().first;
    link->Next();
    link->Send(Welcome(beat_milliseconds));
    told_.Take();
    return link;
  }
  static v1::NodeMessage News(int number, size_t bytes = 0) {
    v1::NodeMessage message;
    message.mutable_news()->set_number(number);
    message.mutable_news()->set_assignment(std::string(bytes, 'x'));
    return message;
  }

  FakeGateway gateway_;
  std::unique_ptr<HeadServer> server_;
  // Where nodes dial; absent: the server's.
  std::optional<Address> address_;
  // Null: nodes dial address_.
  std::function<absl::StatusOr<Address>()> find_head_;
  Events<HeadLinkPtr> opened_;
  Events<v1::HeadMessage> told_;
  Events<Closed> closed_;
  // Last: its handlers use the rest.
  std::optional<NodeClient> node_;
};

TEST_F(NodeServiceTest, BothSidesSpeakInOrder) {
  StartNode("n");
  FakeGateway::Received hello = gateway_.received_.Take();
  EXPECT_EQ(hello.second.hello().name(), "n");
  hello.first->Send(Welcome(60000));
  const HeadLinkPtr node = opened_.Take();
  for (int number = 1; number <= 1000; ++number) node->Send(News(number));
  for (int number = 1; number <= 1000; ++number) {
    v1::HeadMessage message;
    message.mutable_received()->set_number(number);
    hello.first->Send(std::move(message));
  }
  EXPECT_TRUE(told_.Take().has_hello());
  for (int number = 1; number <= 1000; ++number) {
    ASSERT_EQ(told_.Take().received().number(), number);
    // The next message comes when the last one has been dealt with.
    ASSERT_EQ(gateway_.received_.size(), 0u);
    hello.first->Next();
    ASSERT_EQ(gateway_.received_.Take().second.news().number(), number);
  }
  // The node has left: nothing of it is dialled again.
  hello.first->Close(absl::OkStatus());
  EXPECT_TRUE(closed_.Take().second.ok());
  EXPECT_EQ(gateway_.lost_.Take(), hello.first);
  hello.first->Send(Welcome(1));
  hello.first->Next();
}

TEST_F(NodeServiceTest, BeatsComeBesideTheStream) {
  StartNode("n");
  // It is held up by the message that nobody deals with.
  const NodeLinkPtr link = gateway_.received_.Take().first;
  opened_.Take()->Send(News(1, 1 << 20));
  link->Send(Welcome(1));
  EXPECT_EQ(gateway_.beats_.Take(), "instance of n");
  EXPECT_EQ(gateway_.beats_.Take(), "instance of n");
  // A head that does not know it any more is dialled anew.
  gateway_.SetBeatStatus(absl::NotFoundError("unknown"));
  const Closed closed = closed_.Take();
  EXPECT_TRUE(absl::IsUnavailable(closed.second)) << closed.second;
  EXPECT_EQ(gateway_.lost_.Take(), link);
  EXPECT_EQ(gateway_.received_.Take().second.hello().name(), "n");
}

TEST_F(NodeServiceTest, ANodeWhoseTokenWasReplacedBeatsAlongItsStream) {
  StartNode("n");
  const NodeLinkPtr link = Joined(/*beat_milliseconds=*/1);
  for (const absl::Status& refused : {absl::UnauthenticatedError("which token?"), absl::PermissionDeniedError("no")}) {
    gateway_.SetBeatStatus(refused);
    // More than may be lost.
    for (int beat = 0; beat < 5; ++beat) {
      const v1::NodeMessage message = gateway_.received_.Take().second;
      EXPECT_EQ(message.beat().instance(), "instance of n");
      EXPECT_TRUE(message.beat().has_now());
      link->Next();
    }
  }
  EXPECT_EQ(closed_.size(), 0u);
  // The stream that follows is not let in. The file may be about to be replaced.
  link->Close(absl::UnavailableError("cut"));
  while (true) {
    const FakeGateway::Received received = gateway_.received_.Take();
    if (!received.second.has_hello()) continue;
    received.first->Close(absl::UnauthenticatedError("which token?"));
    break;
  }
  EXPECT_TRUE(absl::IsUnavailable(closed_.Take().second));
  const absl::Status refused = closed_.Take().second;
  EXPECT_FALSE(EndsNode(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()), HasSubstr("which token?"));
  EXPECT_TRUE(gateway_.received_.Take().second.has_hello()) << "it tries again";
}

TEST_F(NodeServiceTest, AStreamThatWasCutIsOpenedAgain) {
  StartNode("n");
  for (int i = 0; i < 3; ++i) {
    Joined()->Close(absl::AbortedError("cut"));
    EXPECT_TRUE(absl::IsAborted(closed_.Take().second));
  }
  Joined();
}

TEST_F(NodeServiceTest, ANodeThatIsRefusedDoesNotAskAgain) {
  for (const absl::Status& refused :
       {absl::AlreadyExistsError("take another name"), absl::FailedPreconditionError("other version"),
        absl::InvalidArgumentError("it lied")}) {
    StartNode("n");
    gateway_.received_.Take().first->Close(refused);
    EXPECT_EQ(closed_.Take().second, refused);
    gateway_.lost_.Take();
    node_.reset();
    EXPECT_EQ(gateway_.received_.size(), 0u);
  }
}

TEST_F(NodeServiceTest, AHeadThatEndsIsAwaited) {
  StartNode("n");
  Joined();
  server_->Close();
  EXPECT_TRUE(absl::IsUnavailable(closed_.Take().second));
  const absl::Status closed = closed_.Take().second;
  EXPECT_TRUE(absl::IsUnavailable(closed)) << closed;
  EXPECT_THAT(std::string(closed.message()), HasSubstr(server_->address().ToText()));
  server_->Open();
  Joined();
  const Address address = server_->address();
  server_.reset();
  EXPECT_TRUE(absl::IsUnavailable(closed_.Take().second));
  server_ = *HeadServer::Start(address, &experiments_);
  server_->AcceptNodes(&gateway_, "");
  server_->Open();
  Joined();
}

TEST_F(NodeServiceTest, AHeadThatMovesIsFoundByItsFile) {
  const TempFolder folder;
  const std::string file = folder.path() + "/head";
  Events<absl::Status> dials;
  find_head_ = [&] {
    const absl::StatusOr<Address> address = ReadHeadFile(file);
    dials.Add(address.status());
    return address;
  };
  StartNode("n");
  // The head has not started yet: the node asks again.
  EXPECT_TRUE(absl::IsNotFound(dials.Take()));
  EXPECT_TRUE(absl::IsNotFound(dials.Take()));
  EXPECT_EQ(opened_.size(), 0u);
  ASSERT_TRUE(WriteHeadFile(file, server_->address()).ok());
  Joined();
  const auto other = *HeadServer::Start(*ParseAddress("127.0.0.1:0"), &experiments_);
  other->AcceptNodes(&gateway_, "p");
  other->Open();
  ASSERT_TRUE(WriteHeadFile(file, other->address()).ok());
  server_.reset();
  Joined();
  // Before the server that its stream is on.
  node_.reset();
}

TEST(HeadFileTest, HoldsAnAddressThatCanBeDialled) {
  const TempFolder folder;
  const std::string file = folder.path() + "/head";
  EXPECT_TRUE(absl::IsNotFound(ReadHeadFile(file).status()));
  ASSERT_TRUE(WriteHeadFile(file, {"head.example.org", 7421}).ok());
  EXPECT_EQ(ReadHeadFile(file)->ToText(), "head.example.org:7421");
  char name[256] = {};
  ASSERT_EQ(gethostname(name, sizeof(name) - 1), 0);
  for (const char* all : {"0.0.0.0", "[::]"}) {
    ASSERT_TRUE(WriteHeadFile(file, {all, 7421}).ok());
    EXPECT_EQ(ReadHeadFile(file)->ToText(), absl::StrCat(name, ":7421"));
  }
  for (const std::string& text : {std::string(), std::string("no address\n"), std::string(10000, '1')}) {
    std::ofstream(file) << text;
    const absl::Status status = ReadHeadFile(file).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(file));
  }
}

TEST_F(NodeServiceTest, ANodeThatGoesIsNoticed) {
  StartNode("n");
  const NodeLinkPtr link = Joined();
  node_.reset();
  EXPECT_EQ(gateway_.lost_.Take(), link);
}

// A link's last owner may be a thread of gRPC's, for which the last channel would wait: it has to wait for itself then.
TEST_F(NodeServiceTest, ALinkThatIsKeptKeepsNoChannel) {
  const SilentListener listener;
  address_ = listener.address();
  StartNode("n");
  const HeadLinkPtr link = opened_.Take();
  const int connection = listener.GreetUntil("/lanista.v1.NodeService/Join");
  node_.reset();
  SilentListener::WaitUntilClosed(connection);
  // Nothing is left that it could do.
  link->Close();
}

TEST_F(NodeServiceTest, MessagesAreLargeButNotTooLarge) {
  StartNode("n");
  Joined();
  opened_.Take()->Send(News(1, 40 << 20));
  const FakeGateway::Received received = gateway_.received_.Take();
  EXPECT_EQ(received.second.news().assignment().size(), size_t{40} << 20);
  received.first->Next();
  v1::HeadMessage assignment;
  assignment.mutable_assignment()->set_id(std::string(40 << 20, 'x'));
  received.first->Send(std::move(assignment));
  EXPECT_EQ(told_.Take().assignment().id().size(), size_t{40} << 20);
  node_.reset();
  gateway_.lost_.Take();

  StartNode("m");
  const NodeLinkPtr link = Joined();
  opened_.Take()->Send(News(1, 65 << 20));
  EXPECT_EQ(gateway_.lost_.Take(), link);
}

TEST_F(NodeServiceTest, ANodeThatDoesNotReadCostsABoundedAmount) {
  const auto stub =
      v1::NodeService::NewStub(grpc::CreateChannel(server_->address().ToText(), grpc::InsecureChannelCredentials()));
  grpc::ClientContext context;
  const auto stream = stub->Join(&context);
  v1::NodeMessage hello;
  hello.mutable_hello();
  ASSERT_TRUE(stream->Write(hello));
  const NodeLinkPtr link = gateway_.received_.Take().first;
  v1::HeadMessage message;
  message.mutable_assignment()->set_id(std::string(1 << 20, 'x'));
  for (int i = 0; i < 300; ++i) link->Send(message);
  EXPECT_EQ(gateway_.lost_.Take(), link);
}

TEST_F(NodeServiceTest, AStreamOnWhichNobodySaysHelloEnds) {
  server_ = *HeadServer::Start(*ParseAddress("127.0.0.1:0"), &experiments_);
  NodeLimits limits;
  limits.hello = std::chrono::milliseconds(1);
  server_->AcceptNodes(&gateway_, "p", limits);
  server_->Open();
  const auto stub =
      v1::NodeService::NewStub(grpc::CreateChannel(server_->address().ToText(), grpc::InsecureChannelCredentials()));
  grpc::ClientContext context;
  const auto stream = stub->Join(&context);
  v1::HeadMessage message;
  EXPECT_FALSE(stream->Read(&message));
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  gateway_.lost_.Take();
  EXPECT_EQ(gateway_.received_.size(), 0u);
}

TEST_F(NodeServiceTest, AHeadWithoutNodesIsNamed) {
  // A server that has never heard of them.
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  v1::ExperimentService::Service other;
  builder.RegisterService(&other);
  const std::unique_ptr<grpc::Server> older = builder.BuildAndStart();
  address_ = *ParseAddress(absl::StrCat("127.0.0.1:", port));
  StartNode("n");
  const absl::Status closed = closed_.Take().second;
  EXPECT_TRUE(absl::IsUnimplemented(closed)) << closed;
  EXPECT_THAT(std::string(closed.message()), HasSubstr(address_->ToText()));
  EXPECT_TRUE(EndsNode(closed));
}

TEST_F(NodeServiceTest, WhatATrialProcessMaySayFitsIntoAMessage) {
  StartNode("n");
  Joined();
  v1::NodeMessage message = News(1);
  v1::ModelEvent& event = *message.mutable_news()->mutable_event();
  event.set_experiment(std::string(kMaxFrameBytes - 100, 'x'));
  opened_.Take()->Send(std::move(message));
  EXPECT_EQ(gateway_.received_.Take().second.news().event().experiment().size(), kMaxFrameBytes - 100);
}

TEST_F(NodeServiceTest, GarbageEndsItsStreamOnly) {
  grpc::GenericStub stub(grpc::CreateChannel(server_->address().ToText(), grpc::InsecureChannelCredentials()));
  grpc::CompletionQueue queue;
  grpc::ClientContext context;
  const auto call = stub.PrepareCall(&context, "/lanista.v1.NodeService/Join", &queue);
  const auto wait = [&queue] {
    void* tag = nullptr;
    bool ok = false;
    EXPECT_TRUE(queue.Next(&tag, &ok));
  };
  call->StartCall(nullptr);
  wait();
  const grpc::Slice garbage(std::string("\xff\xff\xff\xff no message"));
  call->Write(grpc::ByteBuffer(&garbage, 1), nullptr);
  wait();
  grpc::Status status;
  call->Finish(&status, nullptr);
  wait();
  EXPECT_FALSE(status.ok());
  EXPECT_EQ(gateway_.received_.size(), 0u);
  StartNode("n");
  Joined();
}

TEST_F(NodeServiceTest, NodesAreListedAndDrained) {
  HeadClient client(server_->address());
  const nlohmann::ordered_json document = *client.ListNodes();
  ASSERT_EQ(document["nodes"].size(), 1u);
  EXPECT_EQ(document["nodes"][0]["name"], "n");
  EXPECT_EQ(document["nodes"][0]["state"], "DRAINING");
  EXPECT_EQ(document["nodes"][0]["other_program"], false);
  EXPECT_EQ(document["nodes"][0]["trials"][0]["experiment"], "x");
  v1::DrainNodeRequest request;
  request.set_node("n");
  EXPECT_TRUE(client.DrainNode(request).ok());
  request.set_node("m");
  EXPECT_TRUE(absl::IsNotFound(client.DrainNode(request).status()));
  server_->Close();
  EXPECT_TRUE(absl::IsUnavailable(client.ListNodes().status()));
}

TEST_F(NodeServiceTest, NodesAreListedByPagesAndStates) {
  gateway_.more_nodes_ = 5;
  HeadClient client(server_->address());
  const auto names = [](const std::string& json) {
    std::vector<std::string> found;
    const nlohmann::json document = nlohmann::json::parse(json);
    for (const auto& node : document["nodes"]) found.push_back(node["name"]);
    return found;
  };
  v1::ListNodesRequest request;
  request.set_page_size(4);
  const v1::ListNodesReply first = *client.ListNodes(request);
  EXPECT_THAT(names(first.json()), ElementsAre("more-0", "more-1", "more-2", "more-3"));
  request.set_page_token(first.next_page_token());
  const v1::ListNodesReply second = *client.ListNodes(request);
  EXPECT_THAT(names(second.json()), ElementsAre("more-4", "n"));
  EXPECT_EQ(second.next_page_token(), "");
  request.clear_page_token();
  request.add_state("SILENT");
  request.add_state("DRAINING");
  EXPECT_THAT(names(client.ListNodes(request)->json()), ElementsAre("more-1", "more-3", "n"));
  request.add_state("LAZY");
  const absl::Status word = client.ListNodes(request).status();
  EXPECT_TRUE(absl::IsInvalidArgument(word));
  EXPECT_THAT(std::string(word.message()), HasSubstr("state: "));
  request.clear_state();
  request.set_page_size(1001);
  EXPECT_THAT(std::string(client.ListNodes(request).status().message()), HasSubstr("page_size: "));
  gateway_.more_nodes_ = 2500;
  EXPECT_EQ((*client.ListNodes())["nodes"].size(), 2501u) << "of all pages";
}

class FileTransferTest : public NodeServiceTest {
 protected:
  FileTransferTest() { access_.address = server_->address(); }

  // A file at the head.
  std::string MakeFile(const std::string& name, const std::string& content) const {
    const std::string path = folder_.path() + "/" + name;
    std::ofstream(path, std::ios::binary) << content;
    return path;
  }
  absl::StatusOr<std::string> Fetch(const std::string& assignment, const std::string& sha256) {
    std::string content;
    const absl::Status status = client_->Fetch(assignment, sha256, &cancellation_, [&](absl::string_view bytes) {
      content.append(bytes.data(), bytes.size());
      return absl::OkStatus();
    });
    if (!status.ok()) return status;
    return content;
  }
  void Connect(std::function<absl::StatusOr<Address>()> find_head = nullptr) {
    client_.emplace(access_, std::move(find_head), "i");
  }

  const TempFolder folder_;
  HeadAccess access_;
  Cancellation cancellation_;
  std::optional<FileClient> client_;
};

TEST_F(FileTransferTest, FilesOfAnAssignmentCome) {
  const std::string large(5000000, 'l');
  const std::string path = MakeFile("large", large);
  MakeFile("secret", "secret");
  gateway_.Assign("i", "a", {path, "/nowhere"});
  gateway_.Assign("i", "none", {});
  gateway_.Assign("another", "b", {path});
  Connect();
  const auto list = client_->List("a", &cancellation_);
  ASSERT_TRUE(list.ok()) << list.status();
  ASSERT_EQ(list->files_size(), 1);
  EXPECT_EQ(list->files(0).path(), path);
  EXPECT_EQ(list->files(0).sha256(), Sha256(large));
  EXPECT_EQ(list->files(0).size(), 5000000);
  EXPECT_EQ(*Fetch("a", Sha256(large)), large);
  EXPECT_EQ(client_->List("none", &cancellation_)->files_size(), 0);

  EXPECT_TRUE(absl::IsPermissionDenied(Fetch("a", Sha256("secret")).status())) << "it does not read it";
  EXPECT_TRUE(absl::IsPermissionDenied(Fetch("none", Sha256(large)).status()));
  EXPECT_TRUE(absl::IsNotFound(Fetch("b", Sha256(large)).status())) << "it is another node's";
  EXPECT_TRUE(absl::IsNotFound(client_->List("b", &cancellation_).status()));

  MakeFile("large", "changed");
  const absl::Status changed = Fetch("a", Sha256(large)).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(changed)) << changed;
  EXPECT_THAT(std::string(changed.message()), HasSubstr(path));
}

TEST_F(FileTransferTest, TheHeadIsWhereItsFileSays) {
  const std::string path = MakeFile("file", "content");
  gateway_.Assign("i", "a", {path});
  absl::StatusOr<Address> place = absl::NotFoundError("no head yet");
  access_.address = Address();
  Connect([&] { return place; });
  EXPECT_EQ(client_->List("a", &cancellation_).status(), absl::UnavailableError("no head yet"));
  place = server_->address();
  EXPECT_EQ(client_->List("a", &cancellation_)->files_size(), 1);
  EXPECT_EQ(*Fetch("a", Sha256("content")), "content");
}

TEST_F(FileTransferTest, ManyFilesAreListedInParts) {
  const std::string folder = folder_.path() + "/many";
  std::filesystem::create_directories(folder);
  for (int i = 0; i < 1234; ++i) MakeFile(absl::StrCat("many/", i), absl::StrCat(i));
  gateway_.Assign("i", "a", {folder});
  Connect();
  const auto list = client_->List("a", &cancellation_);
  ASSERT_TRUE(list.ok()) << list.status();
  EXPECT_EQ(list->files_size(), 1234);
  EXPECT_EQ(list->folders_size(), 1);
}

TEST_F(FileTransferTest, AHeadThatGoesAndComesBackIsFound) {
  const std::string path = MakeFile("file", "content");
  gateway_.Assign("i", "a", {path});
  Connect();
  EXPECT_EQ(*Fetch("a", Sha256("content")), "content");
  const Address address = server_->address();
  server_.reset();
  EXPECT_TRUE(absl::IsUnavailable(Fetch("a", Sha256("content")).status()));
  server_ = *HeadServer::Start(address, &experiments_);
  EXPECT_TRUE(absl::IsUnavailable(client_->List("a", &cancellation_).status())) << "it has not begun yet";
  server_->AcceptNodes(&gateway_, "");
  server_->Open();
  EXPECT_EQ(*Fetch("a", Sha256("content")), "content");
}

TEST_F(FileTransferTest, AFileThatIsRefusedOrCanceledEnds) {
  const std::string large(50000000, 'l');
  gateway_.Assign("i", "a", {MakeFile("large", large)});
  Connect();
  const absl::Status refused = client_->Fetch("a", Sha256(large), &cancellation_,
                                              [](absl::string_view) { return absl::DataLossError("too much"); });
  EXPECT_EQ(refused, absl::DataLossError("too much"));
  const absl::Status canceled = client_->Fetch("a", Sha256(large), &cancellation_, [this](absl::string_view) {
    // On another thread, as it is in a node.
    std::thread([this] { cancellation_.Cancel(); }).join();
    return absl::OkStatus();
  });
  EXPECT_TRUE(absl::IsCancelled(canceled)) << canceled;
  EXPECT_TRUE(absl::IsCancelled(client_->List("a", &cancellation_).status())) << "before it began";
}

TEST_F(FileTransferTest, AnOlderHeadIsNamed) {
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  v1::ExperimentService::Service other;
  builder.RegisterService(&other);
  const std::unique_ptr<grpc::Server> older = builder.BuildAndStart();
  access_.address = *ParseAddress(absl::StrCat("127.0.0.1:", port));
  Connect();
  const absl::Status status = client_->List("a", &cancellation_).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("install the same release"));
}

class OutputTransferTest : public FileTransferTest {
 protected:
  OutputTransferTest() {
    outputs_.set_folder(folder_.path() + "/x");
    outputs_.set_incoming_folder(outputs_.folder() + "/incoming");
    outputs_.set_log_file(outputs_.folder() + "/logs/trial-7.log");
    v1::ModelOutputs& model = *outputs_.add_models();
    model.set_model(3);
    model.set_output_folder(outputs_.folder() + "/trials/7");
    model.set_checkpoint_folder(outputs_.folder() + "/checkpoints/3");
    std::filesystem::create_directory(outputs_.folder());
    gateway_.SetOutputs(outputs_);
    Connect();
  }

  // The node's files: a folder with one of them.
  std::string Written(const std::string& name, const std::string& content) const {
    const std::string folder = absl::StrCat(folder_.path(), "/node-", name);
    std::filesystem::create_directory(folder);
    MakeFile(absl::StrCat("node-", name, "/", name), content);
    return folder;
  }
  static v1::OutputHeader OutputOf(int model) {
    v1::OutputHeader header;
    header.set_assignment("a");
    header.set_output_of(model);
    return header;
  }
  absl::Status Deliver(const v1::OutputHeader& header, const std::string& folder) {
    absl::StatusOr<FileSetReader> files = FileSetReader::Open(folder, *FindFiles(folder), kOutputLimits);
    if (!files.ok()) return files.status();
    return client_->Deliver(header, &*files, &cancellation_);
  }
  // A call as a node that lies makes it.
  absl::Status Say(const std::vector<v1::OutputPart>& parts) const {
    const auto stub =
        v1::NodeService::NewStub(grpc::CreateChannel(server_->address().ToText(), grpc::InsecureChannelCredentials()));
    grpc::ClientContext context;
    v1::DeliverOutputReply reply;
    const auto writer = stub->DeliverOutput(&context, &reply);
    for (const v1::OutputPart& part : parts) writer->Write(part);
    writer->WritesDone();
    const grpc::Status status = writer->Finish();
    return absl::Status(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
  }
  static v1::OutputPart Header(int64_t size, const std::string& sha256, const std::string& path = "f") {
    v1::OutputPart part;
    *part.mutable_header() = OutputOf(3);
    part.mutable_header()->set_instance("i");
    v1::SetFile& file = *part.mutable_header()->mutable_files()->add_files();
    file.set_path(path);
    file.set_size(size);
    file.set_sha256(sha256);
    return part;
  }
  static v1::OutputPart Bytes(const std::string& bytes) {
    v1::OutputPart part;
    part.set_bytes(bytes);
    return part;
  }
  // Nothing is at any place, and nothing on its way.
  void ExpectNothing() const {
    const auto found = FindFiles(outputs_.folder());
    ASSERT_TRUE(found.ok()) << found.status();
    EXPECT_TRUE(found->empty()) << found->front().path;
  }

  v1::AssignmentOutputs outputs_;
};

TEST_F(OutputTransferTest, WhatATrialWroteGetsToItsPlaceAndComesBackAsCheckpoint) {
  const std::string large(5000000, 'w');
  EXPECT_EQ(Deliver(OutputOf(3), Written("weights.pt", large)), absl::OkStatus());
  std::ifstream file(outputs_.folder() + "/trials/7/weights.pt", std::ios::binary);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), large);
  v1::OutputHeader checkpoint = OutputOf(0);
  checkpoint.set_checkpoint_of(3);
  EXPECT_EQ(Deliver(checkpoint, Written("checkpoint", large)), absl::OkStatus());
  v1::FileSet files;
  std::string bytes;
  const auto fetch = [&](int model) {
    return client_->FetchCheckpoint(
        "a", model, &cancellation_,
        [&](const v1::FileSet& set) {
          files = set;
          return absl::OkStatus();
        },
        [&](absl::string_view piece) {
          bytes.append(piece.data(), piece.size());
          return absl::OkStatus();
        });
  };
  EXPECT_EQ(fetch(3), absl::OkStatus());
  ASSERT_EQ(files.files_size(), 1);
  EXPECT_EQ(files.files(0).path(), "checkpoint");
  EXPECT_EQ(bytes, large);
  EXPECT_TRUE(absl::IsPermissionDenied(fetch(4)));
  std::filesystem::remove_all(outputs_.folder() + "/checkpoints");
  EXPECT_EQ(fetch(3), absl::OkStatus());
  EXPECT_EQ(files.files_size(), 0) << "there is none";
}

TEST_F(OutputTransferTest, ANodeThatHasSentIsNotGivenUpWhereTheHeadIsSlow) {
  server_ = *HeadServer::Start(*ParseAddress("127.0.0.1:0"), &experiments_);
  NodeLimits limits;
  limits.idle = std::chrono::seconds(4);
  server_->AcceptNodes(&gateway_, "", limits);
  server_->Open();
  std::promise<void> go_on;
  gateway_.outputs_held_ = go_on.get_future();
  // More than there are threads: what these have sent waits for one.
  std::vector<std::future<absl::Status>> deliveries;
  for (int i = 0; i < 8; ++i) {
    deliveries.push_back(std::async(std::launch::async, [this] { return Say({Header(1, Sha256("x")), Bytes("x")}); }));
  }
  // Nothing happens in this time: that is what is tried.
  std::this_thread::sleep_for(limits.idle + std::chrono::seconds(1));
  go_on.set_value();
  for (std::future<absl::Status>& delivery : deliveries) {
    const absl::Status status = delivery.get();
    EXPECT_FALSE(absl::IsCancelled(status)) << status;
  }
}

TEST_F(OutputTransferTest, ANodeLearnsWhichWeightsAreWanted) {
  const auto ask = [&](const std::string& assignment) { return client_->FindWeightsBar(assignment, &cancellation_); };
  ASSERT_TRUE(ask("a").ok()) << ask("a").status();
  EXPECT_EQ(ask("a")->metric(), "") << "any";
  outputs_.mutable_weights_bar()->set_metric("loss");
  outputs_.mutable_weights_bar()->set_goal(v1::ObjectiveConfig::MINIMIZE);
  outputs_.mutable_weights_bar()->set_value(0.25);
  gateway_.SetOutputs(outputs_);
  EXPECT_EQ(ask("a")->SerializeAsString(), outputs_.weights_bar().SerializeAsString());
  EXPECT_TRUE(absl::IsNotFound(ask("of another head's life").status()));
  gateway_.SetOutputs(absl::AbortedError("the trial was canceled"));
  EXPECT_TRUE(absl::IsAborted(ask("a").status()));
}

TEST_F(OutputTransferTest, WhatAConversionWroteGetsIntoItsFolder) {
  const absl::StatusOr<ConversionFolder> folder = ConversionFolder::Make(outputs_.incoming_folder());
  ASSERT_TRUE(folder.ok()) << folder.status();
  v1::Convert request;
  request.set_out(folder_.path() + "/1-model-7");
  gateway_.SetOutputs(OutputsOf(folder->ForNode(request)));
  EXPECT_EQ(Deliver(OutputOf(kConvertedModel), Written("1-model-7.py", "source")), absl::OkStatus());
  EXPECT_TRUE(absl::IsPermissionDenied(Deliver(OutputOf(3), Written("weights.pt", "w"))));
  v1::Converted converted;
  converted.add_files("1-model-7.py");
  const absl::StatusOr<v1::Converted> taken = folder->Take(converted, request.out());
  ASSERT_TRUE(taken.ok()) << taken.status();
  std::ifstream file(taken->files(0));
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), "source");
}

TEST_F(OutputTransferTest, WhatDoesNotRunLeavesNothing) {
  const std::string folder = Written("weights.pt", "w");
  EXPECT_TRUE(absl::IsPermissionDenied(Deliver(OutputOf(4), folder)));
  v1::OutputHeader other = OutputOf(3);
  other.set_assignment("of another head's life");
  EXPECT_TRUE(absl::IsNotFound(Deliver(other, folder)));
  // It was canceled while the bytes came.
  gateway_.SetOutputs(outputs_, absl::AbortedError("the trial was canceled"));
  EXPECT_TRUE(absl::IsAborted(Deliver(OutputOf(3), folder)));
  ExpectNothing();
}

TEST_F(OutputTransferTest, LiesLeaveNothing) {
  const std::string digest = Sha256("content");
  EXPECT_TRUE(absl::IsInvalidArgument(Say({})));
  EXPECT_TRUE(absl::IsInvalidArgument(Say({v1::OutputPart()})));
  EXPECT_TRUE(absl::IsInvalidArgument(Say({Bytes("content")})));
  EXPECT_TRUE(absl::IsInvalidArgument(Say({Header(7, digest), Header(7, digest)})));
  EXPECT_TRUE(absl::IsInvalidArgument(Say({Header(7, digest, "../../f"), Bytes("content")})));
  EXPECT_TRUE(absl::IsDataLoss(Say({Header(7, digest), Bytes("Content")}))) << "a false hash";
  EXPECT_TRUE(absl::IsDataLoss(Say({Header(7, digest), Bytes("conten")})));
  EXPECT_TRUE(absl::IsDataLoss(Say({Header(7, digest), Bytes("content!")})));
  EXPECT_TRUE(absl::IsResourceExhausted(Say({Header(int64_t{1} << 62, digest)})));
  ExpectNothing();
  EXPECT_EQ(Say({Header(7, digest), Bytes("con"), Bytes("tent")}), absl::OkStatus());
  EXPECT_EQ(Say({Header(7, digest), Bytes("content")}), absl::OkStatus()) << "once more";
}

TEST_F(OutputTransferTest, ACallThatIsCutLeavesNothing) {
  const auto stub =
      v1::NodeService::NewStub(grpc::CreateChannel(server_->address().ToText(), grpc::InsecureChannelCredentials()));
  grpc::ClientContext context;
  v1::DeliverOutputReply reply;
  const auto writer = stub->DeliverOutput(&context, &reply);
  writer->Write(Header(7, Sha256("content")));
  writer->Write(Bytes("con"));
  context.TryCancel();
  EXPECT_EQ(writer->Finish().error_code(), grpc::StatusCode::CANCELLED);
  // It is noticed before the server ends.
  server_.reset();
  ExpectNothing();
}

TEST_F(OutputTransferTest, AHeadThatCannotWriteSaysSo) {
  // As with a full disk: the folder cannot be made.
  std::ofstream(outputs_.folder() + "/incoming") << "in the way";
  const absl::Status status = Deliver(OutputOf(3), Written("weights.pt", "w"));
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
}

}  // namespace
}  // namespace lanista
