#include "src/launcher/received_export.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "src/base/sha256.h"
#include "tests/storage/storage_testing.h"

namespace lanista {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A file that comes.
struct Sent {
  std::string name;
  std::string content;
};

constexpr char kSource[] = "# written by Lanista";
constexpr char kWeights[] = "PK weights, written by Lanista";

class ReceivedExportTest : public ::testing::Test {
 protected:
  std::string Path(const std::string& name) const { return absl::StrCat(folder_, "/", name); }

  static v1::DownloadReply ListOf(const std::vector<Sent>& files) {
    v1::DownloadReply reply;
    reply.mutable_list();
    for (const Sent& file : files) {
      v1::DownloadFile& listed = *reply.mutable_list()->add_files();
      listed.set_name(file.name);
      listed.set_sha256(Sha256Bytes(Sha256(file.content)));
      listed.set_size(static_cast<int64_t>(file.content.size()));
    }
    return reply;
  }
  static v1::DownloadReply Content(const std::string& bytes) {
    v1::DownloadReply reply;
    reply.set_content(bytes);
    return reply;
  }

  // All of them, in pieces that end anywhere.
  absl::StatusOr<std::vector<std::string>> Receive(const std::string& format, const std::vector<Sent>& files,
                                                   size_t piece = 3) {
    ReceivedExport received(format, folder_, [this](const std::string& warning) { warnings_.push_back(warning); });
    absl::Status status = received.Take(ListOf(files));
    if (!status.ok()) return status;
    std::string bytes;
    for (const Sent& file : files) bytes += file.content;
    for (size_t at = 0; at < bytes.size(); at += piece) {
      status = received.Take(Content(bytes.substr(at, piece)));
      if (!status.ok()) return status;
    }
    return received.Finish();
  }

  // What lies in the folder, by name.
  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    std::error_code missing;
    for (std::filesystem::directory_iterator entry(folder_, missing), end; !missing && entry != end;
         entry.increment(missing)) {
      names.push_back(entry->path().filename().string());
    }
    std::sort(names.begin(), names.end());
    return names;
  }
  std::string Read(const std::string& name) const {
    std::ifstream file(Path(name), std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  }
  void Write(const std::string& name, const std::string& content) const {
    std::filesystem::create_directories(folder_);
    std::ofstream(Path(name)) << content;
  }

  TempFolder temp_;
  const std::string folder_ = temp_.path() + "/new/out";
  std::vector<std::string> warnings_;
};

TEST_F(ReceivedExportTest, TheFilesAreThereInTheOrderOfTheList) {
  const auto paths = Receive("python", {{"1-model-30.py", kSource},
                                        {"1-model-30.pt", kWeights},
                                        {"2-model-4.py", ""},
                                        {"2-model-4.pt", "four"},
                                        {"10-model-5.py", "five"}});
  ASSERT_TRUE(paths.ok()) << paths.status();
  EXPECT_THAT(*paths, ElementsAre(Path("1-model-30.py"), Path("1-model-30.pt"), Path("2-model-4.py"),
                                  Path("2-model-4.pt"), Path("10-model-5.py")));
  EXPECT_EQ(Read("1-model-30.py"), kSource);
  EXPECT_EQ(Read("1-model-30.pt"), kWeights);
  EXPECT_EQ(Read("2-model-4.py"), "");
  EXPECT_EQ(Read("2-model-4.pt"), "four");
  EXPECT_EQ(Read("10-model-5.py"), "five");
  EXPECT_EQ(Names().size(), 5u);
}

TEST_F(ReceivedExportTest, WarningsAreHandedOn) {
  ReceivedExport received("onnx", folder_, [this](const std::string& warning) { warnings_.push_back(warning); });
  for (const char* warning : {"first", "second"}) {
    v1::DownloadReply reply;
    reply.set_warning(warning);
    EXPECT_TRUE(received.Take(reply).ok());
  }
  EXPECT_THAT(warnings_, ElementsAre("first", "second"));
  EXPECT_TRUE(absl::IsDataLoss(received.Finish().status())) << "no file came";
}

TEST_F(ReceivedExportTest, AnEarlierExportIsReplacedAndNothingElse) {
  Write("1-model-3.py", "# an older one, written by Lanista");
  ASSERT_TRUE(Receive("python", {{"1-model-3.py", kSource}}).ok());
  EXPECT_EQ(Read("1-model-3.py"), kSource);

  Write("2-model-4.py", "# my own");
  const absl::Status refused =
      Receive("python", {{"1-model-3.py", "# newer, written by Lanista"}, {"2-model-4.py", kSource}}).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()),
              HasSubstr(Path("2-model-4.py") + " is not replaced: Lanista did not write it"));
  EXPECT_EQ(Read("1-model-3.py"), kSource) << "nothing is written before all of it may be";
  EXPECT_EQ(Read("2-model-4.py"), "# my own");

  std::filesystem::remove(Path("2-model-4.py"));
  std::filesystem::create_directory(Path("2-model-4.py"));
  EXPECT_TRUE(absl::IsInvalidArgument(Receive("python", {{"2-model-4.py", kSource}}).status()));
}

