// Aten operators that multiply matrices, and convolutions with computed weights.
#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "src/base/status.h"
#include "src/ops/aten/schema.h"

namespace lanista::ops {
namespace {

absl::Status CannotMultiply(const AtenArguments& a, const std::string& first, const std::string& second) {
  return absl::InvalidArgumentError(
      absl::StrCat("cannot multiply ", graph::TypeToText(a.Type(first)), " with ", graph::TypeToText(a.Type(second))));
}

absl::StatusOr<Types> MultiplyMatrices(const OpCall& call, const std::string& first, const std::string& second) {
  const AtenArguments a(call);
  auto x = graph::DimsOf(a.Type(first)), y = graph::DimsOf(a.Type(second));
  if (!x.has_value() || !y.has_value()) return UnknownShape(call);
  if (x->empty() || y->empty()) return CannotMultiply(a, first, second);
  // A vector is treated as a matrix of one row or column; that dimension is not part of the result.
  const bool row = x->size() == 1, column = y->size() == 1;
  if (row) x->insert(x->begin(), 1);
  if (column) y->push_back(1);
  const int64_t inner = x->back(), other = (*y)[y->size() - 2];
  if (inner >= 0 && other >= 0 && inner != other) return CannotMultiply(a, first, second);
  const auto batch = Broadcast(Dims(x->begin(), x->end() - 2), Dims(y->begin(), y->end() - 2));
  if (!batch.has_value()) return CannotMultiply(a, first, second);
  Dims result = *batch;
  if (!row) result.push_back((*x)[x->size() - 2]);
  if (!column) result.push_back(y->back());
  return Shaped(call, result);
}

// A product and a sum for each element of a row of the first operand, for each element of the output.
FlopsFunction RowFlops(const std::string& first) {
  return [first](const OpCall& call, const Types& outputs) -> std::optional<double> {
    const auto dims = graph::DimsOf(AtenArguments(call).Type(first));
    const auto elements = CountElements(outputs[0]);
    if (!dims.has_value() || dims->empty() || !elements.has_value()) return std::nullopt;
    return 2 * *elements * static_cast<double>(std::max<int64_t>(dims->back(), 1));
  };
}

// `rank`: required rank of both operands; 0: any.
AtenSpec MatrixProduct(const std::string& type, const std::string& second, int rank) {
  AtenSpec spec = Function(type, "self, " + second, [=](const OpCall& call) -> absl::StatusOr<Types> {
    const AtenArguments a(call);
    if (rank > 0) {
      LANISTA_RETURN_IF_ERROR(ExpectRank(a.Type("self"), {rank}));
      LANISTA_RETURN_IF_ERROR(ExpectRank(a.Type(second), {rank}));
    }
    const auto x = graph::DimsOf(a.Type("self")), y = graph::DimsOf(a.Type(second));
    if (rank == 3 && x.has_value() && y.has_value() && (*x)[0] >= 0 && (*y)[0] >= 0 && (*x)[0] != (*y)[0]) {
      return CannotMultiply(a, "self", second);
    }
    return MultiplyMatrices(call, "self", second);
  });
  spec.onnx = [second](const OpCall& call, OnnxWriter& writer) -> absl::StatusOr<Names> {
    const int other = AtenArguments(call).Edge(second);
    if (other < 0) return OnnxNeeds("the second matrix");
    return writer.Node("MatMul", {writer.Input(0), writer.Input(other)});
  };
  spec.flops = RowFlops("self");
  return spec;
}

AtenSpec MatMul() {
  AtenSpec spec = MatrixProduct("matmul", "other", 0);
  spec.python = "{self} @ {other}";
  return spec;
}

// beta * self + alpha * (first @ second)
AtenSpec SumAndProduct(const std::string& type, const std::string& first, const std::string& second, int rank) {
  AtenSpec spec = Function(type, absl::StrCat("self, ", first, ", ", second, ", *, beta=1, alpha=1"),
                           [=](const OpCall& call) -> absl::StatusOr<Types> {
                             const AtenArguments a(call);
                             LANISTA_RETURN_IF_ERROR(ExpectRank(a.Type(first), {rank}));
                             LANISTA_RETURN_IF_ERROR(ExpectRank(a.Type(second), {rank}));
                             return MultiplyMatrices(call, first, second);
                           });
  spec.onnx = [=](const OpCall& call, OnnxWriter& writer) -> absl::StatusOr<Names> {
    const AtenArguments a(call);
    const auto beta = a.Number("beta"), alpha = a.Number("alpha");
    if (a.Edge(first) < 0 || a.Edge(second) < 0 || !beta.has_value() || !alpha.has_value()) {
      return OnnxNeeds("all operands");
    }
    std::string product = writer.Node("MatMul", {writer.Input(a.Edge(first)), writer.Input(a.Edge(second))})[0];
    std::string sum = writer.Input(0);
    if (alpha != 1) product = writer.Node("Mul", {product, OnnxScalar(writer, *alpha)})[0];
    if (beta != 1) sum = writer.Node("Mul", {sum, OnnxScalar(writer, *beta)})[0];
    return writer.Node("Add", {sum, product});
  };
  spec.flops = RowFlops(first);
  return spec;
}

absl::StatusOr<Types> InferLinear(const OpCall& call) {
  const AtenArguments a(call);
  auto dims = graph::DimsOf(a.Type("input"));
  const auto weight = graph::DimsOf(a.Type("weight"));
  if (!dims.has_value()) return UnknownShape(call);
  if (!weight.has_value()) return UnknownShape(call);
  const bool fits = !dims->empty() && (weight->size() == 1 || weight->size() == 2) &&
                    (weight->back() < 0 || dims->back() < 0 || weight->back() == dims->back());
  if (!fits) return CannotMultiply(a, "input", "weight");
  dims->pop_back();
  if (weight->size() == 2) dims->push_back(weight->front());
  return Shaped(call, *dims);
}

AtenSpec Linear() {
  AtenSpec spec = Function("linear", "input, weight, bias=None", InferLinear);
  spec.python_function = "F.linear";
  spec.onnx = [](const OpCall& call, OnnxWriter& writer) -> absl::StatusOr<Names> {
    const AtenArguments a(call);
    const auto weight = graph::DimsOf(a.Type("weight"));
    if (a.Edge("weight") < 0 || !weight.has_value() || weight->size() != 2) return OnnxNeeds("the weight's shape");
    const std::string columns = writer.Node("Transpose", {writer.Input(a.Edge("weight"))}, {{"perm", Dims{1, 0}}})[0];
    const Names product = writer.Node("MatMul", {writer.Input(0), columns});
    if (a.IsNone("bias")) return product;
    if (a.Edge("bias") < 0) return OnnxNeeds("the bias");
    return writer.Node("Add", {product[0], writer.Input(a.Edge("bias"))});
  };
  spec.flops = RowFlops("input");
  return spec;
}

// ---- Einstein's sums ----

// "bij,bjk->bik"; nullopt: the equation is unknown, or has an ellipsis or no output part.
std::optional<std::string> EquationOf(const AtenArguments& a) {
  const auto text = a.String("equation");
  if (!text.has_value()) return std::nullopt;
  const std::string equation = absl::StrReplaceAll(*text, {{" ", ""}});
  const bool plain = equation.find("->") != std::string::npos && equation.find('.') == std::string::npos;
  return plain ? std::make_optional(equation) : std::nullopt;
}

absl::StatusOr<Types> InferEinsum(const OpCall& call) {
  const AtenArguments a(call);
  const auto equation = EquationOf(a);
  const auto tensors = a.List("tensors");
  Types unknown = {graph::TensorType()};
  if (tensors.has_value() && !tensors->empty()) unknown[0].set_data_type((*tensors)[0].data_type());
  if (!equation.has_value() || !tensors.has_value()) return unknown;
  const std::vector<std::string> sides = absl::StrSplit(*equation, "->");
  const std::vector<std::string> terms = absl::StrSplit(sides[0], ',');
  if (sides.size() != 2 || terms.size() != tensors->size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the equation \"", *equation, "\" is not one of ", tensors->size(), " tensors"));
  }
  std::map<char, int64_t> sizes;
  for (size_t i = 0; i < terms.size(); ++i) {
    const auto dims = graph::DimsOf((*tensors)[i]);
    if (dims.has_value() && dims->size() != terms[i].size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("\"", terms[i], "\" of the equation does not fit ", graph::TypeToText((*tensors)[i])));
    }
    for (size_t d = 0; d < terms[i].size(); ++d) {
      const int64_t size = dims.has_value() ? (*dims)[d] : -1;
      const auto [entry, is_new] = sizes.emplace(terms[i][d], size);
      const auto both = is_new ? std::make_optional(Dims{size}) : Broadcast({entry->second}, {size});
      if (!both.has_value()) {
        return absl::InvalidArgumentError(absl::StrCat("'", std::string(1, terms[i][d]), "' of \"", *equation,
                                                       "\" is both ", entry->second, " and ", size));
      }
      entry->second = (*both)[0];
    }
  }
  Dims result;
  for (const char letter : sides[1]) {
    const auto found = sizes.find(letter);
    if (found == sizes.end()) {
      return absl::InvalidArgumentError(absl::StrCat("the equation \"", *equation, "\" has a result from nowhere"));
    }
    result.push_back(found->second);
  }
  return Types{graph::TensorType(unknown[0].data_type(), result)};
}

