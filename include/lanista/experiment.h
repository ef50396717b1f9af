// lanista::Experiment: a search that a C++ program runs (NNI: RetiariiExperiment). docs/cpp_api.md is its guide.
//
//   int main(int argc, char** argv) {
//     lanista::RegisterSpace<Net>("net");
//     lanista::Init(argc, argv);
//     auto experiment = lanista::Experiment::Parse(R"pb(
//       space { registered: "net" }
//       strategy { random {} }
//       evaluator { classification { dataset { synthetic_digits {} } } }
//       max_trial_number: 20
//     )pb");
//     if (!experiment.ok()) ...
//     if (const absl::Status status = experiment->Run(); !status.ok()) ...
//     const auto best = experiment->TopModels(3);     // in the loop itself it would be gone before the first model
//     for (const lanista::FoundModel& model : *best) std::cout << model.sample << "\n";
//   }
//
// It is the search that `lanista run` would do of the same configuration: the same journal in the same state folder,
// the same results bit for bit, and all commands (`lanista show`, `trials`, `export`, `resume`, `web`) know it. Head,
// strategy and journal are in this process; trials run in processes of their own (lanista/main.h).
#ifndef LANISTA_INCLUDE_LANISTA_EXPERIMENT_H_
#define LANISTA_INCLUDE_LANISTA_EXPERIMENT_H_

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "protos/experiment.pb.h"
#include "protos/messages.pb.h"

namespace lanista {

// How this process runs an experiment: nothing of it changes the results.
struct ExperimentSettings {
  // Where journals, logs and files are kept: as --state-dir of the command line.
  std::string state_dir = "~/.local/share/lanista";
  // The journal survives power loss, too, not only the end of processes.
  bool durable = false;
  // "[HOST:]PORT" of the web page; port 0: any. Empty: no page. The page closes when the Experiment is destroyed.
  std::string web;
  // Shows the progress on stdout, as `lanista run` does. Of one Experiment at a time.
  bool progress = false;
  // What the log shows on stderr: trace, debug, info, warn, error or off. STATE/lanista.log has all. Those of the
  // first Experiment that starts are the process's.
  std::string log_level = "warn";
};

// Where an experiment stands.
struct ExperimentStatus {
  // As `lanista list` shows it.
  std::string id;
  // For people.
  std::string name;
  // CREATED, RUNNING, STOPPING, DONE, STOPPED, FAILED, or INTERRUPTED: not at its end, and no process holds it.
  std::string state;
  // Why it is in this state, for people; may be empty.
  std::string reason;
  // The number of models in the space, in decimal; nullopt: it is not known, or there is no end.
  std::optional<std::string> space_size;
  // All models so far. What follows is how many of them fared how.
  int models = 0;
  // They have their metrics.
  int succeeded = 0;
  // They threw, crashed, ran out of time or memory, or reported no number.
  int failed = 0;
  // A stopper ended them.
  int stopped_early = 0;
  // They break a limit that was known before they were trained.
  int infeasible = 0;
  // The experiment ended before they did.
  int canceled = 0;
  // They wait or run.
  int unfinished = 0;
  // How long it has run.
  double seconds = 0;
};

// A model that a search has found.
struct FoundModel {
  // Its number in the experiment.
  int model = 0;
  // Its final metrics; `default` is among them.
  std::map<std::string, double> metrics;
  // What it chooses, as JSON: nn::BuildFixed<Net>(sample) makes it again.
  std::string sample;
};

// What Export writes: as the options of `lanista export`.
struct ExportSettings {
  // So many models, the best ones.
  int top = 1;
  // json, cpp, python, torchscript, onnx or weights.
  std::string format = "json";
  // The folder for the files; relative to the working directory. Made where it is missing.
  std::string out = ".";
  // Graph formats: models whose weights were not kept get their initial weights.
  bool untrained = false;
};

// The way to a head (docs/cluster.md): as the options of `lanista submit`. Relative paths start in the working
// directory.
struct HeadSettings {
  // "HOST:PORT".
  std::string address;
  // Encrypt. So do all others that begin with tls.
  bool tls = false;
  // A PEM file: the authorities of the head's certificate. Empty: the system's.
  std::string tls_ca;
  // A PEM file: the own certificate, where the head wants one.
  std::string tls_cert;
  // A PEM file: its key.
  std::string tls_key;
  // The first token in it is sent. Empty: LANISTA_TOKEN_FILE names the file.
  std::string token_file;
  // The token may travel to another machine without TLS.
  bool insecure = false;
};

// Threads: Stop, id, Status, TopModels, Export and page_link may be called by any thread at any time, and by the
// callback. The other calls are for one thread at a time: one that comes while another thread is in such a call does
// nothing and returns FAILED_PRECONDITION, which names both; so does one from the callback. Nothing throws. Several
// experiments may run in a process, and share its devices without knowing of each other. An Experiment that was moved
// from can only be assigned to or destroyed.
class Experiment {
 public:
  // Called on a thread of the experiment's, one call at a time, in order, from Start until Wait returns; the event was
  // recorded before. v1::ExperimentEvent has one of: `state`, `space`, `model` (an attempt starts, has built its
  // model, reports or ends), `outcome` (once for each model). It may take its time: the search goes on meanwhile. What
  // it throws is logged, and otherwise ignored.
  using EventCallback = std::function<void(const v1::ExperimentEvent& event)>;

