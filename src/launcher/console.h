// What commands print: results to stdout, warnings and errors to stderr. Nothing else in this room prints, but the
// progress of `run` (progress_view.h) and the log (src/base/logging.h).
//
// Thread-safe as stdio is.
#ifndef LANISTA_SRC_LAUNCHER_CONSOLE_H_
#define LANISTA_SRC_LAUNCHER_CONSOLE_H_

#include <string>

#include "absl/strings/string_view.h"
#include "nlohmann/json_fwd.hpp"

namespace lanista {

// A command's result for people: whole lines. REQUIRES: texts from outside went through Printable (the tables of
// src/views do that).
void PrintText(absl::string_view text);

// One line of it; `line` may be any text.
void PrintLine(absl::string_view line);

// A command's result for scripts (--json).
void PrintJson(const nlohmann::ordered_json& document);
// Whether this process has printed a document: what goes wrong later is told on stderr alone. Any thread may ask.
bool JsonWasPrinted();

// What PrintJson prints of a document whose last key is a list, from parts of it: only the text is kept until the last
// part has come. Used by one thread.
class JsonPrinter {
 public:
  // The first part is the document with the first entries of its list, and each other one an array of more entries.
  void Add(nlohmann::ordered_json part);
  // Prints it. After the last part.
  void Print();

 private:
  std::string text_;
  bool has_entries_ = false;
};

// "lanista: warning: ..." and "lanista: error: ...", one line each; `text` may be any text.
void PrintWarning(absl::string_view text);
void PrintError(absl::string_view text);

// A line to stderr that is neither: what is going on, what a signal did.
void PrintNote(absl::string_view text);

// A question to stderr, without a line break after it.
void PrintQuestion(absl::string_view text);

// The columns of stdout's terminal; no limit (INT_MAX) where it is none.
int OutputWidth();

}  // namespace lanista

#endif  // LANISTA_SRC_LAUNCHER_CONSOLE_H_
