// A multi-layer perceptron, for tables and for first experiments.
#include <torch/nn/modules/container/functional.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/linear.h>

#include <string>

#include "src/nn/hub/sizes.h"
#include "src/nn/nn.h"

namespace lanista::nn {
namespace {

torch::nn::Functional Activation(const std::string& name) {
  if (name == "relu") return torch::nn::Functional([](torch::Tensor x) { return torch::relu(x); });
  if (name == "tanh") return torch::nn::Functional([](torch::Tensor x) { return torch::tanh(x); });
  return torch::nn::Functional([](torch::Tensor x) { return torch::gelu(x); });
}

// Parameters: `inputs` (number of elements of one sample) and `outputs`; default: the data's, or 784 and 10 if the
// evaluator names no data.
// 1 to 3 hidden layers, each with a width of its own, and one activation: 3 * (3 + 9 + 27) = 117 models.
class Mlp : public ModelSpace {
 public:
  explicit Mlp(const Params& params) {
    int64_t features = 784;
    if (params.data() != nullptr) {
      features = 1;
      for (const int64_t size : params.data()->model_input_shape()) features *= size;
    }
    const auto inputs = params.Get<int64_t>("inputs", features);
    const auto outputs = params.Get<int64_t>("outputs", OutputsOf(params, 10));
    if (inputs < 1 || outputs < 1) throw SpaceError("mlp: inputs and outputs must be at least 1");
    const std::string activation = ValueChoice({"relu", "tanh", "gelu"}, "activation");
    int64_t width = inputs;
    const auto layer = [&](int64_t index) {
      const int64_t before = width;
      width = ValueChoice({32, 64, 128}, "width" + std::to_string(index));
      return torch::nn::Sequential(torch::nn::Linear(before, width), Activation(activation));
    };
    hidden_ = register_module("hidden", Repeat(RepeatOptions(1, 3, layer).label("depth")));
    output_ = register_module("output", torch::nn::Linear(width, outputs));
  }

  torch::Tensor forward(torch::Tensor x) override { return output_(hidden_(torch::flatten(x, 1))); }

 private:
  Repeat hidden_{nullptr};
  torch::nn::Linear output_{nullptr};
};

}  // namespace

LANISTA_REGISTER(model_space, "mlp", nn::MakeModelSpace<Mlp>);

}  // namespace lanista::nn