  // A configuration that was built in C++; it is checked by Start. Relative paths in it start where the user stands.
  explicit Experiment(v1::ExperimentConfig config, ExperimentSettings settings = {});

  // The configuration of a file (protobuf text, or JSON where the name ends in .json), with overrides as `--set` of the
  // command line has them: "max_trial_number=20". INVALID_ARGUMENT and NOT_FOUND name file, place and what is allowed.
  static absl::StatusOr<Experiment> Load(const std::string& path, const std::vector<std::string>& overrides = {},
                                         ExperimentSettings settings = {});

  // The configuration as protobuf text. INVALID_ARGUMENT names line, column and what is allowed there.
  static absl::StatusOr<Experiment> Parse(const std::string& text, ExperimentSettings settings = {});

  // An experiment of the state folder; Start (or Run) goes on with it, with its results so far. `experiment`: an id,
  // the beginning of one, or "latest". Only limits and placement may be overridden. Without Start it only shows what is
  // there: Status, TopModels, Export. NOT_FOUND: there is none. INVALID_ARGUMENT: an override is not possible.
  static absl::StatusOr<Experiment> Resume(const std::string& experiment,
                                           const std::vector<std::string>& overrides = {},
                                           ExperimentSettings settings = {});

  // Where it still runs, it is interrupted: nothing that was reported is lost, and Resume goes on with it. Waits for a
  // call of the callback that is under way; events behind it are not told. REQUIRES: not called by the callback.
  ~Experiment();

  // An Experiment can be moved while it runs. What is left behind may only be destroyed or assigned to.
  Experiment(Experiment&& other) noexcept;
  // As the constructor; the Experiment that was here ends as by its destructor.
  Experiment& operator=(Experiment&& other) noexcept;

  // Calls `callback` with all events; call it before Start. FAILED_PRECONDITION: it has started.
  absl::Status OnEvent(EventCallback callback);

  // Starts the search and returns once its space is known and everything is checked. After an error nothing was
  // started or recorded, and it may be called again. INVALID_ARGUMENT, NOT_FOUND: the configuration's. Also
  // FAILED_PRECONDITION: lanista::Init was not called, a component could not be registered, it has started before, or
  // (Resume) another process runs it.
  absl::Status Start();

  // Waits for the end of the search. OK: it came to its end with a model to show, or was stopped by Stop or on the
  // page. ABORTED: it failed, or no model succeeded; says why. FAILED_PRECONDITION: it was not started. After Submit
  // also UNAVAILABLE, where the head stays away: it may be called again.
  absl::Status Wait();

  // Start, then Wait.
  absl::Status Run();

  // In place of Start: hands the search to a head, which runs it whether this process goes on or not. The head's trial
  // program, and that of its nodes, has to have the components that the configuration names; files that it names are
  // uploaded, unless the head sees the same under the same path. Wait then watches it, and calls the callback, on its
  // own thread; Stop, Status, TopModels and Export ask the head. What is wrong with the space becomes the experiment's
  // state. Errors: the configuration's, and UNAVAILABLE: no head can be reached at the address. After an error it may
  // be called again, also where the head had the search already: there will be one. ALREADY_EXISTS: it had, and a file
  // of it has changed since. lanista/client.h has the head's other experiments, too.
  absl::Status Submit(const HeadSettings& head);

  // Asks the search to stop: running trials are canceled, and Wait returns soon. Returns at once. Does nothing after
  // the end. FAILED_PRECONDITION: it was not started.
  absl::Status Stop(const std::string& reason = "stopped by the program");

  // Its id in the state folder; empty before it has started.
  std::string id() const;

  // The link of the page, with the token that it asks for; empty where there is none.
  std::string page_link() const;

  // Where it stands, from its journal. FAILED_PRECONDITION, here and below: it has not started.
  absl::StatusOr<ExperimentStatus> Status() const;

  // The best models so far, the best first: at most k, with several objectives the whole Pareto front. Empty: none has
  // succeeded yet. INVALID_ARGUMENT: k is below 1.
  absl::StatusOr<std::vector<FoundModel>> TopModels(int k) const;

  // Writes the best models so far and returns the paths of the files, the best model first. Errors:
  // INVALID_ARGUMENT: no such format (lists them), or top is below 1; FAILED_PRECONDITION: no model succeeded, it has
  // no graph, or weights were not kept. Nothing is written then.
  absl::StatusOr<std::vector<std::string>> Export(const ExportSettings& settings) const;

 private:
  class Impl;
  explicit Experiment(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace lanista

#endif  // LANISTA_INCLUDE_LANISTA_EXPERIMENT_H_
