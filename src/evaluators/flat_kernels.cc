// BUILD compiles this file with -O3 -fno-math-errno (loops become vector code) and -ffp-contract=off (what is fused is
// said here).
#include "src/evaluators/flat_kernels.h"

#include <cmath>

// Everything below is inlined into two functions, one of which may use more of the processor.
#define LANISTA_INLINE inline __attribute__((always_inline))
#ifdef __x86_64__
#define LANISTA_TARGET_FUSED __attribute__((target("avx2,fma")))
#else
#define LANISTA_TARGET_FUSED
#endif

namespace lanista::flat {
namespace {

struct Fused {
  template <typename T>
  static LANISTA_INLINE T MulAdd(T a, T b, T c) {
    return std::fma(a, b, c);
  }
};

struct Separate {
  template <typename T>
  static LANISTA_INLINE T MulAdd(T a, T b, T c) {
    return a * b + c;
  }
};

// at::maximum: NaN wins.
template <typename T>
LANISTA_INLINE T Max(T a, T b) {
  return a > b || a != a ? a : b;
}

// A loop is a class with Run<Math, flags...>(): the flags do not change from weight to weight, so there is one loop for
// each combination. In comments: the calls of LibTorch's class.

template <typename T>
struct SgdLoop {
  template <typename Math, bool kDecay, bool kMomentum, bool kFirst, bool kNesterov>
  LANISTA_INLINE void Run() const {
    const T rate = static_cast<T>(-step.learning_rate), decay = static_cast<T>(step.weight_decay),
            momentum = static_cast<T>(step.momentum), share = static_cast<T>(1 - step.dampening),
            offset = x.gradient_offset;
    const T* const __restrict gradients = x.gradient;
    T* const __restrict values = x.value;
    T* const __restrict buffers = x.slots[0];
    for (int64_t i = 0; i < x.size; ++i) {
      T gradient = gradients[i] + offset;
      // gradient.add(value, weight_decay)
      if (kDecay) gradient = Math::MulAdd(values[i], decay, gradient);
      if (kMomentum) {
        // buffer = gradient.clone(), later buffer.mul_(momentum).add_(gradient, 1 - dampening)
        const T buffer = kFirst ? gradient : Math::MulAdd(gradient, share, buffers[i] * momentum);
        buffers[i] = buffer;
        // gradient.add(buffer, momentum)
        gradient = kNesterov ? Math::MulAdd(buffer, momentum, gradient) : buffer;
      }
      // value.add_(gradient, -learning_rate)
      values[i] = Math::MulAdd(gradient, rate, values[i]);
    }
  }

  const SgdStep& step;
  const Segment<T>& x;
};

template <typename T>
struct AdamLoop {
  template <typename Math, bool kDecay, bool kAmsgrad>
  LANISTA_INLINE void Run() const {
    const T rate = static_cast<T>(-step.step_size), beta1 = static_cast<T>(step.beta1),
            share1 = static_cast<T>(1 - step.beta1), beta2 = static_cast<T>(step.beta2),
            share2 = static_cast<T>(1 - step.beta2), eps = static_cast<T>(step.eps),
            correction = static_cast<T>(step.correction), decay = static_cast<T>(step.weight_decay),
            shrink = static_cast<T>(step.shrink), offset = x.gradient_offset;
    const T* const __restrict gradients = x.gradient;
    T* const __restrict values = x.value;
    T* const __restrict means = x.slots[0];
    T* const __restrict squares = x.slots[1];
    T* const __restrict maxima = x.slots[2];
    for (int64_t i = 0; i < x.size; ++i) {
      T gradient = gradients[i] + offset;
      // AdamW: value.mul_(1 - learning_rate * weight_decay)
      const T value = values[i] * shrink;
      // Adam: gradient.add(value, weight_decay)
      if (kDecay) gradient = Math::MulAdd(value, decay, gradient);
      // mean.mul_(beta1).add_(gradient, 1 - beta1)
      const T mean = Math::MulAdd(gradient, share1, means[i] * beta1);
      means[i] = mean;
      // square.mul_(beta2).addcmul_(gradient, gradient, 1 - beta2)
      T square = Math::MulAdd(share2 * gradient, gradient, squares[i] * beta2);
      squares[i] = square;
      if (kAmsgrad) maxima[i] = square = Max(square, maxima[i]);
      // value.addcdiv_(mean, (square.sqrt() / sqrt(bias_correction2)).add_(eps), -step_size)
      values[i] = value + rate * mean / (std::sqrt(square) / correction + eps);
    }
  }

