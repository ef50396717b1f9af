// Conversions between the types of graphs and those of LibTorch.
#ifndef LANISTA_SRC_EXPORTERS_COMMON_TYPES_TORCH_H_
#define LANISTA_SRC_EXPORTERS_COMMON_TYPES_TORCH_H_

#include <ATen/core/jit_type.h>
#include <c10/core/ScalarType.h>

#include "protos/graph.pb.h"

namespace lanista::exporters {

// The LibTorch type of a value; TensorType if the value's type is unknown.
c10::TypePtr ToTypePtr(const v1::ValueType& type);

// The kind of a LibTorch type, for values whose kind only LibTorch's schema tells.
v1::ValueType ToValueType(const c10::Type& type);

// The data type of a tensor's elements; DATA_TYPE_UNSPECIFIED if graphs do not have it.
v1::Tensor::DataType ToDataType(c10::ScalarType type);

}  // namespace lanista::exporters

#endif  // LANISTA_SRC_EXPORTERS_COMMON_TYPES_TORCH_H_
