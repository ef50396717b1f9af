// Multi-head attention: forward(query, key, value) -> out, weights. Edges with the argument names key_padding_mask and
// attn_mask bring the masks.
#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"
#include "src/base/source_literals.h"
#include "src/base/status.h"
#include "src/ops/module_schema.h"
#include "src/ops/registry.h"

namespace lanista::ops {
namespace {

using Names = std::vector<std::string>;

constexpr int kQuery = 0, kKey = 1, kValue = 2;

int64_t FeaturesOf(const Attributes& a, const char* name) { return a.Int(a.Has(name) ? name : "embed_dim"); }

// Whether one weight holds all three projections.
bool IsPacked(const Attributes& a) {
  return FeaturesOf(a, "kdim") == a.Int("embed_dim") && FeaturesOf(a, "vdim") == a.Int("embed_dim");
}

// Number of keys that the module adds to the given ones.
int64_t AddedKeys(const Attributes& a) { return int64_t{a.Bool("add_bias_kv")} + int64_t{a.Bool("add_zero_attn")}; }

absl::Status CheckAttention(const Attributes& a) {
  LANISTA_RETURN_IF_ERROR(ExpectAtLeast(a, {"embed_dim", "num_heads"}, 1));
  if (a.Int("embed_dim") % a.Int("num_heads") != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("embed_dim (", a.Int("embed_dim"), ") must be divisible by num_heads (", a.Int("num_heads"), ")"));
  }
  if (a.Float("dropout") >= 0 && a.Float("dropout") <= 1) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("dropout must be in [0, 1], not ", a.Float("dropout")));
}

// Dimension `axis` of a type; -1: unknown.
int64_t DimOf(const v1::ValueType& type, int64_t axis) {
  const auto dims = graph::DimsOf(type);
  return dims.has_value() && axis < static_cast<int64_t>(dims->size()) ? (*dims)[axis] : -1;
}

// OK if both dimensions are equal or one is unknown.
absl::Status ExpectSame(const OpCall& call, int64_t axis, int first, int second, const char* what) {
  const int64_t one = DimOf(call.inputs[first], axis), other = DimOf(call.inputs[second], axis);
  if (one < 0 || other < 0 || one == other) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("inputs must agree in their ", what, ": ",
                                                 graph::TypeToText(call.inputs[first]), " has ", one, ", ",
                                                 graph::TypeToText(call.inputs[second]), " has ", other));
}

absl::Status CheckInputs(const OpCall& call) {
  const Attributes& a = call.attributes;
  for (int i = 3; i < call.node.inputs_size(); ++i) {
    const std::string& arg = call.node.inputs(i).arg();
    if (arg == "key_padding_mask" || arg == "attn_mask") continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "input ", i, " must name its argument, key_padding_mask or attn_mask", arg.empty() ? "" : ", not ", arg));
  }
  for (const v1::ValueType& input : {call.inputs[kQuery], call.inputs[kKey], call.inputs[kValue]}) {
    LANISTA_RETURN_IF_ERROR(ExpectRank(input, {2, 3}));
  }
  LANISTA_RETURN_IF_ERROR(ExpectDim(call.inputs[kQuery], -1, a.Int("embed_dim"), "features of queries (embed_dim)"));
  LANISTA_RETURN_IF_ERROR(ExpectDim(call.inputs[kKey], -1, FeaturesOf(a, "kdim"), "features of keys (kdim)"));
  LANISTA_RETURN_IF_ERROR(ExpectDim(call.inputs[kValue], -1, FeaturesOf(a, "vdim"), "features of values (vdim)"));
  const auto dims = graph::DimsOf(call.inputs[kQuery]);
  if (!dims.has_value()) return absl::OkStatus();
  const auto rank = static_cast<int>(dims->size());
  LANISTA_RETURN_IF_ERROR(ExpectRank(call.inputs[kKey], {rank}));
  LANISTA_RETURN_IF_ERROR(ExpectRank(call.inputs[kValue], {rank}));
  const bool batched = rank == 3;
  const int64_t batch_axis = a.Bool("batch_first") ? 0 : 1, key_axis = batched ? 1 - batch_axis : 0;
  LANISTA_RETURN_IF_ERROR(ExpectSame(call, key_axis, kKey, kValue, "number of keys"));
  if (!batched) return absl::OkStatus();
  LANISTA_RETURN_IF_ERROR(ExpectSame(call, batch_axis, kQuery, kKey, "batch"));
  return ExpectSame(call, batch_axis, kQuery, kValue, "batch");
}

