// The format `json` of exports.
#ifndef LANISTA_SRC_EXPORTERS_RESULTS_JSON_H_
#define LANISTA_SRC_EXPORTERS_RESULTS_JSON_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "src/storage/journal.h"

namespace lanista {

// Writes the fixed architecture of the model as PATH_STEM.json, and returns its path. `rank` starts at 1 for the best.
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
absl::StatusOr<std::vector<std::string>> ExportJson(const JournalReader& experiment, const ModelRecord& model, int rank,
                                                    const std::string& path_stem);

}  // namespace lanista

#endif  // LANISTA_SRC_EXPORTERS_RESULTS_JSON_H_
