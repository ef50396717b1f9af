// The part of MethodReader that computes known values.
#include <torch/csrc/jit/runtime/operator.h>

#include <algorithm>
#include <limits>
#include <set>

#include "absl/strings/str_cat.h"
#include "src/frontends/method_reader.h"

namespace lanista::frontends {
namespace {

namespace jit = torch::jit;
using Kind = AbstractValue::Kind;

// Limits for the length of lists and of texts: no network needs more. Files may double a list in a loop.
constexpr size_t kMaxElements = 100000;
constexpr size_t kMaxText = 10000;

void CheckLength(size_t elements) {
  if (elements > kMaxElements) throw Unsupported("makes a very long list");
}

bool IsInt(const AbstractValue& value) { return value.is_constant() && value.constant.isInt(); }

// The position that Python's index means in `size` elements; throws Unsupported if there is none.
size_t IndexOf(const AbstractValue& index, size_t size) {
  int64_t i = index.constant.toInt();
  if (i < 0) i += static_cast<int64_t>(size);
  if (i < 0 || i >= static_cast<int64_t>(size)) throw Unsupported("reads behind the end of a list");
  return static_cast<size_t>(i);
}

// list[start:end:step], with Python's rules.
std::optional<std::vector<AbstractValue>> Slice(const std::vector<AbstractValue>& list,
                                                const std::vector<AbstractValue>& inputs) {
  const auto size = static_cast<int64_t>(list.size());
  const auto bound = [&](size_t input, int64_t otherwise) -> int64_t {
    if (input >= inputs.size() || inputs[input].is_none()) return otherwise;
    const int64_t at = inputs[input].constant.toInt();
    return std::clamp<int64_t>(at < 0 ? at + size : at, 0, size);
  };
  for (size_t i = 1; i < inputs.size(); ++i) {
    if (!inputs[i].is_none() && !IsInt(inputs[i])) return std::nullopt;
  }
  const int64_t step = inputs.size() > 3 && IsInt(inputs[3]) ? inputs[3].constant.toInt() : 1;
  if (step <= 0) return std::nullopt;
  std::vector<AbstractValue> result;
  // A larger step would overflow the position.
  const int64_t stride = std::min(step, size + 1);
  for (int64_t i = bound(1, 0); i < bound(2, size); i += stride) result.push_back(list[i]);
  return result;
}

// Tensors must be made when the model runs: all runs would share a folded tensor.
bool IsPlain(const c10::TypePtr& type) {
  switch (type->kind()) {
    case c10::TypeKind::IntType:
    case c10::TypeKind::FloatType:
    case c10::TypeKind::BoolType:
    case c10::TypeKind::NumberType:
    case c10::TypeKind::StringType:
    case c10::TypeKind::NoneType:
    case c10::TypeKind::DeviceObjType:
      return true;
    case c10::TypeKind::ListType:
      return IsPlain(type->expectRef<c10::ListType>().getElementType());
    case c10::TypeKind::OptionalType:
      return IsPlain(type->expectRef<c10::OptionalType>().getElementType());
    case c10::TypeKind::TupleType:
      return std::all_of(type->expectRef<c10::TupleType>().elements().begin(),
                         type->expectRef<c10::TupleType>().elements().end(), IsPlain);
    default:
      return false;
  }
}

// What the operator's work or result is proportional to: the product of these, for some operators.
int64_t ExtentOf(const c10::IValue& value) {
  if (value.isInt()) return std::max<int64_t>(1, value.toInt());
  if (value.isString()) return std::max<int64_t>(1, static_cast<int64_t>(value.toStringRef().size()));
  if (value.isList()) return std::max<int64_t>(1, static_cast<int64_t>(value.toListRef().size()));
  return 1;
}

// Throws Unsupported if LibTorch's operator would take very long, or much memory, or end the process.
void CheckCost(const jit::Node* node, const jit::Stack& inputs) {
  static const auto* const repeating =
      new std::set<std::string>{"aten::center",  "aten::expandtabs", "aten::factorial", "aten::join",     "aten::ljust",
                                "aten::replace", "aten::rjust",      "aten::zfill",     "prim::rangelist"};
  static const auto* const dividing = new std::set<std::string>{"aten::floordiv", "aten::remainder"};
  const std::string kind = node->kind().toQualString();
  if (dividing->count(kind) > 0 && inputs.size() == 2 && inputs[0].isInt() && inputs[1].isInt()) {
    // The processor's division of integers raises a signal.
    const int64_t divisor = inputs[1].toInt();
    if (divisor == 0 || (divisor == -1 && inputs[0].toInt() == std::numeric_limits<int64_t>::min())) {
      throw Unsupported("divides by zero");
    }
  }
  const bool repeats_list = node->kind() == c10::aten::mul &&
                            std::any_of(inputs.begin(), inputs.end(), [](const auto& input) { return input.isList(); });
  if (!repeats_list && repeating->count(kind) == 0) return;
  int64_t cost = 1;
  for (const c10::IValue& input : inputs) {
    const int64_t extent = ExtentOf(input);
    if (extent > static_cast<int64_t>(kMaxElements) / cost) throw Unsupported("makes a very long list or text");
    cost *= extent;
  }
}

}  // namespace

std::vector<AbstractValue>& MethodReader::Changeable(const AbstractValue& list) {
  if (list.writer != writer_) throw Unsupported("changes a list that others see");
  return *list.elements;
}

bool MethodReader::RunOnElements(const jit::Node* node, const Values& inputs, Environment* environment) {
  const auto set = [&](AbstractValue value) {
    (*environment)[node->output()] = std::move(value);
    return true;
  };
  const auto set_list = [&](Values elements) {
    // Copies of long lists take time too.
    calls_->CountSteps(static_cast<int64_t>(elements.size()));
    return set(AbstractValue::Sequence(Kind::kList, std::move(elements), node->output()->type(), writer_));
  };
  switch (node->kind()) {
    case c10::prim::ListConstruct:
      return set_list(inputs);
    case c10::prim::TupleConstruct:
      return set(AbstractValue::Sequence(Kind::kTuple, inputs, node->output()->type(), writer_));
    default:
      break;
  }
  if (inputs.empty() || !inputs[0].is_sequence()) {
    // Then list(...) of a computed tuple or list stays a node.
    return false;
  }
  const Values& elements = *inputs[0].elements;
  switch (node->kind()) {
    case c10::prim::ListUnpack:
    case c10::prim::TupleUnpack:
      if (elements.size() != node->outputs().size()) throw Unsupported("unpacks a list of another length");
      for (size_t i = 0; i < elements.size(); ++i) (*environment)[node->outputs()[i]] = elements[i];
      return true;
    case c10::prim::TupleIndex:
    case c10::aten::__getitem__:
      if (!IsInt(inputs.at(1))) return false;
      return set(elements[IndexOf(inputs[1], elements.size())]);
    case c10::prim::TupleSlice: {
      const auto begin = elements.begin();
      return set(AbstractValue::Sequence(Kind::kTuple,
                                         Values(begin + node->i(c10::attr::beg), begin + node->i(c10::attr::end)),
                                         node->output()->type(), writer_));
    }
    case c10::aten::len:
      return set(AbstractValue::Constant(static_cast<int64_t>(elements.size())));
    case c10::aten::slice: {
      auto slice = Slice(elements, inputs);
      return slice.has_value() && set_list(*std::move(slice));
    }
    case c10::aten::list:
    case c10::aten::copy:
      return set_list(elements);
    case c10::aten::add:
    case c10::aten::add_: {
      if (inputs.at(1).kind != Kind::kList) return false;
      CheckLength(elements.size() + inputs[1].elements->size());
      Values sum = elements;
      sum.insert(sum.end(), inputs[1].elements->begin(), inputs[1].elements->end());
      if (node->kind() == c10::aten::add) return set_list(std::move(sum));
      calls_->CountSteps(static_cast<int64_t>(sum.size()));
      Changeable(inputs[0]) = std::move(sum);
      return set(inputs[0]);
    }
    case c10::aten::mul: {
      if (!IsInt(inputs.at(1))) return false;
      const int64_t times = elements.empty() ? 0 : std::max<int64_t>(0, inputs[1].constant.toInt());
      if (times > static_cast<int64_t>(kMaxElements)) throw Unsupported("makes a very long list");
      CheckLength(elements.size() * static_cast<size_t>(times));
      Values product;
      for (int64_t i = 0; i < times; ++i) product.insert(product.end(), elements.begin(), elements.end());
      return set_list(std::move(product));
    }
    case c10::aten::append:
      CheckLength(elements.size() + 1);
      Changeable(inputs[0]).push_back(inputs.at(1));
      return set(inputs[0]);
    case c10::aten::pop: {
      if (inputs.size() > 1 && !IsInt(inputs[1])) throw Unsupported("changes a list at a place that is not known");
      Values& list = Changeable(inputs[0]);
      const size_t index = inputs.size() > 1 ? IndexOf(inputs[1], list.size()) : list.size() - 1;
      if (list.empty()) throw Unsupported("takes from an empty list");
      const AbstractValue popped = list[index];
      list.erase(list.begin() + static_cast<std::ptrdiff_t>(index));
      return set(popped);
    }
    case c10::aten::insert: {
      if (!IsInt(inputs.at(1))) throw Unsupported("changes a list at a place that is not known");
      CheckLength(elements.size() + 1);
      Values& list = Changeable(inputs[0]);
      const auto size = static_cast<int64_t>(list.size());
      const int64_t at = inputs[1].constant.toInt();
      list.insert(list.begin() + std::clamp<int64_t>(at < 0 ? at + size : at, 0, size), inputs.at(2));
      return true;
    }
    case c10::aten::_set_item: {
      if (!IsInt(inputs.at(1))) throw Unsupported("changes a list at a place that is not known");
      Values& list = Changeable(inputs[0]);
      list[IndexOf(inputs[1], list.size())] = inputs.at(2);
      if (!node->outputs().empty()) return set(inputs[0]);
      return true;
    }
    default:
      break;
  }
  static const c10::Symbol extend = c10::Symbol::fromQualString("aten::extend");
  static const c10::Symbol reverse = c10::Symbol::fromQualString("aten::reverse");
  if (node->kind() == extend) {
    if (inputs.at(1).kind != Kind::kList) throw Unsupported("extends a list by one whose length is not known");
    CheckLength(elements.size() + inputs[1].elements->size());
    const Values more = *inputs[1].elements;
    calls_->CountSteps(static_cast<int64_t>(more.size()));
    Values& list = Changeable(inputs[0]);
    list.insert(list.end(), more.begin(), more.end());
    return true;
  }
  if (node->kind() == reverse && inputs[0].kind == Kind::kList && node->outputs().empty()) {
    Values& list = Changeable(inputs[0]);
    std::reverse(list.begin(), list.end());
    return true;
  }
  // An operator that changes a list with unknown elements would change a copy of it only.
  const c10::FunctionSchema* const schema = node->maybeSchema();
  if (schema != nullptr && inputs[0].kind == Kind::kList && !schema->arguments().empty() &&
      schema->arguments()[0].alias_info() != nullptr && schema->arguments()[0].alias_info()->isWrite() &&
      schema->arguments()[0].type()->expectRef<c10::ListType>().getElementType()->kind() != c10::TypeKind::TensorType) {
    throw Unsupported(absl::StrCat("changes a list by ", node->kind().toQualString()));
  }
  return false;
}

bool MethodReader::RunOnDictionary(const jit::Node* node, const Values& inputs, Environment* environment) {
  const auto set = [&](AbstractValue value) {
    (*environment)[node->output()] = std::move(value);
    return true;
  };
  if (node->kind() == c10::prim::DictConstruct) {
    AbstractValue dict = AbstractValue::Sequence(Kind::kDict, {}, node->output()->type(), writer_);
    dict.keys = std::make_shared<std::vector<c10::IValue>>();
    for (size_t i = 0; i + 1 < inputs.size(); i += 2) {
      if (!inputs[i].is_constant()) throw Unsupported("makes a dictionary whose keys are not known");
      dict.keys->push_back(inputs[i].constant);
      dict.elements->push_back(inputs[i + 1]);
    }
    return set(std::move(dict));
  }
  if (inputs.empty() || inputs[0].kind != Kind::kDict) return false;
  const AbstractValue& dict = inputs[0];
  if (node->kind() == c10::aten::len) {
    return set(AbstractValue::Constant(static_cast<int64_t>(dict.keys->size())));
  }
  if (inputs.size() < 2 || !inputs[1].is_constant()) throw Unsupported("uses a dictionary in a way that is not known");
  const auto found = std::find_if(dict.keys->begin(), dict.keys->end(),
                                  [&](const c10::IValue& key) { return key == inputs[1].constant; });
  const auto place = static_cast<size_t>(found - dict.keys->begin());
  const bool known = found != dict.keys->end();
  switch (node->kind()) {
    case c10::aten::__contains__:
      return set(AbstractValue::Constant(known));
    case c10::aten::__getitem__:
      if (!known) throw Unsupported("reads an entry that its dictionary does not have");
      return set((*dict.elements)[place]);
    case c10::aten::_set_item:
      Changeable(dict);
      if (known) {
        (*dict.elements)[place] = inputs.at(2);
      } else {
        CheckLength(dict.keys->size() + 1);
        dict.keys->push_back(inputs[1].constant);
        dict.elements->push_back(inputs.at(2));
      }
      return true;
    default:
      throw Unsupported("uses a dictionary in a way that is not known");
  }
}

bool MethodReader::RunOnTypes(const jit::Node* node, const Values& inputs, Environment* environment) {
  const auto set = [&](AbstractValue value) {
    (*environment)[node->output()] = std::move(value);
    return true;
  };
  switch (node->kind()) {
    case c10::prim::unchecked_cast:
    case c10::prim::unchecked_unwrap_optional:
    case c10::aten::_unwrap_optional: {
      if (inputs.at(0).is_none()) throw Unsupported("uses a value that is none");
      AbstractValue value = inputs[0];
      if (value.is_edge()) value.type = node->output()->type();
      return set(std::move(value));
    }
    case c10::prim::isinstance: {
      const c10::TypePtr type = inputs.at(0).type;
      if (type == nullptr || type->kind() == c10::TypeKind::OptionalType || type->kind() == c10::TypeKind::AnyType) {
        throw Unsupported("asks for the type of a value that has several");
      }
      const auto& types = node->tys(c10::attr::types);
      return set(AbstractValue::Constant(
          std::any_of(types.begin(), types.end(), [&](const c10::TypePtr& one) { return type->isSubtypeOf(*one); })));
    }
    case c10::aten::__is__:
    case c10::aten::__isnot__: {
      const AbstractValue& a = inputs.at(0);
      const AbstractValue& b = inputs.at(1);
      const bool is = node->kind() == c10::aten::__is__;
      if (!a.is_none() && !b.is_none()) return false;
      if (a.is_none() && b.is_none()) return set(AbstractValue::Constant(is));
      const AbstractValue& other = a.is_none() ? b : a;
      if (other.is_edge() && other.type->kind() == c10::TypeKind::OptionalType) {
        throw Unsupported("has a branch that data decides");
      }
      return set(AbstractValue::Constant(!is));
    }
    case c10::aten::__not__:
      if (!inputs.at(0).is_edge()) return false;
      return set(Not(inputs[0]));
    case c10::aten::__and__:
    case c10::aten::__or__: {
      if (node->output()->type()->kind() != c10::TypeKind::BoolType) return false;
      for (const int i : {0, 1}) {
        if (inputs.at(i).is_bool(node->kind() == c10::aten::__and__)) return set(inputs.at(1 - i));
        if (inputs.at(i).is_bool(node->kind() == c10::aten::__or__)) return set(inputs.at(i));
      }
      return false;
    }
    default:
      break;
  }
  if (node->kind() == c10::aten::format && inputs.at(0).is_constant() &&
      std::any_of(inputs.begin(), inputs.end(),
                  [](const AbstractValue& input) { return !input.Known().has_value(); })) {
    AbstractValue text = AbstractValue::Constant(inputs[0].constant);
    text.is_template = true;
    return set(std::move(text));
  }
  static const c10::Symbol list_with_default = c10::Symbol::fromQualString("aten::list_with_default");
  if (node->kind() != list_with_default || inputs.at(0).kind != Kind::kList) return false;
  // LibTorch's operator returns the first list too.
  return set(inputs[0]);
}

bool MethodReader::RunOnConstants(const jit::Node* node, const Values& inputs, Environment* environment) {
  const c10::FunctionSchema* const schema = node->maybeSchema();
  const jit::Operator* const op = node->maybeOperator();
  if (op == nullptr || (schema != nullptr && schema->is_mutable()) || node->hasSideEffects() ||
      node->isNondeterministic() || !node->blocks().empty()) {
    return false;
  }
  for (const jit::Value* const output : node->outputs()) {
    if (!IsPlain(output->type())) return false;
  }
  jit::Stack stack;
  for (const AbstractValue& input : inputs) {
    if (input.flag != AbstractValue::Flag::kNone) return false;
    std::optional<c10::IValue> known = input.Known();
    if (!known.has_value()) return false;
    stack.push_back(*std::move(known));
  }
  CheckCost(node, stack);
  // Such operators take the number of their arguments as the last argument.
  if (schema != nullptr && schema->is_vararg()) stack.emplace_back(static_cast<int64_t>(inputs.size()));
  jit::Operation operation = op->getOperation(node);
  operation(stack);
  for (size_t i = 0; i < node->outputs().size(); ++i) {
    const c10::IValue& result = stack.at(i);
    if (result.isString() && result.toStringRef().size() > kMaxText) throw Unsupported("makes a very long text");
    if (result.isList()) {
      CheckLength(result.toListRef().size());
      calls_->CountSteps(static_cast<int64_t>(result.toListRef().size()));
    }
    (*environment)[node->outputs()[i]] = AbstractValue::Constant(result, writer_);
  }
  return true;
}

}  // namespace lanista::frontends
