// NodeFiles on a folder of this machine:
//
//   DIR/HOST-1/lock           held by the node that uses DIR/HOST-1; the next one on this machine takes DIR/HOST-2
//              files/         FileCache
//              trees/         one InputTree a set of inputs; removed when the node begins
//              assignments/   one folder an assignment: what its trial writes; removed when the node begins
//       HOST-shared_data/     data that trial processes have in memory once (src/base/shared_bytes.h)
//
// Machines that share DIR have folders of their own: locks of a network's file system may hold on one machine only.
#ifndef LANISTA_SRC_FILES_CACHED_FILES_H_
#define LANISTA_SRC_FILES_CACHED_FILES_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "src/base/unique_fd.h"
#include "src/base/work_queue.h"
#include "src/files/file_sink.h"
#include "src/files/file_source.h"
#include "src/files/node_files.h"
#include "src/files/output_deliveries.h"

namespace lanista {

class CachedFiles : public NodeFiles {
 public:
  struct Options {
    // Made when it is first needed; empty: an error then.
    std::string folder;
    // Of the files in it.
    int64_t max_bytes = 0;
    // Names the folders of this machine; empty: by its name.
    std::string host = {};
    // So many assignments may bring their files at the same time. Others wait.
    int threads = 4;
    // After an error that may pass: so long at first, and then longer and longer, up to 30 s.
    std::chrono::milliseconds first_delay{1000};
    // How often the checkpoints of running trials are looked at.
    std::chrono::milliseconds look_interval{2000};
  };

  // DIR/HOST, with which the names of this machine's folders in DIR begin. `host`: see Options.
  static std::string MachineFolder(const std::string& folder, std::string host = "");

  // Copies come from `source`, and what trials write goes to `sink`.
  CachedFiles(Options options, std::shared_ptr<FileSource> source, std::shared_ptr<FileSink> sink);
  // Cancels what is being done, and waits for it.
  ~CachedFiles() override;

  std::shared_ptr<Cancellation> Prepare(const v1::Assignment& assignment, Done done) override;
  std::unique_ptr<TrialOutputs> Follow(const v1::Assignment& assignment, const LocalWorkPtr& work) override;

 private:
  // A tree, and the experiment and paths that it was made for.
  using Kept = std::pair<std::string, std::shared_ptr<const InputTree>>;

  // OK: there is a folder, and a cache in it.
  absl::Status Open();
  absl::Status Claim(const std::string& folder);
  absl::StatusOr<LocalWorkPtr> Bring(const v1::Assignment& assignment, Cancellation* cancellation);
  absl::StatusOr<std::shared_ptr<const InputTree>> BringInputs(const std::string& assignment,
                                                               const v1::AssignmentInputs& inputs,
                                                               Cancellation* cancellation);
  // What lets the trial's models go on, into the folders of `work`. A checkpoint that cannot come is told in the log:
  // then the model begins anew.
  absl::Status BringCheckpoints(const v1::Assignment& assignment, const LocalWork& work, Cancellation* cancellation);
  std::shared_ptr<const InputTree> FindKept(const std::string& key);
  // Returns the tree that is kept for the key: this one, or one that was there before.
  std::shared_ptr<const InputTree> Keep(const std::string& key, std::shared_ptr<const InputTree> tree);
  // Lets go of the tree that was used longest ago.
  bool ReleaseTree();

  const Options options_;
  const std::shared_ptr<FileSource> source_;
  std::atomic<int64_t> last_number_{0};

  std::mutex open_mutex_;
  // Set once, by Open.
  UniqueFd lock_;
  std::string folder_;
  std::optional<FileCache> cache_;

  std::mutex mutex_;
  // Protected by mutex_. The last one used comes first.
  std::list<Kept> kept_;
  std::set<std::shared_ptr<Cancellation>> running_;

  // Last: their threads use the rest.
  OutputDeliveries deliveries_;
  std::optional<WorkQueue> queue_;
};

}  // namespace lanista

#endif  // LANISTA_SRC_FILES_CACHED_FILES_H_
