#include "src/graph/fit_widths.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <vector>

#include "absl/strings/str_cat.h"
#include "src/base/status.h"
#include "src/graph/graph.h"
#include "src/graph/value_types.h"

namespace lanista::graph {
namespace {

// A value, and whether it depends on a changed width.
struct Value {
  v1::ValueType type;
  bool changed = false;
};
using Values = std::vector<Value>;

// An attribute that gives the width of the first input.
struct WidthAttribute {
  const char* name;
  // The input's dimension that has the width; negative: from the end. Unused for operators with a kernel (see AxisOf).
  int axis;
};

// PyTorch uses these names in all its modules.
constexpr WidthAttribute kWidthAttributes[] = {{"in_channels", 1},  {"in_features", -1}, {"num_features", 1},
                                               {"num_channels", 1}, {"input_size", -1},  {"num_parameters", 1}};

v1::Value* FindAttribute(v1::Operator* op, absl::string_view name) {
  for (v1::Attribute& attribute : *op->mutable_attr()) {
    if (attribute.key() == name) return attribute.mutable_value();
  }
  return nullptr;
}

class WidthFitter {
 public:
  WidthFitter(const NodeNames& changed, v1::ModelGraph* model, OpLookup find_op)
      : changed_(changed), find_op_(find_op) {
    for (v1::Graph& graph : *model->mutable_graphs()) graphs_[graph.name()] = &graph;
  }

  absl::Status Run(const std::string& root) {
    Values inputs;
    int64_t last_number = -1;
    for (const v1::Port& port : graphs_.at(root)->inputs()) {
      inputs.push_back({port.type(), false});
      NumberDimensions(&inputs.back().type, &last_number);
    }
    return FitGraph(root, inputs, "").status();
  }

 private:
  absl::StatusOr<Values> FitGraph(const std::string& name, const Values& inputs, const std::string& prefix) {
    v1::Graph* const graph = graphs_.at(name);
    std::unordered_map<std::string, Values> values;
    for (int i = 0; i < graph->inputs_size(); ++i) values[graph->inputs(i).name()] = {inputs[i]};
    const auto read = [&values](const google::protobuf::RepeatedPtrField<v1::Edge>& edges) {
      Values result;
      for (const v1::Edge& edge : edges) {
        const Values& source = values.at(edge.node());
        const bool known = edge.slot() < static_cast<int>(source.size());
        result.push_back(known ? source[edge.slot()] : Value{{}, !source.empty() && source[0].changed});
      }
      return result;
    };
    LANISTA_ASSIGN_OR_RETURN(const std::vector<int> order, ExecutionOrder(*graph));
    for (const int index : order) {
      v1::Node* const node = graph->mutable_nodes(index);
      const Values read_values = read(node->inputs());
      LANISTA_ASSIGN_OR_RETURN(Values outputs, FitNode(node, read_values, prefix));
      if (ChangesList(*node, TypesOf(read_values))) {
        const v1::Edge& list = node->inputs(0);
        values.at(list.node()).at(list.slot()).type.clear_items();
      }
      if (changed_.count({name, node->name()}) > 0) {
        for (Value& output : outputs) output.changed = true;
      }
      values[node->name()] = std::move(outputs);
    }
    return read(graph->outputs());
  }

  absl::StatusOr<Values> FitNode(v1::Node* node, const Values& inputs, const std::string& prefix) {
    const std::string path = JoinPath(prefix, ModuleOf(*node));
    switch (node->kind_case()) {
      case v1::Node::kOp: {
        auto outputs = FitOperator(node, inputs);
        return outputs.ok() ? outputs
                            : Annotate(outputs.status(), absl::StrCat("node '", path, "' (", node->op().type(), ")"));
      }
      case v1::Node::kCell:
        return FitGraph(node->cell().graph(), inputs, path);
      case v1::Node::kTrainingSwitch: {
        LANISTA_RETURN_IF_ERROR(FitGraph(node->training_switch().training(), inputs, prefix).status());
        return FitGraph(node->training_switch().evaluation(), inputs, prefix);
      }
      default: {
        if (AnyChanged(inputs)) {
          return absl::InvalidArgumentError(absl::StrCat(
              "node '", path,
              "' is kept whole and cannot follow a changed width: choose a value_choice without `propagate`"));
        }
        return Values(std::max(1, node->outputs_size()));
      }
    }
  }

  static std::vector<v1::ValueType> TypesOf(const Values& values) {
    std::vector<v1::ValueType> types;
    for (const Value& value : values) types.push_back(value.type);
    return types;
  }

  absl::StatusOr<Values> FitOperator(v1::Node* node, const Values& inputs) const {
    const bool changed = AnyChanged(inputs);
    const std::vector<v1::ValueType> input_types = TypesOf(inputs);
    if (const auto types = PrimitiveTypes(*node, input_types)) return ValuesOf(*types, changed);
    const OpSchema* const schema = find_op_(node->op().type());
    if (schema == nullptr) return Values(std::max(1, node->outputs_size()), Value{{}, changed});
    if (!inputs.empty() && inputs[0].changed) LANISTA_RETURN_IF_ERROR(FitAttributes(*schema, inputs[0].type, node));
    LANISTA_RETURN_IF_ERROR(schema->CheckAttributes(node->op()));
    LANISTA_ASSIGN_OR_RETURN(const std::vector<v1::ValueType> types,
                             InferOutputs(*schema, {*node, Attributes(*schema, node->op()), input_types}));
    if (changed && schema->KeepsElements() && !types.empty()) {
      LANISTA_RETURN_IF_ERROR(CheckRows(input_types[0], types[0]));
    }
    return ValuesOf(types, changed);
  }

