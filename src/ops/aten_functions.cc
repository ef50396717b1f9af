// What the aten operators that models use most tell about themselves. Any other one runs, trains and is exported to
// TorchScript and Python all the same: its types are unknown, and its source is a call by name.
#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "src/base/status.h"
#include "src/ops/module_schema.h"
#include "src/ops/registry.h"

namespace lanista::ops {
namespace {

using Names = std::vector<std::string>;
using Arguments = std::map<std::string, std::string>;

// One operator. `arguments`: all that its schema has, in order, as attributes that may be constants; those that are
// tensors have no default that means anything.
struct AtenSpec {
  std::string type;
  std::vector<AttributeSpec> arguments;
  std::function<absl::StatusOr<Types>(const OpCall& call)> infer = SameAsInput;
  // In both languages: "torch.relu" and "torch::relu", called with the arguments that are given, in order.
  std::string function = "";
  std::function<absl::StatusOr<Names>(const OpCall& call, OnnxWriter& writer)> onnx = nullptr;
  std::function<std::optional<double>(const OpCall& call, const Types& outputs)> flops = ElementwiseFlops;
  bool stateful = false;
  // Where Python's name is another one: "F.adaptive_avg_pool2d".
  std::string python_function = "";
};

class AtenSchema final : public graph::OpSchema {
 public:
  explicit AtenSchema(AtenSpec spec) : OpSchema(spec.type), spec_(std::move(spec)) {
    for (const AttributeSpec& argument : spec_.arguments) AddAttribute(argument);
    SetInputs(1, -1);
  }

  absl::StatusOr<Types> InferTypes(const OpCall& call) const override { return spec_.infer(call); }
  std::optional<double> Flops(const OpCall& call, const Types& outputs) const override {
    return spec_.flops(call, outputs);
  }
  bool IsStateful() const override { return spec_.stateful; }
  absl::StatusOr<std::string> PythonCall(const Arguments& arguments) const override {
    if (!spec_.python_function.empty()) return Call(spec_.python_function, "=", arguments);
    return spec_.function.empty() ? OpSchema::PythonCall(arguments) : Call("torch." + spec_.function, "=", arguments);
  }
  absl::StatusOr<std::string> CppCall(const Arguments& arguments) const override {
    // C++ has no names for arguments: what is skipped in front of a given one must be known.
    bool skipped = false;
    for (const AttributeSpec& argument : spec_.arguments) {
      const bool given = arguments.count(argument.name) > 0;
      if (given && skipped) return OpSchema::CppCall(arguments);
      skipped = skipped || !given;
    }
    return spec_.function.empty() ? OpSchema::CppCall(arguments) : Call("torch::" + spec_.function, "", arguments);
  }
  absl::StatusOr<Names> ToOnnx(const OpCall& call, OnnxWriter& writer) const override {
    return spec_.onnx ? spec_.onnx(call, writer) : OpSchema::ToOnnx(call, writer);
  }

 private:
  // `assign`: what stands between a name and its value, where values need names.
  std::string Call(const std::string& function, const std::string& assign, const Arguments& arguments) const {
    Names parts;
    bool skipped = false;
    for (const AttributeSpec& argument : spec_.arguments) {
      const auto given = arguments.find(argument.name);
      if (given == arguments.end()) {
        skipped = true;
      } else {
        parts.push_back(skipped ? absl::StrCat(argument.name, assign, given->second) : given->second);
      }
    }
    return absl::StrCat(function, "(", absl::StrJoin(parts, ", "), ")");
  }

