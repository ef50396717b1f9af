// SIGINT, SIGTERM and SIGHUP as calls on an ordinary thread, instead of handlers in which almost nothing is allowed.
#ifndef LANISTA_SRC_LAUNCHER_SIGNAL_THREAD_H_
#define LANISTA_SRC_LAUNCHER_SIGNAL_THREAD_H_

#include <functional>
#include <thread>

namespace lanista {

// From now on SIGINT, SIGTERM and SIGHUP (unless it is ignored) wait for a SignalThread instead of ending the process.
// This is done with a signal handler, which works on any thread: blocking the signals and waiting for them would miss
// those that the kernel delivers to threads that libraries started before main (OpenBLAS does). Programs that this one
// starts have the default action again.
void CatchStopSignals();

// Takes the caught signals, one after the other. At most one at a time. REQUIRES: CatchStopSignals() was called.
class SignalThread {
 public:
  // Called on the signal thread with 1 at the first signal, 2 at the second, ...
  using Handler = std::function<void(int count)>;

  explicit SignalThread(Handler handler);
  // Waits for a running handler.
  ~SignalThread();

  SignalThread(const SignalThread&) = delete;
  SignalThread& operator=(const SignalThread&) = delete;

 private:
  std::thread thread_;
};

}  // namespace lanista

#endif  // LANISTA_SRC_LAUNCHER_SIGNAL_THREAD_H_
