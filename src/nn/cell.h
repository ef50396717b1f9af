// A cell: a small graph whose operators and connections are chosen.
#ifndef LANISTA_SRC_NN_CELL_H_
#define LANISTA_SRC_NN_CELL_H_

#include <torch/arg.h>
#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>

#include <cstdint>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "src/nn/any_layer.h"
#include "src/nn/construction.h"
#include "src/nn/input_choice.h"
#include "src/nn/layer_choice.h"

namespace lanista::nn {

// The position of an operator in its cell. Nodes are counted from 0, predecessors first.
struct CellPosition {
  // The node to which the operator belongs.
  int64_t node;
  // The operator's number within the node, from 0.
  int64_t op;
  // The node that the operator reads. It is chosen before the operator is built, so an operator that reads a
  // predecessor may use a stride.
  int64_t input;
};

// Which nodes are concatenated into the cell's output.
enum class MergeOp {
  // All but the predecessors.
  kAll,
  // Nodes that no other node reads.
  kLooseEnd,
};

// Options for Cell. Candidates are given as for LayerChoice; their factories take a CellPosition or nothing. Candidates
// should keep the shape, because any node may read any earlier one.
struct CellOptions {
  using Candidate = LayerCandidate<const CellPosition&>;
  using Preprocessor = AnyForward<std::vector<torch::Tensor>(std::vector<torch::Tensor>)>;
  using Postprocessor = AnyForward<torch::Tensor(torch::Tensor, std::vector<torch::Tensor>)>;

  CellOptions(std::vector<Candidate> candidates, int64_t num_nodes, Location where = Location::Here())
      : candidates_(std::move(candidates)), num_nodes_(num_nodes), where_(where) {}

  // The operators to choose from.
  TORCH_ARG(std::vector<Candidate>, candidates);
  // Nodes besides the predecessors.
  TORCH_ARG(int64_t, num_nodes);
  // Number of operators in a node; their outputs are summed.
  TORCH_ARG(int64_t, num_ops_per_node) = 1;
  // Number of inputs of the cell.
  TORCH_ARG(int64_t, num_predecessors) = 1;
  TORCH_ARG(MergeOp, merge_op) = MergeOp::kAll;
  // A module or function from the predecessors to as many tensors, which the nodes then read. Default: the predecessors
  // unchanged.
  TORCH_ARG(Preprocessor, preprocessor);
  // A module or function from the merged nodes and the predecessors (as before the preprocessor) to the cell's output.
  // Default: the merged nodes.
  TORCH_ARG(Postprocessor, postprocessor);
  // The dimension along which nodes are merged.
  TORCH_ARG(int64_t, concat_dim) = 1;
  // Cells with the same label share all their choices. Default: automatic.
  TORCH_ARG(std::string, label);
  // Where the cell stands in the source, for messages.
  TORCH_ARG(Location, where);
};

// A cell as in NASNet (Zoph et al. 2018) and DARTS (Liu et al. 2019). A node is the sum of `num_ops_per_node`
// operators; each operator is chosen from the candidates and applied to one earlier node or predecessor, which is
// chosen too. The output is the concatenation of all nodes, or of the loose ends (Radosavovic et al. 2019). The choices
// for operator k of node i are labelled "LABEL/input_i_k" and "LABEL/op_i_k".
//
//   cell = register_module("cell", nn::Cell(nn::CellOptions({
//       {"conv", [] { return torch::nn::Conv2d(torch::nn::Conv2dOptions(32, 32, 3).padding(1)); }},
//       {"pool", [] { return torch::nn::MaxPool2d(torch::nn::MaxPool2dOptions(3).stride(1).padding(1)); }},
//   }, /*num_nodes=*/4).num_predecessors(2).merge_op(nn::MergeOp::kLooseEnd)));
//   auto channels = 32 * cell->output_nodes().size();
//   x = cell->forward({before, x});
class CellImpl : public torch::nn::Module {
 public:
  // Throws SpaceError: num_nodes, num_ops_per_node or num_predecessors below 1 (and see Ask).
  explicit CellImpl(const CellOptions& options);

  // From the predecessors to the cell's output. Throws c10::Error if their number is not num_predecessors.
  torch::Tensor forward(std::vector<torch::Tensor> predecessors);
  // The same for a cell with one predecessor.
  torch::Tensor forward(torch::Tensor predecessor) {
    return forward(std::vector<torch::Tensor>{std::move(predecessor)});
  }

  void pretty_print(std::ostream& stream) const override;

  // The nodes that are merged into the output, ascending.
  const std::vector<int64_t>& output_nodes() const { return output_nodes_; }

 private:
  struct Op {
    int64_t input;
    LayerChoice layer;
  };

  int64_t num_predecessors_;
  int64_t concat_dim_;
  std::string label_;
  CellOptions::Preprocessor preprocessor_;
  CellOptions::Postprocessor postprocessor_;
  // The operators of each node.
  std::vector<std::vector<Op>> nodes_;
  std::vector<int64_t> output_nodes_;
};

TORCH_MODULE(Cell);

}  // namespace lanista::nn

#endif  // LANISTA_SRC_NN_CELL_H_
