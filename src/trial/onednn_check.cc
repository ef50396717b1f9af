#include "src/trial/onednn_check.h"

#include <ATen/ATen.h>
#include <ATen/Context.h>
#include <torch/version.h>

#include <tuple>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "src/trial/torch_guard.h"

namespace lanista {
namespace {

// Numbers between -1 and 1, the same ones each time; no generator moves on.
at::Tensor Wave(at::IntArrayRef shape) {
  return at::arange(c10::multiply_integers(shape), at::kFloat).sin().reshape(shape);
}

// Also the gradient of a convolution's input.
at::Tensor TransposedConvolution() { return at::conv_transpose2d(Wave({2, 1, 7, 7}), Wave({1, 1, 3, 3}), {}, 1, 1); }

// Of 5 steps, 3 samples and 8 features, with 16 hidden ones.
at::Tensor Lstm() {
  const at::Tensor state = at::zeros({1, 3, 16});
  return std::get<0>(at::lstm(Wave({5, 3, 8}), {state, state}, {Wave({64, 8}), Wave({64, 16}), Wave({64}), Wave({64})},
                              /*has_biases=*/true, /*num_layers=*/1, /*dropout=*/0, /*train=*/false,
                              /*bidirectional=*/false, /*batch_first=*/false));
}

// The largest difference between oneDNN and LibTorch's own code, perhaps NaN. Leaves oneDNN turned on.
double Difference(at::Tensor (*compute)()) {
  const at::Tensor by_onednn = compute();
  at::globalContext().setUserEnabledMkldnn(false);
  const at::Tensor right = compute();
  at::globalContext().setUserEnabledMkldnn(true);
  return (by_onednn - right).abs().max().item<double>();
}

}  // namespace

std::string TurnOffWrongOneDnn(double tolerance) {
  if (!at::hasMKLDNN() || !at::globalContext().userEnabledMkldnn()) return "";
  const absl::Status right = GuardStatus([tolerance]() -> absl::Status {
    const at::NoGradGuard no_gradients;  // With gradients, LSTMs take another way.
    for (at::Tensor (*compute)() : {TransposedConvolution, Lstm}) {
      const double difference = Difference(compute);
      if (!(difference <= tolerance)) return absl::InternalError(absl::StrCat("a number is ", difference, " off"));
    }
    return absl::OkStatus();
  });
  if (right.ok()) return "";
  at::globalContext().setUserEnabledMkldnn(false);
  return absl::StrCat("oneDNN computes wrongly on this processor (LibTorch " TORCH_VERSION ": ", right.message(),
                      "): on CPUs, convolutions and LSTMs run without it; see docs/troubleshooting.md");
}

}  // namespace lanista
