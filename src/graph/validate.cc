#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "src/base/status.h"
#include "src/graph/allowed_operators.h"
#include "src/graph/graph.h"

namespace lanista::graph {
namespace {

// Most levels of nesting (cells within cells, choices within choices): deeper graphs are a mistake and would overflow
// the stack.
constexpr int kMaxNesting = 100;

// Most nodes of a cell, and operators of one of its nodes, each of which is a copy of a candidate. The mutator `cell`
// has the same limit.
constexpr int kMaxCellNodes = 1000;

absl::Status Error(const std::string& path, const std::string& what) {
  return absl::InvalidArgumentError(absl::StrCat("node '", path, "': ", what));
}

// Whether an attribute, or an element of it, is an expression.
bool IsOpen(const v1::Operator& op) {
  return std::any_of(op.attr().begin(), op.attr().end(), [](const v1::Attribute& attribute) {
    const v1::Value& value = attribute.value();
    return value.has_expression() || std::any_of(value.list().values().begin(), value.list().values().end(),
                                                 [](const v1::Value& element) { return element.has_expression(); });
  });
}

// Most values of a node that does not say how many it has.
constexpr int kMaxSlots = 10000;

// Most nodes with those of the graphs that cells call: whoever runs or searches a model visits them all.
constexpr int64_t kMaxNodes = 1000000;

class Validator {
 public:
  Validator(const v1::ModelGraph& model, OpLookup find_op) : model_(model), find_op_(find_op) {}

  absl::Status Run() {
    if (model_.version() > 1) {
      return absl::InvalidArgumentError(absl::StrCat("the graph is of version ", model_.version(),
                                                     "; this program reads version 1: use a newer Lanista"));
    }
    if (model_.graphs().empty()) return absl::InvalidArgumentError("the model has no graph");
    for (const v1::Graph& graph : model_.graphs()) {
      if (graph.name().empty()) return absl::InvalidArgumentError("a graph has no name");
      if (!graphs_.emplace(graph.name(), &graph).second) {
        return absl::InvalidArgumentError(absl::StrCat("there are two graphs named '", graph.name(), "'"));
      }
    }
    for (const v1::ValueChoice& choice : model_.value_choices()) LANISTA_RETURN_IF_ERROR(AddValueChoice(choice));
    const std::string& root = model_.root().empty() ? model_.graphs(0).name() : model_.root();
    if (graphs_.count(root) == 0) {
      return absl::InvalidArgumentError(absl::StrCat("root is '", root, "', and there is no graph of that name"));
    }
    LANISTA_RETURN_IF_ERROR(CheckGraph(*graphs_.at(root), "", 0).status());
    // Checks graphs that no node calls too: a mutator may use them.
    for (const v1::Graph& graph : model_.graphs()) {
      LANISTA_RETURN_IF_ERROR(CheckGraph(graph, graph.name(), 0).status());
    }
    for (const v1::Graph& graph : model_.graphs()) {
      if (CountNodes(graph) <= kMaxNodes) continue;
      return absl::InvalidArgumentError(absl::StrCat("graph '", graph.name(), "' has more than ", kMaxNodes,
                                                     " nodes, with those of the graphs that its cells call"));
    }
    return absl::OkStatus();
  }

 private:
  // The nodes of a graph and of those that it calls, as often as it calls them; not much more than kMaxNodes.
  // REQUIRES: CheckGraph was OK.
  int64_t CountNodes(const v1::Graph& graph) {
    if (const auto known = counts_.find(graph.name()); known != counts_.end()) return known->second;
    const int64_t count = CountNodes(graph.nodes());
    counts_[graph.name()] = count;
    return count;
  }

  int64_t CountNodes(const google::protobuf::RepeatedPtrField<v1::Node>& nodes) {
    int64_t count = 0;
    for (const v1::Node& node : nodes) {
      ++count;
      if (node.has_cell()) count += CountNodes(*graphs_.at(node.cell().graph()));
      if (node.has_training_switch()) {
        count += CountNodes(*graphs_.at(node.training_switch().training()));
        count += CountNodes(*graphs_.at(node.training_switch().evaluation()));
      }
      count += CountNodes(node.layer_choice().candidates()) + CountNodes(node.repeat().blocks()) +
               CountNodes(node.nas_cell().op_candidates());
      if (count > kMaxNodes) return kMaxNodes + 1;
    }
    return count;
  }

