// Which operators return the memory of their input, or change it. ONNX's values never change, so a file has to name the
// new value wherever PyTorch would read the changed one.
#ifndef LANISTA_SRC_EXPORTERS_ONNX_MEMORY_SHARING_H_
#define LANISTA_SRC_EXPORTERS_ONNX_MEMORY_SHARING_H_

#include "absl/strings/string_view.h"
#include "protos/graph.pb.h"

namespace lanista::exporters {

// Whether the operator changes its first input, and returns it: aten::add_, a ReLU that works in place.
bool WorksInPlace(const v1::Operator& op);

// Whether what the operator returns may be a view of its first input, which is a tensor. `type` as in v1::Operator.
bool MayReturnView(absl::string_view type);

}  // namespace lanista::exporters

#endif  // LANISTA_SRC_EXPORTERS_ONNX_MEMORY_SHARING_H_
