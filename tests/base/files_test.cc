// Files that are written and read for the user.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "src/base/checksum.h"
#include "src/base/file_stamp.h"
#include "src/base/held_folder.h"
#include "src/base/open_beneath.h"
#include "src/base/output_files.h"
#include "src/base/read_file.h"
#include "src/base/unfinished_files.h"
#include "src/base/unique_fd.h"

namespace lanista {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class Files : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = ::testing::TempDir() + "/" + ::testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }

  std::string Path(const std::string& name) const { return folder_ + "/" + name; }

  std::string Put(const std::string& name, const std::string& content) const {
    std::ofstream(Path(name)) << content;
    return Path(name);
  }

  static std::string Content(const std::string& path) { return ReadWholeFile(path, 1 << 30).value_or("(unreadable)"); }

  int Count() const {
    return static_cast<int>(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }

  std::string folder_;
};

using OutputFilesTest = Files;
using ReadWholeFileTest = Files;
using HeldFolderTest = Files;

TEST_F(OutputFilesTest, FilesAppearTogetherWhenAllAreComplete) {
  Put("a", "old");
  OutputFiles files;
  ASSERT_TRUE(files.Write(Path("a"), "new").ok());
  const auto b = files.Add(Path("b"));
  ASSERT_TRUE(b.ok());
  const std::string large(3 << 20, 'x');
  (*b)->Write(large);
  (*b)->Write("y");
  EXPECT_EQ(Content(Path("a")), "old");
  EXPECT_FALSE(fs::exists(Path("b")));
  const auto written = files.Commit();
  ASSERT_TRUE(written.ok()) << written.status();
  EXPECT_THAT(*written, ::testing::ElementsAre(Path("a"), Path("b")));
  EXPECT_EQ(Content(Path("a")), "new");
  EXPECT_EQ(Content(Path("b")), large + "y");
  EXPECT_EQ(Count(), 2);
}

TEST_F(OutputFilesTest, WhatWasNotCommittedLeavesNothing) {
  Put("a", "old");
  {
    OutputFiles files;
    ASSERT_TRUE(files.Write(Path("a"), "new").ok());
    ASSERT_TRUE(files.Write(Path("b"), "new").ok());
  }
  EXPECT_EQ(Content(Path("a")), "old");
  EXPECT_EQ(Count(), 1);
}

TEST_F(OutputFilesTest, AProcessThatIsKilledLeavesNothing) {
  if (UniqueFd(open(folder_.c_str(), O_TMPFILE | O_WRONLY, 0600)).get() < 0) {
    GTEST_SKIP() << "the file system has no files without names";
  }
  const auto write_and_die = [this] {
    OutputFiles files;
    const absl::StatusOr<OutputFile*> file = files.Add(Path("a"));
    if (!file.ok()) return;
    (*file)->Write(std::string(3 << 20, 'x'));
    raise(SIGKILL);
  };
  EXPECT_EXIT(write_and_die(), ::testing::KilledBySignal(SIGKILL), "");
  EXPECT_EQ(Count(), 0);
}

TEST_F(OutputFilesTest, AFullDiskIsAnErrorOfCommit) {
  // The limit of a file's size stands in for the disk's: the write fails in the same place.
  const auto old_handler = signal(SIGXFSZ, SIG_IGN);
  struct rlimit old_limit = {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &old_limit), 0);
  const struct rlimit small = {1 << 20, old_limit.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  Put("a", "old");
  OutputFiles files;
  const auto file = files.Add(Path("a"));
  ASSERT_TRUE(file.ok());
  for (int i = 0; i < 5; ++i) (*file)->Write(std::string(1 << 20, 'x'));
  const auto written = files.Commit();
  setrlimit(RLIMIT_FSIZE, &old_limit);
  signal(SIGXFSZ, old_handler);
  EXPECT_EQ(written.status().message(), "cannot write " + Path("a") + ": File too large");
  EXPECT_EQ(Content(Path("a")), "old");
}

TEST_F(OutputFilesTest, OnlyRegularFilesAreReplaced) {
  ASSERT_EQ(mkfifo(Path("pipe").c_str(), 0600), 0);
  fs::create_directory(Path("folder"));
  for (const std::string& target : {std::string("/dev/null"), Path("pipe"), Path("folder")}) {
    const absl::Status status = WriteFile(target, "x");
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << target;
    EXPECT_THAT(std::string(status.message()), HasSubstr("cannot write " + target + ": it is a "));
  }
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
  EXPECT_TRUE(fs::is_fifo(Path("pipe")));
  EXPECT_EQ(Count(), 2);
}

