// The modules of one graph, as a tree of attributes: what a class that runs the graph must own.
#ifndef LANISTA_SRC_EXPORTERS_MODULE_TREE_H_
#define LANISTA_SRC_EXPORTERS_MODULE_TREE_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "protos/graph.pb.h"
#include "src/exporters/source_model.h"

namespace lanista::exporters {

// A place for a module. The node "layer1.0.conv1" makes three: "layer1" and "0", which only hold others, and "conv1".
struct ModuleSlot {
  std::string name;
  // From the graph on: "layer1.0.conv1". Empty for the tree's root.
  std::string path;
  // The first node that calls it; nullptr: it only holds others.
  const v1::Node* node = nullptr;
  // In the order of their first calls.
  std::vector<std::unique_ptr<ModuleSlot>> children;

  // Whether the children are "0", "1", "2", ...
  bool IsList() const;
};

// Operators that are no torch.nn class nor of aten: they are written by the exporters themselves.
//   Parameter: a tensor of the model, trained or not; its name in the state_dict is its path.
//   Constant: attribute `value`.
//   Training: the training flag of the module that runs the graph.
//   Assert: ends the run unless its input is true; attribute `message`.
bool IsBuiltIn(absl::string_view type);

// A value that stands in the code: a Constant, or TorchScript's prim::Constant, which is none or no tensor.
bool IsConstant(const v1::Node& node);
// Its value: none where there is no attribute. REQUIRES: IsConstant(node).
const v1::Value& ConstantOf(const v1::Node& node);

// Whether the node owns something: an operator with a torch.nn class, a parameter, a constant tensor, a cell, an opaque
// module.
bool OwnsModule(const v1::Node& node);

// The tree of `graph`, the graphs of its training switches included. REQUIRES: graph::Validate is OK.
ModuleSlot ModulesOf(const v1::ModelGraph& model, const v1::Graph& graph);

// prim::ListConstruct, TupleConstruct, ListUnpack and TupleUnpack: they take their arguments in order.
bool IsPrimitive(absl::string_view type);

// An argument of such an operator: the input edge of this index, or a constant.
struct PrimitiveArgument {
  int input = 0;
  const v1::Value* constant = nullptr;
};
// Edges and attributes may be numbered ("0", "1"); edges without a number count in order.
std::vector<PrimitiveArgument> PrimitiveArguments(const v1::Node& node);

// How many values the node gives.
int NumOutputs(const SourceModel& model, const v1::Node& node);

// A chain of modules named "0", "1", ..., each with one input and one output: torch.nn.Sequential.
bool IsSequential(const SourceModel& model, const v1::Graph& graph);

}  // namespace lanista::exporters

#endif  // LANISTA_SRC_EXPORTERS_MODULE_TREE_H_