absl::StatusOr<Types> InferAttention(const OpCall& call) {
  const Attributes& a = call.attributes;
  LANISTA_RETURN_IF_ERROR(CheckInputs(call));
  const v1::ValueType& query = call.inputs[kQuery];
  const auto dims = graph::DimsOf(query);
  if (!dims.has_value()) {
    return Types{graph::TensorType(query.data_type()),
                 a.Bool("need_weights") ? graph::TensorType(query.data_type()) : v1::ValueType()};
  }
  Dims out = *dims;
  out.back() = a.Int("embed_dim");
  Types types = {graph::TensorType(query.data_type(), out), v1::ValueType()};
  // Without need_weights, the second output is none.
  if (!a.Bool("need_weights")) return types;
  const bool batched = dims->size() == 3;
  const int64_t batch_axis = a.Bool("batch_first") ? 0 : 1, length_axis = batched ? 1 - batch_axis : 0;
  Dims weights;
  if (batched) weights.push_back((*dims)[batch_axis]);
  if (!a.Bool("average_attn_weights")) weights.push_back(a.Int("num_heads"));
  weights.push_back((*dims)[length_axis]);
  const int64_t keys = DimOf(call.inputs[kKey], length_axis);
  weights.push_back(keys < 0 ? -1 : keys + AddedKeys(a));
  types[1] = graph::TensorType(query.data_type(), weights);
  return types;
}

std::vector<ParameterSpec> AttentionParameters(const Attributes& a) {
  const int64_t size = a.Int("embed_dim");
  std::vector<ParameterSpec> parameters;
  if (IsPacked(a)) {
    parameters.push_back({"in_proj_weight", {3 * size, size}});
  } else {
    parameters.push_back({"q_proj_weight", {size, size}});
    parameters.push_back({"k_proj_weight", {size, FeaturesOf(a, "kdim")}});
    parameters.push_back({"v_proj_weight", {size, FeaturesOf(a, "vdim")}});
  }
  if (a.Bool("bias")) parameters.push_back({"in_proj_bias", {3 * size}});
  if (a.Bool("add_bias_kv")) {
    parameters.push_back({"bias_k", {1, 1, size}});
    parameters.push_back({"bias_v", {1, 1, size}});
  }
  parameters.push_back({"out_proj.weight", {size, size}});
  if (a.Bool("bias")) parameters.push_back({"out_proj.bias", {size}});
  return parameters;
}

// The four projections, the products of queries and keys, and the products of weights and values.
std::optional<double> AttentionFlops(const OpCall& call, const Types&) {
  const Attributes& a = call.attributes;
  const auto query = graph::DimsOf(call.inputs[kQuery]);
  const auto keys = CountElements(call.inputs[kKey]), values = CountElements(call.inputs[kValue]);
  if (!query.has_value() || !keys.has_value() || !values.has_value()) return std::nullopt;
  const auto size = static_cast<double>(a.Int("embed_dim"));
  const double queries = *CountElements(call.inputs[kQuery]) / size;
  const int64_t length_axis = query->size() == 3 && a.Bool("batch_first") ? 1 : 0;
  const auto sources = static_cast<double>(std::max<int64_t>(DimOf(call.inputs[kKey], length_axis), 1) + AddedKeys(a));
  return 2 * size * (2 * queries * size + *keys + *values) + 4 * queries * sources * size;
}

absl::StatusOr<std::string> CppAttention(const std::vector<AttributeSpec>& specs, const Attributes& a) {
  if (FeaturesOf(a, "kdim") != FeaturesOf(a, "vdim")) {
    return absl::UnimplementedError("LibTorch's MultiheadAttention takes keys and values of the same size only");
  }
  std::vector<AttributeSpec> plain;
  for (const AttributeSpec& spec : specs) {
    // LibTorch's module lacks these attributes; the exported call of forward implements them.
    if (spec.name == "batch_first" || spec.name == "need_weights" || spec.name == "average_attn_weights") continue;
    plain.push_back(spec);
  }
  return CppOptions("MultiheadAttention", plain, a);
}

