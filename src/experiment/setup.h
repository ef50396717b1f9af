// Sets an experiment up before actors run it: its folder, journal and lock, its strategy, planner and ledger.
#ifndef LANISTA_SRC_EXPERIMENT_SETUP_H_
#define LANISTA_SRC_EXPERIMENT_SETUP_H_

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engines/planner.h"
#include "protos/experiment.pb.h"
#include "protos/messages.pb.h"
#include "src/experiment/attempt_ledger.h"
#include "src/experiment/recovery.h"
#include "src/stopping/guarded_stopper.h"
#include "src/storage/experiment_lock.h"
#include "src/storage/journal.h"
#include "src/storage/state_dir.h"
#include "src/strategies/guarded_strategy.h"

namespace lanista {

// An experiment whose lock this process holds, with its journal. The destructor releases both.
struct HeldExperiment {
  // Destroyed after lock and journal are released; its deleter must not block. May be null.
  std::shared_ptr<void> released;
  std::string id;
  std::string folder;
  // With the configuration that it had when it was held.
  v1::ExperimentCreated created;
  ExperimentLock lock;
  std::unique_ptr<JournalWriter> writer;
};

// An experiment that is ready to run.
struct ExperimentSetup {
  // The order of the members matters: the journal is destroyed last.
  std::shared_ptr<HeldExperiment> held;
  // In force from now on.
  v1::ExperimentConfig config;
  uint64_t seed = 0;
  v1::SpaceSpec space;
  std::shared_ptr<GuardedStrategy> strategy;
  // Null: no model is stopped early.
  std::shared_ptr<GuardedStopper> stopper;
  std::shared_ptr<Planner> planner;
  AttemptLedger ledger;
  StartingPoint start;
  // What all of its trials have in common.
  v1::TrialSpec trial_template;
};

// The seed of an experiment: the configured one, else drawn.
uint64_t ExperimentSeed(const v1::ExperimentConfig& config);

// The request to a trial process to discover the experiment's space.
v1::Discover MakeDiscover(const v1::ExperimentConfig& config, uint64_t seed);

// The strategy of `config` for this space, with the objectives, limits and number of models of `config`. Errors name
// the field.
absl::StatusOr<std::shared_ptr<GuardedStrategy>> MakeStrategy(const v1::ExperimentConfig& config,
                                                              const v1::Discovered& discovered, uint64_t seed);

// The stopper of `config.early_stopping`; null if there is none. Errors name the field.
absl::StatusOr<std::shared_ptr<GuardedStopper>> MakeStopper(const v1::ExperimentConfig& config);

// The planning half of `config.engine` for these devices, which may be none. Errors name the field.
absl::StatusOr<std::unique_ptr<Planner>> MakePlanner(const v1::ExperimentConfig& config,
                                                     const v1::Discovered& discovered,
                                                     const std::vector<v1::Device>& devices);

// What the strategy of a new experiment is told first: the outcomes of the experiment that `config.warm_start` names.
// Sets that name to the experiment's id. Empty if there is no warm start. Errors: those of FindWarmStart and
// ReadWarmStart.
absl::StatusOr<std::vector<v1::TellRequest>> WarmStart(const StateDir& state_dir, const v1::Discovered& discovered,
                                                       v1::ExperimentConfig* config);

// A new experiment whose space was discovered. After an error nothing is left behind.
absl::StatusOr<ExperimentSetup> NewExperiment(const StateDir& state_dir, v1::ExperimentConfig config, uint64_t seed,
                                              const v1::Discovered& discovered, const std::vector<v1::Device>& devices,
                                              const JournalOptions& options);

// An experiment of which only the configuration is known.
struct CreatedExperiment {
  std::string id;
  // Null: an earlier request with the same id made it.
  std::shared_ptr<HeldExperiment> held;
};

// Starts the journal of an experiment before anything of its space is known; ResumedExperiment goes on from there.
// `created` has no id yet. A request id (if it is not empty) makes one experiment of its configuration's name, however
// often it comes, and whenever the process that made it was killed. Errors as FindWarmStart's; where the experiment of
// an earlier request cannot be read, the reason; ALREADY_EXISTS: an earlier request had another configuration, with the
// first field that differs; FAILED_PRECONDITION: another process is about to make it. After an
// error nothing new is left behind.
absl::StatusOr<CreatedExperiment> CreateExperiment(const StateDir& state_dir, v1::ExperimentCreated created,
                                                   const JournalOptions& options);

// Removes the files that keep_weights left in an attempt's output folder, if there are any.
void RemoveWeights(const std::string& folder);

// Takes the lock of an experiment that no process runs, and opens its journal. Upgrades a journal of an older version.
// NOT_FOUND: there is no such experiment. FAILED_PRECONDITION names the process that runs it.
absl::StatusOr<std::shared_ptr<HeldExperiment>> HoldExperiment(const StateDir& state_dir, const std::string& id,
                                                               const JournalOptions& options);

// Records the end of a held experiment that was not started. Does nothing if the journal has an end already.
absl::Status RecordEnd(HeldExperiment& held, v1::StateChanged end);

// Ends an experiment whose process ended while it was STOPPING: it becomes STOPPED, for the recorded reason. Does
// nothing in any other state. Errors: those of HoldExperiment.
absl::Status EndStopping(const StateDir& state_dir, const std::string& id);

// The experiment that goes on with `config` (see ConfigToResume), whose space was discovered again. FAILED_PRECONDITION
// where it cannot be the same experiment: another space, changed files, other data, a strategy or a stopper that
// answers otherwise; or where it came to its end and no limit is higher now. After an error the journal says what it
// said before. `nodes`: those that may return with trials of the head before (Recover).
absl::StatusOr<ExperimentSetup> ResumedExperiment(std::shared_ptr<HeldExperiment> held,
                                                  const v1::ExperimentConfig& config, v1::Discovered discovered,
                                                  const std::vector<v1::Device>& devices,
                                                  const std::set<std::string>& nodes = {});

// Keeps the graphs of a discovery in the experiment's folder, for DiscoveredBefore. Nothing where it has none.
absl::Status KeepGraphs(const HeldExperiment& held, const v1::Discovered& discovered);

// What was discovered when the experiment began, for one that has trials on `nodes`: these have that program, and all
// of their devices may be busy with these trials. FAILED_PRECONDITION: there are no such trials, or the journal does
// not say enough (the experiment had not begun; its engine plans by graphs that were not kept).
absl::StatusOr<v1::Discovered> DiscoveredBefore(const HeldExperiment& held, const v1::ExperimentConfig& config,
                                                const std::set<std::string>& nodes);

}  // namespace lanista

#endif  // LANISTA_SRC_EXPERIMENT_SETUP_H_