  // Returns how deeply graphs are nested in this one. Each graph is checked once, with the path of its first caller.
  absl::StatusOr<int> CheckGraph(const v1::Graph& graph, const std::string& prefix, int depth) {
    if (depth > kMaxNesting) {
      return absl::InvalidArgumentError(
          absl::StrCat("graph '", graph.name(), "' is nested in more than ", kMaxNesting, " others"));
    }
    const auto [entry, is_new] = heights_.emplace(graph.name(), std::nullopt);
    if (!is_new) {
      if (!entry->second.has_value()) {
        return absl::InvalidArgumentError(
            absl::StrCat("graph '", graph.name(), "' calls itself, directly or by way of others (at '", prefix, "')"));
      }
      if (depth + *entry->second > kMaxNesting) {
        return absl::InvalidArgumentError(
            absl::StrCat("graph '", graph.name(), "' is nested too deeply (at '", prefix, "')"));
      }
      return *entry->second;
    }

    std::unordered_map<std::string, const v1::Node*> nodes;
    std::unordered_set<std::string> ports;
    for (const v1::Port& port : graph.inputs()) {
      if (port.name().empty() || !ports.insert(port.name()).second) {
        return absl::InvalidArgumentError(
            absl::StrCat("graph '", graph.name(), "': an input's name must be its own ('", port.name(), "' is not)"));
      }
    }
    for (const v1::Node& node : graph.nodes()) {
      if (node.name().empty())
        return absl::InvalidArgumentError(absl::StrCat("graph '", graph.name(), "': a node has no name"));
      if (ports.count(node.name()) > 0 || !nodes.emplace(node.name(), &node).second) {
        return Error(JoinPath(prefix, node.name()), "the name is there already");
      }
    }
    const auto check_edge = [&](const std::string& reader, const v1::Edge& edge) -> absl::Status {
      const auto found = nodes.find(edge.node());
      if (found == nodes.end() && ports.count(edge.node()) == 0) {
        return Error(reader, absl::StrCat("reads from '", edge.node(), "', and graph '", graph.name(),
                                          "' has no node or input of that name"));
      }
      const int slots = found == nodes.end() ? 1 : NumOutputs(*found->second);
      const int most = slots >= 0 ? slots : kMaxSlots;
      if (edge.slot() < 0 || edge.slot() >= most) {
        return Error(reader, absl::StrCat("reads slot ", edge.slot(), " of '", edge.node(), "', which has ",
                                          slots >= 0 ? "" : "at most ", most));
      }
      return absl::OkStatus();
    };

    int height = 0;
    for (const v1::Node& node : graph.nodes()) {
      const std::string path = JoinPath(prefix, ModuleOf(node));
      for (const v1::Edge& edge : node.inputs()) {
        LANISTA_RETURN_IF_ERROR(check_edge(JoinPath(prefix, node.name()), edge));
      }
      LANISTA_ASSIGN_OR_RETURN(const int inner, CheckNode(node, path, prefix, node.inputs_size(), depth));
      height = std::max(height, inner);
      if (node.module().empty() || node.module() == node.name()) continue;
      // All calls of one module must be alike.
      const auto first = nodes.find(node.module());
      if (first != nodes.end() && first->second->kind_case() != node.kind_case()) {
        return Error(JoinPath(prefix, node.name()),
                     absl::StrCat("calls module '", node.module(), "', and that node does something else"));
      }
    }
    for (const v1::Edge& edge : graph.outputs()) {
      LANISTA_RETURN_IF_ERROR(check_edge(prefix.empty() ? "output" : prefix + " (output)", edge));
    }
    if (absl::StatusOr<std::vector<int>> order = ExecutionOrder(graph); !order.ok()) return order.status();
    heights_[graph.name()] = height;
    return height;
  }

