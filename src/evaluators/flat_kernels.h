// One step of SGD, Adam, AdamW and RMSprop over plain arrays, in one pass: what LibTorch 1.13's and 2's C++ classes do
// in a dozen passes a parameter, with the same roundings in the same order. No torch. Thread-safe.
#ifndef LANISTA_SRC_EVALUATORS_FLAT_KERNELS_H_
#define LANISTA_SRC_EVALUATORS_FLAT_KERNELS_H_

#include <array>
#include <cstdint>

namespace lanista::flat {

// How ATen's kernels round `a * b + c`. That depends on how LibTorch was compiled and on the processor.
enum class Rounding {
  // Rounded once: a fused multiply-add.
  kFused,
  // Rounded twice: after the product and after the sum.
  kSeparate,
};

// Whether this processor has an instruction for kFused.
bool HasFusedMultiplyAdd();

// No optimizer keeps more than three numbers a weight.
constexpr int kMaxSlots = 3;

// A parameter, or a part of a parameter. The arrays do not overlap.
template <typename T>
struct Segment {
  int64_t size;
  const T* gradient;
  T* value;
  // The optimizer's state. The comment at each kernel's options says which arrays it needs.
  std::array<T*, kMaxSlots> slots;
  // Added to each gradient. -0.0 changes nothing; +0.0 turns -0.0 into +0.0, as adding to a zeroed gradient does.
  T gradient_offset;
};

// Hyper-parameters of one step, in the precision in which LibTorch computes with them before it rounds them to the type
// of the parameter.

// Slots: the momentum buffer, if there is momentum.
struct SgdStep {
  double learning_rate;
  double momentum;
  double dampening;
  double weight_decay;
  bool nesterov;
  // Whether this is the first step, which sets the momentum buffer instead of updating it.
  bool first;
};

// Adam and AdamW. Slots: running means of gradients and of their squares, the latter's maximum if `amsgrad`.
struct AdamStep {
  double step_size;
  double beta1;
  double beta2;
  double eps;
  // The square root of the second moment's bias correction.
  double correction;
  // Adam's weight decay, added to the gradients.
  double weight_decay;
  // AdamW's weight decay: the weights are first multiplied by this factor; 1 means no decay.
  double shrink;
  bool amsgrad;
};

// Slots: the running mean of squares; of gradients, if `centered`; the momentum buffer, if there is momentum. Those
// that are absent leave no gap.
struct RmsPropStep {
  double learning_rate;
  double alpha;
  double eps;
  double weight_decay;
  double momentum;
  bool centered;
};

// T: float or double. REQUIRES: `rounding` is kSeparate, or HasFusedMultiplyAdd().
template <typename T>
void Apply(Rounding rounding, const SgdStep& step, const Segment<T>& segment);
template <typename T>
void Apply(Rounding rounding, const AdamStep& step, const Segment<T>& segment);
template <typename T>
void Apply(Rounding rounding, const RmsPropStep& step, const Segment<T>& segment);

}  // namespace lanista::flat

#endif  // LANISTA_SRC_EVALUATORS_FLAT_KERNELS_H_
