// The built-in transforms of images.
#include <ATen/ops/affine_grid_generator.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/flip.h>
#include <ATen/ops/grid_sampler.h>
#include <ATen/ops/sub.h>
#include <ATen/ops/upsample_bilinear2d.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "src/base/status.h"
#include "src/data/random.h"
#include "src/data/rows.h"
#include "src/data/transform.h"

namespace lanista::data {
namespace {

using Shape = std::vector<int64_t>;

absl::Status ExpectImage(const std::string& transform, const Shape& shape) {
  if (shape.size() == 3) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(transform, " wants images, [channels, height, width], not inputs of shape ", ShapeToString(shape)));
}

// ---- normalize

// One number per channel, as a tensor [channels, 1, 1].
at::Tensor PerChannel(const std::vector<double>& values) {
  at::Tensor tensor = at::empty({static_cast<int64_t>(values.size()), 1, 1}, at::kFloat);
  std::copy(values.begin(), values.end(), tensor.data_ptr<float>());
  return tensor;
}

class Normalize : public Transform {
 public:
  Normalize(const std::vector<double>& mean, const std::vector<double>& deviation)
      : mean_(PerChannel(mean)), deviation_(PerChannel(deviation)) {
    step_.mutable_standardization()->mutable_mean()->Assign(mean.begin(), mean.end());
    step_.mutable_standardization()->mutable_std()->Assign(deviation.begin(), deviation.end());
  }

  at::Tensor Apply(const at::Tensor& input, SampleRandom&) const override {
    return at::sub(input, mean_).div_(deviation_);
  }
  bool batchable() const override { return true; }
  std::optional<v1::Preprocessing> Describe() const override { return step_; }
  absl::StatusOr<Shape> OutputShape(Shape shape) const override {
    LANISTA_RETURN_IF_ERROR(ExpectImage("normalize", shape));
    if (shape[0] == mean_.size(0)) return shape;
    return absl::InvalidArgumentError(
        absl::StrCat("normalize has values for ", mean_.size(0), " channel(s), but images have ", shape[0]));
  }

 private:
  const at::Tensor mean_;
  const at::Tensor deviation_;
  v1::Preprocessing step_;
};

struct Statistics {
  std::vector<double> mean;
  std::vector<double> deviation;
};

// Statistics are those of each channel of the training split, before any transform. If the images are not in memory,
// only this many of them are used, evenly spread, because decoding all would take too long.
constexpr int64_t kMaxDecodedForStatistics = 4096;

absl::StatusOr<Statistics> ComputeStatistics(const Dataset& train, int64_t channels) {
  const int64_t count = train.InMemory() != nullptr ? train.size() : std::min(train.size(), kMaxDecodedForStatistics);
  std::vector<double> sums(channels);
  std::vector<double> squares(channels);
  double pixels = 0;
  for (int64_t i = 0; i < count; ++i) {
    LANISTA_ASSIGN_OR_RETURN(const Example example, train.Get(i * train.size() / count));
    const at::Tensor input = example.input.contiguous();
    const int64_t area = input.numel() / channels;
    const float* value = input.data_ptr<float>();
    for (int64_t c = 0; c < channels; ++c) {
      for (int64_t k = 0; k < area; ++k, ++value) {
        sums[c] += *value;
        squares[c] += static_cast<double>(*value) * *value;
      }
    }
    pixels += static_cast<double>(area);
  }
  Statistics statistics;
  for (int64_t c = 0; c < channels; ++c) {
    const double mean = sums[c] / pixels;
    const double variance = squares[c] / pixels - mean * mean;
    statistics.mean.push_back(mean);
    // A channel that is constant except for rounding is shifted only.
    statistics.deviation.push_back(variance > 1e-12 ? std::sqrt(variance) : 1);
  }
  return statistics;
}

absl::StatusOr<std::unique_ptr<Transform>> MakeNormalize(const v1::NormalizeConfig& config, const DataSplits& splits) {
  LANISTA_RETURN_IF_ERROR(ExpectImage("normalize", splits.input_shape));
  if (config.mean().empty() && config.std().empty()) {
    LANISTA_ASSIGN_OR_RETURN(const Statistics statistics, ComputeStatistics(*splits.train, splits.input_shape[0]));
    return std::make_unique<Normalize>(statistics.mean, statistics.deviation);
  }
  return std::make_unique<Normalize>(std::vector<double>(config.mean().begin(), config.mean().end()),
                                     std::vector<double>(config.std().begin(), config.std().end()));
}

// ---- random_crop

class RandomCrop : public Transform {
 public:
  // 0: the height or width of the input.
  RandomCrop(int64_t height, int64_t width, int64_t padding) : height_(height), width_(width), padding_(padding) {}

  at::Tensor Apply(const at::Tensor& input, SampleRandom& random) const override {
    const int64_t height = height_ > 0 ? height_ : input.size(1);
    const int64_t width = width_ > 0 ? width_ : input.size(2);
    const at::Tensor padded =
        at::constant_pad_nd(input, std::array<int64_t, 4>{padding_, padding_, padding_, padding_}, 0);
    const int64_t top = UniformIndex(random, padded.size(1) - height + 1);
    const int64_t left = UniformIndex(random, padded.size(2) - width + 1);
    return padded.narrow(1, top, height).narrow(2, left, width);
  }
  absl::StatusOr<Shape> OutputShape(Shape shape) const override {
    LANISTA_RETURN_IF_ERROR(ExpectImage("random_crop", shape));
    const int64_t height = height_ > 0 ? height_ : shape[1];
    const int64_t width = width_ > 0 ? width_ : shape[2];
    if (height > shape[1] + 2 * padding_ || width > shape[2] + 2 * padding_) {
      return absl::InvalidArgumentError(absl::StrCat("random_crop cuts ", height, " x ", width,
                                                     " pixels, but images of ", shape[1], " x ", shape[2],
                                                     " with padding ", padding_, " are smaller"));
    }
    return Shape{shape[0], height, width};
  }

