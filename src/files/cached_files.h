// NodeFiles on a folder of this machine:
//
//   DIR/1/lock           held by the node that uses DIR/1; the next one on this machine takes DIR/2
//         files/         FileCache
//         trees/         one InputTree a set of inputs; removed when the node begins
//         assignments/   one folder an assignment: what its trial writes; removed when the node begins
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
#include "src/files/file_source.h"
#include "src/files/node_files.h"

namespace lanista {

class CachedFiles : public NodeFiles {
 public:
  struct Options {
    // Made when it is first needed; empty: an error then.
    std::string folder;
    // Of the files in it.
    int64_t max_bytes = 0;
    // After an error that may pass: so long at first, and then longer and longer, up to 30 s.
    std::chrono::milliseconds first_delay{1000};
  };

  CachedFiles(Options options, std::unique_ptr<FileSource> source);
  // Cancels what is being done, and waits for it.
  ~CachedFiles() override;

  std::shared_ptr<Cancellation> Prepare(const v1::Assignment& assignment, Done done) override;

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
  std::shared_ptr<const InputTree> FindKept(const std::string& key);
  // Returns the tree that is kept for the key: this one, or one that was there before.
  std::shared_ptr<const InputTree> Keep(const std::string& key, std::shared_ptr<const InputTree> tree);
  // Lets go of the tree that was used longest ago.
  bool ReleaseTree();

  const Options options_;
  const std::unique_ptr<FileSource> source_;
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

  // Last: its threads use the rest.
  std::optional<WorkQueue> queue_;
};

}  // namespace lanista

#endif  // LANISTA_SRC_FILES_CACHED_FILES_H_
