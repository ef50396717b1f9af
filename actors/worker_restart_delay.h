// How long a device waits for its next worker.
#ifndef LANISTA_ACTORS_WORKER_RESTART_DELAY_H_
#define LANISTA_ACTORS_WORKER_RESTART_DELAY_H_

#include <algorithm>
#include <chrono>

namespace lanista {

// After so many workers that did no work, one after the other: not at all after the first one, then 1 s, 2 s, ..., and
// about four minutes at most.
inline std::chrono::seconds RestartDelay(int downs) {
  return std::chrono::seconds(downs < 2 ? 0 : 1 << std::min(downs - 2, 8));
}

}  // namespace lanista

#endif  // LANISTA_ACTORS_WORKER_RESTART_DELAY_H_
