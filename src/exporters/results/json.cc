#include "src/exporters/results/json.h"

#include "absl/strings/str_cat.h"
#include "google/protobuf/util/json_util.h"
#include "nlohmann/json.hpp"
#include "src/base/hash.h"
#include "src/base/output_files.h"
#include "src/base/status.h"
#include "src/exporters/common/data_source.h"
#include "src/exporters/common/formats.h"
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

}  // namespace

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

}  // namespace lanista
