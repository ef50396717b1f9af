#include "src/data/split.h"

#include <algorithm>
#include <cmath>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "src/base/hash.h"
#include "src/data/random.h"

namespace lanista::data {

absl::StatusOr<SplitIndices> Split(int64_t count, const v1::SplitConfig& config, uint64_t order_seed,
                                   const std::string& source) {
  const double fraction = config.has_train() ? config.train() : 0.8;
  const int64_t train = std::llround(fraction * static_cast<double>(count));
  if (train < 1 || train >= count) {
    return absl::InvalidArgumentError(absl::StrCat(source, ": split.train ", fraction, " of ", count,
                                                   " sample(s) leaves ",
                                                   train < 1 ? "none for training" : "none for validation"));
  }
  const uint64_t seed = config.has_seed() ? static_cast<uint64_t>(config.seed()) : order_seed;
  const std::vector<int64_t> order = RandomPermutation(count, MixSeed({seed, StableHash("split")}));
  SplitIndices indices{{order.begin(), order.begin() + train}, {order.begin() + train, order.end()}};
  std::sort(indices.train.begin(), indices.train.end());
  std::sort(indices.validation.begin(), indices.validation.end());
  return indices;
}

}  // namespace lanista::data
