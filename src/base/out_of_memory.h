// The one rule for errors that say that memory ran out.
#ifndef LANISTA_SRC_BASE_OUT_OF_MEMORY_H_
#define LANISTA_SRC_BASE_OUT_OF_MEMORY_H_

#include "absl/strings/string_view.h"

namespace lanista {

// Whether the text of an error says that memory ran out: the allocators of LibTorch, of CUDA and its libraries (cuBLAS,
// cuDNN), of the C++ library and of the kernel. The text decides, because LibTorch has no type for most of these
// errors, and TorchScript and absl::Status lose the type.
bool SaysOutOfMemory(absl::string_view message);

}  // namespace lanista

#endif  // LANISTA_SRC_BASE_OUT_OF_MEMORY_H_
