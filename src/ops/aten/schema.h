// How the families of aten operators (binary.cc, create.cc, ...) define their schemas.
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

// The arguments of a call by name, whether they are inputs or constants. No function fails: a value that is unknown, or
// of another kind than asked for, is nullopt.
class AtenArguments {
 public:
  // Keeps a reference.
  explicit AtenArguments(const OpCall& call) : call_(call) {}

  // The index of the first edge for this argument; -1: none.
  int Edge(const std::string& name) const;
  std::vector<int> Edges(const std::string& name) const;
  // The type of the argument; its kind is unspecified if nothing gives the argument.
  v1::ValueType Type(const std::string& name) const;
  // True if the argument is none: no edge gives it, and no constant other than none.
  bool IsNone(const std::string& name) const;
  std::optional<int64_t> Int(const std::string& name) const;
  // Constants only.
  std::optional<double> Number(const std::string& name) const;
  std::optional<bool> Bool(const std::string& name) const;
  std::optional<std::string> String(const std::string& name) const;
  // The elements of a list, or the values of several edges. A single integer counts as a list of one.
  std::optional<Types> List(const std::string& name) const;
  // The integers of a list, if all are known; a single integer is repeated to `length`.
  std::optional<Dims> Ints(const std::string& name, size_t length = 0) const;
  // The data type that a `dtype` constant names; `otherwise` if there is none.
  v1::Tensor::DataType DataType(const std::string& name, v1::Tensor::DataType otherwise) const;

 private:
  const OpCall& call_;
};

using InferFunction = std::function<absl::StatusOr<Types>(const OpCall& call)>;
using OnnxFunction = std::function<absl::StatusOr<Names>(const OpCall& call, OnnxWriter& writer)>;
// Source code by name of argument; arguments that have their defaults are left out.
using Sources = std::map<std::string, std::string>;
using SourceFunction = std::function<std::optional<std::string>(const Sources& arguments)>;
using FlopsFunction = std::function<std::optional<double>(const OpCall& call, const Types& outputs)>;

// The definition of one operator.
struct AtenSpec {
  // The name with its overload, without "aten::"; another namespace stands in front: "add.Tensor", "prim::device".
  std::string type;
  // As in LibTorch's schema, without types: "self, dim=0, *, dtype=None". Arguments after the * are passed by name.
  std::string arguments;
  InferFunction infer;
  OnnxFunction onnx = nullptr;
  FlopsFunction flops = ElementwiseFlops;
  // The call in source code: at most one of `function` and `method` is set. A function of torch in both languages:
  // "relu".
  std::string function = "";
  // A method of the first argument: "view".
  std::string method = "";
  // Set if the Python function has another name: "F.pad". If `function` is empty, there is no C++ call.
  std::string python_function = "";
  // Template for the whole C++ expression: "{self}.size({dim})".
  std::string cpp = "";
  // Template for the whole Python expression, where just these arguments are given: "{self} ** {exponent}".
  std::string python = "";
  // Returns the whole Python expression; nullopt: it follows from the names above.
  SourceFunction write_python = nullptr;
  // Source code may write the call within the expression that reads its result, as x.size(0) in x.view(x.size(0), -1).
  bool within_expressions = false;
  bool stateful = false;
  bool keeps_elements = false;
  int outputs = 1;
  // The first argument may be a constant; otherwise it must be the first edge.
  bool any_inputs = false;
};

std::unique_ptr<graph::OpSchema> MakeAten(AtenSpec spec);

// Specs of a function, of a method of a tensor, and of an operator on numbers and lists, which is neither; and a spec
// as one of an operator that computes no elements.
AtenSpec Function(const std::string& type, const std::string& arguments, InferFunction infer,
                  OnnxFunction onnx = nullptr);
AtenSpec Method(const std::string& type, const std::string& arguments, InferFunction infer,
                OnnxFunction onnx = nullptr);
AtenSpec OnNumbers(const std::string& type, const std::string& arguments, InferFunction infer,
                   OnnxFunction onnx = nullptr);
AtenSpec Move(AtenSpec spec);

// ---- Types ----

// A value of this kind, of which no more is known.
v1::ValueType OfKind(v1::ValueType::Kind kind);
// The inference of an operator whose one result is always such a value.
InferFunction Always(v1::ValueType::Kind kind);
// A tensor with the dtype of input `self` (or of the first input), of unknown shape.
Types UnknownShape(const OpCall& call);
// A tensor with these dimensions and the dtype of the first input.
Types Shaped(const OpCall& call, const Dims& dims);
// `dim` counted from the front; INVALID_ARGUMENT if there is no such dimension. A scalar counts as having one
// dimension.
absl::StatusOr<int64_t> AxisOf(int64_t dim, const Dims& dims);
// The product of the dimensions; -1 if one is unknown or the product is too large.
int64_t Product(Dims::const_iterator begin, Dims::const_iterator end);
bool AllKnown(const Dims& dims);
// "[2, -1, 4]" for messages.
std::string ShapeText(const Dims& dims);
// NumPy's broadcasting. nullopt: the shapes do not fit.
std::optional<Dims> Broadcast(Dims a, Dims b);
// The dtype of arithmetic on both; unspecified if it is unknown.
v1::Tensor::DataType Promote(const v1::ValueType& a, const v1::ValueType& b);
bool IsFloat(v1::Tensor::DataType type);
bool IsInteger(v1::Tensor::DataType type);

// ---- ONNX ----

// A 1-d constant of int64.
std::string OnnxInts(OnnxWriter& writer, const Dims& values);
// Adds dimensions of size 1 at `axes`: turns a scalar into a 1-d tensor of one element.
std::string OnnxUnsqueeze(OnnxWriter& writer, const std::string& value, const Dims& axes);
// Casts the value to the ONNX data type that corresponds to `type`.
std::string OnnxCast(OnnxWriter& writer, const std::string& value, v1::Tensor::DataType type);
// A scalar constant of this data type with just the value that LibTorch would use; `integer`: the value, if it is an
// integer. (ONNX's constants here are float32 and int64.) UNIMPLEMENTED: a float64 value beyond float32's range.
absl::StatusOr<std::string> OnnxNumber(OnnxWriter& writer, double value, std::optional<int64_t> integer,
                                       v1::Tensor::DataType type);
// FAILED_PRECONDITION: ONNX needs to know `what`.
absl::Status OnnxNeeds(const std::string& what);

}  // namespace lanista::ops

#endif  // LANISTA_SRC_OPS_ATEN_SCHEMA_H_
