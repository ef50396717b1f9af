// The fixed architecture as JSON:
//
// {
//   "experiment": "mnist_search-k3f9",
//   "space": {"registered": "mnist_cnn"},     `space` of the configuration, with its params
//   "fingerprint": "89ab...",                 of the space: a different space may not understand the sample
//   "seed": 42,                               of the experiment: with the model's number it gives the initial weights
//   "order_seed": 1795...,                    for splits and shuffling: docs/configuration.md
//   "rank": 1,
//   "model": 17,
//   "metrics": {"default": 0.97, "loss": 0.11},
//   "sample": {"label": candidate, ...},      Space::FromJson reads it to rebuild the model
//   "data": {"input_shape": [1, 28, 28], ...} inputs and outputs of the model (DataJson); null if unknown
// }
#include "nlohmann/json.hpp"

#include "absl/strings/str_cat.h"
#include "google/protobuf/util/json_util.h"
#include "src/base/hash.h"
#include "src/base/output_files.h"
#include "src/base/status.h"
#include "src/exporters/common/data_source.h"
#include "src/exporters/common/replaceable.h"
#include "src/exporters/results/exporter.h"
#include "src/views/document_parts.h"

namespace lanista {
namespace {

using Json = nlohmann::ordered_json;

absl::StatusOr<Json> SpaceJson(const v1::SpaceConfig& space) {
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  std::string text;
  if (!google::protobuf::util::MessageToJsonString(space, &text, options).ok()) {
    return absl::DataLossError("the journal holds a damaged space configuration");
  }
  return Json::parse(text);
}

absl::StatusOr<std::vector<std::string>> ExportJson(const JournalReader& experiment, const ModelRecord& model, int rank,
                                                    const std::string& path_stem) {
  LANISTA_RETURN_IF_ERROR(exporters::CheckReplaceable("json", path_stem));
  LANISTA_ASSIGN_OR_RETURN(const std::optional<v1::SpaceSpec> space, experiment.Space());
  Json json;
  json["experiment"] = experiment.experiment().experiment();
  LANISTA_ASSIGN_OR_RETURN(json["space"], SpaceJson(experiment.experiment().config().space()));
  json["fingerprint"] = space.has_value() ? Json(space->fingerprint()) : Json();
  json["seed"] = experiment.experiment().seed();
  json["order_seed"] = OrderSeed(static_cast<uint64_t>(experiment.experiment().seed()));
  json["rank"] = rank;
  json["model"] = model.model;
  json["metrics"] = MetricsJson(model.outcome->metrics());
  json["sample"] = SampleJson(model);
  const bool has_data = space.has_value() && space->has_data();
  json["data"] = has_data ? exporters::DataJson(space->data()) : Json();

  const std::string path = path_stem + ".json";
  LANISTA_RETURN_IF_ERROR(WriteFile(path, ToText(json) + "\n"));
  return std::vector<std::string>{path};
}

LANISTA_REGISTER_EXPORTER("json", ExportJson);

}  // namespace
}  // namespace lanista
