// The head in this process: actor system, head actor and local devices behind blocking calls, for the command line.
#ifndef LANISTA_SRC_LAUNCHER_LOCAL_HEAD_H_
#define LANISTA_SRC_LAUNCHER_LOCAL_HEAD_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "protos/messages.pb.h"
#include "src/config/labels.h"
#include "src/devices/node_source.h"
#include "src/files/disk_room.h"
#include "src/launcher/trial_program.h"
#include "src/service/experiment_runner.h"
#include "src/service/node_gateway.h"
#include "src/storage/state_dir.h"
#include "src/telemetry/telemetry.h"

namespace lanista {

// Owns an actor system. Its calls may come from any thread. The destructor ends what runs (its journal says so: it can
// be resumed) and waits for it, but not for ever: a user's strategy may compute for long, and a disk may hang. Only for
// the call of a watcher that is under way it waits as long as that takes. Calls that block meanwhile get UNAVAILABLE.
class LocalHead : public ExperimentRunner {
 public:
  // Whether a destructor gave up on some actor, which it named in the log. Then the process is to end without
  // destroying what that actor may use (_exit).
  static bool LeftActorsBehind();

  // Called on a thread of the head's, one call at a time for each experiment, in order, and never after Wait or End
  // returned: both wait for the call that is under way. It may take its time, and then its events wait.
  using Watcher = std::function<void(const v1::ExperimentEvent&)>;

  struct Options {
    // For journals and logs. May be opened read-only if nothing is submitted.
    StateDir state_dir;
    // How trial processes are started. Where the pool is not open, all data that a configuration names must be here.
    TrialProgram trial_program;
    // For a head that serves clients: gets the events of all experiments that Create and the Resume of ExperimentRunner
    // start, and must not block. The journals of these experiments say that they are served.
    Watcher served = {};
    // The highest priority; experiments that ask for a higher one get this one.
    int max_priority = std::numeric_limits<int>::max();
    // How long the destructor waits for busy actors.
    std::chrono::milliseconds end_limit{10000};
    // The measurements of this head.
    TelemetryPtr telemetry = std::make_shared<Telemetry>();
    // Whether nodes may join, so that a trial without a device waits for one. A head with `served` is always open.
    bool open = false;
    // How long trials of an earlier head wait until their nodes return.
    std::chrono::milliseconds lost_after{std::chrono::minutes(2)};
    // Of this machine.
    Labels labels = {};
    // Its devices discover spaces alone (`validate`): they need not meet an experiment's requirements.
    bool discovers_only = false;
    // A folder by which its trial processes share large data. Empty: each has its own.
    std::string shared_data = {};
    // Bytes of the state folder's disk that stay free of what nodes deliver: see DiskRoom.
    uint64_t keep_free = DiskRoom::kKeepFree;
  };

  // Starts an actor system with the devices that `config.training_service` selects. A head that serves clients needs
  // none of its own (`local { cpu_slots: 0 }`). Errors: no such GPU, no memory to read, ...
  // INVALID_ARGUMENT, where the pool is not open: no device meets `config.requirements`.
  static absl::StatusOr<std::unique_ptr<LocalHead>> Start(Options options, const v1::ExperimentConfig& config);
  ~LocalHead() override;

  // Discovers the space and checks the evaluator in a trial process; runs nothing. With plan_models > 0, the strategy
  // proposes that many models, and the answer explains how the engine would run them. Blocks.
  absl::StatusOr<v1::Validated> Validate(const v1::ExperimentConfig& config, int plan_models,
                                         const Abandoned& abandoned = nullptr) override;

  // Writes a model of a space in another form, in the place of a node that runs this program (empty: any). `request`
  // names paths of this machine; nodes need not see them. The files that the answer names are at Convert.out of this
  // machine, under the names that they have there. Blocks while all such places are busy. UNAVAILABLE: no node that is
  // there can do it, and why.
  absl::StatusOr<v1::Converted> Convert(const v1::Convert& request, const std::string& program,
                                        const Abandoned& abandoned);

  // Starts an experiment and returns its id. Blocks until its space is known and everything is checked: errors are the
  // configuration's (exit code 2), and nothing was started or recorded. `config` has been through LoadConfig.
  // `durable`: see v1::SubmitExperiment. CANCELLED: `abandoned`; the experiment may start all the same.
  absl::StatusOr<std::string> Submit(const v1::ExperimentConfig& config, bool durable, Watcher watcher,
                                     const Abandoned& abandoned = nullptr);

  // Goes on with an experiment of the state folder that nobody runs, under `config` (see ConfigToResume). Blocks as
  // Submit does; after an error its journal says what it said before.
  absl::Status Resume(const std::string& experiment, const v1::ExperimentConfig& config, bool durable, Watcher watcher,
                      const Abandoned& abandoned = nullptr);

  // For Options.served.
  absl::StatusOr<std::string> Create(const v1::ExperimentConfig& config, const std::string& request_id) override;
  absl::Status Resume(const std::string& experiment, const v1::ExperimentConfig& config,
                      const Abandoned& abandoned = nullptr) override;
  // Resumes the experiments that earlier serving heads have not finished. Those that cannot be resumed are logged, and
  // those that were STOPPING become STOPPED. Returns once this process holds the locks of all of them.
  void ResumeServed();

  // Ends what runs, as the destructor does. Calls that wait now, and later calls, return UNAVAILABLE even if the head
  // is busy. Events that its watchers were not told yet are dropped.
  void End();

  std::string WaitingFor(const std::string& experiment) override;

  // Asks an experiment to stop; returns at once.
  void Stop(const std::string& experiment, const std::string& reason) override;

  // Blocks until the experiment is in a final state, which is returned.
  v1::StateChanged Wait(const std::string& experiment);

  // Nodes may join from now on, through what is returned, which lives as long as this: call it once. A node of which
  // nothing is heard for `lost_after` is lost. Errors: the state folder cannot be written.
  absl::StatusOr<NodeGateway*> AcceptNodes(std::chrono::milliseconds lost_after);

  // Whoever serves the nodes takes room there for what they deliver. WaitingFor names an experiment's lack of it.
  DiskRoomPtr disk_room() const;

  // The blocks of `training_service` that bring nodes do so from now on, until the end; the others are left alone.
  // `context`: all but `name`. `program`: of the nodes' trial processes (a build ID). Call it once, after AcceptNodes
  // and before nodes can be listed. INVALID_ARGUMENT, and errors of the system, name the block.
  absl::Status SeekNodes(const google::protobuf::RepeatedPtrField<v1::TrainingServiceConfig>& blocks,
                         NodeSourceContext context, const std::string& program);

  // How many constructions of the space have been tried to learn it, so far.
  int constructions() const;

  // This machine's devices that are in use.
  std::vector<v1::Device> Devices() const;

 private:
  class Impl;
  explicit LocalHead(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace lanista

#endif  // LANISTA_SRC_LAUNCHER_LOCAL_HEAD_H_
