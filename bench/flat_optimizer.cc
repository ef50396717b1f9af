// Measures the speed of Lanista's optimizers: training steps (forward, backward, optimizer) against LibTorch's own
// classes, for a tiny MLP, the CNN of the MNIST example and a ResNet-18. Same weights, one core, CPU seconds, rounds
// interleaved.
//
// Figures, medians of the rounds: flat_adam_speedup and flat_sgd_speedup (SGD with momentum) are steps/s with Lanista's
// optimizer / with LibTorch's, on the MLP with batch size 32; flat_adam_speedup_batch_8 with batch size 8;
// flat_adam_speedup_mnist_cnn and flat_adam_speedup_resnet18 on those networks; flat_adam_limit is flat_adam_speedup if
// the optimizer took no time, and flat_adam_step_speedup compares the time of the optimizers alone.
//
//   bazel run -c opt //bench:flat_optimizer -- [--quick]
#include <ATen/Parallel.h>
#include <torch/nn/modules/activation.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/pooling.h>

#include <cstdio>
#include <cstring>

#include "bench/harness.h"
#include "bench/optimizer_speed.h"

namespace lanista {
namespace {

namespace nn = torch::nn;

// The Net of examples/mnist, without dropout.
nn::Sequential MakeCnn() {
  return nn::Sequential(nn::Conv2d(1, 32, 3), nn::ReLU(), nn::Conv2d(32, 64, 3), nn::ReLU(), nn::MaxPool2d(2),
                        nn::Flatten(), nn::Linear(9216, 128), nn::ReLU(), nn::Linear(128, 10));
}

nn::Conv2d Conv(int64_t in, int64_t out, int kernel, int stride) {
  return nn::Conv2d(nn::Conv2dOptions(in, out, kernel).stride(stride).padding(kernel / 2).bias(false));
}

struct BlockImpl : nn::Module {
  BlockImpl(int64_t in, int64_t out, int stride)
      : body(register_module("body", nn::Sequential(Conv(in, out, 3, stride), nn::BatchNorm2d(out), nn::ReLU(),
                                                    Conv(out, out, 3, 1), nn::BatchNorm2d(out)))) {
    if (stride != 1) {
      shortcut = register_module("shortcut", nn::Sequential(Conv(in, out, 1, stride), nn::BatchNorm2d(out)));
    }
  }
  torch::Tensor forward(const torch::Tensor& x) {
    return torch::relu(body->forward(x) + (shortcut.is_empty() ? x : shortcut->forward(x)));
  }
  nn::Sequential body;
  nn::Sequential shortcut{nullptr};
};
TORCH_MODULE(Block);

nn::Sequential MakeResNet18() {
  nn::Sequential net(Conv(3, 64, 7, 2), nn::BatchNorm2d(64), nn::ReLU(),
                     nn::MaxPool2d(nn::MaxPool2dOptions(3).stride(2).padding(1)));
  int64_t in = 64;
  for (const int64_t out : {64, 128, 256, 512}) {
    net->push_back(Block(in, out, out == 64 ? 1 : 2));
    net->push_back(Block(out, out, 1));
    in = out;
  }
  net->push_back(nn::AdaptiveAvgPool2d(1));
  net->push_back(nn::Flatten());
  net->push_back(nn::Linear(512, 10));
  return net;
}

void RunBench(bool quick) {
  torch::set_num_threads(1);
  torch::manual_seed(1);
  v1::OptimizerConfig adam;
  adam.mutable_adam();
  v1::OptimizerConfig sgd;
  sgd.mutable_sgd()->set_momentum(0.9);
  const int rounds = quick ? 3 : 11;
  const int steps = quick ? 100 : 300;
  const bench::OptimizerSpeed mlp = bench::CompareOptimizers("MLP 784-32-10, Adam", bench::MakeTinyMlp, adam,
                                                             torch::randn({32, 1, 28, 28}), rounds, steps);
  const bench::OptimizerSpeed small = bench::CompareOptimizers("MLP 784-32-10, Adam", bench::MakeTinyMlp, adam,
                                                               torch::randn({8, 1, 28, 28}), rounds, steps);
  const bench::OptimizerSpeed with_sgd = bench::CompareOptimizers("MLP 784-32-10, SGD", bench::MakeTinyMlp, sgd,
                                                                  torch::randn({32, 1, 28, 28}), rounds, steps);
  const bench::OptimizerSpeed cnn = bench::CompareOptimizers(
      "MNIST CNN, Adam", MakeCnn, adam, torch::randn({32, 1, 28, 28}), quick ? 1 : 5, quick ? 3 : 20);
  const bench::OptimizerSpeed resnet = bench::CompareOptimizers(
      "ResNet-18, Adam", MakeResNet18, adam, torch::randn({8, 3, 64, 64}), quick ? 1 : 5, quick ? 1 : 5);
  std::printf(
      "{\"bench\": \"flat_optimizer\", \"figures\": {\"flat_adam_speedup\": %.3f, \"flat_adam_limit\": %.3f, "
      "\"flat_adam_step_speedup\": %.2f, \"flat_adam_speedup_batch_8\": %.3f, \"flat_sgd_speedup\": %.3f, "
      "\"flat_adam_speedup_mnist_cnn\": %.3f, \"flat_adam_speedup_resnet18\": %.3f}}\n",
      mlp.speedup, mlp.limit, mlp.step_speedup, small.speedup, with_sgd.speedup, cnn.speedup, resnet.speedup);
}

}  // namespace
}  // namespace lanista

int main(int argc, char** argv) {
  const bool quick = argc == 2 && std::strcmp(argv[1], "--quick") == 0;
  if (argc > 1 && !quick) {
    std::fprintf(stderr, "usage: flat_optimizer [--quick]\n");
    return 2;
  }
  lanista::bench::UseOneCore(argv);
  lanista::RunBench(quick);
  return 0;
}
