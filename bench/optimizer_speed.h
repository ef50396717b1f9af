// Our optimizers against LibTorch's.
#ifndef LANISTA_BENCH_OPTIMIZER_SPEED_H_
#define LANISTA_BENCH_OPTIMIZER_SPEED_H_

#include <torch/nn/modules/container/sequential.h>

#include <string>

#include "protos/experiment.pb.h"

namespace lanista::bench {

// Medians of the rounds.
struct OptimizerSpeed {
  // Training steps (forward, backward, optimizer) a second: ours / LibTorch's.
  double speedup = 0;
  // The speedup if our optimizer took no time.
  double limit = 0;
  // Of the optimizer alone.
  double step_speedup = 0;
};

// Trains two equal networks on one batch, in turns, and prints a table. CPU seconds of this thread.
OptimizerSpeed CompareOptimizers(const std::string& name, torch::nn::Sequential (*make)(),
                                 const v1::OptimizerConfig& config, const torch::Tensor& input, int rounds, int steps);

// 784-32-10.
torch::nn::Sequential MakeTinyMlp();

}  // namespace lanista::bench

#endif  // LANISTA_BENCH_OPTIMIZER_SPEED_H_