TEST_F(ReceivedExportTest, OtherBytesThanWereAnnouncedReplaceNothing) {
  Write("1-model-3.py", kSource);
  const std::string newer = "# newer, written by Lanista";
  {
    ReceivedExport other("python", folder_, nullptr);
    ASSERT_TRUE(other.Take(ListOf({{"1-model-3.py", newer}})).ok());
    const absl::Status status = other.Take(Content("# Newer, written by Lanista"));
    EXPECT_TRUE(absl::IsDataLoss(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("SHA-256"));
  }
  EXPECT_EQ(Read("1-model-3.py"), kSource);
  {
    ReceivedExport cut("python", folder_, nullptr);
    ASSERT_TRUE(cut.Take(ListOf({{"1-model-3.py", newer}, {"2-model-4.py", "x"}})).ok());
    ASSERT_TRUE(cut.Take(Content(newer)).ok());
    EXPECT_TRUE(absl::IsDataLoss(cut.Finish().status()));
  }
  EXPECT_EQ(Read("1-model-3.py"), newer) << "a model that came as a whole stays";
  EXPECT_THAT(Names(), ElementsAre("1-model-3.py")) << "nothing unfinished is left";
  ReceivedExport more("python", folder_, nullptr);
  ASSERT_TRUE(more.Take(ListOf({{"1-model-3.py", newer}})).ok());
  const absl::Status status = more.Take(Content(newer + "!"));
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("more than it has announced"));
  EXPECT_EQ(Read("1-model-3.py"), newer);
}

TEST_F(ReceivedExportTest, AModelsFilesComeTogetherOrNotAtAll) {
  {
    ReceivedExport received("python", folder_, nullptr);
    ASSERT_TRUE(received.Take(ListOf({{"1-model-3.py", "source"}, {"1-model-3.pt", "weights"}})).ok());
    ASSERT_TRUE(received.Take(Content("sourceweight")).ok());
    EXPECT_FALSE(std::filesystem::exists(Path("1-model-3.py")));
  }
  EXPECT_THAT(Names(), IsEmpty());
}

TEST_F(ReceivedExportTest, WhatAHeadCannotMeanIsRefusedBeforeAnythingIsWritten) {
  for (const std::string& name :
       {std::string("../1-model-3.py"), std::string("/etc/passwd"), std::string(""), std::string("."),
        std::string(".."), std::string(".bashrc"), std::string("1-model-3"), std::string("1-model-3.py/x"),
        std::string("x/1-model-3.py"), std::string("01-model-3.py"), std::string("-1-model-3.py"),
        std::string("1-model-.py"), std::string("1-model-99999999999.py"), std::string("1-model-3.p\0y", 13),
        "1-model-3." + std::string(300, 'x')}) {
    const absl::Status status = Receive("python", {{name, "x"}}).status();
    EXPECT_TRUE(absl::IsDataLoss(status)) << name << ": " << status;
  }
  EXPECT_TRUE(absl::IsDataLoss(Receive("python", {}).status()));
  EXPECT_TRUE(absl::IsDataLoss(Receive("python", {{"1-model-3.py", "x"}, {"1-model-3.py", "x"}}).status()));
  v1::DownloadReply no_digest = ListOf({{"1-model-3.py", "x"}});
  no_digest.mutable_list()->mutable_files(0)->set_sha256("short");
  v1::DownloadReply negative = ListOf({{"1-model-3.py", "x"}});
  negative.mutable_list()->mutable_files(0)->set_size(-1);
  for (const v1::DownloadReply& first : {no_digest, negative, Content("no list"), v1::DownloadReply()}) {
    ReceivedExport received("python", folder_, nullptr);
    EXPECT_TRUE(absl::IsDataLoss(received.Take(first))) << first.ShortDebugString();
  }
  EXPECT_FALSE(std::filesystem::exists(folder_));
  ReceivedExport twice("python", folder_, nullptr);
  ASSERT_TRUE(twice.Take(ListOf({{"1-model-3.py", "x"}})).ok());
  EXPECT_TRUE(absl::IsDataLoss(twice.Take(ListOf({{"2-model-4.py", "x"}}))));
}

}  // namespace
}  // namespace lanista
