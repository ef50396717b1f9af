#include "src/views/graph_view.h"

#include <limits>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "nlohmann/json.hpp"
#include "src/base/display_text.h"
#include "src/base/status.h"
#include "src/graph/built_in.h"
#include "src/graph/expression.h"
#include "src/graph/graph.h"
#include "src/space/space.h"
#include "src/views/document_parts.h"
#include "src/views/text_table.h"

namespace lanista {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMaxRows = 1000000;
// Characters of a line in a box of GraphDot.
constexpr int kBoxWidth = 48;

// One row of the tree.
struct Row {
  std::string path;
  std::string type;
  std::string label;
  Json attributes = Json::object();
  Json inputs = Json::array();
  std::vector<v1::ValueType> outputs;
  int depth = 0;
  // Of the node itself; after its children are listed, of all that is in it. nullopt: not known.
  std::optional<double> parameters = 0;
  std::optional<double> flops = 0;
};

std::optional<double> Sum(std::optional<double> a, std::optional<double> b) {
  return a.has_value() && b.has_value() ? std::make_optional(*a + *b) : std::nullopt;
}

// Numbers as numbers, lists as lists; what JSON has no value for as text.
Json AttributeJson(const v1::Value& value) {
  switch (value.kind_case()) {
    case v1::Value::kExpression:
      return graph::ExpressionToText(value.expression());
    case v1::Value::kTensor:
      return absl::StrCat("tensor of [", absl::StrJoin(value.tensor().dims(), ", "), "]");
    default:
      return Json::parse(ValueToText(value));
  }
}

// Walks a model and lists its nodes, what is inside a node after it.
class RowLister {
 public:
  RowLister(const v1::ModelGraph& model, graph::OpLookup find_op) : model_(model), find_op_(find_op) {}

  absl::StatusOr<std::vector<Row>> List() && {
    LANISTA_RETURN_IF_ERROR(ListGraph(graph::RootGraph(model_), "", 0));
    return std::move(rows_);
  }

 private:
  absl::Status ListGraph(const v1::Graph& graph, const std::string& prefix, int depth) {
    std::map<std::string, const v1::Node*> nodes;
    for (const v1::Node& node : graph.nodes()) nodes[node.name()] = &node;
    std::map<std::string, const v1::Port*> ports;
    for (const v1::Port& port : graph.inputs()) ports[port.name()] = &port;

    LANISTA_ASSIGN_OR_RETURN(const std::vector<int> order, graph::ExecutionOrder(graph));
    for (const int index : order) {
      const v1::Node& node = graph.nodes(index);
      Json inputs = Json::array();
      std::vector<v1::ValueType> types;
      for (const v1::Edge& edge : node.inputs()) {
        const auto source = nodes.find(edge.node());
        if (source == nodes.end()) {
          inputs.push_back(edge.node());
          types.push_back(ports.at(edge.node())->type());
          continue;
        }
        const std::string path = graph::JoinPath(prefix, edge.node());
        inputs.push_back(edge.slot() == 0 ? path : absl::StrCat(path, ":", edge.slot()));
        const auto& outputs = source->second->outputs();
        types.push_back(edge.slot() < outputs.size() ? outputs.Get(edge.slot()) : v1::ValueType());
      }
      LANISTA_RETURN_IF_ERROR(ListNode(node, prefix, depth, std::move(inputs), std::move(types)));
    }
    return absl::OkStatus();
  }

