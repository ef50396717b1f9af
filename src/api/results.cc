#include "src/api/results.h"

#include <map>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"

namespace lanista::api {
namespace {

using Json = nlohmann::ordered_json;

// Calls `read`; what is missing in a document is an exception of the library.
template <typename Read>
auto ReadDocument(const Read& read) -> absl::StatusOr<decltype(read())> {
  try {
    return read();
  } catch (const nlohmann::json::exception& error) {
    return absl::DataLossError(absl::StrCat("the document of the experiment is not as expected (", error.what(),
                                            "): is the head another version?"));
  }
}

// "" for null.
std::string TextOf(const Json& json) { return json.is_null() ? "" : json.get<std::string>(); }

// Metrics without those that JSON does not know.
std::map<std::string, double> MetricsOf(const Json& json) {
  std::map<std::string, double> metrics;
  for (const auto& [name, value] : json.items()) {
    if (value.is_number()) metrics[name] = value.get<double>();
  }
  return metrics;
}

}  // namespace

absl::StatusOr<ExperimentStatus> StatusOf(const Json& document) {
  return ReadDocument([&document] {
    ExperimentStatus status;
    status.id = document.at("id").get<std::string>();
    status.name = TextOf(document.at("name"));
    status.state = document.at("status").get<std::string>();
    status.reason = TextOf(document.at("reason"));
    const auto size = document.find("space_size");
    if (size != document.end() && size->is_string()) status.space_size = size->get<std::string>();
    if (document.at("seconds").is_number()) status.seconds = document.at("seconds").get<double>();
    const Json& models = document.at("models");
    // An experiment that cannot be read has none.
    if (models.is_null()) return status;
    status.models = models.at("total").get<int>();
    status.succeeded = models.at("succeeded").get<int>();
    status.failed = models.at("failed").get<int>();
    status.stopped_early = models.at("stopped_early").get<int>();
    status.infeasible = models.at("infeasible").get<int>();
    status.canceled = models.at("canceled").get<int>();
    status.unfinished = models.at("unfinished").get<int>();
    return status;
  });
}

absl::StatusOr<std::vector<FoundModel>> BestOf(const Json& document) {
  return ReadDocument([&document] {
    std::vector<FoundModel> models;
    for (const Json& best : document.at("best")) {
      models.push_back({best.at("model").get<int>(), MetricsOf(best.at("metrics")), best.at("sample").dump()});
    }
    return models;
  });
}

absl::StatusOr<std::vector<FoundModel>> BestOfTrials(const Json& document, int k) {
  return ReadDocument([&document, k] {
    const bool front_only = document.at("objectives").size() > 1;
    std::vector<FoundModel> models;
    for (const Json& trial : document.at("models")) {
      const Json& front = trial.at("front");
      if (front.is_null() || (front_only && front != 0)) continue;
      if (!front_only && static_cast<int>(models.size()) == k) break;
      models.push_back(
          {trial.at("id").get<int>(), MetricsOf(trial.at("metrics").at("final")), trial.at("sample").dump()});
    }
    return models;
  });
}

}  // namespace lanista::api
