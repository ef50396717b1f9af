// Dropouts, including torchvision's stochastic depth. The output is like the input; in evaluation it is the input.
#include "absl/strings/str_cat.h"
#include "src/base/status.h"
#include "src/ops/module_schema.h"
#include "src/ops/registry.h"

namespace lanista::ops {
namespace {

absl::Status CheckProbability(const Attributes& a) {
  if (a.Float("p") >= 0 && a.Float("p") <= 1) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("p must be in [0, 1], not ", a.Float("p")));
}

// `function`: of torch.
ModuleSpec Dropout(const std::string& type, const std::string& function) {
  ModuleSpec spec{type, {WithDefault("p", 0.5), WithDefault("inplace", false)}, SameAsInput};
  spec.check = CheckProbability;
  spec.onnx = OnnxUnary("Identity");
  spec.torchscript = {"dropout", [function](const ScriptCall& call) -> absl::StatusOr<std::string> {
                        return ScriptReturn(absl::StrCat("torch.", function, call.a.Bool("inplace") ? "_" : "",
                                                         "(input, ", call.Float("p"), ", ", call.Training(), ")"));
                      }};
  spec.stateful = true;
  return spec;
}

// Also takes inputs without a batch. LibTorch's C++ front end has no such module.
ModuleSpec Dropout1d() {
  ModuleSpec spec = Dropout("Dropout1d", "feature_dropout");
  spec.infer = [](const OpCall& call) -> absl::StatusOr<Types> {
    LANISTA_RETURN_IF_ERROR(ExpectRank(call.inputs[0], {2, 3}));
    return SameAsInput(call);
  };
  spec.cpp = [](const Attributes&) -> absl::StatusOr<std::string> {
    return absl::UnimplementedError("Dropout1d: LibTorch's C++ front end has none");
  };
  return spec;
}

ModuleSpec StochasticDepth() {
  ModuleSpec spec{
      "StochasticDepth", {Required("p", AttributeKind::kFloat), Required("mode", AttributeKind::kString)}, SameAsInput};
  spec.check = [](const Attributes& a) -> absl::Status {
    LANISTA_RETURN_IF_ERROR(CheckProbability(a));
    if (a.String("mode") == "row" || a.String("mode") == "batch") return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat("mode must be row or batch, not '", a.String("mode"), "'"));
  };
  spec.onnx = OnnxUnary("Identity");
  spec.stateful = true;
  spec.cpp = [](const Attributes&) -> absl::StatusOr<std::string> {
    return absl::UnimplementedError("StochasticDepth is torchvision's: LibTorch's C++ front end has none");
  };
  return spec;
}

LANISTA_REGISTER_OP(MakeModule(Dropout("Dropout", "dropout")));
LANISTA_REGISTER_OP(MakeModule(Dropout1d()));
LANISTA_REGISTER_OP(MakeModule(Dropout("Dropout2d", "feature_dropout")));
LANISTA_REGISTER_OP(MakeModule(Dropout("Dropout3d", "feature_dropout")));
LANISTA_REGISTER_OP(MakeModule(Dropout("AlphaDropout", "alpha_dropout")));
LANISTA_REGISTER_OP(MakeModule(Dropout("FeatureAlphaDropout", "feature_alpha_dropout")));
LANISTA_REGISTER_OP(MakeModule(StochasticDepth()));

}  // namespace
}  // namespace lanista::ops
