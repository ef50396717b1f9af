// Writes one graph, node by node.
#ifndef LANISTA_SRC_FRONTENDS_GRAPH_WRITER_H_
#define LANISTA_SRC_FRONTENDS_GRAPH_WRITER_H_

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "protos/graph.pb.h"
#include "src/frontends/abstract_value.h"

namespace lanista::frontends {

// If a node reads a value of an enclosing graph, that value becomes an input of this graph.
class GraphWriter {
 public:
  // The effects of a node besides its outputs.
  enum class Effect {
    kNone,  // The node is removed if nothing reads its outputs.
    kSome,  // The node writes into its inputs, draws random numbers or asserts.
  };

  // `reserved`: names of submodules, parameters and buffers. Only a node that stands for one of them gets its name.
  explicit GraphWriter(std::set<std::string> reserved) : reserved_(std::move(reserved)) {}
  GraphWriter(const GraphWriter&) = delete;
  GraphWriter& operator=(const GraphWriter&) = delete;

  const std::set<std::string>& reserved() const { return reserved_; }

  // Adds an input.
  AbstractValue AddInput(const std::string& wish, c10::TypePtr type);

  // Adds a node, whose name is made unique. Returns its name.
  std::string AddNode(v1::Node node, Effect effect);
  // The same for a node whose name is the path of a submodule, parameter or buffer.
  std::string AddModuleNode(v1::Node node, Effect effect);
  // Output `slot` of a node.
  AbstractValue Output(const std::string& node, int slot, c10::TypePtr type);

  // The edge through which this graph reads `value`: of one of its own nodes, of a new input for a value of an
  // enclosing graph, or of a new node for a constant. Throws Unsupported for a constant that no node can give.
  v1::Edge Read(const AbstractValue& value, const std::string& arg = "");

  // Turns any value into an edge: constants and sequences get nodes.
  AbstractValue ToEdge(const AbstractValue& value);

  // Removes nodes without effect whose outputs no node reads, and inputs that only they read. Add no nodes afterwards.
  void Finish();

  // The values that are read from enclosing graphs, in the order of their inputs, which come after those of AddInput.
  const std::vector<AbstractValue>& captured() const { return captured_; }
  // Replaces the captured values, and their inputs, by exactly these, in this order. REQUIRES: `values` contains
  // captured().
  void SetCaptured(const std::vector<AbstractValue>& values);

  v1::Graph& graph() { return graph_; }

 private:
  using EdgeKey = std::pair<const GraphWriter*, std::pair<std::string, int>>;
  static EdgeKey KeyOf(const AbstractValue& value) { return {value.writer, {value.node, value.slot}}; }

  std::string FreeName(const std::string& wish, bool is_module);
  std::string Append(v1::Node node, Effect effect);
  AbstractValue ConstantNode(const AbstractValue& value);
  AbstractValue SequenceNode(const AbstractValue& value);

  v1::Graph graph_;
  std::set<std::string> names_;
  const std::set<std::string> reserved_;
  std::vector<AbstractValue> captured_;
  // The input of this graph for a value of an enclosing graph.
  std::map<EdgeKey, std::string> inputs_of_;
  // Names of nodes without effect: they are removed if no node reads them.
  std::set<std::string> pure_;
  // The nodes that were made for constant tensors.
  std::vector<std::pair<at::Tensor, AbstractValue>> constants_;
};

}  // namespace lanista::frontends

#endif  // LANISTA_SRC_FRONTENDS_GRAPH_WRITER_H_
