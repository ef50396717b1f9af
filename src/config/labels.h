// What machines are called by those who send trials to some of them: KEY=VALUE, one value for each key.
#ifndef LANISTA_SRC_CONFIG_LABELS_H_
#define LANISTA_SRC_CONFIG_LABELS_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/map.h"

namespace lanista {

using Labels = std::map<std::string, std::string>;

// The most that one machine may have.
constexpr int kMaxLabels = 100;

// OK if it may be a key, or a value: 1 to 64 of the characters A-Z a-z 0-9 _ . / -, the first a letter or a digit.
absl::Status CheckLabelKey(absl::string_view key);
absl::Status CheckLabelValue(absl::string_view value);

// Of `KEY=VALUE` each (--label). INVALID_ARGUMENT: one is malformed, or a key has two values.
absl::StatusOr<Labels> ParseLabels(const std::vector<std::string>& options);

inline Labels LabelsOf(const google::protobuf::Map<std::string, std::string>& labels) {
  return {labels.begin(), labels.end()};
}

}  // namespace lanista

#endif  // LANISTA_SRC_CONFIG_LABELS_H_
