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

// Where an operator stands in its cell. Nodes count from 0, predecessors first.
struct CellPosition {
  // The node that the operator belongs to.
  int64_t node;
  // Which of the node's operators it is, from 0.
  int64_t op;
  // The node that it reads: known before the operator is built, so that one which reads a predecessor may stride.
  int64_t input;
};

// Which nodes make the cell's output.
enum class MergeOp {
  // All but the predecessors.
  kAll,
  // Those that no other node reads.
  kLooseEnd,
};

// Options for Cell. Candidates are as LayerChoice's; their factories take a CellPosition or nothing, and should keep
// the shape, since any node may read any earlier one.
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
  // Operators whose sum is a node.
  TORCH_ARG(int64_t, num_ops_per_node) = 1;
  // Inputs of the cell.
  TORCH_ARG(int64_t, num_predecessors) = 1;
  TORCH_ARG(MergeOp, merge_op) = MergeOp::kAll;
  // A module or function from the predecessors to as many tensors, which the nodes then read. Default: none.
  TORCH_ARG(Preprocessor, preprocessor);
  // A module or function from the merged nodes and the predecessors (before the preprocessor) to the cell's output.
  // Default: the merged nodes.
  TORCH_ARG(Postprocessor, postprocessor);
  // Along which nodes are merged.
  TORCH_ARG(int64_t, concat_dim) = 1;
  // Cells of one label share all their choices. Default: automatic.
  TORCH_ARG(std::string, label);
  // Where the cell stands in the source, for messages.
  TORCH_ARG(Location, where);
};

// A cell as in NASNet (Zoph et al. 2018) and DARTS (Liu et al. 2019): a node is the sum of `num_ops_per_node`
// operators, each chosen from the candidates, each applied to one earlier node or predecessor, chosen too. The output
// is the concatenation of all nodes, or of the loose ends (Radosavovic et al. 2019). The choices of the operator k of
// node i are labelled "LABEL/input_i_k" and "LABEL/op_i_k".
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

  // The predecessors to the cell's output. Throws c10::Error if there are not num_predecessors of them.
  torch::Tensor forward(std::vector<torch::Tensor> predecessors);
  // A cell with one predecessor.
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
