// Text on its way to a terminal. Texts from outside (names, labels, file contents, exceptions, logs) pass through here
// before anything prints them, so that none of them can move the cursor, change colours or pass for a line of ours.
//
// All functions may be called from any thread.
#ifndef LANISTA_SRC_BASE_DISPLAY_TEXT_H_
#define LANISTA_SRC_BASE_DISPLAY_TEXT_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace lanista {

// `text` as UTF-8 without control characters: each of them (C0 with NUL and line breaks, DEL, C1, U+2028, U+2029)
// becomes a space, and the invisible characters that turn the direction of text around are left out. Spaces stay: this
// is for cells of tables and lines that are indented.
std::string Printable(absl::string_view text);

// The same on one line of single spaces, without any at its ends.
std::string OneLine(absl::string_view text);

// Why something failed, on one line. A TorchScript traceback is reduced to the error and the innermost place in the
// user's source. A text of more than 4,000 bytes is cut, and says so.
std::string ReasonLine(absl::string_view text);

// Writes the characters that Printable replaces or leaves out as \u escapes: the JSON keeps its values and is safe to
// print.
std::string PrintableJson(absl::string_view json);

// The number of terminal cells of a printable text: 2 for each wide East Asian character, 0 for a combining one.
int DisplayWidth(absl::string_view text);

// The longest beginning of a printable text that takes at most `width` cells.
absl::string_view CutToWidth(absl::string_view text, int width);

// A printable text of at most `width` cells (at least 1): a longer one ends in "…".
std::string Ellipsize(absl::string_view text, int width);

// "1 model", "2 models". The plural is the noun with an s.
std::string Counted(int64_t count, absl::string_view noun);

}  // namespace lanista

#endif  // LANISTA_SRC_BASE_DISPLAY_TEXT_H_
