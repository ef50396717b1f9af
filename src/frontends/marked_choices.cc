#include "src/frontends/marked_choices.h"

#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "src/base/json_line.h"
#include "src/frontends/module_reader.h"
#include "src/graph/graph.h"

namespace lanista::frontends {
namespace {

namespace jit = torch::jit;

constexpr char kAutomatic[] = "auto:";

std::string Place(const jit::Module& module, const std::string& path) {
  return path.empty() ? absl::StrCat("the model (", ClassName(module), ")")
                      : absl::StrCat("module '", path, "' (", ClassName(module), ")");
}

LostChoice Unreadable(const jit::Module& module, const std::string& path, const std::string& what) {
  return LostChoice(absl::StrCat(Place(module, path), ": its choice cannot be read: ", what,
                                 "; write the file with this version's lanista.nn"));
}

c10::IValue Attribute(const jit::Module& module, const std::string& path, const std::string& name) {
  if (!module.hasattr(name)) throw Unreadable(module, path, absl::StrCat("there is no '", name, "'"));
  return module.attr(name);
}

// The choices that this module itself carries.
std::vector<MarkedChoice> OwnChoices(const jit::Module& module, const std::string& path) {
  std::vector<MarkedChoice> found;
  if (module.hasattr("lanista_choices")) {
    const nlohmann::json choices = ChoicesOf(module, path);
    for (const nlohmann::json& choice : choices["value_choices"]) {
      if (!choice.is_object() || !choice.contains("label") || !choice["label"].is_string()) {
        throw Unreadable(module, path, "a label is no string");
      }
      if (choice.contains("candidates") && choice["candidates"].size() < 2) continue;
      found.push_back({choice["label"].get<std::string>(), path});
    }
  }
  const std::string kind = ClassName(module);
  if (!IsPrimitive(module) || kind == "LinkedChoice") return found;
  const std::string label = StringAttribute(module, path, "lanista_label");
  if (kind == "LayerChoice" && StringsAttribute(module, path, "lanista_names").size() < 2) return found;
  if (kind == "Repeat" && Attribute(module, path, "lanista_depths").toListRef().size() < 2) return found;
  found.push_back({label, path});
  return found;
}

// Called with each label in the node, which it may change.
using LabelVisitor = std::function<void(std::string* label)>;

void VisitLabels(v1::Expression* expression, const LabelVisitor& visit) {
  if (expression->has_choice()) visit(expression->mutable_choice());
  if (!expression->has_operation()) return;
  for (v1::Expression& operand : *expression->mutable_operation()->mutable_operands()) VisitLabels(&operand, visit);
}

void VisitLabels(v1::Value* value, const LabelVisitor& visit) {
  if (value->has_expression()) VisitLabels(value->mutable_expression(), visit);
  if (!value->has_list()) return;
  for (v1::Value& element : *value->mutable_list()->mutable_values()) VisitLabels(&element, visit);
}

void VisitLabels(v1::Node* node, const LabelVisitor& visit) {
  if (node->has_op()) {
    for (v1::Attribute& attribute : *node->mutable_op()->mutable_attr()) VisitLabels(attribute.mutable_value(), visit);
  }
  google::protobuf::RepeatedPtrField<v1::Node>* inner = nullptr;
  if (node->has_layer_choice()) {
    v1::LayerChoiceNode* const choice = node->mutable_layer_choice();
    if (!choice->label().empty()) visit(choice->mutable_label());
    for (std::string& label : *choice->mutable_decided_by()) visit(&label);
    inner = choice->mutable_candidates();
  } else if (node->has_repeat()) {
    visit(node->mutable_repeat()->mutable_label());
    inner = node->mutable_repeat()->mutable_blocks();
  } else if (node->has_nas_cell()) {
    visit(node->mutable_nas_cell()->mutable_label());
    inner = node->mutable_nas_cell()->mutable_op_candidates();
  } else if (node->has_input_choice()) {
    visit(node->mutable_input_choice()->mutable_label());
  }
  if (inner == nullptr) return;
  for (v1::Node& one : *inner) VisitLabels(&one, visit);
}

void VisitLabels(v1::ModelGraph* model, const LabelVisitor& visit) {
  for (v1::ValueChoice& choice : *model->mutable_value_choices()) visit(choice.mutable_label());
  for (v1::Graph& graph : *model->mutable_graphs()) {
    for (v1::Node& node : *graph.mutable_nodes()) VisitLabels(&node, visit);
  }
}

std::set<std::string> LabelsOf(v1::ModelGraph model) {
  std::set<std::string> labels;
  VisitLabels(&model, [&](const std::string* label) { labels.insert(*label); });
  return labels;
}

nlohmann::json ToJson(const v1::Value& value) {
  switch (value.kind_case()) {
    case v1::Value::kI:
      return value.i();
    case v1::Value::kF:
      return value.f();
    case v1::Value::kB:
      return value.b();
    case v1::Value::kS:
      return value.s();
    case v1::Value::kList: {
      nlohmann::json list = nlohmann::json::array();
      for (const v1::Value& element : value.list().values()) list.push_back(ToJson(element));
      return list;
    }
    default:
      return nullptr;
  }
}

// "auto:value_17" -> ("value", 17).
std::optional<std::pair<std::string, int64_t>> ParseAutomatic(absl::string_view label) {
  if (!absl::ConsumePrefix(&label, kAutomatic)) return std::nullopt;
  const size_t line = label.rfind('_');
  int64_t number = 0;
  if (line == absl::string_view::npos || !absl::SimpleAtoi(label.substr(line + 1), &number)) return std::nullopt;
  return std::make_pair(std::string(label.substr(0, line)), number);
}

}  // namespace

bool IsPrimitive(const jit::Module& module) {
  return absl::StrContains(absl::StrCat(".", ClassPath(module)), ".lanista.nn.");
}

std::string StringAttribute(const jit::Module& module, const std::string& path, const std::string& name) {
  const c10::IValue value = Attribute(module, path, name);
  if (!value.isString()) throw Unreadable(module, path, absl::StrCat("'", name, "' is no string"));
  return value.toStringRef();
}

std::vector<std::string> StringsAttribute(const jit::Module& module, const std::string& path, const std::string& name) {
  const c10::IValue value = Attribute(module, path, name);
  std::vector<std::string> strings;
  if (!value.isList()) throw Unreadable(module, path, absl::StrCat("'", name, "' is no list"));
  for (const c10::IValue& element : value.toListRef()) {
    if (!element.isString()) throw Unreadable(module, path, absl::StrCat("'", name, "' holds what is no string"));
    strings.push_back(element.toStringRef());
  }
  return strings;
}

nlohmann::json ChoicesOf(const jit::Module& module, const std::string& path) {
  nlohmann::json json = nlohmann::json::parse(StringAttribute(module, path, "lanista_choices"), nullptr, false);
  if (!json.is_object() || !json.contains("value_choices") || !json["value_choices"].is_array()) {
    throw Unreadable(module, path, "'lanista_choices' is not what lanista.nn writes");
  }
  return json;
}

std::vector<MarkedChoice> FindMarkedChoices(const jit::Module& module, const std::string& path) {
  std::vector<MarkedChoice> found;
  for (const auto& one : module.named_modules()) {
    for (MarkedChoice& choice : OwnChoices(one.value, graph::JoinPath(path, one.name))) {
      found.push_back(std::move(choice));
    }
  }
  return found;
}

void RequireNoChoices(const jit::Module& module, const std::string& path, const std::string& reason) {
  const std::vector<MarkedChoice> choices = FindMarkedChoices(module, path);
  if (choices.empty()) return;
  throw LostChoice(absl::StrCat(Place(module, path), " ", reason, ": it can only be kept whole, and choice '",
                                choices[0].label, "' at '", choices[0].path,
                                "' would be lost; move what cannot be followed into a module without choices"));
}

void RequireAllChoices(const jit::Module& module, const v1::ModelGraph& model) {
  const std::set<std::string> labels = LabelsOf(model);
  for (const MarkedChoice& choice : FindMarkedChoices(module, "")) {
    if (labels.count(choice.label) > 0) continue;
    throw LostChoice(
        absl::StrCat("choice '", choice.label, "' at '", choice.path,
                     "' would be lost: forward never calls that module as a layer; call it, or take it out"));
  }
}

void NumberAutomaticLabels(v1::ModelGraph* model) {
  const std::set<std::string> labels = LabelsOf(*model);
  std::set<std::pair<std::string, int64_t>> automatic;
  for (const std::string& label : labels) {
    if (const auto parsed = ParseAutomatic(label)) automatic.insert(*parsed);
  }
  std::map<std::string, std::string> renamed;
  std::map<std::string, int> last;
  for (const auto& [kind, number] : automatic) {
    std::string label;
    do {
      label = absl::StrCat(kind, "_", ++last[kind]);
    } while (labels.count(label) > 0);
    renamed[absl::StrCat(kAutomatic, kind, "_", number)] = label;
  }
  VisitLabels(model, [&](std::string* label) {
    if (const auto found = renamed.find(*label); found != renamed.end()) *label = found->second;
  });
}

std::string DescribeCandidates(const v1::ValueChoice& choice) {
  return absl::StrCat(
      "[",
      absl::StrJoin(choice.candidates(), ", ",
                    [](std::string* out, const v1::Value& value) { out->append(JsonLine(ToJson(value))); }),
      "]");
}

}  // namespace lanista::frontends
