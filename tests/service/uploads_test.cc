#include "src/service/uploads.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "src/base/sha256.h"
#include "src/service/path_stamp.h"
#include "tests/service/service_testing.h"

namespace lanista {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Files = std::vector<std::pair<std::string, std::string>>;

v1::UploadList ListOf(const Files& files) {
  v1::UploadList list;
  for (const auto& [path, content] : files) {
    v1::UploadFile& file = *list.add_files();
    file.set_path(path);
    file.set_sha256(Sha256Bytes(Sha256(content)));
    file.set_size(static_cast<int64_t>(content.size()));
  }
  return list;
}

class UploadsTest : public ServiceTest {
 protected:
  UploadsTest() { Start(); }

  void Start(Uploads::Options options = Forgetful()) {
    auto uploads = Uploads::Open(state_dir_, options);
    ASSERT_TRUE(uploads.ok()) << uploads.status();
    uploads_ = *std::move(uploads);
  }
  // Keeps nothing that nobody names.
  static Uploads::Options Forgetful() {
    Uploads::Options options;
    options.grace = absl::ZeroDuration();
    return options;
  }

  // Uploads all that is wanted; returns the folder.
  absl::StatusOr<std::string> Send(const Files& files) {
    auto upload = uploads_->Begin(ListOf(files));
    if (!upload.ok()) return upload.status();
    std::string bytes;
    for (const int file : (*upload)->wanted()) bytes += files[static_cast<size_t>(file)].second;
    const absl::Status written = (*upload)->Write(bytes);
    if (!written.ok()) return written;
    EXPECT_TRUE((*upload)->complete());
    return (*upload)->Finish();
  }
  static std::string Content(const std::string& path) {
    std::ostringstream content;
    content << std::ifstream(path).rdbuf();
    return content.str();
  }
  static v1::ExperimentConfig WithTable(const std::string& path) {
    v1::ExperimentConfig config = SmallConfig();
    config.mutable_evaluator()->mutable_table()->set_path(path);
    return config;
  }
  int CountFiles(const std::string& folder) const {
    int count = 0;
    for (const auto& entry : fs::directory_iterator(state_dir_.root() + "/uploads/" + folder)) {
      count += entry.exists() ? 1 : 0;
    }
    return count;
  }
  static std::string Error(const absl::Status& status, absl::StatusCode code) {
    EXPECT_EQ(status.code(), code) << status;
    return std::string(status.message());
  }

