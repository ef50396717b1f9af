// Messages as keys and digests.
#ifndef LANISTA_SRC_BASE_DETERMINISTIC_BYTES_H_
#define LANISTA_SRC_BASE_DETERMINISTIC_BYTES_H_

#include <string>

#include "google/protobuf/message_lite.h"

namespace lanista {

// Serialises equal messages to equal bytes. SerializeAsString does so only for messages without maps: in which order it
// writes the entries of a map differs from one copy of a message to the next.
std::string DeterministicBytes(const google::protobuf::MessageLite& message);

}  // namespace lanista

#endif  // LANISTA_SRC_BASE_DETERMINISTIC_BYTES_H_
