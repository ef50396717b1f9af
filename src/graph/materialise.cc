#include "src/graph/materialise.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "src/base/status.h"
#include "src/graph/expression.h"
#include "src/graph/graph.h"

namespace lanista::graph {
namespace {

// A value within the graph that is being decided: node and slot.
using Source = std::pair<std::string, int>;

v1::Edge MakeEdge(const Source& source, const std::string& arg = "") {
  v1::Edge edge;
  edge.set_node(source.first);
  edge.set_slot(source.second);
  edge.set_arg(arg);
  return edge;
}

v1::Node MakeOperator(const std::string& name, const std::string& type) {
  v1::Node node;
  node.set_name(name);
  node.mutable_op()->set_type(type);
  return node;
}

void SetAttribute(v1::Node* node, const std::string& key, v1::Value value) {
  v1::Attribute* const attribute = node->mutable_op()->add_attr();
  attribute->set_key(key);
  *attribute->mutable_value() = std::move(value);
}

class Decider {
 public:
  Decider(v1::ModelGraph* model, Chooser& chooser) : model_(model), chooser_(chooser) {
    for (const v1::ValueChoice& choice : model->value_choices()) value_choices_[choice.label()] = &choice;
  }

  absl::StatusOr<NodeNames> Run() {
    const std::string root = RootGraph(*model_).name();
    LANISTA_RETURN_IF_ERROR(DecideGraph(root, ""));
    auto* const graphs = model_->mutable_graphs();
    graphs->erase(std::remove_if(graphs->begin(), graphs->end(),
                                 [this](const v1::Graph& graph) { return decided_.count(graph.name()) == 0; }),
                  graphs->end());
    model_->set_root(root);
    model_->clear_value_choices();
    return std::move(widths_);
  }

 private:
  absl::Status DecideGraph(const std::string& name, const std::string& prefix) {
    if (!decided_.insert(name).second) return absl::OkStatus();
    v1::Graph* const graph = FindGraph(model_, name);
    LANISTA_ASSIGN_OR_RETURN(const std::vector<int> order, ExecutionOrder(*graph));
    Rewriting rewriting;
    rewriting.graph = name;
    for (const v1::Node& node : graph->nodes()) rewriting.names.insert(node.name());
    for (const v1::Port& port : graph->inputs()) rewriting.names.insert(port.name());
    for (const int index : order) {
      v1::Node node = graph->nodes(index);
      Redirect(rewriting, node.mutable_inputs());
      LANISTA_RETURN_IF_ERROR(DecideNode(std::move(node), prefix, &rewriting));
    }
    Redirect(rewriting, graph->mutable_outputs());
    graph->clear_nodes();
    for (v1::Node& node : rewriting.nodes) *graph->add_nodes() = std::move(node);
    return absl::OkStatus();
  }

  // The new nodes of one graph.
  struct Rewriting {
    std::string graph;
    std::vector<v1::Node> nodes;
    // Nodes that were removed, and the value that replaces their output 0.
    std::unordered_map<std::string, Source> replaced;
    std::set<std::string> names;
  };

  static void Redirect(const Rewriting& rewriting, google::protobuf::RepeatedPtrField<v1::Edge>* edges) {
    for (v1::Edge& edge : *edges) {
      const auto found = rewriting.replaced.find(edge.node());
      if (found == rewriting.replaced.end()) continue;
      edge.set_node(found->second.first);
      edge.set_slot(found->second.second);
    }
  }

  // Adds the decided form of `node`, whose inputs are final.
  absl::Status DecideNode(v1::Node node, const std::string& prefix, Rewriting* rewriting) {
    const std::string path = JoinPath(prefix, ModuleOf(node));
    switch (node.kind_case()) {
      case v1::Node::kOp:
        for (v1::Attribute& attribute : *node.mutable_op()->mutable_attr()) {
          const absl::Status status = Resolve(attribute.mutable_value(), [&](const std::string& label) {
            if (value_choices_.at(label)->propagate()) widths_.emplace(rewriting->graph, node.name());
            return ChosenValue(label);
          });
          if (!status.ok()) {
            return Annotate(status, absl::StrCat("node '", path, "', attribute '", attribute.key(), "'"));
          }
        }
        break;
      case v1::Node::kCell:
        LANISTA_RETURN_IF_ERROR(DecideGraph(node.cell().graph(), path));
        break;
      case v1::Node::kTrainingSwitch:
        LANISTA_RETURN_IF_ERROR(DecideGraph(node.training_switch().training(), prefix));
        LANISTA_RETURN_IF_ERROR(DecideGraph(node.training_switch().evaluation(), prefix));
        break;
      case v1::Node::kLayerChoice: {
        const v1::LayerChoiceNode choice = node.layer_choice();
        v1::Node chosen;
        if (choice.decided_by().empty()) {
          LANISTA_ASSIGN_OR_RETURN(chosen, ChooseLayer(choice.label(), choice.candidates()));
        } else {
          LANISTA_ASSIGN_OR_RETURN(const int index, Combination(choice.decided_by()));
          chosen = choice.candidates(index);
        }
        return DecideNode(InPlaceOf(node, std::move(chosen)), prefix, rewriting);
      }
      case v1::Node::kInputChoice:
        return DecideInputChoice(node, rewriting);
      case v1::Node::kRepeat:
        return DecideRepeat(node, prefix, rewriting);
      case v1::Node::kNasCell:
        return DecideNasCell(node, prefix, rewriting);
      default:
        break;
    }
    rewriting->nodes.push_back(std::move(node));
    return absl::OkStatus();
  }

