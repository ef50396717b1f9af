#include "src/launcher/signal_thread.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace lanista {
namespace {

constexpr char kSignal = 's';
constexpr char kEnd = 'e';

// The pipe from the signal handler to the signal thread. Once CatchStopSignals was called, it stays open.
int pipe_ends[2] = {-1, -1};

void Write(char message) {
  const int error = errno;
  [[maybe_unused]] const ssize_t written = write(pipe_ends[1], &message, 1);
  errno = error;
}

}  // namespace

void CatchStopSignals() {
  if (pipe_ends[0] < 0 && pipe2(pipe_ends, O_CLOEXEC) != 0) return;
  struct sigaction action = {};
  action.sa_handler = [](int) { Write(kSignal); };
  action.sa_flags = SA_RESTART;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  // With nohup, SIGHUP is ignored: the process is to go on after its terminal has closed.
  struct sigaction inherited = {};
  sigaction(SIGHUP, nullptr, &inherited);
  if (inherited.sa_handler != SIG_IGN) sigaction(SIGHUP, &action, nullptr);
}

SignalThread::SignalThread(Handler handler)
    : thread_([handler = std::move(handler)] {
        int count = 0;
        char message = kEnd;
        while (true) {
          const ssize_t got = read(pipe_ends[0], &message, 1);
          if (got < 0 && errno == EINTR) continue;
          if (got != 1 || message == kEnd) return;
          handler(++count);
        }
      }) {}

SignalThread::~SignalThread() {
  Write(kEnd);
  thread_.join();
}

}  // namespace lanista
