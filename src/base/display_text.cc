#include "src/base/display_text.h"

#include <locale.h>
#include <wchar.h>

#include <algorithm>
#include <cstddef>
#include <limits>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "src/base/utf8.h"

namespace lanista {
namespace {

constexpr size_t kMaxReasonBytes = 4000;

// A character of UTF-8: its code and its bytes.
struct Character {
  char32_t code = 0;
  size_t length = 1;
};

// The character at the start of `text`. REQUIRES: `text` is not empty, and UTF-8.
Character FirstCharacter(absl::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<char32_t>(static_cast<unsigned char>(text[i])); };
  if (byte(0) < 0x80) return {byte(0), 1};
  const size_t length = std::min<size_t>(byte(0) >= 0xf0 ? 4 : byte(0) >= 0xe0 ? 3 : 2, text.size());
  char32_t code = byte(0) & (0x7f >> length);
  for (size_t i = 1; i < length; ++i) code = code << 6 | (byte(i) & 0x3f);
  return {code, length};
}

// Control characters, and what ends a line.
bool IsControl(char32_t code) {
  return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x2028 || code == 0x2029;
}

// Marks, embeddings, overrides and isolates of the bidirectional algorithm (UAX #9).
bool TurnsDirection(char32_t code) {
  return code == 0x061c || code == 0x200e || code == 0x200f || (code >= 0x202a && code <= 0x202e) ||
         (code >= 0x2066 && code <= 0x2069);
}

// While it lives, this thread's characters are UTF-8, whatever LANG says and setlocale was told.
class Utf8Locale {
 public:
  Utf8Locale() : old_(uselocale(Utf8())) {}
  ~Utf8Locale() { uselocale(old_); }
  Utf8Locale(const Utf8Locale&) = delete;
  Utf8Locale& operator=(const Utf8Locale&) = delete;

  int Width(char32_t code) const {
    // A character that libc does not know is shown as some box.
    const int width = wcwidth(static_cast<wchar_t>(code));
    return width < 0 ? 1 : width;
  }

 private:
  // C.UTF-8 comes with Debian's libc. Without it, uselocale(nullptr) changes nothing.
  static locale_t Utf8() {
    static const locale_t kUtf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
    return kUtf8;
  }

  const locale_t old_;
};

// Bytes and cells of the longest beginning of `text` that takes at most `width` cells.
struct Beginning {
  size_t bytes = 0;
  int cells = 0;
};

Beginning BeginningOfWidth(absl::string_view text, int width) {
  const Utf8Locale locale;
  Beginning beginning;
  while (beginning.bytes < text.size()) {
    const Character character = FirstCharacter(text.substr(beginning.bytes));
    const int cells = character.code < 0x7f ? 1 : locale.Width(character.code);
    if (cells > width - beginning.cells) break;
    beginning.bytes += character.length;
    beginning.cells += cells;
  }
  return beginning;
}

// `text` without the lines of a TorchScript traceback: what comes before it, the error, and where it was raised.
std::string WithoutTraceback(const std::string& text) {
  constexpr absl::string_view kBegin = "The following operation failed in the TorchScript interpreter.";
  constexpr absl::string_view kHere = "<--- HERE";
  const size_t begin = text.find(kBegin.data(), 0, kBegin.size());
  const size_t here = text.rfind(kHere.data(), std::string::npos, kHere.size());
  if (begin == std::string::npos || here == std::string::npos || here < begin) return text;
  const std::string error = OneLine(absl::string_view(text).substr(here + kHere.size()));
  // `  File "net.py", line 9, in forward`, of the last frame.
  std::string place;
  if (const size_t file = text.rfind("\n  File \"", here); file != std::string::npos && file > begin) {
    place = OneLine(absl::string_view(text).substr(file, text.find('\n', file + 1) - file));
  }
  if (error.empty()) return text;
  return absl::StrCat(text.substr(0, begin), error, place.empty() ? "" : absl::StrCat(" (", place, ")"));
}

}  // namespace

std::string Printable(absl::string_view text) {
  const std::string utf8 = ToUtf8(text);
  std::string printable;
  printable.reserve(utf8.size());
  for (absl::string_view rest = utf8; !rest.empty();) {
    const Character character = FirstCharacter(rest);
    if (IsControl(character.code)) {
      printable += ' ';
    } else if (!TurnsDirection(character.code)) {
      printable.append(rest.data(), character.length);
    }
    rest.remove_prefix(character.length);
  }
  return printable;
}

std::string PrintableJson(absl::string_view json) {
  std::string printable;
  printable.reserve(json.size());
  for (absl::string_view rest = json; !rest.empty();) {
    // Nearly all of a large document.
    const auto ascii_end =
        std::find_if(rest.begin(), rest.end(), [](char c) { return static_cast<unsigned char>(c) >= 0x7f; });
    printable.append(rest.begin(), ascii_end);
    rest.remove_prefix(static_cast<size_t>(ascii_end - rest.begin()));
    if (rest.empty()) break;
    const Character character = FirstCharacter(rest);
    // JSON itself has line breaks between its values; within strings, C0 is escaped already.
    if (IsControl(character.code) || TurnsDirection(character.code)) {
      absl::StrAppendFormat(&printable, "\\u%04x", static_cast<uint32_t>(character.code));
    } else {
      printable.append(rest.data(), character.length);
    }
    rest.remove_prefix(character.length);
  }
  return printable;
}

std::string OneLine(absl::string_view text) {
  std::string line = Printable(text);
  absl::RemoveExtraAsciiWhitespace(&line);
  return line;
}

std::string ReasonLine(absl::string_view text) {
  const std::string line = OneLine(WithoutTraceback(std::string(text)));
  if (line.size() <= kMaxReasonBytes) return line;
  // A character that is cut in two is dropped.
  const std::string beginning = OneLine(absl::string_view(line).substr(0, kMaxReasonBytes));
  return absl::StrCat(absl::StripSuffix(beginning, "\xef\xbf\xbd"), "... (", line.size(), " bytes in all)");
}

int DisplayWidth(absl::string_view text) { return BeginningOfWidth(text, std::numeric_limits<int>::max()).cells; }

absl::string_view CutToWidth(absl::string_view text, int width) {
  return text.substr(0, BeginningOfWidth(text, width).bytes);
}

std::string Ellipsize(absl::string_view text, int width) {
  if (CutToWidth(text, width).size() == text.size()) return std::string(text);
  return absl::StrCat(CutToWidth(text, width - 1), "…");
}

std::string Counted(int64_t count, absl::string_view noun) {
  return absl::StrCat(count, " ", noun, count == 1 ? "" : "s");
}

}  // namespace lanista
