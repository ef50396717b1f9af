// Names that nothing else has, and secrets that nobody guesses.
#ifndef LANISTA_SRC_BASE_UNIQUE_ID_H_
#define LANISTA_SRC_BASE_UNIQUE_ID_H_

#include <cstddef>
#include <string>

namespace lanista {

// Random: 36 characters, of hexadecimal digits and '-'. Thread-safe.
std::string NewUniqueId();

// So many random bytes (at most 256), fit for secrets, as twice as many hexadecimal digits. Ends the program where the
// system has no random numbers. Thread-safe.
std::string RandomHex(size_t bytes);

}  // namespace lanista

#endif  // LANISTA_SRC_BASE_UNIQUE_ID_H_