  // `chosen` with the name, module and inputs of the choice `node`.
  static v1::Node InPlaceOf(const v1::Node& node, v1::Node chosen) {
    chosen.set_name(node.name());
    chosen.set_module(node.module());
    *chosen.mutable_inputs() = node.inputs();
    if (node.frozen()) chosen.set_frozen(true);
    return chosen;
  }

  absl::StatusOr<v1::Node> ChooseLayer(const std::string& label,
                                       const google::protobuf::RepeatedPtrField<v1::Node>& candidates) {
    std::vector<v1::Value> names;
    for (const v1::Node& candidate : candidates) names.push_back(StringValue(candidate.name()));
    LANISTA_ASSIGN_OR_RETURN(const int index, chooser_.ChooseIndex(label, v1::Choice::LAYER_CHOICE, names));
    return candidates.Get(index);
  }

  // The index of these value choices' values among all their combinations.
  absl::StatusOr<int> Combination(const google::protobuf::RepeatedPtrField<std::string>& labels) {
    int combination = 0;
    for (const std::string& label : labels) {
      const auto& candidates = value_choices_.at(label)->candidates();
      LANISTA_ASSIGN_OR_RETURN(const int index, chooser_.ChooseIndex(label, v1::Choice::VALUE_CHOICE,
                                                                     {candidates.begin(), candidates.end()}));
      combination = combination * candidates.size() + index;
    }
    return combination;
  }

  absl::StatusOr<std::vector<int>> ChooseInputs(const std::string& label, int n_candidates, int n_chosen) {
    v1::Choice choice;
    choice.set_label(label);
    choice.set_kind(v1::Choice::INPUT_CHOICE);
    choice.set_n_chosen(n_chosen);
    for (int i = 0; i < n_candidates; ++i) choice.add_candidates()->set_i(i);
    LANISTA_ASSIGN_OR_RETURN(const v1::Decision decision, chooser_.Choose(choice));
    return std::vector<int>(decision.index().begin(), decision.index().end());
  }

  // A name that is free in the graph.
  static std::string FreeName(const std::string& wish, Rewriting* rewriting) {
    std::string name = wish;
    for (int number = 2; !rewriting->names.insert(name).second; ++number) name = absl::StrCat(wish, "_", number);
    return name;
  }

  static Source AddSum(const std::string& name, const std::vector<Source>& terms, Rewriting* rewriting) {
    Source sum = terms[0];
    for (size_t i = 1; i < terms.size(); ++i) {
      v1::Node add = MakeOperator(FreeName(absl::StrCat(name, ".add"), rewriting), "aten::add.Tensor");
      *add.add_inputs() = MakeEdge(sum, "self");
      *add.add_inputs() = MakeEdge(terms[i], "other");
      sum = {add.name(), 0};
      rewriting->nodes.push_back(std::move(add));
    }
    return sum;
  }

  static Source AddConcat(const std::string& name, const std::vector<Source>& parts, int64_t dim,
                          Rewriting* rewriting) {
    if (parts.size() == 1) return parts[0];
    v1::Node cat = MakeOperator(FreeName(absl::StrCat(name, ".cat"), rewriting), "aten::cat");
    for (const Source& part : parts) *cat.add_inputs() = MakeEdge(part, "tensors");
    SetAttribute(&cat, "dim", IntValue(dim));
    rewriting->nodes.push_back(std::move(cat));
    return {rewriting->nodes.back().name(), 0};
  }

  absl::Status DecideInputChoice(const v1::Node& node, Rewriting* rewriting) {
    const v1::InputChoiceNode& choice = node.input_choice();
    LANISTA_ASSIGN_OR_RETURN(const std::vector<int> chosen,
                             ChooseInputs(choice.label(), node.inputs_size(), std::max(1, choice.n_chosen())));
    std::vector<Source> sources;
    for (const int index : chosen) sources.emplace_back(node.inputs(index).node(), node.inputs(index).slot());
    Source result;
    switch (choice.reduction()) {
      case v1::InputChoiceNode::CONCAT:
        result = AddConcat(node.name(), sources, 1, rewriting);
        break;
      case v1::InputChoiceNode::NO_REDUCTION: {
        v1::Node list = MakeOperator(FreeName(node.name() + ".list", rewriting), "prim::ListConstruct");
        for (size_t i = 0; i < sources.size(); ++i) *list.add_inputs() = MakeEdge(sources[i], absl::StrCat(i));
        result = {list.name(), 0};
        rewriting->nodes.push_back(std::move(list));
        break;
      }
      default:
        result = AddSum(node.name(), sources, rewriting);
        break;
    }
    if (choice.reduction() == v1::InputChoiceNode::MEAN && sources.size() > 1) {
      v1::Node mean = MakeOperator(FreeName(node.name() + ".mean", rewriting), "aten::div.Scalar");
      *mean.add_inputs() = MakeEdge(result, "self");
      SetAttribute(&mean, "other", IntValue(static_cast<int64_t>(sources.size())));
      result = {mean.name(), 0};
      rewriting->nodes.push_back(std::move(mean));
    }
    rewriting->replaced[node.name()] = result;
    return absl::OkStatus();
  }

