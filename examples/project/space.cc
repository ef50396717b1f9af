// The model space: which networks there are. A constructor of ordinary LibTorch code, which asks for choices.
#include <torch/torch.h>

#include "lanista/nn.h"

namespace nn = lanista::nn;

// For images of one channel and 16 x 16 pixels: 2 x 3 x 3 = 18 networks.
class Net : public nn::ModelSpace {
 public:
  Net() {
    const int64_t width = nn::ValueChoice({4, 8, 16}, "width");
    const auto conv = [=] { return torch::nn::Conv2d(torch::nn::Conv2dOptions(1, width, 3).padding(1)); };
    const auto wide_conv = [=] { return torch::nn::Conv2d(torch::nn::Conv2dOptions(1, width, 5).padding(2)); };
    first_ = register_module(
        "first", nn::LayerChoice(nn::LayerChoiceOptions({{"3x3", conv}, {"5x5", wide_conv}}).label("first")));
    const auto block = [=](int64_t) {
      return torch::nn::Sequential(torch::nn::Conv2d(torch::nn::Conv2dOptions(width, width, 3).padding(1)),
                                   torch::nn::ReLU());
    };
    blocks_ = register_module("blocks", nn::Repeat(nn::RepeatOptions(1, 3, block).label("depth")));
    output_ = register_module("output", torch::nn::Linear(width, 2));
  }
  torch::Tensor forward(torch::Tensor images) override {
    return output_(blocks_(torch::relu(first_(images))).amax({2, 3}));
  }

 private:
  nn::LayerChoice first_{nullptr};
  nn::Repeat blocks_{nullptr};
  torch::nn::Linear output_{nullptr};
};
LANISTA_REGISTER(model_space, "net", nn::MakeModelSpace<Net>);
