#include "src/nn/fixed.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "google/protobuf/util/json_util.h"
#include "nlohmann/json.hpp"
#include "protos/experiment.pb.h"
#include "src/nn/decide.h"

namespace lanista::nn {
namespace {

// The constructor's parameters in the experiment from which `json` was exported; empty if it was not exported.
Params ExportedParams(const std::string& name, const std::string& json) {
  const auto object = nlohmann::json::parse(json, /*cb=*/nullptr, /*allow_exceptions=*/false);
  if (!object.is_object() || !object.contains("sample") || !object.contains("space")) return Params();
  v1::SpaceConfig space;
  if (!google::protobuf::util::JsonStringToMessage(object["space"].dump(), &space).ok()) {
    throw SpaceError("the exported JSON is damaged: its \"space\" is none");
  }
  if (space.registered() != name) {
    throw SpaceError(absl::StrCat("the exported JSON is of the space '", space.registered(), "', not '", name, "'"));
  }
  Params params(space.params(), "the space");
  const auto data = object.find("data");
  if (data == object.end() || !data->is_object()) return params;
  v1::DataSpec spec;
  if (!google::protobuf::util::JsonStringToMessage(data->dump(), &spec).ok()) {
    throw SpaceError("the exported JSON is damaged: its \"data\" is none");
  }
  return params.SetData(std::move(spec));
}

}  // namespace

FixedArchitecture::FixedArchitecture(const std::string& json) {
  nlohmann::json object = nlohmann::json::parse(json, /*cb=*/nullptr, /*allow_exceptions=*/false);
  if (!object.is_object()) {
    throw SpaceError(
        "a fixed architecture is a JSON object from labels to candidates, {\"label\": candidate, ...}, or what "
        "`export` "
        "writes, with such an object as its \"sample\"");
  }
  // A candidate is never an object, so this is not the value of a choice with the label "sample".
  if (const auto sample = object.find("sample"); sample != object.end() && sample->is_object()) {
    const nlohmann::json inner = *sample;
    object = inner;
  }
  for (const auto& [label, value] : object.items()) values_[label] = value.dump();
}

v1::Decision FixedArchitecture::operator()(const v1::Choice& choice) const {
  nlohmann::json object = nlohmann::json::object();
  if (const auto found = values_.find(choice.label()); found != values_.end()) {
    object[choice.label()] = nlohmann::json::parse(found->second);
  }
  return DecisionFromJson(choice, object.dump());
}

void FixedArchitecture::CheckAllAsked(const Construction& construction) const {
  std::map<std::string, std::string> unused = values_;
  for (const auto& asked : construction.asked()) unused.erase(asked.choice.label());
  if (!unused.empty()) {
    throw SpaceError(absl::StrCat("the space did not ask for '", unused.begin()->first,
                                  "': the fixed architecture is another space's, or that choice is not active in it"));
  }
}

std::shared_ptr<ModelSpace> BuildFixed(const std::string& name, const std::string& json, const Params& params) {
  const auto* const factory = ModelSpaceRegistry::Get().Find(name);
  if (factory == nullptr) throw SpaceError(ModelSpaceRegistry::Get().UnknownName(name));
  const FixedArchitecture architecture(json);
  Construction construction(architecture);
  auto model = (*factory)(params);
  architecture.CheckAllAsked(construction);
  return model;
}

std::shared_ptr<ModelSpace> BuildFixed(const std::string& name, const std::string& json) {
  return BuildFixed(name, json, ExportedParams(name, json));
}

}  // namespace lanista::nn