  // Adds an inner node of `around` (a block, a cell's operator) that reads `input`; returns its output.
  absl::StatusOr<Source> AddInner(const v1::Node& around, const std::string& inner_name, v1::Node inner,
                                  const Source& input, const std::string& prefix, Rewriting* rewriting) {
    if (!around.module().empty()) inner.set_module(JoinPath(around.module(), inner_name));
    inner.set_name(FreeName(JoinPath(around.name(), inner_name), rewriting));
    inner.clear_inputs();
    *inner.add_inputs() = MakeEdge(input);
    if (around.frozen()) inner.set_frozen(true);
    const std::string name = inner.name();
    LANISTA_RETURN_IF_ERROR(DecideNode(std::move(inner), prefix, rewriting));
    const auto replaced = rewriting->replaced.find(name);
    return replaced == rewriting->replaced.end() ? Source{name, 0} : replaced->second;
  }

  absl::Status DecideRepeat(const v1::Node& node, const std::string& prefix, Rewriting* rewriting) {
    const v1::RepeatNode& repeat = node.repeat();
    std::vector<v1::Value> depths;
    for (const int depth : repeat.depths()) depths.push_back(IntValue(depth));
    LANISTA_ASSIGN_OR_RETURN(const int index, chooser_.ChooseIndex(repeat.label(), v1::Choice::REPEAT, depths));
    Source value{node.inputs(0).node(), node.inputs(0).slot()};
    for (int i = 0; i < repeat.depths(index); ++i) {
      const v1::Node& block = repeat.blocks(i);
      LANISTA_ASSIGN_OR_RETURN(value, AddInner(node, block.name(), block, value, prefix, rewriting));
    }
    rewriting->replaced[node.name()] = value;
    return absl::OkStatus();
  }

  absl::Status DecideNasCell(const v1::Node& node, const std::string& prefix, Rewriting* rewriting) {
    const v1::NasCellNode& cell = node.nas_cell();
    std::vector<Source> states;
    for (const v1::Edge& edge : node.inputs()) states.emplace_back(edge.node(), edge.slot());
    const int first = node.inputs_size();
    std::vector<bool> is_read(first + cell.num_nodes(), false);
    for (int state = first; state < first + cell.num_nodes(); ++state) {
      std::vector<Source> terms;
      for (int k = 0; k < cell.num_ops_per_node(); ++k) {
        LANISTA_ASSIGN_OR_RETURN(const std::vector<int> input,
                                 ChooseInputs(absl::StrCat(cell.label(), "/input_", state, "_", k), state, 1));
        is_read[input[0]] = true;
        const std::string name = absl::StrCat("op_", state, "_", k);
        LANISTA_ASSIGN_OR_RETURN(v1::Node chosen,
                                 ChooseLayer(absl::StrCat(cell.label(), "/", name), cell.op_candidates()));
        LANISTA_ASSIGN_OR_RETURN(terms.emplace_back(),
                                 AddInner(node, name, std::move(chosen), states[input[0]], prefix, rewriting));
      }
      states.push_back(AddSum(absl::StrCat(node.name(), ".node_", state), terms, rewriting));
    }
    std::vector<Source> outputs;
    for (int state = first; state < first + cell.num_nodes(); ++state) {
      if (!cell.loose_end() || !is_read[state]) outputs.push_back(states[state]);
    }
    rewriting->replaced[node.name()] =
        AddConcat(node.name(), outputs, cell.has_concat_dim() ? cell.concat_dim() : 1, rewriting);
    return absl::OkStatus();
  }

  absl::StatusOr<v1::Value> ChosenValue(const std::string& label) {
    const v1::ValueChoice& choice = *value_choices_.at(label);
    return chooser_.ChooseValue(label, {choice.candidates().begin(), choice.candidates().end()});
  }

  v1::ModelGraph* const model_;
  Chooser& chooser_;
  std::map<std::string, const v1::ValueChoice*> value_choices_;
  std::set<std::string> decided_;
  NodeNames widths_;
};

}  // namespace

absl::StatusOr<NodeNames> DecideChoices(v1::ModelGraph* model, Chooser& chooser) {
  return Decider(model, chooser).Run();
}

}  // namespace lanista::graph
