// The quick-start network of NNI's documents ("Hello, NAS!"): 18 models, for images of 1 x 28 x 28 and 10 classes or
// for the sizes of the data.
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/dropout.h>
#include <torch/nn/modules/linear.h>

#include "src/nn/hub/sizes.h"
#include "src/nn/nn.h"

namespace lanista::nn {
namespace {

class DepthwiseSeparableConvImpl : public torch::nn::Module {
 public:
  DepthwiseSeparableConvImpl(int64_t in_channels, int64_t out_channels)
      : depthwise_(register_module(
            "depthwise", torch::nn::Conv2d(torch::nn::Conv2dOptions(in_channels, in_channels, 3).groups(in_channels)))),
        pointwise_(register_module("pointwise", torch::nn::Conv2d(in_channels, out_channels, 1))) {}

  torch::Tensor forward(torch::Tensor x) { return pointwise_(depthwise_(x)); }

 private:
  torch::nn::Conv2d depthwise_, pointwise_;
};
TORCH_MODULE(DepthwiseSeparableConv);

// Parameters: `in_channels`, `height`, `width` and `classes`; default: the data's, or 1, 28, 28 and 10 if the evaluator
// names no data.
class MnistCnn : public ModelSpace {
 public:
  explicit MnistCnn(const Params& params) {
    const ImageSize image = ImageOf(params, "mnist_cnn", {1, 28, 28});
    const auto in_channels = params.Get<int64_t>("in_channels", image.channels);
    const auto height = params.Get<int64_t>("height", image.height);
    const auto width = params.Get<int64_t>("width", image.width);
    const auto classes = params.Get<int64_t>("classes", OutputsOf(params, 10));
    if (in_channels < 1 || height < 6 || width < 6 || classes < 1) {
      throw SpaceError("mnist_cnn: wants images of at least 6 x 6 pixels, and at least 1 channel and class");
    }
    const auto conv = [] { return torch::nn::Conv2d(32, 64, 3); };
    const auto separable = [] { return DepthwiseSeparableConv(32, 64); };
    const auto layers = LayerChoiceOptions({{"conv", conv}, {"separable", separable}}).label("conv2");
    conv1_ = register_module("conv1", torch::nn::Conv2d(in_channels, 32, 3));
    conv2_ = register_module("conv2", LayerChoice(layers));
    dropout1_ = register_module("dropout1", torch::nn::Dropout(ValueChoice({0.25, 0.5, 0.75}, "dropout")));
    dropout2_ = register_module("dropout2", torch::nn::Dropout(0.5));
    const int64_t feature = ValueChoice({64, 128, 256}, "feature");
    // The size after two convolutions without padding and a pooling by 2.
    const int64_t flat = 64 * ((height - 4) / 2) * ((width - 4) / 2);
    fc1_ = register_module("fc1", torch::nn::Linear(flat, feature));
    fc2_ = register_module("fc2", torch::nn::Linear(feature, classes));
  }

  torch::Tensor forward(torch::Tensor x) override {
    x = torch::relu(conv1_(x));
    x = torch::max_pool2d(conv2_(x), 2);
    x = torch::flatten(dropout1_(x), 1);
    x = fc2_(dropout2_(torch::relu(fc1_(x))));
    return torch::log_softmax(x, 1);
  }

 private:
  torch::nn::Conv2d conv1_{nullptr};
  LayerChoice conv2_{nullptr};
  torch::nn::Dropout dropout1_{nullptr}, dropout2_{nullptr};
  torch::nn::Linear fc1_{nullptr}, fc2_{nullptr};
};

}  // namespace

LANISTA_REGISTER(model_space, "mnist_cnn", nn::MakeModelSpace<MnistCnn>);

}  // namespace lanista::nn
