#include "src/data/shared_data.h"

#include <ATen/ops/from_blob.h>

#include <cstdio>
#include <utility>

#include "absl/strings/string_view.h"
#include "src/base/shared_bytes.h"

namespace lanista::data {
namespace {

// Smaller tensors are not worth a file.
constexpr size_t kLeastBytes = 1 << 20;

std::string& Folder() {
  static auto* const folder = new std::string;
  return *folder;
}

bool IsLarge(const at::Tensor& tensor) { return tensor.nbytes() >= kLeastBytes; }

at::Tensor SharedTensor(const at::Tensor& tensor) {
  if (!IsLarge(tensor)) return tensor;
  const absl::string_view bytes(static_cast<const char*>(tensor.data_ptr()), tensor.nbytes());
  const auto shared = SharedBytes::Share(Folder(), bytes);
  if (!shared.ok()) {
    std::fprintf(stderr, "data is not shared with other trial processes: %s\n",
                 std::string(shared.status().message()).c_str());
    return tensor;
  }
  return at::from_blob(
      const_cast<void*>((*shared)->data()), tensor.sizes(), [kept = *shared](void*) {}, tensor.options());
}

}  // namespace

void ShareDataIn(std::string folder) { Folder() = std::move(folder); }

std::shared_ptr<const Dataset> Shared(std::shared_ptr<const Dataset> dataset) {
  const Example* all = dataset->InMemory();
  if (Folder().empty() || all == nullptr || !(IsLarge(all->input) || IsLarge(all->target))) return dataset;
  return MakeInMemoryDataset({SharedTensor(all->input), SharedTensor(all->target)});
}

}  // namespace lanista::data
