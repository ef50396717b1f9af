#include "src/exporters/common/data_source.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "nlohmann/json.hpp"
#include "src/base/json_line.h"
#include "src/base/source_literals.h"
#include "src/exporters/common/source_model.h"

namespace lanista::exporters {
namespace {

using Json = nlohmann::ordered_json;
using Texts = google::protobuf::RepeatedPtrField<std::string>;
using Numbers = google::protobuf::RepeatedField<double>;

// Images have channels, height and width; other samples are rows of numbers.
bool IsImage(const v1::DataSpec& data) { return data.input_shape_size() == 3; }

// "[N, 1, 28, 28], values in [0, 1]".
std::string RawSamples(const v1::DataSpec& data) {
  return absl::StrCat("[N, ", absl::StrJoin(data.input_shape(), ", "), "]", IsImage(data) ? ", values in [0, 1]" : "");
}

// The first step that is unknown here, or "".
std::string UnknownStep(const v1::DataSpec& data) {
  for (const v1::Preprocessing& step : data.preprocessing()) {
    if (step.has_custom()) return step.custom();
  }
  return "";
}

std::string NoPredict(const std::string& comment, const v1::DataSpec& data) {
  return absl::StrCat("\n", comment, " The search applied the transform ", StringLiteral(UnknownStep(data)),
                      ", which is not known here: apply it to raw samples,\n", comment, " ", RawSamples(data),
                      ", before the model gets them.\n");
}

std::string PythonStrings(const Texts& texts) {
  return absl::StrJoin(
      texts, ", ", [](std::string* out, const std::string& text) { absl::StrAppend(out, PythonStringLiteral(text)); });
}

std::string CppStrings(const Texts& texts) {
  return absl::StrJoin(texts, ", ",
                       [](std::string* out, const std::string& text) { absl::StrAppend(out, StringLiteral(text)); });
}

template <typename Repeated>
Json Array(const Repeated& values) {
  Json array = Json::array();
  for (const auto& value : values) array.push_back(value);
  return array;
}

std::string Literals(const Numbers& numbers) {
  return absl::StrJoin(numbers, ", ",
                       [](std::string* out, double number) { absl::StrAppend(out, PythonFloatLiteral(number)); });
}

}  // namespace

Json DataJson(const v1::DataSpec& data) {
  Json json;
  json["input_shape"] = Array(data.input_shape());
  json["model_input_shape"] = Array(data.model_input_shape());
  json["outputs"] = data.outputs();
  if (!data.class_names().empty()) json["class_names"] = Array(data.class_names());
  if (!data.feature_names().empty()) json["feature_names"] = Array(data.feature_names());
  if (!data.target_names().empty()) json["target_names"] = Array(data.target_names());
  json["preprocessing"] = Json::array();
  for (const v1::Preprocessing& step : data.preprocessing()) {
    Json entry;
    if (step.has_standardization()) {
      entry["standardization"]["mean"] = Array(step.standardization().mean());
      entry["standardization"]["std"] = Array(step.standardization().std());
    } else if (step.has_resizing()) {
      entry["resizing"]["height"] = step.resizing().height();
      entry["resizing"]["width"] = step.resizing().width();
    } else {
      entry["custom"] = step.custom();
    }
    json["preprocessing"].push_back(entry);
  }
  return json;
}

std::string DataJsonText(const v1::DataSpec& data) { return JsonLine(DataJson(data)); }

std::string PythonPredict(const v1::DataSpec& data) {
  std::string text;
  if (!data.class_names().empty()) {
    text = absl::StrCat("\n\n# By number.\nCLASS_NAMES = [", PythonStrings(data.class_names()), "]\n");
  }
  if (!UnknownStep(data).empty()) return absl::StrCat(text, "\n", NoPredict("#", data));
  // The search scaled tables in double precision and images in single precision.
  absl::StrAppend(&text, "\n\ndef preprocess(x):\n    \"\"\"What models got for raw samples x: ", RawSamples(data),
                  ".\"\"\"\n    x = torch.as_tensor(x, dtype=", IsImage(data) ? "torch.float32" : "torch.float64",
                  ")\n");
  for (const v1::Preprocessing& step : data.preprocessing()) {
    if (step.has_resizing()) {
      absl::StrAppend(&text, "    x = F.interpolate(x, size=(", step.resizing().height(), ", ", step.resizing().width(),
                      "), mode=\"bilinear\", align_corners=False)\n");
      continue;
    }
    const auto tensor = [&](const Numbers& numbers) {
      return absl::StrCat("torch.tensor([", Literals(numbers), "], dtype=x.dtype, device=x.device)",
                          IsImage(data) ? ".view(-1, 1, 1)" : "");
    };
    absl::StrAppend(&text, "    mean = ", tensor(step.standardization().mean()),
                    "\n    std = ", tensor(step.standardization().std()), "\n    x = (x - mean) / std\n");
  }
  absl::StrAppend(&text, "    return ", IsImage(data) ? "x" : "x.float()", R"(


def predict(model, x):
    """The model's output for raw samples, in evaluation mode."""
    training = model.training
    model.eval()
    with torch.no_grad():
        output = model(preprocess(x))
    model.train(training)
    return output
)");
  return text;
}

std::string CppPredict(const v1::DataSpec& data) {
  std::string text;
  if (!data.class_names().empty()) {
    text = absl::StrCat("\n// By number.\ninline std::vector<std::string> class_names() { return {",
                        CppStrings(data.class_names()), "}; }\n");
  }
  if (!UnknownStep(data).empty()) return absl::StrCat(text, NoPredict("//", data));
  absl::StrAppend(&text, "\n// What models got for raw samples x: ", RawSamples(data),
                  ".\ninline torch::Tensor preprocess(torch::Tensor x) {\n  x = x.to(",
                  IsImage(data) ? "torch::kFloat" : "torch::kDouble", ");\n");
  for (const v1::Preprocessing& step : data.preprocessing()) {
    if (step.has_resizing()) {
      absl::StrAppend(&text, "  x = torch::upsample_bilinear2d(x, std::vector<int64_t>{", step.resizing().height(),
                      ", ", step.resizing().width(), "}, /*align_corners=*/false);\n");
      continue;
    }
    const auto tensor = [&](const Numbers& numbers) {
      return absl::StrCat("torch::tensor({", Literals(numbers), "}, torch::kDouble).to(x.options())",
                          IsImage(data) ? ".view({-1, 1, 1})" : "");
    };
    absl::StrAppend(&text, "  x = (x - ", tensor(step.standardization().mean()), ") /\n      ",
                    tensor(step.standardization().std()), ";\n");
  }
  absl::StrAppend(&text, "  return ", IsImage(data) ? "x" : "x.to(torch::kFloat)", R"(;
}

// The model's output for raw samples, in evaluation mode.
inline auto predict(Model& model, torch::Tensor x) {
  const torch::NoGradGuard no_grad;
  const bool training = model.is_training();
  model.eval();
  auto output = model.forward(preprocess(std::move(x)));
  model.train(training);
  return output;
}
)");
  return text;
}

}  // namespace lanista::exporters
