#include "src/launcher/project.h"

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "src/base/output_files.h"
#include "src/base/status.h"
#include "src/launcher/project_templates.h"

namespace lanista {
namespace {

namespace fs = std::filesystem;

// What templates are called in a project, where that is not their own name. "": the other build tool's.
std::string FileName(const std::string& name, bool bazel) {
  // Bazel would take files of these names for its own while it builds Lanista.
  static const auto* const kBazel = new std::map<std::string, std::string>{
      {"BUILD.txt", "BUILD"}, {"WORKSPACE.txt", "WORKSPACE"}, {"bazelrc.txt", ".bazelrc"}};
  if (name == "README.txt") return "README.md";
  if (name == "CMakeLists.txt") return bazel ? "" : name;
  const auto found = kBazel->find(name);
  if (found == kBazel->end()) return name;
  return bazel ? found->second : "";
}

// A name for programs and for targets of CMake and Bazel: "nas-mnist 2" becomes "nas_mnist_2".
std::string ProgramName(const std::string& folder) {
  std::string name = fs::path(folder).filename().string();
  for (char& c : name) {
    if (!absl::ascii_isalnum(static_cast<unsigned char>(c))) c = '_';
  }
  // The project's own target, those of CMake's generators (its policy CMP0037), and what Bazel calls Lanista.
  static const auto* const kTaken = new std::set<std::string>{
      "parts",   "all",        "ALL_BUILD",     "clean",     "edit_cache", "help",       "install",
      "INSTALL", "preinstall", "rebuild_cache", "RUN_TESTS", "test",       "ZERO_CHECK", "lanista"};
  const bool is_name = !name.empty() && absl::ascii_isalpha(static_cast<unsigned char>(name[0]));
  return is_name && kTaken->count(name) == 0 ? name : "my_search";
}

absl::Status CheckFolder(const std::string& folder) {
  std::error_code error;
  const fs::file_status status = fs::status(folder, error);
  if (!fs::exists(status)) return absl::OkStatus();
  if (!fs::is_directory(status)) {
    return absl::InvalidArgumentError(absl::StrCat(folder, " is no folder; name a new one"));
  }
  const bool empty = fs::is_empty(folder, error);
  if (error) return ErrnoToStatus(error.value(), folder);
  if (!empty) return absl::InvalidArgumentError(absl::StrCat(folder, " is not empty; name a new folder"));
  return absl::OkStatus();
}

absl::Status CheckSource(const std::string& source) {
  if (source.empty()) {
    return absl::InvalidArgumentError(
        "--build bazel needs --source DIR, the folder of Lanista's sources; --build cmake needs none");
  }
  std::error_code error;
  if (fs::exists(fs::path(source) / "third_party/deps.bzl", error)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("--source ", source, " is not the folder of Lanista's sources: it has no third_party/deps.bzl"));
}

}  // namespace

absl::StatusOr<Project> WriteProject(const ProjectOptions& options) {
  const bool bazel = options.build_tool == "bazel";
  const std::string folder = fs::path(options.folder).lexically_normal().string();
  LANISTA_RETURN_IF_ERROR(CheckFolder(folder));
  if (bazel) {
    LANISTA_RETURN_IF_ERROR(CheckSource(options.source));
  }

  Project project;
  // A path that ends with / has an empty last part.
  project.name = ProgramName(absl::EndsWith(folder, "/") ? folder.substr(0, folder.size() - 1) : folder);
  const std::string program = absl::StrCat(bazel ? "bazel-bin/" : "build/", project.name);
  if (bazel) {
    project.commands = {absl::StrCat("bazel build -c opt //:", project.name)};
  } else {
    const std::string found = options.prefix.empty() ? "" : absl::StrCat(" -DCMAKE_PREFIX_PATH=", options.prefix);
    project.commands = {absl::StrCat("cmake -B build", found), "cmake --build build -j2"};
  }
  project.commands.push_back(absl::StrCat(program, " run experiment.textproto"));
  project.commands.push_back(bazel ? "bazel test -c opt //..." : "ctest --test-dir build");

  // A path in a string of Bazel's.
  const std::string source = absl::StrReplaceAll(options.source, {{"\\", "\\\\"}, {"\"", "\\\""}});
  OutputFiles files;
  LANISTA_RETURN_IF_ERROR(MakeParentFolder(absl::StrCat(folder, "/main.cc")));
  for (size_t i = 0; i < kProjectTemplateCount; ++i) {
    const std::string name = FileName(kProjectTemplates[i].name, bazel);
    if (name.empty()) continue;
    const std::string content = absl::StrReplaceAll(kProjectTemplates[i].content,
                                                    {{"@NAME@", project.name},
                                                     {"@PROGRAM@", program},
                                                     {"@SOURCE@", source},
                                                     {"@BUILD_COMMANDS@", absl::StrJoin(project.commands, "\n")}});
    LANISTA_RETURN_IF_ERROR(files.Write((fs::path(folder) / name).string(), content));
  }
  LANISTA_RETURN_IF_ERROR(files.Write((fs::path(folder) / ".gitignore").string(), bazel ? "/bazel-*\n" : "/build/\n"));
  LANISTA_ASSIGN_OR_RETURN(project.files, files.Commit());
  return project;
}

}  // namespace lanista
