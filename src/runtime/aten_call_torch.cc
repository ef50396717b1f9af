#include "src/runtime/aten_call_torch.h"

#include <ATen/Functions.h>
#include <ATen/core/List.h>
#include <ATen/core/jit_type.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "src/base/status.h"
#include "src/graph/allowed_operators.h"

namespace lanista::runtime {
namespace {

using c10::IValue;
using torch::jit::Stack;

// A list of the elements' common kind; a generic list if they differ or there are none.
IValue MakeList(c10::ArrayRef<IValue> elements) {
  const auto all = [&](bool (IValue::*is)() const) {
    return !elements.empty() &&
           std::all_of(elements.begin(), elements.end(), [&](const IValue& e) { return (e.*is)(); });
  };
  if (all(&IValue::isTensor)) {
    c10::List<at::Tensor> list;
    for (const IValue& element : elements) list.push_back(element.toTensor());
    return list;
  }
  if (all(&IValue::isInt)) {
    c10::List<int64_t> list;
    for (const IValue& element : elements) list.push_back(element.toInt());
    return list;
  }
  if (all(&IValue::isDouble)) {
    c10::List<double> list;
    for (const IValue& element : elements) list.push_back(element.toDouble());
    return list;
  }
  if (all(&IValue::isBool)) {
    c10::List<bool> list;
    for (const IValue& element : elements) list.push_back(element.toBool());
    return list;
  }
  c10::impl::GenericList list(elements.empty() ? c10::TypePtr(c10::TensorType::get()) : elements[0].type());
  for (const IValue& element : elements) list.push_back(element);
  return list;
}

// A list of tensors and nones.
IValue MakeOptionalList(c10::ArrayRef<IValue> elements) {
  c10::List<c10::optional<at::Tensor>> list;
  for (const IValue& element : elements) list.push_back(element.toOptional<at::Tensor>());
  return list;
}

// Operators that TorchScript's interpreter implements itself. They take their inputs in order.
const std::map<std::string, std::function<void(Stack&)>>& Primitives() {
  static const auto* const primitives = new std::map<std::string, std::function<void(Stack&)>>{
      // Gives its constant, the attribute "0", as a value.
      {"prim::Constant", [](Stack&) {}},
      {"prim::ListConstruct",
       [](Stack& stack) {
         IValue list = MakeList(stack);
         stack.clear();
         stack.push_back(std::move(list));
       }},
      {"prim::TupleConstruct",
       [](Stack& stack) {
         IValue tuple = c10::ivalue::Tuple::create(std::vector<IValue>(stack.begin(), stack.end()));
         stack.clear();
         stack.push_back(std::move(tuple));
       }},
      {"prim::ListUnpack",
       [](Stack& stack) {
         const auto list = stack.at(0).toListRef().vec();
         stack.assign(list.begin(), list.end());
       }},
      {"prim::TupleUnpack",
       [](Stack& stack) {
         const auto tuple = stack.at(0).toTuple();
         stack.clear();
         for (const IValue& element : tuple->elements()) stack.push_back(element);
       }},
  };
  return *primitives;
}

at::ScalarType ScalarTypeOf(v1::Tensor::DataType type) {
  switch (type) {
    case v1::Tensor::FLOAT64:
      return at::kDouble;
    case v1::Tensor::FLOAT16:
      return at::kHalf;
    case v1::Tensor::BFLOAT16:
      return at::kBFloat16;
    case v1::Tensor::INT8:
      return at::kChar;
    case v1::Tensor::UINT8:
      return at::kByte;
    case v1::Tensor::INT16:
      return at::kShort;
    case v1::Tensor::INT32:
      return at::kInt;
    case v1::Tensor::INT64:
      return at::kLong;
    case v1::Tensor::BOOL:
      return at::kBool;
    case v1::Tensor::COMPLEX64:
      return at::kComplexFloat;
    case v1::Tensor::COMPLEX128:
      return at::kComplexDouble;
    default:
      return at::kFloat;
  }
}

// Of the number of a primitive's argument.
constexpr size_t kMaxDigits = 6;

bool IsNumber(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
}

absl::Status Expected(const std::string& what) { return absl::InvalidArgumentError(absl::StrCat("expected ", what)); }

template <typename T, typename Get>
absl::StatusOr<IValue> ToList(const v1::Value& value, const c10::TypePtr& element_type, Get get) {
  c10::List<T> list;
  for (const v1::Value& element : value.list().values()) {
    LANISTA_ASSIGN_OR_RETURN(const IValue converted, ToIValue(element, element_type));
    list.push_back(get(converted));
  }
  return IValue(list);
}

absl::StatusOr<IValue> ToListOf(const v1::Value& value, const c10::TypePtr& element_type) {
  if (!value.has_list()) return Expected("a list");
  switch (element_type->kind()) {
    case c10::TypeKind::IntType:
      return ToList<int64_t>(value, element_type, [](const IValue& v) { return v.toInt(); });
    case c10::TypeKind::FloatType:
      return ToList<double>(value, element_type, [](const IValue& v) { return v.toDouble(); });
    case c10::TypeKind::BoolType:
      return ToList<bool>(value, element_type, [](const IValue& v) { return v.toBool(); });
    case c10::TypeKind::VarType:
      // The element type is free (`torch.tensor(t[] data)`): the elements decide it.
      return ToIValue(value);
    case c10::TypeKind::TensorType:
      return ToList<at::Tensor>(value, element_type, [](const IValue& v) { return v.toTensor(); });
    default: {
      c10::impl::GenericList list(element_type);
      for (const v1::Value& element : value.list().values()) {
        LANISTA_ASSIGN_OR_RETURN(IValue converted, ToIValue(element, element_type));
        list.push_back(std::move(converted));
      }
      return IValue(list);
    }
  }
}

}  // namespace

absl::StatusOr<at::Tensor> ToTensor(const v1::Tensor& proto) {
  const at::ScalarType type = ScalarTypeOf(proto.data_type());
  int64_t count = 1;
  for (const int64_t dim : proto.dims()) {
    if (dim < 0 || (dim > 0 && count > (int64_t{1} << 40) / dim)) return Expected("dimensions of a tensor");
    count *= dim;
  }
  const size_t bytes = static_cast<size_t>(count) * c10::elementSize(type);
  if (bytes != proto.data().size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("a tensor of ", bytes, " bytes has ", proto.data().size(), " bytes of data"));
  }
  at::Tensor tensor = at::empty(std::vector<int64_t>(proto.dims().begin(), proto.dims().end()), type);
  if (bytes > 0) std::memcpy(tensor.data_ptr(), proto.data().data(), bytes);
  return tensor;
}

