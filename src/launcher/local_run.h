// An experiment that this process runs itself: what `run`, `resume` and lanista::Experiment (src/api) share.
#ifndef LANISTA_SRC_LAUNCHER_LOCAL_RUN_H_
#define LANISTA_SRC_LAUNCHER_LOCAL_RUN_H_

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "nlohmann/json_fwd.hpp"
#include "protos/experiment.pb.h"
#include "protos/messages.pb.h"
#include "src/launcher/commands.h"
#include "src/launcher/local_head.h"
#include "src/launcher/progress.h"
#include "src/storage/state_dir.h"

namespace lanista {

class NodePort;
class RunPage;

// An experiment of the state folder that is to go on.
struct EarlierExperiment {
  std::string id;
  // The configuration to resume it with.
  v1::ExperimentConfig config;
  EarlierProgress progress;
};

// Finds the experiment that `experiment` names (an id, the beginning of one, or "latest"), and puts `overrides` into
// its configuration (see ConfigToResume, which names the errors).
absl::StatusOr<EarlierExperiment> FindEarlier(const std::string& state_dir, const std::string& experiment,
                                              const std::vector<std::string>& overrides);

// The head of one experiment, the port of its nodes and its page. Submit or Resume once. All but stop-like calls of
// head() are for one thread.
class LocalRun {
 public:
  // Starts a head with the devices that `config` selects, and listens for nodes if `config` has blocks that bring
  // nodes. `context` says where to listen and where to show the page; it must outlive this object.
  static absl::StatusOr<std::unique_ptr<LocalRun>> Open(const CommandContext& context, const StateDir& state_dir,
                                                        const v1::ExperimentConfig& config);
  // End; then the page closes.
  ~LocalRun();

  LocalRun(const LocalRun&) = delete;
  LocalRun& operator=(const LocalRun&) = delete;

  // Opens the page that context.line.web asks for. `stop` asks the experiment to stop; called on any thread, until this
  // is destroyed. Call it at most once, before Submit or Resume. INVALID_ARGUMENT names the option.
  absl::Status OpenPage(std::function<void(const std::string& experiment, const std::string& reason)> stop);

  // After End the head does nothing more, but a display may still read its counters.
  LocalHead& head() { return *head_; }
  // The address at which nodes join; empty if the configuration brings none.
  std::string node_address() const;
  // The address of the page; empty if there is none.
  std::string page_link() const;

  // See LocalHead. The page learns of all events that `watcher` gets, and before it does.
  absl::StatusOr<std::string> Submit(const v1::ExperimentConfig& config, LocalHead::Watcher watcher,
                                     const LocalHead::Abandoned& abandoned = nullptr);
  absl::Status Resume(const std::string& experiment, const v1::ExperimentConfig& config, LocalHead::Watcher watcher,
                      const LocalHead::Abandoned& abandoned = nullptr);

  // Ends the head; what runs can be resumed. Afterwards no watcher is called. The page stays open.
  void End();

 private:
  LocalRun(const CommandContext& context, StateDir state_dir, TelemetryPtr telemetry);
  LocalHead::Watcher WithPage(LocalHead::Watcher watcher);
  // For the page, on its threads.
  std::string WaitingFor(const std::string& experiment);
  absl::StatusOr<nlohmann::ordered_json> Nodes();

  const CommandContext& context_;
  const StateDir state_dir_;
  const TelemetryPtr telemetry_;
  std::unique_ptr<LocalHead> head_;
  // Destroyed before the head, which it uses.
  std::unique_ptr<NodePort> port_;

  // Held while the page asks the head.
  std::mutex mutex_;
  // Protected by mutex_: the head is not asked any more.
  bool ended_ = false;

  // Destroyed first: it uses all of the above.
  std::unique_ptr<RunPage> page_;
};

}  // namespace lanista

#endif  // LANISTA_SRC_LAUNCHER_LOCAL_RUN_H_