  // `arity`: how many inputs it gets. Returns how deeply graphs are nested below it.
  absl::StatusOr<int> CheckNode(const v1::Node& node, const std::string& path, const std::string& prefix, int arity,
                                int depth) {
    if (depth > kMaxNesting) return Error(path, absl::StrCat("is nested in more than ", kMaxNesting, " others"));
    if (node.has_weights()) LANISTA_RETURN_IF_ERROR(CheckArchive(path, node.weights().archive()));
    switch (node.kind_case()) {
      case v1::Node::kOp:
        LANISTA_RETURN_IF_ERROR(CheckOperator(node, path, arity));
        return 0;
      case v1::Node::kCell: {
        LANISTA_ASSIGN_OR_RETURN(const v1::Graph* const graph, Called(path, node.cell().graph(), arity));
        LANISTA_ASSIGN_OR_RETURN(const int inner, CheckGraph(*graph, path, depth + 1));
        return inner + 1;
      }
      case v1::Node::kOpaque:
        LANISTA_RETURN_IF_ERROR(CheckArchive(path, node.opaque().archive()));
        return 0;
      case v1::Node::kTrainingSwitch: {
        const v1::TrainingSwitch& both = node.training_switch();
        LANISTA_ASSIGN_OR_RETURN(const v1::Graph* const training, Called(path, both.training(), arity));
        LANISTA_ASSIGN_OR_RETURN(const v1::Graph* const evaluation, Called(path, both.evaluation(), arity));
        if (training->outputs_size() != evaluation->outputs_size()) {
          return Error(path, absl::StrCat("its two graphs return ", training->outputs_size(), " and ",
                                          evaluation->outputs_size(), " values"));
        }
        LANISTA_ASSIGN_OR_RETURN(const int a, CheckGraph(*training, prefix, depth + 1));
        LANISTA_ASSIGN_OR_RETURN(const int b, CheckGraph(*evaluation, prefix, depth + 1));
        return std::max(a, b) + 1;
      }
      case v1::Node::kLayerChoice:
        return CheckLayerChoice(node.layer_choice(), path, arity, depth);
      case v1::Node::kInputChoice: {
        const v1::InputChoiceNode& choice = node.input_choice();
        if (arity == 0) return Error(path, "an input choice needs inputs to choose from");
        const int n_chosen = std::max(1, choice.n_chosen());
        if (choice.n_chosen() < 0 || n_chosen > arity) {
          return Error(path, absl::StrCat("n_chosen is ", choice.n_chosen(), "; there are ", arity, " inputs"));
        }
        LANISTA_RETURN_IF_ERROR(
            AddLabel(path, choice.label(), absl::StrCat("input choice of ", n_chosen, " of ", arity)));
        return 0;
      }
      case v1::Node::kRepeat: {
        const v1::RepeatNode& repeat = node.repeat();
        if (arity != 1) return Error(path, absl::StrCat("a repeat has one input, not ", arity));
        if (repeat.depths().empty()) return Error(path, "a repeat needs depths to choose from");
        int previous = -1;
        for (const int one : repeat.depths()) {
          if (one <= previous) return Error(path, "depths must be ascending, from 0 on");
          previous = one;
        }
        if (previous != repeat.blocks_size()) {
          return Error(path, absl::StrCat("the largest depth is ", previous, ", and there are ", repeat.blocks_size(),
                                          " blocks"));
        }
        LANISTA_RETURN_IF_ERROR(
            AddLabel(path, repeat.label(), absl::StrCat("repeat of depths ", absl::StrJoin(repeat.depths(), ", "))));
        return CheckInner(repeat.blocks(), path, 1, depth);
      }
      case v1::Node::kNasCell: {
        const v1::NasCellNode& cell = node.nas_cell();
        if (cell.num_nodes() < 1 || cell.num_ops_per_node() < 1 || cell.num_predecessors() < 1) {
          return Error(path, "num_nodes, num_ops_per_node and num_predecessors of a cell must be at least 1");
        }
        if (cell.num_nodes() > kMaxCellNodes || cell.num_ops_per_node() > kMaxCellNodes) {
          return Error(path, absl::StrCat("num_nodes and num_ops_per_node of a cell must be at most ", kMaxCellNodes));
        }
        if (cell.num_predecessors() != arity) {
          return Error(
              path, absl::StrCat("num_predecessors is ", cell.num_predecessors(), ", and it has ", arity, " inputs"));
        }
        if (cell.op_candidates().empty()) return Error(path, "a cell needs operators to choose from");
        LANISTA_RETURN_IF_ERROR(AddLabel(path, cell.label(), absl::StrCat("cell of ", cell.num_nodes(), " nodes")));
        return CheckInner(cell.op_candidates(), path, 1, depth);
      }
      case v1::Node::KIND_NOT_SET:
        break;
    }
    return Error(path, "does nothing: set op, cell, opaque or a choice");
  }

