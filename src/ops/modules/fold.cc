// Sliding blocks of images: extracting them (Unfold) and summing them up (Fold).
#include "absl/strings/str_cat.h"
#include "src/base/status.h"
#include "src/ops/module_schema.h"
#include "src/ops/registry.h"

namespace lanista::ops {
namespace {

std::vector<AttributeSpec> WindowAttributes() {
  return {Required("kernel_size", AttributeKind::kInts, 2), IntsWithDefault("dilation", 2, 1),
          IntsWithDefault("padding", 2, 0), IntsWithDefault("stride", 2, 1)};
}

absl::Status CheckWindow(const Attributes& a) {
  for (const char* name : {"kernel_size", "stride", "dilation"}) {
    for (const int64_t size : a.Ints(name)) {
      if (size < 1) return absl::InvalidArgumentError(absl::StrCat(name, " must be at least 1"));
    }
  }
  return absl::OkStatus();
}

// Number of blocks in an image of this size; -1: unknown.
absl::StatusOr<int64_t> CountBlocks(const Attributes& a, const Dims& image) {
  const Dims kernel = a.Ints("kernel_size"), dilation = a.Ints("dilation"), padding = a.Ints("padding"),
             stride = a.Ints("stride");
  int64_t blocks = 1;
  for (int i = 0; i < 2; ++i) {
    const int64_t count = SlidingSize(image[i], kernel[i], stride[i], padding[i], dilation[i]);
    if (image[i] >= 0 && count < 1) {
      return absl::InvalidArgumentError(absl::StrCat("a block of ", kernel[i], " does not fit into ", image[i]));
    }
    blocks = blocks < 0 || count < 0 ? -1 : blocks * count;
  }
  return blocks;
}

absl::StatusOr<Types> InferUnfold(const OpCall& call) {
  const Attributes& a = call.attributes;
  const v1::ValueType& input = call.inputs[0];
  LANISTA_RETURN_IF_ERROR(ExpectRank(input, {3, 4}));
  const auto dims = graph::DimsOf(input);
  if (!dims.has_value()) return Types{graph::TensorType(input.data_type())};
  LANISTA_ASSIGN_OR_RETURN(const int64_t blocks, CountBlocks(a, Dims(dims->end() - 2, dims->end())));
  Dims result(dims->begin(), dims->end() - 2);
  const Dims kernel = a.Ints("kernel_size");
  if (result.back() >= 0) result.back() *= kernel[0] * kernel[1];
  result.push_back(blocks);
  return Types{graph::TensorType(input.data_type(), result)};
}

absl::StatusOr<Types> InferFold(const OpCall& call) {
  const Attributes& a = call.attributes;
  const v1::ValueType& input = call.inputs[0];
  LANISTA_RETURN_IF_ERROR(ExpectRank(input, {2, 3}));
  const auto dims = graph::DimsOf(input);
  if (!dims.has_value()) return Types{graph::TensorType(input.data_type())};
  const Dims image = a.Ints("output_size"), kernel = a.Ints("kernel_size");
  LANISTA_ASSIGN_OR_RETURN(const int64_t blocks, CountBlocks(a, image));
  LANISTA_RETURN_IF_ERROR(
      ExpectDim(input, -1, blocks, absl::StrCat("blocks (of an output_size of ", image[0], " x ", image[1], ")")));
  Dims result(dims->begin(), dims->end() - 1);
  int64_t& channels = result.back();
  const int64_t block = kernel[0] * kernel[1];
  if (channels >= 0 && channels % block != 0) {
    return absl::InvalidArgumentError(absl::StrCat("expects channels that are divisible by ", block,
                                                   " (kernel_size), gets ", graph::TypeToText(input)));
  }
  if (channels >= 0) channels /= block;
  result.insert(result.end(), image.begin(), image.end());
  return Types{graph::TensorType(input.data_type(), result)};
}

// The arguments that both functions share.
std::string WindowArguments(const ScriptCall& call) {
  return absl::StrCat(call.Ints("kernel_size"), ", ", call.Ints("dilation"), ", ", call.Ints("padding"), ", ",
                      call.Ints("stride"));
}

ModuleSpec Unfold() {
  ModuleSpec spec{"Unfold", WindowAttributes(), InferUnfold};
  spec.flops = NoFlops;
  spec.check = CheckWindow;
  spec.torchscript = {"fold", [](const ScriptCall& call) -> absl::StatusOr<std::string> {
                        return ScriptReturn(absl::StrCat("torch.im2col(input, ", WindowArguments(call), ")"));
                      }};
  return spec;
}

ModuleSpec Fold() {
  ModuleSpec spec{"Fold", WindowAttributes(), InferFold};
  spec.attributes.insert(spec.attributes.begin(), Required("output_size", AttributeKind::kInts, 2));
  // Each element of the input is added once.
  spec.flops = [](const OpCall& call, const Types&) { return CountElements(call.inputs[0]); };
  spec.check = CheckWindow;
  spec.torchscript = {"fold", [](const ScriptCall& call) -> absl::StatusOr<std::string> {
                        return ScriptReturn(absl::StrCat("torch.col2im(input, ", call.Ints("output_size"), ", ",
                                                         WindowArguments(call), ")"));
                      }};
  return spec;
}

LANISTA_REGISTER_OP(MakeModule(Unfold()));
LANISTA_REGISTER_OP(MakeModule(Fold()));

}  // namespace
}  // namespace lanista::ops
