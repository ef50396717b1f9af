// Modules that only move elements: flatten and unflatten, shuffles of pixels and channels.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "src/base/status.h"
#include "src/ops/module_schema.h"
#include "src/ops/registry.h"

namespace lanista::ops {
namespace {

using Names = std::vector<std::string>;

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
  spec.torchscript = {"flatten", ScriptExpression("torch.flatten(input, $1, $2)", {"start_dim", "end_dim"})};
  return spec;
}

absl::Status CheckFactor(const Attributes& a, const char* name) {
  if (a.Int(name) > 0) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(name, " must be at least 1"));
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
  spec.check = [](const Attributes& a) { return CheckFactor(a, "upscale_factor"); };
  spec.onnx = [](const OpCall& call, OnnxWriter& writer) -> absl::StatusOr<Names> {
    LANISTA_RETURN_IF_ERROR(OnnxNeedsRank(call.inputs[0], 4));
    return writer.Node("DepthToSpace", {writer.Input(0)},
                       {{"blocksize", call.attributes.Int("upscale_factor")}, {"mode", std::string("CRD")}});
  };
  spec.torchscript = {"pixelshuffle", ScriptExpression("torch.pixel_shuffle(input, $1)", {"upscale_factor"})};
  return spec;
}

absl::StatusOr<Types> InferUnflatten(const OpCall& call) {
  const v1::ValueType& input = call.inputs[0];
  auto dims = graph::DimsOf(input);
  if (!dims.has_value()) return Types{graph::TensorType(input.data_type())};
  const auto rank = static_cast<int64_t>(dims->size());
  int64_t dim = call.attributes.Int("dim");
  if (dim < 0) dim += rank;
  if (dim < 0 || dim >= rank) {
    return absl::InvalidArgumentError(
        absl::StrCat("there is no dimension ", call.attributes.Int("dim"), " (dim) in ", graph::TypeToText(input)));
  }
  Dims sizes = call.attributes.Ints("unflattened_size");
  const int64_t flat = (*dims)[dim];
  int64_t known = 1;
  int open = -1;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] < 0) {
      open = static_cast<int>(i);
    } else {
      known *= sizes[i];
    }
  }
  if (flat >= 0 && (open >= 0 ? known == 0 || flat % known != 0 : flat != known)) {
    return absl::InvalidArgumentError(absl::StrCat("expects ", open >= 0 ? "a multiple of " : "", known,
                                                   " elements (unflattened_size) in dimension ", dim, ", gets ", flat,
                                                   " in ", graph::TypeToText(input)));
  }
  if (open >= 0 && flat >= 0) sizes[open] = flat / known;
  dims->erase(dims->begin() + dim);
  dims->insert(dims->begin() + dim, sizes.begin(), sizes.end());
  return Types{graph::TensorType(input.data_type(), *dims)};
}

// ONNX's Reshape allows one inferred dimension, and 0 for a dimension that keeps its size.
absl::StatusOr<Names> ReshapeInOnnx(const std::string& what, const std::string& value, Dims dims, OnnxWriter& writer) {
  if (!dims.empty() && dims[0] < 0) dims[0] = 0;
  if (std::count(dims.begin(), dims.end(), -1) > 1) {
    return absl::FailedPreconditionError(absl::StrCat(what, " needs the input's shape for ONNX: give input_shape"));
  }
  return writer.Node("Reshape", {value, writer.Constant(dims, {static_cast<int64_t>(dims.size())})});
}

ModuleSpec Unflatten() {
  ModuleSpec spec{"Unflatten",
                  {Required("dim", AttributeKind::kInt), Required("unflattened_size", AttributeKind::kInts)},
                  InferUnflatten};
  spec.flops = NoFlops;
  spec.check = [](const Attributes& a) -> absl::Status {
    const Dims sizes = a.Ints("unflattened_size");
    const bool valid = std::all_of(sizes.begin(), sizes.end(), [](int64_t size) { return size >= -1; });
    if (!sizes.empty() && valid && std::count(sizes.begin(), sizes.end(), -1) <= 1) return absl::OkStatus();
    return absl::InvalidArgumentError("unflattened_size must be a list of sizes, one of them -1 at most");
  };
  spec.cpp = [](const Attributes& a) -> absl::StatusOr<std::string> {
    return absl::StrCat("torch::nn::Unflatten(torch::nn::UnflattenOptions(", a.Int("dim"), ", std::vector<int64_t>{",
                        absl::StrJoin(a.Ints("unflattened_size"), ", "), "}))");
  };
  spec.onnx = [](const OpCall& call, OnnxWriter& writer) -> absl::StatusOr<Names> {
    LANISTA_ASSIGN_OR_RETURN(const Types types, InferUnflatten(call));
    const auto dims = graph::DimsOf(types[0]);
    if (!dims.has_value()) {
      return absl::FailedPreconditionError("Unflatten needs the input's rank for ONNX: give input_shape");
    }
    // If the first dimension itself is split, its unknown size is no longer that of the input.
    const auto rank = static_cast<int64_t>(graph::DimsOf(call.inputs[0])->size());
    const int64_t dim = call.attributes.Int("dim");
    if (dim == 0 || dim == -rank) {
      return writer.Node("Reshape", {writer.Input(0), writer.Constant(*dims, {static_cast<int64_t>(dims->size())})});
    }
    return ReshapeInOnnx("Unflatten", writer.Input(0), *dims, writer);
  };
  spec.torchscript = {"flatten", ScriptExpression("torch.unflatten(input, $1, $2)", {"dim", "unflattened_size"})};
  return spec;
}

