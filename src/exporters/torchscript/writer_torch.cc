#include "src/exporters/torchscript/writer_torch.h"

#include <ATen/core/jit_type.h>
#include <c10/util/Exception.h>
#include <torch/csrc/jit/api/compilation_unit.h>
#include <torch/csrc/jit/frontend/schema_matching.h>
#include <torch/csrc/jit/ir/ir.h>
#include <torch/csrc/jit/runtime/operator.h>

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "src/base/status.h"
#include "src/exporters/common/source_names.h"
#include "src/exporters/common/types_torch.h"
#include "src/graph/built_in.h"
#include "src/graph/graph.h"
#include "src/runtime/aten_call_torch.h"

namespace lanista::exporters {
namespace {

namespace jit = torch::jit;

using Values = std::map<std::pair<std::string, int>, jit::Value*>;

// Writes forward methods; a method comes after the methods that it calls.
class ForwardBuilder {
 public:
  ForwardBuilder(const SourceModel& model, ScriptModules* modules) : model_(model), modules_(modules) {}

  // Writes the forward method of `scope`, the model or a cell, for inputs of these types.
  absl::Status Write(ScriptModule* scope, const std::vector<c10::TypePtr>& types) {
    auto graph = std::make_shared<jit::Graph>();
    Place place{graph.get(), graph->addInput("self")->setType(scope->module.type()), scope};
    NameScope names(PythonReserved());
    Values values;
    for (int i = 0; i < scope->graph->inputs_size(); ++i) {
      const std::string& name = scope->graph->inputs(i).name();
      values[{name, 0}] = graph->addInput(names.Take(ToIdentifier(name)))->setType(types.at(static_cast<size_t>(i)));
    }
    LANISTA_RETURN_IF_ERROR(WriteNodes(place, *scope->graph, &values));
    std::vector<jit::Value*> results;
    for (const v1::Edge& edge : scope->graph->outputs()) results.push_back(values.at({edge.node(), edge.slot()}));
    graph->registerOutput(results.size() == 1 ? results[0] : graph->insertNode(graph->createTuple(results))->output());
    const auto type = scope->module.type();
    type->addMethod(scope->module._ivalue()->compilation_unit()->create_function(
        c10::QualifiedName(*type->name(), "forward"), graph));
    scope->complete = true;
    return absl::OkStatus();
  }

 private:
  // The position at which code is written.
  struct Place {
    jit::Graph* graph;
    jit::Value* self;
    const ScriptModule* scope;
  };

  absl::Status WriteNodes(const Place& place, const v1::Graph& graph, Values* values) {
    LANISTA_ASSIGN_OR_RETURN(const std::vector<int> order, graph::ExecutionOrder(graph));
    for (const int index : order) {
      const v1::Node& node = graph.nodes(index);
      std::vector<jit::Value*> inputs;
      for (const v1::Edge& edge : node.inputs()) inputs.push_back(values->at({edge.node(), edge.slot()}));
      absl::StatusOr<std::vector<jit::Value*>> outputs = Guarded(place, node, inputs);
      if (!outputs.ok()) {
        const std::string path = graph::JoinPath(place.scope->path, node.name());
        // A status from a cell already names the node within it.
        if (node.has_cell() || node.has_training_switch()) return outputs.status();
        return Annotate(outputs.status(), absl::StrCat("node '", path, "'"));
      }
      for (size_t slot = 0; slot < outputs->size(); ++slot) {
        (*values)[{node.name(), static_cast<int>(slot)}] = (*outputs)[slot];
      }
    }
    return absl::OkStatus();
  }

  // Calls WriteNode and turns exceptions of LibTorch (arguments that do not fit a schema) into a status.
  absl::StatusOr<std::vector<jit::Value*>> Guarded(const Place& place, const v1::Node& node,
                                                   const std::vector<jit::Value*>& inputs) {
    try {
      return WriteNode(place, node, inputs);
    } catch (const c10::Error& error) {
      return absl::InvalidArgumentError(error.what_without_backtrace());
    } catch (const std::exception& error) {
      return absl::InvalidArgumentError(error.what());
    }
  }

