// How the families of module operators write their schemas: as data and small functions.
//
//   LANISTA_REGISTER_OP(MakeModule({
//       "Linear",
//       {Required("in_features", kInt), Required("out_features", kInt), WithDefault("bias", true)},
//       InferLinear, ...}));
#ifndef LANISTA_SRC_OPS_MODULE_SCHEMA_H_
#define LANISTA_SRC_OPS_MODULE_SCHEMA_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "src/graph/onnx_writer.h"
#include "src/graph/op_schema.h"

namespace lanista::ops {

using graph::AttributeKind;
using graph::Attributes;
using graph::AttributeSpec;
using graph::OnnxAttribute;
using graph::OnnxWriter;
using graph::OpCall;
using graph::ParameterSpec;

using Types = std::vector<v1::ValueType>;
using Dims = std::vector<int64_t>;

// ---- Attributes ----

AttributeSpec Required(std::string name, AttributeKind kind, int length = 0);
AttributeSpec WithDefault(std::string name, int64_t value);
AttributeSpec WithDefault(std::string name, double value);
AttributeSpec WithDefault(std::string name, bool value);
AttributeSpec WithDefault(std::string name, const char* value);
// Ints of this length, by default all `value`.
AttributeSpec IntsWithDefault(std::string name, int length, int64_t value);
// May be none, and is by default.
AttributeSpec Optional(std::string name, AttributeKind kind, int length = 0);

// ---- Schemas ----

// What a module operator tells; what is left out has OpSchema's meaning.
struct ModuleSpec {
  std::string type;
  std::vector<AttributeSpec> attributes = {};
  std::function<absl::StatusOr<Types>(const OpCall& call)> infer = nullptr;
  std::function<std::vector<ParameterSpec>(const Attributes& attributes)> parameters = nullptr;
  std::function<std::optional<double>(const OpCall& call, const Types& outputs)> flops = nullptr;
  std::function<absl::Status(const Attributes& attributes)> check = nullptr;
  std::function<absl::StatusOr<std::string>(const Attributes& attributes)> cpp = nullptr;
  std::function<absl::StatusOr<std::vector<std::string>>(const OpCall& call, OnnxWriter& writer)> onnx = nullptr;
  bool stateful = false;
  int min_inputs = 1;
  int max_inputs = 1;
  int outputs = 1;
  // Where it depends on the attributes.
  std::function<int(const Attributes& attributes)> count_outputs = nullptr;
  // Attributes that are arguments of forward in Python and C++, rather than of the constructor.
  std::vector<std::string> forward_attributes = {};
};

std::unique_ptr<graph::OpSchema> MakeModule(ModuleSpec spec);

// ---- What families share ----

// The output is like the input.
absl::StatusOr<Types> SameAsInput(const OpCall& call);

// One operation an element of the output.
std::optional<double> ElementwiseFlops(const OpCall& call, const Types& outputs);

// Moving elements is no arithmetic.
std::optional<double> NoFlops(const OpCall& call, const Types& outputs);

// `flops` operations an element of the output.
std::function<std::optional<double>(const OpCall&, const Types&)> FlopsAnElement(double flops);

// Elements of a type, unknown dimensions as 1; nullopt if the rank is unknown.
std::optional<double> CountElements(const v1::ValueType& type);

// OK if dimension `axis` of the input (from the end, if negative) is `expected` or unknown: else "expects 64 input
// channels (in_channels), gets 32 in float32[-1, 32, 28, 28]". `what`: "input channels (in_channels)".
absl::Status ExpectDim(const v1::ValueType& input, int axis, int64_t expected, const std::string& what);

// OK if an integer attribute, all integers of a list, are at least `least`.
absl::Status ExpectAtLeast(const Attributes& attributes, const std::vector<std::string>& names, int64_t least);

// OK if the input's rank is unknown or one of `ranks`.
absl::Status ExpectRank(const v1::ValueType& input, const std::vector<int>& ranks);

// The output size of a window that slides over `input`; -1 stays. `ceil`: the last, partial window counts if it begins
// within the input or its left padding (PyTorch's ceil_mode).
int64_t SlidingSize(int64_t input, int64_t kernel, int64_t stride, int64_t padding, int64_t dilation,
                    bool ceil = false);

// ---- C++ source ----

// "{2, 2}"; a single number where all are equal.
std::string CppInts(const Dims& values);
std::string CppFloat(double value);

// "torch::nn::TYPE(torch::nn::TYPEOptions(REQUIRED, ...).name(value)...)": for LibTorch's usual module with options.
// Required attributes go into the options' constructor, others that are set follow by name. Values print by kind;
// strings are refused.
absl::StatusOr<std::string> CppOptions(const std::string& type, const std::vector<AttributeSpec>& attributes,
                                       const Attributes& values);

// ---- ONNX ----

// UNIMPLEMENTED if the input is known to have other than `rank` dimensions: ONNX's operators want a batch.
absl::Status OnnxNeedsRank(const v1::ValueType& input, int rank);

// A scalar constant.
std::string OnnxScalar(OnnxWriter& writer, double value);

// A node of one input and one output.
std::function<absl::StatusOr<std::vector<std::string>>(const OpCall&, OnnxWriter&)> OnnxUnary(std::string op_type);

}  // namespace lanista::ops

#endif  // LANISTA_SRC_OPS_MODULE_SCHEMA_H_