  absl::Status ListNode(const v1::Node& node, const std::string& prefix, int depth, Json inputs,
                        std::vector<v1::ValueType> input_types) {
    if (rows_.size() >= kMaxRows) {
      return absl::ResourceExhaustedError(absl::StrCat("the graph has more than ", kMaxRows, " nodes to show"));
    }
    const size_t index = rows_.size();
    Row& row = rows_.emplace_back();
    row.path = graph::JoinPath(prefix, node.name());
    row.depth = depth;
    row.inputs = std::move(inputs);
    row.outputs.assign(node.outputs().begin(), node.outputs().end());
    // A module that is called again has its parameters counted already.
    const std::string module = graph::JoinPath(prefix, graph::ModuleOf(node));
    const bool counted = !modules_.insert(module).second;

    // FLOPs are summed from this row on: a training switch counts only what runs in evaluation.
    size_t first_flops = index + 1;
    switch (node.kind_case()) {
      case v1::Node::kOp:
        ListOperator(node, std::move(input_types), counted, &row);
        return absl::OkStatus();
      case v1::Node::kOpaque:
        row.type = absl::StrCat(node.opaque().type(), " (kept whole)");
        row.parameters = row.flops = std::nullopt;
        return absl::OkStatus();
      case v1::Node::kCell:
        row.type = node.cell().graph();
        LANISTA_RETURN_IF_ERROR(ListGraph(*graph::FindGraph(model_, node.cell().graph()), module, depth + 1));
        break;
      case v1::Node::kTrainingSwitch:
        row.type = "TrainingSwitch";
        for (const auto& name : {node.training_switch().training(), node.training_switch().evaluation()}) {
          first_flops = rows_.size();
          LANISTA_RETURN_IF_ERROR(ListGraph(*graph::FindGraph(model_, name), prefix, depth + 1));
        }
        break;
      case v1::Node::kLayerChoice:
        row.type = "LayerChoice";
        row.label = node.layer_choice().label();
        if (row.label.empty()) row.label = absl::StrJoin(node.layer_choice().decided_by(), ", ");
        LANISTA_RETURN_IF_ERROR(ListInner(node.layer_choice().candidates(), module, depth + 1));
        break;
      case v1::Node::kInputChoice:
        row.type = "InputChoice";
        row.label = node.input_choice().label();
        row.attributes["n_chosen"] = node.input_choice().n_chosen();
        row.attributes["reduction"] = v1::InputChoiceNode::Reduction_Name(node.input_choice().reduction());
        break;
      case v1::Node::kRepeat:
        row.type = "Repeat";
        row.label = node.repeat().label();
        row.attributes["depths"] = node.repeat().depths();
        LANISTA_RETURN_IF_ERROR(ListInner(node.repeat().blocks(), module, depth + 1));
        break;
      case v1::Node::kNasCell:
        row.type = "Cell";
        row.label = node.nas_cell().label();
        row.attributes["num_nodes"] = node.nas_cell().num_nodes();
        LANISTA_RETURN_IF_ERROR(ListInner(node.nas_cell().op_candidates(), module, depth + 1));
        break;
      case v1::Node::KIND_NOT_SET:
        break;
    }
    // `row` may be invalid: rows_ has grown. Alternatives do not add up: a model has only one of them.
    Row& whole = rows_[index];
    const bool alternatives = !whole.label.empty();
    for (size_t i = index + 1; i < rows_.size(); ++i) {
      if (rows_[i].depth != depth + 1) continue;
      whole.parameters = alternatives ? std::nullopt : Sum(whole.parameters, rows_[i].parameters);
      if (i >= first_flops) whole.flops = alternatives ? std::nullopt : Sum(whole.flops, rows_[i].flops);
    }
    return absl::OkStatus();
  }

  absl::Status ListInner(const google::protobuf::RepeatedPtrField<v1::Node>& nodes, const std::string& prefix,
                         int depth) {
    for (const v1::Node& node : nodes) LANISTA_RETURN_IF_ERROR(ListNode(node, prefix, depth, Json::array(), {}));
    return absl::OkStatus();
  }

  void ListOperator(const v1::Node& node, std::vector<v1::ValueType> input_types, bool counted, Row* row) const {
    row->type = node.op().type();
    bool open = false;
    for (const v1::Attribute& attribute : node.op().attr()) {
      row->attributes[attribute.key()] = AttributeJson(attribute.value());
      open = open || attribute.value().has_expression();
    }
    const graph::OpSchema* const schema = find_op_(node.op().type());
    row->flops = std::nullopt;
    if (open) row->parameters = std::nullopt;
    // Lists and tuples cost nothing.
    if (absl::StartsWith(row->type, "prim::")) row->flops = 0;
    if (schema == nullptr || open) return;
    const graph::Attributes attributes(*schema, node.op());
    for (const graph::ParameterSpec& parameter : schema->Parameters(attributes)) {
      if (!parameter.buffer && !counted) *row->parameters += static_cast<double>(parameter.NumElements());
    }
    row->flops = schema->Flops({node, attributes, std::move(input_types)}, row->outputs);
  }

  const v1::ModelGraph& model_;
  const graph::OpLookup find_op_;
  std::vector<Row> rows_;
  // Paths of the modules that were listed.
  std::set<std::string> modules_;
};

// The largest int64 if there are more.
std::optional<int64_t> Whole(const std::optional<double>& count) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  if (!count.has_value()) return std::nullopt;
  return *count < static_cast<double>(kMost) ? static_cast<int64_t>(*count) : kMost;
}

// The innermost of the first rows whose FLOPs are not known.
std::string FindWithoutFlops(const std::vector<Row>& rows) {
  const Row* found = nullptr;
  for (const Row& row : rows) {
    // Behind it, and not inside it.
    if (found != nullptr && row.depth <= found->depth) break;
    // Rows of deeper levels do not count where the row around them knows its FLOPs.
    const int level = found == nullptr ? 0 : found->depth + 1;
    if (row.depth == level && !row.flops.has_value()) found = &row;
  }
  return found == nullptr ? "" : absl::StrCat(found->path, " (", found->type, ")");
}

