#include "src/base/child_process.h"

#include <signal.h>

#include "absl/strings/str_cat.h"
#include "src/base/status.h"

namespace lanista {
namespace {

std::vector<char*> Pointers(std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (std::string& string : strings) pointers.push_back(string.data());
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

absl::StatusOr<pid_t> StartChildProcess(std::vector<std::string> arguments, std::vector<std::string> environment,
                                        const posix_spawn_file_actions_t& actions) {
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setpgroup(&attributes, 0);
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);

  pid_t pid = 0;
  const int error = posix_spawnp(&pid, arguments.front().c_str(), &actions, &attributes, Pointers(arguments).data(),
                                 Pointers(environment).data());
  posix_spawnattr_destroy(&attributes);
  if (error != 0) return ErrnoToStatus(error, absl::StrCat("cannot start ", arguments.front()));
  return pid;
}

}  // namespace lanista