  const AtenSpec spec_;
};

// An argument that an edge gives, or a constant.
AttributeSpec Any(std::string name) { return Optional(std::move(name), AttributeKind::kAny); }
AttributeSpec AnyInt(std::string name, int64_t value) {
  AttributeSpec spec = WithDefault(std::move(name), value);
  spec.kind = AttributeKind::kAny;
  return spec;
}
AttributeSpec AnyBool(std::string name, bool value) {
  AttributeSpec spec = WithDefault(std::move(name), value);
  spec.kind = AttributeKind::kAny;
  return spec;
}

int64_t FromFront(int64_t dim, size_t rank) { return dim < 0 ? dim + static_cast<int64_t>(rank) : dim; }

// A constant list of integers; one integer is repeated.
Dims IntsOf(const Attributes& a, const char* name, size_t length) {
  const v1::Value& value = a.Get(name);
  if (value.has_i()) return Dims(length, value.i());
  Dims ints;
  for (const v1::Value& element : value.list().values()) ints.push_back(element.i());
  if (ints.size() == 1) ints.resize(length, ints[0]);
  return ints;
}

absl::StatusOr<Types> UnknownShape(const OpCall& call) { return Types{graph::TensorType(call.inputs[0].data_type())}; }

// ---- Element by element ----

AtenSpec Unary(const std::string& name, const std::string& onnx) {
  AtenSpec spec{"aten::" + name, {Any("self")}};
  spec.function = name;
  if (!onnx.empty()) {
    spec.onnx = [onnx](const OpCall&, OnnxWriter& writer) -> absl::StatusOr<Names> {
      return writer.Node(onnx, {writer.Input(0)});
    };
  }
  return spec;
}

// NumPy's broadcasting; an unknown dimension meets 1 as itself, and any other as that one.
absl::StatusOr<Types> InferBroadcast(const OpCall& call) {
  std::optional<Dims> result;
  for (const v1::ValueType& input : call.inputs) {
    if (input.kind() != v1::TENSOR) continue;
    auto dims = graph::DimsOf(input);
    if (!dims.has_value()) return UnknownShape(call);
    if (!result.has_value()) {
      result = dims;
      continue;
    }
    if (result->size() < dims->size()) std::swap(*result, *dims);
    for (size_t i = 1; i <= dims->size(); ++i) {
      int64_t& a = (*result)[result->size() - i];
      const int64_t b = (*dims)[dims->size() - i];
      if (a == 1 || (a == -1 && b != 1)) {
        a = b;
      } else if (b != 1 && b != -1 && a != b) {
        return absl::InvalidArgumentError(
            absl::StrCat("cannot combine ", graph::TypeToText(call.inputs[0]), " with ", graph::TypeToText(input)));
      }
    }
  }
  if (!result.has_value()) return UnknownShape(call);
  return Types{graph::TensorType(call.inputs[0].data_type(), *result)};
}

AtenSpec Binary(const std::string& name, const std::string& overload, const std::string& onnx, bool alpha) {
  AtenSpec spec{absl::StrCat("aten::", name, ".", overload), {Any("self"), Any("other")}, InferBroadcast};
  if (alpha) spec.arguments.push_back(AnyInt("alpha", 1));
  spec.function = name;
  spec.onnx = [onnx](const OpCall& call, OnnxWriter& writer) -> absl::StatusOr<Names> {
    if (call.attributes.IsSet("alpha")) return absl::UnimplementedError("a factor `alpha` is not written as ONNX");
    const v1::Value& other = call.attributes.Get("other");
    const bool constant = other.has_i() || other.has_f();
    const double value = other.has_i() ? static_cast<double>(other.i()) : other.f();
    return writer.Node(
        onnx, {writer.Input(0),
               constant ? writer.Constant(std::vector<float>{static_cast<float>(value)}, {}) : writer.Input(1)});
  };
  return spec;
}

// The same in place: a method in both languages, so it is called by name.
AtenSpec InPlace(AtenSpec spec, const std::string& type) {
  spec.type = type;
  spec.function.clear();
  return spec;
}

AtenSpec Dropout() {
  AtenSpec spec{"aten::dropout", {Any("input"), Any("p"), Any("train")}};
  spec.function = "dropout";
  spec.onnx = [](const OpCall&, OnnxWriter& writer) -> absl::StatusOr<Names> {
    return writer.Node("Identity", {writer.Input(0)});
  };
  spec.stateful = true;
  return spec;
}

AtenSpec Softmax(const std::string& name, const std::string& onnx) {
  AtenSpec spec{absl::StrCat("aten::", name, ".int"), {Any("self"), Any("dim"), Any("dtype")}};
  spec.function = name;
  spec.onnx = [onnx](const OpCall& call, OnnxWriter& writer) -> absl::StatusOr<Names> {
    return writer.Node(onnx, {writer.Input(0)}, {{"axis", call.attributes.Int("dim")}});
  };
  return spec;
}

// ---- Shapes ----

absl::StatusOr<Types> InferFlatten(const OpCall& call) {
  const auto dims = graph::DimsOf(call.inputs[0]);
  if (!dims.has_value()) return UnknownShape(call);
  const int64_t start = FromFront(call.attributes.Int("start_dim"), dims->size());
  const int64_t end = FromFront(call.attributes.Int("end_dim"), dims->size());
  if (start < 0 || end >= static_cast<int64_t>(dims->size()) || start > end) {
    return absl::InvalidArgumentError(
        absl::StrCat("cannot flatten dimensions ", start, " to ", end, " of ", graph::TypeToText(call.inputs[0])));
  }
  Dims result(dims->begin(), dims->begin() + start);
  int64_t product = 1;
  for (int64_t i = start; i <= end; ++i) product = (*dims)[i] < 0 || product < 0 ? -1 : product * (*dims)[i];
  result.push_back(product);
  result.insert(result.end(), dims->begin() + end + 1, dims->end());
  return Types{graph::TensorType(call.inputs[0].data_type(), result)};
}

AtenSpec Flatten() {
  AtenSpec spec{"aten::flatten.using_ints", {Any("self"), AnyInt("start_dim", 0), AnyInt("end_dim", -1)}, InferFlatten};
  spec.function = "flatten";
  spec.flops = [](const OpCall&, const Types&) { return 0; };
  spec.onnx = [](const OpCall& call, OnnxWriter& writer) -> absl::StatusOr<Names> {
    if (call.attributes.Int("start_dim") != 1 || call.attributes.Int("end_dim") != -1) {
      return absl::UnimplementedError("flattening other dimensions than all but the first is not written as ONNX");
    }
    return writer.Node("Flatten", {writer.Input(0)}, {{"axis", int64_t{1}}});
  };
  return spec;
}

absl::StatusOr<Types> InferCat(const OpCall& call) {
  auto result = graph::DimsOf(call.inputs[0]);
  if (!result.has_value()) return UnknownShape(call);
  const int64_t axis = FromFront(call.attributes.Int("dim"), result->size());
  for (size_t i = 1; i < call.inputs.size(); ++i) {
    const auto dims = graph::DimsOf(call.inputs[i]);
    if (!dims.has_value()) return UnknownShape(call);
    if (dims->size() != result->size() || axis < 0 || axis >= static_cast<int64_t>(dims->size())) {
      return absl::InvalidArgumentError(absl::StrCat("cannot concatenate ", graph::TypeToText(call.inputs[0]), " and ",
                                                     graph::TypeToText(call.inputs[i])));
    }
    for (size_t d = 0; d < dims->size(); ++d) {
      int64_t& size = (*result)[d];
      const int64_t other = (*dims)[d];
      if (static_cast<int64_t>(d) == axis) {
        size = size < 0 || other < 0 ? -1 : size + other;
      } else if (size == -1) {
        size = other;
      } else if (other != -1 && other != size) {
        return absl::InvalidArgumentError(absl::StrCat("cannot concatenate ", graph::TypeToText(call.inputs[0]),
                                                       " and ", graph::TypeToText(call.inputs[i])));
      }
    }
  }
  return Types{graph::TensorType(call.inputs[0].data_type(), *result)};
}

AtenSpec Cat() {
  AtenSpec spec{"aten::cat", {Any("tensors"), AnyInt("dim", 0)}, InferCat};
  spec.function = "cat";
  spec.flops = [](const OpCall&, const Types&) { return 0; };
  spec.onnx = [](const OpCall& call, OnnxWriter& writer) -> absl::StatusOr<Names> {
    Names inputs;
    for (size_t i = 0; i < call.inputs.size(); ++i) inputs.push_back(writer.Input(static_cast<int>(i)));
    return writer.Node("Concat", inputs, {{"axis", call.attributes.Int("dim")}});
  };
  return spec;
}

absl::StatusOr<Types> InferMean(const OpCall& call) {
  const auto dims = graph::DimsOf(call.inputs[0]);
  const v1::Value& over = call.attributes.Get("dim");
  if (!dims.has_value() || (!over.has_i() && !over.has_list())) return UnknownShape(call);
  std::vector<bool> gone(dims->size(), over.has_list() && over.list().values().empty());
  for (const int64_t dim : IntsOf(call.attributes, "dim", 1)) {
    const int64_t axis = FromFront(dim, dims->size());
    if (axis < 0 || axis >= static_cast<int64_t>(dims->size())) {
      return absl::InvalidArgumentError(
          absl::StrCat("there is no dimension ", dim, " in ", graph::TypeToText(call.inputs[0])));
    }
    gone[axis] = true;
  }
  Dims result;
  for (size_t i = 0; i < dims->size(); ++i) {
    if (!gone[i]) result.push_back((*dims)[i]);
    if (gone[i] && call.attributes.Bool("keepdim")) result.push_back(1);
  }
  return Types{graph::TensorType(call.inputs[0].data_type(), result)};
}

AtenSpec Mean() {
  AtenSpec spec{"aten::mean.dim", {Any("self"), Any("dim"), AnyBool("keepdim", false), Any("dtype")}, InferMean};
  spec.function = "mean";
  spec.flops = [](const OpCall& call, const Types&) { return CountElements(call.inputs[0]); };
  spec.onnx = [](const OpCall& call, OnnxWriter& writer) -> absl::StatusOr<Names> {
    return writer.Node(
        "ReduceMean", {writer.Input(0)},
        {{"axes", IntsOf(call.attributes, "dim", 1)}, {"keepdims", int64_t{call.attributes.Bool("keepdim")}}});
  };
  return spec;
}

// ---- Pooling ----

absl::StatusOr<Types> InferMaxPool2d(const OpCall& call) {
  auto dims = graph::DimsOf(call.inputs[0]);
  if (!dims.has_value()) return UnknownShape(call);
  LANISTA_RETURN_IF_ERROR(ExpectRank(call.inputs[0], {3, 4}));
  const Attributes& a = call.attributes;
  const Dims kernel = IntsOf(a, "kernel_size", 2), padding = IntsOf(a, "padding", 2),
             dilation = IntsOf(a, "dilation", 2);
  Dims stride = IntsOf(a, "stride", 2);
  if (stride.empty()) stride = kernel;
  if (kernel.size() != 2 || stride.size() != 2 || padding.size() != 2 || dilation.size() != 2)
    return UnknownShape(call);
  for (size_t i = 0; i < 2; ++i) {
    int64_t& size = (*dims)[dims->size() - 2 + i];
    size = SlidingSize(size, kernel[i], stride[i], padding[i], dilation[i], a.Bool("ceil_mode"));
    if (size == 0 || size < -1) {
      return absl::InvalidArgumentError(
          absl::StrCat("a window of ", kernel[i], " does not fit into ", graph::TypeToText(call.inputs[0])));
    }
  }
  return Types{graph::TensorType(call.inputs[0].data_type(), *dims)};
}

AtenSpec MaxPool2d() {
  AtenSpec spec{"aten::max_pool2d",
                {Any("self"), Any("kernel_size"), Any("stride"), AnyInt("padding", 0), AnyInt("dilation", 1),
                 AnyBool("ceil_mode", false)},
                InferMaxPool2d};
  spec.function = "max_pool2d";
  spec.onnx = [](const OpCall& call, OnnxWriter& writer) -> absl::StatusOr<Names> {
    const Attributes& a = call.attributes;
    const Dims kernel = IntsOf(a, "kernel_size", 2), padding = IntsOf(a, "padding", 2);
    Dims stride = IntsOf(a, "stride", 2), pads = padding;
    if (stride.empty()) stride = kernel;
    pads.insert(pads.end(), padding.begin(), padding.end());
    return writer.Node("MaxPool", {writer.Input(0)},
                       {{"kernel_shape", kernel},
                        {"strides", stride},
                        {"pads", pads},
                        {"dilations", IntsOf(a, "dilation", 2)},
                        {"ceil_mode", int64_t{a.Bool("ceil_mode")}}});
  };
  return spec;
}

AtenSpec AdaptiveAvgPool2d() {
  AtenSpec spec{"aten::adaptive_avg_pool2d", {Any("self"), Any("output_size")}};
  spec.infer = [](const OpCall& call) -> absl::StatusOr<Types> {
    auto dims = graph::DimsOf(call.inputs[0]);
    const Dims size = IntsOf(call.attributes, "output_size", 2);
    if (!dims.has_value() || size.size() != 2) return UnknownShape(call);
    LANISTA_RETURN_IF_ERROR(ExpectRank(call.inputs[0], {3, 4}));
    std::copy(size.begin(), size.end(), dims->end() - 2);
    return Types{graph::TensorType(call.inputs[0].data_type(), *dims)};
  };
  spec.function = "adaptive_avg_pool2d";
  spec.python_function = "F.adaptive_avg_pool2d";
  spec.flops = [](const OpCall& call, const Types&) { return CountElements(call.inputs[0]); };
  spec.onnx = [](const OpCall& call, OnnxWriter& writer) -> absl::StatusOr<Names> {
    if (IntsOf(call.attributes, "output_size", 2) != Dims{1, 1}) {
      return absl::UnimplementedError("adaptive pooling to another size than 1 is not written as ONNX here");
    }
    return writer.Node("GlobalAveragePool", {writer.Input(0)});
  };
  return spec;
}

std::unique_ptr<graph::OpSchema> Make(AtenSpec spec) { return std::make_unique<AtenSchema>(std::move(spec)); }

LANISTA_REGISTER_OP(Make(Unary("relu", "Relu")));
LANISTA_REGISTER_OP(Make(InPlace(Unary("relu", "Relu"), "aten::relu_")));
LANISTA_REGISTER_OP(Make(Unary("sigmoid", "Sigmoid")));
LANISTA_REGISTER_OP(Make(Unary("tanh", "Tanh")));
LANISTA_REGISTER_OP(Make(Unary("exp", "Exp")));
LANISTA_REGISTER_OP(Make(Unary("log", "Log")));
LANISTA_REGISTER_OP(Make(Unary("sqrt", "Sqrt")));
LANISTA_REGISTER_OP(Make(Unary("neg", "Neg")));
LANISTA_REGISTER_OP(Make(Unary("abs", "Abs")));
LANISTA_REGISTER_OP(Make(Unary("silu", "")));
LANISTA_REGISTER_OP(Make(Unary("hardswish", "")));
LANISTA_REGISTER_OP(Make(Binary("add", "Tensor", "Add", true)));
LANISTA_REGISTER_OP(Make(Binary("add", "Scalar", "Add", true)));
LANISTA_REGISTER_OP(Make(Binary("sub", "Tensor", "Sub", true)));
LANISTA_REGISTER_OP(Make(Binary("sub", "Scalar", "Sub", true)));
LANISTA_REGISTER_OP(Make(Binary("mul", "Tensor", "Mul", false)));
LANISTA_REGISTER_OP(Make(Binary("mul", "Scalar", "Mul", false)));
LANISTA_REGISTER_OP(Make(Binary("div", "Tensor", "Div", false)));
LANISTA_REGISTER_OP(Make(Binary("div", "Scalar", "Div", false)));
LANISTA_REGISTER_OP(Make(InPlace(Binary("add", "Tensor", "Add", true), "aten::add_.Tensor")));
LANISTA_REGISTER_OP(Make(InPlace(Binary("mul", "Tensor", "Mul", false), "aten::mul_.Tensor")));
LANISTA_REGISTER_OP(Make(Dropout()));
LANISTA_REGISTER_OP(Make(Softmax("softmax", "Softmax")));
LANISTA_REGISTER_OP(Make(Softmax("log_softmax", "LogSoftmax")));
LANISTA_REGISTER_OP(Make(Flatten()));
LANISTA_REGISTER_OP(Make(Cat()));
LANISTA_REGISTER_OP(Make(Mean()));
LANISTA_REGISTER_OP(Make(MaxPool2d()));
LANISTA_REGISTER_OP(Make(AdaptiveAvgPool2d()));

}  // namespace
}  // namespace lanista::ops
