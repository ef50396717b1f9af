// The web page of `run`, `resume`, `serve` and `web`: its options, and what its actions may do.
#ifndef LANISTA_SRC_LAUNCHER_PAGE_H_
#define LANISTA_SRC_LAUNCHER_PAGE_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "nlohmann/json_fwd.hpp"
#include "protos/messages.pb.h"
#include "src/launcher/command_line.h"
#include "src/launcher/trial_program.h"
#include "src/service/experiments.h"
#include "src/service/model_maker.h"
#include "src/storage/state_dir.h"
#include "src/telemetry/telemetry.h"
#include "src/web/web_server.h"

namespace lanista {

// What --web (or `web --listen`), --web-token, --web-host, --tls-cert, --tls-key and --insecure ask for. `mode`: "run",
// "serve" or "view". INVALID_ARGUMENT names the option.
absl::StatusOr<WebOptions> PageOptions(const CommandLine& line, const std::string& state_dir, const std::string& mode);

// The default options for the experiments that a page shows.
Experiments::Options ForPage(ModelMaker* model_maker);

// "page: http://...".
std::string PageLine(const std::string& link);

// The page of a search that this process runs. It reads the journal as any other reader does, so the search never waits
// for the page.
class RunPage {
 public:
  // What the page asks of the head that runs the search. Called on any thread until the page is destroyed.
  struct Search {
    // Asks the search to stop.
    std::function<void(const std::string& experiment, const std::string& reason)> stop;
    // See ExperimentRunner.
    std::function<std::string(const std::string& experiment)> waiting_for;
    // See ApiOptions.
    std::function<absl::StatusOr<nlohmann::ordered_json>()> nodes;
  };

  // `telemetry` belongs to the head that runs the search.
  static absl::StatusOr<std::unique_ptr<RunPage>> Start(const CommandLine& line, const StateDir& state_dir,
                                                        const TrialProgram& trial_program, TelemetryPtr telemetry,
                                                        Search search);
  ~RunPage();

  const std::string& link() const;
  // The search of this page is this experiment, and the page stops no other one. Without it, the first event tells.
  void Began(const std::string& experiment);
  // Tells the page that an event of its search was recorded. Does not block.
  void OnEvent(const v1::ExperimentEvent& event);

 private:
  class Impl;
  explicit RunPage(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace lanista

#endif  // LANISTA_SRC_LAUNCHER_PAGE_H_
