#include "src/frontends/method_reader.h"

#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/runtime/operator.h>

#include <algorithm>
#include <iterator>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "src/graph/built_in.h"
#include "src/graph/graph.h"
#include "src/graph/op_schema.h"

namespace lanista::frontends {
namespace {

namespace jit = torch::jit;

// Functions that call each other more deeply are taken to be recursive.
constexpr int kMaxCallDepth = 100;

// "aten::add.Tensor".
std::string TypeOf(const c10::FunctionSchema& schema) {
  return schema.overload_name().empty() ? schema.name() : absl::StrCat(schema.name(), ".", schema.overload_name());
}

// "aten::add_" -> "add".
std::string NameOf(const c10::Symbol& kind) {
  std::string name = kind.toUnqualString();
  while (!name.empty() && name.back() == '_') name.pop_back();
  while (!name.empty() && name.front() == '_') name.erase(0, 1);
  return name;
}

const jit::Graph& GraphOf(jit::Function* function) {
  auto* const graph_function = function == nullptr ? nullptr : jit::tryToGraphFunction(*function);
  if (graph_function == nullptr) throw Unsupported("calls a function that is not TorchScript");
  return *graph_function->graph();
}

// Whether the operator can be left out if no node reads its outputs.
GraphWriter::Effect EffectOf(const jit::Node* node, const c10::FunctionSchema& schema) {
  return schema.is_mutable() || node->hasSideEffects() || node->isNondeterministic() ? GraphWriter::Effect::kSome
                                                                                     : GraphWriter::Effect::kNone;
}

// torch.nn.functional.interpolate: its code depends on ranks, which are unknown; but TorchScript also has it as an
// operator.
bool IsInterpolate(const jit::Function& function) {
  const c10::QualifiedName& name = function.qualname();
  return name.name() == "interpolate" && absl::StartsWith(name.prefix(), "__torch__.torch.nn.functional");
}

// Whether the value is a list, known or computed.
bool IsList(const AbstractValue& value) {
  if (value.is_constant()) return value.constant.isList();
  if (value.kind == AbstractValue::Kind::kList) return true;
  c10::TypePtr type = value.type;
  if (type == nullptr) return false;
  if (const auto optional = type->cast<c10::OptionalType>()) type = optional->getElementType();
  return type->kind() == c10::TypeKind::ListType;
}

bool IsTensorList(const AbstractValue& value, const c10::TypePtr& type) {
  return value.kind == AbstractValue::Kind::kList && type->kind() == c10::TypeKind::ListType &&
         type->expectRef<c10::ListType>().getElementType()->kind() == c10::TypeKind::TensorType &&
         !value.elements->empty();
}

void AddAttribute(const std::string& key, v1::Value value, v1::Operator* op) {
  v1::Attribute* const attribute = op->add_attr();
  attribute->set_key(key);
  *attribute->mutable_value() = std::move(value);
}

// The path, below `module`, of the parameter or buffer `tensor`; empty: it is neither.
std::string PathOf(const jit::Module& module, const at::Tensor& tensor) {
  for (const auto& parameter : module.named_parameters()) {
    if (parameter.value.is_same(tensor)) return parameter.name;
  }
  for (const auto& buffer : module.named_buffers()) {
    if (buffer.value.is_same(tensor)) return buffer.name;
  }
  return "";
}

}  // namespace

AbstractValue MethodReader::Call(const jit::Graph& graph, const Values& arguments) {
  if (++depth_ > kMaxCallDepth) throw Unsupported("calls itself");
  Environment environment;
  const auto inputs = graph.inputs();
  if (inputs.size() != arguments.size()) throw Unsupported("calls a function with another number of arguments");
  for (size_t i = 0; i < inputs.size(); ++i) environment[inputs[i]] = arguments[i];
  RunBlock(graph.block(), &environment);
  --depth_;
  const auto outputs = graph.outputs();
  if (outputs.size() == 1) return environment.at(outputs[0]);
  return AbstractValue::Sequence(AbstractValue::Kind::kTuple, Inputs(outputs, environment), nullptr, writer_);
}

MethodReader::Values MethodReader::Inputs(c10::ArrayRef<const jit::Value*> values, const Environment& environment) {
  Values result;
  for (const jit::Value* const value : values) result.push_back(environment.at(value));
  return result;
}

void MethodReader::RunBlock(const jit::Block* block, Environment* environment) {
  for (const jit::Node* const node : block->nodes()) {
    calls_->CountSteps(1);
    RunNode(node, environment);
  }
}

void MethodReader::RunNode(const jit::Node* node, Environment* environment) {
  const auto set = [&](AbstractValue value) { (*environment)[node->output()] = std::move(value); };
  switch (node->kind()) {
    case c10::prim::Constant: {
      // A function has no value: its callers use its type.
      return set(AbstractValue::Constant(jit::toIValue(node->output()).value_or(c10::IValue())));
    }
    case c10::prim::Uninitialized: {
      AbstractValue none = AbstractValue::Constant(c10::IValue());
      none.uninitialized = true;
      return set(std::move(none));
    }
    case c10::prim::If:
      return If(node, environment);
    case c10::prim::Loop:
      return Loop(node, environment);
    case c10::prim::RaiseException:
      throw Unsupported("always raises an error");
    case c10::prim::Print:
      throw Unsupported("prints");
    case c10::prim::SetAttr:
      throw Unsupported(absl::StrCat("keeps state in '", node->s(c10::attr::name), "'"));
    case c10::aten::warn:
      return;
    default:
      break;
  }
  const Values inputs = Inputs(node->inputs(), *environment);
  switch (node->kind()) {
    case c10::prim::GetAttr:
      return set(GetAttribute(node, inputs.at(0)));
    case c10::prim::CallFunction:
      return set(CallFunction(node, inputs));
    case c10::prim::CallMethod:
      return set(CallMethod(node, inputs));
    default:
      break;
  }
  if (RunOnTypes(node, inputs, environment) || RunOnElements(node, inputs, environment) ||
      RunOnDictionary(node, inputs, environment) || RunOnConstants(node, inputs, environment)) {
    return;
  }
  AddOperator(node, inputs, environment);
}

AbstractValue MethodReader::CallFunction(const jit::Node* node, Values inputs) {
  const auto type = node->input(0)->type()->cast<c10::FunctionType>();
  if (type == nullptr) throw Unsupported("calls a function that is not known");
  inputs.erase(inputs.begin());
  if (IsInterpolate(*type->function())) {
    if (const auto result = Interpolate(inputs)) return *result;
  }
  return Call(GraphOf(type->function()), inputs);
}

std::optional<AbstractValue> MethodReader::Interpolate(Values inputs) {
  constexpr size_t kSize = 1, kScale = 2, kMode = 3, kRecompute = 5, kAntialias = 6;
  if (inputs.size() <= kRecompute) return std::nullopt;
  // The operator supports only some cases of the function.
  static constexpr absl::string_view kModes[] = {"nearest", "linear", "bilinear", "bicubic", "trilinear", "area"};
  const AbstractValue& mode = inputs[kMode];
  const bool known = mode.is_constant() && mode.constant.isString() &&
                     std::count(std::begin(kModes), std::end(kModes), mode.constant.toStringRef()) > 0;
  AbstractValue& recompute = inputs[kRecompute];
  if (!known || !(recompute.is_none() || recompute.is_bool(false) || recompute.is_bool(true))) return std::nullopt;
  if (inputs.size() > kAntialias && !inputs[kAntialias].is_bool(false)) return std::nullopt;
  // recompute_scale_factor: none means false for the function, but true for the operator.
  if (recompute.is_none() && !inputs[kScale].is_none()) recompute = AbstractValue::Constant(false);
  const bool sizes = IsList(inputs[kSize]), scales = IsList(inputs[kScale]);
  const char* const overload = sizes && scales ? "size_list_scale_list"
                               : sizes         ? "size_list"
                               : scales        ? "scale_list"
                                               : "";
  const auto found = jit::findOperatorFor(c10::OperatorName("aten::__interpolate", overload));
  if (found == nullptr || inputs.size() > found->schema().arguments().size()) return std::nullopt;
  v1::Node node = OperatorNode(found->schema(), inputs);
  node.set_name("interpolate");
  *node.add_outputs() = KindOf(c10::TensorType::get());
  return writer_->Output(writer_->AddNode(std::move(node), GraphWriter::Effect::kNone), 0, c10::TensorType::get());
}

AbstractValue MethodReader::CallMethod(const jit::Node* node, Values inputs) {
  const std::string method = node->s(c10::attr::name);
  const AbstractValue module = inputs.at(0);
  if (module.kind != AbstractValue::Kind::kModule) {
    throw Unsupported(absl::StrCat("calls '", method, "' of an object that is no module"));
  }
  if (module.path == path_) return Call(GraphOf(self_.type()->findMethod(method)), inputs);
  inputs.erase(inputs.begin());
  return calls_->CallModule(module, RelativeName(module.path), method, inputs, writer_);
}

v1::Node MethodReader::OperatorNode(const c10::FunctionSchema& schema, const Values& inputs) {
  v1::Node result;
  result.mutable_op()->set_type(TypeOf(schema));
  for (size_t i = 0; i < inputs.size(); ++i) {
    const c10::Argument& argument = schema.arguments().at(i);
    const AbstractValue& input = inputs[i];
    const auto known = input.Known();
    const auto constant = known.has_value() ? ToValue(*known) : std::nullopt;
    const bool is_tensor = known.has_value() && known->isTensor();
    if (constant.has_value() && !is_tensor && !IsTensorList(input, argument.type())) {
      // Arguments with default values are left out.
      if (argument.default_value().has_value()) {
        const auto usual = ToValue(*argument.default_value());
        if (usual.has_value() && usual->SerializeAsString() == constant->SerializeAsString()) continue;
      }
      v1::Attribute* const attribute = result.mutable_op()->add_attr();
      attribute->set_key(argument.name());
      *attribute->mutable_value() = *constant;
    } else if (IsTensorList(input, argument.type())) {
      for (const AbstractValue& element : *input.elements) {
        *result.add_inputs() = writer_->Read(element, argument.name());
      }
    } else {
      *result.add_inputs() = writer_->Read(input, argument.name());
    }
  }
  return result;
}

void MethodReader::AddOperator(const jit::Node* node, const Values& inputs, Environment* environment) {
  const std::string kind = node->kind().toQualString();
  v1::Node result;
  GraphWriter::Effect effect = GraphWriter::Effect::kNone;
  result.set_name(NameOf(node->kind()));
  if (node->kind() == c10::prim::ListUnpack || node->kind() == c10::prim::TupleUnpack) {
    result.set_name("unpack");
    result.mutable_op()->set_type(kind);
    *result.add_inputs() = writer_->Read(inputs.at(0), "0");
  } else {
    const c10::FunctionSchema* const schema = node->maybeSchema();
    if (schema == nullptr || schema->is_vararg() || !node->blocks().empty()) {
      throw Unsupported(absl::StrCat("uses ", kind));
    }
    effect = EffectOf(node, *schema);
    result = OperatorNode(*schema, inputs);
    result.set_name(NameOf(node->kind()));
  }
  for (const jit::Value* const output : node->outputs()) *result.add_outputs() = KindOf(output->type());
  const std::string name = writer_->AddNode(std::move(result), effect);
  int slot = 0;
  for (const jit::Value* const output : node->outputs()) {
    (*environment)[output] = writer_->Output(name, slot++, output->type());
  }
}

AbstractValue MethodReader::GetAttribute(const jit::Node* node, const AbstractValue& object) {
  const std::string name = node->s(c10::attr::name);
  if (object.kind != AbstractValue::Kind::kModule) {
    if (!object.is_constant() || !object.constant.isObject()) throw Unsupported(absl::StrCat("reads '", name, "'"));
    return AbstractValue::Constant(object.constant.toObjectRef().getAttr(name));
  }
  const c10::IValue value = object.module->attr(name);
  if (name == "training" && value.isBool()) return Training();
  if (value.isModule()) return AbstractValue::Module(value.toModule(), graph::JoinPath(object.path, name));
  if (value.isTensor()) return StateTensor(object, name, value.toTensor());
  if (value.isTensorList()) {
    // Such as the flat weights of an RNN, which are its parameters.
    Values elements;
    for (const at::Tensor& tensor : value.toTensorVector()) {
      const std::string path = PathOf(*object.module, tensor);
      if (path.empty()) throw Unsupported(absl::StrCat("reads a list of tensors, '", name, "'"));
      elements.push_back(StateTensor(object, path, tensor));
    }
    return AbstractValue::Sequence(AbstractValue::Kind::kList, std::move(elements), node->output()->type(), nullptr);
  }
  return AbstractValue::Constant(value);
}

AbstractValue MethodReader::Training() {
  if (training_.has_value()) return AbstractValue::Constant(*training_);
  AbstractValue& flag = leaves_[{writer_, "training"}];
  if (!flag.is_edge()) {
    v1::Node node;
    node.set_name("training");
    node.mutable_op()->set_type(graph::TypeOf(graph::BuiltIn::kTraining));
    *node.add_outputs() = KindOf(c10::BoolType::get());
    flag = writer_->Output(writer_->AddNode(std::move(node), GraphWriter::Effect::kNone), 0, c10::BoolType::get());
    flag.flag = AbstractValue::Flag::kTraining;
  }
  return flag;
}

AbstractValue MethodReader::StateTensor(const AbstractValue& object, const std::string& name,
                                        const at::Tensor& tensor) {
  const std::string path = graph::JoinPath(object.path, name);
  AbstractValue& leaf = leaves_[{writer_, path}];
  if (leaf.is_edge()) return leaf;
  bool parameter = true, buffer = false;
  if (!absl::StrContains(name, ".")) {
    const auto slot = object.module->type()->getAttributeSlot(name);
    parameter = object.module->type()->is_parameter(slot);
    buffer = object.module->type()->is_buffer(slot);
  }
  // A plain tensor is not part of the state_dict.
  if (!parameter && !buffer) return AbstractValue::Constant(tensor);
  v1::Node node;
  node.set_name(RelativeName(path));
  node.mutable_weights()->set_path(path);
  *node.add_outputs() = KindOf(c10::TensorType::get());
  v1::Operator* const op = node.mutable_op();
  op->set_type(graph::TypeOf(graph::BuiltIn::kParameter));
  if (buffer) AddAttribute("buffer", graph::BoolValue(true), op);
  AddAttribute("shape", graph::IntsValue(tensor.sizes().vec()), op);
  if (parameter && !tensor.requires_grad()) AddAttribute("trainable", graph::BoolValue(false), op);
  calls_->NoteOwner(path, node.name());
  const std::string added = writer_->AddModuleNode(std::move(node), GraphWriter::Effect::kNone);
  leaf = writer_->Output(added, 0, c10::TensorType::get());
  return leaf;
}

std::string MethodReader::RelativeName(const std::string& path) const {
  if (path_.empty()) return path;
  if (!absl::StartsWith(path, path_ + ".")) throw Unsupported("uses a module that stands elsewhere");
  return path.substr(path_.size() + 1);
}

}  // namespace lanista::frontends