  absl::StatusOr<std::vector<jit::Value*>> WriteNode(const Place& place, const v1::Node& node,
                                                     const std::vector<jit::Value*>& inputs) {
    jit::Graph& graph = *place.graph;
    if (node.has_training_switch()) return WriteSwitch(place, node, inputs);
    if (OwnsModule(node) && !IsBuiltIn(node)) return CallModule(place, node, inputs);
    if (!node.has_op()) return absl::InvalidArgumentError("it is still a choice");
    const std::string& type = node.op().type();
    const graph::BuiltIn built_in = graph::BuiltInOf(type);
    if (built_in == graph::BuiltIn::kParameter) {
      return std::vector<jit::Value*>{GetAttribute(place, graph::ModuleOf(node))};
    }
    if (built_in == graph::BuiltIn::kTraining) {
      const bool frozen = place.scope->frozen || node.frozen();
      return std::vector<jit::Value*>{frozen ? graph.insertConstant(false)
                                             : graph.insertGetAttr(place.self, "training")};
    }
    if (IsConstant(node)) {
      LANISTA_ASSIGN_OR_RETURN(const c10::IValue constant, runtime::ToIValue(ConstantOf(node)));
      return std::vector<jit::Value*>{graph.insertConstant(constant)};
    }
    if (built_in == graph::BuiltIn::kAssert) return WriteAssert(place, node, inputs);
    if (IsPrimitive(type)) return WritePrimitive(graph, node, inputs);
    return WriteAten(graph, node, inputs);
  }

  static jit::Value* GetAttribute(const Place& place, const std::string& path) {
    jit::Value* value = place.self;
    for (const absl::string_view part : absl::StrSplit(path, '.')) {
      value = place.graph->insertGetAttr(value, std::string(part));
    }
    return value;
  }

  static std::vector<jit::Value*> Unpack(jit::Graph& graph, jit::Value* value, int count) {
    if (count == 1 || value->type()->kind() != c10::TypeKind::TupleType) return {value};
    const auto outputs = graph.insertNode(graph.createTupleUnpack(value))->outputs();
    return {outputs.begin(), outputs.end()};
  }

  absl::StatusOr<std::vector<jit::Value*>> CallModule(const Place& place, const v1::Node& node,
                                                      const std::vector<jit::Value*>& inputs) {
    ScriptModule& callee = modules_->At(graph::JoinPath(place.scope->path, graph::ModuleOf(node)));
    if (!callee.complete) {
      std::vector<c10::TypePtr> types;
      for (const jit::Value* const input : inputs) types.push_back(c10::unshapedType(input->type()));
      LANISTA_RETURN_IF_ERROR(Write(&callee, types));
    }
    std::vector<jit::NamedValue> arguments{jit::NamedValue(GetAttribute(place, graph::ModuleOf(node)))};
    for (jit::Value* const input : inputs) arguments.emplace_back(input);
    const jit::Method forward = callee.module.get_method("forward");
    const jit::MatchedSchema matched =
        jit::matchSchema(forward.function().getSchema(), Location(node), *place.graph, arguments, {});
    return Unpack(*place.graph, place.graph->insertMethodCall("forward", matched), NumOutputs(model_, node));
  }

  absl::StatusOr<std::vector<jit::Value*>> WriteSwitch(const Place& place, const v1::Node& node,
                                                       const std::vector<jit::Value*>& inputs) {
    const v1::TrainingSwitch& arms = node.training_switch();
    if (place.scope->frozen || node.frozen()) return WriteArm(place, arms.evaluation(), inputs);
    jit::Graph& graph = *place.graph;
    jit::Node* const branch =
        graph.insertNode(graph.create(c10::prim::If, {graph.insertGetAttr(place.self, "training")}, 0));
    std::vector<std::vector<jit::Value*>> results;
    for (const std::string& arm : {arms.training(), arms.evaluation()}) {
      jit::Block* const block = branch->addBlock();
      const jit::WithInsertPoint here(block);
      LANISTA_ASSIGN_OR_RETURN(results.emplace_back(), WriteArm(place, arm, inputs));
      for (jit::Value* const value : results.back()) block->registerOutput(value);
    }
    if (results[0].size() != results[1].size()) {
      return absl::InvalidArgumentError("its two graphs have different numbers of outputs");
    }
    std::vector<jit::Value*> outputs;
    for (size_t i = 0; i < results[0].size(); ++i) {
      // If one arm gives none, the type is optional.
      const auto type = c10::unifyTypes(c10::unshapedType(results[0][i]->type()),
                                        c10::unshapedType(results[1][i]->type()), /*default_to_union=*/false);
      if (!type) return absl::InvalidArgumentError(absl::StrCat("its two graphs differ in the type of output ", i));
      outputs.push_back(branch->addOutput()->setType(*type));
    }
    return outputs;
  }