// Masks are passed by name.
Names PythonAttentionArguments(const Attributes& a, const v1::Node& node, Names inputs) {
  for (size_t i = 3; i < inputs.size(); ++i) {
    inputs[i] = absl::StrCat(node.inputs(static_cast<int>(i)).arg(), "=", inputs[i]);
  }
  for (const char* const name : {"need_weights", "average_attn_weights"}) {
    if (!a.Bool(name)) inputs.push_back(absl::StrCat(name, "=False"));
  }
  return inputs;
}

// LibTorch's module knows no batch_first, and masks have fixed positions.
absl::StatusOr<std::string> CppAttentionForward(const Attributes& a, const v1::Node& node, const std::string& module,
                                                Names inputs) {
  LANISTA_RETURN_IF_ERROR(CppNeedsBatch(node));
  if (a.Bool("batch_first")) {
    for (const int i : {kQuery, kKey, kValue}) absl::StrAppend(&inputs[i], ".transpose(0, 1)");
  }
  std::string key_padding_mask = "{}", attn_mask = "{}";
  for (size_t i = 3; i < inputs.size(); ++i) {
    if (node.inputs(static_cast<int>(i)).arg() == "key_padding_mask") {
      key_padding_mask = inputs[i];
      continue;
    }
    // LibTorch adds the mask to the scores, so a boolean mask is converted.
    attn_mask = absl::Substitute(
        "$0.is_floating_point() ? $0 : torch::zeros($0.sizes(), $1.options()).masked_fill($0, "
        "-std::numeric_limits<float>::infinity())",
        inputs[i], inputs[kQuery]);
  }
  const auto flag = [&a](const char* name) { return a.Bool(name) ? "true" : "false"; };
  return absl::StrCat(module, "->forward(", inputs[kQuery], ", ", inputs[kKey], ", ", inputs[kValue], ", ",
                      key_padding_mask, ", ", flag("need_weights"), ", ", attn_mask, ", ", flag("average_attn_weights"),
                      ")");
}

std::string CppAttentionResult(const Attributes& a, const std::string& result, size_t slot) {
  return absl::StrCat("std::get<", slot, ">(", result, ")",
                      slot == 0 && a.Bool("batch_first") ? ".transpose(0, 1)" : "");
}

// Writes the ONNX nodes. All tensors are [batch, length, features].
class AttentionInOnnx {
 public:
  AttentionInOnnx(const Attributes& a, OnnxWriter& writer) : a_(a), writer_(writer) {}

  Names Write() {
    const int64_t heads = a_.Int("num_heads");
    const std::string query = Heads(Project(kQuery, "q_proj_weight"));
    const std::string key = Heads(Project(kKey, "k_proj_weight")), value = Heads(Project(kValue, "v_proj_weight"));
    const double scale = std::sqrt(static_cast<double>(a_.Int("embed_dim") / heads));
    const std::string scaled = Node("Div", {query, OnnxScalar(writer_, scale)});
    const std::string scores = Node("MatMul", {scaled, Node("Transpose", {key}, {{"perm", Dims{0, 1, 3, 2}}})});
    std::string weights = Node("Softmax", {scores}, {{"axis", int64_t{-1}}});
    std::string out = Node("Transpose", {Node("MatMul", {weights, value})}, {{"perm", Dims{0, 2, 1, 3}}});
    out = Node("Reshape", {out, writer_.Constant(Dims{0, 0, -1}, {3})});
    out = Linear(out, writer_.Parameter("out_proj.weight"), writer_.Parameter("out_proj.bias"));
    if (a_.Bool("average_attn_weights")) {
      weights = Node("ReduceMean", {weights}, {{"axes", Dims{1}}, {"keepdims", int64_t{0}}});
    }
    return {BatchFirst(out), weights};
  }

