// The part of ModelReader that reads the primitives of clients/python/lanista/nn.py.
#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "src/frontends/marked_choices.h"
#include "src/frontends/model_reader.h"
#include "src/graph/graph.h"

namespace lanista::frontends {
namespace {

namespace jit = torch::jit;

// An attribute that the primitive's class always has. Throws Unsupported.
c10::IValue Attribute(const jit::Module& module, const std::string& name) {
  if (!module.hasattr(name)) throw Unsupported(absl::StrCat("has no '", name, "'"));
  return module.attr(name);
}

std::vector<AbstractValue> Elements(const AbstractValue& value) {
  if (value.kind != AbstractValue::Kind::kList) throw Unsupported("gets a list whose length is not known");
  return *value.elements;
}

v1::InputChoiceNode::Reduction ReductionOf(const std::string& name) {
  if (name == "mean") return v1::InputChoiceNode::MEAN;
  if (name == "concat") return v1::InputChoiceNode::CONCAT;
  if (name == "none") return v1::InputChoiceNode::NO_REDUCTION;
  return v1::InputChoiceNode::SUM;
}

template <typename Message>
Message ParseJson(const nlohmann::json& json, const std::string& path) {
  Message message;
  if (!google::protobuf::util::JsonStringToMessage(json.dump(), &message).ok()) {
    throw LostChoice(absl::StrCat("module '", path, "' has choices that cannot be read"));
  }
  return message;
}

// The place where the choice was made, as far as the file gives it: "net.py:12, at 'layer1'".
std::string PlaceOf(const nlohmann::json& choices, const std::string& label, const std::string& path) {
  const auto places = choices.find("places");
  const bool known = places != choices.end() && places->contains(label) && (*places)[label].is_string();
  return absl::StrCat(known ? (*places)[label].get<std::string>() + ", at '" : "'", path, "'");
}

}  // namespace

bool ModelReader::CallChoice(const Call& call, AbstractValue* result) {
  if (!IsPrimitive(call.module)) return false;
  const std::string kind = ClassName(call.module);
  v1::Node node;
  node.set_name(call.name);
  std::vector<AbstractValue> inputs = {call.arguments.at(0)};
  const auto children = [&](const std::string& list) {
    return Attribute(call.module, list).toModule().named_children();
  };
  const auto child_path = [&](const std::string& list, const std::string& child) {
    return graph::JoinPath(call.path, absl::StrCat(list, ".", child));
  };
  const auto add_candidates = [&](const c10::TypePtr& input_type, auto* candidates) {
    const std::vector<std::string> names = StringsAttribute(call.module, call.path, "lanista_names");
    for (const auto& child : children("candidates")) {
      const auto index = static_cast<size_t>(candidates->size());
      *candidates->Add() = Candidate(child.value, child_path("candidates", child.name),
                                     index < names.size() ? names[index] : child.name, input_type);
    }
  };
  if (kind == "LayerChoice") {
    v1::LayerChoiceNode* const choice = node.mutable_layer_choice();
    choice->set_label(StringAttribute(call.module, call.path, "lanista_label"));
    add_candidates(call.arguments[0].type, choice->mutable_candidates());
  } else if (kind == "Repeat") {
    v1::RepeatNode* const repeat = node.mutable_repeat();
    repeat->set_label(StringAttribute(call.module, call.path, "lanista_label"));
    for (const int64_t depth : Attribute(call.module, "lanista_depths").toIntVector()) {
      repeat->add_depths(static_cast<int>(depth));
    }
    for (const auto& child : children("blocks")) {
      *repeat->add_blocks() =
          Candidate(child.value, child_path("blocks", child.name), child.name, call.arguments[0].type);
    }
  } else if (kind == "InputChoice") {
    v1::InputChoiceNode* const choice = node.mutable_input_choice();
    choice->set_label(StringAttribute(call.module, call.path, "lanista_label"));
    choice->set_n_chosen(static_cast<int>(Attribute(call.module, "n_chosen").toInt()));
    choice->set_reduction(ReductionOf(Attribute(call.module, "reduction").toStringRef()));
    inputs = Elements(call.arguments[0]);
  } else if (kind == "Cell") {
    v1::NasCellNode* const cell = node.mutable_nas_cell();
    const auto count = [&](const std::string& name) { return static_cast<int>(Attribute(call.module, name).toInt()); };
    cell->set_label(StringAttribute(call.module, call.path, "lanista_label"));
    cell->set_num_nodes(count("num_nodes"));
    cell->set_num_ops_per_node(count("num_ops_per_node"));
    cell->set_num_predecessors(count("num_predecessors"));
    cell->set_loose_end(Attribute(call.module, "loose_end").toBool());
    add_candidates(c10::TensorType::get(), cell->mutable_op_candidates());
    inputs = Elements(call.arguments[0]);
  } else if (kind == "LinkedChoice") {
    const nlohmann::json choices = ChoicesOf(call.module, call.path);
    for (const nlohmann::json& document : choices["value_choices"]) {
      const v1::ValueChoice choice = ParseJson<v1::ValueChoice>(document, call.path);
      AddValueChoice(choice, PlaceOf(choices, choice.label(), call.path));
      node.mutable_layer_choice()->add_decided_by(choice.label());
    }
    for (const auto& child : children("candidates")) {
      *node.mutable_layer_choice()->add_candidates() =
          Candidate(child.value, child_path("candidates", child.name), child.name, call.arguments[0].type);
    }
  } else {
    return false;
  }
  for (const AbstractValue& input : inputs) *node.add_inputs() = call.writer->Read(input);
  const c10::TypePtr type = c10::TensorType::get();
  *node.add_outputs() = KindOf(type);
  *result = call.writer->Output(call.writer->AddModuleNode(std::move(node), GraphWriter::Effect::kSome), 0, type);
  return true;
}

v1::Node ModelReader::Candidate(const jit::Module& module, const std::string& path, const std::string& name,
                                const c10::TypePtr& input_type) {
  GraphWriter writer({});
  const AbstractValue input = writer.AddInput("x", input_type);
  const AbstractValue output = CallModule(AbstractValue::Module(module, path), name, "forward", {input}, &writer);
  if (writer.graph().nodes_size() != 1 || !output.is_edge()) {
    throw Unsupported(absl::StrCat("has a candidate, '", name, "', that does not take one value and return one"));
  }
  v1::Node node = writer.graph().nodes(0);
  node.set_name(name);
  node.clear_module();
  node.clear_inputs();
  return node;
}

void ModelReader::AddValueChoices(const jit::Module& module, const std::string& path, v1::Operator* op) {
  if (!module.hasattr("lanista_choices")) return;
  const nlohmann::json json = ChoicesOf(module, path);
  if (!json.contains("attributes") || !json["attributes"].is_object()) {
    throw LostChoice(absl::StrCat("module '", path, "' has choices, and does not say of what"));
  }
  for (const auto& [name, document] : json["attributes"].items()) {
    v1::Value value;
    *value.mutable_expression() = ParseJson<v1::Expression>(document, path);
    const std::string key = name;
    const auto found = std::find_if(op->mutable_attr()->begin(), op->mutable_attr()->end(),
                                    [&](const v1::Attribute& attribute) { return attribute.key() == key; });
    v1::Attribute* const attribute = found == op->mutable_attr()->end() ? op->add_attr() : &*found;
    attribute->set_key(key);
    *attribute->mutable_value() = value;
  }
  std::sort(op->mutable_attr()->begin(), op->mutable_attr()->end(),
            [](const v1::Attribute& a, const v1::Attribute& b) { return a.key() < b.key(); });
  for (const nlohmann::json& document : json["value_choices"]) {
    const auto choice = ParseJson<v1::ValueChoice>(document, path);
    AddValueChoice(choice, PlaceOf(json, choice.label(), path));
  }
}

void ModelReader::AddValueChoice(const v1::ValueChoice& choice, const std::string& place) {
  for (const v1::ValueChoice& known : model_->value_choices()) {
    if (known.label() != choice.label()) continue;
    if (known.SerializeAsString() == choice.SerializeAsString()) return;
    throw LostChoice(absl::StrCat("the label '", choice.label(), "' stands for two choices: of ",
                                  DescribeCandidates(known), " (", value_places_[choice.label()], "), and of ",
                                  DescribeCandidates(choice), " (", place, "); give one of them another label"));
  }
  value_places_[choice.label()] = place;
  *model_->add_value_choices() = choice;
}

}  // namespace lanista::frontends