absl::StatusOr<Types> InferPixelUnshuffle(const OpCall& call) {
  const v1::ValueType& input = call.inputs[0];
  auto dims = graph::DimsOf(input);
  if (!dims.has_value()) return Types{graph::TensorType(input.data_type())};
  const int64_t factor = call.attributes.Int("downscale_factor");
  const size_t rank = dims->size();
  bool fits = rank >= 3;
  for (size_t axis = rank - 2; fits && axis < rank; ++axis) fits = (*dims)[axis] < 0 || (*dims)[axis] % factor == 0;
  if (!fits) {
    return absl::InvalidArgumentError(absl::StrCat("expects height and width that are divisible by ", factor,
                                                   " (downscale_factor), gets ", graph::TypeToText(input)));
  }
  if ((*dims)[rank - 3] > 0) (*dims)[rank - 3] *= factor * factor;
  for (const size_t axis : {rank - 2, rank - 1}) {
    if ((*dims)[axis] > 0) (*dims)[axis] /= factor;
  }
  return Types{graph::TensorType(input.data_type(), *dims)};
}

// ONNX's SpaceToDepth uses another order of channels.
absl::StatusOr<Names> PixelUnshuffleToOnnx(const OpCall& call, OnnxWriter& writer) {
  LANISTA_RETURN_IF_ERROR(OnnxNeedsRank(call.inputs[0], 4));
  LANISTA_ASSIGN_OR_RETURN(const Types types, InferPixelUnshuffle(call));
  const auto dims = graph::DimsOf(types[0]);
  if (!dims.has_value() || std::count(dims->begin() + 1, dims->end(), -1) > 0) {
    return absl::FailedPreconditionError("PixelUnshuffle needs the input's shape for ONNX: give input_shape");
  }
  const int64_t factor = call.attributes.Int("downscale_factor");
  const int64_t channels = (*dims)[1] / (factor * factor);
  LANISTA_ASSIGN_OR_RETURN(
      const Names split,
      ReshapeInOnnx("PixelUnshuffle", writer.Input(0), {0, channels, (*dims)[2], factor, (*dims)[3], factor}, writer));
  const Names moved = writer.Node("Transpose", split, {{"perm", Dims{0, 1, 3, 5, 2, 4}}});
  return ReshapeInOnnx("PixelUnshuffle", moved[0], *dims, writer);
}

ModuleSpec PixelUnshuffle() {
  ModuleSpec spec{"PixelUnshuffle", {Required("downscale_factor", AttributeKind::kInt)}, InferPixelUnshuffle};
  spec.flops = NoFlops;
  spec.check = [](const Attributes& a) { return CheckFactor(a, "downscale_factor"); };
  spec.onnx = PixelUnshuffleToOnnx;
  spec.torchscript = {"pixelshuffle", ScriptExpression("torch.pixel_unshuffle(input, $1)", {"downscale_factor"})};
  return spec;
}

// Transposes the channels, seen as a matrix of `groups` rows.
ModuleSpec ChannelShuffle() {
  ModuleSpec spec{"ChannelShuffle", {Required("groups", AttributeKind::kInt)}};
  spec.infer = [](const OpCall& call) -> absl::StatusOr<Types> {
    const auto dims = graph::DimsOf(call.inputs[0]);
    const int64_t groups = call.attributes.Int("groups");
    if (!dims.has_value() || (dims->size() > 2 && ((*dims)[1] < 0 || (*dims)[1] % groups == 0))) {
      return SameAsInput(call);
    }
    return absl::InvalidArgumentError(absl::StrCat("expects channels that are divisible by ", groups,
                                                   " (groups), gets ", graph::TypeToText(call.inputs[0])));
  };
  spec.flops = NoFlops;
  spec.check = [](const Attributes& a) { return CheckFactor(a, "groups"); };
  spec.cpp = [](const Attributes& a) -> absl::StatusOr<std::string> {
    // Torch's channel_shuffle has no gradient before version 2.0.
    const int64_t groups = a.Int("groups");
    return absl::StrCat("torch::nn::Functional([](const torch::Tensor& x) {\n  return x.reshape({x.size(0), ", groups,
                        ", x.size(1) / ", groups, ", -1}).transpose(1, 2).reshape(x.sizes());\n})");
  };
  spec.onnx = [](const OpCall& call, OnnxWriter& writer) -> absl::StatusOr<Names> {
    const auto dims = graph::DimsOf(call.inputs[0]);
    if (!dims.has_value() || (*dims)[1] < 0) {
      return absl::FailedPreconditionError("ChannelShuffle needs the input's channels for ONNX: give input_shape");
    }
    const int64_t groups = call.attributes.Int("groups");
    const std::string x = writer.Input(0);
    LANISTA_ASSIGN_OR_RETURN(const Names split,
                             ReshapeInOnnx("ChannelShuffle", x, {0, groups, (*dims)[1] / groups, -1}, writer));
    const Names moved = writer.Node("Transpose", split, {{"perm", Dims{0, 2, 1, 3}}});
    return writer.Node("Reshape", {moved[0], writer.Node("Shape", {x})[0]});
  };
  spec.torchscript = {"channelshuffle", ScriptExpression("torch.channel_shuffle(input, $1)", {"groups"})};
  return spec;
}

LANISTA_REGISTER_OP(MakeModule(Flatten()));
LANISTA_REGISTER_OP(MakeModule(Unflatten()));
LANISTA_REGISTER_OP(MakeModule(PixelShuffle()));
LANISTA_REGISTER_OP(MakeModule(PixelUnshuffle()));
LANISTA_REGISTER_OP(MakeModule(ChannelShuffle()));

}  // namespace
}  // namespace lanista::ops
