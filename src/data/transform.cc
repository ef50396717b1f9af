#include "src/data/transform.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "src/base/status.h"
#include "src/config/validate.h"

namespace lanista::data {

absl::StatusOr<std::shared_ptr<const TransformChain>> TransformChain::Create(
    const std::vector<google::protobuf::RepeatedPtrField<v1::TransformConfig>>& configs, const DataSplits& splits) {
  auto chain = std::make_shared<TransformChain>();
  std::vector<int64_t> shape = splits.input_shape;
  for (const auto& list : configs) {
    for (const v1::TransformConfig& config : list) {
      const std::string place = absl::StrCat("transform ", chain->transforms_.size() + 1);
      LANISTA_RETURN_IF_ERROR(Annotate(CheckConfig(config, ""), place));
      absl::StatusOr<std::unique_ptr<Transform>> transform = TransformRegistry::Get().Create(config, splits);
      if (!transform.ok()) return Annotate(transform.status(), place);
      absl::StatusOr<std::vector<int64_t>> after = (*transform)->OutputShape(std::move(shape));
      if (!after.ok()) return Annotate(after.status(), place);
      shape = *std::move(after);
      chain->transforms_.push_back(*std::move(transform));
    }
  }
  return chain;
}

at::Tensor TransformChain::Apply(at::Tensor input, uint64_t seed) const {
  if (transforms_.empty()) return input;
  SampleRandom random(seed);
  for (const auto& transform : transforms_) input = transform->Apply(input, random);
  return input;
}

bool TransformChain::batchable() const {
  return std::all_of(transforms_.begin(), transforms_.end(), [](const auto& each) { return each->batchable(); });
}

absl::StatusOr<std::vector<int64_t>> TransformChain::OutputShape(std::vector<int64_t> shape) const {
  for (const auto& transform : transforms_) {
    LANISTA_ASSIGN_OR_RETURN(shape, transform->OutputShape(std::move(shape)));
  }
  return shape;
}

}  // namespace lanista::data
