#include "src/config/data_paths.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "google/protobuf/text_format.h"
#include "protos/experiment.pb.h"
#include "src/config/config.h"
#include "src/config/data_folders.h"
#include "src/config/paths.h"
#include "src/config/validate.h"

namespace lanista {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

v1::ExperimentConfig Parse(const std::string& text) {
  v1::ExperimentConfig config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &config)) << text;
  return config;
}

v1::ExperimentConfig WithTable(const std::string& path) {
  return Parse("space { registered: 'net' } strategy { random {} } evaluator { table { path: '" + path + "' } }");
}

TEST(DataPathTest, HasANameAndWhatIsInItsFolder) {
  for (const auto& [path, name, sub] :
       {std::tuple("data://mnist", "mnist", ""), std::tuple("data://mnist/", "mnist", ""),
        std::tuple("data://mnist/train/a.csv", "mnist", "train/a.csv"),
        std::tuple("data://image-net_2.0/val/", "image-net_2.0", "val")}) {
    const auto parsed = ParseDataPath(path);
    ASSERT_TRUE(parsed.ok()) << path << ": " << parsed.status();
    EXPECT_EQ(parsed->name, name);
    EXPECT_EQ(parsed->sub, sub);
  }
  EXPECT_TRUE(IsDataPath("data://"));
  EXPECT_FALSE(IsDataPath("/data/mnist"));
  EXPECT_FALSE(IsDataPath("data:/mnist"));
}

TEST(DataPathTest, LeadsNowhereElse) {
  for (const std::string path :
       {"data://", "data:///mnist", "data://.", "data://..", "data://../x", "data://mnist/..", "data://mnist/a/../../b",
        "data://mnist/./a", "data://mnist//etc", "data://mn ist", "data://-x", "data://.x/a"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(ParseDataPath(path).status())) << path;
  }
  EXPECT_FALSE(ParseDataPath(std::string("data://mnist/a\0b", 16)).ok());
  EXPECT_FALSE(ParseDataPath("data://" + std::string(65, 'x')).ok());
  EXPECT_TRUE(ParseDataPath("data://" + std::string(64, 'x')).ok());
}

TEST(DataPathTest, MayStandInEachFieldThatTrialsRead) {
  EXPECT_EQ(FindViolation(WithTable("data://mnist/a.csv")), std::nullopt);
  const auto bad = FindViolation(WithTable("data://mnist/../a.csv"));
  ASSERT_TRUE(bad.has_value());
  EXPECT_EQ(bad->path, "evaluator.table.path");
  EXPECT_THAT(bad->message, HasSubstr("'..'"));
  const auto nul = FindViolation(WithTable("/a\\000b"));
  ASSERT_TRUE(nul.has_value());
  EXPECT_EQ(nul->path, "evaluator.table.path");
  // The head's own folder is none of a node's.
  v1::ExperimentConfig slurm = WithTable("/a.csv");
  slurm.add_training_service()->mutable_slurm()->set_folder("data://shared");
  const auto folder = FindViolation(slurm);
  ASSERT_TRUE(folder.has_value());
  EXPECT_EQ(folder->path, "training_service[0].slurm.folder");
}

TEST(DataPathTest, IsNotResolvedLikeAPath) {
  EXPECT_EQ(*ResolvePath("data://mnist/a", "/c"), "data://mnist/a");
  EXPECT_EQ(*ResolvePath("data://mnist/../a", "/c"), "data://mnist/../a") << "so that it is refused, and not read";
}

class DataFoldersTest : public ::testing::Test {
 protected:
  DataFoldersTest() {
    std::filesystem::remove_all(root_);
    std::filesystem::create_directories(root_ + "/mnist/small");
  }

  std::string Error(const std::vector<std::string>& options) const {
    return std::string(DataFolders::Parse(options, root_).status().message());
  }

  const std::string root_ =
      std::filesystem::canonical(::testing::TempDir()).string() + "/data_folders_" + std::to_string(getpid());
};

TEST_F(DataFoldersTest, GiveEachMachineItsOwnPath) {
  const auto folders = DataFolders::Parse({"mnist=mnist/", "small=" + root_ + "/mnist/small"}, root_);
  ASSERT_TRUE(folders.ok()) << folders.status();
  EXPECT_THAT(folders->names(), ElementsAre("mnist", "small"));
  EXPECT_EQ(folders->Here("data://mnist/train/a.csv"), root_ + "/mnist/train/a.csv");
  EXPECT_EQ(folders->Here("data://mnist"), root_ + "/mnist");
  EXPECT_EQ(folders->Here("data://other/a.csv"), "data://other/a.csv");
  EXPECT_EQ(folders->Here("data://mnist/../secret"), "data://mnist/../secret");
  EXPECT_EQ(folders->Here("/elsewhere"), "/elsewhere");
}

TEST_F(DataFoldersTest, AndTheWayBack) {
  const auto folders = DataFolders::Parse({"mnist=mnist", "small=mnist/small"}, root_);
  ASSERT_TRUE(folders.ok()) << folders.status();
  const std::string text = "cannot read " + root_ + "/mnist/small/a.csv";
  EXPECT_EQ(folders->Named(text, {"mnist", "small"}), "cannot read data://small/a.csv");
  EXPECT_EQ(folders->Named(text, {"mnist"}), "cannot read data://mnist/small/a.csv");
  EXPECT_EQ(folders->Named(text, {}), text) << "a path that was no data:// stays one";
}

TEST_F(DataFoldersTest, AreFoldersThatAreThere) {
  std::ofstream(root_ + "/file") << "x";
  EXPECT_THAT(Error({"mnist"}), HasSubstr("--data mnist: write NAME=DIR"));
  EXPECT_THAT(Error({"mnist="}), HasSubstr("write NAME=DIR"));
  EXPECT_THAT(Error({"=mnist"}), HasSubstr("--data =mnist: the name of data"));
  EXPECT_THAT(Error({"a/b=mnist"}), HasSubstr("the name of data"));
  EXPECT_THAT(Error({"mnist=none"}), HasSubstr("there is no folder " + root_ + "/none"));
  EXPECT_THAT(Error({"mnist=file"}), HasSubstr("there is no folder"));
  EXPECT_THAT(Error({"all=/"}), HasSubstr("there is no folder"));
  EXPECT_THAT(Error({"mnist=mnist", "mnist=mnist"}), HasSubstr("'mnist' is named twice"));
}

TEST_F(DataFoldersTest, WhatIsNotHereIsNamedWithItsField) {
  const auto folders = DataFolders::Parse({"mnist=mnist"}, root_);
  ASSERT_TRUE(folders.ok()) << folders.status();
  EXPECT_TRUE(folders->CheckHas(WithTable("data://mnist/a.csv")).ok());
  EXPECT_TRUE(folders->CheckHas(WithTable("/a.csv")).ok());
  const absl::Status missing = folders->CheckHas(WithTable("data://cifar/a.csv"));
  EXPECT_TRUE(absl::IsInvalidArgument(missing));
  EXPECT_THAT(std::string(missing.message()), HasSubstr("evaluator.table.path: nothing here has the data 'cifar'"));
  EXPECT_THAT(std::string(missing.message()), HasSubstr("--data cifar=DIR"));
}

}  // namespace
}  // namespace lanista
