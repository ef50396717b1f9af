#include "src/base/logging.h"

#include <algorithm>
#include <cstdio>
#include <exception>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "spdlog/common.h"
#include "spdlog/logger.h"
#include "spdlog/sinks/base_sink.h"
#include "spdlog/sinks/rotating_file_sink.h"
#include "spdlog/spdlog.h"
#include "src/base/display_text.h"

namespace lanista {
namespace {

constexpr size_t kFileBytes = 10 << 20;
constexpr size_t kOldFiles = 3;

// stderr, or wherever RedirectConsoleLog says.
class ConsoleSink : public spdlog::sinks::base_sink<std::mutex> {
 public:
  void Redirect(std::function<void(absl::string_view)> write) {
    const std::lock_guard<std::mutex> lock(mutex_);
    write_ = std::move(write);
  }

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    // Messages carry texts of models, files and exceptions.
    const std::string printable = absl::StrCat(OneLine(absl::string_view(line.data(), line.size())), "\n");
    if (write_) {
      write_(printable);
    } else {
      std::fwrite(printable.data(), 1, printable.size(), stderr);
    }
  }
  void flush_() override { std::fflush(stderr); }

 private:
  std::function<void(absl::string_view)> write_;
};

const std::shared_ptr<ConsoleSink>& Console() {
  static const auto* const kConsole = new std::shared_ptr<ConsoleSink>(std::make_shared<ConsoleSink>());
  return *kConsole;
}

spdlog::level::level_enum SpdlogLevel(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarning:
      return spdlog::level::warn;
    case LogLevel::kError:
      break;
  }
  return spdlog::level::err;
}

}  // namespace

void Log(LogLevel level, fmt::string_view format, fmt::format_args args) {
  // Held: a test may replace it at this moment.
  const std::shared_ptr<spdlog::logger> logger = spdlog::default_logger();
  if (!logger->should_log(SpdlogLevel(level))) return;
  std::string message;
  try {
    message = fmt::vformat(format, args);
  } catch (const std::exception& error) {
    message = absl::StrCat("a message cannot be formatted (", error.what(),
                           "): ", absl::string_view(format.data(), format.size()));
  }
  logger->log(SpdlogLevel(level), message);
}

absl::Status SetUpLogging(const LoggingOptions& options) {
  const auto level = spdlog::level::from_str(options.console_level);
  if (level == spdlog::level::off && options.console_level != "off") {
    return absl::InvalidArgumentError(absl::StrCat(
        "'", options.console_level, "' is not a log level; allowed: trace, debug, info, warn, error, off"));
  }
  Console()->set_level(level);
  Console()->set_pattern("lanista: %l: %v");
  std::vector<spdlog::sink_ptr> sinks = {Console()};
  if (!options.file.empty()) {
    try {
      auto file = std::make_shared<spdlog::sinks::rotating_file_sink_mt>(options.file, kFileBytes, kOldFiles);
      file->set_level(spdlog::level::debug);
      file->set_pattern("%Y-%m-%d %H:%M:%S.%e %P %L %v");
      sinks.push_back(std::move(file));
    } catch (const spdlog::spdlog_ex& error) {
      return absl::PermissionDeniedError(absl::StrCat("the log file cannot be written: ", error.what()));
    }
  }
  auto logger = std::make_shared<spdlog::logger>("lanista", sinks.begin(), sinks.end());
  // What no sink takes is not even formatted.
  logger->set_level(options.file.empty() ? level : std::min(level, spdlog::level::debug));
  logger->flush_on(spdlog::level::warn);
  // A full disk must not flood the console, nor end the search.
  logger->set_error_handler([](const std::string&) {});
  spdlog::set_default_logger(std::move(logger));
  return absl::OkStatus();
}

void RedirectConsoleLog(std::function<void(absl::string_view line)> write) { Console()->Redirect(std::move(write)); }

std::string LogTag(absl::string_view experiment, int trial, absl::string_view node) {
  return absl::StrCat("[", experiment, trial > 0 ? absl::StrCat(" trial ", trial) : "",
                      node.empty() ? "" : absl::StrCat(" node ", node), "] ");
}

std::string NodeTag(absl::string_view node) { return absl::StrCat("[node ", node, "] "); }

}  // namespace lanista
