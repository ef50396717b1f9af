#include "bench/optimizer_speed.h"

#include <torch/nn/modules/activation.h>
#include <torch/nn/modules/linear.h>
#include <torch/optim/optimizer.h>

#include <cstdio>
#include <ctime>
#include <vector>

#include "bench/harness.h"
#include "src/evaluators/libtorch_optimizer.h"
#include "src/evaluators/optimizer.h"

namespace lanista::bench {
namespace {

namespace nn = torch::nn;

// CPU seconds of this thread, so other programs on the core do not count.
double CpuSeconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// CPU seconds of one step.
struct Cost {
  // Forward and backward.
  double model = 0;
  // Clearing gradients and updating weights.
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

}  // namespace

OptimizerSpeed CompareOptimizers(const std::string& name, nn::Sequential (*make)(), const v1::OptimizerConfig& config,
                                 const torch::Tensor& input, int rounds, int steps) {
  const torch::Tensor target = torch::arange(input.size(0)).remainder(10);
  std::printf("%s, batch %ld, microseconds of CPU a step\n%5s %10s %10s %10s %10s %8s\n", name.c_str(),
              static_cast<long>(input.size(0)), "round", "model", "ours", "model", "LibTorch's", "speedup");
  std::vector<double> speedups, limits, step_speedups;
  // Round 0 is a warm-up.
  for (int round = 0; round <= rounds; ++round) {
    // New networks in each round: after some hundred steps on one batch, numbers become denormal, which is slow.
    nn::Sequential our_net = make();
    nn::Sequential their_net = make();
    for (size_t i = 0; i < our_net->parameters().size(); ++i) {
      their_net->parameters()[i].detach().copy_(our_net->parameters()[i].detach());
    }
    Optimizer ours(config, our_net->parameters());
    CheckOk(ours.is_libtorch() ? absl::InternalError("LibTorch's own class does the work: nothing to compare")
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
  return {Median(speedups), Median(limits), Median(step_speedups)};
}

nn::Sequential MakeTinyMlp() {
  return nn::Sequential(nn::Flatten(), nn::Linear(784, 32), nn::ReLU(), nn::Linear(32, 10));
}

}  // namespace lanista::bench