// Of the whole model.
GraphCosts SumUp(const std::vector<Row>& rows) {
  std::optional<double> parameters = 0, flops = 0;
  for (const Row& row : rows) {
    if (row.depth > 0) continue;
    parameters = Sum(parameters, row.parameters);
    flops = Sum(flops, row.flops);
  }
  return {Whole(parameters), Whole(flops), flops.has_value() ? "" : FindWithoutFlops(rows)};
}

Json ShapeJson(const v1::ValueType& type) {
  const auto dims = graph::DimsOf(type);
  return dims.has_value() ? Json(*dims) : Json();
}

Json RowJson(const Row& row) {
  Json outputs = Json::array();
  for (const v1::ValueType& type : row.outputs) outputs.push_back(graph::TypeToText(type));
  return {{"name", row.path},
          {"type", row.type},
          {"attributes", row.attributes},
          {"inputs", row.inputs},
          {"shape", row.outputs.empty() ? Json() : ShapeJson(row.outputs.front())},
          {"outputs", outputs},
          {"parameters", CountJson(Whole(row.parameters))},
          {"flops", CountJson(Whole(row.flops))},
          {"depth", row.depth},
          {"choice", row.label.empty() ? Json() : Json(row.label)}};
}

// 1234567 as "1.23 M"; "?" for what is not known.
std::string CountText(const Json& count) {
  if (count.is_null()) return "?";
  const double value = count.get<double>();
  if (value >= 1e9) return absl::StrFormat("%.3g G", value / 1e9);
  if (value >= 1e6) return absl::StrFormat("%.3g M", value / 1e6);
  if (value >= 1e4) return absl::StrFormat("%.3g k", value / 1e3);
  return absl::StrFormat("%.0f", value);
}

// 3, same, [3, 3].
std::string AttributeText(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_array()) return value.dump();
  return absl::StrCat(
      "[",
      absl::StrJoin(value, ", ", [](std::string* out, const Json& element) { out->append(AttributeText(element)); }),
      "]");
}

std::string AttributesText(const Json& node) {
  std::vector<std::string> parts;
  if (!node["choice"].is_null()) parts.push_back(absl::StrCat("label=", node["choice"].get<std::string>()));
  for (const auto& [name, value] : node["attributes"].items()) {
    parts.push_back(absl::StrCat(name, "=", AttributeText(value)));
  }
  return absl::StrJoin(parts, " ");
}

// The last component of a path that is not shown above it.
std::string ShortName(const Json& node, const std::vector<std::string>& around) {
  const std::string path = node["name"].get<std::string>();
  const auto depth = node["depth"].get<size_t>();
  if (depth == 0 || depth > around.size()) return path;
  const std::string prefix = around[depth - 1] + ".";
  return path.compare(0, prefix.size(), prefix) == 0 ? path.substr(prefix.size()) : path;
}

// Lines as a string of Graphviz's language.
std::string DotQuoted(const std::vector<std::string>& lines) {
  return absl::StrCat(
      "\"",
      absl::StrJoin(lines, "\\n",
                    [](std::string* out, const std::string& line) {
                      out->append(absl::StrReplaceAll(Printable(line), {{"\"", "\\\""}, {"\\", "\\\\"}}));
                    }),
      "\"");
}

std::string DotQuoted(const std::string& text) { return DotQuoted(std::vector<std::string>{text}); }

// What stands in a node's box: its name, its operator with the attributes, what comes out of it, and its parameters.
std::vector<std::string> BoxLines(const Json& node) {
  std::vector<std::string> lines = {node["name"].get<std::string>(), node["type"].get<std::string>()};
  if (const std::string attributes = AttributesText(node); !attributes.empty()) {
    lines.push_back(Ellipsize(Printable(attributes), kBoxWidth));
  }
  if (!node["outputs"].empty()) lines.push_back(node["outputs"].front().get<std::string>());
  if (const Json& parameters = node["parameters"]; !parameters.is_null() && parameters != 0) {
    lines.push_back(absl::StrCat(CountText(parameters), " parameters"));
  }
  return lines;
}

// Choices yellow, what has parameters blue.
const char* BoxColor(const Json& node) {
  if (!node["choice"].is_null()) return "#fff3c4";
  return node["parameters"].is_null() || node["parameters"] == 0 ? "#f4f4f4" : "#dcebfa";
}

}  // namespace

