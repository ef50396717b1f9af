// Unique names, and secrets that cannot be guessed.
#ifndef LANISTA_SRC_BASE_UNIQUE_ID_H_
#define LANISTA_SRC_BASE_UNIQUE_ID_H_

#include <cstddef>
#include <string>

namespace lanista {

// A random name of 36 characters: hexadecimal digits and '-'. Thread-safe.
std::string NewUniqueId();

// Random bytes for secrets (at most 256), as hexadecimal digits, two for each byte. Ends the program if the system has
// no random numbers. Thread-safe.
std::string RandomHex(size_t bytes);

}  // namespace lanista

#endif  // LANISTA_SRC_BASE_UNIQUE_ID_H_
