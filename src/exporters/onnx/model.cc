#include "src/exporters/onnx/model.h"

#include <onnx/checker.h>
#include <onnx/shape_inference/implementation.h>

#include <algorithm>
#include <map>
#include <set>
#include <stdexcept>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "src/base/status.h"
#include "src/exporters/common/data_source.h"
#include "src/exporters/common/module_tree.h"
#include "src/exporters/onnx/graph.h"
#include "src/exporters/onnx/memory_sharing.h"
#include "src/graph/built_in.h"
#include "src/graph/graph.h"
#include "src/graph/value_types.h"

namespace lanista::exporters {
namespace {

constexpr int kIrVersion = 7;
constexpr int kOpset = 13;
// The size limit of protobuf messages.
constexpr size_t kMaxBytes = (size_t{1} << 31) - 1;

// The memory of a tensor: the operator and its output that made it, and those of the views that lead from there to the
// tensor. Empty: nobody changes it.
using Memory = std::vector<std::pair<int, int>>;

// Whether tensors have memory in common, or may have.
bool Overlap(const Memory& a, const Memory& b) {
  const auto [one, other] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  if (a.empty() || b.empty()) return false;
  // One is the other, or a view of it.
  if (one == a.end() || other == b.end()) return true;
  // Two views of one tensor may overlap, but two pieces of one view do not.
  return one != a.begin() && one->first != other->first;
}

struct Value {
  std::string name;
  v1::ValueType type;
  // ONNX's values are tensors, so a list or tuple is represented by its elements.
  bool is_list = false;
  std::vector<Value> elements = {};
  // Of a tensor.
  Memory memory = {};
};

// A place in a graph where a value comes from: a node or a port, and its slot.
using Slot = std::pair<std::string, int>;

Slot SlotOf(const v1::Edge& edge) { return {edge.node(), edge.slot()}; }

// The values of a graph that are still read.
class LiveValues {
 public:
  explicit LiveValues(const v1::Graph& graph) {
    for (const v1::Node& node : graph.nodes()) {
      for (const v1::Edge& edge : node.inputs()) ++readers_[SlotOf(edge)];
    }
    for (const v1::Edge& edge : graph.outputs()) ++readers_[SlotOf(edge)];
  }

  void Add(const Slot& slot, const Value& value) {
    if (readers_.count(slot) > 0) values_[slot] = value;
  }

  // For one of its readers.
  Value Read(const v1::Edge& edge) {
    const Slot slot = SlotOf(edge);
    const Value value = values_[slot];
    if (--readers_[slot] == 0) values_.erase(slot);
    return value;
  }

  std::map<Slot, Value>& values() { return values_; }

 private:
  std::map<Slot, int> readers_;
  std::map<Slot, Value> values_;
};

// Walks the graphs; cells and the evaluation arms of switches are inlined.
class Builder {
 public:
  Builder(const SourceModel& model, OnnxGraph* onnx) : model_(model), onnx_(onnx) {}

  absl::StatusOr<std::vector<Value>> WriteGraph(const v1::Graph& graph, const std::string& prefix,
                                                const std::vector<Value>& inputs) {
    LiveValues values(graph);
    live_.push_back(&values);
    const absl::Cleanup forget = [this] { live_.pop_back(); };
    for (int i = 0; i < graph.inputs_size(); ++i) {
      Value input = inputs.at(static_cast<size_t>(i));
      if (input.memory.empty()) input.memory = {{++calls_, 0}};
      values.Add({graph.inputs(i).name(), 0}, input);
    }
    LANISTA_ASSIGN_OR_RETURN(const std::vector<int> order, graph::ExecutionOrder(graph));
    for (const int index : order) {
      const v1::Node& node = graph.nodes(index);
      std::vector<Value> arguments;
      for (const v1::Edge& edge : node.inputs()) arguments.push_back(values.Read(edge));
      LANISTA_ASSIGN_OR_RETURN(const std::vector<Value> outputs, WriteNode(node, prefix, arguments));
      for (size_t slot = 0; slot < outputs.size(); ++slot) {
        values.Add({node.name(), static_cast<int>(slot)}, outputs[slot]);
      }
    }
    std::vector<Value> results;
    for (const v1::Edge& edge : graph.outputs()) results.push_back(values.Read(edge));
    return results;
  }

