// Recurrent networks as ONNX: one node per layer, with the gates in another order than PyTorch's.
#include "absl/strings/str_cat.h"
#include "src/base/status.h"
#include "src/ops/modules/recurrent.h"

namespace lanista::ops {
namespace {

using Names = std::vector<std::string>;

// For each gate in ONNX's order, its index in PyTorch's: i f g o -> i o f c, r z n -> z r h.
std::vector<size_t> GateOrder(const RecurrentKind& kind) {
  if (kind.gates == 4) return {0, 3, 1, 2};
  if (kind.gates == 3) return {1, 0, 2};
  return {0};
}

std::string Axes(OnnxWriter& writer, const Dims& axes) {
  return writer.Constant(axes, {static_cast<int64_t>(axes.size())});
}

std::string Unsqueeze(OnnxWriter& writer, const std::string& value, int64_t axis) {
  return writer.Node("Unsqueeze", {value, Axes(writer, {axis})})[0];
}

// Concatenates along the first axis.
std::string Concat(OnnxWriter& writer, const Names& values) {
  return values.size() == 1 ? values[0] : writer.Node("Concat", values, {{"axis", int64_t{0}}})[0];
}

// A weight or bias with its gates reordered for ONNX.
std::string Reorder(const RecurrentKind& kind, OnnxWriter& writer, const std::string& name) {
  const std::string value = writer.Parameter(name);
  if (kind.gates == 1) return value;
  const Names gates = writer.Node("Split", {value}, {{"axis", int64_t{0}}}, kind.gates);
  Names ordered;
  for (const size_t gate : GateOrder(kind)) ordered.push_back(gates[gate]);
  return Concat(writer, ordered);
}

// The tensors `prefix` + suffix of all directions, concatenated.
std::string Stack(const RecurrentKind& kind, OnnxWriter& writer, const std::string& prefix, const Names& suffixes) {
  Names values;
  for (const std::string& suffix : suffixes) {
    values.push_back(Unsqueeze(writer, Reorder(kind, writer, prefix + suffix), 0));
  }
  return Concat(writer, values);
}

std::string Biases(const RecurrentKind& kind, OnnxWriter& writer, const Names& suffixes) {
  Names values;
  for (const std::string& suffix : suffixes) {
    const Names both = {Reorder(kind, writer, "bias_ih" + suffix), Reorder(kind, writer, "bias_hh" + suffix)};
    values.push_back(Unsqueeze(writer, Concat(writer, both), 0));
  }
  return Concat(writer, values);
}

}  // namespace

absl::StatusOr<Names> RecurrentToOnnx(const RecurrentKind& kind, const OpCall& call, OnnxWriter& writer) {
  const Attributes& a = call.attributes;
  LANISTA_RETURN_IF_ERROR(OnnxNeedsRank(call.inputs[0], kind.is_cell ? 2 : 3));
  if (OutputFeatures(kind, a) != a.Int("hidden_size")) {
    return absl::UnimplementedError("proj_size has no counterpart in ONNX");
  }
  const auto directions = static_cast<size_t>(Directions(kind, a));
  const bool batch_first = !kind.is_cell && a.Bool("batch_first");
  const std::vector<RecurrentLayer> layers = LayersOf(kind, a);
  const auto num_states = static_cast<size_t>(NumStates(kind));
  const std::string op_type = kind.is_cell ? kind.type.substr(0, kind.type.size() - 4) : kind.type;

  std::vector<OnnxAttribute> attributes = {{"hidden_size", a.Int("hidden_size")}};
  if (directions == 2) attributes.push_back({"direction", std::string("bidirectional")});
  if (kind.gates == 3) attributes.push_back({"linear_before_reset", int64_t{1}});
  if (kind.gates == 1 && a.String("nonlinearity") == "relu") {
    attributes.push_back({"activations", Names(directions, "Relu")});
  }

  // [steps, batch, features]
  std::string x = writer.Input(0);
  if (kind.is_cell) x = Unsqueeze(writer, x, 0);
  if (batch_first) x = writer.Node("Transpose", {x}, {{"perm", Dims{1, 0, 2}}})[0];
  Names initial;
  for (size_t i = 1; i < call.inputs.size(); ++i) {
    const std::string state = writer.Input(static_cast<int>(i));
    initial.push_back(kind.is_cell ? Unsqueeze(writer, state, 0) : state);
  }
  std::vector<Names> last(num_states);
  for (size_t at = 0; at < layers.size(); at += directions) {
    Names suffixes;
    for (size_t i = 0; i < directions; ++i) suffixes.push_back(layers[at + i].suffix);
    Names inputs = {x, Stack(kind, writer, "weight_ih", suffixes), Stack(kind, writer, "weight_hh", suffixes),
                    a.Bool("bias") ? Biases(kind, writer, suffixes) : "", ""};
    for (const std::string& states : initial) {
      const auto from = static_cast<int64_t>(at), to = static_cast<int64_t>(at + directions);
      inputs.push_back(directions == layers.size()
                           ? states
                           : writer.Node("Slice", {states, Axes(writer, {from}), Axes(writer, {to})})[0]);
    }
    while (inputs.back().empty()) inputs.pop_back();
    const Names outputs = writer.Node(op_type, inputs, attributes, static_cast<int>(1 + num_states));
    for (size_t i = 0; i < num_states; ++i) last[i].push_back(outputs[1 + i]);
    // [steps, directions, batch, hidden] -> [steps, batch, directions * hidden]
    x = writer.Node("Transpose", {outputs[0]}, {{"perm", Dims{0, 2, 1, 3}}})[0];
    x = writer.Node("Reshape", {x, Axes(writer, {0, 0, -1})})[0];
  }
  Names results;
  if (!kind.is_cell) {
    results.push_back(batch_first ? writer.Node("Transpose", {x}, {{"perm", Dims{1, 0, 2}}})[0] : x);
  }
  for (const Names& states : last) {
    const std::string state = Concat(writer, states);
    results.push_back(kind.is_cell ? writer.Node("Squeeze", {state, Axes(writer, {0})})[0] : state);
  }
  return results;
}

}  // namespace lanista::ops
