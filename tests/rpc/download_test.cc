// Exports that clients fetch from a head, over a real port.
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <limits>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "grpcpp/grpcpp.h"
#include "protos/service.grpc.pb.h"
#include "src/base/sha256.h"
#include "src/base/work_queue.h"
#include "src/rpc/head_client.h"
#include "src/rpc/head_server.h"
#include "src/rpc/stream_writer.h"
#include "tests/service/service_testing.h"

namespace lanista {
namespace {

using ::testing::HasSubstr;

struct File {
  std::string name;
  std::string content;
};

class DownloadTest : public ServiceTest {
 protected:
  using Stream = grpc::ClientReader<v1::DownloadReply>;

  DownloadTest() {
    auto server = HeadServer::Start(*ParseAddress("127.0.0.1:0"), &experiments_);
    EXPECT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    server_->Open();
    stub_ = v1::ExperimentService::NewStub(
        grpc::CreateChannel(server_->address().ToText(), grpc::InsecureChannelCredentials()));
    Create("a-1");
    model_maker_.on_export_ = [this](const std::string&, const ModelMaker::ExportRequest& request,
                                     const std::string& out, const ModelMaker::Abandoned& abandoned) {
      return Export(request, out, abandoned);
    };
  }

  // From now on an export writes these files.
  void ExportFiles(std::vector<File> files, std::vector<std::string> warnings = {}) {
    files_ = std::move(files);
    warnings_ = std::move(warnings);
    endless_ = false;
  }

  // What an export does: goes on until nobody waits for it, or what ExportFiles says.
  absl::StatusOr<ModelMaker::Exported> Export(const ModelMaker::ExportRequest& request, const std::string& out,
                                              const ModelMaker::Abandoned& abandoned) {
    if (endless_) {
      begun_.Give();
      while (!abandoned()) std::this_thread::yield();
      given_up_.Give();
      return absl::CancelledError("nobody waits");
    }
    exported_ = request;
    out_ = out;
    ModelMaker::Exported exported;
    exported.warnings = warnings_;
    for (const File& file : files_) {
      exported.files.push_back(absl::StrCat(out, "/", file.name));
      std::ofstream(exported.files.back(), std::ios::binary) << file.content;
    }
    return exported;
  }

  static v1::DownloadRequest Request() {
    v1::DownloadRequest request;
    request.set_experiment("a-1");
    return request;
  }

  // What a client gets; its error where it gets one.
  absl::Status Download(const v1::DownloadRequest& request, std::vector<v1::DownloadReply>* replies) {
    HeadClient client(server_->address());
    return client.Download(request, [replies](const v1::DownloadReply& reply) {
      replies->push_back(reply);
      return absl::OkStatus();
    });
  }
  absl::Status Download(const v1::DownloadRequest& request) {
    std::vector<v1::DownloadReply> replies;
    return Download(request, &replies);
  }