absl::StatusOr<IValue> ToIValue(const v1::Value& value, const c10::TypePtr& type) {
  if (const auto optional = type->cast<c10::OptionalType>()) {
    if (value.kind_case() == v1::Value::KIND_NOT_SET) return IValue();
    return ToIValue(value, optional->getElementType());
  }
  switch (type->kind()) {
    case c10::TypeKind::IntType:
    case c10::TypeKind::SymIntType:
      if (value.has_i()) return IValue(value.i());
      return Expected("an integer");
    case c10::TypeKind::FloatType:
      if (value.has_f()) return IValue(value.f());
      if (value.has_i()) return IValue(static_cast<double>(value.i()));
      return Expected("a number");
    case c10::TypeKind::NumberType:
      if (value.has_b()) return IValue(value.b());
      if (value.has_f()) return IValue(value.f());
      if (value.has_i()) return IValue(value.i());
      return Expected("a number");
    case c10::TypeKind::BoolType:
      if (value.has_b()) return IValue(value.b());
      return Expected("a truth value");
    case c10::TypeKind::StringType:
      if (value.has_s()) return IValue(value.s());
      return Expected("a string");
    case c10::TypeKind::DeviceObjType:
      if (value.has_s()) return IValue(c10::Device(value.s()));
      return Expected("the name of a device");
    case c10::TypeKind::TensorType: {
      if (!value.has_tensor()) return Expected("a tensor");
      LANISTA_ASSIGN_OR_RETURN(at::Tensor tensor, ToTensor(value.tensor()));
      return IValue(std::move(tensor));
    }
    case c10::TypeKind::ListType:
      return ToListOf(value, type->expectRef<c10::ListType>().getElementType());
    default:
      // Data types, layouts and memory formats are integers.
      return ToIValue(value);
  }
}

absl::StatusOr<IValue> ToIValue(const v1::Value& value) {
  switch (value.kind_case()) {
    case v1::Value::kI:
      return IValue(value.i());
    case v1::Value::kF:
      return IValue(value.f());
    case v1::Value::kB:
      return IValue(value.b());
    case v1::Value::kS:
      return IValue(value.s());
    case v1::Value::kTensor: {
      LANISTA_ASSIGN_OR_RETURN(at::Tensor tensor, ToTensor(value.tensor()));
      return IValue(std::move(tensor));
    }
    case v1::Value::kList: {
      std::vector<IValue> elements;
      for (const v1::Value& element : value.list().values()) {
        LANISTA_ASSIGN_OR_RETURN(elements.emplace_back(), ToIValue(element));
      }
      return MakeList(elements);
    }
    case v1::Value::kExpression:
      return absl::InvalidArgumentError("a choice is still open");
    default:
      return IValue();
  }
}

std::shared_ptr<torch::jit::Operator> FindAtenOperator(const std::string& type) {
  const size_t dot = type.find('.');
  const std::string overload = dot == std::string::npos ? "" : type.substr(dot + 1);
  if (type.find("::") == std::string::npos) return nullptr;
  for (const auto& one : torch::jit::getAllOperatorsFor(c10::Symbol::fromQualString(type.substr(0, dot)))) {
    if (one->schema().overload_name() == overload) return one;
  }
  return nullptr;
}

