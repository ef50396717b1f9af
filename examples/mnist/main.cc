// The quick-start network of NNI's documents as a user's own model space: 2 x 3 x 3 = 18 models.
#include "lanista/main.h"

#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/dropout.h>
#include <torch/nn/modules/linear.h>

#include "lanista/nn.h"

namespace nn = lanista::nn;

// A 3x3 convolution in two steps: first within each channel, then across channels.
struct DepthwiseSeparableConvImpl : torch::nn::Module {
  DepthwiseSeparableConvImpl(int64_t in, int64_t out)
      : depthwise(register_module("depthwise", torch::nn::Conv2d(torch::nn::Conv2dOptions(in, in, 3).groups(in)))),
        pointwise(register_module("pointwise", torch::nn::Conv2d(in, out, 1))) {}

  torch::Tensor forward(torch::Tensor x) { return pointwise(depthwise(x)); }

  torch::nn::Conv2d depthwise, pointwise;
};
TORCH_MODULE(DepthwiseSeparableConv);

class Net : public nn::ModelSpace {
 public:
  Net() {
    const auto conv = [] { return torch::nn::Conv2d(32, 64, 3); };
    const auto separable = [] { return DepthwiseSeparableConv(32, 64); };
    const auto layers = nn::LayerChoiceOptions({{"conv", conv}, {"separable", separable}}).label("conv2");
    const int64_t feature = nn::ValueChoice({64, 128, 256}, "feature");
    conv1 = register_module("conv1", torch::nn::Conv2d(1, 32, 3));
    conv2 = register_module("conv2", nn::LayerChoice(layers));
    dropout1 = register_module("dropout1", torch::nn::Dropout(nn::ValueChoice({0.25, 0.5, 0.75}, "dropout")));
    dropout2 = register_module("dropout2", torch::nn::Dropout(0.5));
    fc1 = register_module("fc1", torch::nn::Linear(9216, feature));
    fc2 = register_module("fc2", torch::nn::Linear(feature, 10));
  }

  torch::Tensor forward(torch::Tensor x) override {
    x = torch::relu(conv1(x));
    x = torch::max_pool2d(conv2(x), 2);
    x = torch::flatten(dropout1(x), 1);
    x = fc2(dropout2(torch::relu(fc1(x))));
    return torch::log_softmax(x, 1);
  }

 private:
  torch::nn::Conv2d conv1{nullptr};
  nn::LayerChoice conv2{nullptr};
  torch::nn::Dropout dropout1{nullptr}, dropout2{nullptr};
  torch::nn::Linear fc1{nullptr}, fc2{nullptr};
};

LANISTA_REGISTER(model_space, "my_mnist", nn::MakeModelSpace<Net>);

int main(int argc, char** argv) { return lanista::Main(argc, argv); }