 private:
  std::string Node(const std::string& type, const Names& inputs, const std::vector<OnnxAttribute>& attributes = {}) {
    return writer_.Node(type, inputs, attributes)[0];
  }

  // Converts from sequence first to batch first, or back.
  std::string BatchFirst(const std::string& x) {
    return a_.Bool("batch_first") ? x : Node("Transpose", {x}, {{"perm", Dims{1, 0, 2}}});
  }

  std::string Linear(const std::string& x, const std::string& weight, const std::string& bias) {
    const std::string product = Node("MatMul", {x, Node("Transpose", {weight}, {{"perm", Dims{1, 0}}})});
    return a_.Bool("bias") ? Node("Add", {product, bias}) : product;
  }

  std::string Project(int input, const std::string& own_weight) {
    const std::vector<OnnxAttribute> rows = {{"axis", int64_t{0}}};
    const std::string weight = IsPacked(a_)
                                   ? writer_.Node("Split", {writer_.Parameter("in_proj_weight")}, rows, 3)[input]
                                   : writer_.Parameter(own_weight);
    const std::string bias =
        a_.Bool("bias") ? writer_.Node("Split", {writer_.Parameter("in_proj_bias")}, rows, 3)[input] : "";
    return Linear(BatchFirst(writer_.Input(input)), weight, bias);
  }

  // [batch, length, features] -> [batch, heads, length, features of a head]
  std::string Heads(const std::string& x) {
    const int64_t heads = a_.Int("num_heads");
    const Dims shape = {0, 0, heads, a_.Int("embed_dim") / heads};
    return Node("Transpose", {Node("Reshape", {x, writer_.Constant(shape, {4})})}, {{"perm", Dims{0, 2, 1, 3}}});
  }

  const Attributes& a_;
  OnnxWriter& writer_;
};

absl::StatusOr<Names> AttentionToOnnx(const OpCall& call, OnnxWriter& writer) {
  LANISTA_RETURN_IF_ERROR(OnnxNeedsRank(call.inputs[kQuery], 3));
  if (call.inputs.size() > 3) return absl::UnimplementedError("attention masks are not written as ONNX");
  if (AddedKeys(call.attributes) > 0) {
    return absl::UnimplementedError("add_bias_kv and add_zero_attn are not written as ONNX");
  }
  return AttentionInOnnx(call.attributes, writer).Write();
}

// TorchScript that adds the masks to `weights`: [batch * heads, length, keys].
std::string ScriptMasks(const v1::Node& node, int64_t heads) {
  std::string body;
  for (int i = 3; i < node.inputs_size(); ++i) {
    const std::string mask = absl::StrCat("input_", i);
    if (node.inputs(i).arg() == "key_padding_mask") {
      absl::StrAppend(&body,
                      absl::Substitute("$0 = torch.repeat_interleave(torch.unsqueeze($0, 1), $1, 0)\n  ", mask, heads));
    }
    absl::StrAppend(&body,
                    absl::Substitute("if torch.is_floating_point($0):\n    weights = torch.add(weights, $0)\n"
                                     "  else:\n    weights = torch.masked_fill(weights, $0, float(\"-inf\"))\n  ",
                                     mask));
  }
  return body;
}

