#include "src/exporters/common/supplements.h"

#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"
#include "src/base/source_literals.h"

namespace lanista::exporters {
namespace {

constexpr char kStochasticDepthPython[] = R"(

class StochasticDepth(nn.Module):
    """torchvision's: while training, samples (mode "row") or whole batches become zero."""

    def __init__(self, p, mode):
        super().__init__()
        self.p = p
        self.mode = mode

    def forward(self, x):
        if not self.training or self.p == 0.0:
            return x
        size = [x.shape[0] if self.mode == "row" else 1] + [1] * (x.ndim - 1)
        noise = torch.empty(size, dtype=x.dtype, device=x.device).bernoulli_(1.0 - self.p)
        if self.p < 1.0:
            noise = noise / (1.0 - self.p)
        return x * noise
)";

constexpr char kStochasticDepthCpp[] = R"(
// torchvision's: while training, samples (mode "row") or whole batches become zero.
struct StochasticDepth : torch::nn::Module {
  StochasticDepth(double p, const std::string& mode) : p(p), rows(mode == "row") {}

  torch::Tensor forward(torch::Tensor x) {
    if (!is_training() || p == 0.0) return x;
    std::vector<int64_t> size(x.dim(), 1);
    if (rows) size[0] = x.size(0);
    torch::Tensor noise = torch::empty(size, x.options()).bernoulli_(1.0 - p);
    if (p < 1.0) noise = noise / (1.0 - p);
    return x * noise;
  }

  double p;
  bool rows;
};
)";

std::string StochasticDepthTorchScript(const graph::Attributes& a) {
  const double p = a.Float("p");
  if (p == 0.0) return "return input";
  return absl::Substitute(
      "out = input\n"
      "  if $$0:\n"
      "    size = [$0]\n"
      "    for i in range(input.dim() - 1):\n"
      "      size = torch.add(size, [1])\n"
      "    noise = torch.empty(size, dtype=input.dtype, device=input.device)\n"
      "    noise = torch.bernoulli_(noise, $1)\n"
      "    out = torch.mul(input, $2)\n"
      "  return out",
      a.String("mode") == "row" ? "input.size(0)" : "1", PythonFloatLiteral(1.0 - p),
      p < 1.0 ? absl::StrCat("torch.div(noise, ", PythonFloatLiteral(1.0 - p), ")") : "noise");
}

const std::map<std::string, Supplement>& Supplements() {
  static const auto* const supplements = new std::map<std::string, Supplement>{
      {"StochasticDepth",
       {kStochasticDepthPython, kStochasticDepthCpp,
        [](const graph::Attributes& a) {
          return absl::StrCat(PythonFloatLiteral(a.Float("p")), ", ", StringLiteral(a.String("mode")));
        },
        "torchvision.ops.stochastic_depth.StochasticDepth", StochasticDepthTorchScript}}};
  return *supplements;
}

}  // namespace

std::vector<std::string> SupplementTypes() {
  std::vector<std::string> types;
  for (const auto& entry : Supplements()) types.push_back(entry.first);
  return types;
}

const Supplement* FindSupplement(absl::string_view type) {
  const auto found = Supplements().find(std::string(type));
  return found == Supplements().end() ? nullptr : &found->second;
}

}  // namespace lanista::exporters
