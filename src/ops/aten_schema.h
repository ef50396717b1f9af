// How the families of aten operators (aten_*.cc) write their schemas.
//
//   LANISTA_REGISTER_OP(MakeAten(Method("transpose.int", "self, dim0, dim1", InferTranspose, TransposeToOnnx)));
#ifndef LANISTA_SRC_OPS_ATEN_SCHEMA_H_
#define LANISTA_SRC_OPS_ATEN_SCHEMA_H_

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "src/graph/value_types.h"
#include "src/ops/module_schema.h"
#include "src/ops/registry.h"

namespace lanista::ops {

using Names = std::vector<std::string>;

// The arguments of a call by name, whether an edge brings them or they are constants. Nothing here fails: what is not
// known, or of another kind than asked for, is nullopt.
class AtenArguments {
 public:
  // Keeps a reference.
  explicit AtenArguments(const OpCall& call) : call_(call) {}

  // The first edge that brings it; -1: none.
  int Edge(const std::string& name) const;
  std::vector<int> Edges(const std::string& name) const;
  // Its type; of unknown kind where nothing gives it.
  v1::ValueType Type(const std::string& name) const;
  // No edge brings it, and it is none.
  bool IsNone(const std::string& name) const;
  std::optional<int64_t> Int(const std::string& name) const;
  // Constants only.
  std::optional<double> Number(const std::string& name) const;
  std::optional<bool> Bool(const std::string& name) const;
  std::optional<std::string> String(const std::string& name) const;
  // The elements of a list, or the values of several edges. A single integer is a list of one.
  std::optional<Types> List(const std::string& name) const;
  // Known integers; a single one is repeated to `length`.
  std::optional<Dims> Ints(const std::string& name, size_t length = 0) const;
  // The type that a `dtype` constant names; unspecified if there is none.
  v1::DataType DataType(const std::string& name, v1::DataType otherwise) const;

 private:
  const OpCall& call_;
};

using InferFunction = std::function<absl::StatusOr<Types>(const OpCall& call)>;
using OnnxFunction = std::function<absl::StatusOr<Names>(const OpCall& call, OnnxWriter& writer)>;
using FlopsFunction = std::function<std::optional<double>(const OpCall& call, const Types& outputs)>;

// One operator.
struct AtenSpec {
  // With the overload, without "aten::".
  std::string type;
  // As in LibTorch's schema, without types: "self, dim=0, *, dtype=None". What stands behind the * is given by name.
  std::string arguments;
  InferFunction infer;
  OnnxFunction onnx = nullptr;
  FlopsFunction flops = ElementwiseFlops;
  // How it is called in source code; only one of the two is set. A function of torch in both languages: "relu".
  std::string function = "";
  // A method of the first argument: "view".
  std::string method = "";
  // Where Python's function has another name: "F.pad". Without a function, there is none in C++.
  std::string python_function = "";
  // C++ as a whole: "{self}.size({dim})".
  std::string cpp = "";
  // Python as a whole; nullopt: as the names above say.
  std::function<std::optional<std::string>(const std::map<std::string, std::string>& arguments)> python = nullptr;
  bool stateful = false;
  bool keeps_elements = false;
  int outputs = 1;
  // Its first argument may be a constant, rather than come in through the first edge.
  bool any_inputs = false;
};

std::unique_ptr<graph::OpSchema> MakeAten(AtenSpec spec);

// A function, a method of a tensor, and one that only moves elements.
AtenSpec Function(const std::string& type, const std::string& arguments, InferFunction infer,
                  OnnxFunction onnx = nullptr);
AtenSpec Method(const std::string& type, const std::string& arguments, InferFunction infer,
                OnnxFunction onnx = nullptr);
AtenSpec Move(AtenSpec spec);

// ---- Types ----

// A tensor like input `self` (or the first one), of unknown shape.
Types UnknownShape(const OpCall& call);
// A tensor of the first input's element type.
Types Shaped(const OpCall& call, const Dims& dims);
// Counted from the front; INVALID_ARGUMENT if there is no such dimension. A tensor without dimensions has one.
absl::StatusOr<int64_t> AxisOf(int64_t dim, const Dims& dims);
// The product; -1 if a factor is unknown, or it is too large.
int64_t Product(Dims::const_iterator begin, Dims::const_iterator end);
bool AllKnown(const Dims& dims);
// "[2, -1, 4]" for messages.
std::string ShapeText(const Dims& dims);
// NumPy's broadcasting. nullopt: they do not fit.
std::optional<Dims> Broadcast(Dims a, Dims b);
// What arithmetic on both gives; unspecified where that is not known.
v1::DataType Promote(const v1::ValueType& a, const v1::ValueType& b);
bool IsFloat(v1::DataType type);
bool IsInteger(v1::DataType type);

// ---- ONNX ----

// A 1-d constant of integers.
std::string OnnxInts(OnnxWriter& writer, const Dims& values);
// x as [x]: from a scalar to a 1-d tensor of one.
std::string OnnxUnsqueeze(OnnxWriter& writer, const std::string& value, const Dims& axes);
// Casts to ONNX's number of a type.
std::string OnnxCast(OnnxWriter& writer, const std::string& value, v1::DataType type);
// FAILED_PRECONDITION: this much must be known for ONNX.
absl::Status OnnxNeeds(const std::string& what);

}  // namespace lanista::ops

#endif  // LANISTA_SRC_OPS_ATEN_SCHEMA_H_
