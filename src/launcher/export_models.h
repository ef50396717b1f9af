// Exports of an experiment's best models: what `export` and lanista::Experiment (src/api) share.
#ifndef LANISTA_SRC_LAUNCHER_EXPORT_MODELS_H_
#define LANISTA_SRC_LAUNCHER_EXPORT_MODELS_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "src/exporters/results/exporter.h"
#include "src/launcher/trial_program.h"
#include "src/storage/journal.h"

namespace lanista {

// ExportBest, with a trial process that converts graphs, where the format needs one. `warn` is told what the files
// cannot express. Errors: those of ExportBest and of TrialSession.
absl::StatusOr<std::vector<std::string>> ExportWithTrialProgram(
    const JournalReader& experiment, const ExportOptions& options, const TrialProgram& trial_program,
    const std::function<void(const std::string& warning)>& warn);

}  // namespace lanista

#endif  // LANISTA_SRC_LAUNCHER_EXPORT_MODELS_H_