absl::Status CheckAtenOperator(const std::string& type) {
  LANISTA_RETURN_IF_ERROR(graph::CheckOperatorAllowed(type));
  if (Primitives().count(type) > 0 || FindAtenOperator(type) != nullptr) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("LibTorch has no operator '", type, "'"));
}

absl::StatusOr<AtenCall> AtenCall::Create(const v1::Node& node) {
  const std::string& type = node.op().type();
  LANISTA_RETURN_IF_ERROR(CheckAtenOperator(type));
  AtenCall call;
  if (const auto primitive = Primitives().find(type); primitive != Primitives().end()) {
    call.operation_ = primitive->second;
    // Inputs and constants, ordered by their numbers.
    std::map<int, Argument> numbered;
    for (int i = 0; i < node.inputs_size(); ++i) {
      const std::string& arg = node.inputs(i).arg();
      int number = i;
      if (IsNumber(arg)) {
        if (arg.size() > kMaxDigits) {
          return absl::InvalidArgumentError(absl::StrCat("inputs of ", type, " are numbered, not '", arg, "'"));
        }
        number = std::stoi(arg);
      }
      numbered[number].inputs = {i};
    }
    for (const v1::Attribute& attribute : node.op().attr()) {
      if (!IsNumber(attribute.key()) || attribute.key().size() > kMaxDigits) {
        return absl::InvalidArgumentError(
            absl::StrCat("constants of ", type, " are numbered, not '", attribute.key(), "'"));
      }
      LANISTA_ASSIGN_OR_RETURN(numbered[std::stoi(attribute.key())].constant, ToIValue(attribute.value()));
    }
    for (auto& entry : numbered) call.arguments_.push_back(std::move(entry.second));
    return call;
  }

  const auto found = FindAtenOperator(type);
  const c10::FunctionSchema& schema = found->schema();
  std::map<std::string, const v1::Value*> constants;
  for (const v1::Attribute& attribute : node.op().attr()) constants[attribute.key()] = &attribute.value();
  std::map<std::string, std::vector<int>> inputs;
  for (int i = 0; i < node.inputs_size(); ++i) {
    // Edges without an argument name are counted in order.
    const std::string& name = node.inputs(i).arg();
    if (!name.empty()) {
      inputs[name].push_back(i);
    } else if (i < static_cast<int>(schema.arguments().size())) {
      inputs[schema.arguments()[i].name()].push_back(i);
    }
  }
  for (const c10::Argument& argument : schema.arguments()) {
    Argument& bound = call.arguments_.emplace_back();
    const std::string& name = argument.name();
    if (const auto edges = inputs.find(name); edges != inputs.end()) {
      bound.inputs = std::move(edges->second);
      if (const auto list = argument.type()->cast<c10::ListType>()) {
        bound.is_list = true;
        bound.of_optionals = list->getElementType()->kind() == c10::TypeKind::OptionalType;
      }
      if (bound.inputs.size() > 1 && !bound.is_list) {
        return absl::InvalidArgumentError(absl::StrCat("argument '", name, "' of ", type, " takes one value"));
      }
      inputs.erase(edges);
    } else if (const auto constant = constants.find(name); constant != constants.end()) {
      absl::StatusOr<IValue> value = ToIValue(*constant->second, argument.type());
      if (!value.ok()) return Annotate(value.status(), absl::StrCat("argument '", name, "' of ", type));
      bound.constant = *std::move(value);
    } else if (argument.default_value().has_value()) {
      bound.constant = *argument.default_value();
    } else {
      return absl::InvalidArgumentError(absl::StrCat(type, " needs the argument '", name, "'"));
    }
    constants.erase(name);
  }
  if (!inputs.empty() || !constants.empty()) {
    const std::string unknown = inputs.empty() ? constants.begin()->first : inputs.begin()->first;
    return absl::InvalidArgumentError(absl::StrCat(
        type, " has no argument '", unknown, "'; it has ",
        absl::StrJoin(schema.arguments(), ", ", [](std::string* out, const c10::Argument& a) { *out += a.name(); })));
  }
  call.operation_ = [keep = found, operation = found->getOperation()](Stack& stack) mutable { operation(stack); };
  return call;
}

void AtenCall::Run(c10::ArrayRef<IValue> inputs, std::vector<IValue>* outputs) const {
  outputs->clear();
  for (const Argument& argument : arguments_) {
    if (argument.inputs.empty()) {
      outputs->push_back(argument.constant);
      continue;
    }
    const IValue& first = inputs[argument.inputs[0]];
    const bool whole = argument.inputs.size() == 1 && first.isList();
    if (!argument.is_list || (whole && !argument.of_optionals)) {
      outputs->push_back(first);
      continue;
    }
    std::vector<IValue> elements;
    if (whole) {
      elements = first.toListRef().vec();
    } else {
      for (const int input : argument.inputs) elements.push_back(inputs[input]);
    }
    outputs->push_back(argument.of_optionals ? MakeOptionalList(elements) : MakeList(elements));
  }
  operation_(*outputs);
}

}  // namespace lanista::runtime
