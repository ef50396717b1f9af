#include "src/base/unique_id.h"

#include <fstream>

#include "absl/strings/ascii.h"

namespace lanista {

std::string NewUniqueId() {
  std::string id;
  std::getline(std::ifstream("/proc/sys/kernel/random/uuid"), id);
  return std::string(absl::StripAsciiWhitespace(id));
}

}  // namespace lanista
