#include "src/exporters/common/types_torch.h"

#include <map>
#include <vector>

namespace lanista::exporters {
c10::TypePtr ToTypePtr(const v1::ValueType& type) {
  switch (type.kind()) {
    case v1::ValueType::INT:
      return c10::IntType::get();
    case v1::ValueType::FLOAT:
      return c10::FloatType::get();
    case v1::ValueType::BOOLEAN:
      return c10::BoolType::get();
    case v1::ValueType::STRING:
      return c10::StringType::get();
    case v1::ValueType::LIST:
      return c10::ListType::create(type.elements_size() > 0 ? ToTypePtr(type.elements(0)) : c10::TensorType::get());
    case v1::ValueType::TUPLE: {
      std::vector<c10::TypePtr> elements;
      for (const v1::ValueType& element : type.elements()) elements.push_back(ToTypePtr(element));
      return c10::TupleType::create(std::move(elements));
    }
    case v1::ValueType::NONE:
      return c10::NoneType::get();
    default:
      return c10::TensorType::get();
  }
}

v1::ValueType ToValueType(const c10::Type& type) {
  v1::ValueType converted;
  switch (type.kind()) {
    case c10::TypeKind::TensorType:
      converted.set_kind(v1::ValueType::TENSOR);
      break;
    case c10::TypeKind::IntType:
      converted.set_kind(v1::ValueType::INT);
      break;
    case c10::TypeKind::FloatType:
      converted.set_kind(v1::ValueType::FLOAT);
      break;
    case c10::TypeKind::BoolType:
      converted.set_kind(v1::ValueType::BOOLEAN);
      break;
    case c10::TypeKind::StringType:
      converted.set_kind(v1::ValueType::STRING);
      break;
    case c10::TypeKind::ListType:
      converted.set_kind(v1::ValueType::LIST);
      *converted.add_elements() = ToValueType(*type.expectRef<c10::ListType>().getElementType());
      break;
    case c10::TypeKind::TupleType:
      converted.set_kind(v1::ValueType::TUPLE);
      for (const c10::TypePtr& element : type.expectRef<c10::TupleType>().elements()) {
        *converted.add_elements() = ToValueType(*element);
      }
      break;
    case c10::TypeKind::NoneType:
      converted.set_kind(v1::ValueType::NONE);
      break;
    default:
      break;
  }
  return converted;
}

v1::Tensor::DataType ToDataType(c10::ScalarType type) {
  static const auto* const types =
      new std::map<c10::ScalarType, v1::Tensor::DataType>{{c10::kFloat, v1::Tensor::FLOAT32},
                                                          {c10::kDouble, v1::Tensor::FLOAT64},
                                                          {c10::kHalf, v1::Tensor::FLOAT16},
                                                          {c10::kBFloat16, v1::Tensor::BFLOAT16},
                                                          {c10::kChar, v1::Tensor::INT8},
                                                          {c10::kByte, v1::Tensor::UINT8},
                                                          {c10::kShort, v1::Tensor::INT16},
                                                          {c10::kInt, v1::Tensor::INT32},
                                                          {c10::kLong, v1::Tensor::INT64},
                                                          {c10::kBool, v1::Tensor::BOOL},
                                                          {c10::kComplexFloat, v1::Tensor::COMPLEX64},
                                                          {c10::kComplexDouble, v1::Tensor::COMPLEX128}};
  const auto found = types->find(type);
  return found == types->end() ? v1::Tensor::DATA_TYPE_UNSPECIFIED : found->second;
}

}  // namespace lanista::exporters
