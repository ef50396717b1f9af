// The message of Ctrl-C in commands that run no experiment.
#ifndef LANISTA_SRC_LAUNCHER_INTERRUPT_NOTE_H_
#define LANISTA_SRC_LAUNCHER_INTERRUPT_NOTE_H_

#include <unistd.h>

#include <string>
#include <utility>

#include "src/launcher/console.h"
#include "src/launcher/exit_codes.h"
#include "src/launcher/signal_thread.h"

namespace lanista {

// While an object of this class lives, SIGINT, SIGTERM and SIGHUP print its note to stderr and end the process
// with kExitKilled.
class InterruptNote {
 public:
  explicit InterruptNote(std::string note)
      : thread_((CatchStopSignals(), [note = std::move(note)](int) {
          PrintNote(note);
          _exit(kExitKilled);
        })) {}

 private:
  SignalThread thread_;
};

}  // namespace lanista

#endif  // LANISTA_SRC_LAUNCHER_INTERRUPT_NOTE_H_
