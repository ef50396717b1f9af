#include "src/exporters/torchscript/recurrent.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/substitute.h"
#include "src/exporters/common/source_model.h"

namespace lanista::exporters {
namespace {

const char* Truth(bool value) { return value ? "True" : "False"; }

bool Has(const std::vector<graph::ParameterSpec>& parameters, absl::string_view name) {
  return std::any_of(parameters.begin(), parameters.end(),
                     [&](const graph::ParameterSpec& parameter) { return parameter.name == name; });
}

}  // namespace

absl::StatusOr<std::string> RecurrentForward(const graph::OpSchema& schema, const graph::Attributes& a, int num_inputs,
                                             const std::string& training) {
  const bool lstm = schema.type() == "LSTM";
  const bool batch_first = a.Bool("batch_first");
  const bool bidirectional = a.Bool("bidirectional");
  std::string function = lstm ? "lstm" : "gru";
  if (schema.type() == "RNN") function = absl::StrCat("rnn_", a.String("nonlinearity"));
  std::string weights;
  for (const graph::ParameterSpec& parameter : schema.Parameters(a)) {
    absl::StrAppend(&weights, weights.empty() ? "" : ", ", "self.", parameter.name);
  }
  const int64_t hidden = a.Int("hidden_size");
  const int64_t projected = schema.FindAttribute("proj_size") != nullptr ? a.Int("proj_size") : 0;
  const int64_t states = a.Int("num_layers") * (bidirectional ? 2 : 1);

  std::string body = absl::Substitute(
      "batched = input.dim() == 3\n"
      "  if not batched:\n"
      "    input = torch.unsqueeze(input, $0)\n  ",
      batch_first ? 0 : 1);
  const int state_inputs = lstm ? 2 : 1;
  std::vector<std::string> state;
  for (int i = 0; i < state_inputs; ++i) {
    const std::string name = i == 0 ? "h0" : "c0";
    state.push_back(name);
    if (num_inputs > 1) {
      absl::StrAppend(&body, name, " = input_", i + 1, "\n  if not batched:\n    ", name, " = torch.unsqueeze(", name,
                      ", 1)\n  ");
    } else {
      absl::StrAppend(&body, name, " = torch.zeros([", states, ", input.size(", batch_first ? 0 : 1, "), ",
                      i == 0 && projected > 0 ? projected : hidden, "], dtype=input.dtype, device=input.device)\n  ");
    }
  }
  if (num_inputs != 1 && num_inputs != 1 + state_inputs) {
    return absl::InvalidArgumentError(absl::StrCat(schema.type(), " takes its input and ", state_inputs,
                                                   " initial states, or its input alone; it has ", num_inputs));
  }
  const std::string states_text = absl::StrJoin(state, ", ");
  absl::StrAppend(&body, "out, ", lstm ? "hn, cn" : "hn", " = torch.", function, "(input, ",
                  lstm ? absl::StrCat("[", states_text, "]") : states_text, ", [", weights, "], ",
                  Truth(a.Bool("bias")), ", ", a.Int("num_layers"), ", ", FloatLiteral(a.Float("dropout")), ", ",
                  training, ", ", Truth(bidirectional), ", ", Truth(batch_first), ")\n  ");
  absl::StrAppend(&body, "if not batched:\n    out = torch.squeeze(out, ", batch_first ? 0 : 1,
                  ")\n    hn = torch.squeeze(hn, 1)\n");
  if (lstm) absl::StrAppend(&body, "    cn = torch.squeeze(cn, 1)\n");
  return absl::StrCat(body, "  return out, ", lstm ? "hn, cn" : "hn");
}

absl::StatusOr<std::string> RecurrentCellForward(const graph::OpSchema& schema, const graph::Attributes& a,
                                                 int num_inputs) {
  const bool lstm = schema.type() == "LSTMCell";
  const int states = lstm ? 2 : 1;
  if (num_inputs != 1 && num_inputs != 1 + states) {
    return absl::InvalidArgumentError(absl::StrCat(schema.type(), " takes its input and ", states,
                                                   " states, or its input alone; it has ", num_inputs));
  }
  std::string function = lstm ? "lstm_cell" : "gru_cell";
  if (schema.type() == "RNNCell") function = absl::StrCat("rnn_", a.String("nonlinearity"), "_cell");
  std::string body = "batched = input.dim() == 2\n  if not batched:\n    input = torch.unsqueeze(input, 0)\n  ";
  for (int i = 0; i < states; ++i) {
    if (num_inputs > 1) {
      absl::StrAppend(&body, absl::Substitute(
                                 "s$0 = input_$1\n  if not batched:\n    s$0 = torch.unsqueeze(s$0, 0)\n  ", i, i + 1));
    } else {
      absl::StrAppend(&body, absl::Substitute("s$0 = torch.zeros([input.size(0), $1], dtype=input.dtype, "
                                              "device=input.device)\n  ",
                                              i, a.Int("hidden_size")));
    }
  }
  const char* const biases = a.Bool("bias") ? ", self.bias_ih, self.bias_hh)" : ", None, None)";
  absl::StrAppend(&body, lstm ? "hn, cn" : "hn", " = torch.", function, "(input, ", lstm ? "[s0, s1]" : "s0",
                  ", self.weight_ih, self.weight_hh", biases, "\n  if not batched:\n    hn = torch.squeeze(hn, 0)\n  ");
  if (lstm) absl::StrAppend(&body, "  cn = torch.squeeze(cn, 0)\n  ");
  return absl::StrCat(body, "return hn", lstm ? ", cn" : "");
}

// Code that adds the masks to `weights`: [batch * heads, length, keys].
std::string Masks(const v1::Node& node, int64_t heads) {
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

absl::StatusOr<std::string> AttentionForward(const graph::OpSchema& schema, const graph::Attributes& a,
                                             const v1::Node& node, const std::string& training) {
  if (a.Bool("add_zero_attn")) return absl::UnimplementedError("add_zero_attn cannot be written as TorchScript");
  if (a.Bool("add_bias_kv") && node.inputs_size() > 3) {
    return absl::UnimplementedError("masks beside add_bias_kv cannot be written as TorchScript");
  }
  const std::vector<graph::ParameterSpec> parameters = schema.Parameters(a);
  const int64_t embed = a.Int("embed_dim");
  const int64_t heads = a.Int("num_heads");
  const bool batch_first = a.Bool("batch_first");
  std::string body = "query = input\n  key = input_1\n  value = input_2\n  ";
  if (batch_first) {
    for (const char* const name : {"query", "key", "value"}) {
      absl::StrAppend(&body, name, " = torch.transpose(", name, ", 0, 1)\n  ");
    }
  }
  absl::StrAppend(&body, Has(parameters, "in_proj_weight")
                             ? "w_q, w_k, w_v = torch.unbind(torch.reshape(self.in_proj_weight, [3, -1, "
                             : "w_q, w_k, w_v = self.q_proj_weight, self.k_proj_weight, self.v_proj_weight\n  ");
  if (Has(parameters, "in_proj_weight")) absl::StrAppend(&body, embed, "]))\n  ");
  const bool bias = Has(parameters, "in_proj_bias");
  if (bias) absl::StrAppend(&body, "b_q, b_k, b_v = torch.unbind(torch.reshape(self.in_proj_bias, [3, -1]))\n  ");
  absl::StrAppend(&body, "q = torch.linear(query, w_q, ", bias ? "b_q" : "None", ")\n  k = torch.linear(key, w_k, ",
                  bias ? "b_k" : "None", ")\n  v = torch.linear(value, w_v, ", bias ? "b_v" : "None", ")\n  ");
  if (Has(parameters, "bias_k")) {
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
                       heads, embed / heads, FloatLiteral(std::sqrt(static_cast<double>(embed) / heads)),
                       FloatLiteral(a.Float("dropout")), training, embed,
                       Has(parameters, "out_proj.bias") ? "self.out_proj.bias" : "None", Masks(node, heads)));
  if (batch_first) absl::StrAppend(&body, "out = torch.transpose(out, 0, 1)\n  ");
  if (!a.Bool("need_weights")) return body + "return out, None";
  return absl::StrCat(body, "return out, ", a.Bool("average_attn_weights") ? "torch.mean(weights, 1)" : "weights");
}

}  // namespace lanista::exporters
