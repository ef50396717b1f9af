#include <map>
#include <unordered_map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "src/base/status.h"
#include "src/graph/graph.h"
#include "src/graph/value_types.h"

namespace lanista::graph {
namespace {

using Types = std::vector<v1::ValueType>;

// Limit for models whose cells call each other again and again.
constexpr int64_t kMaxVisits = 10000000;

// What the types of both have in common.
Types Common(const Types& a, const Types& b) {
  Types both;
  for (size_t i = 0; i < a.size() && i < b.size(); ++i) both.push_back(CommonType(a[i], b[i]));
  return both;
}

class TypeInference {
 public:
  TypeInference(v1::ModelGraph* model, OpLookup find_op) : model_(model), find_op_(find_op) {
    for (v1::Graph& graph : *model_->mutable_graphs()) graphs_[graph.name()] = &graph;
  }

  absl::Status Run() {
    v1::Graph& root = *graphs_.at(RootGraph(*model_).name());
    Types inputs;
    int64_t last_number = -1;
    for (const v1::Port& port : root.inputs()) {
      inputs.push_back(port.type());
      NumberDimensions(&inputs.back(), &last_number);
    }
    return InferGraph(&root, inputs, "").status();
  }

 private:
  absl::StatusOr<Types> InferGraph(v1::Graph* graph, const Types& inputs, const std::string& prefix) {
    std::string key = graph->name() + "\n";
    for (const v1::ValueType& type : inputs) key += type.SerializeAsString() + "\n";
    if (const auto known = results_.find(key); known != results_.end()) return known->second;

    const bool first = visited_.emplace(graph->name(), 0).second;
    for (int i = 0; i < graph->inputs_size() && i < static_cast<int>(inputs.size()); ++i) {
      v1::ValueType& type = *graph->mutable_inputs(i)->mutable_type();
      type = first ? ForgetNumbers(inputs[i]) : CommonType(type, ForgetNumbers(inputs[i]));
    }
    // The types of this call; the graph itself keeps what all calls have in common.
    std::unordered_map<std::string, Types> values;
    for (int i = 0; i < graph->inputs_size(); ++i) values[graph->inputs(i).name()] = {inputs[i]};
    LANISTA_ASSIGN_OR_RETURN(const std::vector<int> order, ExecutionOrder(*graph));
    for (const int index : order) {
      if (++visits_ > kMaxVisits) {
        return absl::ResourceExhaustedError("the model's cells call each other more than ten million times");
      }
      v1::Node* const node = graph->mutable_nodes(index);
      const std::string path = JoinPath(prefix, node->name());
      const Types inputs_of_node = ReadEdges(node->inputs(), values);
      LANISTA_ASSIGN_OR_RETURN(Types types, InferNode(node, inputs_of_node, path, prefix));
      if (ChangesList(*node, inputs_of_node)) {
        const v1::Edge& list = node->inputs(0);
        values.at(list.node()).at(list.slot()).clear_items();
      }
      const Types stored(node->outputs().begin(), node->outputs().end());
      Types kept;
      for (const v1::ValueType& type : types) kept.push_back(ForgetNumbers(type));
      if (!first) kept = Common(stored, kept);
      node->clear_outputs();
      for (const v1::ValueType& type : kept) *node->add_outputs() = type;
      values[node->name()] = std::move(types);
    }
    Types outputs = ReadEdges(graph->outputs(), values);
    results_[key] = outputs;
    return outputs;
  }

  static Types ReadEdges(const google::protobuf::RepeatedPtrField<v1::Edge>& edges,
                         const std::unordered_map<std::string, Types>& values) {
    Types types;
    for (const v1::Edge& edge : edges) {
      const Types& source = values.at(edge.node());
      types.push_back(edge.slot() < static_cast<int>(source.size()) ? source[edge.slot()] : v1::ValueType());
    }
    return types;
  }

