// Distances between two inputs.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "src/base/status.h"
#include "src/ops/module_schema.h"
#include "src/ops/registry.h"

namespace lanista::ops {
namespace {

// The shape of both inputs, broadcast to each other; nullopt: unknown.
absl::StatusOr<std::optional<Dims>> Broadcast(const OpCall& call) {
  auto longer = graph::DimsOf(call.inputs[0]), shorter = graph::DimsOf(call.inputs[1]);
  if (!longer.has_value() || !shorter.has_value()) return std::optional<Dims>();
  if (longer->size() < shorter->size()) std::swap(longer, shorter);
  for (size_t i = 1; i <= shorter->size(); ++i) {
    int64_t& size = (*longer)[longer->size() - i];
    const int64_t other = (*shorter)[shorter->size() - i];
    if (size == 1 || size < 0) {
      // Unknown and 1 give unknown; if one is unknown and the other larger than 1, the unknown one is equal to it or is
      // 1.
      if (size == 1 || other != 1) size = other;
    } else if (other > 1 && other != size) {
      return absl::InvalidArgumentError(absl::StrCat("cannot compare ", graph::TypeToText(call.inputs[0]), " with ",
                                                     graph::TypeToText(call.inputs[1])));
    }
  }
  return longer;
}

// Removes dimension `dim`; `keep`: keeps it with size 1.
absl::StatusOr<Types> Reduce(const OpCall& call, int64_t dim, bool keep) {
  LANISTA_ASSIGN_OR_RETURN(std::optional<Dims> dims, Broadcast(call));
  const v1::Tensor::DataType type = call.inputs[0].data_type();
  if (!dims.has_value()) return Types{graph::TensorType(type)};
  const auto rank = static_cast<int64_t>(dims->size());
  const int64_t index = dim < 0 ? dim + rank : dim;
  if (index < 0 || index >= rank) {
    return absl::InvalidArgumentError(
        absl::StrCat("there is no dimension ", dim, " in ", graph::TypeToText(call.inputs[0])));
  }
  if (keep) {
    (*dims)[index] = 1;
  } else {
    dims->erase(dims->begin() + index);
  }
  return Types{graph::TensorType(type, *dims)};
}

// Each element of the larger input takes part in some operations.
std::function<std::optional<double>(const OpCall&, const Types&)> FlopsAnInput(double flops) {
  return [flops](const OpCall& call, const Types&) -> std::optional<double> {
    const auto first = CountElements(call.inputs[0]), second = CountElements(call.inputs[1]);
    if (!first.has_value() || !second.has_value()) return std::nullopt;
    return flops * std::max(*first, *second);
  };
}

ModuleSpec CosineSimilarity() {
  ModuleSpec spec{"CosineSimilarity", {WithDefault("dim", int64_t{1}), WithDefault("eps", 1e-8)}};
  spec.infer = [](const OpCall& call) { return Reduce(call, call.attributes.Int("dim"), false); };
  // Three products and three sums.
  spec.flops = FlopsAnInput(6);
  spec.torchscript = {"distance", ScriptExpression("torch.cosine_similarity(input, input_1, $1, $2)", {"dim", "eps"})};
  spec.min_inputs = spec.max_inputs = 2;
  return spec;
}

ModuleSpec PairwiseDistance() {
  ModuleSpec spec{"PairwiseDistance", {WithDefault("p", 2.0), WithDefault("eps", 1e-6), WithDefault("keepdim", false)}};
  spec.infer = [](const OpCall& call) { return Reduce(call, -1, call.attributes.Bool("keepdim")); };
  // A difference, eps, a power and a sum.
  spec.flops = FlopsAnInput(4);
  spec.torchscript = {"distance",
                      ScriptExpression("torch.pairwise_distance(input, input_1, $1, $2, $3)", {"p", "eps", "keepdim"})};
  spec.min_inputs = spec.max_inputs = 2;
  return spec;
}

LANISTA_REGISTER_OP(MakeModule(CosineSimilarity()));
LANISTA_REGISTER_OP(MakeModule(PairwiseDistance()));

}  // namespace
}  // namespace lanista::ops
