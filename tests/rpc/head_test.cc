// A head's port and its clients, over real connections, with real journals.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "grpcpp/grpcpp.h"
#include "nlohmann/json.hpp"
#include "protos/service.grpc.pb.h"
#include "src/rpc/channel.h"
#include "src/rpc/head_client.h"
#include "src/rpc/head_server.h"
#include "src/views/document_parts.h"
#include "src/views/documents.h"
#include "src/views/trials_document.h"
#include "tests/rpc/raw_call.h"
#include "tests/rpc/sockets.h"
#include "tests/service/service_testing.h"

namespace lanista {
namespace {

using ::testing::HasSubstr;

class HeadTest : public ServiceTest {
 protected:
  HeadTest() {
    auto server = HeadServer::Start(*ParseAddress("127.0.0.1:0"), &experiments_);
    EXPECT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    server_->Open();
  }

  const Address& address() const { return server_->address(); }

  std::unique_ptr<v1::ExperimentService::Stub> Stub(int max_reply_bytes = 4 << 20) const {
    grpc::ChannelArguments arguments;
    arguments.SetMaxReceiveMessageSize(max_reply_bytes);
    // A connection of its own.
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    return v1::ExperimentService::NewStub(
        grpc::CreateCustomChannel(address().ToText(), grpc::InsecureChannelCredentials(), arguments));
  }

  // Numbers of all events behind `after` until the end, on a thread.
  std::future<std::vector<int64_t>> Follow(const std::string& id, int64_t after, Signal* first = nullptr) {
    return std::async(std::launch::async, [this, id, after, first] {
      HeadClient client(address());
      v1::WatchRequest request;
      request.set_experiment(id);
      request.set_after(after);
      std::vector<int64_t> numbers;
      const absl::Status status = client.Watch(request, [&](const v1::ExperimentEvent& event) {
        numbers.push_back(event.number());
        if (first != nullptr) first->Give();
        return true;
      });
      EXPECT_TRUE(status.ok()) << status;
      return numbers;
    });
  }

