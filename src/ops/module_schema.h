// How the families of module operators define their schemas: as data and small functions.
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
#include "src/ops/torchscript.h"

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
// A list of `length` ints; all are `value` by default.
AttributeSpec IntsWithDefault(std::string name, int length, int64_t value);
// The value may be none, and is none by default.
AttributeSpec Optional(std::string name, AttributeKind kind, int length = 0);

// ---- Schemas ----

// How source code calls the module (OpSchema::PythonArguments, PythonTargets, CppForward and CppResult).
struct ModuleCalls {
  using Sources = std::vector<std::string>;

  std::function<Sources(const Attributes& attributes, const v1::Node& node, Sources inputs)> python_arguments = nullptr;
  std::function<std::string(const Sources& variables)> python_targets = nullptr;
  std::function<absl::StatusOr<std::string>(const Attributes& attributes, const v1::Node& node,
                                            const std::string& module, Sources inputs)>
      cpp_forward = nullptr;
  std::function<std::string(const Attributes& attributes, const std::string& result, size_t slot)> cpp_result = nullptr;
};

// The definition of a module operator; fields that are left out have the default of OpSchema.
struct ModuleSpec {
  std::string type;
  std::vector<AttributeSpec> attributes = {};
  std::function<absl::StatusOr<Types>(const OpCall& call)> infer = nullptr;
  std::function<std::vector<ParameterSpec>(const Attributes& attributes)> parameters = nullptr;
  std::function<std::optional<double>(const OpCall& call, const Types& outputs)> flops = nullptr;
  std::function<absl::Status(const Attributes& attributes)> check = nullptr;
  std::function<absl::StatusOr<std::string>(const Attributes& attributes)> cpp = nullptr;
  std::function<absl::StatusOr<std::vector<std::string>>(const OpCall& call, OnnxWriter& writer)> onnx = nullptr;
  TorchScriptForm torchscript = {};
  bool stateful = false;
  int min_inputs = 1;
  int max_inputs = 1;
  int outputs = 1;
  // Set if the number of outputs depends on the attributes.
  std::function<int(const Attributes& attributes)> count_outputs = nullptr;
  // Attributes that are arguments of forward, not of the constructor, in Python and C++.
  std::vector<std::string> forward_attributes = {};
  ModuleCalls calls = {};
};

std::unique_ptr<graph::OpSchema> MakeModule(ModuleSpec spec);

// ---- Shared by the families ----

// The output has the type of the input.
absl::StatusOr<Types> SameAsInput(const OpCall& call);

// One operation per element of the output.
std::optional<double> ElementwiseFlops(const OpCall& call, const Types& outputs);

// For operators that only move elements: no arithmetic.
std::optional<double> NoFlops(const OpCall& call, const Types& outputs);

// `flops` operations per element of the output.
std::function<std::optional<double>(const OpCall&, const Types&)> FlopsAnElement(double flops);

// Number of elements of a type; unknown dimensions count as 1; nullopt if the rank is unknown.
std::optional<double> CountElements(const v1::ValueType& type);

// OK if dimension `axis` of the input (from the end, if negative) is `expected` or unknown: else "expects 64 input
// channels (in_channels), gets 32 in float32[-1, 32, 28, 28]". `what`: "input channels (in_channels)".
absl::Status ExpectDim(const v1::ValueType& input, int axis, int64_t expected, const std::string& what);

// OK if an integer attribute, or every integer of a list, is at least `least`.
absl::Status ExpectAtLeast(const Attributes& attributes, const std::vector<std::string>& names, int64_t least);

// OK if the input's rank is unknown or one of `ranks`.
absl::Status ExpectRank(const v1::ValueType& input, const std::vector<int>& ranks);

// The output size of a window that slides over `input` elements; an unknown size (-1) stays unknown. `ceil`: also
// counts a partial last window if it begins within the input or its left padding (PyTorch's ceil_mode).
int64_t SlidingSize(int64_t input, int64_t kernel, int64_t stride, int64_t padding, int64_t dilation,
                    bool ceil = false);

// ---- C++ source ----

// UNIMPLEMENTED if the first output of `node` has no batch dimension: LibTorch's recurrent networks and its attention
// take batches only.
absl::Status CppNeedsBatch(const v1::Node& node);

// "{2, 2}"; a single number if all are equal.
std::string CppInts(const Dims& values);

// "torch::nn::TYPE(torch::nn::TYPEOptions(REQUIRED, ...).name(value)...)": for LibTorch's usual modules with options.
// Required attributes are arguments of the options' constructor; other attributes that are set follow by name.
// UNIMPLEMENTED for string attributes.
absl::StatusOr<std::string> CppOptions(const std::string& type, const std::vector<AttributeSpec>& attributes,
                                       const Attributes& values);

// ---- ONNX ----

// UNIMPLEMENTED if the rank of the input is known and not `rank`: ONNX's operators need a batch dimension.
absl::Status OnnxNeedsRank(const v1::ValueType& input, int rank);

// A scalar constant.
std::string OnnxScalar(OnnxWriter& writer, double value);

// Writes an ONNX node with one input and one output.
std::function<absl::StatusOr<std::vector<std::string>>(const OpCall&, OnnxWriter&)> OnnxUnary(std::string op_type);

}  // namespace lanista::ops

#endif  // LANISTA_SRC_OPS_MODULE_SCHEMA_H_