  std::atomic<bool> endless_{true};
  Signal begun_, given_up_;
  std::vector<File> files_;
  std::vector<std::string> warnings_;
  // Of the last export that wrote files.
  ModelMaker::ExportRequest exported_;
  std::string out_;
  std::unique_ptr<HeadServer> server_;
  std::unique_ptr<v1::ExperimentService::Stub> stub_;
};

TEST_F(DownloadTest, WarningsThenTheListThenTheBytesOfAllFiles) {
  // Not in the order of their names; one of several messages, and an empty one.
  const std::vector<File> files = {{"1-model-30.py", std::string((1 << 20) + 7, 'x')},
                                   {"1-model-30.pt", std::string("\0\1weights", 9)},
                                   {"10-model-2.py", ""},
                                   {"2-model-1.py", "last"}};
  ExportFiles(files, {"weights of model 1: caf\xc3\xa9", "not \xff UTF-8"});
  v1::DownloadRequest request = Request();
  request.set_top(3);
  request.set_format("python");
  request.set_untrained(true);
  std::vector<v1::DownloadReply> replies;
  const absl::Status status = Download(request, &replies);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(exported_.top, 3);
  EXPECT_EQ(exported_.format, "python");
  EXPECT_TRUE(exported_.untrained);

  ASSERT_GE(replies.size(), 4u);
  EXPECT_EQ(replies[0].warning(), "weights of model 1: caf\xc3\xa9");
  EXPECT_THAT(replies[1].warning(), HasSubstr("UTF-8"));
  const v1::DownloadList& list = replies[2].list();
  ASSERT_EQ(list.files_size(), 4);
  std::string expected, content;
  for (int i = 0; i < 4; ++i) {
    const File& file = files[static_cast<size_t>(i)];
    EXPECT_EQ(list.files(i).name(), file.name);
    EXPECT_EQ(list.files(i).size(), static_cast<int64_t>(file.content.size()));
    EXPECT_EQ(list.files(i).sha256(), Sha256Bytes(Sha256(file.content)));
    expected += file.content;
  }
  for (size_t i = 3; i < replies.size(); ++i) {
    EXPECT_LE(replies[i].content().size(), size_t{256} << 10);
    content += replies[i].content();
  }
  EXPECT_TRUE(content == expected);
}

TEST_F(DownloadTest, NothingStaysAtTheHead) {
  ExportFiles({{"1-model-3.json", "{}"}});
  ASSERT_TRUE(Download(Request()).ok());
  EXPECT_EQ(exported_.top, 1);
  EXPECT_EQ(exported_.format, "json");
  EXPECT_FALSE(exported_.untrained);
  // Ends all calls, and does what their ends left to do.
  server_.reset();
  EXPECT_NE(out_, "");
  EXPECT_FALSE(std::filesystem::exists(out_));
}

TEST_F(DownloadTest, WhatIsWrongIsSaidInTheWordsOfAnExportHere) {
  ExportFiles({{"1-model-3.json", "{}"}});
  v1::DownloadRequest request = Request();
  for (const int top : {0, -1, 1001, std::numeric_limits<int>::max()}) {
    request.set_top(top);
    const absl::Status status = Download(request);
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("top: must be from 1 to 1000"));
  }
  request = Request();
  request.set_experiment("nobody");
  EXPECT_TRUE(absl::IsNotFound(Download(request)));
  // Words and codes of the one who makes it come as they are.
  for (const absl::Status& said :
       {absl::InvalidArgumentError("unknown format 'word'"), absl::FailedPreconditionError("weights were not kept"),
        absl::UnimplementedError("onnx has no such operator"), absl::ResourceExhaustedError("9 wait already"),
        absl::InternalError("it was ended by signal 11")}) {
    model_maker_.on_export_ = [&said](const std::string&, const ModelMaker::ExportRequest&, const std::string&,
                                      const ModelMaker::Abandoned&) { return said; };
    EXPECT_EQ(Download(Request()), said);
  }
  // A file that was announced and is not there.
  model_maker_.on_export_ = [](const std::string&, const ModelMaker::ExportRequest&, const std::string& out,
                               const ModelMaker::Abandoned&) {
    ModelMaker::Exported exported;
    exported.files = {out + "/1-model-3.json"};
    return exported;
  };
  EXPECT_TRUE(absl::IsInternal(Download(Request())));
}

TEST_F(DownloadTest, AClientThatGoesEndsWhatIsDoneForIt) {
  grpc::ClientContext context;
  const std::unique_ptr<Stream> stream = stub_->Download(&context, Request());
  begun_.Wait();
  EXPECT_FALSE(given_up_.given());
  context.TryCancel();
  given_up_.Wait();
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::CANCELLED);
  // A client that does not like what comes goes, too.
  ExportFiles({{"1-model-3.json", std::string(8 << 20, 'x')}});
  HeadClient client(server_->address());
  EXPECT_EQ(client.Download(Request(), [](const v1::DownloadReply&) { return absl::DataLossError("no"); }),
            absl::DataLossError("no"));
  server_.reset();
  EXPECT_FALSE(std::filesystem::exists(out_));
}

TEST_F(DownloadTest, TheHeadEndsWhileItExports) {
  grpc::ClientContext context;
  const std::unique_ptr<Stream> stream = stub_->Download(&context, Request());
  begun_.Wait();
  server_->Close();
  given_up_.Wait();
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_TRUE(absl::IsUnavailable(Download(Request())));
}