absl::StatusOr<Json> GraphDocument(const v1::ModelGraph& model, graph::OpLookup find_op) {
  LANISTA_ASSIGN_OR_RETURN(const std::vector<Row> rows, RowLister(model, find_op).List());
  const GraphCosts costs = SumUp(rows);
  Json nodes = Json::array();
  for (const Row& row : rows) nodes.push_back(RowJson(row));
  Json inputs = Json::array();
  for (const v1::Port& port : graph::RootGraph(model).inputs()) {
    inputs.push_back({{"name", port.name()}, {"shape", ShapeJson(port.type())}});
  }
  return Json{{"name", model.name()},
              {"parameters", CountJson(costs.parameters)},
              {"flops", CountJson(costs.flops)},
              {"inputs", inputs},
              {"nodes", nodes},
              {"warnings", model.warnings()}};
}

absl::StatusOr<GraphCosts> CountGraphCosts(const v1::ModelGraph& model, graph::OpLookup find_op) {
  LANISTA_ASSIGN_OR_RETURN(const std::vector<Row> rows, RowLister(model, find_op).List());
  return SumUp(rows);
}

std::string GraphText(const Json& document, int width) {
  using Align = TextTable::Align;
  TextTable table({{"node", Align::kLeft},
                   {"type", Align::kLeft},
                   {"output", Align::kLeft},
                   {"parameters", Align::kRight},
                   {"FLOPs", Align::kRight},
                   {"attributes", Align::kLeft}});
  // The path of the row at each depth.
  std::vector<std::string> around;
  for (const Json& node : document["nodes"]) {
    const auto depth = node["depth"].get<size_t>();
    const std::string name = std::string(2 * depth, ' ') + ShortName(node, around);
    around.resize(depth);
    around.push_back(node["name"].get<std::string>());
    const Json& outputs = node["outputs"];
    const bool is_assert = graph::BuiltInOf(node["type"].get<std::string>()) == graph::BuiltIn::kAssert;
    const std::string unknown = is_assert ? "" : "?";
    table.AddRow({name, node["type"].get<std::string>(), outputs.empty() ? unknown : outputs.front().get<std::string>(),
                  CountText(node["parameters"]), CountText(node["flops"]), AttributesText(node)});
  }
  table.Fit(width);
  std::string text = absl::StrCat(OneLine(document["name"].get<std::string>()), ": ", CountText(document["parameters"]),
                                  " parameters, ", CountText(document["flops"]), " FLOPs\n", table.ToText());
  for (const Json& warning : document["warnings"]) {
    absl::StrAppend(&text, "warning: ", OneLine(warning.get<std::string>()), "\n");
  }
  return text;
}

std::string GraphDot(const Json& document) {
  std::string dot =
      "digraph model {\n  rankdir=TB; fontname=\"Helvetica\"; fontsize=10;\n"
      "  node [shape=box, style=\"rounded,filled\", fillcolor=\"#f4f4f4\", fontname=\"Helvetica\", fontsize=10];\n";
  for (const Json& input : document["inputs"]) {
    const std::string name = input["name"].get<std::string>();
    std::vector<std::string> lines = {name};
    if (!input["shape"].is_null()) lines.push_back(AttributeText(input["shape"]));
    absl::StrAppend(&dot, "  ", DotQuoted(name), " [shape=ellipse, label=", DotQuoted(lines), "];\n");
  }
  size_t open = 0;
  const Json& nodes = document["nodes"];
  for (size_t i = 0; i < nodes.size(); ++i) {
    const Json& node = nodes[i];
    const auto depth = node["depth"].get<size_t>();
    for (; open > depth; --open) absl::StrAppend(&dot, "  }\n");
    const std::string name = node["name"].get<std::string>();
    const std::string type = node["type"].get<std::string>();
    const std::string quoted = DotQuoted(name);
    if (i + 1 < nodes.size() && nodes[i + 1]["depth"].get<size_t>() > depth) {
      absl::StrAppend(&dot, "  subgraph ", DotQuoted("cluster_" + name),
                      " {\n    label=", DotQuoted(absl::StrCat(name, " (", type, ")")), ";\n");
      absl::StrAppend(&dot, "    ", quoted, " [shape=point, xlabel=", DotQuoted(type), "];\n");
      ++open;
    } else {
      absl::StrAppend(&dot, "  ", quoted, " [label=", DotQuoted(BoxLines(node)), ", fillcolor=\"", BoxColor(node),
                      "\"];\n");
    }
  }
  for (; open > 0; --open) absl::StrAppend(&dot, "  }\n");
  for (const Json& node : nodes) {
    for (const Json& input : node["inputs"]) {
      std::string source = input.get<std::string>();
      source = source.substr(0, source.rfind(':'));
      absl::StrAppend(&dot, "  ", DotQuoted(source), " -> ", DotQuoted(node["name"].get<std::string>()), ";\n");
    }
  }
  return dot + "}\n";
}

}  // namespace lanista
