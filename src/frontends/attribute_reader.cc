// The part of MethodReader that reads attributes of modules.
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "src/frontends/method_reader.h"
#include "src/graph/built_in.h"
#include "src/graph/graph.h"
#include "src/graph/op_schema.h"

namespace lanista::frontends {
namespace {

namespace jit = torch::jit;

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