TEST_F(OutputFilesTest, AnInputIsNotOverwrittenUnderAnyName) {
  const std::string input = Put("input", "weights");
  fs::create_symlink("input", Path("link"));
  fs::create_hard_link(input, Path("twin"));
  for (const char* const name : {"input", "./input", "link", "twin"}) {
    const absl::Status status = WriteFile(Path(name), "x", {Path("other"), input});
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << name;
    EXPECT_THAT(std::string(status.message()), HasSubstr("a file that is read here"));
  }
  EXPECT_EQ(Content(input), "weights");
}

TEST_F(OutputFilesTest, ACopyIsOfTheFileThatIsOpen) {
  const std::string text = std::string(3 << 20, 'x') + "y", from = Put("from", text);
  const UniqueFd file(open(from.c_str(), O_RDONLY | O_CLOEXEC));
  EXPECT_THAT(std::string(CopyFile(file.get(), from, Path("./from")).message()), HasSubstr("a file that is read here"));
  fs::rename(from, Path("renamed"));
  Put("from", "another file");
  ASSERT_TRUE(CopyFile(file.get(), from, Path("to")).ok());
  EXPECT_EQ(Content(Path("to")), text);
  EXPECT_TRUE(CopyFile(file.get(), from, Path("to")).ok()) << "it has been read before";
  EXPECT_EQ(Content(Path("to")), text);

  const UniqueFd folder(open(folder_.c_str(), O_RDONLY | O_CLOEXEC));
  EXPECT_EQ(CopyFile(folder.get(), folder_, Path("to")).message(), "cannot read " + folder_ + ": Is a directory");
  EXPECT_EQ(Content(Path("to")), text);
  EXPECT_EQ(Count(), 3);
}

TEST_F(OutputFilesTest, LinksAreFollowed) {
  fs::create_directory(Path("elsewhere"));
  Put("elsewhere/file", "old");
  fs::create_symlink("elsewhere/file", Path("link"));
  ASSERT_TRUE(WriteFile(Path("link"), "new").ok());
  EXPECT_TRUE(fs::is_symlink(Path("link")));
  EXPECT_EQ(Content(Path("elsewhere/file")), "new");

  fs::create_symlink("nowhere", Path("dangling"));
  EXPECT_THAT(std::string(WriteFile(Path("dangling"), "x").message()), HasSubstr("a symbolic link that leads nowhere"));
  EXPECT_TRUE(fs::is_symlink(Path("dangling")));
}

TEST_F(OutputFilesTest, PermissionsStay) {
  const std::string path = Put("a", "old");
  ASSERT_EQ(chmod(path.c_str(), 0640), 0);
  ASSERT_TRUE(WriteFile(path, "new").ok());
  struct stat info = {};
  ASSERT_EQ(stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0640u);
}

TEST_F(OutputFilesTest, ErrorsOfTheSystemNameTheFile) {
  const absl::Status status = WriteFile(Path("missing/a"), "x");
  EXPECT_EQ(status.message(), "cannot write " + Path("missing/a") + ": No such file or directory");
  EXPECT_TRUE(MakeParentFolder(Path("missing/a")).ok());
  EXPECT_TRUE(WriteFile(Path("missing/a"), "x").ok());
  // The user's mistakes: no error that may pass.
  const absl::Status below_file = MakeParentFolder(Path("missing/a/b/c"));
  EXPECT_TRUE(absl::IsInvalidArgument(below_file));
  EXPECT_EQ(below_file.message(), "cannot make the folder " + Path("missing/a/b") + ": Not a directory");
  const absl::Status too_long = MakeParentFolder(Path(std::string(300, 'x') + "/a/b"));
  EXPECT_TRUE(absl::IsInvalidArgument(too_long));
  EXPECT_THAT(std::string(too_long.message()), HasSubstr(": File name too long"));
}

TEST_F(OutputFilesTest, AWorkingFolderNeedsNoName) {
  const fs::path before = fs::current_path();
  fs::current_path(folder_);
  EXPECT_TRUE(MakeParentFolder("a").ok());
  EXPECT_TRUE(WriteFile("a", "x").ok());
  fs::current_path(before);
  EXPECT_EQ(Content(Path("a")), "x");
}

using OpenBeneathTest = Files;

