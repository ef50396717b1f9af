// lanista::Client: a head that runs searches for many programs (docs/cluster.md), from C++. It does what the commands
// `submit`, `list`, `show`, `watch`, `stop`, `resume`, `export` and `delete` with --head do.
//
//   lanista::HeadSettings head;
//   head.address = "gpu1:7421";
//   head.token_file = "token";
//   auto client = lanista::Client::Connect(head);
//   if (!client.ok()) ...
//   const auto config = lanista::LoadConfig("search.textproto", {"max_trial_number=20"});
//   if (!config.ok()) ...
//   const auto id = client->Submit(*config);
//   if (!id.ok()) ...
//   const absl::Status status = client->Watch(*id, [](const lanista::v1::ExperimentEvent& event) {
//     if (event.has_outcome()) std::cout << "model " << event.outcome().model() << "\n";
//     return true;                                             // false: seen enough
//   });
//   const auto best = client->TopModels(*id, 3);
//
// The head and its nodes run the search, with the components of their own programs; this program needs none of them,
// and no lanista::Init. For one search that this program waits for, Experiment::Submit (lanista/experiment.h) does the
// same.
//
// In all calls `experiment` is an id, a beginning that no other id of the head has, or "latest". Nothing throws.
// Errors, of all calls: NOT_FOUND: there is no such experiment; UNAVAILABLE: no head can be reached at the address;
// UNAUTHENTICATED and PERMISSION_DENIED: it wants another token; DATA_LOSS: the answer is none of this version's. Each
// says what to do.
#ifndef LANISTA_INCLUDE_LANISTA_CLIENT_H_
#define LANISTA_INCLUDE_LANISTA_CLIENT_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lanista/experiment.h"
#include "protos/experiment.pb.h"
#include "protos/messages.pb.h"
#include "src/config/config.h"

namespace lanista {

// A connection to a head, which the object owns. Thread-safe: any number of threads may call it at the same time, and a
// call blocks its caller alone.
class Client {
 public:
  // Called with each event of a watched experiment, in order, on the thread that watches. Returns whether it wants
  // more.
  using EventCallback = std::function<bool(const v1::ExperimentEvent& event)>;

  // The way to a head; it is asked for nothing yet. INVALID_ARGUMENT, NOT_FOUND: what is wrong with the address, or
  // with a file of the settings.
  static absl::StatusOr<Client> Connect(const HeadSettings& head);

  // Ends the connection; experiments go on. REQUIRES: no call is under way.
  ~Client();

  // The connection goes on in the new one. What is left behind may only be destroyed or assigned to.
  Client(Client&& other) noexcept;
  // As the constructor; the connection that was here ends.
  Client& operator=(Client&& other) noexcept;

  // Hands a search to the head, and returns its id. Files and folders of this machine that the configuration names are
  // uploaded, unless the head sees the same under the same path; relative ones start where the user stands. Two calls
  // with the same `request_id`, which is not empty, and the same name make one experiment: so one can ask again after
  // an error. INVALID_ARGUMENT: the configuration's, by the path of the field. What is wrong with the space becomes the
  // experiment's state. ALREADY_EXISTS: the `request_id` came with another configuration.
  absl::StatusOr<std::string> Submit(const v1::ExperimentConfig& config, const std::string& request_id = "");

  // Where an experiment stands.
  absl::StatusOr<ExperimentStatus> Get(const std::string& experiment);

  // Where all experiments of the head stand, the oldest first. An experiment whose journal cannot be read has the state
  // UNREADABLE, and why as its reason. Sizes of spaces are not told here.
  absl::StatusOr<std::vector<ExperimentStatus>> List();

  // Calls `callback` with the events behind the one with the number `after` (0: all of them), and returns at the end of
  // the experiment, or when `callback` wants no more. If the head goes away it waits for a minute for its return.
  // ABORTED: nobody runs the experiment any more: Resume goes on with it. INTERNAL: what the callback threw.
  absl::Status Watch(const std::string& experiment, const EventCallback& callback, int64_t after = 0);

  // Asks an experiment to stop: running trials are canceled. Returns at once; Watch returns when it has stopped.
  absl::Status Stop(const std::string& experiment, const std::string& reason = "stopped by the program");

  // Goes on with an experiment that nobody runs. `overrides` as --set has them: limits and placement.
  // FAILED_PRECONDITION: it runs, or has come to its end.
  absl::Status Resume(const std::string& experiment, const std::vector<std::string>& overrides = {});

  // Deletes an experiment that nobody runs, with its files. `id` is the whole id. FAILED_PRECONDITION: it runs.
  absl::Status Delete(const std::string& id);

  // The best models so far, the best first: at most k, with several objectives the whole Pareto front. Empty: none has
  // succeeded yet. INVALID_ARGUMENT: k is below 1.
  absl::StatusOr<std::vector<FoundModel>> TopModels(const std::string& experiment, int k);

  // Exports the best models at the head, and writes the files on this machine. Returns their paths, the best model
  // first. May take minutes. Errors: as Experiment::Export.
  absl::StatusOr<std::vector<std::string>> Export(const std::string& experiment, const ExportSettings& settings = {});

 private:
  class Impl;
  explicit Client(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace lanista

#endif  // LANISTA_INCLUDE_LANISTA_CLIENT_H_
