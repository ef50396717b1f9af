// The project that `lanista init` writes: a space, data, an evaluator, a strategy and tests, for a user to change.
#ifndef LANISTA_SRC_LAUNCHER_PROJECT_H_
#define LANISTA_SRC_LAUNCHER_PROJECT_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace lanista {

struct ProjectOptions {
  // Absolute. Made where it is missing, with those above it.
  std::string folder;
  // "cmake" (with an installed Lanista) or "bazel" (with its sources).
  std::string build_tool = "cmake";
  // bazel: the folder of Lanista's sources; absolute.
  std::string source;
  // cmake: where Lanista is installed, if CMake does not look there by itself.
  std::string prefix = "";
};

struct Project {
  // The program's: the folder's, as far as a program can be called so.
  std::string name;
  // The paths of the files.
  std::vector<std::string> files;
  // What the user types in the folder to build and run it, one line each.
  std::vector<std::string> commands;
};

// Writes a project. INVALID_ARGUMENT: the folder is no folder or not empty, or `source` is missing or has no Lanista;
// says what to do. Else the system's error. Nothing is written then. Used by one thread.
absl::StatusOr<Project> WriteProject(const ProjectOptions& options);

}  // namespace lanista

#endif  // LANISTA_SRC_LAUNCHER_PROJECT_H_
