#include "src/launcher/console.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>
#include <limits>
#include <string>

#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"
#include "src/base/display_text.h"
#include "src/views/documents.h"

namespace lanista {
namespace {

void Write(std::FILE* stream, absl::string_view text) { std::fwrite(text.data(), 1, text.size(), stream); }

}  // namespace

void PrintText(absl::string_view text) { Write(stdout, text); }

void PrintLine(absl::string_view line) { Write(stdout, absl::StrCat(Printable(line), "\n")); }

void PrintJson(const nlohmann::ordered_json& document) { Write(stdout, absl::StrCat(ToText(document), "\n")); }

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