 private:
  absl::StatusOr<std::vector<Value>> WriteNode(const v1::Node& node, const std::string& prefix,
                                               const std::vector<Value>& inputs) {
    if (node.has_cell() || node.has_training_switch()) {
      const std::string& name = node.has_cell() ? node.cell().graph() : node.training_switch().evaluation();
      const v1::Graph* const graph = graph::FindGraph(model_.graph, name);
      if (graph == nullptr) return absl::InvalidArgumentError(absl::StrCat("there is no graph '", name, "'"));
      return WriteGraph(*graph, node.has_cell() ? graph::JoinPath(prefix, graph::ModuleOf(node)) : prefix, inputs);
    }
    const std::string path = graph::JoinPath(prefix, node.name());
    if (!node.has_op()) {
      return absl::UnimplementedError(absl::StrCat(
          "node '", path, "' (", node.opaque().type().empty() ? "a TorchScript module" : node.opaque().type(),
          ") is kept whole, as TorchScript: ONNX has no form for that; export the model as torchscript, python or "
          "cpp"));
    }
    // Expands lists: each element becomes an input of its own, all with the name of the one argument.
    v1::Node flat = node;
    flat.clear_inputs();
    std::vector<Value> values;
    std::vector<std::string> names;
    for (int i = 0; i < node.inputs_size(); ++i) {
      const Value& input = inputs[static_cast<size_t>(i)];
      const bool expand = input.is_list && !IsPrimitive(node.op().type());
      for (const Value& value : expand ? input.elements : std::vector<Value>{input}) {
        *flat.add_inputs() = node.inputs(i);
        names.push_back(value.name);
        values.push_back(value);
      }
    }
    onnx_->Enter(path, graph::JoinPath(prefix, graph::ModuleOf(node)), std::move(names));
    absl::StatusOr<std::vector<Value>> outputs =
        IsPrimitive(node.op().type()) ? WritePrimitive(node, inputs) : WriteOperator(flat, values);
    const absl::Status status = outputs.ok() ? onnx_->status() : outputs.status();
    if (!status.ok()) return Annotate(status, absl::StrCat("node '", path, "' (", node.op().type(), ")"));
    return outputs;
  }

  absl::StatusOr<std::vector<Value>> WritePrimitive(const v1::Node& node, const std::vector<Value>& inputs) {
    const std::string& type = node.op().type();
    if (type == "prim::ListUnpack" || type == "prim::TupleUnpack") {
      if (inputs.size() != 1 || !inputs[0].is_list) return absl::UnimplementedError("unpacks a list of unknown length");
      return inputs[0].elements;
    }
    Value list;
    list.is_list = true;
    for (const PrimitiveArgument& argument : PrimitiveArguments(node)) {
      if (argument.constant == nullptr) {
        list.elements.push_back(inputs.at(static_cast<size_t>(argument.input)));
        continue;
      }
      Value element;
      LANISTA_ASSIGN_OR_RETURN(element.name, onnx_->ConstantValue(*argument.constant));
      element.type = graph::TypeOfValue(*argument.constant);
      list.elements.push_back(std::move(element));
    }
    if (const auto types = graph::PrimitiveTypes(node, TypesOf(inputs)); types->size() == 1) list.type = types->front();
    return std::vector<Value>{list};
  }

