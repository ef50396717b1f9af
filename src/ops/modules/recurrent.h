// Shared by the files of the recurrent family: kinds of networks, and how they are written as ONNX and TorchScript.
#ifndef LANISTA_SRC_OPS_MODULES_RECURRENT_H_
#define LANISTA_SRC_OPS_MODULES_RECURRENT_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "src/ops/module_schema.h"

namespace lanista::ops {

// A kind of recurrent network: over a sequence ("LSTM"), or over one step of a sequence ("LSTMCell").
struct RecurrentKind {
  std::string type;
  // Number of blocks of hidden_size rows in each weight.
  int gates = 1;
  // LSTM: there is a cell state besides the hidden state.
  bool has_cell_state = false;
  // One step, one layer, one direction.
  bool is_cell = false;
};

// The weights of one layer and direction, in the order of a state_dict.
struct RecurrentLayer {
  int64_t input_size = 0;
  // "_l0_reverse"; empty for cells.
  std::string suffix;
};

// Of the hidden state, and of a cell state.
inline int NumStates(const RecurrentKind& kind) { return kind.has_cell_state ? 2 : 1; }

// 2: it reads the sequence in both directions.
int64_t Directions(const RecurrentKind& kind, const Attributes& attributes);

// All layers in order, and within a layer its directions.
std::vector<RecurrentLayer> LayersOf(const RecurrentKind& kind, const Attributes& attributes);

// Number of output features of one direction: hidden_size, or LSTM's proj_size.
int64_t OutputFeatures(const RecurrentKind& kind, const Attributes& attributes);

// Writes the network as ONNX's RNN, LSTM or GRU.
absl::StatusOr<std::vector<std::string>> RecurrentToOnnx(const RecurrentKind& kind, const OpCall& call,
                                                         OnnxWriter& writer);

// Writes the network as TorchScript.
std::string RecurrentToScript(const RecurrentKind& kind, const ScriptCall& call);

}  // namespace lanista::ops

#endif  // LANISTA_SRC_OPS_MODULES_RECURRENT_H_
