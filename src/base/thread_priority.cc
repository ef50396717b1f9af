#include "src/base/thread_priority.h"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace lanista {

void LowerThreadPriority() {
  // Linux takes a thread's number for a process's here (setpriority(2), "C library/kernel differences"). To lower a
  // priority is always allowed.
  setpriority(PRIO_PROCESS, static_cast<id_t>(syscall(SYS_gettid)), 10);
}

}  // namespace lanista
