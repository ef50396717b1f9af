// Messages that quote what comes from outside.
#ifndef LANISTA_SRC_BASE_BOUNDED_MESSAGE_H_
#define LANISTA_SRC_BASE_BOUNDED_MESSAGE_H_

#include <string>

#include "absl/strings/string_view.h"

namespace lanista {

// `message`, cut where it is longer than anyone reads (8 KiB), with the number of bytes that are left out.
std::string BoundedMessage(absl::string_view message);

}  // namespace lanista

#endif  // LANISTA_SRC_BASE_BOUNDED_MESSAGE_H_
