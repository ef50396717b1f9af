// Which build a program is, without starting it.
#ifndef LANISTA_SRC_BASE_BUILD_ID_H_
#define LANISTA_SRC_BASE_BUILD_ID_H_

#include <string>

#include "absl/status/statusor.h"

namespace lanista {

// The linker's build ID of a program's file, in hex: what the running program calls its ProgramId
// (src/trial/program_id.h). NOT_FOUND: there is no such file. FAILED_PRECONDITION: it is no program of this kind of
// machine (but a script, say), or was linked without a build ID. Thread-safe.
absl::StatusOr<std::string> ReadBuildId(const std::string& path);

}  // namespace lanista

#endif  // LANISTA_SRC_BASE_BUILD_ID_H_