  absl::StatusOr<std::vector<Value>> WriteOperator(const v1::Node& node, const std::vector<Value>& inputs) {
    const std::string& type = node.op().type();
    const graph::BuiltIn built_in = graph::BuiltInOf(type);
    if (built_in == graph::BuiltIn::kAssert) return std::vector<Value>{};
    const v1::ValueType known = node.outputs_size() > 0 ? node.outputs(0) : v1::ValueType();
    if (built_in == graph::BuiltIn::kParameter) {
      const std::string weight = onnx_->StateTensor(onnx_->module());
      if (changed_weights_.count(weight) > 0) {
        return NoForm("a view of this weight was changed in place before");
      }
      const auto [entry, is_new] = weights_.emplace(weight, Value{weight, known});
      if (is_new) entry->second.memory = {{++calls_, 0}};
      return std::vector<Value>{entry->second};
    }
    if (built_in == graph::BuiltIn::kTraining) {
      LANISTA_ASSIGN_OR_RETURN(const std::string name, onnx_->ConstantValue(graph::BoolValue(false)));
      return std::vector<Value>{{name, known}};
    }
    if (IsConstant(node)) {
      LANISTA_ASSIGN_OR_RETURN(Value value, WriteConstant(ConstantOf(node)));
      value.memory = {{++calls_, 0}};
      if (known.kind() != value.type.kind() && known.kind() != v1::ValueType::KIND_UNSPECIFIED) value.type = known;
      return std::vector<Value>{value};
    }
    const graph::OpSchema* const schema = model_.find_op(type);
    if (schema == nullptr) return absl::UnimplementedError("has no ONNX form");
    graph::OpCall call{node, graph::Attributes(*schema, node.op()), TypesOf(inputs)};
    LANISTA_ASSIGN_OR_RETURN(const std::vector<v1::ValueType> types, graph::InferOutputs(*schema, call));
    call.outputs = types;
    if (schema->is_module()) {
      for (v1::ValueType& input : call.inputs) input = graph::ForgetNumbers(input);
    }
    LANISTA_ASSIGN_OR_RETURN(const std::vector<std::string> names, schema->ToOnnx(call, *onnx_));
    std::vector<Value> outputs;
    if (types.size() == 1 && types[0].kind() == v1::ValueType::LIST) {
      Value list;
      list.is_list = true;
      list.type = types[0];
      for (size_t i = 0; i < names.size(); ++i) {
        const bool each = static_cast<size_t>(list.type.items_size()) == names.size();
        list.elements.push_back({names[i], each                            ? list.type.items(static_cast<int>(i))
                                           : list.type.elements_size() > 0 ? list.type.elements(0)
                                                                           : v1::ValueType()});
      }
      outputs.push_back(std::move(list));
    } else {
      for (size_t i = 0; i < names.size(); ++i) {
        outputs.push_back({names[i], i < types.size() ? types[i] : v1::ValueType()});
      }
    }
    LANISTA_RETURN_IF_ERROR(ShareMemory(node, inputs, &outputs));
    return outputs;
  }

  // Gives the outputs of an operator their memory; one that works in place changes what its readers read later.
  absl::Status ShareMemory(const v1::Node& node, const std::vector<Value>& inputs, std::vector<Value>* outputs) {
    std::vector<Value*> tensors;
    for (Value& output : *outputs) {
      if (!output.is_list) tensors.push_back(&output);
      for (Value& element : output.elements) tensors.push_back(&element);
    }
    const bool in_place = WorksInPlace(node.op()) && !inputs.empty();
    const Sharing sharing = inputs.empty() ? Sharing::kNothing : SharingOf(node);
    const int call = ++calls_;
    for (size_t i = 0; i < tensors.size(); ++i) {
      Memory& memory = tensors[i]->memory;
      if (in_place || sharing == Sharing::kAll) {
        memory = inputs[0].memory;
      } else if (sharing == Sharing::kNothing) {
        memory = {{call, static_cast<int>(i)}};
      } else {
        memory = inputs[0].memory;
        memory.push_back({call, sharing == Sharing::kPieces ? static_cast<int>(i) : 0});
      }
      // An element of a list is what it was in the list.
      for (const Value& input : inputs) {
        if (sharing == Sharing::kNothing && node.op().type() == "aten::__getitem__.t" &&
            input.name == tensors[i]->name) {
          memory = input.memory;
        }
      }
    }
    return in_place ? Replace(inputs[0], *tensors.at(0)) : absl::OkStatus();
  }

