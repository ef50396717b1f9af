// Samples as JSON.
#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"
#include "src/base/json_line.h"
#include "src/base/shallow_json.h"
#include "src/base/status.h"
#include "src/space/candidates.h"
#include "src/space/draw.h"
#include "src/space/messages.h"
#include "src/space/space.h"
#include "src/space/space_index.h"

namespace lanista {

using Json = OrderedJson;

std::string Space::ToJson(const v1::Sample& sample) {
  Json json = Json::object();
  // Appended without a look-up, because labels are unique.
  auto& members = json.get_ref<Json::object_t&>();
  for (const v1::Decision& decision : sample.decisions()) {
    Json value;
    if (decision.value_size() == 1) {
      value = ValueToJson(decision.value(0));
    } else {
      value = Json::array();
      for (const v1::Value& chosen : decision.value()) value.push_back(ValueToJson(chosen));
    }
    members.push_back({decision.label(), std::move(value)});
  }
  return JsonLine(json);
}

absl::StatusOr<v1::Sample> Space::FromJson(const std::string& json) const { return ReadJson(json, nullptr); }

absl::StatusOr<v1::Sample> Space::Complete(const std::string& json, std::mt19937_64& random) const {
  return ReadJson(json, &random);
}

absl::StatusOr<v1::Sample> Space::ReadJson(const std::string& json, std::mt19937_64* random) const {
  LANISTA_ASSIGN_OR_RETURN(const Json members, ParseShallowJson<Json>(json));
  if (!members.is_object()) {
    return absl::InvalidArgumentError("a sample is a JSON object: {\"label\": candidate, ...}");
  }
  bool drawn = false;
  Options options(choice_count(), -1);
  absl::flat_hash_map<std::string, const Json*> given;
  for (const auto& member : members.items()) given.emplace(member.key(), &member.value());
  const auto left_out = [&given](const v1::Condition& condition) {
    return std::any_of(condition.all_of().begin(), condition.all_of().end(),
                       [&given](const v1::Term& term) { return !given.contains(term.label()); });
  };
  for (int i = 0; i < spec_.choices_size(); ++i) {
    const v1::Choice& choice = spec_.choices(i);
    const auto found = given.find(choice.label());
    if (!index_->table.IsActive(i, options)) {
      if (found != given.end()) {
        const absl::Status status = NotActive(choice, ByLabel(spec_));
        // Where it depends on what was left out, another draw may fit.
        const bool may_fit = drawn && std::any_of(choice.active_if().begin(), choice.active_if().end(), left_out);
        return may_fit ? absl::FailedPreconditionError(status.message()) : status;
      }
      continue;
    }
    if (found == given.end()) {
      if (random == nullptr) return Missing(choice);
      options[i] = Uniform(*random, option_count(i));
      drawn = true;
      continue;
    }
    const Json& value = *found->second;
    v1::Decision decision;
    if (choice.n_chosen() == 1) {
      decision.add_index(FindCandidate(choice, value));
    } else if (value.is_array()) {
      for (const Json& chosen : value) decision.add_index(FindCandidate(choice, chosen));
      std::sort(decision.mutable_index()->begin(), decision.mutable_index()->end());
    }
    options[i] = OptionOf(choice, decision);
    if (options[i] < 0) return WrongCandidate(choice, JsonLine(value));
  }
  for (size_t i = 0; i < index_->table.excluded.size(); ++i) {
    if (!index_->table.Holds(index_->table.excluded[i], options)) continue;
    const std::string why = absl::StrCat("no model with ", ConditionText(spec_.impossible(i), ByLabel(spec_)),
                                         " can be built: discovery tried it");
    return drawn ? absl::FailedPreconditionError(why) : absl::InvalidArgumentError(why);
  }
  v1::Sample sample = ToSample(options);
  for (const auto& member : members.items()) {
    if (index_->by_label.contains(member.key())) continue;
    if (complete()) return UnknownLabel(member.key(), spec_);
    v1::Decision* decision = sample.add_decisions();
    decision->set_label(member.key());
    if (member.value().is_array()) {
      for (const Json& value : member.value()) LANISTA_RETURN_IF_ERROR(JsonToValue(value, decision->add_value()));
    } else {
      LANISTA_RETURN_IF_ERROR(JsonToValue(member.value(), decision->add_value()));
    }
  }
  return sample;
}

}  // namespace lanista
