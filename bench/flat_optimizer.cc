// What our optimizers save: training steps (forward, backward, optimizer) with them against LibTorch's own classes, for
// the tiny MLP, the CNN of the MNIST example and a ResNet-18. Same weights, one core, CPU seconds, rounds interleaved.
//
// Figures, medians of the rounds: flat_adam_speedup and flat_sgd_speedup (SGD with momentum) are steps/s with ours /
// with LibTorch's on the MLP of batch 32; flat_adam_speedup_batch_8; flat_adam_speedup_mnist_cnn and
// flat_adam_speedup_resnet18; flat_adam_limit is the first one's value if an optimizer took no time at all, and
// flat_adam_step_speedup compares the optimizers' own time.
//
//   bazel run -c opt //bench:flat_optimizer -- [--quick]
#include <torch/torch.h>

#include <cstdio>
#include <cstring>
#include <ctime>
#include <string>
#include <vector>

#include "bench/harness.h"
#include "src/evaluators/libtorch_optimizer.h"
#include "src/evaluators/optimizer.h"

namespace lanista {
namespace {

namespace nn = torch::nn;

nn::Sequential MakeMlp() { return nn::Sequential(nn::Flatten(), nn::Linear(784, 32), nn::ReLU(), nn::Linear(32, 10)); }

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

// This thread's; other programs on the core do not count.
double CpuSeconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// CPU seconds of one step.
struct Cost {
  // Forward and backward.
  double model = 0;
  // Forgetting gradients and moving weights.
  double optimizer = 0;
  double sum() const { return model + optimizer; }
};

template <typename ZeroGrad, typename Step>
Cost Time(nn::Sequential& net, const torch::Tensor& input, const torch::Tensor& target, int steps,
          const ZeroGrad& zero_grad, const Step& step) {
  Cost cost;
  for (int i = 0; i < steps; ++i) {
    const double start = CpuSeconds();
    zero_grad();
    const double zeroed = CpuSeconds();
    torch::cross_entropy_loss(net->forward(input), target).backward();
    const double ready = CpuSeconds();
    step();
    cost.model += (ready - zeroed) / steps;
    cost.optimizer += (CpuSeconds() - ready + zeroed - start) / steps;
  }
  return cost;
}

struct Result {
  double speedup;
  // If our optimizer took no time.
  double limit;
  // Of the optimizer alone.
  double step_speedup;
};

Result Compare(const std::string& name, nn::Sequential (*make)(), const v1::OptimizerConfig& config,
               const torch::Tensor& input, int rounds, int steps) {
  const torch::Tensor target = torch::arange(input.size(0)).remainder(10);
  std::printf("%s, batch %ld, microseconds of CPU a step\n%5s %10s %10s %10s %10s %8s\n", name.c_str(),
              static_cast<long>(input.size(0)), "round", "model", "ours", "model", "LibTorch's", "speedup");
  std::vector<double> speedups, limits, step_speedups;
  // Round 0 warms up.
  for (int round = 0; round <= rounds; ++round) {
    // Anew in each round: after some hundred steps on one batch, numbers are denormal, and slow.
    nn::Sequential our_net = make();
    nn::Sequential their_net = make();
    for (size_t i = 0; i < our_net->parameters().size(); ++i) {
      their_net->parameters()[i].detach().copy_(our_net->parameters()[i].detach());
    }
    Optimizer ours(config, our_net->parameters());
    bench::CheckOk(ours.is_libtorch() ? absl::InternalError("LibTorch's own class does the work: nothing to compare")
                                      : absl::OkStatus());
    const auto theirs = MakeLibTorchOptimizer(config, their_net->parameters());
    const Cost our = Time(
        our_net, input, target, steps, [&] { ours.ZeroGrad(); }, [&] { ours.Step(); });
    const Cost their = Time(
        their_net, input, target, steps, [&] { theirs->zero_grad(); }, [&] { theirs->step(); });
    if (round == 0) continue;
    speedups.push_back(their.sum() / our.sum());
    limits.push_back(their.sum() / our.model);
    step_speedups.push_back(their.optimizer / our.optimizer);
    std::printf("%5d %10.1f %10.1f %10.1f %10.1f %8.3f\n", round, 1e6 * our.model, 1e6 * our.optimizer,
                1e6 * their.model, 1e6 * their.optimizer, speedups.back());
  }
  return {bench::Median(speedups), bench::Median(limits), bench::Median(step_speedups)};
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
  const Result mlp = Compare("MLP 784-32-10, Adam", MakeMlp, adam, torch::randn({32, 1, 28, 28}), rounds, steps);
  const Result small = Compare("MLP 784-32-10, Adam", MakeMlp, adam, torch::randn({8, 1, 28, 28}), rounds, steps);
  const Result with_sgd = Compare("MLP 784-32-10, SGD", MakeMlp, sgd, torch::randn({32, 1, 28, 28}), rounds, steps);
  const Result cnn =
      Compare("MNIST CNN, Adam", MakeCnn, adam, torch::randn({32, 1, 28, 28}), quick ? 1 : 5, quick ? 3 : 20);
  const Result resnet =
      Compare("ResNet-18, Adam", MakeResNet18, adam, torch::randn({8, 3, 64, 64}), quick ? 1 : 5, quick ? 1 : 5);
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
