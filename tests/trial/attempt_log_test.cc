#include "src/trial/attempt_log.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace lanista {
namespace {

using ::testing::HasSubstr;

std::string LogFile() {
  const std::string path = ::testing::TempDir() + "/attempt_log_test.log";
  std::filesystem::remove(path);
  return path;
}

std::string ReadAll(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
}

void Print(const std::string& text) {
  ASSERT_EQ(write(STDOUT_FILENO, text.data(), text.size()), static_cast<ssize_t>(text.size()));
}

TEST(AttemptLogTest, HoldsWhatIsPrintedWhileItLives) {
  const std::string path = LogFile();
  {
    const AttemptLog log(path);
    Print("to the log\n");
  }
  EXPECT_EQ(ReadAll(path), "to the log\n");
}

TEST(AttemptLogTest, LeavesNoEmptyFile) {
  const std::string path = LogFile();
  { const AttemptLog log(path); }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(AttemptLogTest, LosesItsMiddleWhereItIsTooLarge) {
  const std::string path = LogFile();
  {
    const AttemptLog log(path, /*most_bytes=*/1000);
    Print("first words" + std::string(3000, '.'));
  }
  {
    // The next attempt's output, in the same file.
    const AttemptLog log(path, /*most_bytes=*/1000);
    Print("last words");
  }
  const std::string text = ReadAll(path);
  EXPECT_LE(text.size(), 1000u);
  EXPECT_THAT(text, ::testing::StartsWith("first words"));
  EXPECT_THAT(text, HasSubstr("about 2511 bytes of output were cut here: a log holds 1000"));
  EXPECT_THAT(text, ::testing::EndsWith("last words"));
}

TEST(AttemptLogTest, IsCutWhileTheTrialRuns) {
  const std::string path = LogFile();
  const AttemptLog log(path, /*most_bytes=*/1000);
  // A line at a time: the file ends small all the same, or the test never ends.
  do {
    Print(std::string(10, '.'));
  } while (ReadAll(path).find("were cut here") == std::string::npos);
}

}  // namespace
}  // namespace lanista
