#include "src/storage/state_dir.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <set>

#include "absl/strings/str_cat.h"
#include "src/storage/experiment_lock.h"
#include "src/storage/file_system.h"
#include "src/storage/journal.h"
#include "tests/storage/storage_testing.h"

namespace lanista {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;

TEST(StateDirTest, MakesTheFolderWithItsParents) {
  TempFolder temp;
  const auto state_dir = StateDir::Open(temp.path() + "/a/b");
  ASSERT_TRUE(state_dir.ok()) << state_dir.status();
  EXPECT_TRUE(fs::is_directory(temp.path() + "/a/b/experiments"));
  EXPECT_THAT(state_dir->List().value(), IsEmpty());
}

TEST(StateDirTest, NamesTheFolderThatCannotBeWritten) {
  TempFolder temp;
  std::ofstream(temp.path() + "/file") << "in the way";
  const absl::Status status = StateDir::Open(temp.path() + "/file/state").status();
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(std::string(status.message()), HasSubstr(temp.path() + "/file/state"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("--state-dir"));
}

TEST(StateDirTest, AReaderOfAMissingFolderSeesNoExperimentsAndMakesNothing) {
  TempFolder temp;
  EXPECT_THAT(StateDir::OpenReadOnly(temp.path() + "/none").List().value(), IsEmpty());
  EXPECT_FALSE(fs::exists(temp.path() + "/none"));
}

TEST(StateDirTest, MakesReadableUniqueIds) {
  TempFolder temp;
  const StateDir state_dir = StateDir::Open(temp.path()).value();
  std::set<std::string> ids;
  for (int i = 0; i < 100; ++i) ids.insert(state_dir.NewExperimentId("mnist_search").value());
  EXPECT_EQ(ids.size(), 100);
  EXPECT_THAT(*ids.begin(), MatchesRegex("mnist_search-[a-z0-9]{4}"));
}

TEST(StateDirTest, ARequestHasTheSameIdsEachTime) {
  std::set<std::string> ids;
  for (const char* request : {"a", "b"}) {
    for (int attempt = 0; attempt < 10; ++attempt) {
      const std::string id = StateDir::IdOfRequest("mnist search", request, attempt);
      EXPECT_THAT(id, MatchesRegex("mnist-search-[a-z0-9]{4}"));
      EXPECT_EQ(StateDir::IdOfRequest("mnist search", request, attempt), id);
      ids.insert(id);
    }
  }
  EXPECT_EQ(ids.size(), 20);
}

TEST(StateDirTest, AFolderIsMadeOnce) {
  TempFolder temp;
  const StateDir state_dir = StateDir::Open(temp.path()).value();
  EXPECT_TRUE(state_dir.MakeExperimentFolder("x-1").value());
  EXPECT_FALSE(state_dir.MakeExperimentFolder("x-1").value());
  EXPECT_FALSE(state_dir.MakeExperimentFolder("../x-1").ok());
}

TEST(StateDirTest, TurnsAnyNameIntoAnIdThatIsAllowed) {
  TempFolder temp;
  const StateDir state_dir = StateDir::Open(temp.path()).value();
  for (const std::string name : {"../../etc/passwd", "", "-rf", ".hidden", "a b\n\xc3\xa9", "....", "/"}) {
    const std::string id = state_dir.NewExperimentId(name).value();
    EXPECT_TRUE(CheckExperimentId(id).ok()) << id;
  }
  EXPECT_TRUE(CheckExperimentId(state_dir.NewExperimentId(std::string(5000, 'x')).value()).ok());
}

TEST(StateDirTest, RefusesIdsThatPlayTricksWithPaths) {
  TempFolder temp;
  const StateDir state_dir = StateDir::Open(temp.path()).value();
  for (const std::string id :
       {"", ".", "..", "../x", "a/b", "/etc", "a..b", "a\\b", "-x", ".x", "a\nb", "\xc3\xa9", "a b"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(state_dir.ExperimentFolder(id).status())) << id;
    EXPECT_TRUE(absl::IsInvalidArgument(RemoveExperiment(state_dir, id))) << id;
  }
  EXPECT_FALSE(state_dir.ExperimentFolder(std::string("a\0b", 3)).ok());
  EXPECT_FALSE(state_dir.ExperimentFolder(std::string(101, 'a')).ok());
  EXPECT_TRUE(state_dir.ExperimentFolder(std::string(100, 'a')).ok());
}

TEST(StateDirTest, ListsExperimentsThatHaveAJournal) {
  TempFolder temp;
  const StateDir state_dir = StateDir::Open(temp.path()).value();
  state_dir.NewExperimentId("empty").value();
  for (const char* id : {"b", "a"}) CreateJournal(state_dir.ExperimentFolder(id).value(), id);
  EXPECT_THAT(state_dir.List().value(), ElementsAre("a", "b"));
}

TEST(RemoveExperimentTest, RemovesTheFolderAndLeavesWhatLinksPointTo) {
  TempFolder temp;
  const StateDir state_dir = StateDir::Open(temp.path() + "/state").value();
  const std::string folder = state_dir.ExperimentFolder("a").value();
  CreateJournal(folder, "a");
  fs::create_directory(temp.path() + "/outside");
  std::ofstream(temp.path() + "/outside/precious") << "keep";
  fs::create_directory_symlink(temp.path() + "/outside", folder + "/trials");
  EXPECT_TRUE(RemoveExperiment(state_dir, "a").ok());
  EXPECT_FALSE(fs::exists(folder));
  EXPECT_TRUE(fs::exists(temp.path() + "/outside/precious"));
  EXPECT_TRUE(absl::IsNotFound(RemoveExperiment(state_dir, "a")));
}

TEST(RemoveExperimentTest, RefusesAnExperimentThatIsALink) {
  TempFolder temp;
  const StateDir state_dir = StateDir::Open(temp.path() + "/state").value();
  CreateJournal(temp.path() + "/outside", "a");
  fs::create_directory_symlink(temp.path() + "/outside", state_dir.ExperimentFolder("a").value());
  EXPECT_TRUE(absl::IsNotFound(RemoveExperiment(state_dir, "a")));
  EXPECT_TRUE(fs::exists(temp.path() + "/outside/journal.db"));
}

TEST(RemoveExperimentTest, IsRefusedWhileAProcessHoldsTheExperimentNamingIt) {
  TempFolder temp;
  const StateDir state_dir = StateDir::Open(temp.path()).value();
  const std::string folder = state_dir.ExperimentFolder("a").value();
  CreateJournal(folder, "a");
  const auto lock = ExperimentLock::Acquire(folder);
  ASSERT_TRUE(lock.ok());
  const absl::Status status = RemoveExperiment(state_dir, "a");
  EXPECT_TRUE(absl::IsFailedPrecondition(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr(absl::StrCat("process ", getpid())));
  EXPECT_TRUE(fs::exists(folder + "/journal.db"));
}

TEST(ExperimentLockTest, IsHeldOnceAndFreeAgainAfterwards) {
  TempFolder temp;
  EXPECT_EQ(ExperimentLock::Holder(temp.path()), std::nullopt);
  {
    auto lock = ExperimentLock::Acquire(temp.path());
    ASSERT_TRUE(lock.ok()) << lock.status();
    EXPECT_EQ(ExperimentLock::Holder(temp.path()), getpid());
    EXPECT_TRUE(absl::IsFailedPrecondition(ExperimentLock::Acquire(temp.path()).status()));
    const ExperimentLock moved = *std::move(lock);
    EXPECT_EQ(ExperimentLock::Holder(temp.path()), getpid());
  }
  EXPECT_EQ(ExperimentLock::Holder(temp.path()), std::nullopt);
  EXPECT_TRUE(ExperimentLock::Acquire(temp.path()).ok());
}

TEST(ExperimentLockTest, KnowsThatItsFileWasRemoved) {
  const TempFolder temp;
  const auto lock = ExperimentLock::Acquire(temp.path());
  ASSERT_TRUE(lock.ok());
  EXPECT_TRUE(lock->Check().ok());
  ASSERT_TRUE(std::filesystem::remove(temp.path() + "/lock"));
  EXPECT_TRUE(absl::IsDataLoss(lock->Check()));
  // Which lets another one in.
  EXPECT_TRUE(ExperimentLock::Acquire(temp.path()).ok());
  EXPECT_TRUE(absl::IsDataLoss(lock->Check()));
}

TEST(ExperimentLockTest, NeedsAFolder) {
  EXPECT_TRUE(absl::IsNotFound(ExperimentLock::Acquire("/no/such/folder").status()));
  EXPECT_EQ(ExperimentLock::Holder("/no/such/folder"), std::nullopt);
}

TEST(ExperimentLockTest, AnotherProcessSeesTheHolderAndAKilledOneLetsGo) {
  TempFolder temp;
  const ChildProcess child([&](int ready) {
    const auto lock = ExperimentLock::Acquire(temp.path());
    if (!lock.ok() || write(ready, "+", 1) != 1) _exit(1);
    pause();
  });
  ASSERT_TRUE(child.WaitForByte());
  EXPECT_EQ(ExperimentLock::Holder(temp.path()), child.pid());
  const absl::Status status = ExperimentLock::Acquire(temp.path()).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr(absl::StrCat("process ", child.pid())));
  child.Kill();
  EXPECT_EQ(ExperimentLock::Holder(temp.path()), std::nullopt);
  EXPECT_TRUE(ExperimentLock::Acquire(temp.path()).ok());
}

TEST(ExperimentLockTest, IsNotInheritedByStartedPrograms) {
  TempFolder temp;
  pid_t program = 0;
  {
    const auto lock = ExperimentLock::Acquire(temp.path());
    ASSERT_TRUE(lock.ok());
    int started[2];
    ASSERT_EQ(pipe2(started, O_CLOEXEC), 0);
    program = fork();
    if (program == 0) {
      execlp("sleep", "sleep", "100", nullptr);
      _exit(1);
    }
    close(started[1]);
    char byte;
    ASSERT_EQ(read(started[0], &byte, 1), 0);  // Closed by exec.
    close(started[0]);
  }
  EXPECT_EQ(ExperimentLock::Holder(temp.path()), std::nullopt);
  kill(program, SIGKILL);
  waitpid(program, nullptr, 0);
}

TEST(FileSystemTest, NetworkFileSystemsAreKnownByTheirNumbers) {
  EXPECT_STREQ(NetworkFileSystemName(0x6969), "NFS");
  EXPECT_STREQ(NetworkFileSystemName(0x0bd00bd0), "Lustre");
  // Some architectures give the number with its sign.
  EXPECT_STREQ(NetworkFileSystemName(static_cast<uint64_t>(int64_t{static_cast<int32_t>(0xff534d42)})), "CIFS");
  EXPECT_EQ(NetworkFileSystemName(0xef53), nullptr) << "ext4";
  EXPECT_EQ(NetworkFileSystemName(0x01021994), nullptr) << "tmpfs";
}

TEST(FileSystemTest, ThisMachinesTemporaryFolderIsLocal) {
  EXPECT_TRUE(CheckLocalFileSystem(::testing::TempDir()).ok());
  EXPECT_FALSE(CheckLocalFileSystem("/there/is/no/such/folder").ok());
}

}  // namespace
}  // namespace lanista
