// Digits drawn by code, in memory: samples that need no file.
#include <ATen/ops/empty.h>

#include <cmath>
#include <memory>
#include <string>
#include <utility>

#include "src/base/hash.h"
#include "src/data/dataset.h"
#include "src/data/digit_drawing.h"

namespace lanista::data {
namespace {

// The digits 0 to 9 alternate; a sample depends only on seed, split and its index.
std::shared_ptr<const Dataset> Draw(int64_t count, uint64_t seed, const std::string& split, double noise) {
  Example all{at::empty({count, 1, kDigitSize, kDigitSize}, at::kFloat), at::empty({count}, at::kLong)};
  float* pixels = all.input.data_ptr<float>();
  int64_t* digits = all.target.data_ptr<int64_t>();
  for (int64_t i = 0; i < count; ++i) {
    digits[i] = i % 10;
    DrawDigit(static_cast<int>(digits[i]), MixSeed({seed, StableHash(split), static_cast<uint64_t>(i)}), noise,
              pixels + i * kDigitSize * kDigitSize);
  }
  return MakeInMemoryDataset(std::move(all));
}

absl::StatusOr<std::unique_ptr<DataSplits>> OpenSyntheticDigits(const v1::SyntheticDigitsConfig& config,
                                                                const DatasetRequest& request) {
  const int32_t train = config.has_train_samples() ? config.train_samples() : 4000;
  const int32_t validation = config.has_validation_samples() ? config.validation_samples() : 1000;
  const double noise = config.has_noise() ? config.noise() : 0.1;
  const uint64_t seed = config.has_seed() ? static_cast<uint64_t>(config.seed()) : request.order_seed;
  auto splits = std::make_unique<DataSplits>();
  splits->train = Draw(train, seed, "train", noise);
  splits->validation = Draw(validation, seed, "validation", noise);
  splits->input_shape = {1, kDigitSize, kDigitSize};
  splits->outputs = 10;
  splits->class_names = {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"};
  return splits;
}

}  // namespace

LANISTA_REGISTER_BUILT_IN(DatasetRegistry, synthetic_digits, v1::SyntheticDigitsConfig, OpenSyntheticDigits);

}  // namespace lanista::data
