#include "src/base/thread_priority.h"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace lanista {

void LowerThreadPriority() {
  constexpr int kNiceness = 10;
  // Linux takes a thread's number for a process's here (setpriority(2), "C library/kernel differences"). To lower a
  // priority is always allowed.
  const auto thread = static_cast<id_t>(syscall(SYS_gettid));
  if (getpriority(PRIO_PROCESS, thread) < kNiceness) setpriority(PRIO_PROCESS, thread, kNiceness);
}

}  // namespace lanista
