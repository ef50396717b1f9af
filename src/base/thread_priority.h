// How much of the processors a thread gets where others want them, too.
#ifndef LANISTA_SRC_BASE_THREAD_PRIORITY_H_
#define LANISTA_SRC_BASE_THREAD_PRIORITY_H_

namespace lanista {

// The calling thread gives way to others from now on: it gets about a tenth of what another one gets (nice 10), and all
// of an idle processor. The other threads of the process stay as they are. For good: an unprivileged process may not
// raise a priority again.
void LowerThreadPriority();

}  // namespace lanista

#endif  // LANISTA_SRC_BASE_THREAD_PRIORITY_H_
