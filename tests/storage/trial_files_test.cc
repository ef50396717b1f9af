#include "src/storage/trial_files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/storage/storage_testing.h"

namespace lanista {
namespace {

namespace fs = std::filesystem;

class JournalFilesTest : public ::testing::Test {
 protected:
  JournalFilesTest() {
    for (const std::string& folder : {own_, other_}) {
      fs::create_directory(folder);
      std::ofstream(folder + "/journal.db") << "journal";
    }
  }

  static struct stat StatOf(const std::string& path) {
    struct stat file = {};
    EXPECT_EQ(stat(path.c_str(), &file), 0) << path;
    return file;
  }

  const TempFolder temp_;
  const std::string own_ = temp_.path() + "/own", other_ = temp_.path() + "/other";
};

TEST_F(JournalFilesTest, HaveThoseOfAllExperimentsUnderAnyName) {
  std::ofstream(other_ + "/journal.db-wal") << "log";
  fs::create_hard_link(other_ + "/journal.db-wal", own_ + "/link");
  std::ofstream(own_ + "/weights.pt") << "weights";
  fs::create_hard_link(own_ + "/weights.pt", own_ + "/best.pt");
  JournalFiles journals(own_);
  EXPECT_TRUE(journals.Have(StatOf(own_ + "/journal.db")));
  EXPECT_TRUE(journals.Have(StatOf(own_ + "/link")));
  EXPECT_FALSE(journals.Have(StatOf(own_ + "/weights.pt")));
  EXPECT_FALSE(journals.Have(StatOf(own_ + "/best.pt")));
}

TEST_F(JournalFilesTest, LookOnceAtEachExperiment) {
  fs::create_hard_link(other_ + "/journal.db", own_ + "/link");
  JournalFiles journals(own_);
  ASSERT_TRUE(journals.Have(StatOf(own_ + "/link")));
  fs::remove_all(other_);
  EXPECT_TRUE(journals.Have(StatOf(own_ + "/link")));

  // It does not look for those that came later: each look takes a call of stat for each experiment.
  fs::create_directory(other_);
  std::ofstream(other_ + "/journal.db") << "journal";
  fs::create_hard_link(other_ + "/journal.db", own_ + "/late");
  EXPECT_FALSE(journals.Have(StatOf(own_ + "/late")));
  EXPECT_TRUE(JournalFiles(own_).Have(StatOf(own_ + "/late")));
}

}  // namespace
}  // namespace lanista
