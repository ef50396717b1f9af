// The one rule for errors of CUDA.
#ifndef LANISTA_SRC_BASE_CUDA_ERROR_H_
#define LANISTA_SRC_BASE_CUDA_ERROR_H_

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "src/base/out_of_memory.h"

namespace lanista {

// Whether the text of an error says that CUDA failed, and not for want of memory. A later call than the guilty one may
// tell it, and every call of the process may fail after it: it says nothing about what runs next. The text decides, as
// in src/base/out_of_memory.h.
inline bool SaysCudaError(absl::string_view message) {
  return absl::StrContains(message, "CUDA error") && !SaysOutOfMemory(message);
}

}  // namespace lanista

#endif  // LANISTA_SRC_BASE_CUDA_ERROR_H_