  static Values ValuesOf(const std::vector<v1::ValueType>& types, bool changed) {
    Values values;
    for (const v1::ValueType& type : types) values.push_back({type, changed});
    return values;
  }

  // x.view(-1, 9216) on 18432 features would turn one row into two, although -1 was meant as the batch. So, if the
  // first dimension is inferred, the product of the others must equal the product of some last dimensions of the input.
  static absl::Status CheckRows(const v1::ValueType& input, const v1::ValueType& output) {
    const auto from = DimsOf(input), to = DimsOf(output);
    if (!from.has_value() || !to.has_value() || from->empty() || to->empty()) return absl::OkStatus();
    if (to->front() >= 0 || to->front() == from->front()) return absl::OkStatus();
    const auto known = [](int64_t dim) { return dim >= 0; };
    if (!std::all_of(to->begin() + 1, to->end(), known)) return absl::OkStatus();
    int64_t wanted = 1, row = 1;
    for (size_t i = 1; i < to->size(); ++i) wanted *= (*to)[i];
    for (size_t i = from->size(); i-- > 0 && row != wanted && (*from)[i] >= 0;) row *= (*from)[i];
    if (row == wanted) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat("cannot follow a changed width: rows of ", wanted, " elements no longer fit ", TypeToText(input),
                     "; let the model say x.view(x.size(0), -1) or torch.flatten(x, 1), or do without `propagate`"));
  }

  static absl::Status FitAttributes(const OpSchema& schema, const v1::ValueType& input, v1::Node* node) {
    v1::Operator* const op = node->mutable_op();
    for (const WidthAttribute& attribute : kWidthAttributes) {
      v1::Value* const value = FindAttribute(op, attribute.name);
      if (value == nullptr || schema.FindAttribute(attribute.name) == nullptr) continue;
      // A single slope serves all channels.
      if (absl::string_view(attribute.name) == "num_parameters" && value->i() == 1) continue;
      LANISTA_ASSIGN_OR_RETURN(const int64_t width, WidthAt(AxisOf(schema, attribute), attribute.name, input));
      const int64_t old = value->i();
      if (width == old) continue;
      value->set_i(width);
      v1::Value* const groups = FindAttribute(op, "groups");
      if (groups == nullptr || groups->i() != old || old == 1) continue;
      if (old == 0) return absl::InvalidArgumentError(absl::StrCat(attribute.name, " and groups must be at least 1"));
      groups->set_i(width);
      v1::Value* const out_channels = FindAttribute(op, "out_channels");
      out_channels->set_i(out_channels->i() / old * width);
    }
    v1::Value* const normalized = FindAttribute(op, "normalized_shape");
    if (normalized == nullptr) return absl::OkStatus();
    // One int stands for a list of one element.
    const int length = normalized->has_list() ? normalized->list().values_size() : 1;
    std::vector<int64_t> shape;
    for (int i = -length; i < 0; ++i) {
      LANISTA_ASSIGN_OR_RETURN(shape.emplace_back(), WidthAt(i, "normalized_shape", input));
    }
    *normalized = IntsValue(shape);
    return absl::OkStatus();
  }

  // The channels of a convolution stand before its spatial dimensions, as many as its kernel has: the batch may be
  // missing.
  static int AxisOf(const OpSchema& schema, const WidthAttribute& attribute) {
    const AttributeSpec* const kernel = schema.FindAttribute("kernel_size");
    return kernel == nullptr ? attribute.axis : -1 - kernel->length;
  }

  static absl::StatusOr<int64_t> WidthAt(int axis, const char* attribute, const v1::ValueType& input) {
    const auto dims = DimsOf(input);
    const int rank = dims.has_value() ? static_cast<int>(dims->size()) : 0;
    const int at = axis < 0 ? axis + rank : axis;
    if (at < 0 || at >= rank || (*dims)[at] < 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          attribute, " cannot follow a changed width: all that is known of the input is ", TypeToText(input),
          "; give the space's input_shape, or name what follows with `also` instead of `propagate`"));
    }
    return (*dims)[at];
  }

  static bool AnyChanged(const Values& values) {
    return std::any_of(values.begin(), values.end(), [](const Value& value) { return value.changed; });
  }

  const NodeNames& changed_;
  const OpLookup find_op_;
  std::unordered_map<std::string, v1::Graph*> graphs_;
};

}  // namespace

absl::Status FitWidths(const NodeNames& changed, v1::ModelGraph* model, OpLookup find_op) {
  return WidthFitter(changed, model, find_op).Run(RootGraph(*model).name());
}

}  // namespace lanista::graph
