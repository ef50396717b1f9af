#include "src/frontends/abstract_value.h"

#include <torch/csrc/jit/api/module.h>

namespace lanista::frontends {
namespace {

v1::Tensor::DataType DataTypeOf(at::ScalarType type) {
  switch (type) {
    case at::kFloat:
      return v1::Tensor::FLOAT32;
    case at::kDouble:
      return v1::Tensor::FLOAT64;
    case at::kHalf:
      return v1::Tensor::FLOAT16;
    case at::kBFloat16:
      return v1::Tensor::BFLOAT16;
    case at::kChar:
      return v1::Tensor::INT8;
    case at::kByte:
      return v1::Tensor::UINT8;
    case at::kShort:
      return v1::Tensor::INT16;
    case at::kInt:
      return v1::Tensor::INT32;
    case at::kLong:
      return v1::Tensor::INT64;
    case at::kBool:
      return v1::Tensor::BOOL;
    case at::kComplexFloat:
      return v1::Tensor::COMPLEX64;
    case at::kComplexDouble:
      return v1::Tensor::COMPLEX128;
    default:
      return v1::Tensor::DATA_TYPE_UNSPECIFIED;
  }
}

std::optional<v1::Value> TensorToValue(const at::Tensor& tensor) {
  if (!tensor.defined() || tensor.layout() != at::kStrided) return std::nullopt;
  v1::Value result;
  result.mutable_tensor()->set_data_type(DataTypeOf(tensor.scalar_type()));
  if (result.tensor().data_type() == v1::Tensor::DATA_TYPE_UNSPECIFIED) return std::nullopt;
  const at::Tensor flat = tensor.detach().cpu().contiguous();
  for (const int64_t dim : flat.sizes()) result.mutable_tensor()->add_dims(dim);
  result.mutable_tensor()->set_data(flat.data_ptr(), flat.nbytes());
  return result;
}

}  // namespace

AbstractValue AbstractValue::Constant(const c10::IValue& value, GraphWriter* writer) {
  if (value.isList() || value.isTuple()) {
    std::vector<AbstractValue> elements;
    for (const c10::IValue& element : value.isList() ? value.toListRef() : value.toTupleRef().elements().asArrayRef()) {
      elements.push_back(Constant(element, writer));
    }
    return Sequence(value.isList() ? Kind::kList : Kind::kTuple, std::move(elements), value.type(), writer);
  }
  AbstractValue result;
  result.constant = value;
  result.type = value.type();
  return result;
}

AbstractValue AbstractValue::Module(torch::jit::Module module, std::string path) {
  AbstractValue result;
  result.kind = Kind::kModule;
  result.module = std::make_shared<torch::jit::Module>(std::move(module));
  result.path = std::move(path);
  return result;
}

AbstractValue AbstractValue::Sequence(Kind kind, std::vector<AbstractValue> elements, c10::TypePtr type,
                                      GraphWriter* writer) {
  AbstractValue result;
  result.kind = kind;
  result.elements = std::make_shared<std::vector<AbstractValue>>(std::move(elements));
  result.type = std::move(type);
  result.writer = writer;
  return result;
}

std::optional<c10::IValue> AbstractValue::Known() const {
  if (is_constant()) return is_template ? std::nullopt : std::make_optional(constant);
  if (!is_sequence()) return std::nullopt;
  std::vector<c10::IValue> known;
  for (const AbstractValue& element : *elements) {
    std::optional<c10::IValue> one = element.Known();
    if (!one.has_value()) return std::nullopt;
    known.push_back(*std::move(one));
  }
  if (kind == Kind::kTuple) return c10::ivalue::Tuple::create(std::move(known));
  const auto list_type = type == nullptr ? nullptr : type->cast<c10::ListType>();
  if (list_type == nullptr) return std::nullopt;
  c10::impl::GenericList list(list_type->getElementType());
  for (c10::IValue& element : known) list.push_back(std::move(element));
  return c10::IValue(std::move(list));
}

bool AbstractValue::SameAs(const AbstractValue& other) const {
  if (kind != other.kind) return false;
  if (is_edge()) return writer == other.writer && node == other.node && slot == other.slot;
  if (!is_constant() || is_template || constant.tagKind() != other.constant.tagKind()) return false;
  if (constant.isTensor()) return constant.toTensor().is_same(other.constant.toTensor());
  const auto mine = ToValue(constant), theirs = ToValue(other.constant);
  return mine.has_value() && theirs.has_value() && mine->SerializeAsString() == theirs->SerializeAsString();
}

AbstractValue AbstractValue::Map(const std::function<AbstractValue(const AbstractValue&)>& convert) const {
  if (kind == Kind::kModule) throw Unsupported("a module is handed on as a value");
  if (is_edge()) return convert(*this);
  if (!is_compound()) return *this;
  AbstractValue result = *this;
  result.writer = nullptr;
  result.elements = std::make_shared<std::vector<AbstractValue>>();
  for (const AbstractValue& element : *elements) result.elements->push_back(element.Map(convert));
  return result;
}

std::optional<v1::Value> ToValue(const c10::IValue& value) {
  v1::Value result;
  if (value.isNone()) return result;
  if (value.isBool()) {
    result.set_b(value.toBool());
  } else if (value.isInt()) {
    result.set_i(value.toInt());
  } else if (value.isDouble()) {
    result.set_f(value.toDouble());
  } else if (value.isString()) {
    result.set_s(value.toStringRef());
  } else if (value.isDevice()) {
    result.set_s(value.toDevice().str());
  } else if (value.isTensor()) {
    return TensorToValue(value.toTensor());
  } else if (value.isList() || value.isTuple()) {
    result.mutable_list();
    for (const c10::IValue& element : value.isList() ? value.toListRef() : value.toTupleRef().elements().asArrayRef()) {
      const std::optional<v1::Value> converted = ToValue(element);
      if (!converted.has_value()) return std::nullopt;
      *result.mutable_list()->add_values() = *converted;
    }
  } else {
    return std::nullopt;
  }
  return result;
}

v1::ValueType KindOf(const c10::TypePtr& type) {
  v1::ValueType result;
  if (type == nullptr) return result;
  switch (type->kind()) {
    case c10::TypeKind::TensorType:
      result.set_kind(v1::ValueType::TENSOR);
      break;
    case c10::TypeKind::IntType:
      result.set_kind(v1::ValueType::INT);
      break;
    case c10::TypeKind::FloatType:
      result.set_kind(v1::ValueType::FLOAT);
      break;
    case c10::TypeKind::BoolType:
      result.set_kind(v1::ValueType::BOOLEAN);
      break;
    case c10::TypeKind::StringType:
      result.set_kind(v1::ValueType::STRING);
      break;
    case c10::TypeKind::NoneType:
      result.set_kind(v1::ValueType::NONE);
      break;
    case c10::TypeKind::ListType:
      result.set_kind(v1::ValueType::LIST);
      *result.add_elements() = KindOf(type->expectRef<c10::ListType>().getElementType());
      break;
    case c10::TypeKind::TupleType:
      result.set_kind(v1::ValueType::TUPLE);
      for (const c10::TypePtr& element : type->expectRef<c10::TupleType>().elements()) {
        *result.add_elements() = KindOf(element);
      }
      break;
    default:
      break;
  }
  return result;
}

}  // namespace lanista::frontends
