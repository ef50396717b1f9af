// The head's half of a trial process: a child that speaks the trial protocol over a socket pair. child.h has the other
// half.
#ifndef LANISTA_SRC_TRIAL_PROCESS_PARENT_H_
#define LANISTA_SRC_TRIAL_PROCESS_PARENT_H_

#include <memory>
#include <string>

#include "src/trial_process/channel.h"
#include "src/trial_process/event_window.h"

namespace lanista {

// The first argument of a program that is started as trial process. Its end of the socket pair is kTrialProcessSocket.
inline constexpr char kTrialProcessFlag[] = "--trial-process";
inline constexpr int kTrialProcessSocket = 3;

// Whether Device.memory_limit bounds trial processes: not under a sanitizer, whose shadow memory counts as data.
#if defined(__SANITIZE_ADDRESS__) || defined(LANISTA_THREAD_SANITIZER)
inline constexpr bool kLimitsMemory = false;
#else
inline constexpr bool kLimitsMemory = true;
#endif

struct TrialProcessOptions {
  // See v1::Setup.shared_data.
  std::string shared_data = {};
  // While so much of a trial is on its way to the journal, no more of it is read (EventWindow).
  EventAmount most_unrecorded = {EventWindow::kEvents, EventWindow::kBytes};
};

// A child process as a TrialChannel.
//
// The child has a process group of its own, so that Ctrl-C reaches the head alone. It inherits no other descriptor. It
// may use Device.memory_limit bytes of data (RLIMIT_DATA, so that the allocator fails with an error), and the kernel
// kills it first when memory runs out (oom_score_adj). Kill, and the destructor, end the whole group. The child ends by
// itself when the socket closes, so that it does not outlive its head.
std::unique_ptr<TrialChannel> MakeTrialProcess(std::string program, const TrialProcessOptions& options = {});

}  // namespace lanista

#endif  // LANISTA_SRC_TRIAL_PROCESS_PARENT_H_
