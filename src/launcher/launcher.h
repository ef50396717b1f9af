// The command line of Lanista: head, actors and reading commands; no LibTorch.
#ifndef LANISTA_SRC_LAUNCHER_LAUNCHER_H_
#define LANISTA_SRC_LAUNCHER_LAUNCHER_H_

#include "src/launcher/trial_program.h"

namespace lanista {

struct LauncherOptions {
  // What runs trials. Empty path: `lanista-trial` beside this program. `--trial-program` goes before both.
  TrialProgram trial_program;
};

// Executes the command line and returns the exit code (exit_codes.h). Results go to stdout, errors to stderr as
// "lanista: error: ..."; with --json, stdout gets exactly one JSON document: {"error": ...} where there is nothing else
// to say. REQUIRES: called from main, before any thread was started.
int LauncherMain(int argc, char** argv, const LauncherOptions& options);

}  // namespace lanista

#endif  // LANISTA_SRC_LAUNCHER_LAUNCHER_H_
