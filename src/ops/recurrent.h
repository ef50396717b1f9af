// What the halves of the recurrent family share: kinds of networks, and how ONNX writes them.
#ifndef LANISTA_SRC_OPS_RECURRENT_H_
#define LANISTA_SRC_OPS_RECURRENT_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "src/ops/module_schema.h"

namespace lanista::ops {

// A kind of recurrent network: over a sequence ("LSTM") or one step of it ("LSTMCell").
struct RecurrentKind {
  std::string type;
  // How many blocks of hidden_size rows a weight has.
  int gates = 1;
  // LSTM: a second state beside the hidden one.
  bool has_cell_state = false;
  // One step, of one layer, in one direction.
  bool is_cell = false;
};

// The weights of one layer and direction, in the order of a state_dict.
struct RecurrentLayer {
  int64_t input_size = 0;
  // "_l0_reverse"; empty for cells.
  std::string suffix;
};

// Layers, and within a layer the directions.
std::vector<RecurrentLayer> LayersOf(const RecurrentKind& kind, const Attributes& attributes);

// The features of the output in one direction: hidden_size, or LSTM's proj_size.
int64_t OutputFeatures(const RecurrentKind& kind, const Attributes& attributes);

// As ONNX's RNN, LSTM and GRU.
absl::StatusOr<std::vector<std::string>> RecurrentToOnnx(const RecurrentKind& kind, const OpCall& call,
                                                         OnnxWriter& writer);

}  // namespace lanista::ops

#endif  // LANISTA_SRC_OPS_RECURRENT_H_
