// Which build of which program this is.
#ifndef LANISTA_SRC_TRIAL_PROGRAM_ID_H_
#define LANISTA_SRC_TRIAL_PROGRAM_ID_H_

#include <string>

namespace lanista {

// The linker's build ID of the running program in hex: equal for equal code. If the program was linked without one, the
// result is a name that no other process has.
const std::string& ProgramId();

}  // namespace lanista

#endif  // LANISTA_SRC_TRIAL_PROGRAM_ID_H_