  absl::StatusOr<int> CheckLayerChoice(const v1::LayerChoiceNode& choice, const std::string& path, int arity,
                                       int depth) {
    if (choice.candidates().empty()) return Error(path, "a layer choice needs at least one candidate");
    if (choice.decided_by().empty()) {
      std::vector<std::string> names;
      for (const v1::Node& candidate : choice.candidates()) names.push_back(candidate.name());
      LANISTA_RETURN_IF_ERROR(
          AddLabel(path, choice.label(), absl::StrCat("layer choice between ", absl::StrJoin(names, ", "))));
    } else {
      LANISTA_RETURN_IF_ERROR(CheckDecidedBy(choice, path));
    }
    return CheckInner(choice.candidates(), path, arity, depth);
  }

  absl::Status CheckDecidedBy(const v1::LayerChoiceNode& choice, const std::string& path) const {
    if (!choice.label().empty()) return Error(path, "a layer choice has either a label or `decided_by`");
    int64_t combinations = 1;
    for (const std::string& label : choice.decided_by()) {
      const auto found = value_choices_.find(label);
      if (found == value_choices_.end()) {
        return Error(path, absl::StrCat("is decided by '", label, "', and there is no value choice of that label"));
      }
      combinations *= found->second;
      if (combinations > choice.candidates_size()) break;
    }
    if (combinations == choice.candidates_size()) return absl::OkStatus();
    return Error(path,
                 absl::StrCat("has ", choice.candidates_size(), " candidates, and not one for each combination of ",
                              absl::StrJoin(choice.decided_by(), ", ")));
  }

  absl::StatusOr<int> CheckInner(const google::protobuf::RepeatedPtrField<v1::Node>& inner, const std::string& path,
                                 int arity, int depth) {
    std::set<std::string> names;
    int height = 0;
    for (const v1::Node& node : inner) {
      const std::string inner_path = JoinPath(path, node.name());
      if (node.name().empty() || !names.insert(node.name()).second) {
        return Error(inner_path, "candidates and blocks need names of their own");
      }
      if (!node.inputs().empty()) return Error(inner_path, "takes the inputs of the choice: it must not have its own");
      LANISTA_ASSIGN_OR_RETURN(const int below, CheckNode(node, inner_path, inner_path, arity, depth + 1));
      height = std::max(height, below + 1);
    }
    return height;
  }

  absl::Status CheckOperator(const v1::Node& node, const std::string& path, int arity) {
    const v1::Operator& op = node.op();
    const OpSchema* const schema = find_op_(op.type());
    std::set<std::string> keys;
    for (const v1::Attribute& attribute : op.attr()) {
      if (!keys.insert(attribute.key()).second) {
        return Error(path, absl::StrCat("attribute '", attribute.key(), "' is there twice"));
      }
      LANISTA_RETURN_IF_ERROR(CheckExpressions(attribute.value(), path, attribute.key(), 0));
    }
    if (schema == nullptr) {
      if (op.type().find("::") == std::string::npos) {
        return Error(path, absl::StrCat("there is no operator '", op.type(), "'"));
      }
      const absl::Status allowed = CheckOperatorAllowed(op.type());
      return allowed.ok() ? allowed : Error(path, std::string(allowed.message()));
    }
    if (const absl::Status status = schema->CheckAttributes(op); !status.ok()) {
      return Error(path, std::string(status.message()));
    }
    if (arity < schema->min_inputs() || (schema->max_inputs() >= 0 && arity > schema->max_inputs())) {
      const std::string wanted = schema->max_inputs() == schema->min_inputs()
                                     ? absl::StrCat(schema->min_inputs())
                                     : absl::StrCat(schema->min_inputs(), " to ", schema->max_inputs());
      return Error(path, absl::StrCat(op.type(), " takes ", wanted, " inputs, not ", arity));
    }
    return absl::OkStatus();
  }

  absl::Status CheckExpressions(const v1::Value& value, const std::string& path, const std::string& key, int depth) {
    if (depth > kMaxNesting) return Error(path, absl::StrCat("attribute '", key, "' is nested too deeply"));
    for (const v1::Value& element : value.list().values()) {
      LANISTA_RETURN_IF_ERROR(CheckExpressions(element, path, key, depth + 1));
    }
    return value.has_expression() ? CheckExpression(value.expression(), path, key, depth) : absl::OkStatus();
  }

