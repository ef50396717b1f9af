// Recurrent networks over sequences, and single steps of them.
#include "src/ops/modules/recurrent.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "src/base/status.h"
#include "src/ops/registry.h"

namespace lanista::ops {
namespace {

bool HasNonlinearity(const RecurrentKind& kind) { return kind.gates == 1; }

std::vector<AttributeSpec> AttributesOf(const RecurrentKind& kind) {
  std::vector<AttributeSpec> specs = {Required("input_size", AttributeKind::kInt),
                                      Required("hidden_size", AttributeKind::kInt)};
  if (kind.is_cell) {
    specs.push_back(WithDefault("bias", true));
    if (HasNonlinearity(kind)) specs.push_back(WithDefault("nonlinearity", "tanh"));
    return specs;
  }
  specs.push_back(WithDefault("num_layers", int64_t{1}));
  if (HasNonlinearity(kind)) specs.push_back(WithDefault("nonlinearity", "tanh"));
  specs.push_back(WithDefault("bias", true));
  specs.push_back(WithDefault("batch_first", false));
  specs.push_back(WithDefault("dropout", 0.0));
  specs.push_back(WithDefault("bidirectional", false));
  if (kind.has_cell_state) specs.push_back(WithDefault("proj_size", int64_t{0}));
  return specs;
}

// Each layer has parameters of its own, which are listed.
constexpr int64_t kMaxLayers = 10000;

absl::Status CheckRecurrent(const RecurrentKind& kind, const Attributes& a) {
  LANISTA_RETURN_IF_ERROR(ExpectAtLeast(a, {"input_size", "hidden_size"}, 1));
  if (HasNonlinearity(kind) && a.String("nonlinearity") != "tanh" && a.String("nonlinearity") != "relu") {
    return absl::InvalidArgumentError(
        absl::StrCat("nonlinearity must be tanh or relu, not '", a.String("nonlinearity"), "'"));
  }
  if (kind.is_cell) return absl::OkStatus();
  LANISTA_RETURN_IF_ERROR(ExpectAtLeast(a, {"num_layers"}, 1));
  if (a.Int("num_layers") > kMaxLayers) {
    return absl::InvalidArgumentError(
        absl::StrCat("num_layers must be at most ", kMaxLayers, ", not ", a.Int("num_layers")));
  }
  if (a.Float("dropout") < 0 || a.Float("dropout") > 1) {
    return absl::InvalidArgumentError(absl::StrCat("dropout must be in [0, 1], not ", a.Float("dropout")));
  }
  if (kind.has_cell_state && (a.Int("proj_size") < 0 || a.Int("proj_size") >= a.Int("hidden_size"))) {
    return absl::InvalidArgumentError(absl::StrCat("proj_size (", a.Int("proj_size"), ") must be below hidden_size (",
                                                   a.Int("hidden_size"), "), or 0 for none"));
  }
  return absl::OkStatus();
}

// Checks the initial states that are given; `states`: their feature counts.
absl::Status CheckStates(const RecurrentKind& kind, const OpCall& call, const Dims& states) {
  const auto wanted = static_cast<size_t>(NumStates(kind));
  const size_t given = call.inputs.size() - 1;
  if (given != 0 && given != wanted) {
    return absl::InvalidArgumentError(
        absl::StrCat("takes its input alone, or with ", wanted, " initial states; gets ", given, " of them"));
  }
  for (size_t i = 0; i < given; ++i) {
    const v1::ValueType& state = call.inputs[i + 1];
    LANISTA_RETURN_IF_ERROR(ExpectDim(state, -1, states[i], "features in an initial state"));
    if (kind.is_cell) continue;
    const int64_t layers = call.attributes.Int("num_layers") * Directions(kind, call.attributes);
    LANISTA_RETURN_IF_ERROR(ExpectDim(state, 0, layers, "initial states (num_layers by directions)"));
  }
  return absl::OkStatus();
}

absl::StatusOr<Types> InferRecurrent(const RecurrentKind& kind, const OpCall& call) {
  const Attributes& a = call.attributes;
  const v1::ValueType& input = call.inputs[0];
  LANISTA_RETURN_IF_ERROR(ExpectRank(input, kind.is_cell ? std::vector<int>{1, 2} : std::vector<int>{2, 3}));
  LANISTA_RETURN_IF_ERROR(ExpectDim(input, -1, a.Int("input_size"), "input features (input_size)"));
  const int64_t features = OutputFeatures(kind, a);
  Dims states = {features};
  if (kind.has_cell_state) states.push_back(a.Int("hidden_size"));
  LANISTA_RETURN_IF_ERROR(CheckStates(kind, call, states));
  const auto dims = graph::DimsOf(input);
  Types types;
  if (!kind.is_cell) {
    types.push_back(graph::TensorType(input.data_type()));
    if (dims.has_value()) {
      Dims out = *dims;
      out.back() = features * Directions(kind, a);
      types.back() = graph::TensorType(input.data_type(), out);
    }
  }
  for (const int64_t state : states) {
    types.push_back(graph::TensorType(input.data_type()));
    if (!dims.has_value()) continue;
    Dims sizes;
    if (!kind.is_cell) {
      sizes.push_back(a.Int("num_layers") * Directions(kind, a));
      if (dims->size() == 3) sizes.push_back((*dims)[a.Bool("batch_first") ? 0 : 1]);
    } else if (dims->size() == 2) {
      sizes.push_back(dims->front());
    }
    sizes.push_back(state);
    types.back() = graph::TensorType(input.data_type(), sizes);
  }
  return types;
}

std::vector<ParameterSpec> RecurrentParameters(const RecurrentKind& kind, const Attributes& a) {
  const int64_t rows = kind.gates * a.Int("hidden_size"), features = OutputFeatures(kind, a);
  std::vector<ParameterSpec> parameters;
  for (const RecurrentLayer& layer : LayersOf(kind, a)) {
    parameters.push_back({"weight_ih" + layer.suffix, {rows, layer.input_size}});
    parameters.push_back({"weight_hh" + layer.suffix, {rows, features}});
    if (a.Bool("bias")) {
      parameters.push_back({"bias_ih" + layer.suffix, {rows}});
      parameters.push_back({"bias_hh" + layer.suffix, {rows}});
    }
    if (features != a.Int("hidden_size")) {
      parameters.push_back({"weight_hr" + layer.suffix, {features, a.Int("hidden_size")}});
    }
  }
  return parameters;
}

// Each step uses each weight once; the gates cost some more operations per element.
std::optional<double> RecurrentFlops(const RecurrentKind& kind, const OpCall& call) {
  const Attributes& a = call.attributes;
  const auto elements = CountElements(call.inputs[0]);
  if (!elements.has_value()) return std::nullopt;
  const double steps = *elements / static_cast<double>(a.Int("input_size"));
  double flops = 0;
  for (const ParameterSpec& parameter : RecurrentParameters(kind, a)) {
    flops += static_cast<double>(parameter.NumElements()) * (parameter.shape.size() > 1 ? 2 : 1);
  }
  const double gates = static_cast<double>(LayersOf(kind, a).size()) * kind.gates;
  return steps * (flops + gates * static_cast<double>(a.Int("hidden_size")));
}

absl::StatusOr<std::string> CppRecurrent(const std::vector<AttributeSpec>& specs, const std::string& type,
                                         const Attributes& a) {
  std::vector<AttributeSpec> plain;
  for (const AttributeSpec& spec : specs) {
    if (spec.name != "nonlinearity") plain.push_back(spec);
  }
  LANISTA_ASSIGN_OR_RETURN(std::string source, CppOptions(type, plain, a));
  if (a.String("nonlinearity") == "relu") source.insert(source.size() - 1, ".nonlinearity(torch::kReLU)");
  return source;
}

// How the network is called: torch.nn and LibTorch take both states of an LSTM as a tuple, and return them so.
ModuleCalls RecurrentCalls(const RecurrentKind& kind) {
  using Sources = ModuleCalls::Sources;
  ModuleCalls calls;
  const bool has_tuple = kind.has_cell_state;
  const auto with_tuple = [has_tuple](const Sources& inputs, const std::string& tuple) {
    if (!has_tuple || inputs.size() != 3) return inputs;
    return Sources{inputs[0], absl::StrCat(tuple, "(", inputs[1], ", ", inputs[2], ")")};
  };
  calls.python_arguments = [with_tuple](const Attributes&, const v1::Node&, const Sources& inputs) {
    return with_tuple(inputs, "");
  };
  calls.cpp_forward = [kind, with_tuple](const Attributes&, const v1::Node& node, const std::string& module,
                                         const Sources& inputs) -> absl::StatusOr<std::string> {
    if (!kind.is_cell) LANISTA_RETURN_IF_ERROR(CppNeedsBatch(node));
    return absl::StrCat(module, "->forward(", absl::StrJoin(with_tuple(inputs, "std::make_tuple"), ", "), ")");
  };
  // A cell returns nothing but its states.
  if (!has_tuple || kind.is_cell) return calls;
  calls.python_targets = [](const Sources& variables) {
    return absl::StrCat(variables[0], ", (", variables[1], ", ", variables[2], ")");
  };
  calls.cpp_result = [](const Attributes&, const std::string& result, size_t slot) {
    return slot == 0 ? absl::StrCat("std::get<0>(", result, ")")
                     : absl::StrCat("std::get<", slot - 1, ">(std::get<1>(", result, "))");
  };
  return calls;
}

std::unique_ptr<graph::OpSchema> MakeRecurrent(const RecurrentKind& kind) {
  ModuleSpec spec;
  spec.type = kind.type;
  spec.attributes = AttributesOf(kind);
  spec.infer = [kind](const OpCall& call) { return InferRecurrent(kind, call); };
  spec.parameters = [kind](const Attributes& a) { return RecurrentParameters(kind, a); };
  spec.flops = [kind](const OpCall& call, const Types&) { return RecurrentFlops(kind, call); };
  spec.check = [kind](const Attributes& a) { return CheckRecurrent(kind, a); };
  spec.cpp = [specs = spec.attributes, type = kind.type](const Attributes& a) { return CppRecurrent(specs, type, a); };
  spec.onnx = [kind](const OpCall& call, OnnxWriter& writer) { return RecurrentToOnnx(kind, call, writer); };
  spec.torchscript = {"rnn", [kind](const ScriptCall& call) { return RecurrentToScript(kind, call); }};
  // Dropout between the layers makes the operator stateful.
  spec.stateful = !kind.is_cell;
  spec.calls = RecurrentCalls(kind);
  const int states = NumStates(kind);
  spec.max_inputs = 1 + states;
  spec.outputs = states + (kind.is_cell ? 0 : 1);
  return MakeModule(std::move(spec));
}

LANISTA_REGISTER_OP(MakeRecurrent({"RNN", 1, false, false}));
LANISTA_REGISTER_OP(MakeRecurrent({"LSTM", 4, true, false}));
LANISTA_REGISTER_OP(MakeRecurrent({"GRU", 3, false, false}));
LANISTA_REGISTER_OP(MakeRecurrent({"RNNCell", 1, false, true}));
LANISTA_REGISTER_OP(MakeRecurrent({"LSTMCell", 4, true, true}));
LANISTA_REGISTER_OP(MakeRecurrent({"GRUCell", 3, false, true}));

}  // namespace

int64_t Directions(const RecurrentKind& kind, const Attributes& a) {
  return !kind.is_cell && a.Bool("bidirectional") ? 2 : 1;
}

int64_t OutputFeatures(const RecurrentKind& kind, const Attributes& a) {
  const bool projects = kind.has_cell_state && !kind.is_cell && a.Int("proj_size") > 0;
  return a.Int(projects ? "proj_size" : "hidden_size");
}

std::vector<RecurrentLayer> LayersOf(const RecurrentKind& kind, const Attributes& a) {
  if (kind.is_cell) return {{a.Int("input_size"), ""}};
  std::vector<RecurrentLayer> layers;
  const int64_t directions = Directions(kind, a);
  for (int64_t layer = 0; layer < a.Int("num_layers"); ++layer) {
    const int64_t input_size = layer == 0 ? a.Int("input_size") : OutputFeatures(kind, a) * directions;
    for (int64_t direction = 0; direction < directions; ++direction) {
      layers.push_back({input_size, absl::StrCat("_l", layer, direction == 0 ? "" : "_reverse")});
    }
  }
  return layers;
}

}  // namespace lanista::ops