absl::StatusOr<std::string> AttentionToScript(const ScriptCall& call) {
  const Attributes& a = call.a;
  if (a.Bool("add_zero_attn")) return absl::UnimplementedError("add_zero_attn cannot be written as TorchScript");
  if (a.Bool("add_bias_kv") && call.node.inputs_size() > 3) {
    return absl::UnimplementedError("masks beside add_bias_kv cannot be written as TorchScript");
  }
  const int64_t embed = a.Int("embed_dim");
  const int64_t heads = a.Int("num_heads");
  const bool batch_first = a.Bool("batch_first");
  std::string body = "query = input\n  key = input_1\n  value = input_2\n  ";
  if (batch_first) {
    for (const char* const name : {"query", "key", "value"}) {
      absl::StrAppend(&body, name, " = torch.transpose(", name, ", 0, 1)\n  ");
    }
  }
  if (IsPacked(a)) {
    absl::StrAppend(&body, "w_q, w_k, w_v = torch.unbind(torch.reshape(self.in_proj_weight, [3, -1, ", embed,
                    "]))\n  ");
  } else {
    absl::StrAppend(&body, "w_q, w_k, w_v = self.q_proj_weight, self.k_proj_weight, self.v_proj_weight\n  ");
  }
  const bool bias = a.Bool("bias");
  if (bias) absl::StrAppend(&body, "b_q, b_k, b_v = torch.unbind(torch.reshape(self.in_proj_bias, [3, -1]))\n  ");
  absl::StrAppend(&body, "q = torch.linear(query, w_q, ", bias ? "b_q" : "None", ")\n  k = torch.linear(key, w_k, ",
                  bias ? "b_k" : "None", ")\n  v = torch.linear(value, w_v, ", bias ? "b_v" : "None", ")\n  ");
  if (a.Bool("add_bias_kv")) {
    absl::StrAppend(&body, "k = torch.cat([k, self.bias_k.repeat([1, k.size(1), 1])])\n  ",
                    "v = torch.cat([v, self.bias_v.repeat([1, v.size(1), 1])])\n  ");
  }
  absl::StrAppend(
      &body,
      absl::Substitute("length = q.size(0)\n  batch = q.size(1)\n"
                       "  q = torch.transpose(torch.reshape(q, [length, batch * $0, $1]), 0, 1)\n"
                       "  k = torch.transpose(torch.reshape(k, [-1, batch * $0, $1]), 0, 1)\n"
                       "  v = torch.transpose(torch.reshape(v, [-1, batch * $0, $1]), 0, 1)\n"
                       "  weights = torch.bmm(torch.div(q, $2), torch.transpose(k, 1, 2))\n"
                       "  $7weights = torch.dropout(torch.softmax(weights, -1), $3, $4)\n"
                       "  out = torch.reshape(torch.transpose(torch.bmm(weights, v), 0, 1), [length, batch, $5])\n"
                       "  out = torch.linear(out, self.out_proj.weight, $6)\n"
                       "  weights = torch.reshape(weights, [batch, $0, length, -1])\n  ",
                       heads, embed / heads, PythonFloatLiteral(std::sqrt(static_cast<double>(embed) / heads)),
                       PythonFloatLiteral(a.Float("dropout")), call.Training(), embed, call.Parameter("out_proj.bias"),
                       ScriptMasks(call.node, heads)));
  if (batch_first) absl::StrAppend(&body, "out = torch.transpose(out, 0, 1)\n  ");
  if (!a.Bool("need_weights")) return body + ScriptReturn("out, None");
  const char* const weights = a.Bool("average_attn_weights") ? "torch.mean(weights, 1)" : "weights";
  return body + ScriptReturn(absl::StrCat("out, ", weights));
}

ModuleSpec MultiheadAttention() {
  ModuleSpec spec{"MultiheadAttention",
                  {Required("embed_dim", AttributeKind::kInt), Required("num_heads", AttributeKind::kInt),
                   WithDefault("dropout", 0.0), WithDefault("bias", true), WithDefault("add_bias_kv", false),
                   WithDefault("add_zero_attn", false), Optional("kdim", AttributeKind::kInt),
                   Optional("vdim", AttributeKind::kInt), WithDefault("batch_first", false),
                   WithDefault("need_weights", true), WithDefault("average_attn_weights", true)},
                  InferAttention,
                  AttentionParameters,
                  AttentionFlops,
                  CheckAttention};
  spec.cpp = [specs = spec.attributes](const Attributes& a) { return CppAttention(specs, a); };
  spec.onnx = AttentionToOnnx;
  spec.torchscript = {"activation", AttentionToScript};
  spec.stateful = true;
  spec.min_inputs = 3;
  spec.max_inputs = 5;
  spec.outputs = 2;
  spec.forward_attributes = {"need_weights", "average_attn_weights"};
  spec.calls.python_arguments = PythonAttentionArguments;
  spec.calls.cpp_forward = CppAttentionForward;
  spec.calls.cpp_result = CppAttentionResult;
  return spec;
}

LANISTA_REGISTER_OP(MakeModule(MultiheadAttention()));

}  // namespace
}  // namespace lanista::ops
