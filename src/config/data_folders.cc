#include "src/config/data_folders.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "src/base/status.h"
#include "src/base/utf8.h"
#include "src/config/data_paths.h"
#include "src/config/paths.h"

namespace lanista {

absl::StatusOr<DataFolders> DataFolders::Parse(const std::vector<std::string>& options, const std::string& folder) {
  DataFolders result;
  if (options.size() > static_cast<size_t>(kMaxFolders)) {
    return absl::InvalidArgumentError(absl::StrCat("--data: at most ", kMaxFolders, " folders"));
  }
  for (const std::string& option : options) {
    const std::string place = absl::StrCat("--data ", ToUtf8(option));
    const size_t equals = option.find('=');
    if (equals == std::string::npos || equals + 1 == option.size()) {
      return absl::InvalidArgumentError(absl::StrCat(place, ": write NAME=DIR, for example mnist=/data/mnist"));
    }
    const std::string name = option.substr(0, equals);
    LANISTA_RETURN_IF_ERROR(Annotate(CheckDataName(name), place));
    absl::StatusOr<std::string> path = ResolvePath(option.substr(equals + 1), folder);
    if (!path.ok()) return Annotate(path.status(), place);
    while (path->size() > 1 && path->back() == '/') path->pop_back();
    std::error_code error;
    if (!IsUtf8(*path) || *path == "/" || !std::filesystem::is_directory(*path, error)) {
      return absl::InvalidArgumentError(absl::StrCat(place, ": there is no folder ", ToUtf8(*path),
                                                     *path == "/" ? " to take (the whole machine is not data)" : "",
                                                     error ? ": " + error.message() : ""));
    }
    if (!result.folders_.emplace(name, *std::move(path)).second) {
      return absl::InvalidArgumentError(absl::StrCat(place, ": '", name, "' is named twice"));
    }
  }
  return result;
}

std::set<std::string> DataFolders::names() const {
  std::set<std::string> names;
  for (const auto& [name, folder] : folders_) names.insert(name);
  return names;
}

std::string DataFolders::Here(const std::string& path) const {
  if (!IsDataPath(path)) return path;
  const absl::StatusOr<DataPath> data = ParseDataPath(path);
  const auto found = data.ok() ? folders_.find(data->name) : folders_.end();
  if (found == folders_.end()) return path;
  return data->sub.empty() ? found->second : absl::StrCat(found->second, "/", data->sub);
}

std::string DataFolders::Named(const std::string& text, const std::set<std::string>& names) const {
  // Of folders in each other the inner one is found first: the longest match wins.
  std::vector<std::pair<std::string, std::string>> replacements;
  for (const std::string& name : names) {
    const auto found = folders_.find(name);
    if (found == folders_.end()) continue;
    replacements.emplace_back(absl::StrCat(found->second, "/"), absl::StrCat("data://", name, "/"));
  }
  return absl::StrReplaceAll(text, replacements);
}

absl::Status DataFolders::CheckHas(const google::protobuf::Message& config) const {
  return VisitPaths(config, [this](const std::string& field, const std::string& path) -> absl::Status {
    if (!IsDataPath(path)) return absl::OkStatus();
    const absl::StatusOr<DataPath> data = ParseDataPath(path);
    if (!data.ok()) return Annotate(data.status(), field);
    if (folders_.count(data->name) > 0) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(field, ": nothing here has the data '", data->name,
                                                   "'; say where it is: --data ", data->name, "=DIR"));
  });
}

}  // namespace lanista
