#include "src/exporters/common/types_torch.h"

#include <map>
#include <vector>

namespace lanista::exporters {
c10::TypePtr ToTypePtr(const v1::ValueType& type) {
  switch (type.kind()) {
    case v1::INT:
      return c10::IntType::get();
    case v1::FLOAT:
      return c10::FloatType::get();
    case v1::BOOLEAN:
      return c10::BoolType::get();
    case v1::STRING:
      return c10::StringType::get();
    case v1::LIST:
      return c10::ListType::create(type.elements_size() > 0 ? ToTypePtr(type.elements(0)) : c10::TensorType::get());
    case v1::TUPLE: {
      std::vector<c10::TypePtr> elements;
      for (const v1::ValueType& element : type.elements()) elements.push_back(ToTypePtr(element));
      return c10::TupleType::create(std::move(elements));
    }
    case v1::NONE:
      return c10::NoneType::get();
    default:
      return c10::TensorType::get();
  }
}

v1::ValueType ToValueType(const c10::Type& type) {
  v1::ValueType converted;
  switch (type.kind()) {
    case c10::TypeKind::TensorType:
      converted.set_kind(v1::TENSOR);
      break;
    case c10::TypeKind::IntType:
      converted.set_kind(v1::INT);
      break;
    case c10::TypeKind::FloatType:
      converted.set_kind(v1::FLOAT);
      break;
    case c10::TypeKind::BoolType:
      converted.set_kind(v1::BOOLEAN);
      break;
    case c10::TypeKind::StringType:
      converted.set_kind(v1::STRING);
      break;
    case c10::TypeKind::ListType:
      converted.set_kind(v1::LIST);
      *converted.add_elements() = ToValueType(*type.expectRef<c10::ListType>().getElementType());
      break;
    case c10::TypeKind::TupleType:
      converted.set_kind(v1::TUPLE);
      for (const c10::TypePtr& element : type.expectRef<c10::TupleType>().elements()) {
        *converted.add_elements() = ToValueType(*element);
      }
      break;
    case c10::TypeKind::NoneType:
      converted.set_kind(v1::NONE);
      break;
    default:
      break;
  }
  return converted;
}

v1::DataType ToDataType(c10::ScalarType type) {
  static const auto* const types = new std::map<c10::ScalarType, v1::DataType>{{c10::kFloat, v1::FLOAT32},
                                                                               {c10::kDouble, v1::FLOAT64},
                                                                               {c10::kHalf, v1::FLOAT16},
                                                                               {c10::kBFloat16, v1::BFLOAT16},
                                                                               {c10::kChar, v1::INT8},
                                                                               {c10::kByte, v1::UINT8},
                                                                               {c10::kShort, v1::INT16},
                                                                               {c10::kInt, v1::INT32},
                                                                               {c10::kLong, v1::INT64},
                                                                               {c10::kBool, v1::BOOL},
                                                                               {c10::kComplexFloat, v1::COMPLEX64},
                                                                               {c10::kComplexDouble, v1::COMPLEX128}};
  const auto found = types->find(type);
  return found == types->end() ? v1::DATA_TYPE_UNSPECIFIED : found->second;
}

}  // namespace lanista::exporters
