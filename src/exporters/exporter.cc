#include "src/exporters/exporter.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "src/base/status.h"

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

absl::StatusOr<Exporter> FindExporter(const std::string& format) {
  const auto found = Exporters().find(format);
  if (found != Exporters().end()) return found->second;
  if (GraphFormats().count(format) > 0) {
    return absl::FailedPreconditionError(absl::StrCat(
        "format ", format, " needs the model's graph: use `engine { graph {} }`; the direct engine exports ",
        absl::StrJoin(ExportFormats(), ", ")));
  }
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
                                                    absl::string_view format, const std::string& out_dir) {
  if (top_k < 1) return absl::InvalidArgumentError(absl::StrCat("top must be at least 1, not ", top_k));
  LANISTA_ASSIGN_OR_RETURN(const Exporter exporter, FindExporter(std::string(format)));
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
