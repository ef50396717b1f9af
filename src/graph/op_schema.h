// What an operator declares about itself: attributes, inputs, output types, parameters, costs, and how it is written in
// other languages. This half needs no LibTorch; the other half (src/ops/registry_torch.h) builds and runs operators.
//
// There are two kinds of operators. A *module operator* is named like its torch.nn class ("Conv2d"): its attributes are
// the constructor's arguments under their Python names, its inputs are those of forward, in order, and its parameters
// are named as in a state_dict. An *aten operator* is named by its schema ("aten::add.Tensor", with the overload after
// the dot, none for the default one): its attributes are constant arguments; the other arguments are inputs, whose
// edges name them in `arg`. Aten operators run and train without a schema here too; then their output types are
// unknown.
#ifndef LANISTA_SRC_GRAPH_OP_SCHEMA_H_
#define LANISTA_SRC_GRAPH_OP_SCHEMA_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "protos/graph.pb.h"

namespace lanista::graph {

class OnnxWriter;

// The type of an attribute.
enum class AttributeKind {
  kInt,
  kFloat,  // An int is accepted too.
  kBool,
  kString,
  kInts,  // A list of ints. One int stands for a list of that int (kernel_size: 3).
  kFloats,
  kTensor,
  kAny,
};

// One attribute of an operator.
struct AttributeSpec {
  std::string name;
  AttributeKind kind = AttributeKind::kInt;
  // The value of an absent attribute, "none" included; nullopt: the attribute is required.
  std::optional<v1::Value> default_value;
  // kInts: the required number of elements (kernel_size of Conv2d: 2); 0: any number.
  int length = 0;
  // "none" is allowed (max_norm of Embedding, stride of pools).
  bool nullable = false;
};

class OpSchema;

// The attributes of one operator by name, with defaults filled in. REQUIRES for all getters: OpSchema::CheckAttributes
// was OK, so that the kinds match the schema, and no attribute is an expression any more.
class Attributes {
 public:
  // Keeps references to both.
  Attributes(const OpSchema& schema, const v1::Operator& op) : schema_(schema), op_(op) {}

  int64_t Int(absl::string_view name) const;
  double Float(absl::string_view name) const;
  bool Bool(absl::string_view name) const;
  std::string String(absl::string_view name) const;
  // A single int is repeated to the length that the schema gives.
  std::vector<int64_t> Ints(absl::string_view name) const;
  // False if the value is "none".
  bool Has(absl::string_view name) const;
  // The operator's value, else the default, else "none".
  const v1::Value& Get(absl::string_view name) const;
  // Whether the operator sets the attribute to a value other than the default.
  bool IsSet(absl::string_view name) const;

 private:
  const OpSchema& schema_;
  const v1::Operator& op_;
};

// A parameter or buffer of an operator, named as in a state_dict.
struct ParameterSpec {
  // "weight", "running_mean".
  std::string name;
  std::vector<int64_t> shape = {};
  // Buffers are not trained.
  bool buffer = false;
  v1::Tensor::DataType data_type = v1::Tensor::FLOAT32;

  // The largest int64 if there are more.
  int64_t NumElements() const;
};

// One use of an operator: the input of a schema's functions.
struct OpCall {
  // Its `op` is set, with checked attributes.
  const v1::Node& node;
  Attributes attributes;
  // The types of node.inputs(), edge by edge, as far as they are known.
  std::vector<v1::ValueType> inputs;
  // ToOnnx only: the types of the outputs. Their unknown dimensions, and those of the inputs of aten operators, may be
  // numbered (v1::Shape).
  std::vector<v1::ValueType> outputs = {};

  // The first input whose edge names this argument (aten operators); nullptr if none does.
  const v1::ValueType* Input(absl::string_view arg) const;
};

// An argument of a call, or a value, in source code: an identifier or a literal.
using SourceExpression = std::string;

// One operator. Immutable: any thread may use it.
class OpSchema {
 public:
  // `type` as in v1::Operator.
  explicit OpSchema(std::string type) : type_(std::move(type)) {}
  virtual ~OpSchema() = default;
  OpSchema(const OpSchema&) = delete;
  OpSchema& operator=(const OpSchema&) = delete;

  const std::string& type() const { return type_; }
  // Whether the operator stands for a torch.nn class or has parameters; false for functions.
  bool is_module() const { return type_.find("::") == std::string::npos; }
  const std::vector<AttributeSpec>& attributes() const { return attributes_; }
  // nullptr if there is no attribute of this name.
  const AttributeSpec* FindAttribute(absl::string_view name) const;
  int min_inputs() const { return min_inputs_; }
  // -1: no limit.
  int max_inputs() const { return max_inputs_; }

  // Checks names, kinds and lengths of the attributes, and calls Check. INVALID_ARGUMENT names the attribute and what
  // is allowed.
  absl::Status CheckAttributes(const v1::Operator& op) const;

  // Number of output slots of a node with these attributes.
  virtual int NumOutputs(const Attributes&) const { return 1; }

  // The types of all outputs, as far as they follow from the known part of the input types: an unknown rank or
  // dimension gives an unknown one. INVALID_ARGUMENT if the inputs do not fit, with the numbers of both sides: "expects
  // 64 input channels (in_channels), gets 32 in [-1, 32, 28, 28]".
  virtual absl::StatusOr<std::vector<v1::ValueType>> InferTypes(const OpCall& call) const = 0;

  // True if the output has the input's elements in another shape, and its sizes depend on nothing else (reshape).
  virtual bool KeepsElements() const { return false; }