AtenSpec Einsum() {
  AtenSpec spec = Function("einsum", "equation, tensors, *, path=None", InferEinsum);
  spec.onnx = [](const OpCall& call, OnnxWriter& writer) -> absl::StatusOr<Names> {
    const AtenArguments a(call);
    const auto equation = EquationOf(a);
    if (!equation.has_value()) return absl::UnimplementedError("this equation is not written as ONNX");
    Names inputs;
    for (const int edge : a.Edges("tensors")) inputs.push_back(writer.Input(edge));
    return writer.Node("Einsum", inputs, {{"equation", *equation}});
  };
  spec.flops = [](const OpCall&, const Types&) { return std::nullopt; };
  spec.any_inputs = true;
  return spec;
}

// ---- Convolution ----

absl::StatusOr<Types> InferConv2d(const OpCall& call) {
  const AtenArguments a(call);
  auto dims = graph::DimsOf(a.Type("input"));
  const auto weight = graph::DimsOf(a.Type("weight"));
  const auto stride = a.Ints("stride", 2), padding = a.Ints("padding", 2), dilation = a.Ints("dilation", 2);
  LANISTA_RETURN_IF_ERROR(ExpectRank(a.Type("input"), {3, 4}));
  LANISTA_RETURN_IF_ERROR(ExpectRank(a.Type("weight"), {4}));
  if (!dims.has_value()) return UnknownShape(call);
  const size_t first = dims->size() - 2;
  const auto groups = a.Int("groups");
  if (weight.has_value() && groups.has_value() && (*weight)[1] >= 0 && (*dims)[first - 1] >= 0 &&
      (*weight)[1] * *groups != (*dims)[first - 1]) {
    return absl::InvalidArgumentError(
        absl::StrCat("expects ", (*weight)[1] * *groups, " input channels, gets ", graph::TypeToText(call.inputs[0])));
  }
  (*dims)[first - 1] = weight.has_value() ? (*weight)[0] : -1;
  const bool known = weight.has_value() && stride.has_value() && padding.has_value() && dilation.has_value() &&
                     stride->size() == 2 && padding->size() == 2 && dilation->size() == 2;
  for (size_t i = 0; i < 2; ++i) {
    int64_t& size = (*dims)[first + i];
    if (!known || (*weight)[2 + i] < 0 || size < 0) {
      size = -1;
      continue;
    }
    if ((*stride)[i] < 1 || (*dilation)[i] < 1) return absl::InvalidArgumentError("a stride must be at least 1");
    size = SlidingSize(size, (*weight)[2 + i], (*stride)[i], (*padding)[i], (*dilation)[i]);
    if (size < 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("a kernel of ", (*weight)[2 + i], " does not fit into ", graph::TypeToText(call.inputs[0])));
    }
  }
  return Shaped(call, *dims);
}

