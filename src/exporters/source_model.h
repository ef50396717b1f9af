// What the writers of source code and ONNX need to know of a model, without LibTorch.
#ifndef LANISTA_SRC_EXPORTERS_SOURCE_MODEL_H_
#define LANISTA_SRC_EXPORTERS_SOURCE_MODEL_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "protos/graph.pb.h"
#include "protos/space.pb.h"
#include "src/graph/op_schema.h"

namespace lanista::exporters {

// A parameter or buffer.
struct TensorInfo {
  v1::DataType data_type = v1::FLOAT32;
  std::vector<int64_t> dims;
  bool buffer = false;
  bool requires_grad = true;
};

// The schema of an aten operator.
struct AtenSignature {
  struct Argument {
    std::string name;
    // A list, of tensors or numbers.
    bool is_list = false;
    bool keyword_only = false;
    // "Tensor", "int", "float", ...: of the argument, or of its list's elements; without "optional".
    std::string element = {};
    // Its type stands for any: `t[] self`. Calls by name do not find the operator.
    bool is_generic = false;
  };
  std::vector<Argument> arguments;
};

// A TorchScript module: index into ModelGraph.archives, and path there.
using ArchivePlace = std::pair<int, std::string>;

// A model to be written. Immutable while it is.
struct SourceModel {
  // Valid, without choices; types are filled in as far as they are known.
  v1::ModelGraph graph;
  graph::OpLookup find_op = nullptr;
  // Of the files, without folder and suffix.
  std::string name;
  // By their names in the state_dict.
  std::map<std::string, TensorInfo> tensors;
  // Those of the aten operators in the graph, by type.
  std::map<std::string, AtenSignature> signatures;
  // What it was trained on, where that is known.
  std::optional<v1::DataSpec> data = {};
  // Opaque modules: a TorchScript file each.
  std::map<ArchivePlace, std::string> archives;
};

// The archive place of an opaque node.
ArchivePlace PlaceOf(const v1::OpaqueModule& opaque);

// Unpacks a constant into numbers: integers (and truth values) or floating-point ones, whichever the type calls for.
// Half-precision and complex elements are UNIMPLEMENTED, a wrong size INVALID_ARGUMENT.
struct TensorElements {
  bool is_float = false;
  std::vector<int64_t> ints;
  std::vector<double> floats;
};
absl::StatusOr<TensorElements> UnpackTensor(const v1::Tensor& tensor);

// 17 digits where needed, always with a point or exponent: "0.5", "1e-05", "2.0". Not for inf and NaN.
std::string FloatLiteral(double value);

// "\"a\\n\"": good for Python and C++. Bytes that are not ASCII are written as octal escapes.
std::string StringLiteral(absl::string_view text);

}  // namespace lanista::exporters

#endif  // LANISTA_SRC_EXPORTERS_SOURCE_MODEL_H_