 private:
  const int64_t height_;
  const int64_t width_;
  const int64_t padding_;
};

absl::StatusOr<std::unique_ptr<Transform>> MakeRandomCrop(const v1::RandomCropConfig& config, const DataSplits&) {
  return std::make_unique<RandomCrop>(config.height(), config.width(), config.padding());
}

// ---- random_flip

class RandomFlip : public Transform {
 public:
  RandomFlip(double probability, bool vertical) : probability_(probability), dimension_(vertical ? 1 : 2) {}

  at::Tensor Apply(const at::Tensor& input, SampleRandom& random) const override {
    return UniformReal(random) < probability_ ? at::flip(input, dimension_) : input;
  }
  absl::StatusOr<Shape> OutputShape(Shape shape) const override {
    LANISTA_RETURN_IF_ERROR(ExpectImage("random_flip", shape));
    return shape;
  }

 private:
  const double probability_;
  const int64_t dimension_;
};

absl::StatusOr<std::unique_ptr<Transform>> MakeRandomFlip(const v1::RandomFlipConfig& config, const DataSplits&) {
  const double probability = config.has_probability() ? config.probability() : 0.5;
  return std::make_unique<RandomFlip>(probability, config.vertical());
}

// ---- random_rotation

class RandomRotation : public Transform {
 public:
  explicit RandomRotation(double degrees) : degrees_(degrees) {}

  at::Tensor Apply(const at::Tensor& input, SampleRandom& random) const override {
    constexpr double kRadians = 3.14159265358979323846 / 180;
    const double angle = UniformReal(random, -degrees_, degrees_) * kRadians;
    // The grid's coordinates run from -1 to 1 along both sides; `ratio` corrects that for images that are not square.
    const double ratio = static_cast<double>(input.size(1)) / static_cast<double>(input.size(2));
    at::Tensor map = at::empty({1, 2, 3}, at::kFloat);
    const std::array<double, 6> values = {std::cos(angle),         -std::sin(angle) * ratio, 0,
                                          std::sin(angle) / ratio, std::cos(angle),          0};
    std::copy(values.begin(), values.end(), map.data_ptr<float>());
    const at::Tensor image = input.unsqueeze(0);
    const at::Tensor grid = at::affine_grid_generator(map, image.sizes(), /*align_corners=*/false);
    // 0 and 0: bilinear, zeros outside.
    return at::grid_sampler(image, grid, 0, 0, /*align_corners=*/false).squeeze(0);
  }
  absl::StatusOr<Shape> OutputShape(Shape shape) const override {
    LANISTA_RETURN_IF_ERROR(ExpectImage("random_rotation", shape));
    return shape;
  }

 private:
  const double degrees_;
};

absl::StatusOr<std::unique_ptr<Transform>> MakeRandomRotation(const v1::RandomRotationConfig& config,
                                                              const DataSplits&) {
  return std::make_unique<RandomRotation>(config.degrees());
}

// ---- resize

class Resize : public Transform {
 public:
  Resize(int64_t height, int64_t width) : height_(height), width_(width) {}

  at::Tensor Apply(const at::Tensor& input, SampleRandom&) const override {
    const at::Tensor batch = input.dim() == 3 ? input.unsqueeze(0) : input;
    const at::Tensor resized =
        at::upsample_bilinear2d(batch, at::IntArrayRef({height_, width_}), /*align_corners=*/false);
    return input.dim() == 3 ? resized.squeeze(0) : resized;
  }
  bool batchable() const override { return true; }
  std::optional<v1::Preprocessing> Describe() const override {
    v1::Preprocessing step;
    step.mutable_resizing()->set_height(height_);
    step.mutable_resizing()->set_width(width_);
    return step;
  }
  absl::StatusOr<Shape> OutputShape(Shape shape) const override {
    LANISTA_RETURN_IF_ERROR(ExpectImage("resize", shape));
    return Shape{shape[0], height_, width_};
  }

 private:
  const int64_t height_;
  const int64_t width_;
};

absl::StatusOr<std::unique_ptr<Transform>> MakeResize(const v1::ResizeConfig& config, const DataSplits&) {
  return std::make_unique<Resize>(config.height(), config.width());
}

}  // namespace

LANISTA_REGISTER_BUILT_IN(TransformRegistry, normalize, v1::NormalizeConfig, MakeNormalize);
LANISTA_REGISTER_BUILT_IN(TransformRegistry, random_crop, v1::RandomCropConfig, MakeRandomCrop);
LANISTA_REGISTER_BUILT_IN(TransformRegistry, random_flip, v1::RandomFlipConfig, MakeRandomFlip);
LANISTA_REGISTER_BUILT_IN(TransformRegistry, random_rotation, v1::RandomRotationConfig, MakeRandomRotation);
LANISTA_REGISTER_BUILT_IN(TransformRegistry, resize, v1::ResizeConfig, MakeResize);

}  // namespace lanista::data