TEST_F(OpenBeneathTest, OpensWhatLiesBelowAndFollowsNoLink) {
  fs::create_directories(Path("in/deep"));
  Put("in/deep/file", "x");
  Put("outside", "y");
  fs::create_symlink(Path("outside"), Path("in/link"));
  fs::create_symlink(Path("in/deep"), Path("in/folder_link"));
  ASSERT_EQ(mkfifo(Path("in/pipe").c_str(), 0600), 0);
  EXPECT_TRUE(OpenFileBeneath(Path("in"), "deep/file").ok());
  EXPECT_TRUE(OpenFolderBeneath(Path("in"), "deep").ok());
  for (const char* const name :
       {"link", "folder_link/file", "pipe", "deep", "deep/nothing", "deep/file/more", "nothing/x"}) {
    EXPECT_TRUE(absl::IsNotFound(OpenFileBeneath(Path("in"), name).status())) << name;
  }
  const auto none = [](const struct stat&) { return false; };
  const absl::StatusOr<UniqueFd> file = OpenFileBeneath(Path("in"), "deep/file", none);
  ASSERT_TRUE(file.ok()) << file.status();
  char byte = 0;
  EXPECT_EQ(read(file->get(), &byte, 1), 1);
  EXPECT_EQ(byte, 'x');
  for (const char* const name : {"link", "folder_link/file", "pipe", "deep", "deep/nothing"}) {
    EXPECT_TRUE(absl::IsNotFound(OpenFileBeneath(Path("in"), name, none).status())) << name;
  }
  for (const char* const name : {"folder_link", "deep/file", "nothing"}) {
    EXPECT_TRUE(absl::IsNotFound(OpenFolderBeneath(Path("in"), name).status())) << name;
  }
  for (const absl::string_view name :
       {absl::string_view("../outside"), absl::string_view("deep/../../outside"), absl::string_view("./deep/file"),
        absl::string_view("/etc/passwd"), absl::string_view(""), absl::string_view("deep//file"),
        absl::string_view("deep/file\0x", 11)}) {
    EXPECT_TRUE(absl::IsInvalidArgument(OpenFileBeneath(Path("in"), name).status())) << name;
  }
}

