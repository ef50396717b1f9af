#include "src/files/served_inputs.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <future>
#include <memory>
#include <vector>

#include "protos/graph.pb.h"
#include "src/base/sha256.h"
#include "src/base/sha256_stream.h"
#include "src/files/assignment_inputs.h"
#include "src/files/regular_file.h"
#include "src/graph/io.h"
#include "tests/files/files_testing.h"

namespace lanista {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ServedInputsTest : public ::testing::Test {
 protected:
  void Name(const std::string& path) { inputs_.add_paths(path); }

  absl::StatusOr<ServedInputs::SetPtr> List() {
    std::promise<absl::StatusOr<ServedInputs::SetPtr>> listed;
    served_.List(inputs_, here_, [&](absl::StatusOr<ServedInputs::SetPtr> set) { listed.set_value(std::move(set)); });
    return listed.get_future().get();
  }

  // The paths that are listed, without the test's folder.
  std::vector<std::string> Listed() {
    const auto set = List();
    EXPECT_TRUE(set.ok()) << set.status();
    std::vector<std::string> paths;
    for (const v1::InputFile& file : (*set)->files()) {
      EXPECT_EQ(file.sha256(), Sha256(Content(file.path())));
      EXPECT_EQ(file.size(), static_cast<int64_t>(Content(file.path()).size()));
      paths.push_back(file.path().substr(folder_.size()));
    }
    for (const std::string& folder : (*set)->folders()) paths.push_back(folder.substr(folder_.size()) + "/");
    return paths;
  }
  absl::StatusOr<std::string> Fetch(const std::string& sha256) {
    const absl::StatusOr<ServedInputs::SetPtr> set = List();
    if (!set.ok()) return set.status();
    absl::StatusOr<ServedFile> file = served_.Open(**set, sha256);
    if (!file.ok()) return file.status();
    std::string content;
    for (std::string piece;;) {
      const absl::StatusOr<bool> more = file->Next(&piece);
      if (!more.ok()) return more.status();
      if (!*more) return content;
      content += piece;
    }
  }

