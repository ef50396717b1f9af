// The part of MethodReader that follows branches and loops.
#include <torch/csrc/jit/ir/constants.h>

#include <algorithm>
#include <functional>
#include <set>

#include "absl/strings/str_cat.h"
#include "src/frontends/method_reader.h"
#include "src/frontends/module_reader.h"
#include "src/graph/built_in.h"
#include "src/graph/op_schema.h"

namespace lanista::frontends {
namespace {

namespace jit = torch::jit;
using Flag = AbstractValue::Flag;

// Limit for unrolled loops: no network needs more.
constexpr int kMaxIterations = 1000;

// The node that raises an error on every path through the block; nullptr: there is none.
const jit::Node* FindRaise(const jit::Block* block) {
  for (const jit::Node* const node : block->nodes()) {
    if (node->kind() == c10::prim::RaiseException) return node;
    if (node->kind() == c10::prim::If && FindRaise(node->blocks()[1]) != nullptr) {
      if (const jit::Node* const raise = FindRaise(node->blocks()[0])) return raise;
    }
  }
  return nullptr;
}

// Returns the abstract value of a TorchScript value; nullptr: none yet.
using Lookup = std::function<const AbstractValue*(const jit::Value*)>;

// The known part of a text: for a formatted text, its template.
std::string TextOf(const jit::Value* value, const Lookup& find) {
  if (const AbstractValue* const known = find(value); known != nullptr && known->is_constant()) {
    return known->constant.isString() ? known->constant.toStringRef() : "";
  }
  const jit::Node* const node = value->node();
  if (node->kind() == c10::aten::format) return TextOf(node->input(0), find);
  if (node->kind() == c10::aten::add) return TextOf(node->input(0), find) + TextOf(node->input(1), find);
  const auto text = jit::toIValue(value);
  return text.has_value() && text->isString() ? text->toStringRef() : "";
}

std::string MessageOf(const jit::Node* raise, const Lookup& find) {
  const std::string text = TextOf(raise->input(0), find);
  return text.empty() ? "an assertion of the model failed" : text;
}

// Whether a tensor is among the value's parts.
bool HoldsTensor(const c10::TypePtr& type) {
  if (type->kind() == c10::TypeKind::TensorType) return true;
  const auto parts = type->containedTypes();
  return std::any_of(parts.begin(), parts.end(), [](const c10::TypePtr& part) { return HoldsTensor(part); });
}

// Whether the operator has no effects and cannot fail.
bool IsHarmless(const jit::Node* node) {
  static const auto* const always = new std::set<std::string>{
      "aten::__is__",     "aten::__isnot__",         "aten::__not__",       "aten::dim",
      "aten::is_complex", "aten::is_floating_point", "aten::numel",         "prim::Constant",
      "prim::GetAttr",    "prim::ListConstruct",     "prim::Uninitialized", "prim::device",
      "prim::dtype",      "prim::is_cuda",           "prim::isinstance",    "prim::unchecked_cast"};
  // Tensors may have shapes that do not fit together, or no length.
  static const auto* const without_tensors = new std::set<std::string>{
      "aten::__and__", "aten::__contains__", "aten::__or__", "aten::add", "aten::eq", "aten::ge", "aten::gt",
      "aten::le",      "aten::len",          "aten::lt",     "aten::mul", "aten::ne", "aten::sub"};
  const std::string kind = node->kind().toQualString();
  if (always->count(kind) > 0) return true;
  // All sizes are always there, but x.size(3) fails if there are three.
  if (node->kind() == c10::aten::size) return node->inputs().size() == 1;
  const auto inputs = node->inputs();
  return without_tensors->count(kind) > 0 &&
         std::none_of(inputs.begin(), inputs.end(), [](const jit::Value* input) { return HoldsTensor(input->type()); });
}

// Whether running the block has no effects and cannot fail. Then it may run even where the program would not run it.
bool IsHarmless(const jit::Block* block) {
  for (const jit::Node* const node : block->nodes()) {
    if (node->kind() == c10::prim::If) {
      if (!IsHarmless(node->blocks()[0]) || !IsHarmless(node->blocks()[1])) return false;
    } else if (!IsHarmless(node)) {
      return false;
    }
  }
  return true;
}

// Whether the block only returns this boolean: the short-circuit side of `and` and `or`.
bool OnlyReturns(const jit::Block* block, bool value) {
  if (block->outputs().size() != 1) return false;
  const auto constant = jit::toIValue(block->outputs()[0]);
  return constant.has_value() && constant->isBool() && constant->toBool() == value;
}

// The node that raises an error if `condition`, which only one node reads, has this value; nullptr: no error is
// certain.
const jit::Node* FindRaiseIf(const jit::Value* condition, bool value) {
  if (condition->uses().size() != 1) return nullptr;
  const jit::Use use = condition->uses()[0];
  // The program may not get to what it does in another block.
  if (use.user->owningBlock() != condition->node()->owningBlock()) return nullptr;
  if (use.user->kind() == c10::aten::__not__) return FindRaiseIf(use.user->output(), !value);
  if (use.user->kind() != c10::prim::If || use.offset != 0) return nullptr;
  const jit::Block* const taken = use.user->blocks()[value ? 0 : 1];
  if (use.user->outputs().size() == 1 && OnlyReturns(taken, value)) return FindRaiseIf(use.user->output(), value);
  return FindRaise(taken);
}

}  // namespace

void MethodReader::If(const jit::Node* node, Environment* environment) {
  AbstractValue condition = environment->at(node->input(0));
  if (condition.flag != Flag::kNone && training_.has_value()) {
    condition = AbstractValue::Constant(*training_ == (condition.flag == Flag::kTraining));
  }
  const auto take = [&](const jit::Block* block) {
    RunBlock(block, environment);
    for (size_t i = 0; i < node->outputs().size(); ++i) {
      (*environment)[node->outputs()[i]] = environment->at(block->outputs()[i]);
    }
  };
  const Lookup find = [&](const jit::Value* value) {
    const auto found = environment->find(value);
    return found == environment->end() ? nullptr : static_cast<const AbstractValue*>(&found->second);
  };
  const jit::Block* const first = node->blocks()[0];
  const jit::Block* const second = node->blocks()[1];
  if (condition.is_constant()) return take(condition.constant.toBool() ? first : second);
  if (const jit::Node* const raise = FindRaise(first)) {
    if (FindRaise(second) != nullptr) throw Unsupported("always raises an error");
    Assert(condition, /*expected=*/false, MessageOf(raise, find));
    return take(second);
  }
  if (const jit::Node* const raise = FindRaise(second)) {
    Assert(condition, /*expected=*/true, MessageOf(raise, find));
    return take(first);
  }
  if (condition.flag != Flag::kNone) return TrainingSwitch(node, condition.flag == Flag::kTraining, environment);
  // If the program raises an error unless `a and b` holds, it asserts `a` before it evaluates `b`; `a or b` likewise.
  if (node->outputs().size() == 1) {
    for (const bool value : {false, true}) {
      if (!OnlyReturns(value ? first : second, value)) continue;
      const jit::Node* const raise = FindRaiseIf(node->output(), value);
      if (raise == nullptr) continue;
      Assert(condition, /*expected=*/!value, MessageOf(raise, find));
      return take(value ? second : first);
    }
  }
  Combine(node, condition, environment);
}

void MethodReader::Loop(const jit::Node* node, Environment* environment) {
  const AbstractValue trip_count = environment->at(node->input(0));
  AbstractValue condition = environment->at(node->input(1));
  if (!trip_count.is_constant()) throw Unsupported("has a loop that data decides");
  const jit::Block* const body = node->blocks()[0];
  Values carried;
  for (size_t i = 2; i < node->inputs().size(); ++i) carried.push_back(environment->at(node->input(i)));
  const int64_t last = trip_count.constant.toInt();
  for (int64_t i = 0; i < last; ++i) {
    if (!condition.is_constant()) throw Unsupported("has a loop that data decides");
    if (!condition.constant.toBool()) break;
    if (i >= kMaxIterations) throw Unsupported(absl::StrCat("has a loop of more than ", kMaxIterations, " rounds"));
    (*environment)[body->inputs()[0]] = AbstractValue::Constant(i);
    for (size_t j = 0; j < carried.size(); ++j) (*environment)[body->inputs()[j + 1]] = carried[j];
    RunBlock(body, environment);
    condition = environment->at(body->outputs()[0]);
    carried = Inputs(body->outputs().slice(1), *environment);
  }
  for (size_t j = 0; j < carried.size(); ++j) (*environment)[node->outputs()[j]] = carried[j];
}

void MethodReader::Assert(const AbstractValue& condition, bool expected, const std::string& message) {
  v1::Node node;
  node.set_name("assert");
  node.mutable_op()->set_type(graph::TypeOf(graph::BuiltIn::kAssert));
  v1::Attribute* const attribute = node.mutable_op()->add_attr();
  attribute->set_key("message");
  *attribute->mutable_value() = graph::StringValue(message);
  *node.add_inputs() = writer_->Read(expected ? condition : Not(condition));
  writer_->AddNode(std::move(node), GraphWriter::Effect::kSome);
}

void MethodReader::Combine(const jit::Node* node, const AbstractValue& condition, Environment* environment) {
  const auto refuse = [] { throw Unsupported("has a branch that data decides"); };
  const jit::Block* const first = node->blocks()[0];
  const jit::Block* const second = node->blocks()[1];
  if (!IsHarmless(first) || !IsHarmless(second)) refuse();
  RunBlock(first, environment);
  RunBlock(second, environment);
  for (size_t i = 0; i < node->outputs().size(); ++i) {
    const AbstractValue& a = environment->at(first->outputs()[i]);
    const AbstractValue& b = environment->at(second->outputs()[i]);
    AbstractValue result;
    if (a.uninitialized || b.uninitialized || a.SameAs(b)) {
      result = a.uninitialized ? b : a;
    } else if (node->outputs()[i]->type()->kind() == c10::TypeKind::BoolType) {
      result = CombineBool(condition, a, b);
    } else {
      refuse();
    }
    (*environment)[node->outputs()[i]] = result;
  }
}

AbstractValue MethodReader::CombineBool(const AbstractValue& condition, const AbstractValue& first,
                                        const AbstractValue& second) {
  if (first.is_bool(true) && second.is_bool(false)) return condition;
  if (first.is_bool(false) && second.is_bool(true)) return Not(condition);
  if (second.is_bool(false)) return BoolNode("aten::__and__.bool", {condition, first});
  if (first.is_bool(true)) return BoolNode("aten::__or__.bool", {condition, second});
  if (first.is_bool(false)) return BoolNode("aten::__and__.bool", {Not(condition), second});
  if (second.is_bool(true)) return BoolNode("aten::__or__.bool", {Not(condition), first});
  return BoolNode("aten::__or__.bool", {BoolNode("aten::__and__.bool", {condition, first}),
                                        BoolNode("aten::__and__.bool", {Not(condition), second})});
}

AbstractValue MethodReader::Not(const AbstractValue& value) {
  if (value.is_constant()) return AbstractValue::Constant(!value.constant.toBool());
  AbstractValue result = BoolNode("aten::__not__", {value});
  if (value.flag != Flag::kNone) {
    result.flag = value.flag == Flag::kTraining ? Flag::kNotTraining : Flag::kTraining;
  }
  return result;
}

AbstractValue MethodReader::BoolNode(const std::string& type, const Values& inputs) {
  v1::Node node;
  node.mutable_op()->set_type(type);
  node.set_name(inputs.size() == 1 ? "not" : type.find("and") != std::string::npos ? "and" : "or");
  for (size_t i = 0; i < inputs.size(); ++i) {
    *node.add_inputs() = writer_->Read(inputs[i], inputs.size() == 1 ? "self" : i == 0 ? "a" : "b");
  }
  *node.add_outputs() = KindOf(c10::BoolType::get());
  return writer_->Output(writer_->AddNode(std::move(node), GraphWriter::Effect::kNone), 0, c10::BoolType::get());
}

void MethodReader::TrainingSwitch(const jit::Node* node, bool first_arm, Environment* environment) {
  GraphWriter* const around = writer_;
  // Indexed by the flag's value.
  GraphWriter arms[2]{GraphWriter(around->reserved()), GraphWriter(around->reserved())};
  Values results[2];
  for (const bool on : {true, false}) {
    const jit::Block* const block = node->blocks()[on == first_arm ? 0 : 1];
    writer_ = &arms[on];
    training_ = on;
    RunBlock(block, environment);
    results[on] = Inputs(block->outputs(), *environment);
  }
  writer_ = around;
  training_ = std::nullopt;
  // Drops entries of the arms: other writers may get the same addresses later.
  for (auto leaf = leaves_.begin(); leaf != leaves_.end();) {
    leaf = leaf->first.first == around ? std::next(leaf) : leaves_.erase(leaf);
  }

  const AbstractValue flag = Training();
  std::vector<c10::TypePtr> types;
  const auto is_around = [&](const AbstractValue& value) {
    return !value.is_edge() || (value.writer != &arms[0] && value.writer != &arms[1]);
  };
  // Values that are equal in both arms need no switch; lists are merged element by element.
  const std::function<AbstractValue(const AbstractValue&, const AbstractValue&)> merge =
      [&](const AbstractValue& on, const AbstractValue& off) -> AbstractValue {
    if (on.SameAs(off) && is_around(on)) return on;
    if (on.is_bool(true) && off.is_bool(false)) return flag;
    if (on.is_bool(false) && off.is_bool(true)) return Not(flag);
    if (on.is_sequence() && on.kind == off.kind && on.elements->size() == off.elements->size()) {
      Values elements;
      for (size_t i = 0; i < on.elements->size(); ++i) elements.push_back(merge((*on.elements)[i], (*off.elements)[i]));
      return AbstractValue::Sequence(on.kind, std::move(elements), on.type, nullptr);
    }
    *arms[1].graph().add_outputs() = arms[1].Read(on);
    *arms[0].graph().add_outputs() = arms[0].Read(off);
    // If one arm gives none, the type is optional.
    c10::TypePtr type = on.is_none() ? off.type : on.type;
    if (on.is_none() != off.is_none() && !on.uninitialized && !off.uninitialized)
      type = c10::OptionalType::create(type);
    types.push_back(type);
    // The node's name is filled in when the node has been made.
    return around->Output("", static_cast<int>(types.size()) - 1, type);
  };
  Values merged;
  for (size_t i = 0; i < results[0].size(); ++i) merged.push_back(merge(results[1][i], results[0][i]));
  for (GraphWriter& arm : arms) arm.Finish();

  std::string name;
  if (!types.empty() || arms[0].graph().nodes_size() + arms[1].graph().nodes_size() > 0) {
    // Both arms take all values that either arm reads.
    Values captured = arms[1].captured();
    for (const AbstractValue& value : arms[0].captured()) {
      bool known = false;
      for (const AbstractValue& other : captured) known = known || other.SameAs(value);
      if (!known) captured.push_back(value);
    }
    v1::Node result;
    result.set_name("training_switch");
    const std::string class_name = ClassName(self_);
    for (const bool on : {true, false}) {
      arms[on].SetCaptured(captured);
      const std::string graph =
          calls_->AddGraph(arms[on].graph(), absl::StrCat(class_name, on ? "_training" : "_evaluation"));
      (on ? result.mutable_training_switch()->mutable_training()
          : result.mutable_training_switch()->mutable_evaluation())
          ->assign(graph);
    }
    for (const AbstractValue& value : captured) *result.add_inputs() = writer_->Read(value);
    for (const c10::TypePtr& type : types) *result.add_outputs() = KindOf(type);
    name = writer_->AddNode(std::move(result), GraphWriter::Effect::kSome);
  }
  for (size_t i = 0; i < merged.size(); ++i) {
    (*environment)[node->outputs()[i]] = merged[i].Map([&](const AbstractValue& edge) {
      AbstractValue named = edge;
      if (edge.writer == around && edge.node.empty()) named.node = name;
      return named;
    });
  }
}

}  // namespace lanista::frontends
