// Texts as words of a command line that a person or a shell reads.
#ifndef LANISTA_SRC_BASE_SHELL_WORD_H_
#define LANISTA_SRC_BASE_SHELL_WORD_H_

#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"

namespace lanista {

// The text in quotes, whatever it holds.
inline std::string QuotedShellWord(absl::string_view text) {
  return absl::StrCat("'", absl::StrReplaceAll(text, {{"'", "'\\''"}}), "'");
}

// The text as it is where it has only characters that no shell takes for anything else, else in quotes: for people, who
// read a plain word more easily.
inline std::string ShellWord(absl::string_view text) {
  for (const char c : text) {
    const bool plain = absl::ascii_isalnum(static_cast<unsigned char>(c)) ||
                       absl::string_view("/._-+:,@%").find(c) != absl::string_view::npos;
    if (!plain) return QuotedShellWord(text);
  }
  return text.empty() ? "''" : std::string(text);
}

}  // namespace lanista

#endif  // LANISTA_SRC_BASE_SHELL_WORD_H_
