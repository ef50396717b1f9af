#include "src/exporters/exporter.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "src/base/hash.h"
#include "src/base/status.h"
#include "src/storage/state_dir.h"

namespace lanista {
namespace {

std::map<std::string, Exporter>& Exporters() {
  static auto* const exporters = new std::map<std::string, Exporter>;
  return *exporters;
}

// Formats that are made from a model's graph.
const std::set<std::string>& GraphFormats() {
  static const auto* const formats = new std::set<std::string>{"cpp", "onnx", "python", "torchscript"};
  return *formats;
}

// Where each model's successful attempt left its weights, if they are still there.
absl::StatusOr<std::map<int, std::string>> WeightsFiles(const JournalReader& experiment) {
  LANISTA_ASSIGN_OR_RETURN(const std::vector<AttemptRecord> attempts, experiment.Attempts());
  std::map<int, int> members;
  for (const AttemptRecord& attempt : attempts) ++members[attempt.trial];
  std::map<int, std::string> files;
  for (const AttemptRecord& attempt : attempts) {
    if (attempt.end.outcome() != v1::SUCCEEDED) continue;
    const std::string folder = TrialOutputFolder(attempt.trial, attempt.model, members.at(attempt.trial) > 1);
    const std::string file = absl::StrCat(experiment.folder(), "/", folder, "/weights.pt");
    if (std::filesystem::exists(file)) files[attempt.model] = file;
  }
  return files;
}

// An exporter that hands models to `convert`. FAILED_PRECONDITION: the experiment's models are no graphs.
absl::StatusOr<Exporter> GraphExporter(const JournalReader& experiment, const std::string& format,
                                       const GraphConverter& convert) {
  const v1::ExperimentConfig& config = experiment.experiment().config();
  if (!config.engine().has_graph() && !config.engine().has_cgo()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "format ", format, " needs the model's graph: use `engine { graph {} }`; the direct engine exports ",
        absl::StrJoin(ExportFormats(), ", ")));
  }
  LANISTA_ASSIGN_OR_RETURN(const auto weights, WeightsFiles(experiment));
  LANISTA_ASSIGN_OR_RETURN(const std::optional<v1::SpaceSpec> space, experiment.Space());
  return [format, weights, space, &convert](const JournalReader& reader, const ModelRecord& model, int,
                                            const std::string& path_stem) {
    const v1::ExperimentCreated& created = reader.experiment();
    v1::Convert request;
    request.set_format(format);
    request.set_out(path_stem);
    v1::SpaceModel& source = *request.mutable_model();
    *source.mutable_space() = created.config().space();
    *source.mutable_engine() = created.config().engine();
    *source.mutable_sample() = model.sample;
    if (space.has_value()) *source.mutable_space_files() = space->files();
    source.set_model_seed(ModelSeed(static_cast<uint64_t>(created.seed()), model.model));
    if (const auto file = weights.find(model.model); file != weights.end()) source.set_weights_file(file->second);
    return convert(request);
  };
}

absl::StatusOr<Exporter> FindExporter(const JournalReader& experiment, const std::string& format,
                                      const GraphConverter& convert) {
  if (GraphFormats().count(format) > 0) return GraphExporter(experiment, format, convert);
  const auto found = Exporters().find(format);
  if (found != Exporters().end()) return found->second;
  std::set<std::string> known = GraphFormats();
  for (const std::string& name : ExportFormats()) known.insert(name);
  return absl::InvalidArgumentError(absl::StrCat("unknown format '", format, "'; known: ", absl::StrJoin(known, ", ")));
}

}  // namespace

bool RegisterExporter(const std::string& format, Exporter exporter) {
  if (!Exporters().emplace(format, std::move(exporter)).second) {
    std::fprintf(stderr, "lanista: exporter '%s' is registered twice\n", format.c_str());
    std::abort();
  }
  return true;
}

std::vector<std::string> ExportFormats() {
  std::vector<std::string> formats;
  for (const auto& entry : Exporters()) formats.push_back(entry.first);
  return formats;
}

absl::StatusOr<std::vector<std::string>> ExportBest(const JournalReader& experiment, int top_k,
                                                    absl::string_view format, const std::string& out_dir,
                                                    const GraphConverter& convert) {
  if (top_k < 1) return absl::InvalidArgumentError(absl::StrCat("top must be at least 1, not ", top_k));
  LANISTA_ASSIGN_OR_RETURN(const Exporter exporter, FindExporter(experiment, std::string(format), convert));
  LANISTA_ASSIGN_OR_RETURN(const std::vector<ModelRecord> models, experiment.BestModels(top_k));
  if (models.empty()) {
    return absl::FailedPreconditionError(absl::StrCat("no model of experiment ", experiment.experiment().experiment(),
                                                      " has succeeded: there is nothing to export"));
  }
  std::error_code error;
  std::filesystem::create_directories(out_dir, error);
  if (error) return ErrnoToStatus(error.value(), absl::StrCat("cannot make the folder ", out_dir));
  std::vector<std::string> files;
  int rank = 0;
  for (const ModelRecord& model : models) {
    ++rank;
    const std::string stem = absl::StrCat(out_dir, "/", rank, "-model-", model.model);
    LANISTA_ASSIGN_OR_RETURN(std::vector<std::string> written, exporter(experiment, model, rank, stem));
    files.insert(files.end(), written.begin(), written.end());
  }
  return files;
}

}  // namespace lanista
