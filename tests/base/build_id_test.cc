#include "src/base/build_id.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

namespace lanista {
namespace {

using ::testing::MatchesRegex;

std::string WriteProgram(const std::string& content) {
  const std::string path = ::testing::TempDir() + "/program";
  std::ofstream(path, std::ios::binary) << content;
  return path;
}

TEST(BuildIdTest, IsReadFromAProgramsFile) {
  const absl::StatusOr<std::string> id = ReadBuildId("/proc/self/exe");
  ASSERT_TRUE(id.ok()) << id.status();
  EXPECT_THAT(*id, MatchesRegex("([0-9a-f][0-9a-f])+"));
}

TEST(BuildIdTest, WhatIsNoProgramOrDamagedIsRefused) {
  EXPECT_TRUE(absl::IsNotFound(ReadBuildId("/no such program").status()));
  std::ifstream self("/proc/self/exe", std::ios::binary);
  const std::string program((std::istreambuf_iterator<char>(self)), std::istreambuf_iterator<char>());
  for (const std::string& content : {std::string(), std::string("#!/bin/sh\n"), program.substr(0, 50),
                                     program.substr(0, 64), program.substr(0, 100)}) {
    const absl::Status status = ReadBuildId(WriteProgram(content)).status();
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << content.size() << ": " << status;
  }
  // Headers that point anywhere.
  for (size_t at = 16; at < 1000; ++at) {
    std::string damaged = program.substr(0, 100000);
    damaged[at] = '\xff';
    const absl::StatusOr<std::string> id = ReadBuildId(WriteProgram(damaged));
    EXPECT_TRUE(id.ok() || absl::IsFailedPrecondition(id.status())) << at << ": " << id.status();
  }
}

}  // namespace
}  // namespace lanista
