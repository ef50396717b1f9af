#include "src/files/disk_room.h"

#include <chrono>
#include <cstdint>
#include <string>

#include "gtest/gtest.h"

namespace lanista {
namespace {

TEST(DiskRoomTest, SaysWhoWaits) {
  constexpr uint64_t kMiB = 1 << 20;
  DiskRoom::Space disk = {100 * kMiB, 10000 * kMiB};
  DiskRoom::Clock::time_point now;
  DiskRoom room(
      90 * kMiB, [&](const std::string&) { return disk; }, [&] { return now; });
  EXPECT_EQ(room.WaitingFor("/a"), "");
  EXPECT_FALSE(room.Take("/a", 50 * kMiB, "large").ok());
  const std::string waiting =
      "room for what nodes deliver: the disk of /a has 100 MiB free; 50 MiB are to come, and 90 MiB stay free for "
      "journals (--keep-free): `delete` makes room";
  EXPECT_EQ(room.WaitingFor("/a"), waiting);
  EXPECT_EQ(room.WaitingFor("/b"), "") << "it did not ask";
  EXPECT_TRUE(room.Take("/a", 5 * kMiB, "small").ok());
  EXPECT_EQ(room.WaitingFor("/a"), waiting) << "the large one still waits";
  disk.free = 200 * kMiB;
  EXPECT_EQ(room.WaitingFor("/a"), "") << "it will ask again, and get it";
  disk.free = 100 * kMiB;
  EXPECT_EQ(room.WaitingFor("/a"), waiting);
  now += DiskRoom::kPatience;
  EXPECT_EQ(room.WaitingFor("/a"), waiting);
  now += std::chrono::seconds(1);
  EXPECT_EQ(room.WaitingFor("/a"), "") << "its node is gone";
  EXPECT_FALSE(room.Take("/a", 50 * kMiB, "large").ok());
  EXPECT_EQ(room.WaitingFor("/a"), waiting);
  disk.free = 200 * kMiB;
  EXPECT_TRUE(room.Take("/a", 50 * kMiB, "large").ok());
  disk.free = 100 * kMiB;
  EXPECT_EQ(room.WaitingFor("/a"), "") << "it came";
}

}  // namespace
}  // namespace lanista
