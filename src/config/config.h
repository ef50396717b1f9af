// Loads an experiment's configuration: a file, overrides, paths, checks. Everything that can be known without LibTorch
// and without touching the data is known here, so that a bad configuration starts nothing.
//
// Errors are INVALID_ARGUMENT (NOT_FOUND for a missing file) and name the place and what is allowed there:
//   textproto   search.textproto:4:3: unknown field 'max_trials'; did you mean 'max_trial_number'? allowed here: ...
//   JSON        search.json: evaluator.classification.batch_size: 'batch_size' wants an integer, got "x"
//   --set       --set seed=x: 'seed' wants an integer, got x
#ifndef LANISTA_SRC_CONFIG_CONFIG_H_
#define LANISTA_SRC_CONFIG_CONFIG_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "protos/experiment.pb.h"

namespace lanista {

// Reads `path` (protobuf text, or JSON where the name ends in .json; relative to UserDirectory()), applies `overrides`
// (each `path.to.field=value`, see SetField), resolves paths, fills in name, engine and training service where absent,
// and validates. Relative paths in the file start at its folder, those in overrides where the user stands.
absl::StatusOr<v1::ExperimentConfig> LoadConfig(const std::string& path, const std::vector<std::string>& overrides);

// The same of the text of a configuration (protobuf text) that comes from no file: its relative paths start where the
// user stands. Errors say "line:column".
absl::StatusOr<v1::ExperimentConfig> ParseConfig(const std::string& text);

// Reads a head's own configuration, in the same way.
absl::StatusOr<v1::HeadConfig> LoadHeadConfig(const std::string& path);

// A configuration that came as a message instead of a file: fills in the same fields, and validates. Its paths must be
// absolute already, because it has no folder. Errors name the field's path.
absl::StatusOr<v1::ExperimentConfig> CompleteConfig(v1::ExperimentConfig config);

// The configuration with which an experiment goes on that began with `config`: with `overrides` as LoadConfig takes
// them. Only limits and placement may be set, because anything else would change what the experiment's models are.
absl::StatusOr<v1::ExperimentConfig> ConfigToResume(v1::ExperimentConfig config,
                                                    const std::vector<std::string>& overrides);

}  // namespace lanista

#endif  // LANISTA_SRC_CONFIG_CONFIG_H_
