// Modules that move elements: flatten, upsample, pixel shuffle, padding by zeros.
#include "absl/strings/str_cat.h"
#include "src/base/status.h"
#include "src/ops/module_schema.h"
#include "src/ops/registry.h"

namespace lanista::ops {
namespace {

using Names = std::vector<std::string>;

std::optional<double> NoFlops(const OpCall&, const Types&) { return 0; }

absl::StatusOr<Types> InferFlatten(const OpCall& call) {
  const v1::ValueType& input = call.inputs[0];
  const auto dims = graph::DimsOf(input);
  if (!dims.has_value()) return Types{graph::TensorType(input.data_type())};
  const auto rank = static_cast<int64_t>(dims->size());
  const auto from_front = [rank](int64_t dim) { return dim < 0 ? dim + rank : dim; };
  const int64_t start = from_front(call.attributes.Int("start_dim"));
  const int64_t end = from_front(call.attributes.Int("end_dim"));
  if (start < 0 || end >= rank || start > end) {
    return absl::InvalidArgumentError(
        absl::StrCat("cannot flatten dimensions ", start, " to ", end, " of ", graph::TypeToText(input)));
  }
  Dims result(dims->begin(), dims->begin() + start);
  int64_t product = 1;
  for (int64_t i = start; i <= end; ++i) product = (*dims)[i] < 0 || product < 0 ? -1 : product * (*dims)[i];
  result.push_back(product);
  result.insert(result.end(), dims->begin() + end + 1, dims->end());
  return Types{graph::TensorType(input.data_type(), result)};
}

absl::StatusOr<Names> FlattenToOnnx(const OpCall& call, OnnxWriter& writer) {
  const Attributes& a = call.attributes;
  if (a.Int("start_dim") == 1 && a.Int("end_dim") == -1) {
    return writer.Node("Flatten", {writer.Input(0)}, {{"axis", int64_t{1}}});
  }
  LANISTA_ASSIGN_OR_RETURN(const Types types, InferFlatten(call));
  const auto dims = graph::DimsOf(types[0]);
  if (!dims.has_value())
    return absl::FailedPreconditionError("Flatten needs the input's shape for ONNX: give input_shape");
  return writer.Node("Reshape", {writer.Input(0), writer.Constant(*dims, {static_cast<int64_t>(dims->size())})});
}

ModuleSpec Flatten() {
  ModuleSpec spec{"Flatten", {WithDefault("start_dim", int64_t{1}), WithDefault("end_dim", int64_t{-1})}, InferFlatten};
  spec.flops = NoFlops;
  spec.onnx = FlattenToOnnx;
  return spec;
}

absl::StatusOr<Types> InferPixelShuffle(const OpCall& call) {
  const v1::ValueType& input = call.inputs[0];
  auto dims = graph::DimsOf(input);
  if (!dims.has_value()) return Types{graph::TensorType(input.data_type())};
  const int64_t factor = call.attributes.Int("upscale_factor");
  const size_t rank = dims->size();
  if (rank < 3 || ((*dims)[rank - 3] > 0 && (*dims)[rank - 3] % (factor * factor) != 0)) {
    return absl::InvalidArgumentError(absl::StrCat("expects channels that are divisible by ", factor * factor,
                                                   " (upscale_factor squared), gets ", graph::TypeToText(input)));
  }
  if ((*dims)[rank - 3] > 0) (*dims)[rank - 3] /= factor * factor;
  for (const size_t axis : {rank - 2, rank - 1}) {
    if ((*dims)[axis] > 0) (*dims)[axis] *= factor;
  }
  return Types{graph::TensorType(input.data_type(), *dims)};
}

ModuleSpec PixelShuffle() {
  ModuleSpec spec{"PixelShuffle", {Required("upscale_factor", AttributeKind::kInt)}, InferPixelShuffle};
  spec.flops = NoFlops;
  spec.onnx = [](const OpCall& call, OnnxWriter& writer) -> absl::StatusOr<Names> {
    return writer.Node("DepthToSpace", {writer.Input(0)},
                       {{"blocksize", call.attributes.Int("upscale_factor")}, {"mode", std::string("CRD")}});
  };
  return spec;
}

LANISTA_REGISTER_OP(MakeModule(Flatten()));
LANISTA_REGISTER_OP(MakeModule(PixelShuffle()));

}  // namespace
}  // namespace lanista::ops
