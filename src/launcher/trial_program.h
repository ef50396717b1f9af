// Which program serves as trial process.
#ifndef LANISTA_SRC_LAUNCHER_TRIAL_PROGRAM_H_
#define LANISTA_SRC_LAUNCHER_TRIAL_PROGRAM_H_

#include <functional>
#include <memory>
#include <string>

#include "src/config/data_folders.h"

namespace lanista {

class TrialChannel;

// How trials are executed.
struct TrialProgram {
  // The program that is started as trial process.
  std::string path;
  // `isolation: IN_PROCESS`: runs the trial half on a thread of this process. Empty where this program has none linked
  // in.
  std::function<std::unique_ptr<TrialChannel>()> in_process;
  // The data that this machine has, for trials, discoveries and exports that read it.
  DataFolders data = {};
};

}  // namespace lanista

#endif  // LANISTA_SRC_LAUNCHER_TRIAL_PROGRAM_H_
