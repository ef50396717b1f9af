// Writes the best models of an experiment as files, in one of the formats of src/exporters/common/formats.h. Any thread
// may export.
#ifndef LANISTA_SRC_EXPORTERS_RESULTS_EXPORTER_H_
#define LANISTA_SRC_EXPORTERS_RESULTS_EXPORTER_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "protos/trial.pb.h"
#include "src/storage/journal.h"

namespace lanista {

// Writes a model's graph (python, cpp, torchscript, onnx) and returns the files' paths. A trial process does this,
// because it needs LibTorch.
using GraphConverter = std::function<absl::StatusOr<std::vector<std::string>>(const v1::Convert& request)>;

// How a trial process makes a model of the experiment again, with its initial weights. FAILED_PRECONDITION: the
// experiment's models have no graphs, and why.
absl::StatusOr<v1::SpaceModel> SpaceModelOf(const JournalReader& experiment, const ModelRecord& model);

// What to export.
struct ExportOptions {
  // Number of models; fewer are exported if fewer succeeded.
  int top_k = 1;
  std::string format = "json";
  // Made if it does not exist.
  std::string out_dir = ".";
  // Graph formats: models whose weights were not kept are exported with their initial weights.
  bool untrained = false;
  // Called after each model with the bytes of all files so far. An error ends the export: that is its result. Null:
  // nobody asks.
  std::function<absl::Status(int64_t bytes)> check = nullptr;
};

// What a file that was exported is named after: "1-model-17" of "1-model-17.weights.pt". None: an export writes no file
// of this name.
std::optional<std::string> ExportStemOf(absl::string_view file_name);

// Writes the best models as OUT_DIR/RANK-model-ID.SUFFIX: 1-model-17.json. Returns the files' paths, best model first.
// `weights` and the graph formats need the trained weights, which an experiment keeps if its keep_weights says so.
//
// INVALID_ARGUMENT: top_k below 1, or an unknown format (lists the known ones). FAILED_PRECONDITION: the format needs
// the model's graph, which the direct engine does not have; weights were not kept; or no model succeeded. In these
// cases nothing is written.
absl::StatusOr<std::vector<std::string>> ExportBest(const JournalReader& experiment, const ExportOptions& options,
                                                    const GraphConverter& convert);

}  // namespace lanista

#endif  // LANISTA_SRC_EXPORTERS_RESULTS_EXPORTER_H_
