// The data: images of upright (class 0) or level stripes (class 1) under noise. Each trial runs in a process of its own
// and makes the data itself, so it must be the same each time: draw it with a seed of its own, or read files.
#include "lanista/dataset.h"

#include <ATen/CPUGeneratorImpl.h>
#include <torch/types.h>

#include <cstdint>

namespace {

lanista::data::Example Stripes(int64_t count, uint64_t seed) {
  auto random = at::make_generator<at::CPUGeneratorImpl>(seed);
  const torch::Tensor classes = torch::randint(0, 2, {count}, random, torch::kLong);
  const torch::Tensor frequency = torch::rand({count, 1, 1}, random) * 1.5 + 0.7;
  const torch::Tensor phase = torch::rand({count, 1, 1}, random) * 6.3;
  const torch::Tensor upright =
      torch::sin(torch::arange(16.0).view({1, 1, 16}) * frequency + phase).expand({count, 16, 16});
  const torch::Tensor level = upright.transpose(1, 2);
  const torch::Tensor images = torch::where(classes.view({count, 1, 1}) == 0, upright, level);
  return {(images + torch::randn({count, 16, 16}, random) * 1.5).unsqueeze(1), classes};
}

absl::StatusOr<lanista::data::DataSplits> MakeStripes(const lanista::Params& params,
                                                      const lanista::data::DatasetRequest&) {
  const auto samples = params.Get<int64_t>("samples", 1000);
  if (samples < 1) return absl::InvalidArgumentError("stripes: `samples` must be at least 1");
  return lanista::data::ClassificationSplits(Stripes(samples, /*seed=*/1), Stripes(200, /*seed=*/2));
}

}  // namespace

LANISTA_REGISTER(dataset, "stripes", MakeStripes);
