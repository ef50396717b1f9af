#include "src/base/logging.h"

#include <unistd.h>

#include <fstream>
#include <iterator>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "spdlog/spdlog.h"

namespace lanista {
namespace {

using ::testing::HasSubstr;

TEST(LoggingTest, TheFileGetsEverythingAndTheConsoleWhatItsLevelLetsThrough) {
  LoggingOptions options;
  options.file = ::testing::TempDir() + "/logging_test_" + std::to_string(getpid()) + ".log";
  ASSERT_TRUE(SetUpLogging(options).ok());
  std::string console;
  RedirectConsoleLog([&console](absl::string_view line) { console.append(line.data(), line.size()); });
  spdlog::info("{}started", LogTag("digits-1", 3));
  spdlog::info("{}lost", LogTag("digits-1", 3, "other"));
  spdlog::info("{}joined", NodeTag("other"));
  spdlog::warn("{}slow", LogTag("digits-1"));
  RedirectConsoleLog(nullptr);
  spdlog::info("after");
  spdlog::default_logger()->flush();

  EXPECT_EQ(console, "lanista: warning: [digits-1] slow\n");
  std::ifstream file(options.file);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  EXPECT_THAT(text, HasSubstr(" I [digits-1 trial 3] started\n"));
  EXPECT_THAT(text, HasSubstr(" I [digits-1 trial 3 node other] lost\n"));
  EXPECT_THAT(text, HasSubstr(" I [node other] joined\n"));
  EXPECT_THAT(text, HasSubstr(" W [digits-1] slow\n"));
  EXPECT_THAT(text, HasSubstr("after"));
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