  std::unique_ptr<Uploads> uploads_;
};

TEST_F(UploadsTest, WhatWasListedIsThereUnderItsNames) {
  const Files files = {{"0/a.csv", "one"}, {"1/images/cat/1.png", "two"}, {"1/images/cat/2.png", "two"}, {"1/e", ""}};
  v1::UploadList list = ListOf(files);
  list.add_folders("1/images/dog");
  auto upload = uploads_->Begin(list);
  ASSERT_TRUE(upload.ok()) << upload.status();
  EXPECT_THAT((*upload)->wanted(), ElementsAre(0, 1, 3)) << "equal files are sent once";
  // In whatever pieces it comes.
  for (const char* piece : {"on", "et", "wo"}) ASSERT_TRUE((*upload)->Write(piece).ok());
  ASSERT_TRUE((*upload)->complete());
  const auto folder = (*upload)->Finish();
  ASSERT_TRUE(folder.ok()) << folder.status();
  for (const auto& [path, content] : files) EXPECT_EQ(Content(*folder + "/" + path), content) << path;
  EXPECT_TRUE(fs::is_directory(*folder + "/1/images/dog"));
  struct stat info = {};
  ASSERT_EQ(stat((*folder + "/0/a.csv").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0222u, 0u) << "trials cannot write to it";
  EXPECT_EQ(uploads_->bytes(), 6);
}

TEST_F(UploadsTest, WhatIsThereIsNotSentAgain) {
  Start({});
  const std::string first = *Send({{"0/a", "one"}, {"1/b", "two"}});
  EXPECT_TRUE((*uploads_->Begin(ListOf({{"0/x", "two"}, {"1/y", "one"}})))->wanted().empty());
  const Files reversed = {{"1/b", "two"}, {"0/a", "one"}};
  EXPECT_EQ(*Send(reversed), first) << "the same files are one set";
  EXPECT_NE(*Send({{"0/a", "two"}, {"1/b", "one"}}), first);
  EXPECT_EQ(uploads_->bytes(), 6);
  // An upload that was lost half way has brought its first file.
  {
    auto lost = *uploads_->Begin(ListOf({{"0/c", "three"}, {"1/d", "four"}}));
    ASSERT_TRUE(lost->Write("threefo").ok());
  }
  EXPECT_EQ(CountFiles("unfinished"), 0);
  EXPECT_THAT((*uploads_->Begin(ListOf({{"0/c", "three"}, {"1/d", "four"}})))->wanted(), ElementsAre(1));
}

TEST_F(UploadsTest, OtherBytesAreRefused) {
  auto upload = *uploads_->Begin(ListOf({{"0/a.csv", "one"}}));
  EXPECT_THAT(Error(upload->Write("two"), absl::StatusCode::kDataLoss), HasSubstr("'0/a.csv' came with another"));
  upload = *uploads_->Begin(ListOf({{"0/a.csv", "one"}}));
  EXPECT_THAT(Error(upload->Write("one more"), absl::StatusCode::kInvalidArgument), HasSubstr("more than the list"));
  upload.reset();
  EXPECT_EQ(CountFiles("unfinished"), 0);
  EXPECT_EQ(CountFiles("sets"), 0);
}

TEST_F(UploadsTest, PathsThatLeadElsewhereAreRefused) {
  const std::vector<std::string> bad = {
      "", "/etc/passwd", "..", "../a", "a/../../b", "a//b", "a/", "./a", std::string("a\0b", 3), std::string(300, 'x')};
  for (const std::string& path : bad) {
    EXPECT_EQ(uploads_->Begin(ListOf({{path, "x"}})).status().code(), absl::StatusCode::kInvalidArgument) << path;
    v1::UploadList folder;
    folder.add_folders(path);
    EXPECT_EQ(uploads_->Begin(folder).status().code(), absl::StatusCode::kInvalidArgument) << path;
  }
  EXPECT_FALSE(uploads_->Begin(ListOf({{"a", "x"}, {"a", "y"}})).ok()) << "twice";
  EXPECT_FALSE(uploads_->Begin(ListOf({{"a", "x"}, {"a/b", "y"}})).ok()) << "a file and a folder";
  v1::UploadList list = ListOf({{"a", "x"}});
  list.mutable_files(0)->set_sha256("short");
  EXPECT_FALSE(uploads_->Begin(list).ok());
  list = ListOf({{"a", "x"}});
  list.mutable_files(0)->set_size(-1);
  EXPECT_FALSE(uploads_->Begin(list).ok());
}

TEST_F(UploadsTest, TooMuchIsRefusedBeforeItComes) {
  Uploads::Options options = Forgetful();
  options.max_bytes = 10;
  options.max_total_bytes = 15;
  Start(options);
  const std::string too_large =
      Error(uploads_->Begin(ListOf({{"0/a", "12345678901"}})).status(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(too_large, HasSubstr("--upload-limit"));
  EXPECT_THAT(too_large, HasSubstr("data://NAME/sub"));
  v1::UploadList liar = ListOf({{"0/a", "1"}, {"0/b", "2"}});
  for (v1::UploadFile& file : *liar.mutable_files()) file.set_size(std::numeric_limits<int64_t>::max());
  EXPECT_EQ(uploads_->Begin(liar).status().code(), absl::StatusCode::kResourceExhausted);

  // What others are sending counts, too.
  auto first = *uploads_->Begin(ListOf({{"0/a", "1234567890"}}));
  EXPECT_THAT(Error(uploads_->Begin(ListOf({{"0/b", "123456"}})).status(), absl::StatusCode::kResourceExhausted),
              HasSubstr("--upload-space"));
  first.reset();
  EXPECT_TRUE(Send({{"0/b", "123456"}}).ok());
  // What nobody names makes room.
  EXPECT_TRUE(Send({{"0/a", "1234567890"}}).ok());
}

TEST_F(UploadsTest, ASetGoesWithTheLastExperimentThatNamesIt) {
  const std::string folder = *Send({{"0/a.csv", "one"}});
  const v1::ExperimentConfig config = WithTable(folder + "/0/a.csv");
  for (const char* id : {"x-1", "x-2"}) {
    ASSERT_TRUE(state_dir_.MakeExperimentFolder(id).value());
    uploads_->Keep(config, id);
  }
  uploads_->Sweep();
  EXPECT_TRUE(uploads_->Has(folder + "/0/a.csv"));
  fs::remove_all(Folder("x-1"));
  uploads_->Sweep();
  EXPECT_EQ(Content(folder + "/0/a.csv"), "one");
  fs::remove_all(Folder("x-2"));
  uploads_->Sweep();
  EXPECT_FALSE(fs::exists(folder));
  EXPECT_EQ(CountFiles("files"), 0);
  EXPECT_EQ(uploads_->bytes(), 0);
}

TEST_F(UploadsTest, WhatWasNamedGoesAtOnceAndWhatWasNotStaysAWhile) {
  Start({});
  const std::string folder = *Send({{"0/a.csv", "one"}});
  uploads_->Sweep();
  EXPECT_TRUE(fs::exists(folder)) << "its client is about to name it";
  ASSERT_TRUE(state_dir_.MakeExperimentFolder("x-1").value());
  uploads_->Keep(WithTable(folder + "/0/a.csv"), "x-1");
  fs::remove_all(Folder("x-1"));
  uploads_->Sweep();
  EXPECT_FALSE(fs::exists(folder));
  EXPECT_EQ(uploads_->bytes(), 0);
}

TEST_F(UploadsTest, WhatIsNamedStaysWhereThatCannotBeNoted) {
  const std::string folder = *Send({{"0/a.csv", "one"}});
  const std::string users = fs::path(folder).parent_path() / "users";
  fs::remove(users);
  std::ofstream(users) << "in the way";
  ASSERT_TRUE(state_dir_.MakeExperimentFolder("x-1").value());
  uploads_->Keep(WithTable(folder + "/0/a.csv"), "x-1");
  uploads_->Sweep();
  EXPECT_EQ(Content(folder + "/0/a.csv"), "one");
  // One that has gone needs no note.
  ASSERT_TRUE(state_dir_.MakeExperimentFolder("x-2").value());
  uploads_->Keep(WithTable(folder + "/0/a.csv"), "x-2");
  fs::remove_all(Folder("x-2"));
  fs::remove(users);
  fs::create_directory(users);
  uploads_->Sweep();
  EXPECT_TRUE(fs::exists(users + "/x-1"));
  EXPECT_FALSE(fs::exists(users + "/x-2"));
  fs::remove_all(Folder("x-1"));
  uploads_->Sweep();
  EXPECT_FALSE(fs::exists(folder));
  EXPECT_EQ(CountFiles("unfinished"), 0);
}

TEST_F(UploadsTest, AHeadThatBeginsKnowsWhatExperimentsName) {
  const std::string folder = *Send({{"0/a.csv", "one"}});
  ASSERT_NE(*Send({{"0/b.csv", "two"}}), folder) << "which nobody names";
  // Recorded, and the head was killed before it noted what the experiment names.
  ASSERT_TRUE(state_dir_.MakeExperimentFolder("x-1").value());
  v1::ExperimentCreated created;
  created.set_experiment("x-1");
  *created.mutable_config() = WithTable(folder + "/0/a.csv");
  ASSERT_TRUE(JournalWriter::Create(Folder("x-1"), created).ok());
  std::ofstream(state_dir_.root() + "/uploads/unfinished/7") << "half";
  Start();
  EXPECT_EQ(Content(folder + "/0/a.csv"), "one");
  EXPECT_EQ(CountFiles("sets"), 1);
  EXPECT_EQ(CountFiles("files"), 1);
  EXPECT_EQ(CountFiles("unfinished"), 0);
  EXPECT_EQ(uploads_->bytes(), 3);
}

TEST_F(UploadsTest, OnlyPathsInSetsAreUploads) {
  const std::string folder = *Send({{"0/a.csv", "one"}});
  const std::string set = fs::path(folder).parent_path().string();
  EXPECT_TRUE(uploads_->Has(folder + "/0/a.csv"));
  EXPECT_TRUE(uploads_->Has(folder + "/0"));
  for (const std::string& path : {folder + "/0/b.csv", folder + "/../users", folder + "/0/../../users", set + "/users",
                                  state_dir_.root() + "/marker", std::string("/etc/passwd"), std::string("a.csv")}) {
    EXPECT_FALSE(uploads_->Has(path)) << path;
  }
}

class SentPathsTest : public UploadsTest {
 protected:
  absl::Status Create(const std::string& path, const std::vector<v1::PathStamp>& shared = {}) {
    Experiments::Options options;
    options.uploads = uploads_.get();
    Experiments experiments(state_dir_, &runner_, &news_, options);
    v1::CreateExperimentRequest request;
    *request.mutable_config() = WithTable(path);
    for (const v1::PathStamp& stamp : shared) *request.add_shared_paths() = stamp;
    return experiments.Create(request).status();
  }
};

TEST_F(SentPathsTest, ABarePathIsRefusedAndBothWaysAreNamed) {
  const std::string path = temp_.path() + "/a.csv";
  std::ofstream(path) << "x,default\n";
  const std::string error = Error(Create(path), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(error, HasSubstr("evaluator.table.path: '" + path + "'"));
  EXPECT_THAT(error, HasSubstr("submit"));
  EXPECT_THAT(error, HasSubstr("data://NAME/sub"));
  EXPECT_THAT(error, HasSubstr("--data NAME=DIR"));
  EXPECT_TRUE(Create("data://tables/a.csv").ok());
  EXPECT_TRUE(Create(*Send({{"0/a.csv", "one"}}) + "/0/a.csv").ok());
  EXPECT_FALSE(Create(state_dir_.root() + "/uploads/sets/x/data/0/a.csv").ok());
}

TEST_F(SentPathsTest, WhatBothSeeNeedNotTravel) {
  const std::string path = temp_.path() + "/a.csv";
  std::ofstream(path) << "x,default\n";
  const auto stamp = StampOf(path);
  ASSERT_TRUE(stamp.ok()) << stamp.status();
  EXPECT_TRUE(Create(path, {*stamp}).ok());
  EXPECT_EQ(runner_.config_.evaluator().table().path(), path);
  EXPECT_FALSE(Create(temp_.path() + "/b.csv", {*stamp}).ok()) << "of another file";
  v1::PathStamp other = *stamp;
  other.set_inode(stamp->inode() + 1);
  EXPECT_FALSE(Create(path, {other}).ok()) << "another file under this path";
  std::ofstream(path) << "x,default\n1,2\n";
  EXPECT_FALSE(Create(path, {*stamp}).ok()) << "it has changed";
}

TEST_F(SentPathsTest, AClientLearnsWhatTheHeadSees) {
  Experiments::Options options;
  options.uploads = uploads_.get();
  Experiments experiments(state_dir_, &runner_, &news_, options);
  v1::FindPathsRequest request;
  *request.add_paths() = *StampOf(temp_.path());
  request.add_paths()->set_path("/no/such/file");
  request.add_paths()->set_path("relative");
  const auto reply = experiments.FindPaths(request);
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_THAT(reply->found(), ElementsAre(true, false, false));
  EXPECT_EQ(reply->upload_limit(), int64_t{1} << 30);
  for (int i = 0; i < 100; ++i) request.add_paths();
  EXPECT_EQ(experiments.FindPaths(request).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(SentPathsTest, WhereNobodyCanUploadThatIsSaid) {
  EXPECT_EQ(experiments_.BeginUpload(ListOf({})).status().code(), absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace lanista
