#include "src/trial/main.h"

#include <filesystem>
#include <string>

#include "absl/status/status.h"
#include "src/base/registrations.h"
#include "src/launcher/console.h"
#include "src/launcher/exit_codes.h"
#include "src/launcher/launcher.h"
#include "src/trial/trial_main.h"
#include "src/trial_process/parent.h"

namespace lanista {

int Main(int argc, char** argv) {
  if (const absl::Status status = Registrations::Get().status(); !status.ok()) {
    PrintError(status.message());
    return kExitUsage;
  }
  if (argc > 1 && std::string(argv[1]) == kTrialProcessFlag) return TrialMain();
  LauncherOptions options;
  options.trial_program.path = std::filesystem::read_symlink("/proc/self/exe").string();
  options.trial_program.in_process = MakeInProcessTrial;
  return LauncherMain(argc, argv, options);
}

}  // namespace lanista
