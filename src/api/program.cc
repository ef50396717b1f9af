#include "src/api/program.h"

#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "include/lanista/main.h"
#include "src/base/openssl_exit.h"
#include "src/base/registrations.h"
#include "src/base/status.h"
#include "src/launcher/console.h"
#include "src/launcher/local_head.h"
#include "src/launcher/standard_streams.h"
#include "src/trial/trial_main.h"
#include "src/trial_process/parent.h"

namespace lanista {
namespace {

std::atomic<bool> initialized{false};

// Whether this process was started as a trial process. The program may have changed its `argv`, so the kernel's copy
// counts, too: a trial process that took itself for the program would start trial processes of its own.
bool IsTrialProcess(int argc, char** argv) {
  if (argc > 1 && argv != nullptr && std::string(argv[1]) == kTrialProcessFlag) return true;
  std::ifstream arguments("/proc/self/cmdline", std::ios::binary);
  std::string argument;
  return std::getline(arguments, argument, '\0') && std::getline(arguments, argument, '\0') &&
         argument == kTrialProcessFlag;
}

// At the end of the program: what an actor that did not end may use is not destroyed.
void EndWithoutDestructors(int status, void*) {
  if (!LocalHead::LeftActorsBehind()) return;
  std::fflush(nullptr);
  _exit(status);
}

}  // namespace

void Init(int argc, char** argv) {
  if (initialized.exchange(true)) return;
  Registrations::Get().Close();
  if (IsTrialProcess(argc, argv)) {
    if (const absl::Status status = Registrations::Get().status(); !status.ok()) {
      PrintError(status.message());
      _exit(EXIT_FAILURE);
    }
    _exit(TrialMain());
  }
  OpenClosedStandardStreams();
  KeepOpenSslAtExit();
  on_exit(EndWithoutDestructors, nullptr);
}

namespace api {

absl::StatusOr<TrialProgram> ThisProgram() {
  if (!initialized) {
    return absl::FailedPreconditionError(
        "lanista::Init(argc, argv) was not called: call it in main, after the program has registered its components "
        "and before anything else. Trials run in processes of their own, which are this program started again, and "
        "they begin in Init");
  }
  LANISTA_RETURN_IF_ERROR(Registrations::Get().status());
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) {
    return absl::UnavailableError(
        absl::StrCat("/proc/self/exe, which trial processes are started from: ", error.message()));
  }
  return TrialProgram{self.string(), MakeInProcessTrial};
}

}  // namespace api
}  // namespace lanista
