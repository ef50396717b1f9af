// The larger bodies for source.h: recurrent networks and attention.
#ifndef LANISTA_SRC_EXPORTERS_TORCHSCRIPT_RECURRENT_H_
#define LANISTA_SRC_EXPORTERS_TORCHSCRIPT_RECURRENT_H_

#include <string>

#include "absl/status/statusor.h"
#include "protos/graph.pb.h"
#include "src/graph/op_schema.h"

namespace lanista::exporters {

// RNN, LSTM and GRU. `training`: "self.training" or "False".
absl::StatusOr<std::string> RecurrentForward(const graph::OpSchema& schema, const graph::Attributes& attributes,
                                             int num_inputs, const std::string& training);

// RNNCell, LSTMCell and GRUCell: one step of a sequence.
absl::StatusOr<std::string> RecurrentCellForward(const graph::OpSchema& schema, const graph::Attributes& attributes,
                                                 int num_inputs);

// MultiheadAttention; the node's edges name the masks.
absl::StatusOr<std::string> AttentionForward(const graph::OpSchema& schema, const graph::Attributes& attributes,
                                             const v1::Node& node, const std::string& training);

}  // namespace lanista::exporters

#endif  // LANISTA_SRC_EXPORTERS_TORCHSCRIPT_RECURRENT_H_
