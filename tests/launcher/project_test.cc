#include "src/launcher/project.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace lanista {
namespace {

namespace fs = std::filesystem;

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class ProjectTest : public ::testing::Test {
 protected:
  ProjectTest() : root_(::testing::TempDir() + "/project_test") {
    fs::remove_all(root_);
    fs::create_directories(root_);
  }
  ~ProjectTest() override { fs::remove_all(root_); }

  // The names of the files in `folder`, sorted.
  std::vector<std::string> Files(const std::string& folder) const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename().string());
    std::sort(names.begin(), names.end());
    return names;
  }

  static std::string Read(const std::string& path) {
    std::ifstream file(path);
    return std::string(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }

  // A folder that looks like Lanista's sources.
  std::string Source() const {
    fs::create_directories(root_ + "/source/third_party");
    std::ofstream(root_ + "/source/third_party/deps.bzl") << "\n";
    return root_ + "/source";
  }

  const std::string root_;
};

TEST_F(ProjectTest, IsBuiltByCMake) {
  const auto project = WriteProject({root_ + "/a/nas-mnist", "cmake", ""});
  ASSERT_TRUE(project.ok()) << project.status();
  EXPECT_EQ(project->name, "nas_mnist");
  EXPECT_THAT(Files(root_ + "/a/nas-mnist"), ElementsAre(".gitignore", "CMakeLists.txt", "README.md", "dataset.cc",
                                                         "evaluator.cc", "experiment.textproto", "main.cc",
                                                         "own_parts.textproto", "space.cc", "strategy.cc", "tests.cc"));
  EXPECT_EQ(project->files.size(), 11u);
  EXPECT_THAT(project->commands, Contains("build/nas_mnist run experiment.textproto"));
  EXPECT_THAT(Read(root_ + "/a/nas-mnist/CMakeLists.txt"),
              AllOf(HasSubstr("find_package(Lanista"), HasSubstr("add_executable(nas_mnist main.cc)")));
}

TEST_F(ProjectTest, SaysWhereLanistaIsInstalled) {
  const auto project = WriteProject({root_ + "/my", "cmake", "", "/opt/lanista"});
  ASSERT_TRUE(project.ok()) << project.status();
  EXPECT_THAT(project->commands, Contains("cmake -B build -DCMAKE_PREFIX_PATH=/opt/lanista"));
  EXPECT_THAT(Read(root_ + "/my/README.md"), HasSubstr("cmake -B build -DCMAKE_PREFIX_PATH=/opt/lanista"));
}

TEST_F(ProjectTest, IsBuiltByBazel) {
  const auto project = WriteProject({root_ + "/my", "bazel", Source()});
  ASSERT_TRUE(project.ok()) << project.status();
  EXPECT_THAT(Files(root_ + "/my"), ElementsAre(".bazelrc", ".gitignore", "BUILD", "README.md", "WORKSPACE",
                                                "dataset.cc", "evaluator.cc", "experiment.textproto", "main.cc",
                                                "own_parts.textproto", "space.cc", "strategy.cc", "tests.cc"));
  EXPECT_THAT(Read(root_ + "/my/WORKSPACE"), HasSubstr("path = \"" + Source() + "\""));
  EXPECT_THAT(Read(root_ + "/my/BUILD"), HasSubstr("name = \"my\""));
}

TEST_F(ProjectTest, HasNoWordLeftToReplace) {
  for (const char* tool : {"cmake", "bazel"}) {
    const auto project = WriteProject({root_ + "/" + tool, tool, Source()});
    ASSERT_TRUE(project.ok()) << project.status();
    for (const std::string& file : project->files) {
      EXPECT_THAT(Read(file), AllOf(Not(HasSubstr("@NAME@")), Not(HasSubstr("@PROGRAM@")), Not(HasSubstr("@SOURCE@")),
                                    Not(HasSubstr("@BUILD_COMMANDS@"))))
          << file;
      EXPECT_NE(Read(file), "") << file;
    }
  }
}

TEST_F(ProjectTest, NamesThatNoProgramCanHaveAreReplaced) {
  for (const char* folder : {"2nd", "parts", "_x", "test", "clean", "lanista", "é"}) {
    const auto project = WriteProject({root_ + "/" + folder, "cmake", ""});
    ASSERT_TRUE(project.ok()) << project.status();
    EXPECT_EQ(project->name, "my_search") << folder;
  }
  const auto slash = WriteProject({root_ + "/deep/", "cmake", ""});
  ASSERT_TRUE(slash.ok()) << slash.status();
  EXPECT_EQ(slash->name, "deep");
}

TEST_F(ProjectTest, AFolderThatHoldsSomethingIsLeftAlone) {
  ASSERT_TRUE(WriteProject({root_ + "/mine", "cmake", ""}).ok());
  std::ofstream(root_ + "/mine/main.cc") << "changed";
  EXPECT_THAT(std::string(WriteProject({root_ + "/mine", "cmake", ""}).status().message()),
              HasSubstr("is not empty; name a new folder"));
  EXPECT_EQ(Read(root_ + "/mine/main.cc"), "changed");
  std::ofstream(root_ + "/file") << "x";
  EXPECT_THAT(std::string(WriteProject({root_ + "/file", "cmake", ""}).status().message()), HasSubstr("is no folder"));
}

TEST_F(ProjectTest, BazelNeedsTheSources) {
  EXPECT_THAT(std::string(WriteProject({root_ + "/b", "bazel", ""}).status().message()),
              HasSubstr("needs --source DIR"));
  EXPECT_THAT(std::string(WriteProject({root_ + "/b", "bazel", root_}).status().message()),
              HasSubstr("is not the folder of Lanista's sources"));
  EXPECT_FALSE(fs::exists(root_ + "/b"));
}

}  // namespace
}  // namespace lanista
