#include "src/data/rows.h"

#include <ATen/ops/empty.h>

#include <array>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace lanista::data {

at::Tensor GatherRows(const at::Tensor& source, const int64_t* indices, int64_t count) {
  std::vector<int64_t> shape = source.sizes().vec();
  shape[0] = count;
  at::Tensor rows = at::empty(shape, source.options());
  const size_t row_bytes = count > 0 ? rows.nbytes() / count : 0;
  const char* from = static_cast<const char*>(source.data_ptr());
  char* to = static_cast<char*>(rows.data_ptr());
  for (int64_t i = 0; i < count; ++i) std::memcpy(to + i * row_bytes, from + indices[i] * row_bytes, row_bytes);
  return rows;
}

Example GatherRows(const Example& source, const std::vector<int64_t>& indices) {
  const auto count = static_cast<int64_t>(indices.size());
  return Example{GatherRows(source.input, indices.data(), count), GatherRows(source.target, indices.data(), count)};
}

at::Tensor PixelsToTensor(const char* pixels, std::vector<int64_t> shape) {
  static const std::array<float, 256> values = [] {
    std::array<float, 256> table;
    for (int i = 0; i < 256; ++i) table[i] = static_cast<float>(i) / 255.0f;
    return table;
  }();
  at::Tensor tensor = at::empty(shape, at::kFloat);
  float* to = tensor.data_ptr<float>();
  for (int64_t i = 0, count = tensor.numel(); i < count; ++i) to[i] = values[static_cast<unsigned char>(pixels[i])];
  return tensor;
}

std::string ShapeToString(c10::IntArrayRef shape) { return absl::StrCat("[", absl::StrJoin(shape, ", "), "]"); }

}  // namespace lanista::data
