// What documents (src/views/documents.h, src/views/trials_document.h) say, as the structs of the public API. A document
// may come from a head of another version, so all of these return DATA_LOSS where something is missing in it.
#ifndef LANISTA_SRC_API_RESULTS_H_
#define LANISTA_SRC_API_RESULTS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "include/lanista/experiment.h"
#include "nlohmann/json_fwd.hpp"

namespace lanista::api {

// Of the document of `show`, or of an entry of `list`.
absl::StatusOr<ExperimentStatus> StatusOf(const nlohmann::ordered_json& document);

// The `best` of a document of `show`.
absl::StatusOr<std::vector<FoundModel>> BestOf(const nlohmann::ordered_json& document);

// The best models of a document of `trials` that has the best ones first: at most k, with several objectives the whole
// Pareto front.
absl::StatusOr<std::vector<FoundModel>> BestOfTrials(const nlohmann::ordered_json& document, int k);

}  // namespace lanista::api

#endif  // LANISTA_SRC_API_RESULTS_H_
