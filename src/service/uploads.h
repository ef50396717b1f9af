// Files that clients brought to the head, for the paths in their experiments' configurations.
//
//   STATE/uploads/files/SHA256          a file, once, however often it was uploaded; nobody may write to it
//                 sets/SHA256/data/...  what one upload listed: hard links to files/, under the names of the list. The
//                                       digest is the list's: the same files are one set
//                 sets/SHA256/users/ID  empty: an experiment that names the set
//                 unfinished/           of uploads that have not ended, and sets that go; emptied when the head begins
//
// A set goes with the last experiment that names it, and a file with the last set. What nobody has named yet stays for
// an hour, so that a client whose connection was lost need not send again what has arrived; after that it goes with a
// later upload (one looks for such sets each quarter of an hour, or when room is short) or the next deletion.
#ifndef LANISTA_SRC_SERVICE_UPLOADS_H_
#define LANISTA_SRC_SERVICE_UPLOADS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "protos/experiment.pb.h"
#include "protos/service.pb.h"
#include "src/base/sha256_stream.h"
#include "src/base/unique_fd.h"
#include "src/storage/state_dir.h"

namespace lanista {

class Uploads;

// Files and folders of one upload.
inline constexpr int kMaxUploadedFiles = 200000;
// The list of one upload: paths, sizes and digests.
inline constexpr int64_t kMaxUploadListBytes = int64_t{64} << 20;

// One upload on its way. Used by one thread at a time; calls write to the disk. Where it ends early its destructor
// removes what was not complete.
class Upload {
 public:
  ~Upload();
  Upload(const Upload&) = delete;
  Upload& operator=(const Upload&) = delete;

  // The files that the head has not: positions in the list.
  const std::vector<int>& wanted() const { return wanted_; }

  // The next bytes of these files. INVALID_ARGUMENT: there are more than the list says. DATA_LOSS names the file that
  // is another one than the list says. Else the system's error.
  absl::Status Write(absl::string_view bytes);

  // Whether all bytes came.
  bool complete() const { return next_ == wanted_.size(); }

  // The folder with all that was listed. REQUIRES: complete().
  absl::StatusOr<std::string> Finish();

 private:
  friend class Uploads;

  Upload(Uploads* uploads, v1::UploadList list, std::string digest)
      : uploads_(*uploads), list_(std::move(list)), digest_(std::move(digest)) {}

  absl::Status OpenNext();
  absl::Status EndFile();
  // Empty files need no bytes.
  absl::Status SkipEmpty();

  Uploads& uploads_;
  // Its digests are those of files/: 64 hex digits.
  v1::UploadList list_;
  // Of the list.
  const std::string digest_;
  std::vector<int> wanted_;
  // The bytes that were taken for what is not there yet.
  int64_t reserved_ = 0;
  // Of wanted_: the file that is being written.
  size_t next_ = 0;
  std::string unfinished_;
  UniqueFd file_;
  int64_t written_ = 0;
  std::unique_ptr<Sha256Stream> sha256_;
};

// Thread-safe; calls look at the disk. Outlives its Uploads.
class Uploads {
 public:
  struct Options {
    // Of the files of one upload, and of all files that are kept.
    int64_t max_bytes = int64_t{1} << 30;
    int64_t max_total_bytes = int64_t{20} << 30;
    // How long what nobody has named stays.
    absl::Duration grace = absl::Hours(1);
  };

  // Finds out what the experiments of the folder name, and removes what none does. Errors: the folder cannot be
  // written.
  static absl::StatusOr<std::unique_ptr<Uploads>> Open(const StateDir& state_dir, const Options& options);

  // INVALID_ARGUMENT: a path of the list leads elsewhere, is there twice, or a digest is none. RESOURCE_EXHAUSTED: it
  // is too much, or there is no room. `list`: all of its parts.
  absl::StatusOr<std::unique_ptr<Upload>> Begin(v1::UploadList list);

  // Whether `path` lies in a set that is here. It stays for the grace from now on.
  bool Has(const std::string& path);
  // The experiment names what `config` does: that stays as long as there is the experiment, also where it cannot be
  // noted now.
  void Keep(const v1::ExperimentConfig& config, const std::string& experiment);
  // Removes what no experiment names any more.
  void Sweep();

  // Of all files that are here.
  int64_t bytes() const;
  // Options.max_bytes.
  int64_t max_bytes() const { return options_.max_bytes; }

 private:
  friend class Upload;

  Uploads(std::string root, std::string experiments, const Options& options)
      : root_(std::move(root)), experiments_(std::move(experiments)), options_(options) {}

  absl::Status Load(const StateDir& state_dir);
  std::string FilePath(const std::string& sha256) const;
  std::string SetFolder(const std::string& digest) const;
  // The digest of the set that the path lies in; empty: it lies in none.
  std::string SetOf(const std::string& path) const;
  absl::Status WriteUser(const std::string& digest, const std::string& experiment) const;
  bool HasExperiment(const std::string& id) const;
  // With mutex_ locked, here and below. What cannot be written is tried again.
  void WriteUsersLocked();
  void SweepLocked();
  bool HasUser(const std::string& set) const;
  bool IsFresh(const std::string& path) const;

  // For Upload. A file is complete, under this name.
  absl::Status AddFile(const std::string& unfinished, const std::string& sha256, int64_t size);
  absl::Status MakeSet(const v1::UploadList& list, const std::string& digest);
  absl::Status Link(const std::string& sha256, const std::string& path);
  void End(const Upload& upload);

  const std::string root_;
  // Where experiments have their folders.
  const std::string experiments_;
  const Options options_;

  mutable std::mutex mutex_;
  // Protected by mutex_. Of files/.
  int64_t bytes_ = 0;
  // Of uploads that have not ended: bytes that will come, and how many want each file to stay.
  int64_t reserved_ = 0;
  std::map<std::string, int> in_use_;
  int64_t last_number_ = 0;
  // (Set, experiment) that has no note in users/ yet.
  std::set<std::pair<std::string, std::string>> unwritten_users_;
  // When it was last swept.
  absl::Time swept_ = absl::InfinitePast();
};

}  // namespace lanista

#endif  // LANISTA_SRC_SERVICE_UPLOADS_H_
