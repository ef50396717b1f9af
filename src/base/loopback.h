// Addresses that only programs of this machine reach.
#ifndef LANISTA_SRC_BASE_LOOPBACK_H_
#define LANISTA_SRC_BASE_LOOPBACK_H_

#include <string>

namespace lanista {

// Whether it is this machine as it sees itself: 127.0.0.0/8, "[::1]" or "localhost" (in small letters, because that is
// how names are compared here).
bool IsLoopbackHost(const std::string& host);

}  // namespace lanista

#endif  // LANISTA_SRC_BASE_LOOPBACK_H_
