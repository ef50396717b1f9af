#include "src/base/out_of_memory.h"

#include "absl/strings/match.h"

namespace lanista {

bool SaysOutOfMemory(absl::string_view message) {
  for (const absl::string_view words : {"can't allocate memory", "Cannot allocate memory", "not enough memory",
                                        "out of memory", "bad_alloc", "STATUS_ALLOC_FAILED", "ALLOCATION_FAILED"}) {
    if (absl::StrContains(message, words)) return true;
  }
  return false;
}

}  // namespace lanista