  absl::Status CheckExpression(const v1::Expression& expression, const std::string& path, const std::string& key,
                               int depth) {
    if (depth > kMaxNesting) return Error(path, absl::StrCat("attribute '", key, "' is nested too deeply"));
    switch (expression.kind_case()) {
      case v1::Expression::kChoice:
        if (value_choices_.count(expression.choice()) > 0) return absl::OkStatus();
        return Error(path, absl::StrCat("attribute '", key, "' follows the choice '", expression.choice(),
                                        "', which is none of the model's value_choices"));
      case v1::Expression::kLiteral:
        return absl::OkStatus();
      case v1::Expression::kOperation:
        if (expression.operation().operands().empty()) {
          return Error(path, absl::StrCat("attribute '", key, "': an operation without operands"));
        }
        for (const v1::Expression& operand : expression.operation().operands()) {
          LANISTA_RETURN_IF_ERROR(CheckExpression(operand, path, key, depth + 1));
        }
        return absl::OkStatus();
      default:
        return Error(path, absl::StrCat("attribute '", key, "': an empty expression"));
    }
  }

  absl::StatusOr<const v1::Graph*> Called(const std::string& path, const std::string& name, int arity) const {
    const auto found = graphs_.find(name);
    if (found == graphs_.end()) return Error(path, absl::StrCat("calls graph '", name, "', which is not there"));
    if (found->second->inputs_size() != arity) {
      return Error(path,
                   absl::StrCat("graph '", name, "' takes ", found->second->inputs_size(), " inputs, not ", arity));
    }
    return found->second;
  }

  absl::Status CheckArchive(const std::string& path, int archive) const {
    if (archive >= 0 && archive < model_.archives_size()) return absl::OkStatus();
    return Error(path, absl::StrCat("refers to archive ", archive, " of ", model_.archives_size()));
  }

  absl::Status AddValueChoice(const v1::ValueChoice& choice) {
    if (choice.candidates().empty()) {
      return absl::InvalidArgumentError(absl::StrCat("value choice '", choice.label(), "' has no candidates"));
    }
    std::string candidates;
    for (const v1::Value& candidate : choice.candidates()) candidates += candidate.SerializeAsString() + "|";
    value_choices_.emplace(choice.label(), choice.candidates_size());
    return AddLabel("value_choices", choice.label(), "value choice " + candidates);
  }

  // The same label must mean the same choice.
  absl::Status AddLabel(const std::string& path, const std::string& label, const std::string& choice) {
    if (label.empty()) return Error(path, "a choice needs a label");
    const auto [entry, is_new] = labels_.emplace(label, std::make_pair(path, choice));
    if (is_new || entry->second.second == choice) return absl::OkStatus();
    return Error(path, absl::StrCat("the label '", label, "' is another choice at '", entry->second.first, "'"));
  }

  // -1: unknown.
  int NumOutputs(const v1::Node& node) const {
    switch (node.kind_case()) {
      case v1::Node::kOp: {
        const OpSchema* const schema = find_op_(node.op().type());
        if (schema == nullptr || IsOpen(node.op()) || !schema->CheckAttributes(node.op()).ok()) return -1;
        return schema->NumOutputs(Attributes(*schema, node.op()));
      }
      case v1::Node::kCell: {
        const auto found = graphs_.find(node.cell().graph());
        return found == graphs_.end() ? -1 : found->second->outputs_size();
      }
      case v1::Node::kTrainingSwitch: {
        const auto found = graphs_.find(node.training_switch().training());
        return found == graphs_.end() ? -1 : found->second->outputs_size();
      }
      case v1::Node::kOpaque:
      case v1::Node::kLayerChoice:
        return -1;
      default:
        return 1;
    }
  }

  const v1::ModelGraph& model_;
  const OpLookup find_op_;
  std::unordered_map<std::string, const v1::Graph*> graphs_;
  // How deeply graphs are nested in a graph; nullopt while it is being checked.
  std::unordered_map<std::string, std::optional<int>> heights_;
  std::unordered_map<std::string, int64_t> counts_;
  // Label -> number of candidates.
  std::map<std::string, int> value_choices_;
  // Label -> the place of its first use, and the choice as text.
  std::map<std::string, std::pair<std::string, std::string>> labels_;
};

}  // namespace

absl::Status Validate(const v1::ModelGraph& model, OpLookup find_op) { return Validator(model, find_op).Run(); }

}  // namespace lanista::graph
