#include "src/exporters/results/exporter.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <map>
#include <optional>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "src/base/component.h"
#include "src/base/hash.h"
#include "src/base/output_files.h"
#include "src/base/status.h"
#include "src/base/unique_fd.h"
#include "src/exporters/common/formats.h"
#include "src/exporters/results/json.h"
#include "src/storage/state_dir.h"

namespace lanista {
namespace {

// Writes one model to `path_stem` + a suffix of the format, replacing existing files, and returns the files' paths.
// `rank` starts at 1 for the best model.
using Exporter = std::function<absl::StatusOr<std::vector<std::string>>(
    const JournalReader& experiment, const ModelRecord& model, int rank, const std::string& path_stem)>;

// Model -> file of its weights.
using WeightsOf = std::map<int, std::string>;

// `kept`: JournalReader::Weights. Those files that are there.
WeightsOf WeightsFiles(const std::string& experiment_folder, const std::map<int, std::string>& kept) {
  WeightsOf files;
  for (const auto& [model, folder] : kept) {
    std::string file = absl::StrCat(experiment_folder, "/", folder, "/", kWeightsFile);
    std::error_code ignored;
    if (std::filesystem::exists(file, ignored)) files[model] = std::move(file);
  }
  return files;
}

// An exporter that calls `convert`. FAILED_PRECONDITION: the experiment's models are not graphs.
absl::StatusOr<Exporter> GraphExporter(const JournalReader& experiment, const std::string& format, WeightsOf weights,
                                       const GraphConverter& convert) {
  if (!RulesOfComponent(experiment.experiment().config().engine()).knows_graphs()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "format ", format, " needs the model's graph: use `engine { graph {} }`; the direct engine exports ",
        exporters::FormatNames({v1::ExportFormat::SAMPLE, v1::ExportFormat::TRAINED_WEIGHTS})));
  }
  return [format, weights = std::move(weights), &convert](
             const JournalReader& reader, const ModelRecord& model, int,
             const std::string& path_stem) -> absl::StatusOr<std::vector<std::string>> {
    v1::Convert request;
    request.set_format(format);
    request.set_out(path_stem);
    LANISTA_ASSIGN_OR_RETURN(*request.mutable_model(), SpaceModelOf(reader, model));
    if (const auto file = weights.find(model.model); file != weights.end()) {
      request.mutable_model()->set_weights_file(file->second);
    }
    return convert(request);
  };
}

// Copies the weights files unchanged.
Exporter WeightsExporter(WeightsOf weights) {
  return [weights = std::move(weights)](const JournalReader&, const ModelRecord& model, int,
                                        const std::string& path_stem) -> absl::StatusOr<std::vector<std::string>> {
    LANISTA_RETURN_IF_ERROR(exporters::CheckReplaceable("weights", path_stem));
    const std::string path = path_stem + ".weights.pt";
    const std::string& from = weights.at(model.model);
    const UniqueFd file(open(from.c_str(), O_RDONLY | O_CLOEXEC));
    if (file.get() < 0) return ErrnoToStatus(errno, absl::StrCat("cannot read ", from));
    LANISTA_RETURN_IF_ERROR(CopyFile(file.get(), from, path));
    return std::vector<std::string>{path};
  };
}

// `kept`: JournalReader::Weights. `best`: of so many models weights are kept.
absl::Status CheckWeights(const std::vector<ModelRecord>& models, const WeightsOf& weights,
                          const std::map<int, std::string>& kept, int best, const std::string& format) {
  std::vector<int> missing;
  bool should_be_there = false;
  for (const ModelRecord& model : models) {
    if (weights.count(model.model) > 0) continue;
    missing.push_back(model.model);
    should_be_there = should_be_there || kept.count(model.model) > 0;
  }
  if (missing.empty()) return absl::OkStatus();
  const std::string why =
      should_be_there
          ? absl::StrCat(" are missing, although the experiment has `keep_weights { best: ", best,
                         " }`: their files are not in its folder `trials` (any more)")
          : " were not kept: an experiment keeps those of its N best models with `keep_weights { best: N }`";
  return absl::FailedPreconditionError(
      absl::StrCat("the trained weights of model", missing.size() == 1 ? " " : "s ", absl::StrJoin(missing, ", "), why,
                   format == "weights" ? "" : "; to export the initial weights instead, add --untrained"));
}

// Of all files together.
int64_t BytesOf(const std::vector<std::string>& files) {
  int64_t bytes = 0;
  for (const std::string& file : files) {
    std::error_code error;
    const auto size = static_cast<int64_t>(std::filesystem::file_size(file, error));
    if (!error) bytes += size;
  }
  return bytes;
}

std::string ExportStem(int rank, int model) { return absl::StrCat(rank, "-model-", model); }

