// LibTorch's SGD, Adam, AdamW and RMSprop in one pass over each parameter, with the same bits.
//
// LibTorch's classes call a dozen kernels a parameter, each with a dispatch, a loop and often a temporary of its own:
// for small models that is most of a training step, for large ones each kernel is a trip to memory. Here a parameter's
// step is one loop without any dispatch, and what the optimizer keeps lies in one buffer for all parameters. Weights
// and gradients stay where they are, in tensors of their own: views into one buffer could start at other addresses
// modulo a cache line, for which oneDNN and BLAS may choose other kernels with other bits, and whoever saves or shares
// a model's tensors would meet the buffer.
//
// The promise of the same bits rests on elementwise arithmetic: ATen rounds each weight's numbers alike wherever they
// lie in a tensor, vector loop, tail or thread. Only whether ATen's kernels fuse multiply-adds depends on how LibTorch
// was built and on the processor; so it is found out: Create steps a small tensor with both, and returns null if no
// rounding gives LibTorch's bits.
#ifndef LANISTA_SRC_EVALUATORS_FLAT_OPTIMIZER_H_
#define LANISTA_SRC_EVALUATORS_FLAT_OPTIMIZER_H_

#include <ATen/core/Tensor.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <variant>
#include <vector>

#include "protos/experiment.pb.h"
#include "src/evaluators/flat_kernels.h"
#include "src/evaluators/parameter_state.h"

namespace torch::optim {
class Optimizer;
}  // namespace torch::optim

namespace lanista {

// Used by one thread; large parameters are split among LibTorch's threads as LibTorch's kernels are.
class FlatOptimizer {
 public:
  // Steps as `libtorch` would, whose parameters and options (also learning rates set later) it uses and whose step() is
  // not called. Null where it cannot: parameters that are not dense float32 or float64 tensors on the CPU, and builds
  // of LibTorch that round otherwise. REQUIRES: `libtorch` was made by MakeLibTorchOptimizer for `config`, and outlives
  // it.
  static std::unique_ptr<FlatOptimizer> Create(const v1::OptimizerConfig& config,
                                               const torch::optim::Optimizer& libtorch);

  // Parameters without gradients are passed over: what is kept for them, and their count of steps, do not change.
  // REQUIRES: no gradient is sparse.
  void Step();

  // Sets gradients to undefined; the next backward need then not add to them. LibTorch 1.13's zero_grad() fills them
  // with zeros instead, LibTorch 2's does not. What differs after 1.13's is restored elsewhere: a gradient of -0.0
  // would have become +0.0 (Step does that), and a parameter that the next backward passes over would have a gradient
  // of zeros.
  void ZeroGrad();
  // Gives it to such parameters. Step does this itself; call it to see gradients before.
  void FillGradients();

  // Whether a parameter has a sparse gradient (embeddings can); some of LibTorch's optimizers take them.
  bool HasSparseGradients() const;

  // What is kept for each of the UniqueParameters of LibTorch's optimizer; the tensors are the buffers themselves.
  std::vector<ParameterState> GetParameterStates() const;
  // Goes on with them; takes their tensors. REQUIRES: no step was made yet; CheckParameterStates accepts them.
  void SetParameterStates(std::vector<ParameterState> states);

 private:
  // A parameter and what is kept for it.
  struct State {
    at::Tensor parameter;
    int64_t steps = 0;
    // Null before the first step; those that the optimizer does not need stay null.
    std::array<void*, flat::kMaxSlots> slots{};
    // LibTorch would have left zeros for a gradient.
    bool zeroed = false;
  };
  using Hyper = std::variant<flat::SgdStep, flat::AdamStep, flat::RmsPropStep>;

  FlatOptimizer(const torch::optim::Optimizer& libtorch, flat::Rounding rounding);

  // Whether `rounding` gives LibTorch's bits.
  static bool Agrees(const v1::OptimizerConfig& config, flat::Rounding rounding, at::ScalarType dtype);

  // One buffer for all parameters that have a gradient now and no state yet.
  void AddStates();
  // The hyper-parameters of a parameter's step number `steps`, from 1.
  Hyper MakeHyper(int64_t steps) const;
  template <typename T>
  void Step(const Hyper& hyper, const State& state) const;

  const torch::optim::Optimizer& libtorch_;
  const flat::Rounding rounding_;
  // Arrays that the optimizer keeps.
  int slots_ = 0;
  std::vector<State> states_;
  // Into states_, for each parameter that LibTorch's optimizer lists: one that is listed twice steps twice.
  std::vector<size_t> order_;
  std::vector<at::Tensor> buffers_;
};

}  // namespace lanista

#endif  // LANISTA_SRC_EVALUATORS_FLAT_OPTIMIZER_H_
