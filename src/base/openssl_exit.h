// OpenSSL at the end of a process.
#ifndef LANISTA_SRC_BASE_OPENSSL_EXIT_H_
#define LANISTA_SRC_BASE_OPENSSL_EXIT_H_

#include <openssl/crypto.h>

namespace lanista {

// Lets OpenSSL clean nothing up when the process ends. gRPC's threads may still use it then: what both free is freed
// twice, and the process aborts behind its results. Any thread may call it. REQUIRES: before anything else of OpenSSL
// is used, or it has no effect.
inline void KeepOpenSslAtExit() { OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, nullptr); }

}  // namespace lanista

#endif  // LANISTA_SRC_BASE_OPENSSL_EXIT_H_
