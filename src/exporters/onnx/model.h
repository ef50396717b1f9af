// A model as ONNX (opset 13, evaluation mode).
#ifndef LANISTA_SRC_EXPORTERS_ONNX_MODEL_H_
#define LANISTA_SRC_EXPORTERS_ONNX_MODEL_H_

#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "src/exporters/common/source_model.h"

namespace lanista::exporters {

// The elements of a tensor of the state_dict, in row-major order, little-endian.
using TensorReader = std::function<absl::StatusOr<std::string>(const std::string& name)>;

// The content of the file. The batch size is free: the first dimension of the first input, and of other inputs where it
// is equal, is "N". ONNX's own checker and shape inference have checked the content.
//
// INVALID_ARGUMENT: the shape of an input is unknown. UNIMPLEMENTED names the node that ONNX cannot express, such as an
// opaque module.
absl::StatusOr<std::string> OnnxModel(const SourceModel& model, const TensorReader& read_tensor);

}  // namespace lanista::exporters

#endif  // LANISTA_SRC_EXPORTERS_ONNX_MODEL_H_
