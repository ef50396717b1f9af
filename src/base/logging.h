// Logging: spdlog's default logger writes to a file in the state folder and, from a chosen level on, to stderr.
//
// A message is written as fmt writes it, from any thread. A line about an experiment, a trial or a node begins with
// LogTag or NodeTag, so that all lines about one of them can be found:
//   LogWarning("{}model 7 failed: {}", LogTag(experiment, trial), reason);
// On stderr each message is one printable line (display_text.h); the file has it as it was logged.
#ifndef LANISTA_SRC_BASE_LOGGING_H_
#define LANISTA_SRC_BASE_LOGGING_H_

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "fmt/core.h"

namespace lanista {

enum class LogLevel { kDebug, kInfo, kWarning, kError };

// Formats a message and logs it; never fails. It is no template: spdlog's take 2.5 s of processor time in each file
// that calls them, to be compiled.
void Log(LogLevel level, fmt::string_view format, fmt::format_args args);

template <typename... Args>
void LogDebug(fmt::format_string<Args...> format, const Args&... args) {
  Log(LogLevel::kDebug, format, fmt::make_format_args(args...));
}

template <typename... Args>
void LogInfo(fmt::format_string<Args...> format, const Args&... args) {
  Log(LogLevel::kInfo, format, fmt::make_format_args(args...));
}

template <typename... Args>
void LogWarning(fmt::format_string<Args...> format, const Args&... args) {
  Log(LogLevel::kWarning, format, fmt::make_format_args(args...));
}

template <typename... Args>
void LogError(fmt::format_string<Args...> format, const Args&... args) {
  Log(LogLevel::kError, format, fmt::make_format_args(args...));
}

struct LoggingOptions {
  // What stderr shows: trace, debug, info, warn, error or off.
  std::string console_level = "warn";
  // The log file, with debug and above; rotated at 10 MB, three old ones are kept. Empty: none.
  std::string file;
};

// Installs the default logger. Call once, before threads start. INVALID_ARGUMENT for an unknown level;
// PERMISSION_DENIED if the file cannot be written.
absl::Status SetUpLogging(const LoggingOptions& options);

// Sends console lines (each with its newline) to `write` instead of stderr, so that they do not tear a live display;
// nullptr brings stderr back. `write` is called by one thread at a time and must not log. Thread-safe: no call of the
// old `write` is under way any more when this returns.
void RedirectConsoleLog(std::function<void(absl::string_view line)> write);

// "[experiment] ", "[experiment trial 3] " or "[experiment trial 3 node NAME] ": the beginning of a line about an
// experiment, (trial > 0) one of its trials, and (node not empty) where it runs.
std::string LogTag(absl::string_view experiment, int trial = 0, absl::string_view node = "");
// "[node NAME] ": the beginning of a line about a node, or what it is doing for no trial in particular.
std::string NodeTag(absl::string_view node);

}  // namespace lanista

#endif  // LANISTA_SRC_BASE_LOGGING_H_
