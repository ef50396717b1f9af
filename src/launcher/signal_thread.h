// SIGINT and SIGTERM as calls on an ordinary thread, instead of handlers in which almost nothing is allowed.
#ifndef LANISTA_SRC_LAUNCHER_SIGNAL_THREAD_H_
#define LANISTA_SRC_LAUNCHER_SIGNAL_THREAD_H_

#include <atomic>
#include <functional>
#include <thread>

namespace lanista {

// Blocks SIGINT and SIGTERM in the calling thread and in all threads that it starts from then on. A signal that comes
// before there is a SignalThread waits for it. Child processes inherit the mask: they must be started with a fresh one.
void BlockStopSignals();

// Takes the blocked signals, one after the other. REQUIRES: BlockStopSignals() was called before any thread was
// started.
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
  std::atomic<bool> ended_{false};
  std::thread thread_;
};

}  // namespace lanista

#endif  // LANISTA_SRC_LAUNCHER_SIGNAL_THREAD_H_
