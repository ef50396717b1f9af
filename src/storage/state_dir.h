// The state folder: where experiments keep their journals, logs and files.
//
//   STATE/experiments/ID/journal.db   the journal (journal.h), with SQLite's -wal and -shm beside it while it is open
//                        lock         held by the process that runs the experiment (experiment_lock.h)
//                        last_words   why it ended, where the journal could not be written (last_words.h)
//                        logs/        what trials printed: one file a trial
//                        trials/      what evaluators left behind: one folder a trial
//                        checkpoints/ what lets lost attempts go on: one folder a model, until it has a result
//                        incoming/    what nodes deliver, while it is on its way
//   STATE/shared_data/                data that trial processes have in memory once (src/base/shared_bytes.h)
//   STATE/uploads/                    what clients brought for their experiments (src/service/uploads.h)
//
// Ids from outside are checked before they touch the file system.
#ifndef LANISTA_SRC_STORAGE_STATE_DIR_H_
#define LANISTA_SRC_STORAGE_STATE_DIR_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace lanista {

// OK if `id` may name an experiment: 1 to 100 of the characters A-Z a-z 0-9 _ . -, no ".." and no leading '.' or '-'
// (a hidden file, an option). Else INVALID_ARGUMENT.
absl::Status CheckExperimentId(absl::string_view id);

// Names in a state folder. A value: copies are cheap, any thread may use it.
class StateDir {
 public:
  // Makes the folder, with its parents, where it is missing. An error names the folder that cannot be made or written,
  // or that lies on a network file system.
  static absl::StatusOr<StateDir> Open(const std::string& path);

  // For readers: makes and writes nothing. A folder that is not there is an empty state folder.
  static StateDir OpenReadOnly(const std::string& path);

  const std::string& root() const { return root_; }

  // STATE/shared_data, whether it is there or not.
  std::string SharedDataFolder() const;

  // STATE/experiments/ID, whether it is there or not. INVALID_ARGUMENT for an impossible id.
  absl::StatusOr<std::string> ExperimentFolder(absl::string_view id) const;

  // A new id, readable and unique in this state folder ("mnist_search-k3f9"), whose folder (with logs/ and trials/) is
  // made at once, so that no other process gets the same. REQUIRES: made by Open.
  absl::StatusOr<std::string> NewExperimentId(absl::string_view name) const;

  // The id for an experiment of this name that a client's request makes. It is always the same for the same request, so
  // a request that comes twice finds its experiment. If another request has the same id, take the next `attempt` (from
  // 0), which gives another id. Makes no folder.
  static std::string IdOfRequest(absl::string_view name, absl::string_view request_id, int attempt);

  // Makes the experiment's folder with logs/ and trials/; false: there is one. REQUIRES: made by Open.
  absl::StatusOr<bool> MakeExperimentFolder(absl::string_view id) const;

  // The ids of all experiments that have a journal, sorted.
  absl::StatusOr<std::vector<std::string>> List() const;

 private:
  explicit StateDir(std::string root) : root_(std::move(root)) {}

  std::string root_;
};

// Paths below an experiment's folder: the file with a trial's output, and the folder for the files of one of its
// models. A merged trial has a folder for each model. These functions return names only and make nothing.
std::string TrialLogFile(int trial);
std::string TrialOutputFolder(int trial, int model, bool merged);
// In it, the weights of a trained model (keep_weights): a state_dict.
inline constexpr char kWeightsFile[] = "weights.pt";
// The path below an experiment's folder for a model's checkpoints, which all of its attempts share.
std::string CheckpointFolder(int model);
// The path below an experiment's folder for what nodes deliver, until all of it has arrived.
std::string IncomingFolder();

// Deletes the experiment's folder with its content, but not the targets of links in it. NOT_FOUND: there is no such
// experiment. FAILED_PRECONDITION: a process, which the message names, holds it.
absl::Status RemoveExperiment(const StateDir& state_dir, absl::string_view id);

}  // namespace lanista

#endif  // LANISTA_SRC_STORAGE_STATE_DIR_H_