  // Parameters, then buffers, in the state_dict's order.
  virtual std::vector<ParameterSpec> Parameters(const Attributes&) const { return {}; }

  // Floating-point operations of one run; a multiply-add counts as two. Unknown dimensions count as 1, so that an
  // unknown batch gives the cost of one sample. nullopt: not known.
  virtual std::optional<double> Flops(const OpCall& call, const std::vector<v1::ValueType>& outputs) const;

  // True if the result depends on random numbers, the training mode, or state besides its parameters (dropout, batch
  // norm).
  virtual bool IsStateful() const { return false; }

  // Module operators: the constructor call in Python, "nn.Conv2d(1, 32, kernel_size=(3, 3))". By default it has all
  // attributes that differ from their defaults, as keyword arguments.
  virtual absl::StatusOr<std::string> PythonModule(const Attributes& attributes) const;
  // Module operators: the constructor call in C++ with LibTorch's front end,
  // "torch::nn::Conv2d(torch::nn::Conv2dOptions(...))". UNIMPLEMENTED if LibTorch has no such module and the operator
  // does not override this.
  virtual absl::StatusOr<std::string> CppModule(const Attributes& attributes) const;
  // Module operators: how the module is called in source code, where `inputs` holds the expressions of the inputs of
  // `node`. Operators take and give their values one by one; torch.nn and LibTorch's front end may have tuples, names
  // and further arguments. The arguments in Python.
  virtual std::vector<SourceExpression> PythonArguments(const Attributes& attributes, const v1::Node& node,
                                                        std::vector<SourceExpression> inputs) const;
  // What the call is assigned to in Python, for a variable for each output: "out, (h, c)".
  virtual std::string PythonTargets(const std::vector<std::string>& variables) const;
  // The call in C++: "module->forward(x)". UNIMPLEMENTED if LibTorch's module cannot be called so.
  virtual absl::StatusOr<SourceExpression> CppForward(const Attributes& attributes, const v1::Node& node,
                                                      const std::string& module,
                                                      std::vector<SourceExpression> inputs) const;
  // In C++, output `slot` of several, where `result` holds what the call returned.
  virtual SourceExpression CppResult(const Attributes& attributes, const std::string& result, size_t slot) const;
  // Module operators: the file of torch.nn.modules that has the class in Python ("conv" has Conv2d); empty: it is not
  // known.
  virtual std::string TorchModuleFile() const { return ""; }
  // Module operators: the body of the class's forward in TorchScript, for the inputs of `node`: statements on `input`
  // (`input_1`, ... for further inputs), which read parameters and buffers as attributes of self. All lines but the
  // first are indented by two spaces, and the last one returns. `frozen`: the module always behaves as in evaluation
  // mode. UNIMPLEMENTED names what cannot be written.
  virtual absl::StatusOr<std::string> TorchScriptBody(const Attributes& attributes, const v1::Node& node,
                                                      bool frozen) const;
  // Aten operators: the call. `arguments` holds each argument of the schema that is given, whether input or constant.
  // By default torch.ops.aten.NAME.OVERLOAD(...) in Python, and UNIMPLEMENTED in C++.
  virtual absl::StatusOr<SourceExpression> PythonCall(const std::map<std::string, SourceExpression>& arguments) const;
  virtual absl::StatusOr<SourceExpression> CppCall(const std::map<std::string, SourceExpression>& arguments) const;

  // True if source code may write the call within the expression that reads its result: x.size(0) in
  // x.view(x.size(0), -1). Such a call is short, and gives the same wherever it stands.
  virtual bool MayStandWithinExpressions() const { return false; }

  // Writes the operator in evaluation mode as nodes of ONNX (opset 13) and returns the names of its outputs.
  // UNIMPLEMENTED where ONNX has no counterpart.
  virtual absl::StatusOr<std::vector<std::string>> ToOnnx(const OpCall& call, OnnxWriter& writer) const;

 protected:
  // For constructors of subclasses.
  void AddAttribute(AttributeSpec spec) { attributes_.push_back(std::move(spec)); }
  void SetInputs(int min, int max) {
    min_inputs_ = min;
    max_inputs_ = max;
  }

  // Checks conditions that kinds cannot express: channels divisible by groups, a probability in [0, 1].
  virtual absl::Status Check(const Attributes&) const { return absl::OkStatus(); }

 private:
  const std::string type_;
  std::vector<AttributeSpec> attributes_;
  int min_inputs_ = 1;
  int max_inputs_ = 1;
};

// Returns the schema of an operator type; nullptr: unknown. The registry is src/ops/registry.h; code that may not
// include it gets this function as an argument.
using OpLookup = const OpSchema* (*)(absl::string_view type);

// ---- Making and reading values and types ----

v1::Value IntValue(int64_t value);
v1::Value FloatValue(double value);
v1::Value BoolValue(bool value);
v1::Value StringValue(std::string value);
v1::Value IntsValue(const std::vector<int64_t>& values);

// A tensor of this shape.
v1::ValueType TensorType(v1::Tensor::DataType data_type, const std::vector<int64_t>& dims);
// A tensor of unknown rank.
v1::ValueType TensorType(v1::Tensor::DataType data_type = v1::Tensor::DATA_TYPE_UNSPECIFIED);
// The dimensions; nullopt if the rank is unknown or the type is not a tensor.
std::optional<std::vector<int64_t>> DimsOf(const v1::ValueType& type);
// For messages: "float32[-1, 64, 28, 28]", "int", "(float32[?], list of int)".
std::string TypeToText(const v1::ValueType& type);

}  // namespace lanista::graph

#endif  // LANISTA_SRC_GRAPH_OP_SCHEMA_H_
