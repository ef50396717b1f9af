// A graph that can be changed: what mutators and the importers of primitives work on.
#ifndef LANISTA_SRC_GRAPH_MUTABLE_MODEL_H_
#define LANISTA_SRC_GRAPH_MUTABLE_MODEL_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "protos/graph.pb.h"
#include "src/graph/op_schema.h"

namespace lanista::graph {

// A place in a model: a node, in a graph of its own. A graph that several cells call is copied before one of its nodes
// is changed, so that a change at "layer1.0.conv1" leaves "layer1.1.conv1" alone.
struct NodeHandle {
  v1::Graph* graph = nullptr;
  v1::Node* node = nullptr;
  std::string path;
};

// Handles and pointers stay good until a node is inserted into, or removed from, the same graph. Used by one thread.
class MutableModel {
 public:
  MutableModel(v1::ModelGraph model, OpLookup find_op);

  const v1::ModelGraph& model() const { return model_; }
  v1::ModelGraph& mutable_model() { return model_; }
  v1::ModelGraph Release() && { return std::move(model_); }

  // The nodes whose module has this path ("layer1.0.conv1"; several where the module is called more than once). `*`
  // stands for any one component ("layer1.*.conv1"), `**` for any number. NOT_FOUND lists near names.
  absl::StatusOr<std::vector<NodeHandle>> Find(const std::string& path);
  // All nodes of an operator type ("Conv2d"), perhaps none; also of a cell's graph name (its class).
  std::vector<NodeHandle> FindType(absl::string_view type);

  // Sets an attribute of an operator. INVALID_ARGUMENT: no operator, or it has no such attribute (lists them).
  absl::Status SetAttribute(const NodeHandle& at, const std::string& name, v1::Value value);
  // What an attribute is, its default included.
  absl::StatusOr<v1::Value> GetAttribute(const NodeHandle& at, const std::string& name) const;

  // Replaces what the node does; name, module and inputs stay. Takes `kind` of `replacement`, its weights and `frozen`.
  absl::Status Replace(const NodeHandle& at, const v1::Node& replacement);
  // Puts `node` (without inputs) between output 0 of `at` and all who read it. Its name must be free in the graph.
  absl::Status InsertAfter(const NodeHandle& at, v1::Node node);
  // Puts `node` (without inputs) before input `index` of `at`.
  absl::Status InsertBefore(const NodeHandle& at, v1::Node node, int index = 0);
  // Removes the node: who read its output 0 reads its input 0. INVALID_ARGUMENT: no inputs, or other slots are read.
  absl::Status Remove(const NodeHandle& at);
  // Lets input `index` of `at` come from `source`.
  absl::Status Rewire(const NodeHandle& at, int index, v1::Edge source);

  // A name that no node or input of the graph has: `wish`, or `wish` with a number.
  std::string FreeName(const v1::Graph& graph, const std::string& wish) const;
  // Adds a graph; its name is made unique. Returns the name.
  std::string AddGraph(v1::Graph graph);
  // Adds an archive, or finds it: a file of another content (sha256) is another archive. Returns its index.
  int AddArchive(const v1::Archive& archive);
  // Adds all of another model: graphs, archives and value choices. Returns a node, without a name, that runs it.
  v1::Node AddModel(const v1::ModelGraph& added);

 private:
  using NodePredicate = std::function<bool(const std::string& path, const v1::Node& node)>;

  // Handles of all nodes that match, in graphs of their own.
  std::vector<NodeHandle> Select(const NodePredicate& matches);
  // The graph that one node calls by the name `called`: copied, if others call it too.
  v1::Graph* OwnGraph(std::string* called);
  // OK if `node` may stand beside `at`.
  absl::Status CheckNew(const NodeHandle& at, const v1::Node& node) const;

  v1::ModelGraph model_;
  OpLookup find_op_;
};

}  // namespace lanista::graph

#endif  // LANISTA_SRC_GRAPH_MUTABLE_MODEL_H_