  const AdamStep& step;
  const Segment<T>& x;
};

template <typename T>
struct RmsPropLoop {
  template <typename Math, bool kDecay, bool kCentered, bool kMomentum>
  LANISTA_INLINE void Run() const {
    const T rate = static_cast<T>(-step.learning_rate), alpha = static_cast<T>(step.alpha),
            share = static_cast<T>(1 - step.alpha), eps = static_cast<T>(step.eps),
            decay = static_cast<T>(step.weight_decay), momentum = static_cast<T>(step.momentum),
            offset = x.gradient_offset;
    const T* const __restrict gradients = x.gradient;
    T* const __restrict values = x.value;
    T* const __restrict squares = x.slots[0];
    T* const __restrict means = x.slots[1];
    T* const __restrict buffers = x.slots[kCentered ? 2 : 1];
    for (int64_t i = 0; i < x.size; ++i) {
      T gradient = gradients[i] + offset;
      // gradient.add(value, weight_decay)
      if (kDecay) gradient = Math::MulAdd(values[i], decay, gradient);
      // square.mul_(alpha).addcmul_(gradient, gradient, 1 - alpha)
      T square = Math::MulAdd(share * gradient, gradient, squares[i] * alpha);
      squares[i] = square;
      if (kCentered) {
        // mean.mul_(alpha).add_(gradient, 1 - alpha), square.addcmul(mean, mean, -1)
        const T mean = Math::MulAdd(gradient, share, means[i] * alpha);
        means[i] = mean;
        square = Math::MulAdd(-mean, mean, square);
      }
      const T root = std::sqrt(square) + eps;
      if (kMomentum) {
        // buffer.mul_(momentum).addcdiv_(gradient, root), value.add_(buffer, -learning_rate)
        const T buffer = buffers[i] * momentum + gradient / root;
        buffers[i] = buffer;
        values[i] = Math::MulAdd(buffer, rate, values[i]);
      } else {
        // value.addcdiv_(gradient, root, -learning_rate)
        values[i] = values[i] + rate * gradient / root;
      }
    }
  }

  const RmsPropStep& step;
  const Segment<T>& x;
};

// Makes flags into template arguments, one by one.
template <typename Math, bool... kKnown, typename Loop>
LANISTA_INLINE void Run(const Loop& loop) {
  loop.template Run<Math, kKnown...>();
}

template <typename Math, bool... kKnown, typename Loop, typename... Flags>
LANISTA_INLINE void Run(const Loop& loop, bool flag, Flags... flags) {
  if (flag) {
    Run<Math, kKnown..., true>(loop, flags...);
  } else {
    Run<Math, kKnown..., false>(loop, flags...);
  }
}

template <typename Loop, typename... Flags>
LANISTA_TARGET_FUSED void RunFused(const Loop& loop, Flags... flags) {
  Run<Fused>(loop, flags...);
}

template <typename Loop, typename... Flags>
void RunSeparate(const Loop& loop, Flags... flags) {
  Run<Separate>(loop, flags...);
}

template <typename Loop, typename... Flags>
void Dispatch(Rounding rounding, const Loop& loop, Flags... flags) {
  rounding == Rounding::kFused ? RunFused(loop, flags...) : RunSeparate(loop, flags...);
}

}  // namespace

bool HasFusedMultiplyAdd() {
#ifdef __x86_64__
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#elif defined(__FP_FAST_FMA) && defined(__FP_FAST_FMAF)
  return true;
#else
  return false;
#endif
}

template <typename T>
void Apply(Rounding rounding, const SgdStep& step, const Segment<T>& segment) {
  Dispatch(rounding, SgdLoop<T>{step, segment}, step.weight_decay != 0, step.momentum != 0, step.first, step.nesterov);
}

template <typename T>
void Apply(Rounding rounding, const AdamStep& step, const Segment<T>& segment) {
  Dispatch(rounding, AdamLoop<T>{step, segment}, step.weight_decay != 0, step.amsgrad);
}

template <typename T>
void Apply(Rounding rounding, const RmsPropStep& step, const Segment<T>& segment) {
  Dispatch(rounding, RmsPropLoop<T>{step, segment}, step.weight_decay != 0, step.centered, step.momentum > 0);
}

template void Apply(Rounding, const SgdStep&, const Segment<float>&);
template void Apply(Rounding, const SgdStep&, const Segment<double>&);
template void Apply(Rounding, const AdamStep&, const Segment<float>&);
template void Apply(Rounding, const AdamStep&, const Segment<double>&);
template void Apply(Rounding, const RmsPropStep&, const Segment<float>&);
template void Apply(Rounding, const RmsPropStep&, const Segment<double>&);

}  // namespace lanista::flat
