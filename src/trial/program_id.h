// Which build of which program this is.
#ifndef LANISTA_SRC_TRIAL_PROGRAM_ID_H_
#define LANISTA_SRC_TRIAL_PROGRAM_ID_H_

#include <string>

namespace lanista {

// The linker's build ID of the running program in hex: the same for the same code. Where it was linked without one: a
// name that no other process shares.
const std::string& ProgramId();

}  // namespace lanista

#endif  // LANISTA_SRC_TRIAL_PROGRAM_ID_H_
