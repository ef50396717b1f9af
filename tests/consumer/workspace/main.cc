// A program that uses Lanista: a model space, and the whole command line.
#include "src/trial/main.h"

#include <torch/torch.h>

#include "src/nn/nn.h"

namespace nn = lanista::nn;

// A multilayer perceptron for images of 28 x 28 pixels: 1 to 3 layers, three widths, with or without dropout.
class MyNet : public nn::ModelSpace {
 public:
  MyNet() {
    const int64_t width = nn::ValueChoice({32, 64, 128}, "width");
    const auto layer = [=](int64_t index) {
      return torch::nn::Sequential(torch::nn::Linear(index == 0 ? 28 * 28 : width, width), torch::nn::ReLU());
    };
    layers_ = register_module("layers", nn::Repeat(nn::RepeatOptions(1, 3, layer).label("depth")));
    dropout_ = register_module("dropout", torch::nn::Dropout(nn::ValueChoice({0.0, 0.5}, "dropout")));
    output_ = register_module("output", torch::nn::Linear(width, 10));
  }
  torch::Tensor forward(torch::Tensor images) override { return output_(dropout_(layers_(images.flatten(1)))); }

 private:
  nn::Repeat layers_{nullptr};
  torch::nn::Dropout dropout_{nullptr};
  torch::nn::Linear output_{nullptr};
};
LANISTA_REGISTER_MODEL_SPACE("my_net", MyNet);

int main(int argc, char** argv) { return lanista::Main(argc, argv); }
