// Outcomes of an earlier experiment, for the strategy of a new one.
#ifndef LANISTA_SRC_EXPERIMENT_WARM_START_H_
#define LANISTA_SRC_EXPERIMENT_WARM_START_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "engines/model_costs.h"
#include "protos/experiment.pb.h"
#include "protos/messages.pb.h"
#include "protos/space.pb.h"
#include "src/storage/state_dir.h"

namespace lanista {

// Replaces `config.warm_start.experiment`, if it is set, by the id of the experiment that it names. Errors: those of
// FindExperiment.
absl::Status FindWarmStart(const StateDir& state_dir, v1::ExperimentConfig* config);

// The outcomes of the experiment in `folder` that `config.warm_start` asks for, in the order of its models; each is of
// model 0, which is none of the new experiment's. FAILED_PRECONDITION says what differs where the earlier experiment
// has another space, objective or evaluator than `config` and `space`; NOT_FOUND: there is no experiment in `folder`.
//
// Leaves out models for which a limit of `config` cannot be checked, and logs a warning: the earlier experiment did not
// have that limit, the models did not report its metric, and `costs` does not compute it.
absl::StatusOr<std::vector<v1::TellRequest>> ReadWarmStart(const std::string& folder,
                                                           const v1::ExperimentConfig& config,
                                                           const v1::SpaceSpec& space,
                                                           const std::optional<ModelCosts>& costs);

}  // namespace lanista

#endif  // LANISTA_SRC_EXPERIMENT_WARM_START_H_
