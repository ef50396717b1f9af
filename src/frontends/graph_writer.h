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

// Values of a graph around this one that a node reads become inputs of it.
class GraphWriter {
 public:
  // What a node does besides its outputs.
  enum class Effect {
    kNone,  // Where nobody reads them, it goes.
    kSome,  // It writes into its inputs, draws random numbers, asserts.
  };

  // `reserved`: names that nodes may only have as modules of these names.
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

  // How the graph reads `value`: an edge of its own, a new input for one from around, a node for a constant. Throws
  // Unsupported for a constant that no node can give.
  v1::Edge Read(const AbstractValue& value, const std::string& arg = "");

  // Makes an edge of any value: constants and sequences get nodes.
  AbstractValue ToEdge(const AbstractValue& value);

  // Removes nodes that nobody reads, and inputs for what they read. No more nodes afterwards.
  void Finish();

  // What is read from around, in the order of their inputs, which come after those of AddInput.
  const std::vector<AbstractValue>& captured() const { return captured_; }
  // Lets the inputs be just these, in this order: a superset of captured().
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
  // Our input for a value from around.
  std::map<EdgeKey, std::string> inputs_of_;
  // Nodes that may go.
  std::set<std::string> pure_;
  // Constant tensors that have a node.
  std::vector<std::pair<at::Tensor, AbstractValue>> constants_;
};

}  // namespace lanista::frontends

#endif  // LANISTA_SRC_FRONTENDS_GRAPH_WRITER_H_
