// This program as the program of its trial processes.
#ifndef LANISTA_SRC_API_PROGRAM_H_
#define LANISTA_SRC_API_PROGRAM_H_

#include "absl/status/statusor.h"
#include "src/launcher/trial_program.h"

namespace lanista::api {

// How trials of this program are started. FAILED_PRECONDITION: lanista::Init was not called, or a component could not
// be registered; says what to do.
absl::StatusOr<TrialProgram> ThisProgram();

}  // namespace lanista::api

#endif  // LANISTA_SRC_API_PROGRAM_H_