  absl::StatusOr<std::vector<jit::Value*>> WriteArm(const Place& place, const std::string& name,
                                                    const std::vector<jit::Value*>& inputs) {
    const v1::Graph* const arm = graph::FindGraph(model_.graph, name);
    if (arm == nullptr) return absl::InvalidArgumentError(absl::StrCat("there is no graph '", name, "'"));
    Values values;
    for (int i = 0; i < arm->inputs_size(); ++i) values[{arm->inputs(i).name(), 0}] = inputs.at(static_cast<size_t>(i));
    LANISTA_RETURN_IF_ERROR(WriteNodes(place, *arm, &values));
    std::vector<jit::Value*> results;
    for (const v1::Edge& edge : arm->outputs()) results.push_back(values.at({edge.node(), edge.slot()}));
    return results;
  }

  static absl::StatusOr<std::vector<jit::Value*>> WriteAssert(const Place& place, const v1::Node& node,
                                                              const std::vector<jit::Value*>& inputs) {
    jit::Graph& graph = *place.graph;
    std::string message = "assertion failed";
    for (const v1::Attribute& attribute : node.op().attr()) {
      if (attribute.key() == "message") message = attribute.value().s();
    }
    jit::Value* condition = inputs.empty() ? graph.insertConstant(false) : inputs[0];
    if (condition->type()->isSubtypeOf(*c10::TensorType::get())) {
      condition = graph.insert(c10::aten::Bool, {condition});
    }
    jit::Node* const branch = graph.insertNode(graph.create(c10::prim::If, {condition}, 0));
    branch->addBlock();
    const jit::WithInsertPoint here(branch->addBlock());
    graph.insert(c10::prim::RaiseException, {graph.insertConstant(message)});
    return std::vector<jit::Value*>{};
  }

  // Writes prim::ListConstruct and similar primitives.
  absl::StatusOr<std::vector<jit::Value*>> WritePrimitive(jit::Graph& graph, const v1::Node& node,
                                                          const std::vector<jit::Value*>& inputs) {
    std::vector<jit::Value*> values;
    for (const PrimitiveArgument& argument : PrimitiveArguments(node)) {
      if (argument.constant == nullptr) {
        values.push_back(inputs.at(static_cast<size_t>(argument.input)));
        continue;
      }
      LANISTA_ASSIGN_OR_RETURN(const c10::IValue constant, runtime::ToIValue(*argument.constant));
      values.push_back(graph.insertConstant(constant));
    }
    const std::string& type = node.op().type();
    if (type == "prim::TupleConstruct") {
      return std::vector<jit::Value*>{graph.insertNode(graph.createTuple(values))->output()};
    }
    if (type == "prim::ListConstruct") {
      const c10::TypePtr element = values.empty() ? c10::TensorType::get() : c10::unshapedType(values[0]->type());
      return std::vector<jit::Value*>{graph.insertNode(graph.createList(element, values))->output()};
    }
    jit::Node* const unpack =
        graph.insertNode(type == "prim::TupleUnpack"
                             ? graph.createTupleUnpack(values.at(0))
                             : graph.createListUnpack(values.at(0), static_cast<size_t>(NumOutputs(model_, node))));
    return std::vector<jit::Value*>(unpack->outputs().begin(), unpack->outputs().end());
  }