absl::StatusOr<Exporter> FindExporter(const JournalReader& experiment, const std::vector<ModelRecord>& models,
                                      const ExportOptions& options, const GraphConverter& convert) {
  const std::string& name = options.format;
  const exporters::Format* const format = exporters::FindFormat(name);
  if (format == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat("unknown format '", name, "'; known: ", exporters::FormatNames()));
  }
  if (name == "json") return ExportJson;
  if (experiment.experiment().config().space().has_choices()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "format ", name, " needs a network, and the models of a space of `choices` have none; what can be exported: ",
        exporters::FormatNames({v1::ExportFormat::SAMPLE})));
  }
  LANISTA_ASSIGN_OR_RETURN(const auto kept, experiment.Weights());
  WeightsOf weights = WeightsFiles(experiment.folder(), kept);
  const absl::Status trained =
      CheckWeights(models, weights, kept, experiment.experiment().config().keep_weights().best(), name);
  if (name == "weights") {
    LANISTA_RETURN_IF_ERROR(trained);
    return WeightsExporter(std::move(weights));
  }
  if (format->rules.needs() != v1::ExportFormat::GRAPH) {
    return absl::InternalError(absl::StrCat("nothing writes the format ", name));
  }
  LANISTA_ASSIGN_OR_RETURN(Exporter exporter, GraphExporter(experiment, name, std::move(weights), convert));
  if (!options.untrained) LANISTA_RETURN_IF_ERROR(trained);
  return exporter;
}

}  // namespace

absl::StatusOr<v1::SpaceModel> SpaceModelOf(const JournalReader& experiment, const ModelRecord& model) {
  const v1::ExperimentCreated& created = experiment.experiment();
  const v1::ExperimentConfig& config = created.config();
  if (config.space().has_choices()) {
    return absl::FailedPreconditionError("the models of a space of `choices` are no networks: they have no graphs");
  }
  if (!RulesOfComponent(config.engine()).knows_graphs()) {
    return absl::FailedPreconditionError("there is no graph: the engine `direct` builds models from C++ code alone");
  }
  v1::SpaceModel source;
  *source.mutable_space() = config.space();
  *source.mutable_engine() = config.engine();
  *source.mutable_sample() = model.sample;
  source.set_model_seed(ModelSeed(static_cast<uint64_t>(created.seed()), model.model));
  LANISTA_ASSIGN_OR_RETURN(const std::optional<v1::SpaceSpec> space, experiment.Space());
  if (!space.has_value()) return source;
  for (const v1::FileDigest& file : space->files()) {
    // The evaluator's table is nothing that the model is made from.
    if (file.path() != config.evaluator().table().path()) *source.add_space_files() = file;
  }
  if (space->has_data()) *source.mutable_data() = space->data();
  return source;
}

std::optional<std::string> ExportStemOf(absl::string_view file_name) {
  absl::string_view rest = file_name;
  const auto take_number = [&rest](int* number) {
    const absl::string_view digits = rest.substr(0, rest.find_first_not_of("0123456789"));
    rest.remove_prefix(digits.size());
    return absl::SimpleAtoi(digits, number);
  };
  int rank = 0, model = 0;
  if (!take_number(&rank) || !absl::ConsumePrefix(&rest, "-model-") || !take_number(&model)) return std::nullopt;
  std::string stem = ExportStem(rank, model);
  // Numbers have no zeros before them, a suffix follows, and there is no folder.
  if (!absl::StartsWith(file_name, stem + ".") || absl::StrContains(file_name, '/')) return std::nullopt;
  return stem;
}

absl::StatusOr<std::vector<std::string>> ExportBest(const JournalReader& experiment, const ExportOptions& options,
                                                    const GraphConverter& convert) {
  if (options.top_k < 1) return absl::InvalidArgumentError(absl::StrCat("top must be at least 1, not ", options.top_k));
  LANISTA_ASSIGN_OR_RETURN(const std::vector<ModelRecord> models, experiment.BestModels(options.top_k));
  LANISTA_ASSIGN_OR_RETURN(const Exporter exporter, FindExporter(experiment, models, options, convert));
  if (models.empty()) {
    const std::string& id = experiment.experiment().experiment();
    LANISTA_ASSIGN_OR_RETURN(const ModelCounts counts, experiment.CountModels());
    const bool limited = counts.succeeded + counts.infeasible > 0;
    return absl::FailedPreconditionError(
        absl::StrCat("no model of experiment ", id,
                     limited ? " is within its limits: there is nothing to export (`show` names the nearest model)"
                             : " has succeeded: there is nothing to export"));
  }
  std::error_code error;
  std::filesystem::create_directories(options.out_dir, error);
  if (error) return ErrnoToStatus(error.value(), absl::StrCat("cannot make the folder ", options.out_dir));
  std::vector<std::string> files;
  int64_t bytes = 0;
  int rank = 0;
  for (const ModelRecord& model : models) {
    ++rank;
    const std::string stem = absl::StrCat(options.out_dir, "/", ExportStem(rank, model.model));
    LANISTA_ASSIGN_OR_RETURN(std::vector<std::string> written, exporter(experiment, model, rank, stem));
    bytes += BytesOf(written);
    files.insert(files.end(), written.begin(), written.end());
    if (options.check) LANISTA_RETURN_IF_ERROR(options.check(bytes));
  }
  return files;
}

}  // namespace lanista
