#include "src/frontends/model_reader.h"

#include <torch/csrc/jit/api/function_impl.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "src/frontends/marked_choices.h"
#include "src/frontends/module_scan.h"
#include "src/graph/graph.h"
#include "src/ops/registry.h"

namespace lanista::frontends {
namespace {

namespace jit = torch::jit;
using Values = std::vector<AbstractValue>;

// Limit for unrolled loops and nested calls: no network needs more.
constexpr int64_t kMaxSteps = 5000000;
// Less than the limit of graph::Validate.
constexpr int kMaxModuleDepth = 90;

// Overloads, such as those of LSTM, are called "forward__0" and "forward__1".
bool IsForward(const std::string& method) { return method == "forward" || absl::StartsWith(method, "forward__"); }

// "x.1" -> "x".
std::string BaseName(const std::string& name) { return name.substr(0, name.find('.')); }

const jit::Graph& GraphOf(const jit::Module& module, const std::string& method) {
  jit::Function* const function = module.type()->findMethod(method);
  auto* const graph_function = function == nullptr ? nullptr : jit::tryToGraphFunction(*function);
  if (graph_function == nullptr) throw Unsupported(absl::StrCat("calls '", method, "', which is not TorchScript"));
  return *graph_function->graph();
}

bool IsDefault(const AbstractValue& value, const c10::Argument& argument) {
  const auto known = value.Known();
  const auto mine = known.has_value() ? ToValue(*known) : std::nullopt;
  const auto usual = argument.default_value().has_value() ? ToValue(*argument.default_value()) : std::nullopt;
  return mine.has_value() && usual.has_value() && mine->SerializeAsString() == usual->SerializeAsString();
}

// Sets an attribute that is an argument of forward, such as need_weights of attention. False: the value is unknown.
bool SetAttribute(const std::string& name, const AbstractValue& value, v1::Operator* op) {
  const auto known = value.Known();
  const auto constant = known.has_value() ? ToValue(*known) : std::nullopt;
  if (!constant.has_value()) return false;
  v1::Attribute* const attribute = op->add_attr();
  attribute->set_key(name);
  *attribute->mutable_value() = *constant;
  std::sort(op->mutable_attr()->begin(), op->mutable_attr()->end(),
            [](const v1::Attribute& a, const v1::Attribute& b) { return a.key() < b.key(); });
  return true;
}

// Whether the operator's attributes say that this output is none.
bool IsNone(const v1::Operator& op, int slot) {
  return slot == 1 && op.type() == "MultiheadAttention" &&
         std::any_of(op.attr().begin(), op.attr().end(),
                     [](const v1::Attribute& one) { return one.key() == "need_weights" && !one.value().b(); });
}

// The outputs of a node in the structure of a type: (Tensor, (Tensor, Tensor)) has three. Throws Unsupported for types
// that an operator cannot return.
AbstractValue Slots(const c10::TypePtr& type, GraphWriter* writer, const std::string& node, int* slot) {
  if (const auto tuple = type->cast<c10::TupleType>()) {
    Values elements;
    for (const c10::TypePtr& element : tuple->elements()) elements.push_back(Slots(element, writer, node, slot));
    return AbstractValue::Sequence(AbstractValue::Kind::kTuple, std::move(elements), type, nullptr);
  }
  c10::TypePtr plain = type;
  if (const auto optional = type->cast<c10::OptionalType>()) plain = optional->getElementType();
  if (plain->kind() != c10::TypeKind::TensorType) throw Unsupported("returns no tensor");
  return writer->Output(node, (*slot)++, plain);
}

int CountSlots(const c10::TypePtr& type) {
  const auto tuple = type->cast<c10::TupleType>();
  if (tuple == nullptr) return 1;
  int count = 0;
  for (const c10::TypePtr& element : tuple->elements()) count += CountSlots(element);
  return count;
}

// The edges in a value, in order.
void CollectEdges(const AbstractValue& value, Values* edges) {
  value.Map([&](const AbstractValue& edge) {
    edges->push_back(edge);
    return edge;
  });
}

// Unpacks a tuple that is one edge: returns an edge for each element.
Values UnpackTuple(const AbstractValue& value, const c10::TupleType& type, GraphWriter* writer) {
  v1::Node unpack;
  unpack.set_name("unpack");
  unpack.mutable_op()->set_type("prim::TupleUnpack");
  *unpack.add_inputs() = writer->Read(value, "0");
  for (const c10::TypePtr& element : type.elements()) *unpack.add_outputs() = KindOf(element);
  const std::string unpacked = writer->AddNode(std::move(unpack), GraphWriter::Effect::kNone);
  Values elements;
  for (size_t i = 0; i < type.elements().size(); ++i) {
    elements.push_back(writer->Output(unpacked, static_cast<int>(i), type.elements()[i]));
  }
  return elements;
}

// Adds a node to a finished graph. Returns its name: the given one, with a number if it is taken.
std::string AddLate(v1::Node node, v1::Graph* graph) {
  const std::string wish = node.name();
  const auto is_taken = [&](const std::string& name) {
    const auto has_name = [&](const auto& one) { return one.name() == name; };
    return std::any_of(graph->nodes().begin(), graph->nodes().end(), has_name) ||
           std::any_of(graph->inputs().begin(), graph->inputs().end(), has_name);
  };
  for (int number = 2; is_taken(node.name()); ++number) node.set_name(absl::StrCat(wish, "_", number));
  *graph->add_nodes() = node;
  return node.name();
}

// The edge for a value that a finished graph is to return; `edges` are the graph's outputs so far. Constants and nested
// sequences become nodes.
v1::Edge OutputEdge(const AbstractValue& value, const std::vector<v1::Edge>& edges, v1::Graph* graph) {
  v1::Edge edge;
  if (value.is_edge()) return edges.at(static_cast<size_t>(value.slot));
  if (!value.is_compound()) {
    GraphWriter writer({});
    writer.ToEdge(value);
    edge.set_node(AddLate(writer.graph().nodes(0), graph));
    return edge;
  }
  const bool list = value.kind == AbstractValue::Kind::kList;
  v1::Node node;
  node.set_name(list ? "list" : "tuple");
  node.mutable_op()->set_type(list ? "prim::ListConstruct" : "prim::TupleConstruct");
  for (size_t i = 0; i < value.elements->size(); ++i) {
    *node.add_inputs() = OutputEdge((*value.elements)[i], edges, graph);
    node.mutable_inputs(static_cast<int>(i))->set_arg(absl::StrCat(i));
  }
  *node.add_outputs() = KindOf(value.type);
  edge.set_node(AddLate(std::move(node), graph));
  return edge;
}

// Names that only modules, parameters and buffers may have.
std::set<std::string> AttributeNames(const jit::Module& module) {
  std::set<std::string> names;
  for (size_t i = 0; i < module.type()->numAttributes(); ++i) {
    const c10::TypePtr& type = module.type()->getAttribute(i);
    if (type->is_module() || type->kind() == c10::TypeKind::TensorType || type->kind() == c10::TypeKind::OptionalType) {
      names.insert(module.type()->getAttributeName(i));
    }
  }
  return names;
}

bool HoldsList(const AbstractValue& value) {
  if (value.kind == AbstractValue::Kind::kList || value.kind == AbstractValue::Kind::kDict) return true;
  return value.is_compound() && std::any_of(value.elements->begin(), value.elements->end(), HoldsList);
}

}  // namespace

ModelReader::ModelReader(std::set<std::string> basic_units, v1::ModelGraph* model)
    : basic_units_(std::move(basic_units)), model_(model) {}

void ModelReader::ReadRoot(const jit::Module& module, int num_inputs) {
  sharing_ = FindSharedMemory(module);
  std::map<std::string, std::string> more;
  bool is_known = true;
  do {
    sharing_.insert(more.begin(), more.end());
    model_->clear_graphs();
    model_->clear_value_choices();
    model_->clear_warnings();
    graph_numbers_.clear();
    value_places_.clear();
    steps_ = 0;
    ReadRootOnce(module, num_inputs);
    more.clear();
    is_known = true;
    for (const std::string& path : FindDoubleUse(*model_, owners_)) {
      more[path] = "uses a parameter in two places";
      is_known = is_known && sharing_.count(path) > 0;
    }
  } while (!is_known);
  RequireAllChoices(module, *model_);
  NumberAutomaticLabels(model_);
}

void ModelReader::ReadRootOnce(const jit::Module& module, int num_inputs) {
  const c10::FunctionSchema& schema = module.get_method("forward").function().getSchema();
  GraphWriter writer({});
  Values arguments;
  // Argument 0 is the module itself.
  for (size_t i = 1; i < schema.arguments().size(); ++i) {
    const c10::Argument& argument = schema.arguments()[i];
    const bool given = num_inputs == 0 ? !argument.default_value().has_value() : static_cast<int>(i) <= num_inputs;
    if (!given) break;
    arguments.push_back(writer.AddInput(argument.name(), argument.type()));
  }
  const std::string name = ClassName(module);
  const AbstractValue result = CallModule(AbstractValue::Module(module, ""), name, "forward", arguments, &writer);
  // Tuples, lists and dictionaries become several outputs; sequences within them stay whole.
  const Values outputs = result.is_compound() ? *result.elements : Values{result};
  if (result.kind == AbstractValue::Kind::kDict) {
    Warn("the model returns a dictionary: here, and in exports, its values are a tuple");
  }
  if (writer.graph().nodes_size() == 1 && writer.graph().nodes(0).has_cell()) {
    // The graph has only a call of the module, so the module's graph becomes the root, and its nodes get names without
    // a prefix. The edges of the result are its outputs, in order; constants among them become nodes.
    v1::Graph* const graph = graph::FindGraph(model_, writer.graph().nodes(0).cell().graph());
    const std::vector<v1::Edge> edges(graph->outputs().begin(), graph->outputs().end());
    graph->clear_outputs();
    for (const AbstractValue& output : outputs) *graph->add_outputs() = OutputEdge(output, edges, graph);
    model_->set_root(graph->name());
    return;
  }
  for (const AbstractValue& output : outputs) *writer.graph().add_outputs() = writer.Read(output);
  writer.Finish();
  model_->set_root(AddGraph(writer.graph(), name));
}

AbstractValue ModelReader::CallModule(const AbstractValue& module, const std::string& name, const std::string& method,
                                      const Values& arguments, GraphWriter* writer) {
  Call call{*module.module, module.path, name, method, arguments, writer};
  const jit::Function* const function = call.module.type()->findMethod(method);
  if (function == nullptr) throw Unsupported(absl::StrCat("calls '", method, "', which is not there"));
  const auto& schema = function->getSchema();
  for (size_t i = arguments.size() + 1; i < schema.arguments().size(); ++i) {
    const c10::Argument& argument = schema.arguments()[i];
    if (!argument.default_value().has_value()) throw Unsupported(absl::StrCat("needs '", argument.name(), "'"));
    call.arguments.push_back(AbstractValue::Constant(*argument.default_value()));
  }
  NoteOwner(call.path, name);
  if (basic_units_.count(ClassName(call.module)) > 0) {
    RequireNoChoices(call.module, call.path, "is a basic unit");
    return CallOpaque(call);
  }
  if (const auto shared = sharing_.find(call.path); shared != sharing_.end()) {
    RequireNoChoices(call.module, call.path, shared->second);
    WarnKept(call, "uses a parameter in two places");
    return CallOpaque(call);
  }
  if (IsForward(method)) {
    AbstractValue result;
    if (CallChoice(call, &result)) return result;
    auto op = ReadOperator(call.module);
    if (op.has_value()) {
      std::vector<Argument> inputs;
      if (OperatorInputs(call, &*op, &inputs)) {
        AddValueChoices(call.module, call.path, &op->op);
        return CallOperator(call, *op, inputs);
      }
    }
  }
  return CallUserModule(call);
}

bool ModelReader::OperatorInputs(const Call& call, ModuleOperator* op, std::vector<Argument>* inputs) {
  const graph::OpSchema& schema = *ops::FindOp(op->op.type());
  const c10::FunctionSchema& forward = call.module.type()->getMethod(call.method).getSchema();
  const int slots = CountSlots(forward.returns().at(0).type());
  if (slots != schema.NumOutputs(graph::Attributes(schema, op->op))) return false;
  // Arguments after one that is left out need names, and masks always do.
  const bool has_masks = schema.type() == "MultiheadAttention";
  bool by_name = false;
  for (size_t i = 0; i < call.arguments.size(); ++i) {
    const AbstractValue& value = call.arguments[i];
    const c10::Argument& argument = forward.arguments().at(i + 1);
    by_name = by_name || (has_masks && i >= 3);
    if (schema.FindAttribute(argument.name()) != nullptr) {
      if (!IsDefault(value, argument) && !SetAttribute(argument.name(), value, &op->op)) return false;
      by_name = true;
      continue;
    }
    if (IsDefault(value, argument)) {
      by_name = true;
      continue;
    }
    if (value.is_constant() && !value.constant.isTensor()) return false;
    if (value.kind == AbstractValue::Kind::kList || value.kind == AbstractValue::Kind::kDict) return false;
    const auto tuple = value.is_edge() && value.type != nullptr ? value.type->cast<c10::TupleType>() : nullptr;
    if (tuple != nullptr) {
      // The states of an LSTM, if they are inputs of the model.
      for (AbstractValue& element : UnpackTuple(value, *tuple, call.writer))
        inputs->push_back({std::move(element), ""});
    } else if (value.kind != AbstractValue::Kind::kTuple) {
      inputs->push_back({value, by_name ? argument.name() : ""});
    } else {
      // The states of a recurrent network.
      for (const AbstractValue& element : *value.elements) {
        if (!element.is_edge()) return false;
        inputs->push_back({element, ""});
      }
    }
  }
  const bool named = std::any_of(inputs->begin(), inputs->end(), [](const Argument& one) { return !one.name.empty(); });
  if (named && !has_masks) return false;
  const int count = static_cast<int>(inputs->size());
  return count >= schema.min_inputs() && (schema.max_inputs() < 0 || count <= schema.max_inputs());
}

AbstractValue ModelReader::CallOperator(const Call& call, const ModuleOperator& op,
                                        const std::vector<Argument>& inputs) {
  const c10::FunctionSchema& forward = call.module.type()->getMethod(call.method).getSchema();
  v1::Node node;
  node.set_name(call.name);
  *node.mutable_op() = op.op;
  node.set_frozen(op.frozen);
  if (op.has_weights) node.mutable_weights()->set_path(call.path);
  for (const Argument& input : inputs) *node.add_inputs() = call.writer->Read(input.value, input.name);
  const int outputs = CountSlots(forward.returns().at(0).type());
  for (int i = 0; i < outputs; ++i) {
    *node.add_outputs() = IsNone(op.op, i) ? v1::ValueType() : KindOf(c10::TensorType::get());
  }
  const std::string name = call.writer->AddModuleNode(std::move(node), GraphWriter::Effect::kSome);
  int slot = 0;
  const AbstractValue result = Slots(forward.returns().at(0).type(), call.writer, name, &slot);
  for (int i = 0; result.is_compound() && i < static_cast<int>(result.elements->size()); ++i) {
    if (IsNone(op.op, i)) result.elements->at(static_cast<size_t>(i)) = AbstractValue::Constant(c10::IValue());
  }
  return result;
}

AbstractValue ModelReader::CallUserModule(const Call& call) {
  // Undoes what a failed attempt added to the model.
  const int graphs = model_->graphs_size(), warnings = model_->warnings_size();
  const int choices = model_->value_choices_size();
  const auto numbers = graph_numbers_;
  const int depth = depth_;
  std::string reason;
  try {
    return CallCell(call);
  } catch (const LostChoice&) {
    throw;
  } catch (const Unsupported& error) {
    reason = error.what();
  } catch (const c10::Error& error) {
    reason = absl::StrCat("fails: ", error.what_without_backtrace());
  } catch (const std::exception& error) {
    reason = absl::StrCat("cannot be followed: ", error.what());
  }
  model_->mutable_graphs()->DeleteSubrange(graphs, model_->graphs_size() - graphs);
  model_->mutable_warnings()->DeleteSubrange(warnings, model_->warnings_size() - warnings);
  model_->mutable_value_choices()->DeleteSubrange(choices, model_->value_choices_size() - choices);
  graph_numbers_ = numbers;
  depth_ = depth;
  if (call.method != "forward") throw Unsupported(reason);
  RequireNoChoices(call.module, call.path, reason);
  AbstractValue result = CallOpaque(call);
  WarnKept(call, reason);
  return result;
}

AbstractValue ModelReader::CallCell(const Call& call) {
  if (++depth_ > kMaxModuleDepth) throw Unsupported("nests modules too deeply");
  const jit::Graph& script = GraphOf(call.module, call.method);
  GraphWriter inner(AttributeNames(call.module));
  MethodReader reader(this, call.module, call.path, &inner);

  // Each edge of the arguments becomes an input.
  Values arguments = {reader.Self()};
  v1::Node node;
  for (size_t i = 0; i < call.arguments.size(); ++i) {
    const std::string wish = BaseName(script.inputs().at(i + 1)->debugName());
    arguments.push_back(call.arguments[i].Map([&](const AbstractValue& edge) {
      *node.add_inputs() = call.writer->Read(edge);
      AbstractValue input = inner.AddInput(wish, edge.type);
      input.flag = edge.flag;
      return input;
    }));
  }
  const AbstractValue result = reader.Call(script, arguments);
  Values outputs;
  CollectEdges(result, &outputs);
  for (const AbstractValue& output : outputs) *inner.graph().add_outputs() = inner.Read(output);
  inner.Finish();
  if (!inner.captured().empty()) throw Unsupported("uses values of the module around it");
  --depth_;

  const bool is_forward = call.method == "forward";
  node.set_name(is_forward ? call.name : absl::StrCat(call.name, "_", call.method));
  if (!is_forward) node.set_module(call.name);
  node.mutable_cell()->set_graph(AddGraph(inner.graph(), ClassName(call.module)));
  for (const AbstractValue& output : outputs) *node.add_outputs() = KindOf(output.type);
  const std::string name = call.writer->AddModuleNode(std::move(node), GraphWriter::Effect::kSome);
  int slot = 0;
  return result.Map([&](const AbstractValue& edge) {
    AbstractValue output = call.writer->Output(name, slot++, edge.type);
    output.flag = edge.flag;
    return output;
  });
}

AbstractValue ModelReader::CallOpaque(const Call& call) {
  if (call.method != "forward") throw Unsupported(absl::StrCat("calls '", call.method, "' of '", call.path, "'"));
  for (const AbstractValue& value : call.arguments) {
    if (HoldsList(value) && ChangesLists(call.module)) {
      throw Unsupported(absl::StrCat("hands a list to '", call.path, "', which may change it"));
    }
  }
  const c10::FunctionSchema& schema = call.module.type()->getMethod("forward").getSchema();
  Values given = call.arguments;
  while (!given.empty() && IsDefault(given.back(), schema.arguments().at(given.size()))) given.pop_back();
  v1::Node node;
  node.set_name(call.name);
  node.mutable_opaque()->set_path(call.path);
  node.mutable_opaque()->set_type(ClassName(call.module));
  for (const AbstractValue& value : given) *node.add_inputs() = call.writer->Read(value);
  const c10::TypePtr type = schema.returns().at(0).type();
  *node.add_outputs() = KindOf(type);
  const std::string name = call.writer->AddModuleNode(std::move(node), GraphWriter::Effect::kSome);
  AbstractValue result = call.writer->Output(name, 0, type);
  const auto tuple = type->cast<c10::TupleType>();
  if (tuple == nullptr) return result;
  return AbstractValue::Sequence(AbstractValue::Kind::kTuple, UnpackTuple(result, *tuple, call.writer), type, nullptr);
}

std::string ModelReader::AddGraph(v1::Graph graph, const std::string& wish) {
  const int number = ++graph_numbers_[wish];
  graph.set_name(number == 1 ? wish : absl::StrCat(wish, "_", number));
  // A class may also be called "Block_2".
  while (graph::FindGraph(*model_, graph.name()) != nullptr) {
    graph.set_name(absl::StrCat(wish, "_", ++graph_numbers_[wish]));
  }
  *model_->add_graphs() = graph;
  return graph.name();
}

void ModelReader::CountSteps(int64_t count) {
  steps_ += count;
  if (steps_ > kMaxSteps) throw Unsupported("takes too many steps");
}

void ModelReader::NoteOwner(const std::string& path, const std::string& name) {
  const std::string owner = path.size() <= name.size() ? "" : path.substr(0, path.size() - name.size() - 1);
  const auto [entry, is_new] = owners_.emplace(path, owner);
  if (!is_new && owner.size() < entry->second.size()) entry->second = owner;
}

void ModelReader::WarnKept(const Call& call, const std::string& reason) {
  const std::string place = call.path.empty() ? "the model" : absl::StrCat("module '", call.path, "'");
  Warn(absl::StrCat(place, " (", ClassName(call.module), "): ", reason, ": kept whole"));
}

void ModelReader::Warn(const std::string& warning) {
  const auto& warnings = model_->warnings();
  if (std::find(warnings.begin(), warnings.end(), warning) == warnings.end()) model_->add_warnings(warning);
}

}  // namespace lanista::frontends
