#include "src/config/data_paths.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "src/base/status.h"

namespace lanista {
namespace {

constexpr absl::string_view kScheme = "data://";
constexpr size_t kMaxName = 64;

}  // namespace

bool IsDataPath(absl::string_view path) { return absl::StartsWith(path, kScheme); }

absl::Status CheckDataName(absl::string_view name) {
  const bool good = !name.empty() && name.size() <= kMaxName && absl::ascii_isalnum(name[0]) &&
                    std::all_of(name.begin(), name.end(),
                                [](char c) { return absl::ascii_isalnum(c) || c == '_' || c == '.' || c == '-'; });
  if (good) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("the name of data has 1 to ", kMaxName,
                                                 " letters, digits, '_', '.' or '-', and begins with a letter or a "
                                                 "digit"));
}

absl::StatusOr<DataPath> ParseDataPath(absl::string_view path) {
  if (!absl::ConsumePrefix(&path, kScheme)) {
    return absl::InvalidArgumentError("must be data://NAME, or data://NAME/ and what is in it");
  }
  if (absl::StrContains(path, '\0')) return absl::InvalidArgumentError("must have no NUL byte");
  DataPath parsed;
  const size_t slash = std::min(path.find('/'), path.size());
  parsed.name = std::string(path.substr(0, slash));
  LANISTA_RETURN_IF_ERROR(CheckDataName(parsed.name));
  absl::string_view sub = path.substr(slash);
  absl::ConsumePrefix(&sub, "/");
  absl::ConsumeSuffix(&sub, "/");
  std::vector<absl::string_view> parts;
  if (!sub.empty()) parts = absl::StrSplit(sub, '/');
  for (const absl::string_view part : parts) {
    if (!part.empty() && part != "." && part != "..") continue;
    return absl::InvalidArgumentError(
        absl::StrCat("must name something in the folder of the data '", parsed.name, "', without '..', '.' and '//'"));
  }
  parsed.sub = absl::StrJoin(parts, "/");
  return parsed;
}

std::set<std::string> DataNamesOf(const std::vector<std::string>& paths) {
  std::set<std::string> names;
  for (const std::string& path : paths) {
    if (!IsDataPath(path)) continue;
    // What is wrong with it was found before (FindViolation).
    absl::StatusOr<DataPath> parsed = ParseDataPath(path);
    if (parsed.ok()) names.insert(std::move(parsed->name));
  }
  return names;
}

}  // namespace lanista
