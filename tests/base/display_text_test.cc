#include "src/base/display_text.h"

#include <clocale>
#include <string>

#include "gtest/gtest.h"

namespace lanista {
namespace {

TEST(DisplayTextTest, ControlCharactersBecomeSpaces) {
  EXPECT_EQ(OneLine("a\x1b[31mb\a\x7f"), "a [31mb");
  EXPECT_EQ(OneLine(" shapes (2x3)\r\n\n\tand (4x5) "), "shapes (2x3) and (4x5)");
  // C1: CSI as one character, and NEL; then the separators of lines and paragraphs.
  EXPECT_EQ(OneLine("a\u009b31mb\u0085c\u2028d\u2029e"), "a 31mb c d e");
  EXPECT_EQ(OneLine(std::string("a\0b", 3)), "a b");
}

TEST(DisplayTextTest, NothingTurnsTheDirectionOfText) {
  EXPECT_EQ(OneLine("a\u202egnp.\u202c b\u2066c\u2069\u200e\u200f\u061cd"), "agnp. bcd");
}

TEST(DisplayTextTest, OtherTextStaysAndBytesThatAreNotUtf8AreReplaced) {
  EXPECT_EQ(OneLine("größe 日本語 👨 é"), "größe 日本語 👨 é");
  EXPECT_EQ(OneLine("caf\xe9 \xf8\x90\x80\x80"), "caf\ufffd \ufffd");
}

TEST(DisplayTextTest, CellsKeepTheirSpaces) { EXPECT_EQ(Printable("  a\tb\n  c"), "  a b   c"); }

TEST(DisplayTextTest, JsonKeepsItsValues) {
  EXPECT_EQ(PrintableJson("{\n  \"a\": \"\\n\u009b\u202e\x7f é\"\n}"), "{\n  \"a\": \"\\n\\u009b\\u202e\\u007f é\"\n}");
}

TEST(DisplayTextTest, OfATorchScriptTracebackTheErrorAndItsPlaceStay) {
  const std::string traceback = R"(The following operation failed in the TorchScript interpreter.
Traceback of TorchScript, serialized code (most recent call last):
  File "code/__torch__.py", line 10, in forward
    _0 = torch.append(self.kept, torch.zeros([1000000]))
                                 ~~~~~~~~~~~ <--- HERE
    return x

Traceback of TorchScript, original code (most recent call last):
  File "grow.py", line 3, in forward
    self.grow(x)
    ~~~~~~~~~ <--- HERE
  File "grow.py", line 12, in grow
    kept.append(torch.zeros(1000000))
                ~~~~~~~~~~~ <--- HERE
RuntimeError: can't allocate memory:
you tried to allocate 4000000 bytes.
)";
  EXPECT_EQ(ReasonLine("model 1: " + traceback),
            "model 1: RuntimeError: can't allocate memory: you tried to allocate 4000000 bytes. "
            "(File \"grow.py\", line 12, in grow)");
  EXPECT_EQ(ReasonLine("two\nlines"), "two lines");
}

TEST(DisplayTextTest, ReasonsAreOfModerateLength) {
  const std::string reason = ReasonLine(std::string(5'000'000, 'x'));
  EXPECT_EQ(reason, std::string(4000, 'x') + "... (5000000 bytes in all)");
  // No half characters: 4,000 bytes end within an é here.
  std::string accents = "x";
  for (int i = 0; i < 3000; ++i) accents += "é";
  EXPECT_EQ(ReasonLine(accents).find("\ufffd"), std::string::npos);
}

TEST(DisplayTextTest, WidthCountsCells) {
  // Whatever the process's locale is.
  ASSERT_STREQ(std::setlocale(LC_ALL, nullptr), "C");
  EXPECT_EQ(DisplayWidth("größe"), 5);
  EXPECT_EQ(DisplayWidth("日本語"), 6);
  EXPECT_EQ(DisplayWidth("e\u0301"), 1);
  EXPECT_EQ(DisplayWidth("👨"), 2);
  EXPECT_EQ(DisplayWidth(""), 0);
}

TEST(DisplayTextTest, CutsAtCells) {
  EXPECT_EQ(CutToWidth("größe", 3), "grö");
  EXPECT_EQ(CutToWidth("größe", 9), "größe");
  // Half of a wide character does not fit; a combining one stays with its letter.
  EXPECT_EQ(CutToWidth("日本語", 5), "日本");
  EXPECT_EQ(CutToWidth("e\u0301x", 1), "e\u0301");
  EXPECT_EQ(Ellipsize("日本語", 6), "日本語");
  EXPECT_EQ(Ellipsize("日本語", 5), "日本…");
  EXPECT_EQ(Ellipsize("abc", 1), "…");
}

TEST(DisplayTextTest, CountsAgreeWithTheirNouns) {
  EXPECT_EQ(Counted(0, "model"), "0 models");
  EXPECT_EQ(Counted(1, "model"), "1 model");
  EXPECT_EQ(Counted(2, "model"), "2 models");
}

}  // namespace
}  // namespace lanista
