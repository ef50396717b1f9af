// What a head does with experiments for its clients.
#ifndef LANISTA_SRC_SERVICE_EXPERIMENT_RUNNER_H_
#define LANISTA_SRC_SERVICE_EXPERIMENT_RUNNER_H_

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "protos/experiment.pb.h"
#include "protos/messages.pb.h"

namespace lanista {

// Thread-safe. Configurations are complete and checked.
class ExperimentRunner {
 public:
  // True once nobody waits for the answer any more; empty: somebody always does. Asked again and again while a call
  // waits, which then returns CANCELLED. Must not block.
  using Abandoned = std::function<bool()>;

  virtual ~ExperimentRunner() = default;

  // Discovers the space and checks everything in a trial process; runs nothing. With plan_models > 0, the answer
  // explains how the engine would run so many models. Blocks until there is a trial process for it. Abandoned, nothing
  // of it is left to be done.
  virtual absl::StatusOr<v1::Validated> Validate(const v1::ExperimentConfig& config, int plan_models,
                                                 const Abandoned& abandoned) = 0;

  // Records an experiment and returns its id; it begins when its space is discovered. The same request id (if it is
  // not empty) and name give the same experiment.
  virtual absl::StatusOr<std::string> Create(const v1::ExperimentConfig& config, const std::string& request_id) = 0;

  // Goes on with an experiment of the state folder that nobody runs. Blocks until it runs, or is known not to.
  // Abandoned, it goes on all the same, as soon as it can; Stop ends that.
  virtual absl::Status Resume(const std::string& experiment, const v1::ExperimentConfig& config,
                              const Abandoned& abandoned) = 0;

  // Whether an experiment that this process holds is this runner's: a process may have several. A new one may become so
  // a moment after its journal is there. Does not block.
  virtual bool Runs(const std::string& /*experiment*/) const { return true; }

  // What is lacking (a device, a node with the right program, room on the disk) so that an experiment of this runner's
  // could go on; empty: nothing.
  virtual std::string WaitingFor(const std::string& /*experiment*/) { return ""; }

  // Asks an experiment of this runner's to stop; returns at once.
  virtual void Stop(const std::string& experiment, const std::string& reason) = 0;
};

}  // namespace lanista

#endif  // LANISTA_SRC_SERVICE_EXPERIMENT_RUNNER_H_