  std::unique_ptr<HeadServer> server_;
};

TEST_F(HeadTest, AnswersAsTheServiceDoesAndKeepsItsCodes) {
  HeadClient client(address());
  v1::CreateExperimentRequest create;
  *create.mutable_config() = SmallConfig();
  create.set_request_id("r");
  EXPECT_EQ(client.Create(create)->experiment(), "made-r");
  create.mutable_config()->set_max_trial_number(0);
  const absl::Status wrong = client.Create(create).status();
  EXPECT_TRUE(absl::IsInvalidArgument(wrong)) << wrong;
  EXPECT_THAT(std::string(wrong.message()), HasSubstr("max_trial_number: "));
  v1::ValidateExperimentRequest validate;
  *validate.mutable_config() = SmallConfig();
  EXPECT_EQ(client.Validate(validate)->space().fingerprint(), "for 0");
  v1::GetExperimentRequest get;
  get.set_experiment("nobody");
  EXPECT_TRUE(absl::IsNotFound(client.Get(get).status()));
  v1::ListTrialsRequest trials;
  trials.set_experiment("nobody");
  EXPECT_TRUE(absl::IsNotFound(client.ListTrials(trials).status()));
}

TEST_F(HeadTest, CallsThatWaitForADeviceEndWithTheirClientsAndHoldUpNobody) {
  constexpr int kMost = 16;
  std::atomic<int> waiting{0}, begun{0};
  Signal all_wait;
  runner_.on_validate_ = [&](const ExperimentRunner::Abandoned& abandoned) -> absl::StatusOr<v1::Validated> {
    ++begun;
    if (++waiting == kMost) all_wait.Give();
    while (!abandoned()) std::this_thread::yield();
    --waiting;
    return absl::CancelledError("nobody waits");
  };
  v1::ValidateExperimentRequest validate;
  *validate.mutable_config() = SmallConfig();
  std::vector<grpc::ClientContext> contexts(kMost);
  std::vector<std::future<grpc::Status>> answers;
  const auto stub = Stub();
  for (grpc::ClientContext& context : contexts) {
    answers.push_back(std::async(std::launch::async, [&] {
      v1::ValidateExperimentReply reply;
      return stub->Validate(&context, validate, &reply);
    }));
  }
  all_wait.Wait();
  HeadClient client(address());
  const absl::Status refused = client.Validate(validate).status();
  EXPECT_TRUE(absl::IsResourceExhausted(refused)) << refused;
  Create("a-1");
  Write("a-1", "records { state { state: RUNNING } }");
  Release("a-1");
  v1::ResumeExperimentRequest resume;
  resume.set_experiment("a-1");
  runner_.on_resume_ = [this] {
    Hold("a-1");
    Write("a-1", "records { state { state: RUNNING } }");
  };
  const absl::Status resumed = client.Resume(resume).status();
  EXPECT_TRUE(resumed.ok()) << resumed;
  v1::StopExperimentRequest stop;
  stop.set_experiment("a-1");
  EXPECT_TRUE(client.Stop(stop).status().ok());
  for (grpc::ClientContext& context : contexts) context.TryCancel();
  for (std::future<grpc::Status>& answer : answers) EXPECT_EQ(answer.get().error_code(), grpc::StatusCode::CANCELLED);
  while (waiting > 0) std::this_thread::yield();
  // Each thread lets go of its call a moment after it has answered.
  grpc::Status late;
  do {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(1));
    v1::ValidateExperimentReply reply;
    late = stub->Validate(&context, validate, &reply);
    // On a busy machine the time may be over before the head has heard of the call.
  } while (late.error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED || begun == kMost);
  EXPECT_EQ(late.error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  while (waiting > 0) std::this_thread::yield();
  runner_.on_validate_ = nullptr;
  EXPECT_TRUE(client.Validate(validate).ok());
}

TEST_F(HeadTest, DocumentsAreThoseOfTheStateFolder) {
  for (int i = 0; i < 120; ++i) Create(absl::StrCat("x-", i));
  Create("a-1");
  for (int model = 1; model <= 50; ++model) WriteModel("a-1", model);
  // Pages of the trials are cut by size.
  const std::string long_text(100000, 'x');
  for (int model = 51; model <= 80; ++model) {
    Write("a-1", absl::StrCat("records { model { model: ", model, " } } records { outcome { model: ", model,
                              " outcome: FAILED failure { reason: EXCEPTION message: '", long_text, "' } } }"));
  }
  Write("a-1", "records { state { state: DONE } }");
  HeadClient client(address());
  const auto reader = JournalReader::Open(Folder("a-1"));
  v1::GetExperimentRequest get;
  get.set_experiment("a");
  EXPECT_EQ(nlohmann::ordered_json::parse(client.Get(get)->json()), *ShowDocument(*reader));
  EXPECT_EQ(client.Get(get)->config().name(), "small");
  v1::ListTrialsRequest trials;
  trials.set_experiment("a");
  EXPECT_EQ(*client.ListTrials(trials), *TrialsDocument(*reader));
  trials.set_status("STOPPED_EARLY");
  EXPECT_EQ((*client.ListTrials(trials))["models"].size(), 0u);
  nlohmann::ordered_json listed = *client.ListAll(), here = *ListDocument(state_dir_);
  for (auto* const document : {&listed, &here}) {
    for (auto& entry : (*document)["experiments"]) entry.erase("seconds");
  }
  // Only a head knows what those wait for that it runs.
  for (auto& entry : here["experiments"]) {
    if (entry["status"] != "DONE") entry["waiting_for"] = "a device for " + entry["id"].get<std::string>();
  }
  EXPECT_EQ(listed, here);
}

TEST_F(HeadTest, EachWatcherGetsEverythingFromItsNumberOn) {
  Create("a-1");
  Write("a-1", "records { state { state: RUNNING } }");
  Signal first, second;
  auto from_begin = Follow("a-1", 0, &first);
  auto from_two = Follow("a-1", 1, &second);
  first.Wait();
  second.Wait();
  // More than one batch, from a thread of its own, while others watch.
  for (int model = 1; model <= 400; ++model) WriteModel("a-1", model);
  auto late = Follow("a-1", 100);
  Write("a-1", "records { state { state: DONE } }");
  std::vector<int64_t> all = AllNumbers("a-1");
  ASSERT_EQ(all.size(), 1203u);
  EXPECT_EQ(from_begin.get(), all);
  EXPECT_EQ(from_two.get(), std::vector<int64_t>(all.begin() + 1, all.end()));
  EXPECT_EQ(late.get(), std::vector<int64_t>(std::upper_bound(all.begin(), all.end(), 100), all.end()));
}

TEST_F(HeadTest, AWatcherThatDoesNotReadHoldsUpNobodyAndMissesNothing) {
  Create("a-1");
  Write("a-1", "records { state { state: RUNNING } }");
  const auto stub = Stub();
  grpc::ClientContext context;
  v1::WatchRequest request;
  request.set_experiment("a-1");
  const auto slow = stub->Watch(&context, request);
  v1::WatchReply reply;
  ASSERT_TRUE(slow->Read(&reply));
  std::vector<int64_t> seen;
  const auto note = [&] {
    for (const v1::ExperimentEvent& event : reply.events()) seen.push_back(event.number());
  };
  note();
  // Tens of megabytes: far more than a connection buffers.
  const std::string long_text(100000, 'x');
  for (int model = 1; model <= 300; ++model) {
    Write("a-1", absl::StrCat("records { model { model: ", model, " } } records { outcome { model: ", model,
                              " outcome: FAILED failure { reason: EXCEPTION message: '", long_text, "' } } }"));
  }
  Write("a-1", "records { state { state: DONE } }");
  Release("a-1");
  const std::vector<int64_t> all = AllNumbers("a-1");
  EXPECT_EQ(Follow("a-1", 0).get(), all) << "while the other one does not read";
  while (slow->Read(&reply)) note();
  EXPECT_TRUE(slow->Finish().ok());
  EXPECT_EQ(seen, all);
}

TEST_F(HeadTest, ListsThatNobodyReadsAreFew) {
  Create("a-1");
  Write("a-1", "records { state { state: RUNNING } }");
  // Tens of megabytes: far more than a connection buffers.
  const std::string long_text(100000, 'x');
  for (int model = 1; model <= 300; ++model) {
    Write("a-1", absl::StrCat("records { model { model: ", model, " } } records { outcome { model: ", model,
                              " outcome: FAILED failure { reason: EXCEPTION message: '", long_text, "' } } }"));
  }
  v1::ListTrialsRequest request;
  request.set_experiment("a-1");
  struct Unread {
    grpc::ClientContext context;
    std::unique_ptr<grpc::ClientReader<v1::ListTrialsReply>> reader;
  };
  const auto stub = Stub();
  std::vector<std::unique_ptr<Unread>> unread;
  v1::ListTrialsReply reply;
  for (int i = 0; i < 8; ++i) {
    unread.push_back(std::make_unique<Unread>());
    unread.back()->reader = stub->ListTrials(&unread.back()->context, request);
    ASSERT_TRUE(unread.back()->reader->Read(&reply)) << i;
  }
  HeadClient client(address());
  EXPECT_TRUE(absl::IsResourceExhausted(client.ListTrials(request).status()));
  for (const auto& call : unread) {
    call->context.TryCancel();
    call->reader->Finish();
  }
  // The head hears of it in a moment.
  absl::StatusOr<nlohmann::ordered_json> document = absl::UnknownError("");
  do {
    document = client.ListTrials(request);
  } while (absl::IsResourceExhausted(document.status()));
  ASSERT_TRUE(document.ok()) << document.status();
  EXPECT_EQ((*document)["models"].size(), 300u);
}

TEST_F(HeadTest, WatchersThatGoLeaveNothingBehind) {
  Create("a-1");
  Write("a-1", "records { state { state: RUNNING } }");
  // More than there may be at a time.
  HeadClient client(address());
  v1::WatchRequest request;
  request.set_experiment("a-1");
  for (int i = 0; i < 1100; ++i) {
    int events = 0;
    const absl::Status status = client.Watch(request, [&events](const v1::ExperimentEvent&) { return ++events < 2; });
    ASSERT_TRUE(status.ok()) << i << ": " << status;
    ASSERT_EQ(events, 2);
  }
  WriteModel("a-1", 1);
  // One that waits for news when the head ends hears of it.
  Signal first;
  auto last = std::async(std::launch::async, [&] {
    return HeadClient(address()).Watch(request, [&first](const v1::ExperimentEvent&) {
      first.Give();
      return true;
    });
  });
  first.Wait();
  server_.reset();
  EXPECT_FALSE(last.get().ok());
}

TEST_F(HeadTest, AWatchOfWhatNobodyRunsIsAborted) {
  Create("a-1");
  Signal first;
  auto watch = std::async(std::launch::async, [&] {
    v1::WatchRequest request;
    request.set_experiment("a-1");
    return HeadClient(address()).Watch(request, [&first](const v1::ExperimentEvent&) {
      first.Give();
      return true;
    });
  });
  first.Wait();
  Release("a-1");
  const absl::Status status = watch.get();
  EXPECT_TRUE(absl::IsAborted(status)) << status;
}

TEST_F(HeadTest, ClientsOfAHeadThatEndsAreToComeAgain) {
  Create("a-1");
  HeadClient client(address());
  Signal first;
  auto watch = std::async(std::launch::async, [&] {
    v1::WatchRequest request;
    request.set_experiment("a-1");
    return client.Watch(request, [&first](const v1::ExperimentEvent&) {
      first.Give();
      return true;
    });
  });
  first.Wait();
  server_->Close();
  const absl::Status status = watch.get();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  // What it ran has no process any more: that is for the next head to say.
  Release("a-1");
  v1::WatchRequest request;
  request.set_experiment("a-1");
  const auto none = [](const v1::ExperimentEvent&) { return true; };
  int connected = 0;
  const auto count = [&connected] { ++connected; };
  EXPECT_TRUE(absl::IsUnavailable(HeadClient(Address{"127.0.0.1", 9}).Watch(request, none, count)));
  EXPECT_EQ(connected, 0) << "nobody listens there";
  EXPECT_TRUE(absl::IsUnavailable(client.Watch(request, none, count)));
  EXPECT_EQ(connected, 1) << "it refuses new calls, but it is there";
  EXPECT_TRUE(absl::IsUnavailable(client.List({}).status()));
  EXPECT_TRUE(absl::IsUnavailable(client.ListTrials({}).status()));
  server_->Open();
  EXPECT_TRUE(client.List({}).ok());
  EXPECT_TRUE(absl::IsAborted(client.Watch(request, none)));
}

TEST_F(HeadTest, ACreationThatWasLostIsAskedForAgainWhereThatMakesNoSecondOne) {
  HeadClient client(address());
  v1::CreateExperimentRequest create;
  *create.mutable_config() = SmallConfig();
  runner_.lost_creations_ = 5;
  EXPECT_TRUE(absl::IsUnavailable(client.Create(create).status()));
  EXPECT_EQ(runner_.lost_creations_, 4);
  create.set_request_id("r");
  EXPECT_EQ(client.Create(create)->experiment(), "made-r");
}

TEST_F(HeadTest, WhatIsNotGrpcOrTooLargeIsRefusedAndTheHeadGoesOn) {
  std::vector<int> connections;
  for (const std::string& garbage :
       {std::string("GET / HTTP/1.1\r\n\r\n"), std::string(100000, '\0'),
        std::string("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\xff\xff\xff\xff\xff\xff"), std::string("PRI * HTTP/2.0\r\n")}) {
    connections.push_back(ConnectTo(address().port));
    send(connections.back(), garbage.data(), garbage.size(), MSG_NOSIGNAL);
  }
  for (int i = 0; i < 200; ++i) connections.push_back(ConnectTo(address().port));

  v1::CreateExperimentRequest create;
  *create.mutable_config() = SmallConfig();
  create.mutable_config()->set_name(std::string(17 << 20, 'x'));
  HeadClient client(address());
  const absl::Status too_large = client.Create(create).status();
  EXPECT_TRUE(absl::IsResourceExhausted(too_large)) << too_large;
  create.mutable_config()->set_name("fine");
  create.clear_request_id();
  EXPECT_EQ(client.Create(create)->experiment(), "made-");
  for (const int connection : connections) close(connection);
}

TEST_F(HeadTest, ALongMessageArrives) {
  v1::GetExperimentRequest get;
  get.set_experiment(std::string(90, 'x') + "\xc3\xa9");
  EXPECT_TRUE(absl::IsInvalidArgument(HeadClient(address()).Get(get).status()));
  v1::ResumeExperimentRequest resume;
  Create("a-1");
  resume.set_experiment("a-1");
  std::string long_text;
  for (int i = 0; i < 5000; ++i) long_text += "\xc3\xa9";
  resume.add_set("max_trial_number=" + long_text);
  const absl::Status status = HeadClient(address()).Resume(resume).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
}

TEST_F(HeadTest, APortBelongsToOneHead) {
  const absl::Status second = HeadServer::Start(address(), &experiments_).status();
  EXPECT_TRUE(absl::IsUnavailable(second));
  EXPECT_THAT(std::string(second.message()), HasSubstr(address().ToText()));
}

TEST_F(HeadTest, WhereNoHeadIsTheClientSaysSo) {
  const Address gone = address();
  HeadClient client(gone);
  server_.reset();
  const absl::Status status = client.List({}).status();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("no head can be reached at " + gone.ToText()));
}

// What any gRPC tool can ask without our .proto files.
TEST_F(HeadTest, ToolsFindItsHealthAndItsServices) {
  const std::string service = "lanista.v1.ExperimentService";
  EXPECT_TRUE(Serves(address(), service));
  // ServerReflectionRequest.list_services: "*".
  const absl::StatusOr<std::string> services =
      CallRaw(*MakeChannel({address()}), "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", "\x3a\x01*");
  ASSERT_TRUE(services.ok()) << services.status();
  EXPECT_THAT(*services, HasSubstr(service));
}

TEST(AddressTest, IsAHostAndAPort) {
  for (const char* text : {"127.0.0.1:7421", "localhost:0", "[::1]:7421", "127.3.2.1:65535"}) {
    const auto address = ParseAddress(text);
    ASSERT_TRUE(address.ok()) << address.status();
    EXPECT_EQ(address->ToText(), text);
    EXPECT_TRUE(address->is_loopback()) << text;
  }
  for (const char* text : {"0.0.0.0:1", "head.example.org:7421", "[::]:1", "127.0.0.1.example.org:1", "10.0.0.1:1"}) {
    const auto address = ParseAddress(text);
    ASSERT_TRUE(address.ok()) << address.status();
    EXPECT_FALSE(address->is_loopback()) << text;
  }
  for (const char* text : {"", "7421", "localhost", "localhost:", ":7421", "localhost:65536", "localhost:-1",
                           "::1:7421", "localhost:x", "dns:///localhost:1", "/tmp/x:1"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(ParseAddress(text).status())) << text;
  }
}

}  // namespace
}  // namespace lanista
