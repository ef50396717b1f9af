#ifndef LANISTA_TESTS_RPC_CAPTURED_LOG_H_
#define LANISTA_TESTS_RPC_CAPTURED_LOG_H_

#include <memory>
#include <sstream>
#include <string>
#include <utility>

#include "spdlog/sinks/ostream_sink.h"
#include "spdlog/spdlog.h"

namespace lanista {

// What is logged while it lives. REQUIRES: nobody logs while it begins and ends.
class CapturedLog {
 public:
  CapturedLog() : before_(spdlog::default_logger()) {
    auto logger = std::make_shared<spdlog::logger>("captured", std::make_shared<spdlog::sinks::ostream_sink_mt>(text_));
    logger->set_pattern("%v");
    spdlog::set_default_logger(std::move(logger));
  }
  ~CapturedLog() { spdlog::set_default_logger(before_); }

  std::string text() const { return text_.str(); }

 private:
  std::ostringstream text_;
  const std::shared_ptr<spdlog::logger> before_;
};

}  // namespace lanista

#endif  // LANISTA_TESTS_RPC_CAPTURED_LOG_H_
