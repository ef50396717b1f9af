// Messages that quote what comes from outside.
#ifndef LANISTA_SRC_BASE_BOUNDED_MESSAGE_H_
#define LANISTA_SRC_BASE_BOUNDED_MESSAGE_H_

#include <string>

#include "absl/strings/string_view.h"

namespace lanista {

// Returns `message`. If it is longer than 8 KiB, it is cut, and the number of bytes that are left out is added.
std::string BoundedMessage(absl::string_view message);

}  // namespace lanista

#endif  // LANISTA_SRC_BASE_BOUNDED_MESSAGE_H_
