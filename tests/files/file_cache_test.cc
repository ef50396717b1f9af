#include "src/files/file_cache.h"

#include <gmock/gmock.h>

#include <atomic>
#include <functional>
#include <future>
#include <optional>
#include <thread>
#include <vector>

#include "src/base/sha256.h"
#include "tests/files/files_testing.h"

namespace lanista {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

class FileCacheTest : public ::testing::Test {
 protected:
  FileCacheTest() { Open(); }

  // As after a new start of the node.
  void Open(std::function<bool()> make_room = nullptr) {
    cache_.reset();
    cache_ = *FileCache::Open(folder_, 100, std::move(make_room));
  }

  absl::StatusOr<FileCache::Pin> Get(const std::string& content) {
    return cache_->Get(Sha256(content), static_cast<int64_t>(content.size()), &cancellation_,
                       [&](const FileCache::Write& write) {
                         ++fetched_;
                         return write(content);
                       });
  }
  std::vector<std::string> Contents() const {
    std::vector<std::string> contents;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) contents.push_back(Content(entry.path()));
    return contents;
  }

  const std::string folder_ = FreshFolder() + "/cache";
  Cancellation cancellation_;
  std::optional<FileCache> cache_;
  std::atomic<int> fetched_{0};
};

TEST_F(FileCacheTest, AFileIsFetchedOnce) {
  for (int i = 0; i < 3; ++i) {
    const auto pin = Get("one");
    ASSERT_TRUE(pin.ok()) << pin.status();
    EXPECT_EQ(Content(**pin), "one");
  }
  EXPECT_EQ(Content(**Get("")), "");
  EXPECT_EQ(fetched_, 2);
  Open();
  EXPECT_EQ(cache_->bytes(), 3);
  EXPECT_EQ(Content(**Get("one")), "one");
  EXPECT_EQ(fetched_, 2) << "it is still there";
}

TEST_F(FileCacheTest, WhatWasUsedLongestAgoGoesFirst) {
  const std::string a(40, 'a'), b(40, 'b'), c(40, 'c');
  for (const std::string& content : {a, b, a, c}) ASSERT_TRUE(Get(content).ok());
  EXPECT_THAT(Contents(), UnorderedElementsAre(a, c));
  EXPECT_EQ(cache_->bytes(), 80);
}

TEST_F(FileCacheTest, WhatIsInUseStays) {
  const std::string a(40, 'a'), b(40, 'b'), c(40, 'c');
  std::vector<FileCache::Pin> pins = {*Get(a), *Get(b)};
  const absl::Status full = Get(c).status();
  EXPECT_TRUE(absl::IsAborted(full)) << full;
  EXPECT_THAT(std::string(full.message()), HasSubstr("--cache-size"));
  EXPECT_THAT(Contents(), UnorderedElementsAre(a, b));
  EXPECT_TRUE(absl::IsAborted(Get(std::string(101, 'x')).status())) << "larger than all of it";
  EXPECT_EQ(fetched_, 2);
  pins.pop_back();
  EXPECT_TRUE(Get(c).ok());
  EXPECT_THAT(Contents(), UnorderedElementsAre(a, c));
}

TEST_F(FileCacheTest, WhatIsOnlyKeptMakesRoom) {
  std::vector<FileCache::Pin> kept;
  Open([&kept] {
    if (kept.empty()) return false;
    kept.pop_back();
    return true;
  });
  kept.push_back(*Get(std::string(90, 'a')));
  EXPECT_TRUE(Get(std::string(90, 'b')).ok());
}

TEST_F(FileCacheTest, ADamagedFileIsFetchedAgain) {
  const std::string path = **Get("whole");
  for (const std::string damaged : {"Whole", "who", "whole and more", ""}) {
    MakeFile(path, damaged);
    Open();
    const auto pin = Get("whole");
    ASSERT_TRUE(pin.ok()) << pin.status();
    EXPECT_EQ(Content(**pin), "whole");
    EXPECT_EQ(cache_->bytes(), 5);
  }
  EXPECT_EQ(fetched_, 5);
}

