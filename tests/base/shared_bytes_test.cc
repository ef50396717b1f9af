// Data that several processes have in memory once.
#include "src/base/shared_bytes.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "src/base/temporary_folder.h"
#include "src/base/unique_fd.h"

namespace lanista {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class SharedBytesTest : public ::testing::Test {
 protected:
  const std::string& folder() const { return folder_; }

  std::vector<fs::path> Files() const {
    std::error_code error;
    std::vector<fs::path> files;
    for (fs::directory_iterator entry(folder_, error), end; !error && entry != end; entry.increment(error)) {
      files.push_back(entry->path());
    }
    return files;
  }

  // How often this process maps the file.
  static int CountMappings(const fs::path& file) {
    std::ifstream maps("/proc/self/maps");
    int count = 0;
    for (std::string line; std::getline(maps, line);) count += line.find(file.string()) != std::string::npos ? 1 : 0;
    return count;
  }

  static std::string Content(const SharedBytes& bytes) {
    return std::string(static_cast<const char*>(bytes.data()), bytes.size());
  }

 private:
  const TemporaryFolder temporary_ = TemporaryFolder::Make().value();
  const std::string folder_ = temporary_.path() + "/shared/data";
};

TEST_F(SharedBytesTest, EqualBytesAreOneFileThatAllMap) {
  const std::string bytes(100'000, 'x');
  const auto first = SharedBytes::Share(folder(), bytes);
  ASSERT_TRUE(first.ok()) << first.status();
  const auto second = SharedBytes::Share(folder(), std::string(bytes));
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_EQ(Content(**first), bytes);
  EXPECT_EQ(Content(**second), bytes);
  ASSERT_THAT(Files(), SizeIs(1));
  EXPECT_EQ(CountMappings(Files()[0]), 2);

  const auto other = SharedBytes::Share(folder(), std::string(100'000, 'y'));
  ASSERT_TRUE(other.ok()) << other.status();
  EXPECT_EQ(Content(**other), std::string(100'000, 'y'));
  EXPECT_THAT(Files(), SizeIs(2));
}

TEST_F(SharedBytesTest, FilesGoWhenNobodyMapsThem) {
  auto used = SharedBytes::Share(folder(), "used").value();
  ASSERT_TRUE(SharedBytes::Share(folder(), "unused").ok());
  RemoveUnusedSharedBytes(folder());
  EXPECT_THAT(Files(), SizeIs(1));
  EXPECT_EQ(Content(*used), "used");

  used = nullptr;
  RemoveUnusedSharedBytes(folder());
  EXPECT_FALSE(fs::exists(folder()));
}

TEST_F(SharedBytesTest, AFileThatNobodyMapsGoesWithTheNextOne) {
  ASSERT_TRUE(SharedBytes::Share(folder(), "unused").ok());
  const auto used = SharedBytes::Share(folder(), "used");
  ASSERT_TRUE(used.ok()) << used.status();
  EXPECT_THAT(Files(), SizeIs(1));
}

TEST_F(SharedBytesTest, AFileOfAKilledProcessIsUnused) {
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    const auto bytes = SharedBytes::Share(folder(), "of the child");
    const char done = bytes.ok() ? 'y' : 'n';
    [[maybe_unused]] const ssize_t written = write(ready[1], &done, 1);
    pause();
    _exit(0);
  }
  char done = ' ';
  ASSERT_EQ(read(ready[0], &done, 1), 1);
  EXPECT_EQ(done, 'y');
  RemoveUnusedSharedBytes(folder());
  EXPECT_THAT(Files(), SizeIs(1));

  kill(child, SIGKILL);
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  RemoveUnusedSharedBytes(folder());
  EXPECT_THAT(Files(), IsEmpty());
  close(ready[0]);
  close(ready[1]);
}

TEST_F(SharedBytesTest, AFileThatAKilledWriterLeftIsWrittenAnew) {
  ASSERT_TRUE(SharedBytes::Share(folder(), "all of it").ok());
  ASSERT_THAT(Files(), SizeIs(1));
  fs::resize_file(Files()[0], 3);
  const auto bytes = SharedBytes::Share(folder(), "all of it");
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  EXPECT_EQ(Content(**bytes), "all of it");
}

TEST_F(SharedBytesTest, ADamagedFileIsNotUsed) {
  ASSERT_TRUE(SharedBytes::Share(folder(), "all of it").ok());
  ASSERT_THAT(Files(), SizeIs(1));
  std::ofstream(Files()[0]) << "ALL OF IT";
  const absl::Status status = SharedBytes::Share(folder(), "all of it").status();
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr(Files()[0].string()));
  RemoveUnusedSharedBytes(folder());
  EXPECT_TRUE(SharedBytes::Share(folder(), "all of it").ok());
}

TEST_F(SharedBytesTest, ManyThatBeginAtOnceShareOneFile) {
  const std::string bytes(1 << 20, 'x');
  std::vector<std::shared_ptr<const SharedBytes>> all(8);
  std::vector<std::thread> threads;
  for (auto& one : all) {
    threads.emplace_back([&] {
      RemoveUnusedSharedBytes(folder());
      auto shared = SharedBytes::Share(folder(), bytes);
      if (shared.ok()) one = *std::move(shared);
    });
  }
  for (std::thread& thread : threads) thread.join();
  ASSERT_THAT(Files(), SizeIs(1));
  for (const auto& one : all) {
    ASSERT_NE(one, nullptr);
    EXPECT_EQ(Content(*one), bytes);
  }
  EXPECT_EQ(CountMappings(Files()[0]), 8);
}

TEST_F(SharedBytesTest, WhoWritesWaitsForNobodyThatReads) {
  const std::string bytes(1000, 'x');
  ASSERT_TRUE(SharedBytes::Share(folder(), bytes).ok());
  ASSERT_THAT(Files(), SizeIs(1));
  // Another process that began at the same time: it found the file incomplete, too, and keeps its lock as long as it
  // lives.
  const UniqueFd other(open(Files()[0].c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_EQ(ftruncate(other.get(), 0), 0);
  ASSERT_EQ(flock(other.get(), LOCK_SH), 0);

  const auto shared = SharedBytes::Share(folder(), bytes);
  ASSERT_TRUE(shared.ok()) << shared.status();
  EXPECT_EQ(Content(**shared), bytes);
}

TEST_F(SharedBytesTest, ErrorsAreTheSystems) {
  const auto here = SharedBytes::Share("/proc/no_such_folder", "bytes");
  EXPECT_THAT(std::string(here.status().message()), HasSubstr("/proc/no_such_folder"));
}

TEST_F(SharedBytesTest, FilesOfOthersStay) {
  fs::create_directories(folder());
  std::ofstream(folder() + "/notes.txt") << "mine";
  { const SharedBytesFolder shared(folder()); }
  EXPECT_TRUE(fs::exists(folder() + "/notes.txt"));
}

TEST_F(SharedBytesTest, TheFolderBeginsAndEndsWithoutWhatNobodyMaps) {
  ASSERT_TRUE(SharedBytes::Share(folder(), "of a head that was killed").ok());
  {
    const SharedBytesFolder shared(folder());
    EXPECT_THAT(Files(), IsEmpty());
    ASSERT_TRUE(SharedBytes::Share(shared.path(), "of a trial process").ok());
  }
  EXPECT_FALSE(fs::exists(folder()));
}

}  // namespace
}  // namespace lanista