  const std::string folder_ = FreshFolder();
  v1::AssignmentInputs inputs_;
  // Who asks.
  std::shared_ptr<int> here_ = std::make_shared<int>(0);
  ServedInputs served_;
};

TEST(Sha256StreamTest, PiecesGiveTheDigestOfTheWhole) {
  Sha256Stream stream;
  for (const char* piece : {"", "ab", "c"}) stream.Add(piece);
  EXPECT_EQ(stream.Finish(), Sha256("abc"));
  EXPECT_TRUE(IsSha256(Sha256("")));
  EXPECT_FALSE(IsSha256(Sha256("").substr(1)));
  EXPECT_FALSE(IsSha256("../" + Sha256("").substr(3)));
}

TEST(Sha256StreamTest, TheReadingOfAFileCanBeGivenUp) {
  const std::string path = MakeFile(FreshFolder() + "/file", std::string(1 << 20, 'x'));
  const absl::StatusOr<UniqueFd> file = OpenRegularFile(path, nullptr);
  ASSERT_TRUE(file.ok()) << file.status();
  int asked = 0;
  const absl::Status stopped = Sha256OfFile(file->get(), path, [&] { return ++asked == 2; }).status();
  EXPECT_TRUE(absl::IsCancelled(stopped)) << stopped;
  EXPECT_EQ(asked, 2);
  EXPECT_EQ(Sha256OfFile(file->get(), path, [] { return false; }).value_or(""), Sha256(std::string(1 << 20, 'x')));
}

TEST_F(ServedInputsTest, WhatEndsReadsNothingMore) {
  inputs_.set_experiment("x");
  Name(MakeFile(folder_ + "/table.csv", "content"));
  served_.SetOpen(false);
  EXPECT_TRUE(absl::IsUnavailable(List().status()));
  served_.SetOpen(true);
  const absl::StatusOr<ServedInputs::SetPtr> set = List();
  ASSERT_TRUE(set.ok()) << set.status();
  // It has other times, and would be read again.
  MakeFile(folder_ + "/table.csv", "content");
  served_.SetOpen(false);
  EXPECT_TRUE(absl::IsUnavailable(served_.Open(**set, Sha256("content")).status()));
}

TEST_F(ServedInputsTest, WhatNobodyWaitsForIsNotRead) {
  inputs_.set_experiment("x");
  Name(MakeFile(folder_ + "/table.csv", "content"));
  here_ = nullptr;
  EXPECT_TRUE(absl::IsCancelled(List().status()));
  here_ = std::make_shared<int>(0);
  EXPECT_THAT(Listed(), ElementsAre("/table.csv"));
}

TEST_F(ServedInputsTest, AllWhoAskMeanwhileGetTheSameAnswer) {
  inputs_.set_experiment("x");
  Name(MakeFile(folder_ + "/table.csv", std::string(8 << 20, 'x')));
  constexpr int kNodes = 20;
  std::vector<std::promise<ServedInputs::SetPtr>> answers(kNodes);
  for (std::promise<ServedInputs::SetPtr>& answer : answers) {
    served_.List(inputs_, here_, [&](absl::StatusOr<ServedInputs::SetPtr> set) { answer.set_value(*set); });
  }
  const ServedInputs::SetPtr first = answers[0].get_future().get();
  for (int i = 1; i < kNodes; ++i) EXPECT_EQ(answers[static_cast<size_t>(i)].get_future().get(), first);
}

TEST_F(ServedInputsTest, FilesAndFoldersAreListed) {
  MakeFile(folder_ + "/data/train/a/1.png", "1");
  MakeFile(folder_ + "/data/train/b/2.png", "2");
  std::filesystem::create_directories(folder_ + "/data/train/empty");
  std::filesystem::create_symlink(folder_ + "/data/train/a", folder_ + "/data/linked");
  mkfifo((folder_ + "/data/pipe").c_str(), 0600);
  MakeFile(folder_ + "/table.csv", "x");
  MakeFile(folder_ + "/other.csv", "not named");
  Name(folder_ + "/data/");
  Name(folder_ + "/gone/../table.csv");
  Name(folder_ + "/missing");
  EXPECT_THAT(Listed(),
              ElementsAre("/data/linked/1.png", "/data/train/a/1.png", "/data/train/b/2.png", "/table.csv", "/data/",
                          "/data/linked/", "/data/train/", "/data/train/a/", "/data/train/b/", "/data/train/empty/"));
}

TEST_F(ServedInputsTest, WhatNobodyMayReadIsNoMatterOfOthers) {
  MakeFile(folder_ + "/data/1.png", "1");
  // Root reads everything, but for what cannot be opened.
  std::filesystem::create_directories(folder_ + "/data/lost+found");
  MakeFile(folder_ + "/data/private", "private");
  chmod((folder_ + "/data/lost+found").c_str(), 0);
  chmod((folder_ + "/data/private").c_str(), 0);
  Name(folder_ + "/data");
  const bool is_root = geteuid() == 0;
  if (is_root) {
    EXPECT_THAT(Listed(), ElementsAre("/data/1.png", "/data/private", "/data/", "/data/lost+found/"));
  } else {
    EXPECT_THAT(Listed(), ElementsAre("/data/1.png", "/data/", "/data/lost+found/"));
    Name(folder_ + "/data/private");
    EXPECT_TRUE(absl::IsFailedPrecondition(List().status())) << "it is named by itself";
  }
  chmod((folder_ + "/data/lost+found").c_str(), 0700);
}

TEST_F(ServedInputsTest, APipeThatIsNamedAsAGraphIsNotOpened) {
  mkfifo((folder_ + "/graph.json").c_str(), 0600);
  Name(folder_ + "/graph.json");
  inputs_.add_graph_files(folder_ + "/graph.json");
  EXPECT_THAT(Listed(), IsEmpty());
}

TEST_F(ServedInputsTest, ArchivesOfGraphsAreListed) {
  v1::ModelGraph graph;
  graph.add_graphs();
  graph.add_archives()->set_path("weights/net.pt");
  graph.add_archives()->set_path(MakeFile(folder_ + "/elsewhere/net.pt", "far"));
  MakeFile(folder_ + "/weights/net.pt", "near");
  const std::string path = MakeFile(folder_ + "/net.textproto", graph::Write(graph, graph::Format::kText));
  v1::Discover request;
  request.mutable_space()->mutable_graph()->set_path(path);
  inputs_ = InputsOf(request);
  EXPECT_THAT(Listed(), ElementsAre("/elsewhere/net.pt", "/net.textproto", "/weights/net.pt"));
  EXPECT_TRUE((*List())->files()[1].is_graph());
  // Whoever reads it says what is wrong with it.
  MakeFile(path, "no graph");
  inputs_.set_experiment("another");
  EXPECT_THAT(Listed(), ElementsAre("/net.textproto"));
}

TEST_F(ServedInputsTest, PathsOfAllPartsAreInputs) {
  v1::TrialSpec spec;
  spec.set_experiment("x");
  EXPECT_THAT(InputsOf(spec).paths(), IsEmpty());
  spec.mutable_space()->mutable_torchscript()->set_path("/a.pt");
  spec.mutable_evaluator()->mutable_table()->set_path("/t.csv");
  EXPECT_THAT(InputsOf(spec).paths(), ElementsAre("/a.pt", "/t.csv"));
  EXPECT_THAT(InputsOf(spec).graph_files(), IsEmpty());
  EXPECT_EQ(InputsOf(spec).experiment(), "x");
}

TEST_F(ServedInputsTest, OnlyWhatIsListedIsSent) {
  const std::string large(1000000, 'l');
  Name(MakeFile(folder_ + "/large", large));
  Name(MakeFile(folder_ + "/empty", ""));
  MakeFile(folder_ + "/secret", "secret");
  EXPECT_EQ(Fetch(Sha256(large)).value(), large);
  EXPECT_EQ(Fetch(Sha256("")).value(), "");
  EXPECT_TRUE(absl::IsPermissionDenied(Fetch(Sha256("secret")).status()));
  EXPECT_TRUE(absl::IsPermissionDenied(Fetch(folder_ + "/secret").status()));
}

TEST_F(ServedInputsTest, AFileThatHasChangedIsNamed) {
  inputs_.set_experiment("x");
  const std::string path = MakeFile(folder_ + "/table.csv", "before");
  Name(path);
  EXPECT_EQ(Fetch(Sha256("before")).value(), "before");
  for (const bool gone : {false, true}) {
    if (gone) {
      std::filesystem::remove(path);
    } else {
      MakeFile(path, "after!");
    }
    const absl::Status changed = Fetch(Sha256("before")).status();
    EXPECT_TRUE(absl::IsFailedPrecondition(changed)) << changed;
    EXPECT_THAT(std::string(changed.message()), HasSubstr(path + " has changed"));
  }
  // The experiment's nodes all train on the same data.
  EXPECT_EQ((*List())->files()[0].sha256(), Sha256("before"));
  MakeFile(path, "before");
  EXPECT_EQ(Fetch(Sha256("before")).value(), "before") << "it was put back";
  MakeFile(path, "after!");
  inputs_.set_experiment("y");
  EXPECT_EQ(Fetch(Sha256("after!")).value(), "after!");
}

TEST_F(ServedInputsTest, AFileThatChangesWhileItIsSentIsNamed) {
  const std::string large(1000000, 'l');
  const std::string path = MakeFile(folder_ + "/large", large);
  Name(path);
  for (const std::string& other : {large.substr(1), large + "x"}) {
    MakeFile(path, large);
    absl::StatusOr<ServedFile> file = served_.Open(**List(), Sha256(large));
    ASSERT_TRUE(file.ok()) << file.status();
    std::string piece;
    ASSERT_TRUE(*file->Next(&piece));
    MakeFile(path, other);
    absl::StatusOr<bool> more = true;
    while (more.ok() && *more) more = file->Next(&piece);
    EXPECT_THAT(std::string(more.status().message()), HasSubstr(path + " has changed"));
  }
}

}  // namespace
}  // namespace lanista
