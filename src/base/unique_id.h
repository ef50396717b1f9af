// Names that nothing else has.
#ifndef LANISTA_SRC_BASE_UNIQUE_ID_H_
#define LANISTA_SRC_BASE_UNIQUE_ID_H_

#include <string>

namespace lanista {

// Random: 36 characters, of hexadecimal digits and '-'. Thread-safe.
std::string NewUniqueId();

}  // namespace lanista

#endif  // LANISTA_SRC_BASE_UNIQUE_ID_H_
