#include "src/base/logging.h"

#include <unistd.h>

#include <fstream>
#include <iterator>
#include <string>

#include "gmock/gmock.h"
#include "google/protobuf/wrappers.pb.h"
#include "gtest/gtest.h"
#include "spdlog/spdlog.h"
#include "src/base/protobuf_log.h"

namespace lanista {
namespace {

using ::testing::HasSubstr;

TEST(LoggingTest, TheFileGetsEverythingAndTheConsoleWhatItsLevelLetsThrough) {
  LoggingOptions options;
  options.file = ::testing::TempDir() + "/logging_test_" + std::to_string(getpid()) + ".log";
  ASSERT_TRUE(SetUpLogging(options).ok());
  std::string console;
  RedirectConsoleLog([&console](absl::string_view line) { console.append(line.data(), line.size()); });
  LogInfo("{}started", LogTag("digits-1", 3));
  LogInfo("{}lost", LogTag("digits-1", 3, "other"));
  LogInfo("{}joined", NodeTag("other"));
  LogWarning("{}slow", LogTag("digits-1"));
  LogDebug("{} of {}", 1, 2.5);
  LogError("{}", "text with {} and {x}");
  RedirectConsoleLog(nullptr);
  LogInfo("after");
  spdlog::default_logger()->flush();

  EXPECT_EQ(console, "lanista: warning: [digits-1] slow\nlanista: error: text with {} and {x}\n");
  std::ifstream file(options.file);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  EXPECT_THAT(text, HasSubstr(" I [digits-1 trial 3] started\n"));
  EXPECT_THAT(text, HasSubstr(" I [digits-1 trial 3 node other] lost\n"));
  EXPECT_THAT(text, HasSubstr(" I [node other] joined\n"));
  EXPECT_THAT(text, HasSubstr(" W [digits-1] slow\n"));
  EXPECT_THAT(text, HasSubstr(" D 1 of 2.5\n"));
  EXPECT_THAT(text, HasSubstr(" E text with {} and {x}\n"));
  EXPECT_THAT(text, HasSubstr("after"));
}

TEST(LoggingTest, SaysWhichMessageCannotBeFormatted) {
  ASSERT_TRUE(SetUpLogging(LoggingOptions()).ok());
  std::string console;
  RedirectConsoleLog([&console](absl::string_view line) { console.append(line.data(), line.size()); });
  LogWarning("{} and {}", "one");
  RedirectConsoleLog(nullptr);
  EXPECT_THAT(console, HasSubstr("lanista: warning: a message cannot be formatted ("));
  EXPECT_THAT(console, HasSubstr("): {} and {}\n"));
}

TEST(LoggingTest, WhatProtobufSaysIsLoggedButForWhatItSaysOfForeignBytes) {
  ASSERT_TRUE(SetUpLogging(LoggingOptions()).ok());
  TakeProtobufLog();
  std::string console;
  RedirectConsoleLog([&console](absl::string_view line) { console.append(line.data(), line.size()); });
  ::testing::internal::CaptureStderr();
  google::protobuf::StringValue value;
  EXPECT_FALSE(value.ParseFromString("\x0a\x02\xff\xfe"));
  EXPECT_EQ(console, "");
  value.set_value("\xff");
  value.SerializeAsString();
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  RedirectConsoleLog(nullptr);
  EXPECT_THAT(console, HasSubstr("lanista: error: protobuf: String field 'google.protobuf.StringValue.value' contains "
                                 "invalid UTF-8 data when serializing"));
}

TEST(LoggingTest, RefusesUnknownLevelsAndFilesThatCannotBeWritten) {
  LoggingOptions options;
  options.console_level = "loud";
  EXPECT_EQ(SetUpLogging(options).message(),
            "'loud' is not a log level; allowed: trace, debug, info, warn, error, off");
  options.console_level = "info";
  options.file = "/proc/no/such/folder/log";
  EXPECT_THAT(std::string(SetUpLogging(options).message()), HasSubstr("the log file cannot be written"));
}

}  // namespace
}  // namespace lanista
