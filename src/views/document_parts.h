// What documents have in common.
#ifndef LANISTA_SRC_VIEWS_DOCUMENT_PARTS_H_
#define LANISTA_SRC_VIEWS_DOCUMENT_PARTS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/time/time.h"
#include "nlohmann/json_fwd.hpp"
#include "protos/experiment.pb.h"
#include "src/goals/goals.h"
#include "src/storage/journal.h"

namespace lanista {

// {name: value}, `default` first and then by name.
nlohmann::ordered_json MetricsJson(const v1::Metrics& metrics);

// {label: candidate}; null: it cannot be read.
nlohmann::ordered_json SampleJson(const ModelRecord& model);

// Null where it is not known.
nlohmann::ordered_json CountJson(const std::optional<int64_t>& count);
nlohmann::ordered_json TimeJson(absl::Time time);
nlohmann::ordered_json TimeJson(const std::optional<absl::Time>& time);

// [{"metric", "goal"}].
nlohmann::ordered_json ObjectivesJson(const Goals& goals);

// What models are judged by: the keys `objective`, `objectives` and `constraints`.
void AddGoals(const v1::ExperimentConfig& config, nlohmann::ordered_json* json);

// Any document as text: indented; bytes that are not UTF-8 (an exception's) are replaced instead of refused, and
// control characters are escaped.
std::string ToText(const nlohmann::ordered_json& document);

}  // namespace lanista

#endif  // LANISTA_SRC_VIEWS_DOCUMENT_PARTS_H_