TEST_F(FileCacheTest, AFileStaysWhoseReadingIsGivenUp) {
  ASSERT_TRUE(Get("content").ok());
  Open();
  cancellation_.Cancel();
  EXPECT_TRUE(absl::IsCancelled(Get("content").status()));
  EXPECT_EQ(cache_->bytes(), 7);
  // The next one reads it, and a third one may take its room.
  Cancellation other;
  const auto get = [&](const std::string& content) {
    return cache_->Get(Sha256(content), static_cast<int64_t>(content.size()), &other,
                       [&](const FileCache::Write& write) {
                         ++fetched_;
                         return write(content);
                       });
  };
  EXPECT_TRUE(get("content").ok());
  EXPECT_EQ(fetched_, 1);
  EXPECT_TRUE(get(std::string(100, 'x')).ok());
  EXPECT_EQ(cache_->bytes(), 100);
}

TEST_F(FileCacheTest, AFileThatSomebodyRemovedIsFetchedAgain) {
  const std::string path = **Get("content");
  std::filesystem::remove(path);
  EXPECT_EQ(Content(**Get("content")), "content");
  EXPECT_EQ(fetched_, 2);
  EXPECT_EQ(cache_->bytes(), 7);
}

TEST_F(FileCacheTest, OtherContentIsNotKept) {
  for (const std::string content : {"abd", "ab", "abcd", ""}) {
    const auto other =
        cache_->Get(Sha256("abc"), 3, &cancellation_, [&](const FileCache::Write& write) { return write(content); });
    EXPECT_TRUE(absl::IsDataLoss(other.status())) << other.status();
  }
  // The connection was lost in the middle.
  const auto cut = cache_->Get(Sha256("abc"), 3, &cancellation_, [](const FileCache::Write& write) {
    EXPECT_TRUE(write("ab").ok());
    return absl::UnavailableError("gone");
  });
  EXPECT_EQ(cut.status(), absl::UnavailableError("gone"));
  EXPECT_THAT(Contents(), IsEmpty());
  EXPECT_EQ(cache_->bytes(), 0);
  EXPECT_TRUE(Get("abc").ok());
}

TEST_F(FileCacheTest, WhatANodeThatWasKilledLeftIsRemoved) {
  MakeFile(folder_ + "/.lanista.1.1", "half");
  MakeFile(folder_ + "/notes", "not ours");
  Open();
  EXPECT_THAT(Contents(), UnorderedElementsAre("not ours"));
  EXPECT_EQ(cache_->bytes(), 0);
}

TEST_F(FileCacheTest, ManyWhoWantAFileFetchItOnce) {
  std::promise<void> begun, go_on;
  std::vector<std::thread> threads;
  std::atomic<int> fetched{0}, got{0};
  const auto get = [&](const std::function<void()>& meanwhile) {
    Cancellation none;
    const auto pin = cache_->Get(Sha256("shared"), 6, &none, [&](const FileCache::Write& write) {
      ++fetched;
      meanwhile();
      return write("shared");
    });
    if (pin.ok() && Content(**pin) == "shared") ++got;
  };
  threads.emplace_back(get, [&] {
    begun.set_value();
    go_on.get_future().wait();
  });
  begun.get_future().wait();
  for (int i = 0; i < 7; ++i) threads.emplace_back(get, [] {});
  go_on.set_value();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(fetched, 1);
  EXPECT_EQ(got, 8);
}

TEST_F(FileCacheTest, WhoeverWaitsTakesOverOrIsCanceled) {
  std::promise<void> begun, go_on;
  std::thread first([&] {
    Cancellation none;
    const auto failed = cache_->Get(Sha256("abc"), 3, &none, [&](const FileCache::Write&) {
      begun.set_value();
      go_on.get_future().wait();
      return absl::UnavailableError("gone");
    });
    EXPECT_FALSE(failed.ok());
  });
  begun.get_future().wait();
  Cancellation canceled;
  std::thread second([&] {
    EXPECT_TRUE(absl::IsCancelled(
        cache_->Get(Sha256("abc"), 3, &canceled, [](const FileCache::Write& write) { return write("abc"); }).status()));
  });
  canceled.Cancel();
  second.join();
  std::thread third([&] { EXPECT_TRUE(Get("abc").ok()); });
  go_on.set_value();
  first.join();
  third.join();
  EXPECT_EQ(fetched_, 1);
}

}  // namespace
}  // namespace lanista
