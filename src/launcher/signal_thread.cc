#include "src/launcher/signal_thread.h"

#include <pthread.h>
#include <signal.h>

#include <utility>

namespace lanista {
namespace {

sigset_t StopSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  return signals;
}

}  // namespace

void BlockStopSignals() {
  const sigset_t signals = StopSignals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
}

SignalThread::SignalThread(Handler handler)
    : thread_([this, handler = std::move(handler)] {
        const sigset_t signals = StopSignals();
        int signal = 0;
        for (int count = 1; sigwait(&signals, &signal) == 0 && !ended_; ++count) handler(count);
      }) {}

SignalThread::~SignalThread() {
  ended_ = true;
  pthread_kill(thread_.native_handle(), SIGTERM);  // To this thread alone: wakes its sigwait.
  thread_.join();
}

}  // namespace lanista
