// Upsampling by interpolation.
#include "src/ops/modules/upsample.h"

#include <cmath>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "src/base/source_literals.h"
#include "src/base/status.h"
#include "src/ops/module_schema.h"
#include "src/ops/registry.h"

namespace lanista::ops {
namespace {

using Names = std::vector<std::string>;

// One number, or a list of them.
std::vector<double> Numbers(const v1::Value& value) {
  const auto number = [](const v1::Value& one) { return one.has_i() ? static_cast<double>(one.i()) : one.f(); };
  std::vector<double> numbers;
  if (!value.has_list()) numbers.push_back(number(value));
  for (const v1::Value& one : value.list().values()) numbers.push_back(number(one));
  return numbers;
}

bool AreNumbers(const v1::Value& value, bool integers) {
  const auto fits = [integers](const v1::Value& one) { return one.has_i() || (!integers && one.has_f()); };
  if (!value.has_list()) return fits(value);
  for (const v1::Value& one : value.list().values()) {
    if (!fits(one)) return false;
  }
  return value.list().values_size() > 0;
}

// Number of spatial dimensions of a mode; 0: any of 1 to 3.
int DimsOfMode(const std::string& mode) {
  return mode == "linear" ? 1 : mode == "bilinear" || mode == "bicubic" ? 2 : mode == "trilinear" ? 3 : 0;
}

absl::Status CheckUpsample(const Attributes& a, const std::string& type) {
  if (a.Has("size") == a.Has("scale_factor")) {
    return absl::InvalidArgumentError("needs either size or scale_factor");
  }
  const bool sized = a.Has("size");
  const v1::Value& given = a.Get(sized ? "size" : "scale_factor");
  if (!AreNumbers(given, sized)) {
    return absl::InvalidArgumentError(sized ? "size must be an integer or a list of integers"
                                            : "scale_factor must be a number or a list of numbers");
  }
  for (const double number : Numbers(given)) {
    if (number <= 0) return absl::InvalidArgumentError("size and scale_factor must be above 0");
  }
  const UpsampleMode mode = ModeOf(type, a);
  const int dims = DimsOfMode(mode.name);
  if (dims == 0 && mode.name != "nearest" && mode.name != "nearest-exact") {
    return absl::InvalidArgumentError(absl::StrCat(
        "mode must be nearest, nearest-exact, linear, bilinear, bicubic or trilinear, not '", mode.name, "'"));
  }
  if (dims == 0 && a.Has("align_corners")) {
    return absl::InvalidArgumentError(absl::StrCat("align_corners has no meaning for mode ", mode.name));
  }
  const int listed = given.has_list() ? given.list().values_size() : 0;
  if (listed > 3 || (listed > 0 && dims > 0 && listed != dims)) {
    return absl::InvalidArgumentError(absl::StrCat("mode ", mode.name, " takes ", dims > 0 ? dims : 3, " dimensions",
                                                   dims > 0 ? "" : " at most", ", not ", listed));
  }
  if (a.Get("recompute_scale_factor").b()) {
    return absl::UnimplementedError("recompute_scale_factor: true: give size instead");
  }
  return absl::OkStatus();
}

absl::StatusOr<Types> InferUpsample(const OpCall& call, const std::string& type) {
  const Attributes& a = call.attributes;
  const v1::ValueType& input = call.inputs[0];
  const v1::Value& given = a.Get(a.Has("size") ? "size" : "scale_factor");
  const int wanted = given.has_list() ? given.list().values_size() : DimsOfMode(ModeOf(type, a).name);
  LANISTA_RETURN_IF_ERROR(ExpectRank(input, wanted > 0 ? std::vector<int>{wanted + 2} : std::vector<int>{3, 4, 5}));
  auto dims = graph::DimsOf(input);
  if (!dims.has_value()) return Types{graph::TensorType(input.data_type())};
  const std::vector<double> numbers = Numbers(given);
  for (size_t i = 2; i < dims->size(); ++i) {
    const double number = numbers[numbers.size() == 1 ? 0 : i - 2];
    int64_t& size = (*dims)[i];
    if (a.Has("size")) {
      size = static_cast<int64_t>(number);
    } else if (size >= 0) {
      size = static_cast<int64_t>(std::floor(static_cast<double>(size) * number));
    }
  }
  return Types{graph::TensorType(input.data_type(), *dims)};
}

// Operations: the number of neighbours from which an output element is interpolated.
std::optional<double> UpsampleFlops(const OpCall& call, const Types& outputs, const std::string& type) {
  const std::string mode = ModeOf(type, call.attributes).name;
  const int dims = DimsOfMode(mode);
  if (dims == 0) return 0;
  return FlopsAnElement(2 * std::pow(mode == "bicubic" ? 4 : 2, dims))(call, outputs);
}

// Written as a function: LibTorch's module wants one number for each dimension, and the rank is known only at run time.
absl::StatusOr<std::string> CppUpsample(const Attributes& a, const std::string& type) {
  const UpsampleMode mode = ModeOf(type, a);
  const std::vector<double> numbers = Numbers(a.Get(a.Has("size") ? "size" : "scale_factor"));
  std::vector<std::string> texts;
  for (const double number : numbers) {
    texts.push_back(a.Has("size") ? absl::StrCat(static_cast<int64_t>(number)) : CppFloatLiteral(number));
  }
  std::string values = absl::StrCat(a.Has("size") ? ".size(std::vector<int64_t>" : ".scale_factor(std::vector<double>");
  if (texts.size() == 1) {
    absl::StrAppend(&values, "(x.dim() - 2, ", texts[0], ")");
  } else {
    absl::StrAppend(&values, "{", absl::StrJoin(texts, ", "), "}");
  }
  static const auto* const names = new std::map<std::string, std::string>{
      {"nearest", "kNearest"}, {"nearest-exact", "kNearestExact"}, {"linear", "kLinear"}, {"bilinear", "kBilinear"},
      {"bicubic", "kBicubic"}, {"trilinear", "kTrilinear"}};
  std::string corners;
  if (mode.name != "nearest") corners = absl::StrCat(".align_corners(", mode.align_corners ? "true" : "false", ")");
  return absl::StrCat("torch::nn::Functional([](const torch::Tensor& x) {\n",
                      "  return torch::nn::functional::interpolate(\n",
                      "      x, torch::nn::functional::InterpolateFuncOptions()", values,
                      ").mode(torch::", names->at(mode.name), ")", corners, ".recompute_scale_factor(false));\n})");
}

absl::StatusOr<Names> UpsampleToOnnx(const OpCall& call, OnnxWriter& writer, const std::string& type) {
  const Attributes& a = call.attributes;
  const auto dims = graph::DimsOf(call.inputs[0]);
  if (!dims.has_value()) {
    return absl::FailedPreconditionError(absl::StrCat(type, " needs the input's rank for ONNX: give input_shape"));
  }
  const UpsampleMode mode = ModeOf(type, a);
  const bool nearest = mode.name == "nearest", exact = mode.name == "nearest-exact";
  std::vector<OnnxAttribute> attributes = {
      {"mode", std::string(nearest || exact         ? "nearest"
                           : mode.name == "bicubic" ? "cubic"
                                                    : "linear")},
      {"coordinate_transformation_mode", std::string(nearest              ? "asymmetric"
                                                     : mode.align_corners ? "align_corners"
                                                     : exact              ? "half_pixel"
                                                                          : "pytorch_half_pixel")}};
  if (nearest) attributes.push_back({"nearest_mode", std::string("floor")});
  if (exact) attributes.push_back({"nearest_mode", std::string("round_prefer_ceil")});
  if (mode.name == "bicubic") attributes.push_back({"cubic_coeff_a", -0.75F});
  const size_t spatial = dims->size() - 2;
  std::vector<double> numbers = Numbers(a.Get(a.Has("size") ? "size" : "scale_factor"));
  numbers.resize(spatial, numbers[0]);
  const std::string x = writer.Input(0);
  const auto axis = [&](int64_t value) { return writer.Constant(Dims{value}, {1}); };
  if (a.Has("size")) {
    // Batch and channels keep their sizes.
    const Dims sizes(numbers.begin(), numbers.end());
    const std::string kept = writer.Node("Slice", {writer.Node("Shape", {x})[0], axis(0), axis(2)})[0];
    const std::string wanted = writer.Constant(sizes, {static_cast<int64_t>(spatial)});
    const std::string shape = writer.Node("Concat", {kept, wanted}, {{"axis", int64_t{0}}})[0];
    return writer.Node("Resize", {x, "", "", shape}, attributes);
  }
  std::vector<float> scales = {1, 1};
  scales.insert(scales.end(), numbers.begin(), numbers.end());
  return writer.Node("Resize", {x, "", writer.Constant(scales, {static_cast<int64_t>(scales.size())})}, attributes);
}

// size or scale_factor for so many dimensions, or None; a single number is repeated.
std::string ScriptNumbers(const Attributes& a, const std::string& name, int dims) {
  if (!a.Has(name)) return "None";
  std::vector<double> numbers = Numbers(a.Get(name));
  numbers.resize(static_cast<size_t>(dims), numbers.back());
  const auto append = [&](std::string* out, double number) {
    out->append(name == "size" ? absl::StrCat(static_cast<int64_t>(number)) : PythonFloatLiteral(number));
  };
  return absl::StrCat("[", absl::StrJoin(numbers, ", ", append), "]");
}

// Calls the function for each rank that the mode supports.
absl::StatusOr<std::string> UpsampleToScript(const ScriptCall& call, const std::string& type) {
  const UpsampleMode mode = ModeOf(type, call.a);
  const int only = DimsOfMode(mode.name);
  const auto call_for = [&](int dims) {
    const std::string function = mode.name == "nearest-exact" ? absl::StrCat("_upsample_nearest_exact", dims, "d")
                                                              : absl::StrCat("upsample_", mode.name, dims, "d");
    return absl::StrCat("out = torch.", function, "(input, ", ScriptNumbers(call.a, "size", dims),
                        only == 0            ? ""
                        : mode.align_corners ? ", True"
                                             : ", False",
                        ", ", ScriptNumbers(call.a, "scale_factor", dims), ")\n  ");
  };
  if (only > 0) return call_for(only) + ScriptReturn("out");
  // The last rank needs no test: the operator itself refuses other ranks.
  return absl::StrCat("if input.dim() == 3:\n    ", call_for(1), "elif input.dim() == 4:\n    ", call_for(2),
                      "else:\n    ", call_for(3), ScriptReturn("out"));
}

std::unique_ptr<graph::OpSchema> MakeUpsample(const std::string& type) {
  ModuleSpec spec{type, {Optional("size", AttributeKind::kAny), Optional("scale_factor", AttributeKind::kAny)}};
  if (type == "Upsample") {
    spec.attributes.push_back(WithDefault("mode", "nearest"));
    spec.attributes.push_back(Optional("align_corners", AttributeKind::kBool));
    spec.attributes.push_back(Optional("recompute_scale_factor", AttributeKind::kBool));
  }
  spec.infer = [type](const OpCall& call) { return InferUpsample(call, type); };
  spec.flops = [type](const OpCall& call, const Types& outputs) { return UpsampleFlops(call, outputs, type); };
  spec.check = [type](const Attributes& a) { return CheckUpsample(a, type); };
  spec.cpp = [type](const Attributes& a) { return CppUpsample(a, type); };
  spec.onnx = [type](const OpCall& call, OnnxWriter& writer) { return UpsampleToOnnx(call, writer, type); };
  spec.torchscript = {"upsampling", [type](const ScriptCall& call) { return UpsampleToScript(call, type); }};
  return MakeModule(std::move(spec));
}

LANISTA_REGISTER_OP(MakeUpsample("Upsample"));
LANISTA_REGISTER_OP(MakeUpsample("UpsamplingNearest2d"));
LANISTA_REGISTER_OP(MakeUpsample("UpsamplingBilinear2d"));

}  // namespace
}  // namespace lanista::ops
