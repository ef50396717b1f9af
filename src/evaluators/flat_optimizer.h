// LibTorch's SGD, Adam, AdamW and RMSprop in one pass over each parameter, with the same bits.
//
// LibTorch's classes call a dozen kernels for each parameter. Each kernel has a dispatch, a loop and often a temporary
// of its own. For small models, that is most of a training step; for large ones, each kernel reads and writes all of
// the memory again. Here a parameter's step is one loop without any dispatch, and the optimizer's state of all
// parameters lies in one buffer. Weights and gradients stay in tensors of their own, for two reasons. Views into one
// buffer could be aligned differently, and then oneDNN and BLAS may choose kernels that give other bits. And code that
// saves or shares a model's tensors would save or share the whole buffer.
//
// The bits are the same because the arithmetic is elementwise: ATen rounds a weight in the same way wherever it lies in
// a tensor, in a vector loop, in its tail or in any thread. One thing depends on how LibTorch was built and on the
// processor: whether ATen's kernels fuse multiply-adds. Create finds that out: it steps a small tensor with both
// classes, and returns null if no rounding gives LibTorch's bits.
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
  // Returns an optimizer that does what step() of `libtorch` would do. It uses the parameters and options of `libtorch`
  // (also learning rates that are set later), but does not call its step(). Returns null if a parameter is not a dense
  // float32 or float64 tensor on the CPU, or if this build of LibTorch rounds differently. REQUIRES: `libtorch` was
  // made by MakeLibTorchOptimizer for `config`, and outlives the result.
  static std::unique_ptr<FlatOptimizer> Create(const v1::OptimizerConfig& config,
                                               const torch::optim::Optimizer& libtorch);

  // Makes one step. Parameters without gradients are skipped: their state and their count of steps do not change.
  // REQUIRES: no gradient is sparse.
  void Step();

  // Sets gradients to undefined, so that the next backward need not add to them. LibTorch 2's zero_grad() does the
  // same, but LibTorch 1.13's fills them with zeros. That makes two differences, which are restored elsewhere: 1.13
  // would turn a gradient of -0.0 into +0.0 (Step does that), and would leave a gradient of zeros for a parameter that
  // the next backward does not reach.
  void ZeroGrad();
  // Sets gradients of zeros where LibTorch 1.13 would have left them. Step does this itself; call it to read the
  // gradients before Step.
  void FillGradients();

  // Whether a parameter has a sparse gradient (embeddings can); some of LibTorch's optimizers take them.
  bool HasSparseGradients() const;

  // The state of each of the UniqueParameters of LibTorch's optimizer. The tensors are the buffers themselves, not
  // copies.
  std::vector<ParameterState> GetParameterStates() const;
  // Goes on with these states; takes their tensors. REQUIRES: no step was made yet; CheckParameterStates accepts them.
  void SetParameterStates(std::vector<ParameterState> states);

 private:
  // A parameter and its state.
  struct State {
    at::Tensor parameter;
    int64_t steps = 0;
    // Null before the first step. Arrays that the optimizer does not need stay null.
    std::array<void*, flat::kMaxSlots> slots{};
    // Whether LibTorch would have left a gradient of zeros.
    bool zeroed = false;
  };
  using Hyper = std::variant<flat::SgdStep, flat::AdamStep, flat::RmsPropStep>;

  FlatOptimizer(const torch::optim::Optimizer& libtorch, flat::Rounding rounding);

  // Whether `rounding` gives LibTorch's bits.
  static bool Agrees(const v1::OptimizerConfig& config, flat::Rounding rounding, at::ScalarType dtype);

  // Allocates one buffer for all parameters that have a gradient now and no state yet.
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
  // For each parameter that LibTorch's optimizer lists: its index in states_. A parameter that is listed twice steps
  // twice.
  std::vector<size_t> order_;
  std::vector<at::Tensor> buffers_;
};

}  // namespace lanista

#endif  // LANISTA_SRC_EVALUATORS_FLAT_OPTIMIZER_H_
