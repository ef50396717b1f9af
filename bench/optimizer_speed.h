// Compares Lanista's optimizers with LibTorch's.
#ifndef LANISTA_BENCH_OPTIMIZER_SPEED_H_
#define LANISTA_BENCH_OPTIMIZER_SPEED_H_

#include <torch/nn/modules/container/sequential.h>

#include <string>

#include "protos/experiment.pb.h"

namespace lanista::bench {

// Medians over the rounds.
struct OptimizerSpeed {
  // Training steps (forward, backward, optimizer) per second: Lanista's / LibTorch's.
  double speedup = 0;
  // The speedup if Lanista's optimizer took no time.
  double limit = 0;
  // The speedup of the optimizer alone.
  double step_speedup = 0;
};

// Trains two equal networks on one batch, alternating between them, and prints a table. Measures CPU seconds of this
// thread.
OptimizerSpeed CompareOptimizers(const std::string& name, torch::nn::Sequential (*make)(),
                                 const v1::OptimizerConfig& config, const torch::Tensor& input, int rounds, int steps);

// A perceptron with 784 inputs, 32 hidden units and 10 outputs.
torch::nn::Sequential MakeTinyMlp();

}  // namespace lanista::bench

#endif  // LANISTA_BENCH_OPTIMIZER_SPEED_H_