  absl::StatusOr<Types> InferNode(v1::Node* node, const Types& inputs, const std::string& path,
                                  const std::string& prefix) {
    switch (node->kind_case()) {
      case v1::Node::kOp:
        return InferOperator(*node, inputs, path);
      case v1::Node::kCell:
        return InferGraph(graphs_.at(node->cell().graph()), inputs, path);
      case v1::Node::kTrainingSwitch: {
        LANISTA_ASSIGN_OR_RETURN(const Types training,
                                 InferGraph(graphs_.at(node->training_switch().training()), inputs, prefix));
        LANISTA_ASSIGN_OR_RETURN(const Types evaluation,
                                 InferGraph(graphs_.at(node->training_switch().evaluation()), inputs, prefix));
        return Common(training, evaluation);
      }
      case v1::Node::kLayerChoice:
        return InferAlternatives(node->mutable_layer_choice()->mutable_candidates(), inputs, path);
      case v1::Node::kInputChoice: {
        if (node->input_choice().reduction() == v1::InputChoiceNode::NO_REDUCTION) {
          v1::ValueType list;
          list.set_kind(v1::ValueType::LIST);
          list.add_elements()->set_kind(v1::ValueType::TENSOR);
          return Types{list};
        }
        v1::ValueType common = inputs[0];
        for (const v1::ValueType& input : inputs) common = CommonType(common, input);
        if (node->input_choice().reduction() == v1::InputChoiceNode::CONCAT && common.has_shape() &&
            common.shape().dims_size() > 1) {
          common.mutable_shape()->set_dims(1, -1);
        }
        return Types{common};
      }
      case v1::Node::kRepeat: {
        Types types = inputs, common;
        bool any = false;
        const auto depths = node->repeat().depths();
        for (int depth = 0; depth <= node->repeat().blocks_size(); ++depth) {
          if (depth > 0) {
            const auto next = InferNode(node->mutable_repeat()->mutable_blocks(depth - 1), types, path, path);
            types = next.ok() ? *next : Types{TensorType()};
          }
          bool chosen = false;
          for (const int one : depths) chosen = chosen || one == depth;
          if (!chosen) continue;
          common = any ? Common(common, types) : types;
          any = true;
        }
        return common;
      }
      case v1::Node::kNasCell:
        return Types{TensorType()};
      default:
        return KindsOf(*node);
    }
  }

  absl::StatusOr<Types> InferOperator(const v1::Node& node, const Types& inputs, const std::string& path) {
    const OpSchema* const schema = find_op_(node.op().type());
    bool open = false;
    for (const v1::Attribute& attribute : node.op().attr()) {
      open = open || attribute.value().has_expression();
      for (const v1::Value& element : attribute.value().list().values()) open = open || element.has_expression();
    }
    if (open) return KindsOf(node);
    if (auto types = PrimitiveTypes(node, inputs); types.has_value()) return *std::move(types);
    if (schema == nullptr) return KindsOf(node);
    absl::StatusOr<Types> types = InferOutputs(*schema, {node, Attributes(*schema, node.op()), inputs});
    if (types.ok()) return types;
    return absl::Status(types.status().code(), absl::StrCat("node '", path, "' (", node.op().type(),
                                                            "): ", std::string(types.status().message())));
  }

  // Candidates that do not fit are skipped: choosing one of them reports the error.
  absl::StatusOr<Types> InferAlternatives(google::protobuf::RepeatedPtrField<v1::Node>* candidates, const Types& inputs,
                                          const std::string& path) {
    Types common;
    bool any = false;
    for (v1::Node& candidate : *candidates) {
      const auto types = InferNode(&candidate, inputs, JoinPath(path, candidate.name()), path);
      if (!types.ok()) continue;
      common = any ? Common(common, *types) : *types;
      any = true;
    }
    return common;
  }

  v1::ModelGraph* const model_;
  const OpLookup find_op_;
  std::unordered_map<std::string, v1::Graph*> graphs_;
  std::unordered_map<std::string, int> visited_;
  // Keyed by the graph and the types of its inputs.
  std::unordered_map<std::string, Types> results_;
  int64_t visits_ = 0;
};

}  // namespace

absl::Status InferTypes(v1::ModelGraph* model, OpLookup find_op) { return TypeInference(model, find_op).Run(); }

}  // namespace lanista::graph
