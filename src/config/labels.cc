#include "src/config/labels.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "src/base/status.h"
#include "src/base/utf8.h"

namespace lanista {
namespace {

constexpr size_t kMaxLength = 64;

absl::Status CheckText(absl::string_view text, absl::string_view what) {
  const auto allowed = [](unsigned char c) {
    return absl::ascii_isalnum(c) || c == '_' || c == '.' || c == '/' || c == '-';
  };
  const bool good = !text.empty() && text.size() <= kMaxLength &&
                    absl::ascii_isalnum(static_cast<unsigned char>(text.front())) &&
                    std::all_of(text.begin(), text.end(), allowed);
  if (good) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("the ", what, " of a label has 1 to ", kMaxLength,
                                                 " letters, digits, '_', '.', '/' or '-', and begins with a letter or "
                                                 "a digit"));
}

}  // namespace

absl::Status CheckLabelKey(absl::string_view key) { return CheckText(key, "key"); }

absl::Status CheckLabelValue(absl::string_view value) { return CheckText(value, "value"); }

absl::StatusOr<Labels> ParseLabels(const std::vector<std::string>& options) {
  Labels labels;
  if (options.size() > static_cast<size_t>(kMaxLabels)) {
    return absl::InvalidArgumentError(absl::StrCat("--label: at most ", kMaxLabels, " labels"));
  }
  for (const std::string& option : options) {
    const std::string place = absl::StrCat("--label ", ToUtf8(option));
    const size_t equals = option.find('=');
    if (equals == std::string::npos) {
      return absl::InvalidArgumentError(absl::StrCat(place, ": write KEY=VALUE, for example gpu=a100"));
    }
    const std::string key = option.substr(0, equals), value = option.substr(equals + 1);
    LANISTA_RETURN_IF_ERROR(Annotate(CheckLabelKey(key), place));
    LANISTA_RETURN_IF_ERROR(Annotate(CheckLabelValue(value), place));
    if (!labels.emplace(key, value).second) {
      return absl::InvalidArgumentError(absl::StrCat(place, ": '", key, "' is named twice; it has one value"));
    }
  }
  return labels;
}

}  // namespace lanista