AtenSpec Conv2d() {
  AtenSpec spec =
      Function("conv2d", "input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1", InferConv2d);
  spec.python_function = "F.conv2d";
  spec.onnx = [](const OpCall& call, OnnxWriter& writer) -> absl::StatusOr<Names> {
    const AtenArguments a(call);
    LANISTA_RETURN_IF_ERROR(OnnxNeedsRank(call.inputs[0], 4));
    const auto stride = a.Ints("stride", 2), padding = a.Ints("padding", 2), dilation = a.Ints("dilation", 2);
    const auto weight = graph::DimsOf(a.Type("weight"));
    if (a.Edge("weight") < 0 || !stride.has_value() || !padding.has_value() || !dilation.has_value() ||
        !a.Int("groups").has_value() || !weight.has_value() || weight->size() != 4 || !AllKnown(*weight)) {
      return OnnxNeeds("the weight's shape");
    }
    Names inputs = {writer.Input(0), writer.Input(a.Edge("weight"))};
    if (!a.IsNone("bias")) inputs.push_back(a.Edge("bias") < 0 ? "" : writer.Input(a.Edge("bias")));
    Dims pads = *padding;
    pads.insert(pads.end(), padding->begin(), padding->end());
    return writer.Node("Conv", inputs,
                       {{"kernel_shape", Dims{(*weight)[2], (*weight)[3]}},
                        {"strides", *stride},
                        {"pads", pads},
                        {"dilations", *dilation},
                        {"group", *a.Int("groups")}});
  };
  spec.flops = [](const OpCall& call, const Types& outputs) -> std::optional<double> {
    const auto weight = graph::DimsOf(AtenArguments(call).Type("weight"));
    const auto elements = CountElements(outputs[0]);
    if (!weight.has_value() || !elements.has_value() || weight->empty()) return std::nullopt;
    const int64_t products = ops::Product(weight->begin() + 1, weight->end());
    return products < 0 ? std::nullopt : std::make_optional(2 * *elements * static_cast<double>(products));
  };
  return spec;
}

LANISTA_REGISTER_OP(MakeAten(MatMul()));
LANISTA_REGISTER_OP(MakeAten(MatrixProduct("mm", "mat2", 2)));
LANISTA_REGISTER_OP(MakeAten(MatrixProduct("bmm", "mat2", 3)));
LANISTA_REGISTER_OP(MakeAten(SumAndProduct("addmm", "mat1", "mat2", 2)));
LANISTA_REGISTER_OP(MakeAten(SumAndProduct("baddbmm", "batch1", "batch2", 3)));
LANISTA_REGISTER_OP(MakeAten(Linear()));
LANISTA_REGISTER_OP(MakeAten(Einsum()));
LANISTA_REGISTER_OP(MakeAten(Conv2d()));

}  // namespace
}  // namespace lanista::ops
