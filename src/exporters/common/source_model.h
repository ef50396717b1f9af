// Everything that the writers of source code and ONNX need to know about a model, without LibTorch.
#ifndef LANISTA_SRC_EXPORTERS_COMMON_SOURCE_MODEL_H_
#define LANISTA_SRC_EXPORTERS_COMMON_SOURCE_MODEL_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "protos/graph.pb.h"
#include "protos/space.pb.h"
#include "src/graph/op_schema.h"

namespace lanista::exporters {

// A parameter or buffer.
struct TensorInfo {
  v1::Tensor::DataType data_type = v1::Tensor::FLOAT32;
  std::vector<int64_t> dims;
  bool buffer = false;
  bool requires_grad = true;
};

// The schema of an aten operator.
struct AtenSignature {
  struct Argument {
    std::string name;
    // A list of tensors or numbers.
    bool is_list = false;
    bool keyword_only = false;
    // "Tensor", "int", "float", ...: of the argument, or of its list's elements; without "optional".
    std::string element = {};
    // The argument has a generic type (`t[] self`): then the operator cannot be called by name.
    bool is_generic = false;
  };
  std::vector<Argument> arguments;
};

// A TorchScript module: index into ModelGraph.archives, and path there.
using ArchivePlace = std::pair<int, std::string>;

// A model to be written. Not changed while it is written.
struct SourceModel {
  // Valid, without choices; types are filled in as far as they are known.
  v1::ModelGraph graph;
  graph::OpLookup find_op = nullptr;
  // The name of the files, without folder and suffix.
  std::string name;
  // Parameters and buffers by their names in the state_dict.
  std::map<std::string, TensorInfo> tensors;
  // The signatures of the aten operators in the graph, by operator type.
  std::map<std::string, AtenSignature> signatures;
  // The data that the model was trained on, if known.
  std::optional<v1::DataSpec> data = {};
  // The opaque modules, each as the bytes of a TorchScript file.
  std::map<ArchivePlace, std::string> archives;
};

// The place of an opaque node's module.
ArchivePlace PlaceOf(const v1::OpaqueModule& opaque);

// The elements of a constant: integers (booleans too) or floating-point numbers, as its dtype says. UNIMPLEMENTED:
// half-precision or complex elements. INVALID_ARGUMENT: a wrong number of bytes.
struct TensorElements {
  bool is_float = false;
  std::vector<int64_t> ints;
  std::vector<double> floats;
};
absl::StatusOr<TensorElements> UnpackTensor(const v1::Tensor& tensor);

}  // namespace lanista::exporters

#endif  // LANISTA_SRC_EXPORTERS_COMMON_SOURCE_MODEL_H_
