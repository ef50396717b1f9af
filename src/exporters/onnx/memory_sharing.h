// Which operators return the memory of their input, or change it. ONNX's values never change, so a file has to name the
// new value wherever PyTorch would read the changed one.
#ifndef LANISTA_SRC_EXPORTERS_ONNX_MEMORY_SHARING_H_
#define LANISTA_SRC_EXPORTERS_ONNX_MEMORY_SHARING_H_

#include "protos/graph.pb.h"

namespace lanista::exporters {

// Whether the operator changes its first input, and returns it: aten::add_, a ReLU that works in place.
bool WorksInPlace(const v1::Operator& op);

// What the outputs of an operator have of the memory of its first input, in evaluation.
enum class Sharing {
  kNothing,
  // It is returned as it is: detach, dropout.
  kAll,
  // The output is a view of it, or may be one: reshape, slices.
  kView,
  // The outputs are views of parts of it that do not overlap: chunk.
  kPieces,
};

// `node` is an operator, with an input for each element of a list.
Sharing SharingOf(const v1::Node& node);

}  // namespace lanista::exporters

#endif  // LANISTA_SRC_EXPORTERS_ONNX_MEMORY_SHARING_H_
