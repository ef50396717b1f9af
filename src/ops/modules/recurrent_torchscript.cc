// Recurrent networks as TorchScript: torch's functions take a batch, and all initial states.
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/substitute.h"
#include "src/base/source_literals.h"
#include "src/ops/modules/recurrent.h"

namespace lanista::ops {
namespace {

// torch's function: "lstm", "gru_cell", "rnn_tanh".
std::string FunctionOf(const RecurrentKind& kind, const Attributes& a) {
  const std::string name = kind.has_cell_state ? "lstm"
                           : kind.gates == 1   ? absl::StrCat("rnn_", a.String("nonlinearity"))
                                               : "gru";
  return kind.is_cell ? name + "_cell" : name;
}

std::string SequenceToScript(const RecurrentKind& kind, const ScriptCall& call) {
  const Attributes& a = call.a;
  const int batch_axis = a.Bool("batch_first") ? 0 : 1;
  std::string body = absl::Substitute(
      "batched = input.dim() == 3\n"
      "  if not batched:\n"
      "    input = torch.unsqueeze(input, $0)\n  ",
      batch_axis);
  std::vector<std::string> states;
  for (int i = 0; i < NumStates(kind); ++i) {
    const std::string& state = states.emplace_back(i == 0 ? "h0" : "c0");
    if (call.node.inputs_size() > 1) {
      absl::StrAppend(&body, absl::Substitute("$0 = input_$1\n  if not batched:\n    $0 = torch.unsqueeze($0, 1)\n  ",
                                              state, i + 1));
    } else {
      const int64_t layers = a.Int("num_layers") * Directions(kind, a);
      const int64_t features = i == 0 ? OutputFeatures(kind, a) : a.Int("hidden_size");
      absl::StrAppend(&body, absl::Substitute("$0 = torch.zeros([$1, input.size($2), $3], dtype=input.dtype, "
                                              "device=input.device)\n  ",
                                              state, layers, batch_axis, features));
    }
  }
  const auto as_self = [](std::string* out, const ParameterSpec& parameter) {
    absl::StrAppend(out, "self.", parameter.name);
  };
  const std::string state_text = absl::StrJoin(states, ", ");
  const char* const ends = kind.has_cell_state ? "hn, cn" : "hn";
  absl::StrAppend(&body, "out, ", ends, " = torch.", FunctionOf(kind, a), "(input, ",
                  kind.has_cell_state ? absl::StrCat("[", state_text, "]") : state_text, ", [",
                  absl::StrJoin(call.schema.Parameters(a), ", ", as_self), "], ", call.Bool("bias"), ", ",
                  call.Int("num_layers"), ", ", PythonFloatLiteral(a.Float("dropout")), ", ", call.Training(), ", ",
                  call.Bool("bidirectional"), ", ", call.Bool("batch_first"),
                  ")\n  if not batched:\n    out = torch.squeeze(out, ", batch_axis,
                  ")\n    hn = torch.squeeze(hn, 1)\n  ");
  if (kind.has_cell_state) absl::StrAppend(&body, "  cn = torch.squeeze(cn, 1)\n  ");
  return body + ScriptReturn(absl::StrCat("out, ", ends));
}

std::string CellToScript(const RecurrentKind& kind, const ScriptCall& call) {
  std::string body = "batched = input.dim() == 2\n  if not batched:\n    input = torch.unsqueeze(input, 0)\n  ";
  for (int i = 0; i < NumStates(kind); ++i) {
    if (call.node.inputs_size() > 1) {
      absl::StrAppend(&body, absl::Substitute(
                                 "s$0 = input_$1\n  if not batched:\n    s$0 = torch.unsqueeze(s$0, 0)\n  ", i, i + 1));
    } else {
      absl::StrAppend(&body, absl::Substitute("s$0 = torch.zeros([input.size(0), $1], dtype=input.dtype, "
                                              "device=input.device)\n  ",
                                              i, call.Int("hidden_size")));
    }
  }
  const char* const ends = kind.has_cell_state ? "hn, cn" : "hn";
  absl::StrAppend(&body, ends, " = torch.", FunctionOf(kind, call.a), "(input, ",
                  kind.has_cell_state ? "[s0, s1]" : "s0", ", self.weight_ih, self.weight_hh, ",
                  call.Parameter("bias_ih"), ", ", call.Parameter("bias_hh"),
                  ")\n  if not batched:\n    hn = torch.squeeze(hn, 0)\n  ");
  if (kind.has_cell_state) absl::StrAppend(&body, "  cn = torch.squeeze(cn, 0)\n  ");
  return body + ScriptReturn(ends);
}

}  // namespace

std::string RecurrentToScript(const RecurrentKind& kind, const ScriptCall& call) {
  return kind.is_cell ? CellToScript(kind, call) : SequenceToScript(kind, call);
}

}  // namespace lanista::ops
