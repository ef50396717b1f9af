// What is checked of numbers, texts and lists of a client's request; errors are INVALID_ARGUMENT and name the field.
// Thread-safe.
#ifndef LANISTA_SRC_SERVICE_REQUEST_CHECKS_H_
#define LANISTA_SRC_SERVICE_REQUEST_CHECKS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace lanista {

// The number must be from `min` to `max`.
absl::Status CheckRange(int64_t value, int64_t min, int64_t max, const char* field);

// The size of a text in bytes, or of a list, must be at most `max`; `what` names what is counted.
absl::Status CheckSize(int64_t size, int64_t max, const char* field, const char* what);

// The word must be one of these, or empty: not asked for.
absl::Status CheckWord(const std::string& word, const std::vector<std::string>& allowed, const char* field);

}  // namespace lanista

#endif  // LANISTA_SRC_SERVICE_REQUEST_CHECKS_H_
