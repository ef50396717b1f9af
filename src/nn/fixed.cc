#include "src/nn/fixed.h"

#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"
#include "src/nn/decide.h"

namespace lanista::nn {

FixedArchitecture::FixedArchitecture(const std::string& json) {
  const auto object = nlohmann::json::parse(json, /*cb=*/nullptr, /*allow_exceptions=*/false);
  if (!object.is_object()) {
    throw SpaceError("a fixed architecture is a JSON object from labels to candidates: {\"label\": candidate, ...}");
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

}  // namespace lanista::nn
