// Rows of tensors, copied as bytes: without LibTorch's operators there is no dispatch and no team of OpenMP threads.
#ifndef LANISTA_SRC_DATA_ROWS_H_
#define LANISTA_SRC_DATA_ROWS_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "src/data/dataset.h"

namespace lanista::data {

// The rows `indices[0]`, ..., `indices[count - 1]` of `source`, [N, ...], as a new tensor [count, ...], like
// index_select(0, ...). REQUIRES: `source` is contiguous and on the CPU, and each index is in [0, N).
at::Tensor GatherRows(const at::Tensor& source, const int64_t* indices, int64_t count);

// The same for both tensors of an example.
Example GatherRows(const Example& source, const std::vector<int64_t>& indices);

// Bytes as float32 in [0, 1] (value / 255), in the given shape. REQUIRES: there are as many bytes as the shape has
// elements.
at::Tensor PixelsToTensor(const char* pixels, std::vector<int64_t> shape);

// "[1, 28, 28]".
std::string ShapeToString(c10::IntArrayRef shape);

}  // namespace lanista::data

#endif  // LANISTA_SRC_DATA_ROWS_H_