TEST_F(OpenBeneathTest, AFileThatIsRefusedWasNeverOpenAndKeepsItsLocks) {
  fs::create_directories(Path("in"));
  const std::string path = Put("in/locked", "x");
  fs::create_hard_link(path, Path("in/other_name"));
  const UniqueFd held(open(path.c_str(), O_RDWR | O_CLOEXEC));
  struct flock lock = {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  ASSERT_EQ(fcntl(held.get(), F_SETLK, &lock), 0);
  // Locks of a process do not show in that process itself.
  const auto is_locked = [&path] {
    const pid_t child = fork();
    if (child == 0) {
      struct flock question = {};
      question.l_type = F_WRLCK;
      question.l_whence = SEEK_SET;
      const int file = open(path.c_str(), O_RDWR | O_CLOEXEC);
      _exit(fcntl(file, F_GETLK, &question) == 0 && question.l_type != F_UNLCK ? 0 : 1);
    }
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
  };
  ASSERT_TRUE(is_locked());
  struct stat locked = {};
  ASSERT_EQ(stat(path.c_str(), &locked), 0);
  const auto refused = [&locked](const struct stat& file) { return file.st_ino == locked.st_ino; };
  EXPECT_TRUE(absl::IsNotFound(OpenFileBeneath(Path("in"), "other_name", refused).status()));
  EXPECT_TRUE(is_locked());
  EXPECT_TRUE(OpenFileBeneath(Path("in"), "other_name").ok());
  EXPECT_FALSE(is_locked()) << "this test would not see that the file was opened";
}

TEST_F(ReadWholeFileTest, ReadsAllOrSaysWhyNot) {
  const std::string text(200000, 'x');
  EXPECT_EQ(ReadWholeFile(Put("a", text), 200000).value_or(""), text);
  EXPECT_EQ(ReadWholeFile(Put("empty", ""), 10).value_or("?"), "");
  EXPECT_EQ(ReadWholeFile(Path("a"), 199999).status().message(),
            "cannot read " + Path("a") + ": it is larger than the 199999 bytes that such a file may have");
  EXPECT_EQ(ReadWholeFile(Path("none"), 10).status().message(),
            "cannot read " + Path("none") + ": No such file or directory");
  EXPECT_EQ(ReadWholeFile(folder_, 10).status().message(), "cannot read " + folder_ + ": it is a folder");
  EXPECT_EQ(ReadWholeFile("/dev/zero", 10).status().message(), "cannot read /dev/zero: it is no regular file");
}

TEST_F(ReadWholeFileTest, PipesAreReadToTheirEndOrBound) {
  const std::string path = Path("pipe");
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  const std::string text(300000, 'x');
  const auto read_through_pipe = [&](uint64_t max_bytes) {
    std::thread writer([&] {
      const int pipe = open(path.c_str(), O_WRONLY);
      for (size_t done = 0; done < text.size();) {
        const ssize_t count = write(pipe, text.data() + done, text.size() - done);
        if (count < 0) break;
        done += static_cast<size_t>(count);
      }
      close(pipe);
    });
    const auto content = ReadWholeFile(path, max_bytes);
    writer.join();
    return content;
  };
  const auto old_handler = signal(SIGPIPE, SIG_IGN);
  EXPECT_EQ(read_through_pipe(300000).value_or(""), text);
  EXPECT_EQ(read_through_pipe(299999).status().code(), absl::StatusCode::kInvalidArgument);
  signal(SIGPIPE, old_handler);
}

TEST_F(Files, AFileIsTheSameUnderAllItsNames) {
  fs::create_hard_link(Put("a", "x"), Path("twin"));
  Put("copy", "x");
  const auto is_a = [this](const std::string& name) {
    struct stat a = {}, other = {};
    EXPECT_EQ(stat(Path("a").c_str(), &a), 0);
    EXPECT_EQ(stat(Path(name).c_str(), &other), 0);
    return IsSameFile(a, other);
  };
  EXPECT_TRUE(is_a("a"));
  EXPECT_TRUE(is_a("twin"));
  EXPECT_FALSE(is_a("copy"));
}

TEST_F(Files, OfUnfinishedFilesNothingIsLeft) {
  Put("done", "x");
  Put(".lanista.7.1", "y");
  fs::create_directory(Path(".lanista.folder"));
  RemoveUnfinishedFiles(folder_);
  EXPECT_EQ(Count(), 2);
  EXPECT_TRUE(fs::exists(Path("done")));
  EXPECT_TRUE(fs::exists(Path(".lanista.folder")));
  RemoveUnfinishedFiles(Path("nowhere"));
}

TEST(ChecksumTest, IsXxHashs) {
  const auto of = [](const std::string& text) { return ChecksumOf(text.data(), text.size()); };
  EXPECT_EQ(of(""), 0xEF46DB3751D8E999u);
  EXPECT_EQ(of("a"), 0xD24EC4F1A98C6E5Bu);
  EXPECT_EQ(of("abc"), 0x44BC2CF5AD770999u);
  EXPECT_EQ(of("Nobody inspects the spammish repetition"), 0xFBCEA83C8A378BF1u);
}

TEST(ChecksumTest, DoesNotDependOnThePieces) {
  std::string text;
  for (int i = 0; i < 200; ++i) text += static_cast<char>(i * i);
  for (size_t size = 0; size <= text.size(); ++size) {
    for (const size_t piece : {1, 7, 32, 45}) {
      Checksum checksum;
      for (size_t at = 0; at < size; at += piece) checksum.Add(text.data() + at, std::min(piece, size - at));
      EXPECT_EQ(checksum.Value(), ChecksumOf(text.data(), size)) << size << " in pieces of " << piece;
    }
  }
}

TEST_F(HeldFolderTest, WhatNobodyHoldsIsRemovedAndLinksAreNotFollowed) {
  for (const char* folder : {"outside", "parent/held", "parent/left/inside"}) fs::create_directories(Path(folder));
  Put("outside/file", "stays");
  Put("parent/held/file", "stays");
  Put("parent/left/inside/file", "goes");
  Put("parent/file", "goes");
  fs::create_directory_symlink(Path("outside"), Path("parent/link"));
  {
    const absl::StatusOr<UniqueFd> held = HoldFolder(Path("parent/held"));
    ASSERT_TRUE(held.ok()) << held.status();
    EXPECT_TRUE(absl::IsAlreadyExists(HoldFolder(Path("parent/held")).status()));
    RemoveUnlessHeld(Path("parent"));
    EXPECT_EQ(Content(Path("parent/held/file")), "stays");
    EXPECT_EQ(std::distance(fs::directory_iterator(Path("parent")), fs::directory_iterator()), 1);
  }
  RemoveUnlessHeld(Path("parent"));
  EXPECT_FALSE(fs::exists(Path("parent")));
  EXPECT_EQ(Content(Path("outside/file")), "stays");
  EXPECT_FALSE(fs::exists(Path("outside/lock")));

  fs::create_directory_symlink(Path("outside"), Path("parent"));
  RemoveUnlessHeld(Path("parent"));
  EXPECT_FALSE(fs::is_symlink(Path("parent")));
  EXPECT_EQ(Content(Path("outside/file")), "stays");
  EXPECT_TRUE(absl::IsNotFound(HoldFolder(Path("parent")).status()));
}

TEST_F(HeldFolderTest, AFolderWhoseLockCannotBeTriedStays) {
  fs::create_directories(Path("parent/folder/lock"));
  fs::create_directories(Path("parent/link"));
  fs::create_symlink(Put("outside", "stays"), Path("parent/link/lock"));
  for (const char* const name : {"parent/folder", "parent/link"}) {
    const absl::Status status = HoldFolder(Path(name)).status();
    EXPECT_FALSE(status.ok() || absl::IsAlreadyExists(status) || absl::IsNotFound(status)) << status;
  }
  RemoveUnlessHeld(Path("parent"));
  EXPECT_TRUE(fs::is_directory(Path("parent/folder/lock")));
  EXPECT_TRUE(fs::is_symlink(Path("parent/link/lock")));
  EXPECT_EQ(Content(Path("outside")), "stays");
}

}  // namespace
}  // namespace lanista