  // `before` was changed in place: whoever reads it from now on reads `after`.
  absl::Status Replace(const Value& before, const Value& after) {
    for (LiveValues* const values : live_) {
      for (auto& entry : values->values()) LANISTA_RETURN_IF_ERROR(ReplaceIn(before, after, &entry.second));
    }
    for (auto& entry : weights_) {
      Value& weight = entry.second;
      if (weight.memory == before.memory) {
        weight = after;
      } else if (Overlap(weight.memory, before.memory)) {
        changed_weights_.insert(entry.first);
      }
    }
    return absl::OkStatus();
  }

  static absl::Status ReplaceIn(const Value& before, const Value& after, Value* value) {
    for (Value& element : value->elements) LANISTA_RETURN_IF_ERROR(ReplaceIn(before, after, &element));
    if (value->is_list || !Overlap(value->memory, before.memory)) return absl::OkStatus();
    if (value->memory != before.memory) return NoForm("it changes in place what may be read later under another view");
    *value = after;
    return absl::OkStatus();
  }

  static absl::Status NoForm(absl::string_view what) {
    return absl::UnimplementedError(
        absl::StrCat(what, ": ONNX has no form for that; export the model as torchscript, python or cpp"));
  }

  // Lists are written element by element, because operators take them so.
  absl::StatusOr<Value> WriteConstant(const v1::Value& constant) {
    Value value;
    value.type = graph::TypeOfValue(constant);
    value.is_list = constant.has_list();
    for (const v1::Value& element : constant.list().values()) {
      LANISTA_ASSIGN_OR_RETURN(value.elements.emplace_back(), WriteConstant(element));
    }
    if (value.is_list) return value;
    LANISTA_ASSIGN_OR_RETURN(value.name, onnx_->ConstantValue(constant));
    return value;
  }

  static std::vector<v1::ValueType> TypesOf(const std::vector<Value>& values) {
    std::vector<v1::ValueType> types;
    for (const Value& value : values) types.push_back(value.type);
    return types;
  }

  const SourceModel& model_;
  OnnxGraph* const onnx_;
  // Of the graphs that are being written, the outermost first.
  std::vector<LiveValues*> live_;
  // Those that were read, by their names in the file; one that was changed in place is another value.
  std::map<std::string, Value> weights_;
  // Weights of which a view was changed in place.
  std::set<std::string> changed_weights_;
  // Operators, inputs and weights so far.
  int calls_ = 0;
};

// Whether the operator reads indices from this edge.
bool ReadsIndices(const v1::Operator& op, const v1::Edge& edge) {
  static const auto* const arguments = new std::map<std::string, std::set<std::string>>{
      {"aten::embedding", {"indices"}}, {"aten::embedding_bag", {"indices", "offsets"}},
      {"aten::gather", {"index"}},      {"aten::index_select", {"index"}},
      {"aten::one_hot", {"self"}},      {"aten::take", {"index"}}};
  if (op.type() == "Embedding" || op.type() == "EmbeddingBag") return true;
  const auto found = arguments->find(op.type());
  return found != arguments->end() && found->second.count(edge.arg()) > 0;
}

// Finds inputs that hold indices.
class IndexFinder {
 public:
  explicit IndexFinder(const v1::ModelGraph& model) : model_(model) {}

