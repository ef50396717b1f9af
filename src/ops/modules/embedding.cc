// Embeddings: rows of a table by index, one by one or reduced over bags.
#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"
#include "src/base/status.h"
#include "src/ops/module_schema.h"
#include "src/ops/registry.h"

namespace lanista::ops {
namespace {

using Names = std::vector<std::string>;

std::vector<ParameterSpec> EmbeddingParameters(const Attributes& a) {
  return {{"weight", {a.Int("num_embeddings"), a.Int("embedding_dim")}}};
}

absl::Status CheckEmbedding(const Attributes& a) {
  const int64_t rows = a.Int("num_embeddings");
  if (rows < 1 || a.Int("embedding_dim") < 1) {
    return absl::InvalidArgumentError("num_embeddings and embedding_dim must be at least 1");
  }
  if (a.Has("padding_idx") && (a.Int("padding_idx") < -rows || a.Int("padding_idx") >= rows)) {
    return absl::InvalidArgumentError(
        absl::StrCat("padding_idx (", a.Int("padding_idx"), ") must be below num_embeddings (", rows, ")"));
  }
  return absl::OkStatus();
}

ModuleSpec Embedding() {
  ModuleSpec spec{
      "Embedding",
      {Required("num_embeddings", AttributeKind::kInt), Required("embedding_dim", AttributeKind::kInt),
       Optional("padding_idx", AttributeKind::kInt), Optional("max_norm", AttributeKind::kFloat),
       WithDefault("norm_type", 2.0), WithDefault("scale_grad_by_freq", false), WithDefault("sparse", false)}};
  spec.infer = [](const OpCall& call) -> absl::StatusOr<Types> {
    auto dims = graph::DimsOf(call.inputs[0]);
    if (!dims.has_value()) return Types{graph::TensorType(v1::Tensor::FLOAT32)};
    dims->push_back(call.attributes.Int("embedding_dim"));
    return Types{graph::TensorType(v1::Tensor::FLOAT32, *dims)};
  };
  spec.parameters = EmbeddingParameters;
  spec.check = CheckEmbedding;
  // A table look-up has no arithmetic.
  spec.flops = NoFlops;
  spec.onnx = [](const OpCall& call, OnnxWriter& writer) -> absl::StatusOr<Names> {
    if (call.attributes.Has("max_norm")) {
      return absl::UnimplementedError("max_norm, which changes the table, has no counterpart in ONNX");
    }
    return writer.Node("Gather", {writer.Parameter("weight"), writer.Input(0)});
  };
  spec.torchscript = {"sparse", [](const ScriptCall& call) -> absl::StatusOr<std::string> {
                        if (call.a.Has("max_norm")) {
                          return absl::UnimplementedError("max_norm cannot be written as TorchScript");
                        }
                        return ScriptReturn(absl::Substitute("torch.embedding(self.weight, input, $0, $1, $2)",
                                                             call.a.Has("padding_idx") ? call.Int("padding_idx") : "-1",
                                                             call.Bool("scale_grad_by_freq"), call.Bool("sparse")));
                      }};
  return spec;
}

// A 2-d input has one bag per row. A 1-d input has all bags in sequence; a second input gives the start of each bag.
absl::StatusOr<Types> InferBag(const OpCall& call) {
  const Attributes& a = call.attributes;
  LANISTA_RETURN_IF_ERROR(ExpectRank(call.inputs[0], {1, 2}));
  const auto dims = graph::DimsOf(call.inputs[0]);
  const bool offsets = call.inputs.size() > 1;
  if (dims.has_value() && (dims->size() == 1) != offsets) {
    return absl::InvalidArgumentError(absl::StrCat("takes indices of two dimensions, or of one and offsets, gets ",
                                                   graph::TypeToText(call.inputs[0]),
                                                   offsets ? " and offsets" : " alone"));
  }
  int64_t bags = -1;
  if (!offsets && dims.has_value()) bags = dims->front();
  if (offsets) {
    LANISTA_RETURN_IF_ERROR(ExpectRank(call.inputs[1], {1}));
    const auto starts = graph::DimsOf(call.inputs[1]);
    // The last offset is the end of the last bag.
    const int64_t ends = a.Bool("include_last_offset") ? 1 : 0;
    if (starts.has_value() && starts->front() >= 0) bags = starts->front() - ends;
  }
  return Types{graph::TensorType(v1::Tensor::FLOAT32, {bags, a.Int("embedding_dim")})};
}

ModuleSpec EmbeddingBag() {
  ModuleSpec spec{"EmbeddingBag",
                  {Required("num_embeddings", AttributeKind::kInt), Required("embedding_dim", AttributeKind::kInt),
                   Optional("max_norm", AttributeKind::kFloat), WithDefault("norm_type", 2.0),
                   WithDefault("scale_grad_by_freq", false), WithDefault("mode", "mean"), WithDefault("sparse", false),
                   WithDefault("include_last_offset", false), Optional("padding_idx", AttributeKind::kInt)},
                  InferBag};
  spec.parameters = EmbeddingParameters;
  spec.check = [](const Attributes& a) -> absl::Status {
    const std::string mode = a.String("mode");
    if (mode == "sum" || mode == "mean" || mode == "max") return CheckEmbedding(a);
    return absl::InvalidArgumentError(absl::StrCat("mode must be sum, mean or max, not '", mode, "'"));
  };
  // Each row that is looked up is added to its bag's result.
  spec.flops = [](const OpCall& call, const Types&) -> std::optional<double> {
    const auto rows = CountElements(call.inputs[0]);
    if (!rows.has_value()) return std::nullopt;
    return *rows * static_cast<double>(call.attributes.Int("embedding_dim"));
  };
  spec.cpp = [specs = spec.attributes](const Attributes& a) -> absl::StatusOr<std::string> {
    std::vector<AttributeSpec> plain;
    for (const AttributeSpec& one : specs) {
      if (one.name != "mode") plain.push_back(one);
    }
    LANISTA_ASSIGN_OR_RETURN(std::string source, CppOptions("EmbeddingBag", plain, a));
    const std::string mode = a.String("mode");
    if (mode == "mean") return source;
    return source.insert(source.size() - 1, mode == "sum" ? ".mode(torch::kSum)" : ".mode(torch::kMax)");
  };
  spec.max_inputs = 2;
  return spec;
}

LANISTA_REGISTER_OP(MakeModule(Embedding()));
LANISTA_REGISTER_OP(MakeModule(EmbeddingBag()));

}  // namespace
}  // namespace lanista::ops
