// Lanista's own operators, which GraphModule (src/runtime) runs: parameters and constants as values, the training flag,
// assertions.
#include "src/graph/built_in.h"

#include "src/base/status.h"
#include "src/ops/module_schema.h"
#include "src/ops/registry.h"

namespace lanista::ops {
namespace {

using Names = std::vector<std::string>;

absl::StatusOr<std::string> NotAModule(const Attributes&) {
  return absl::UnimplementedError("this operator is no module");
}

// A parameter or buffer of the model. Its name in the state_dict is the node's path.
ModuleSpec Parameter() {
  ModuleSpec spec{graph::TypeOf(graph::BuiltIn::kParameter),
                  {Required("shape", AttributeKind::kInts), WithDefault("buffer", false),
                   WithDefault("trainable", true), WithDefault("init", "zeros")},
                  [](const OpCall& call) -> absl::StatusOr<Types> {
                    return Types{graph::TensorType(v1::Tensor::FLOAT32, call.attributes.Ints("shape"))};
                  }};
  spec.parameters = [](const Attributes& a) {
    return std::vector<ParameterSpec>{{"", a.Ints("shape"), a.Bool("buffer")}};
  };
  spec.flops = NoFlops;
  spec.cpp = NotAModule;
  spec.min_inputs = spec.max_inputs = 0;
  return spec;
}

// A tensor that is part of the graph.
ModuleSpec Constant() {
  ModuleSpec spec{
      graph::TypeOf(graph::BuiltIn::kConstant),
      {Required("value", AttributeKind::kTensor)},
      [](const OpCall& call) -> absl::StatusOr<Types> {
        const v1::Tensor& tensor = call.attributes.Get("value").tensor();
        return Types{graph::TensorType(tensor.data_type(), Dims(tensor.dims().begin(), tensor.dims().end()))};
      }};
  spec.flops = NoFlops;
  spec.cpp = NotAModule;
  spec.min_inputs = spec.max_inputs = 0;
  return spec;
}

// Whether the module is in training mode.
ModuleSpec Training() {
  ModuleSpec spec{graph::TypeOf(graph::BuiltIn::kTraining), {}, [](const OpCall&) -> absl::StatusOr<Types> {
                    v1::ValueType type;
                    type.set_kind(v1::ValueType::BOOLEAN);
                    return Types{type};
                  }};
  spec.flops = NoFlops;
  spec.cpp = NotAModule;
  spec.stateful = true;
  spec.min_inputs = spec.max_inputs = 0;
  return spec;
}

// Throws unless its boolean input is true.
ModuleSpec Assert() {
  ModuleSpec spec{graph::TypeOf(graph::BuiltIn::kAssert),
                  {WithDefault("message", "an assertion of the model failed")},
                  [](const OpCall&) -> absl::StatusOr<Types> { return Types{}; }};
  spec.flops = NoFlops;
  spec.cpp = NotAModule;
  spec.onnx = [](const OpCall&, OnnxWriter&) -> absl::StatusOr<Names> { return Names{}; };
  spec.outputs = 0;
  return spec;
}

LANISTA_REGISTER_OP(MakeModule(Parameter()));
LANISTA_REGISTER_OP(MakeModule(Constant()));
LANISTA_REGISTER_OP(MakeModule(Training()));
LANISTA_REGISTER_OP(MakeModule(Assert()));

}  // namespace
}  // namespace lanista::ops