  // Whether an operator reads indices from `port` of `graph`, in a graph that is called there, too.
  bool IsIndex(const v1::Graph& graph, const std::string& port) {
    // Graphs may be called from many places.
    if (!seen_.emplace(&graph, port).second) return false;
    for (const v1::Node& node : graph.nodes()) {
      for (int i = 0; i < node.inputs_size(); ++i) {
        if (node.inputs(i).node() != port) continue;
        if (node.has_op() && ReadsIndices(node.op(), node.inputs(i))) return true;
        if (node.has_cell() && IsIndexOf(node.cell().graph(), i)) return true;
        if (node.has_training_switch() &&
            (IsIndexOf(node.training_switch().training(), i) || IsIndexOf(node.training_switch().evaluation(), i))) {
          return true;
        }
      }
    }
    return false;
  }

 private:
  bool IsIndexOf(const std::string& name, int input) {
    const v1::Graph* const graph = graph::FindGraph(model_, name);
    return graph != nullptr && input < graph->inputs_size() && IsIndex(*graph, graph->inputs(input).name());
  }

  const v1::ModelGraph& model_;
  // What was found to be none, or is being looked at.
  std::set<std::pair<const v1::Graph*, std::string>> seen_;
};

// The types of the inputs, with -1 as their batch dimension.
absl::StatusOr<std::vector<v1::ValueType>> InputTypes(const SourceModel& model, const v1::Graph& graph) {
  std::vector<v1::ValueType> types;
  int64_t batch = -1;
  for (const v1::Port& port : graph.inputs()) {
    v1::ValueType type = port.type();
    if ((type.kind() != v1::ValueType::TENSOR && type.kind() != v1::ValueType::KIND_UNSPECIFIED) || !type.has_shape()) {
      return absl::InvalidArgumentError(
          absl::StrCat("the shape of input '", port.name(), "' is not known (", graph::TypeToText(type),
                       "): ONNX needs it; give input_shape with the model: `input_shape { dims: [-1, 3, 32, 32] }`, or "
                       "--input-shape=-1,3,32,32 on the command line"));
    }
    type.set_kind(v1::ValueType::TENSOR);
    // With input_shape, the importer assumes floating-point inputs.
    if (IndexFinder(model.graph).IsIndex(graph, port.name())) {
      if (type.data_type() != v1::Tensor::INT32) type.set_data_type(v1::Tensor::INT64);
    } else if (type.data_type() == v1::Tensor::DATA_TYPE_UNSPECIFIED) {
      type.set_data_type(v1::Tensor::FLOAT32);
    }
    if (type.shape().dims_size() > 0) {
      if (types.empty()) batch = type.shape().dims(0);
      if (type.shape().dims(0) == batch) type.mutable_shape()->set_dims(0, -1);
    }
    types.push_back(std::move(type));
  }
  return types;
}

// Removes nodes and initializers that no output needs.
void RemoveDead(onnx::GraphProto* graph) {
  std::set<std::string> needed;
  for (const onnx::ValueInfoProto& output : graph->output()) needed.insert(output.name());
  std::vector<bool> keep(static_cast<size_t>(graph->node_size()));
  for (int i = graph->node_size() - 1; i >= 0; --i) {
    const onnx::NodeProto& node = graph->node(i);
    for (const std::string& output : node.output()) keep[i] = keep[i] || needed.count(output) > 0;
    if (keep[i]) needed.insert(node.input().begin(), node.input().end());
  }
  int nodes = 0;
  for (int i = 0; i < graph->node_size(); ++i) {
    if (keep[i]) graph->mutable_node()->SwapElements(nodes++, i);
  }
  graph->mutable_node()->DeleteSubrange(nodes, graph->node_size() - nodes);
  int tensors = 0;
  for (int i = 0; i < graph->initializer_size(); ++i) {
    if (needed.count(graph->initializer(i).name()) > 0) graph->mutable_initializer()->SwapElements(tensors++, i);
  }
  graph->mutable_initializer()->DeleteSubrange(tensors, graph->initializer_size() - tensors);
}

// Replaces lists and tuples by their elements, and drops "none" (GoogLeNet returns it in evaluation mode).
void Flatten(const std::vector<Value>& values, std::vector<Value>* flat) {
  for (const Value& value : values) {
    if (value.is_list) {
      Flatten(value.elements, flat);
    } else if (!value.name.empty()) {
      flat->push_back(value);
    }
  }
}

// Adds the graph's outputs under new names, so that an output is never an input, a weight or another output.
void AddOutputs(const std::vector<Value>& outputs, OnnxGraph* onnx, onnx::GraphProto* graph) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    onnx::NodeProto* const node = graph->add_node();
    const std::string name = onnx->TakeName(outputs.size() == 1 ? "output" : absl::StrCat("output_", i));
    node->set_name(name);
    node->set_op_type("Identity");
    node->add_input(outputs[i].name);
    node->add_output(name);
    SetOnnxType(name, outputs[i].type, graph->add_output());
  }
}

