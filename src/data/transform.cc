#include "src/data/transform.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "src/base/component.h"
#include "src/base/status.h"

namespace lanista::data {
namespace {

// "random_flip", or the name of a user's transform.
std::string KindName(const v1::TransformConfig& config) {
  if (config.has_custom()) return config.custom().name();
  return ChosenKind(config)->name();
}

}  // namespace

absl::StatusOr<std::shared_ptr<const TransformChain>> TransformChain::Create(
    const std::vector<google::protobuf::RepeatedPtrField<v1::TransformConfig>>& configs, const DataSplits& splits) {
  auto chain = std::make_shared<TransformChain>();
  std::vector<int64_t> shape = splits.input_shape;
  for (const auto& list : configs) {
    for (const v1::TransformConfig& config : list) {
      const std::string place = absl::StrCat("transform ", chain->transforms_.size() + 1);
      LANISTA_RETURN_IF_ERROR(Annotate(TransformRegistry::Get().Validate(config), place));
      absl::StatusOr<std::unique_ptr<Transform>> transform = TransformRegistry::Get().Create(config, splits);
      if (!transform.ok()) return Annotate(transform.status(), place);
      absl::StatusOr<std::vector<int64_t>> after = (*transform)->OutputShape(std::move(shape));
      if (!after.ok()) return Annotate(after.status(), place);
      shape = *std::move(after);
      chain->transforms_.push_back(*std::move(transform));
      chain->names_.push_back(KindName(config));
    }
  }
  return chain;
}

std::vector<v1::Preprocessing> TransformChain::Describe() const {
  std::vector<v1::Preprocessing> steps;
  for (size_t i = 0; i < transforms_.size(); ++i) {
    std::optional<v1::Preprocessing> step = transforms_[i]->Describe();
    if (!step.has_value()) step.emplace().set_custom(names_[i]);
    steps.push_back(*std::move(step));
  }
  return steps;
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
