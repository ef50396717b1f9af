#include "src/base/shell_word.h"

#include "gtest/gtest.h"

namespace lanista {
namespace {

TEST(ShellWordTest, PlainTextStaysAsItIs) {
  EXPECT_EQ(ShellWord("/home/ann/my-runs_1.2"), "/home/ann/my-runs_1.2");
  EXPECT_EQ(ShellWord("/home/ann/my runs"), "'/home/ann/my runs'");
  EXPECT_EQ(ShellWord("~"), "'~'");
  EXPECT_EQ(ShellWord("größe"), "'größe'");
  EXPECT_EQ(ShellWord("ann's"), "'ann'\\''s'");
  EXPECT_EQ(ShellWord(""), "''");
  EXPECT_EQ(QuotedShellWord("plain"), "'plain'");
}

}  // namespace
}  // namespace lanista
