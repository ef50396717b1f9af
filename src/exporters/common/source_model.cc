#include "src/exporters/common/source_model.h"

#include <cstring>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"

namespace lanista::exporters {
namespace {

template <class Element, class Number>
void Unpack(const v1::Tensor& tensor, std::vector<Number>* out) {
  for (size_t at = 0; at + sizeof(Element) <= tensor.data().size(); at += sizeof(Element)) {
    Element element;
    std::memcpy(&element, tensor.data().data() + at, sizeof(Element));
    out->push_back(static_cast<Number>(element));
  }
}

}  // namespace

ArchivePlace PlaceOf(const v1::OpaqueModule& opaque) { return {opaque.archive(), opaque.path()}; }

absl::StatusOr<TensorElements> UnpackTensor(const v1::Tensor& tensor) {
  TensorElements elements;
  switch (tensor.data_type()) {
    case v1::Tensor::FLOAT32:
      elements.is_float = true;
      Unpack<float>(tensor, &elements.floats);
      break;
    case v1::Tensor::FLOAT64:
      elements.is_float = true;
      Unpack<double>(tensor, &elements.floats);
      break;
    case v1::Tensor::INT8:
      Unpack<int8_t>(tensor, &elements.ints);
      break;
    case v1::Tensor::UINT8:
    case v1::Tensor::BOOL:
      Unpack<uint8_t>(tensor, &elements.ints);
      break;
    case v1::Tensor::INT16:
      Unpack<int16_t>(tensor, &elements.ints);
      break;
    case v1::Tensor::INT32:
      Unpack<int32_t>(tensor, &elements.ints);
      break;
    case v1::Tensor::INT64:
      Unpack<int64_t>(tensor, &elements.ints);
      break;
    default:
      return absl::UnimplementedError(absl::StrCat("a constant tensor of type ",
                                                   v1::Tensor::DataType_Name(tensor.data_type()),
                                                   " cannot be written as a literal"));
  }
  int64_t expected = 1;
  for (const int64_t dim : tensor.dims()) expected *= dim;
  const size_t found = elements.is_float ? elements.floats.size() : elements.ints.size();
  if (expected < 0 || static_cast<size_t>(expected) != found) {
    return absl::InvalidArgumentError(
        absl::StrCat("a constant tensor holds ", found, " elements; its dimensions say ", expected));
  }
  return elements;
}

}  // namespace lanista::exporters
