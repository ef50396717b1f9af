#include "src/base/unique_id.h"

#include <sys/random.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "absl/strings/escaping.h"

namespace lanista {

std::string NewUniqueId() {
  std::string id = RandomHex(16);
  for (const size_t place : {8, 13, 18, 23}) id.insert(place, 1, '-');
  return id;
}

std::string RandomHex(size_t bytes) {
  std::string random(bytes, '\0');
  // So few bytes come all at once.
  if (getrandom(&random[0], random.size(), 0) != static_cast<ssize_t>(random.size())) {
    std::fprintf(stderr, "lanista: the system gives no random numbers: %s\n", std::strerror(errno));
    std::abort();
  }
  return absl::BytesToHexString(random);
}

}  // namespace lanista