// Takes output types that are unknown here from ONNX's shape inference: outputs need an element type and a rank.
void CompleteOutputs(onnx::ModelProto* model) {
  onnx::ModelProto inferred = *model;
  for (onnx::ValueInfoProto& output : *inferred.mutable_graph()->mutable_output()) output.clear_type();
  onnx::shape_inference::InferShapes(inferred);
  for (int i = 0; i < model->graph().output_size(); ++i) {
    onnx::ValueInfoProto* const output = model->mutable_graph()->mutable_output(i);
    const auto& type = output->type().tensor_type();
    const auto& found = inferred.graph().output(i).type().tensor_type();
    if (found.has_elem_type() && (!type.has_elem_type() || !type.has_shape())) {
      *output->mutable_type() = inferred.graph().output(i).type();
    }
  }
}

}  // namespace

absl::StatusOr<std::string> OnnxModel(const SourceModel& model, const TensorReader& read_tensor) {
  const v1::Graph& root = graph::RootGraph(model.graph);
  LANISTA_ASSIGN_OR_RETURN(const std::vector<v1::ValueType> types, InputTypes(model, root));
  onnx::ModelProto file;
  file.set_ir_version(kIrVersion);
  file.set_producer_name("lanista");
  file.add_opset_import()->set_version(kOpset);
  if (model.data.has_value()) {
    onnx::StringStringEntryProto* const entry = file.add_metadata_props();
    entry->set_key("lanista.data");
    entry->set_value(DataJsonText(*model.data));
  }
  onnx::GraphProto* const graph = file.mutable_graph();
  graph->set_name(model.name);

  OnnxGraph onnx(model, read_tensor, graph);
  std::vector<Value> inputs;
  int64_t last_number = -1;
  for (int i = 0; i < root.inputs_size(); ++i) {
    inputs.push_back({onnx.TakeName(root.inputs(i).name()), types[static_cast<size_t>(i)]});
    SetOnnxType(inputs.back().name, inputs.back().type, graph->add_input());
    graph::NumberDimensions(&inputs.back().type, &last_number);
  }
  LANISTA_ASSIGN_OR_RETURN(const std::vector<Value> outputs, Builder(model, &onnx).WriteGraph(root, "", inputs));
  std::vector<Value> flat;
  Flatten(outputs, &flat);
  AddOutputs(flat, &onnx, graph);
  RemoveDead(graph);
  if (file.ByteSizeLong() > kMaxBytes) {
    return absl::UnimplementedError("the model is larger than 2 GB: too large for one ONNX file");
  }
  try {
    CompleteOutputs(&file);
    onnx::checker::check_model(file);
    onnx::ModelProto strict = file;
    onnx::shape_inference::InferShapes(strict, onnx::OpSchemaRegistry::Instance(), {true, 1, true});
  } catch (const std::exception& error) {
    return absl::InternalError(absl::StrCat("the ONNX file would not be valid: ", error.what()));
  }
  return file.SerializeAsString();
}

}  // namespace lanista::exporters
