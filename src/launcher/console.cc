#include "src/launcher/console.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <iterator>
#include <limits>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "nlohmann/json.hpp"
#include "src/base/display_text.h"
#include "src/views/document_parts.h"

namespace lanista {
namespace {

std::atomic<bool> json_was_printed{false};

void Write(std::FILE* stream, absl::string_view text) { std::fwrite(text.data(), 1, text.size(), stream); }

}  // namespace

void PrintText(absl::string_view text) { Write(stdout, text); }

void PrintLine(absl::string_view line) { Write(stdout, absl::StrCat(Printable(line), "\n")); }

void PrintJson(const nlohmann::ordered_json& document) {
  json_was_printed = true;
  Write(stdout, absl::StrCat(ToText(document), "\n"));
}

bool JsonWasPrinted() { return json_was_printed; }

void JsonPrinter::Add(nlohmann::ordered_json part) {
  if (text_.empty()) {
    nlohmann::ordered_json& list = *std::prev(part.end());
    nlohmann::ordered_json entries = std::exchange(list, nlohmann::ordered_json::array());
    text_ = std::string(absl::StripSuffix(ToText(part), "]\n}"));
    part = std::move(entries);
  }
  if (part.empty()) return;
  // Wrapped, so that they are indented as in the whole document.
  const std::string wrapped = ToText({{"list", std::move(part)}});
  absl::StrAppend(&text_, std::exchange(has_entries_, true) ? "," : "",
                  absl::StripSuffix(absl::StripPrefix(wrapped, "{\n  \"list\": ["), "\n  ]\n}"));
}

void JsonPrinter::Print() {
  json_was_printed = true;
  Write(stdout, text_);
  Write(stdout, has_entries_ ? "\n  ]\n}\n" : "]\n}\n");
}

void PrintWarning(absl::string_view text) { Write(stderr, absl::StrCat("lanista: warning: ", ReasonLine(text), "\n")); }

void PrintError(absl::string_view text) { Write(stderr, absl::StrCat("lanista: error: ", ReasonLine(text), "\n")); }

void PrintNote(absl::string_view text) { Write(stderr, absl::StrCat("lanista: ", ReasonLine(text), "\n")); }

void PrintQuestion(absl::string_view text) { Write(stderr, Printable(text)); }

int OutputWidth() {
  winsize size = {};
  if (isatty(STDOUT_FILENO) == 0) return std::numeric_limits<int>::max();
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

}  // namespace lanista