TEST_F(DownloadTest, SoManyExportAtATimeAndNothingElseWaits) {
  constexpr int kMost = 8;
  std::vector<std::unique_ptr<grpc::ClientContext>> contexts;
  std::vector<std::unique_ptr<Stream>> streams;
  for (int i = 0; i < kMost; ++i) {
    contexts.push_back(std::make_unique<grpc::ClientContext>());
    streams.push_back(stub_->Download(contexts.back().get(), Request()));
    begun_.Wait();
  }
  const absl::Status one_more = Download(Request());
  EXPECT_TRUE(absl::IsResourceExhausted(one_more)) << one_more;
  HeadClient client(server_->address());
  v1::GetExperimentRequest get;
  get.set_experiment("a-1");
  EXPECT_TRUE(client.Get(get).ok());
  for (const auto& context : contexts) context->TryCancel();
  for (const auto& stream : streams) EXPECT_FALSE(stream->Finish().ok());
  // Their places are free in a moment.
  ExportFiles({{"1-model-3.json", "{}"}});
  absl::Status next;
  do {
    next = Download(Request());
  } while (absl::IsResourceExhausted(next));
  EXPECT_TRUE(next.ok()) << next;
}

TEST_F(DownloadTest, AHeadWithoutATrialProgramSaysSo) {
  Experiments without(state_dir_, &runner_, &news_);
  auto server = HeadServer::Start(*ParseAddress("127.0.0.1:0"), &without);
  ASSERT_TRUE(server.ok()) << server.status();
  (*server)->Open();
  HeadClient client((*server)->address());
  const absl::Status status = client.Download(Request(), [](const v1::DownloadReply&) { return absl::OkStatus(); });
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
}

TEST(OldHeadTest, OneThatCannotExportSaysSo) {
  // It has no method of this name.
  v1::ExperimentService::Service old_service;
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  const std::unique_ptr<grpc::Server> old_head = builder.RegisterService(&old_service).BuildAndStart();
  HeadClient client(*ParseAddress(absl::StrCat("127.0.0.1:", port)));
  const absl::Status status = client.Download({}, [](const v1::DownloadReply&) { return absl::OkStatus(); });
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("older than this Lanista"));
}

// A service whose downloads never end by themselves, and are given up after a moment in which nobody takes anything.
class EndlessService : public v1::ExperimentService::CallbackService {
 public:
  explicit EndlessService(WorkQueue* queue) : queue_(*queue) {}

  Signal ended_;

 private:
  grpc::ServerWriteReactor<v1::DownloadReply>* Download(grpc::CallbackServerContext* context,
                                                        const v1::DownloadRequest*) override {
    using Writer = StreamWriter<v1::DownloadReply>;
    const std::shared_ptr<Writer> writer = Writer::Start(&queue_);
    writer->LimitWrites(context, std::chrono::milliseconds(50));
    const std::shared_ptr<void> end(nullptr, [this](void*) { ended_.Give(); });
    writer->SetMake([end](v1::DownloadReply* reply) -> absl::StatusOr<Writer::Made> {
      reply->set_content(std::string(1 << 20, 'x'));
      return Writer::Made::kWrite;
    });
    writer->Wake();
    return writer.get();
  }

  WorkQueue& queue_;
};

TEST(StreamWriterTest, AClientThatTakesNothingIsGivenUp) {
  WorkQueue queue(1, 0);
  EndlessService service(&queue);
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  const std::unique_ptr<grpc::Server> server = builder.RegisterService(&service).BuildAndStart();
  const auto stub = v1::ExperimentService::NewStub(
      grpc::CreateChannel(absl::StrCat("127.0.0.1:", port), grpc::InsecureChannelCredentials()));
  grpc::ClientContext context;
  const auto stream = stub->Download(&context, {});
  // It never reads: the call ends nevertheless.
  service.ended_.Wait();
  v1::DownloadReply reply;
  while (stream->Read(&reply)) EXPECT_EQ(reply.content().size(), 1u << 20);
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::CANCELLED);
}

}  // namespace
}  // namespace lanista
