// Files that clients bring to a head, over a real port.
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "grpcpp/grpcpp.h"
#include "protos/service.grpc.pb.h"
#include "src/base/sha256.h"
#include "src/rpc/head_client.h"
#include "src/rpc/head_server.h"
#include "src/service/uploads.h"
#include "tests/service/service_testing.h"

namespace lanista {
namespace {

using ::testing::HasSubstr;

class UploadTest : public ServiceTest {
 protected:
  using Stream = grpc::ClientReaderWriter<v1::UploadRequest, v1::UploadReply>;

  UploadTest() {
    Uploads::Options limits;
    limits.max_bytes = 8 << 20;
    uploads_ = *Uploads::Open(state_dir_, limits);
    Experiments::Options options;
    options.uploads = uploads_.get();
    with_uploads_ = std::make_unique<Experiments>(state_dir_, &runner_, &news_, options);
    auto server = HeadServer::Start(*ParseAddress("127.0.0.1:0"), with_uploads_.get());
    EXPECT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    server_->Open();
    stub_ = v1::ExperimentService::NewStub(
        grpc::CreateChannel(server_->address().ToText(), grpc::InsecureChannelCredentials()));
  }

  static v1::UploadList ListOf(const std::vector<std::string>& contents) {
    v1::UploadList list;
    for (const std::string& content : contents) {
      v1::UploadFile& file = *list.add_files();
      file.set_path(absl::StrCat(list.files_size(), "/file"));
      file.set_sha256(Sha256Bytes(Sha256(content)));
      file.set_size(static_cast<int64_t>(content.size()));
    }
    return list;
  }
  static bool SendList(Stream& stream, const v1::UploadList& list) {
    v1::UploadRequest request;
    *request.mutable_list() = list;
    request.mutable_list()->set_complete(true);
    return stream.Write(request);
  }
  // Files in a folder of the head's.
  int Count(const std::string& folder) const {
    int count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(state_dir_.root() + "/uploads/" + folder)) {
      count += entry.exists() ? 1 : 0;
    }
    return count;
  }

