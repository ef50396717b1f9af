// Types of graphs as LibTorch's, and back.
#ifndef LANISTA_SRC_EXPORTERS_TYPES_TORCH_H_
#define LANISTA_SRC_EXPORTERS_TYPES_TORCH_H_

#include <ATen/core/jit_type.h>
#include <c10/core/ScalarType.h>

#include "protos/graph.pb.h"

namespace lanista::exporters {

// The type of a value; a tensor where it is not known.
c10::TypePtr ToTypePtr(const v1::ValueType& type);

// The kind of a type, for values whose schema says so only in LibTorch.
v1::ValueType ToValueType(const c10::Type& type);

// Of a tensor's elements; DATA_TYPE_UNSPECIFIED if graphs do not know it.
v1::DataType ToDataType(c10::ScalarType type);

}  // namespace lanista::exporters

#endif  // LANISTA_SRC_EXPORTERS_TYPES_TORCH_H_
