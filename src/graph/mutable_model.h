// A graph that can be changed: the interface for mutators and for the importers of primitives.
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

// A place in a model: a node, in a graph that no other cell calls. A graph that several cells call is copied before one
// of its nodes is changed, so that a change at "layer1.0.conv1" leaves "layer1.1.conv1" alone.
struct NodeHandle {
  // The graph of the node.
  v1::Graph* graph = nullptr;
  // May be changed in place, as long as the model stays well formed: other functions check that.
  v1::Node* node = nullptr;
  // "layer1.0.conv1".
  std::string path;
};

// Handles and pointers stay valid until a node is inserted into, or removed from, the same graph. Used by one thread.
class MutableModel {
 public:
  // `find_op` gives the schemas of operators, which say what attributes they have.
  MutableModel(v1::ModelGraph model, OpLookup find_op);

  // The model as it is now.
  const v1::ModelGraph& model() const { return model_; }
  // For changes that no function here makes.
  v1::ModelGraph& mutable_model() { return model_; }
  // Hands the model over, at the end.
  v1::ModelGraph Release() && { return std::move(model_); }

  // The nodes whose module has this path ("layer1.0.conv1"; several if the module is called more than once). `*` stands
  // for any one component ("layer1.*.conv1"), `**` for any number of them. NOT_FOUND lists similar names.
  absl::StatusOr<std::vector<NodeHandle>> Find(const std::string& path);
  // All nodes of an operator type ("Conv2d"), of an opaque module's type, or of a cell's class (ClassOf its graph). May
  // be empty.
  std::vector<NodeHandle> FindType(absl::string_view type);

  // Sets an attribute of an operator. INVALID_ARGUMENT: the node is no operator, or it has no such attribute (the error
  // lists them).
  absl::Status SetAttribute(const NodeHandle& at, const std::string& name, v1::Value value);
  // The value of an attribute: as set, else its default. Errors as SetAttribute's.
  absl::StatusOr<v1::Value> GetAttribute(const NodeHandle& at, const std::string& name) const;

  // Replaces what the node does: takes `kind`, the weights and `frozen` of `replacement`; keeps name, module and
  // inputs.
  absl::Status Replace(const NodeHandle& at, const v1::Node& replacement);
  // Inserts `node` (without inputs) between output 0 of `at` and all its readers. The node's name must be free in the
  // graph.
  absl::Status InsertAfter(const NodeHandle& at, v1::Node node);
  // Inserts `node` (without inputs) before input `index` of `at`. INVALID_ARGUMENT: there is no such input.
  absl::Status InsertBefore(const NodeHandle& at, v1::Node node, int index = 0);
  // Adds `node`, which has its inputs, before `at` in the graph's list. A node that changes a value in place has no
  // edge to those that read the value before or afterwards: they run in the list's order. Handles stay valid.
  static void AddBefore(const NodeHandle& at, v1::Node node);
  // Removes the node; readers of its output 0 read its input 0 instead. INVALID_ARGUMENT: it has no inputs, or other
  // outputs of it are read.
  absl::Status Remove(const NodeHandle& at);
  // Makes `source` the input `index` of `at`. INVALID_ARGUMENT: there is no such input.
  absl::Status Rewire(const NodeHandle& at, int index, v1::Edge source);

  // A name that no node or input of the graph has: `wish`, or `wish` with a number.
  std::string FreeName(const v1::Graph& graph, const std::string& wish) const;
  // Adds a graph; its name is made unique. Returns the name.
  std::string AddGraph(v1::Graph graph);
  // Adds an archive, or finds it: a file with other content (sha256) is another archive. Returns its index.
  int AddArchive(const v1::Archive& archive);
  // Adds graphs, archives and value choices of another model. Returns a node, without a name, that runs that model.
  v1::Node AddModel(const v1::ModelGraph& added);

 private:
  using NodePredicate = std::function<bool(const std::string& path, const v1::Node& node)>;

  // Handles of all nodes that match, each in a graph that no other cell calls.
  std::vector<NodeHandle> Select(const NodePredicate& matches);
  // The graph that one node calls by the name `called`; copied first if other nodes call it too.
  v1::Graph* OwnGraph(std::string* called);
  // Where `at` stands in its graph's list; behind its end if it is a candidate.
  static int PlaceOf(const NodeHandle& at);
  // Adds a node to the graph's list, at `place`.
  static void AddAt(v1::Graph* graph, int place, v1::Node node);
  // OK if `at` has an input of this number.
  static absl::Status CheckInput(const NodeHandle& at, int index);
  // OK if `node` may be inserted next to `at`.
  absl::Status CheckNew(const NodeHandle& at, const v1::Node& node) const;

  v1::ModelGraph model_;
  OpLookup find_op_;
};

}  // namespace lanista::graph

#endif  // LANISTA_SRC_GRAPH_MUTABLE_MODEL_H_
