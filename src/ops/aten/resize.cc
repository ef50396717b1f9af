// Aten operators that make images larger or smaller: padding, interpolation.
#include <algorithm>
#include <cmath>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "src/base/status.h"
#include "src/ops/aten/schema.h"

namespace lanista::ops {
namespace {

// ---- Padding ----

absl::StatusOr<Types> InferPad(const OpCall& call) {
  const AtenArguments a(call);
  auto dims = graph::DimsOf(a.Type("self"));
  if (!dims.has_value()) return UnknownShape(call);
  const auto entries = a.List("pad");
  if (!entries.has_value()) return Shaped(call, Dims(dims->size(), -1));
  if (entries->size() % 2 != 0 || entries->size() / 2 > dims->size()) {
    return absl::InvalidArgumentError(
        absl::StrCat(entries->size(), " paddings do not fit ", graph::TypeToText(call.inputs[0])));
  }
  for (size_t i = 0; i < entries->size() / 2; ++i) {
    int64_t& size = (*dims)[dims->size() - 1 - i];
    const v1::ValueType &before = (*entries)[2 * i], &after = (*entries)[2 * i + 1];
    if (before.has_value() && after.has_value() && before.value() == 0 && after.value() == 0) continue;
    if (size < 0 || !before.has_value() || !after.has_value()) {
      size = -1;
      continue;
    }
    size += before.value() + after.value();
    if (size < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("a padding leaves nothing of ", graph::TypeToText(call.inputs[0])));
    }
  }
  return Shaped(call, *dims);
}

absl::StatusOr<Names> PadToOnnx(const OpCall& call, OnnxWriter& writer) {
  const AtenArguments a(call);
  const auto dims = graph::DimsOf(call.inputs[0]);
  const auto entries = a.List("pad");
  if (!dims.has_value() || !entries.has_value()) return OnnxNeeds("the rank");
  const std::vector<int> edges = a.Edges("pad");
  const size_t rank = dims->size(), given = entries->size() / 2;
  const std::string mode = call.attributes.Get("mode").has_s() ? *a.String("mode") : "constant";
  if (mode != "constant" && mode != "reflect" && mode != "replicate") {
    return absl::UnimplementedError(absl::StrCat("padding of mode ", mode, " is not written as ONNX"));
  }
  const auto pad = [&](size_t entry) -> std::string {
    const v1::ValueType& type = (*entries)[entry];
    if (type.has_value()) return OnnxInts(writer, {type.value()});
    return edges.size() == entries->size() ? OnnxUnsqueeze(writer, writer.Input(edges[entry]), {0}) : "";
  };
  Names parts;
  for (const size_t side : {0, 1}) {
    for (size_t i = 0; i < rank; ++i) {
      const size_t last = rank - 1 - i;
      parts.push_back(last < given ? pad(2 * last + side) : OnnxInts(writer, {0}));
      if (parts.back().empty()) return OnnxNeeds("the paddings");
    }
  }
  Names inputs = {writer.Input(0), writer.Node("Concat", parts, {{"axis", int64_t{0}}})[0]};
  if (mode == "constant") {
    const auto value = a.IsNone("value") ? std::make_optional(0.0) : a.Number("value");
    if (!value.has_value() || call.inputs[0].data_type() != v1::Tensor::FLOAT32) {
      return absl::UnimplementedError("this padding is not written as ONNX");
    }
    inputs.push_back(OnnxScalar(writer, *value));
  }
  return writer.Node("Pad", inputs, {{"mode", mode == "replicate" ? std::string("edge") : mode}});
}

AtenSpec Pad(const std::string& type, const std::string& arguments) {
  AtenSpec spec = Move(Function(type, arguments, InferPad, PadToOnnx));
  if (type == "pad") {
    spec.python_function = "F.pad";
    // The C++ function of this name is a different one.
    spec.function.clear();
  }
  return spec;
}

// ---- Resizing ----

// The numbers of a list argument, or one number repeated; nullopt: unknown or none.
std::optional<std::vector<double>> ScalesOf(const OpCall& call, const std::string& name, size_t count) {
  const AtenArguments a(call);
  if (a.Edge(name) >= 0) return std::nullopt;
  const v1::Value& value = call.attributes.Get(name);
  std::vector<double> scales;
  const auto add = [&](const v1::Value& one) {
    if (one.has_i() || one.has_f()) scales.push_back(one.has_i() ? static_cast<double>(one.i()) : one.f());
  };
  for (const v1::Value& one : value.list().values()) add(one);
  add(value);
  if (scales.size() == 1) scales.resize(count, scales[0]);
  return scales.size() == count ? std::make_optional(scales) : std::nullopt;
}

InferFunction InferResize(const std::string& sizes, const std::string& scales) {
  return [=](const OpCall& call) -> absl::StatusOr<Types> {
    const AtenArguments a(call);
    LANISTA_RETURN_IF_ERROR(ExpectRank(a.Type("input"), {3, 4, 5}));
    auto dims = graph::DimsOf(a.Type("input"));
    if (!dims.has_value()) return UnknownShape(call);
    const size_t count = dims->size() - 2;
    auto wanted = a.IsNone(sizes) ? std::nullopt : a.List(sizes);
    if (wanted.has_value() && wanted->size() == 1) wanted->resize(count, wanted->front());
    if (wanted.has_value() && wanted->size() != count) {
      return absl::InvalidArgumentError(
          absl::StrCat(wanted->size(), " sizes do not fit ", graph::TypeToText(call.inputs[0])));
    }
    const auto factors = a.IsNone(sizes) ? ScalesOf(call, scales, count) : std::nullopt;
    for (size_t i = 0; i < count; ++i) {
      int64_t& size = (*dims)[i + 2];
      if (wanted.has_value() && (*wanted)[i].has_value()) {
        size = (*wanted)[i].value();
      } else if (factors.has_value() && size >= 0) {
        size = static_cast<int64_t>(std::floor(static_cast<double>(size) * (*factors)[i]));
      } else {
        size = -1;
        continue;
      }
      if (size < 1) return absl::InvalidArgumentError("a size must be above 0");
    }
    return Shaped(call, *dims);
  };
}

// `mode`: the interpolation; nullopt: an argument gives it.
OnnxFunction ResizeToOnnx(const std::string& sizes, const std::string& scales, std::optional<std::string> mode) {
  return [=](const OpCall& call, OnnxWriter& writer) -> absl::StatusOr<Names> {
    const AtenArguments a(call);
    const auto dims = graph::DimsOf(call.inputs[0]);
    const auto name = mode.has_value() ? mode : a.String("mode");
    if (!dims.has_value() || !name.has_value()) return OnnxNeeds("the rank");
    const bool nearest = *name == "nearest", cubic = *name == "bicubic";
    if ((!nearest && !cubic && !absl::EndsWith(*name, "linear")) || a.Bool("antialias") == true) {
      return absl::UnimplementedError(absl::StrCat("resizing of mode ", *name, " is not written as ONNX"));
    }
    const bool corners = a.Bool("align_corners").value_or(false);
    std::vector<OnnxAttribute> attributes = {
        {"mode", std::string(nearest ? "nearest"
                             : cubic ? "cubic"
                                     : "linear")},
        {"coordinate_transformation_mode", std::string(nearest   ? "asymmetric"
                                                       : corners ? "align_corners"
                                                                 : "pytorch_half_pixel")}};
    if (nearest) attributes.push_back({"nearest_mode", std::string("floor")});
    if (cubic) attributes.push_back({"cubic_coeff_a", -0.75F});
    const std::string x = writer.Input(0);
    const size_t count = dims->size() - 2;
    // Here the operator treats none as true, unlike F.interpolate; upsample_* have no such argument.
    const bool recompute = !mode.has_value() && a.Bool("recompute_scale_factor") != false;
    if (!a.IsNone(sizes) || recompute) {
      const auto to = call.outputs.empty() ? std::nullopt : graph::DimsOf(call.outputs[0]);
      if (!to.has_value() || !AllKnown(Dims(to->begin() + 2, to->end()))) return OnnxNeeds("the size");
      const std::string kept =
          writer.Node("Slice", {writer.Node("Shape", {x})[0], OnnxInts(writer, {0}), OnnxInts(writer, {2})})[0];
      const std::string wanted = OnnxInts(writer, Dims(to->begin() + 2, to->end()));
      const std::string shape = writer.Node("Concat", {kept, wanted}, {{"axis", int64_t{0}}})[0];
      return writer.Node("Resize", {x, "", "", shape}, attributes);
    }
    const auto factors = ScalesOf(call, scales, count);
    if (!factors.has_value()) return OnnxNeeds("the factor");
    std::vector<float> all = {1, 1};
    all.insert(all.end(), factors->begin(), factors->end());
    return writer.Node("Resize", {x, "", writer.Constant(all, {static_cast<int64_t>(all.size())})}, attributes);
  };
}

// Passes recompute_scale_factor (whether the factor is computed again from the rounded size) explicitly: none means
// true for the operator, but false for F.interpolate.
std::optional<std::string> PythonInterpolate(const Sources& arguments) {
  const auto get = [&](const char* name) {
    const auto found = arguments.find(name);
    return found == arguments.end() ? std::string("None") : found->second;
  };
  const std::string recompute = get("recompute_scale_factor");
  if (get("size") != "None" || get("scale_factor") == "None") return std::nullopt;
  std::string call = absl::StrCat("F.interpolate(", get("input"));
  for (const char* const name : {"scale_factor", "mode", "align_corners", "antialias"}) {
    if (arguments.count(name) > 0) absl::StrAppend(&call, ", ", name, "=", get(name));
  }
  if (recompute == "False") return call + ")";
  return absl::StrCat(call, ", recompute_scale_factor=", recompute == "None" ? "True" : recompute, ")");
}

AtenSpec Interpolate(const std::string& overload) {
  AtenSpec spec = Function("__interpolate" + overload,
                           "input, size=None, scale_factor=None, mode=\"nearest\", align_corners=None, "
                           "recompute_scale_factor=None, antialias=False",
                           InferResize("size", "scale_factor"), ResizeToOnnx("size", "scale_factor", std::nullopt));
  spec.python_function = "F.interpolate";
  spec.write_python = PythonInterpolate;
  spec.function.clear();
  spec.flops = FlopsAnElement(8);
  return spec;
}

AtenSpec Upsample(const std::string& mode, bool corners) {
  AtenSpec spec =
      Function(absl::StrCat("upsample_", mode, "2d.vec"),
               absl::StrCat("input, output_size, ", corners ? "align_corners, " : "", "scale_factors"),
               InferResize("output_size", "scale_factors"), ResizeToOnnx("output_size", "scale_factors", mode));
  // Called by the operator's name.
  spec.function.clear();
  spec.flops = FlopsAnElement(8);
  return spec;
}

LANISTA_REGISTER_OP(MakeAten(Pad("constant_pad_nd", "self, pad, value=0")));
LANISTA_REGISTER_OP(MakeAten(Pad("pad", "self, pad, mode=\"constant\", value=None")));
LANISTA_REGISTER_OP(MakeAten(Interpolate("")));
LANISTA_REGISTER_OP(MakeAten(Interpolate(".size_list")));
LANISTA_REGISTER_OP(MakeAten(Interpolate(".scale_list")));
LANISTA_REGISTER_OP(MakeAten(Interpolate(".size_list_scale_list")));
LANISTA_REGISTER_OP(MakeAten(Upsample("nearest", false)));
LANISTA_REGISTER_OP(MakeAten(Upsample("bilinear", true)));
LANISTA_REGISTER_OP(MakeAten(Upsample("bicubic", true)));

}  // namespace
}  // namespace lanista::ops
