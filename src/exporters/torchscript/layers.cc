#include "src/exporters/torchscript/layers.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/substitute.h"
#include "src/exporters/common/source_model.h"

namespace lanista::exporters {
namespace {

std::string Return(const std::string& expression) { return absl::StrCat("return ", expression); }

// A size of "none" is the size of the input.
std::string OutputSize(const ScriptContext& c) {
  const v1::Value& value = c.a.Get("output_size");
  std::vector<std::string> sizes;
  const int dims = c.Dims();
  for (int i = 0; i < dims; ++i) {
    const v1::Value& size = value.kind_case() == v1::Value::kList ? value.list().values(i) : value;
    sizes.push_back(size.kind_case() == v1::Value::kI ? absl::StrCat(size.i())
                                                      : absl::StrCat("input.size(", i - dims, ")"));
  }
  return absl::StrCat("[", absl::StrJoin(sizes, ", "), "]");
}

}  // namespace

int ScriptContext::Dims() const {
  for (const int dims : {1, 2, 3}) {
    if (absl::StrContains(type(), absl::StrCat(dims, "d"))) return dims;
  }
  return 0;
}

bool ScriptContext::HasParameter(absl::string_view name) const {
  for (const graph::ParameterSpec& parameter : schema.Parameters(a)) {
    if (parameter.name == name) return true;
  }
  return false;
}

std::string ScriptContext::Parameter(const std::string& name) const {
  return HasParameter(name) ? absl::StrCat("self.", name) : std::string("None");
}

std::string ScriptContext::Int(const std::string& name) const { return absl::StrCat(a.Int(name)); }

std::string ScriptContext::Bool(const std::string& name) const { return a.Bool(name) ? "True" : "False"; }

std::string ScriptContext::Float(const std::string& name) const {
  const double value = a.Float(name);
  return std::isfinite(value) ? absl::StrCat("(", FloatLiteral(value), ")") : absl::StrCat("float('", value, "')");
}

std::string ScriptContext::Ints(const std::string& name) const {
  return absl::StrCat("[", absl::StrJoin(a.Ints(name), ", "), "]");
}

absl::StatusOr<std::string> ConvolutionBody(const ScriptContext& c) {
  const int dims = c.Dims();
  const std::string mode = c.Knows("padding_mode") ? c.a.String("padding_mode") : "zeros";
  if (absl::StartsWith(c.type(), "ConvTranspose")) {
    return Return(absl::Substitute("torch.conv_transpose$0d(input, self.weight, $1, $2, $3, $4, $5, $6)", dims,
                                   c.Parameter("bias"), c.Ints("stride"), c.Ints("padding"), c.Ints("output_padding"),
                                   c.Int("groups"), c.Ints("dilation")));
  }
  const v1::Value& given = c.a.Get("padding");
  const bool named = given.kind_case() == v1::Value::kS;
  std::string input = "input";
  std::vector<int64_t> sizes;
  if (!named) sizes = c.a.Ints("padding");
  if (sizes.size() == 1) sizes.resize(static_cast<size_t>(dims), sizes[0]);
  std::string padding = named ? StringLiteral(given.s()) : absl::StrCat("[", absl::StrJoin(sizes, ", "), "]");
  if (mode != "zeros") {
    // Like torch.nn: pads first; the list starts with the last dimension.
    std::vector<int64_t> pads;
    for (int i = dims - 1; i >= 0; --i) {
      int64_t before = 0;
      int64_t after = 0;
      if (!named) {
        before = after = sizes.at(static_cast<size_t>(i));
      } else if (given.s() == "same") {
        const int64_t total =
            c.a.Ints("dilation")[static_cast<size_t>(i)] * (c.a.Ints("kernel_size")[static_cast<size_t>(i)] - 1);
        before = total / 2;
        after = total - before;
      }
      pads.push_back(before);
      pads.push_back(after);
    }
    input = absl::StrCat("torch.pad(input, [", absl::StrJoin(pads, ", "), "], '", mode, "', None)");
    std::vector<int64_t> zeros(static_cast<size_t>(dims), 0);
    padding = absl::StrCat("[", absl::StrJoin(zeros, ", "), "]");
  }
  return Return(absl::Substitute("torch.conv$0d($1, self.weight, $2, $3, $4, $5, $6)", dims, input, c.Parameter("bias"),
                                 c.Ints("stride"), padding, c.Ints("dilation"), c.Int("groups")));
}

absl::StatusOr<std::string> BatchNormBody(const ScriptContext& c) {
  const bool tracks = c.HasParameter("running_mean");
  std::string body;
  std::string momentum = c.a.Has("momentum") ? c.Float("momentum") : "0.";
  if (tracks && c.training != "False") {
    absl::StrAppend(&body, "if self.training:\n    self.num_batches_tracked.add_(1)\n  ");
    if (!c.a.Has("momentum")) momentum = "1. / float(self.num_batches_tracked)";
  }
  return body +
         Return(absl::Substitute("torch.batch_norm(input, $0, $1, $2, $3, $4, $5, $6, True)", c.Parameter("weight"),
                                 c.Parameter("bias"), c.Parameter("running_mean"), c.Parameter("running_var"),
                                 tracks ? c.training : "True", momentum, c.Float("eps")));
}

absl::StatusOr<std::string> InstanceNormBody(const ScriptContext& c) {
  const bool tracks = c.HasParameter("running_mean");
  return Return(absl::Substitute("torch.instance_norm(input, $0, $1, $2, $3, $4, $5, $6, True)", c.Parameter("weight"),
                                 c.Parameter("bias"), c.Parameter("running_mean"), c.Parameter("running_var"),
                                 tracks ? c.training : "True", c.a.Has("momentum") ? c.Float("momentum") : "0.",
                                 c.Float("eps")));
}

absl::StatusOr<std::string> LocalResponseNormBody(const ScriptContext& c) {
  const int64_t size = c.a.Int("size");
  return absl::Substitute(
      "sizes = input.size()\n"
      "  div = torch.mul(input, input)\n"
      "  div = torch.reshape(div, [sizes[0], 1, sizes[1], -1])\n"
      "  div = torch.constant_pad_nd(div, [0, 0, $0, $1], 0)\n"
      "  div = torch.avg_pool2d(div, [$2, 1], [1, 1])\n"
      "  div = torch.reshape(div, sizes)\n"
      "  return torch.div(input, torch.pow(torch.add(torch.mul(div, $3), $4), $5))",
      size / 2, (size - 1) / 2, size, c.Float("alpha"), c.Float("k"), c.Float("beta"));
}

absl::StatusOr<std::string> MaxPoolBody(const ScriptContext& c) {
  const bool indices = c.Knows("return_indices") && c.a.Bool("return_indices");
  return Return(absl::Substitute("torch.max_pool$0d$1(input, $2, $3, $4, $5, $6)", c.Dims(),
                                 indices ? "_with_indices" : "", c.Ints("kernel_size"),
                                 c.a.Has("stride") ? c.Ints("stride") : c.Ints("kernel_size"), c.Ints("padding"),
                                 c.Ints("dilation"), c.Bool("ceil_mode")));
}

absl::StatusOr<std::string> AvgPoolBody(const ScriptContext& c) {
  std::string divisor;
  if (c.Dims() > 1) {
    divisor = c.Knows("divisor_override") && c.a.Has("divisor_override") ? absl::StrCat(", ", c.Int("divisor_override"))
                                                                         : ", None";
  }
  return Return(absl::Substitute("torch.avg_pool$0d(input, $1, $2, $3, $4, $5$6)", c.Dims(), c.Ints("kernel_size"),
                                 c.a.Has("stride") ? c.Ints("stride") : c.Ints("kernel_size"), c.Ints("padding"),
                                 c.Bool("ceil_mode"), c.Bool("count_include_pad"), divisor));
}

absl::StatusOr<std::string> LpPoolBody(const ScriptContext& c) {
  int64_t elements = 1;
  for (const int64_t size : c.a.Ints("kernel_size")) elements *= size;
  return absl::Substitute(
      "out = torch.avg_pool$0d(torch.pow(input, $1), $2, $3, $4, $5)\n"
      "  return torch.pow(torch.mul(torch.mul(torch.sign(out), torch.relu(torch.abs(out))), $6), $7)",
      c.Dims(), c.Float("norm_type"), c.Ints("kernel_size"),
      c.a.Has("stride") ? c.Ints("stride") : c.Ints("kernel_size"), c.Dims() == 1 ? "[0]" : "[0, 0]",
      c.Bool("ceil_mode"), elements, FloatLiteral(1.0 / c.a.Float("norm_type")));
}

absl::StatusOr<std::string> AdaptivePoolBody(const ScriptContext& c) {
  const bool max = absl::StrContains(c.type(), "Max");
  const bool indices = c.Knows("return_indices") && c.a.Bool("return_indices");
  return Return(absl::StrCat("torch.adaptive_", max ? "max" : "avg", "_pool", c.Dims(), "d(input, ", OutputSize(c), ")",
                             max && !indices ? "[0]" : ""));
}

absl::StatusOr<std::string> GroupNormBody(const ScriptContext& c) {
  return Return(absl::Substitute("torch.group_norm(input, $0, $1, $2, $3)", c.Int("num_groups"), c.Parameter("weight"),
                                 c.Parameter("bias"), c.Float("eps")));
}

absl::StatusOr<std::string> LayerNormBody(const ScriptContext& c) {
  return Return(absl::Substitute("torch.layer_norm(input, $0, $1, $2, $3)", c.Ints("normalized_shape"),
                                 c.Parameter("weight"), c.Parameter("bias"), c.Float("eps")));
}

// Calls interpolate() for each rank that the mode supports.
absl::StatusOr<std::string> UpsampleBody(const ScriptContext& c) {
  std::string mode = c.Knows("mode") ? c.a.String("mode") : "nearest";
  if (c.type() == "UpsamplingBilinear2d") mode = "bilinear";
  bool align = c.type() == "UpsamplingBilinear2d";
  if (c.Knows("align_corners") && c.a.Has("align_corners")) align = c.a.Bool("align_corners");
  static const auto* const ranks = new std::map<std::string, std::vector<int>>{
      {"nearest", {1, 2, 3}}, {"nearest-exact", {1, 2, 3}}, {"linear", {1}}, {"bilinear", {2}}, {"bicubic", {2}},
      {"trilinear", {3}}};
  const auto found = ranks->find(mode);
  if (found == ranks->end()) return absl::UnimplementedError(absl::StrCat("mode '", mode, "'"));
  // One size or factor per dimension; a single number is repeated.
  const auto repeated = [&](const std::string& name, int dims, bool is_float) {
    if (!c.Knows(name) || !c.a.Has(name)) return std::string("None");
    const v1::Value& value = c.a.Get(name);
    std::vector<std::string> elements;
    for (int i = 0; i < dims; ++i) {
      const v1::Value& element = value.kind_case() == v1::Value::kList
                                     ? value.list().values(std::min(i, value.list().values_size() - 1))
                                     : value;
      const bool is_int = element.kind_case() == v1::Value::kI;
      elements.push_back(is_float ? FloatLiteral(is_int ? static_cast<double>(element.i()) : element.f())
                                  : absl::StrCat(is_int ? element.i() : static_cast<int64_t>(element.f())));
    }
    return absl::StrCat("[", absl::StrJoin(elements, ", "), "]");
  };
  std::string body;
  for (size_t i = 0; i < found->second.size(); ++i) {
    const int dims = found->second[i];
    std::string function = mode == "nearest-exact" ? absl::StrCat("_upsample_nearest_exact", dims, "d")
                                                   : absl::StrCat("upsample_", mode, dims, "d");
    const bool aligns = !absl::StartsWith(mode, "nearest");
    // The last rank needs no test: the operator itself refuses other ranks.
    if (found->second.size() == 1) {
      body += "out = torch.";
    } else if (i + 1 == found->second.size()) {
      body += "else:\n    out = torch.";
    } else {
      absl::StrAppend(&body, i == 0 ? "if" : "elif", " input.dim() == ", dims + 2, ":\n    out = torch.");
    }
    absl::StrAppend(&body, function, "(input, ", repeated("size", dims, false),
                    aligns ? (align ? ", True" : ", False") : "", ", ",
                    c.Knows("size") && c.a.Has("size") ? "None" : repeated("scale_factor", dims, true), ")\n  ");
  }
  return body + Return("out");
}

}  // namespace lanista::exporters
