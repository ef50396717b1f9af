// init.
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"
#include "src/base/status.h"
#include "src/base/utf8.h"
#include "src/config/paths.h"
#include "src/launcher/commands.h"
#include "src/launcher/console.h"
#include "src/launcher/exit_codes.h"
#include "src/launcher/project.h"

namespace lanista {
namespace {

namespace fs = std::filesystem;

// Where this program is installed; nullopt: nowhere.
std::optional<fs::path> InstalledPrefix() {
  std::error_code error;
  const fs::path prefix = fs::read_symlink("/proc/self/exe", error).parent_path().parent_path();
  if (error || !fs::exists(prefix / "include/lanista/main.h", error)) return std::nullopt;
  return prefix;
}

}  // namespace

absl::StatusOr<int> InitProject(const CommandContext& context) {
  const CommandLine& line = context.line;
  ProjectOptions options;
  options.build_tool = line.build_tool;
  LANISTA_ASSIGN_OR_RETURN(options.folder, ResolvePath(line.folder, UserDirectory()));
  if (!line.source.empty()) {
    LANISTA_ASSIGN_OR_RETURN(options.source, ResolvePath(line.source, UserDirectory()));
  } else if (const char* const sources = std::getenv("BUILD_WORKSPACE_DIRECTORY"); sources != nullptr) {
    // Under `bazel run`.
    options.source = sources;
  }
  const std::optional<fs::path> prefix = InstalledPrefix();
  if (prefix.has_value() && *prefix != "/usr" && *prefix != "/usr/local") options.prefix = prefix->string();
  LANISTA_ASSIGN_OR_RETURN(const Project project, WriteProject(options));
  if (!prefix.has_value() && options.build_tool == "cmake") {
    PrintWarning(
        "CMake needs an installed Lanista, and this one is not: scripts/install.sh in its sources installs it, "
        "liblanista-dev is its package");
  }
  if (line.json) {
    nlohmann::ordered_json files = nlohmann::ordered_json::array();
    for (const std::string& file : project.files) files.push_back(ToUtf8(file));
    PrintJson({{"name", project.name}, {"files", files}, {"commands", project.commands}});
    return kExitDone;
  }
  PrintLine(absl::StrCat("Made ", options.folder, " with ", project.files.size(), " files. Now:"));
  PrintLine(absl::StrCat("  cd ", line.folder));
  for (const std::string& command : project.commands) PrintLine("  " + command);
  return kExitDone;
}

}  // namespace lanista
