// The modules of one graph, as a tree of attributes: what a class that runs the graph must own.
#ifndef LANISTA_SRC_EXPORTERS_COMMON_MODULE_TREE_H_
#define LANISTA_SRC_EXPORTERS_COMMON_MODULE_TREE_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "protos/graph.pb.h"
#include "src/exporters/common/source_model.h"

namespace lanista::exporters {

// A node of the tree. The graph node "layer1.0.conv1" makes three: "layer1" and "0", which only hold others, and
// "conv1".
struct ModuleSlot {
  std::string name;
  // The path within the graph: "layer1.0.conv1". Empty for the tree's root.
  std::string path;
  // The first node that calls the module; nullptr: the module only holds others.
  const v1::Node* node = nullptr;
  // In the order of their first calls.
  std::vector<std::unique_ptr<ModuleSlot>> children;

  // Whether the children are "0", "1", "2", ...
  bool IsList() const;
};

// Whether the node is one of Lanista's own operators (src/graph/built_in.h), which each exporter writes itself.
bool IsBuiltIn(const v1::Node& node);

// Whether the node is a literal in the code: a Constant, or TorchScript's prim::Constant, which is never a tensor.
bool IsConstant(const v1::Node& node);
// The node's value; "none" if there is no attribute. REQUIRES: IsConstant(node).
const v1::Value& ConstantOf(const v1::Node& node);

// Whether the class must own something for the node: a torch.nn module, a parameter, a constant tensor, a cell, an
// opaque module.
bool OwnsModule(const v1::Node& node);

// The tree of `graph`, including the graphs of its training switches. REQUIRES: graph::Validate is OK.
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

// Number of outputs of the node.
int NumOutputs(const SourceModel& model, const v1::Node& node);

// Whether the graph is a chain of modules named "0", "1", ..., each with one input and one output, like
// torch.nn.Sequential.
bool IsSequential(const SourceModel& model, const v1::Graph& graph);

}  // namespace lanista::exporters

#endif  // LANISTA_SRC_EXPORTERS_COMMON_MODULE_TREE_H_