  std::unique_ptr<Uploads> uploads_;
  std::unique_ptr<Experiments> with_uploads_;
  std::unique_ptr<HeadServer> server_;
  std::unique_ptr<v1::ExperimentService::Stub> stub_;
};

TEST_F(UploadTest, WhatAClientSendsMayStandInItsConfiguration) {
  HeadClient client(server_->address());
  // Small ones, one of several messages, and an empty one.
  const std::vector<std::string> contents = {"one", std::string(3 << 20, 'x'), "", "four"};
  std::vector<int> read;
  const auto send = [&] {
    read.clear();
    return client.Upload(ListOf(contents), [&](int file, const auto& take) {
      read.push_back(file);
      take(contents[static_cast<size_t>(file)]);
      return absl::OkStatus();
    });
  };
  const auto folder = send();
  ASSERT_TRUE(folder.ok()) << folder.status();
  EXPECT_EQ(std::filesystem::file_size(*folder + "/2/file"), 3u << 20);
  EXPECT_EQ(std::filesystem::file_size(*folder + "/3/file"), 0u);
  EXPECT_EQ(*send(), *folder);
  EXPECT_TRUE(read.empty()) << "it is there";

  v1::CreateExperimentRequest create;
  *create.mutable_config() = SmallConfig();
  create.mutable_config()->mutable_evaluator()->mutable_table()->set_path(*folder + "/1/file");
  EXPECT_TRUE(client.Create(create).ok());
  create.mutable_config()->mutable_evaluator()->mutable_table()->set_path("/home/me/table.csv");
  const absl::Status bare = client.Create(create).status();
  EXPECT_TRUE(absl::IsInvalidArgument(bare)) << bare;
  EXPECT_THAT(std::string(bare.message()), HasSubstr("evaluator.table.path: '/home/me/table.csv'"));
  v1::ValidateExperimentRequest validate;
  *validate.mutable_config() = create.config();
  EXPECT_TRUE(absl::IsInvalidArgument(client.Validate(validate).status()));
}

TEST_F(UploadTest, WhatIsRefusedIsSaid) {
  HeadClient client(server_->address());
  const auto send = [&](const v1::UploadList& list, const std::string& bytes) {
    return client.Upload(list, [&](int, const auto& take) {
      take(bytes);
      return absl::OkStatus();
    });
  };
  EXPECT_TRUE(absl::IsDataLoss(send(ListOf({"one"}), "two").status()));
  v1::UploadList large = ListOf({"one"});
  large.mutable_files(0)->set_size(100 << 20);
  const absl::Status too_large = send(large, "one").status();
  EXPECT_TRUE(absl::IsResourceExhausted(too_large)) << too_large;
  EXPECT_THAT(std::string(too_large.message()), HasSubstr("data://NAME/sub"));
  v1::UploadList elsewhere = ListOf({"one"});
  elsewhere.mutable_files(0)->set_path("../../marker");
  EXPECT_TRUE(absl::IsInvalidArgument(send(elsewhere, "one").status()));
  // A file that cannot be read here ends it, too.
  EXPECT_TRUE(absl::IsNotFound(
      client.Upload(ListOf({"one"}), [](int, const auto&) { return absl::NotFoundError("gone"); }).status()));

  grpc::ClientContext context;
  const auto stream = stub_->Upload(&context);
  v1::UploadRequest content;
  content.set_content("no list");
  stream->Write(content);
  v1::UploadReply reply;
  EXPECT_FALSE(stream->Read(&reply));
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(uploads_->bytes(), 0);
}

TEST_F(UploadTest, AClientThatVanishesLeavesNothing) {
  {
    grpc::ClientContext context;
    const auto stream = stub_->Upload(&context);
    ASSERT_TRUE(SendList(*stream, ListOf({"one and more"})));
    v1::UploadReply reply;
    ASSERT_TRUE(stream->Read(&reply));
    v1::UploadRequest content;
    content.set_content("one");
    ASSERT_TRUE(stream->Write(content));
    context.TryCancel();
    stream->Finish();
  }
  {
    // It says that it has sent everything.
    grpc::ClientContext context;
    const auto stream = stub_->Upload(&context);
    ASSERT_TRUE(SendList(*stream, ListOf({"one and more"})));
    stream->WritesDone();
    v1::UploadReply reply;
    while (stream->Read(&reply)) EXPECT_TRUE(reply.has_wanted());
    EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::CANCELLED);
  }
  // Ends all calls.
  server_.reset();
  EXPECT_EQ(Count("unfinished"), 0);
  EXPECT_EQ(Count("files"), 0);
  EXPECT_EQ(Count("sets"), 0);
}

TEST_F(UploadTest, SoManyComeAtATime) {
  constexpr int kMost = 16;
  std::vector<std::unique_ptr<grpc::ClientContext>> contexts;
  std::vector<std::unique_ptr<Stream>> streams;
  v1::UploadReply reply;
  for (int i = 0; i < kMost; ++i) {
    contexts.push_back(std::make_unique<grpc::ClientContext>());
    streams.push_back(stub_->Upload(contexts.back().get()));
    ASSERT_TRUE(SendList(*streams.back(), ListOf({absl::StrCat("file ", i)})));
    ASSERT_TRUE(streams.back()->Read(&reply)) << i;
  }
  grpc::ClientContext context;
  const auto one_more = stub_->Upload(&context);
  EXPECT_FALSE(one_more->Read(&reply));
  EXPECT_EQ(one_more->Finish().error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  // One that ends makes room for the next.
  v1::UploadRequest content;
  content.set_content("file 0");
  ASSERT_TRUE(streams[0]->Write(content));
  ASSERT_TRUE(streams[0]->Read(&reply));
  EXPECT_TRUE(reply.has_folder());
  EXPECT_TRUE(streams[0]->Finish().ok());
  for (int i = 1; i < kMost; ++i) contexts[static_cast<size_t>(i)]->TryCancel();
  for (int i = 1; i < kMost; ++i) streams[static_cast<size_t>(i)]->Finish();
}

}  // namespace
}  // namespace lanista