  static absl::StatusOr<std::vector<jit::Value*>> WriteAten(jit::Graph& graph, const v1::Node& node,
                                                            const std::vector<jit::Value*>& inputs) {
    const std::shared_ptr<jit::Operator> found = runtime::FindAtenOperator(node.op().type());
    if (found == nullptr) {
      return absl::UnimplementedError(absl::StrCat("operator ", node.op().type(), " is not known to LibTorch"));
    }
    const c10::FunctionSchema& schema = found->schema();
    std::map<std::string, std::vector<jit::Value*>> given;
    for (size_t i = 0; i < inputs.size(); ++i) given[node.inputs(static_cast<int>(i)).arg()].push_back(inputs[i]);
    for (const v1::Attribute& attribute : node.op().attr()) {
      const c10::optional<int> index = schema.argumentIndexWithName(attribute.key());
      if (!index) {
        return absl::InvalidArgumentError(
            absl::StrCat("operator ", node.op().type(), " has no argument '", attribute.key(), "'"));
      }
      const c10::TypePtr& type = schema.arguments()[static_cast<size_t>(*index)].type();
      // If the argument's type is generic, the constant's own type is used.
      LANISTA_ASSIGN_OR_RETURN(const c10::IValue constant, type->hasFreeVariables()
                                                               ? runtime::ToIValue(attribute.value())
                                                               : runtime::ToIValue(attribute.value(), type));
      given[attribute.key()].push_back(graph.insertConstant(constant));
    }
    std::vector<jit::NamedValue> positional;
    std::vector<jit::NamedValue> named;
    for (const c10::Argument& argument : schema.arguments()) {
      const auto values = given.find(argument.name());
      jit::Value* value = nullptr;
      if (values != given.end()) {
        value = Gather(graph, Location(node), argument.type(), values->second);
      } else if (!argument.kwarg_only() && argument.default_value()) {
        value = graph.insertConstant(*argument.default_value());
      } else if (argument.kwarg_only()) {
        continue;
      } else {
        return absl::InvalidArgumentError(
            absl::StrCat("operator ", node.op().type(), " needs argument '", argument.name(), "'"));
      }
      if (argument.kwarg_only()) {
        named.emplace_back(argument.name(), value);
      } else {
        positional.emplace_back(value);
      }
    }
    const jit::MatchedSchema matched = jit::matchSchema(schema, Location(node), graph, positional, named);
    jit::Node* const call =
        graph.insertNode(graph.create(c10::Symbol::fromQualString(schema.name()), matched.inputs, 0));
    std::vector<jit::Value*> outputs;
    for (const c10::TypePtr& type : matched.return_types) outputs.push_back(call->addOutput()->setType(type));
    call->getOperation();  // Throws unless the operator is found by its name and types.
    return outputs;
  }

  // The value of one argument; if it is a list, its elements are collected.
  static jit::Value* Gather(jit::Graph& graph, const jit::SourceRange& location, const c10::TypePtr& type,
                            const std::vector<jit::Value*>& values) {
    c10::TypePtr list = type;
    if (const auto optional = list->cast<c10::OptionalType>()) list = optional->getElementType();
    if (list->kind() != c10::TypeKind::ListType) return values[0];
    // A value that is a list (or none) already is passed on. Schema matching finds the element type of generic
    // operators.
    const bool whole = values.size() == 1 && (values[0]->type()->kind() == c10::TypeKind::ListType ||
                                              values[0]->type()->kind() == c10::TypeKind::NoneType);
    const c10::TypePtr element = list->expectRef<c10::ListType>().getElementType();
    // For x[mask], the elements of a list that is made here may be none.
    const bool of_optionals = element->kind() == c10::TypeKind::OptionalType;
    const bool made_here = whole && values[0]->node()->kind() == c10::prim::ListConstruct;
    if (whole && !(of_optionals && made_here)) return values[0];
    std::vector<jit::Value*> elements;
    for (jit::Value* const value : whole ? values[0]->node()->inputs().vec() : values) {
      elements.push_back(jit::tryConvertToType(location, graph, element, value, true));
    }
    return graph.insertNode(graph.createList(element, elements))->output();
  }

  // Errors of schema matching quote this location: it names the node's operator.
  static jit::SourceRange Location(const v1::Node& node) {
    const std::string text = node.has_op() ? node.op().type() : node.name();
    return jit::SourceRange(std::make_shared<jit::Source>(text), 0, text.size());
  }

  const SourceModel& model_;
  ScriptModules* const modules_;
};

}  // namespace

absl::StatusOr<torch::jit::Module> ToTorchScript(const SourceModel& model,
                                                 const std::map<std::string, at::Tensor>& tensors,
                                                 OpaqueLoader load_opaque) {
  ScriptModules modules(model, tensors, std::move(load_opaque));
  LANISTA_ASSIGN_OR_RETURN(ScriptModule* const root, modules.Build());
  std::vector<c10::TypePtr> types;
  for (const v1::Port& port : root->graph->inputs()) types.push_back(ToTypePtr(port.type()));
  LANISTA_RETURN_IF_ERROR(ForwardBuilder(model, &modules).Write(root, types));
  root->module.eval();
  return root->module;
}

}  // namespace lanista::exporters
