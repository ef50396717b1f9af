#include "src/launcher/standard_streams.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <initializer_list>

#include "src/launcher/exit_codes.h"

namespace lanista {
namespace {

// Whether stdout is a pipe or a terminal whose other end is closed.
bool ReaderLeft() {
  struct pollfd output = {STDOUT_FILENO, POLLOUT, 0};
  return poll(&output, 1, 0) == 1 && (output.revents & POLLERR) != 0;
}

}  // namespace

void OpenClosedStandardStreams() {
  for (const int number : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    // open() takes the lowest free number, which is this one.
    if (fcntl(number, F_GETFD) < 0) (void)open("/dev/null", number == STDIN_FILENO ? O_RDONLY : O_WRONLY);
  }
}

int CheckStandardOutput(int exit_code) {
  errno = 0;
  const bool failed = std::fflush(stdout) != 0 || std::ferror(stdout) != 0;
  const int error = errno;
  if (!failed || error == EPIPE || ReaderLeft()) return exit_code;
  // An earlier write may have failed even if the last one succeeded.
  std::fprintf(stderr, "lanista: error: cannot write to the standard output: %s\n",
               error != 0 ? std::strerror(error) : "what was printed is not complete");
  return exit_code == kExitDone ? kExitFailed : exit_code;
}

}  // namespace lanista
