#include "src/storage/find_experiment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "tests/storage/storage_testing.h"

namespace lanista {
namespace {

using ::testing::HasSubstr;

class FindExperimentTest : public ::testing::Test {
 protected:
  // An experiment with a journal. Each is created a moment after the one before it.
  void Make(const std::string& id) {
    v1::ExperimentCreated created;
    created.set_experiment(id);
    ASSERT_TRUE(JournalWriter::Create(*state_dir_.ExperimentFolder(id), created).ok());
  }

  std::string Find(const std::string& text) {
    const absl::StatusOr<std::string> id = FindExperiment(state_dir_, text);
    return id.ok() ? *id : absl::StrCat(absl::StatusCodeToString(id.status().code()), ": ", id.status().message());
  }

  TempFolder folder_;
  const StateDir state_dir_ = StateDir::OpenReadOnly(folder_.path());
};

TEST_F(FindExperimentTest, AnIdIsItself) {
  Make("digits-abcd");
  Make("digits-abcde");
  EXPECT_EQ(Find("digits-abcd"), "digits-abcd");
}

TEST_F(FindExperimentTest, AFolderWithoutAJournalIsFoundByItsWholeId) {
  std::filesystem::create_directories(*state_dir_.ExperimentFolder("broken-1"));
  EXPECT_EQ(Find("broken-1"), "broken-1");
  EXPECT_THAT(Find("broken"), HasSubstr("NOT_FOUND: there is no experiment 'broken'"));
}

TEST_F(FindExperimentTest, ABeginningNamesTheOnlyOneThatHasIt) {
  Make("digits-abcd");
  Make("digits-axyz");
  Make("mnist-abcd");
  EXPECT_EQ(Find("m"), "mnist-abcd");
  EXPECT_EQ(Find("digits-ab"), "digits-abcd");
  EXPECT_EQ(Find("dig"),
            "INVALID_ARGUMENT: 'dig' is the beginning of the ids of 2 experiments: digits-abcd, digits-axyz");
  EXPECT_THAT(Find("x"), HasSubstr("NOT_FOUND: there is no experiment 'x'"));
}

TEST_F(FindExperimentTest, LatestIsTheOneThatWasCreatedLast) {
  EXPECT_THAT(Find("latest"), HasSubstr("NOT_FOUND: there is no experiment that can be read"));
  Make("b");
  Make("a");
  // Its journal cannot be read: when it was created is unknown.
  std::filesystem::create_directories(*state_dir_.ExperimentFolder("c"));
  std::ofstream(*state_dir_.ExperimentFolder("c") + "/journal.db") << "no database";
  EXPECT_EQ(Find("latest"), "a");
}

TEST_F(FindExperimentTest, NothingElseReachesTheFileSystem) {
  EXPECT_THAT(Find("../x"), HasSubstr("INVALID_ARGUMENT: '../x' cannot be an experiment's id"));
  EXPECT_THAT(Find(""), HasSubstr("INVALID_ARGUMENT"));
}

}  // namespace
}  // namespace lanista
