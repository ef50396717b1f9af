// The space of docs/spaces.md, which other pages search, too.
#ifndef LANISTA_TESTS_DOCS_MY_NET_H_
#define LANISTA_TESTS_DOCS_MY_NET_H_

#include <torch/torch.h>

#include "lanista/nn.h"

namespace nn = lanista::nn;

class Net : public nn::ModelSpace {
 public:
  Net() {
    const int64_t width = nn::ValueChoice({64, 128, 256}, "width");
    hidden_ = register_module("hidden", torch::nn::Linear(784, width));
    output_ = register_module("output", torch::nn::Linear(width, 10));
  }
  torch::Tensor forward(torch::Tensor x) override { return output_(torch::relu(hidden_(x.flatten(1)))); }

 private:
  torch::nn::Linear hidden_{nullptr}, output_{nullptr};
};
LANISTA_REGISTER(model_space, "my_net", lanista::nn::MakeModelSpace<Net>);

#endif  // LANISTA_TESTS_DOCS_MY_NET_H_
