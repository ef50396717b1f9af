#include "src/service/uploads.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <iterator>
#include <system_error>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "src/base/display_text.h"
#include "src/base/logging.h"
#include "src/base/open_beneath.h"
#include "src/base/output_files.h"
#include "src/base/sha256.h"
#include "src/base/status.h"
#include "src/base/utf8.h"
#include "src/config/paths.h"
#include "src/storage/journal.h"

namespace lanista {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxPathBytes = 2000;
// Of a path that is shown.
constexpr size_t kMaxShownBytes = 255;
constexpr size_t kSha256Bytes = 32;
// Looking at each file takes a moment where there are many.
constexpr absl::Duration kSweepInterval = absl::Minutes(15);

// For people: it may be anything.
std::string Shown(const std::string& path) { return OneLine(ToUtf8(path.substr(0, kMaxShownBytes))); }

absl::Status CheckRelative(const std::string& path) {
  if (IsPathBelow(path, kMaxPathBytes)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("list: '", Shown(path), "' cannot be the path of a file below a folder"));
}

// Whether all paths can be made, each once.
absl::Status CheckList(const v1::UploadList& list) {
  std::set<std::string> files;
  for (const v1::UploadFile& file : list.files()) {
    LANISTA_RETURN_IF_ERROR(CheckRelative(file.path()));
    if (file.sha256().size() != kSha256Bytes || file.size() < 0) {
      return absl::InvalidArgumentError(absl::StrCat("list: '", Shown(file.path()), "' has no SHA-256 or no size"));
    }
    if (!files.insert(file.path()).second) {
      return absl::InvalidArgumentError(absl::StrCat("list: '", Shown(file.path()), "' is there twice"));
    }
  }
  const auto check_folders = [&files](std::string path) {
    while (!path.empty()) {
      if (files.count(path) > 0) {
        return absl::InvalidArgumentError(absl::StrCat("list: '", Shown(path), "' is a file and a folder"));
      }
      const size_t slash = path.rfind('/');
      path.resize(slash == std::string::npos ? 0 : slash);
    }
    return absl::OkStatus();
  };
  for (const std::string& folder : list.folders()) {
    LANISTA_RETURN_IF_ERROR(CheckRelative(folder));
    LANISTA_RETURN_IF_ERROR(check_folders(folder));
  }
  for (const std::string& file : files) {
    const size_t slash = file.rfind('/');
    if (slash != std::string::npos) LANISTA_RETURN_IF_ERROR(check_folders(file.substr(0, slash)));
  }
  return absl::OkStatus();
}

// The same for the same files in whatever order. REQUIRES: it is sorted.
std::string DigestOf(const v1::UploadList& list) {
  Sha256Stream digest;
  for (const v1::UploadFile& file : list.files()) {
    digest.Add(absl::StrCat("file ", file.path().size(), " ", file.path(), " ", file.sha256(), "\n"));
  }
  for (const std::string& folder : list.folders())
    digest.Add(absl::StrCat("folder ", folder.size(), " ", folder, "\n"));
  return digest.Finish();
}

absl::Status MakeFolder(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  return error ? ErrnoToStatus(error.value(), absl::StrCat("cannot make ", path)) : absl::OkStatus();
}

// The names in a folder; none where there is no such folder.
std::vector<std::string> NamesIn(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    names.push_back(entry->path().filename().string());
  }
  return names;
}

// It was used now; or, never: nobody needs it once nothing names it.
void SetTime(const std::string& path, bool now) {
  const timespec never[2] = {};
  utimensat(AT_FDCWD, path.c_str(), now ? nullptr : never, 0);
}

}  // namespace

// ---- One upload ----

Upload::~Upload() {
  if (!unfinished_.empty()) unlink(unfinished_.c_str());
  uploads_.End(*this);
}

absl::Status Upload::OpenNext() {
  {
    const std::lock_guard<std::mutex> lock(uploads_.mutex_);
    unfinished_ = absl::StrCat(uploads_.root_, "/unfinished/", ++uploads_.last_number_);
  }
  file_ = UniqueFd(open(unfinished_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (file_.get() < 0) return ErrnoToStatus(errno, absl::StrCat("cannot write ", std::exchange(unfinished_, "")));
  written_ = 0;
  sha256_ = std::make_unique<Sha256Stream>();
  return absl::OkStatus();
}

absl::Status Upload::EndFile() {
  const v1::UploadFile& listed = list_.files(wanted_[next_]);
  if (sha256_->Finish() != listed.sha256()) {
    return absl::DataLossError(
        absl::StrCat("'", Shown(listed.path()),
                     "' came with another content than its SHA-256 says: was it changed while it "
                     "was sent?"));
  }
  // Others read it, and no trial may write to it. It is synced with all the others, by Finish.
  if (fchmod(file_.get(), 0444) != 0 || file_.Close() != 0) {
    return ErrnoToStatus(errno, absl::StrCat("cannot write ", unfinished_));
  }
  reserved_ -= listed.size();
  LANISTA_RETURN_IF_ERROR(uploads_.AddFile(unfinished_, listed.sha256(), listed.size()));
  unfinished_.clear();
  ++next_;
  return absl::OkStatus();
}

absl::Status Upload::SkipEmpty() {
  while (!complete() && unfinished_.empty()) {
    LANISTA_RETURN_IF_ERROR(OpenNext());
    if (list_.files(wanted_[next_]).size() > 0) break;
    LANISTA_RETURN_IF_ERROR(EndFile());
  }
  return absl::OkStatus();
}

absl::Status Upload::Write(absl::string_view bytes) {
  while (!bytes.empty()) {
    if (complete()) return absl::InvalidArgumentError("content: there is more than the list says");
    const int64_t left = list_.files(wanted_[next_]).size() - written_;
    const absl::string_view now = bytes.substr(0, static_cast<size_t>(left));
    sha256_->Add(now);
    for (absl::string_view rest = now; !rest.empty();) {
      const ssize_t count = write(file_.get(), rest.data(), rest.size());
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return ErrnoToStatus(errno, absl::StrCat("cannot write ", unfinished_));
      rest.remove_prefix(static_cast<size_t>(count));
    }
    written_ += static_cast<int64_t>(now.size());
    bytes.remove_prefix(now.size());
    if (written_ < list_.files(wanted_[next_]).size()) continue;
    LANISTA_RETURN_IF_ERROR(EndFile());
    LANISTA_RETURN_IF_ERROR(SkipEmpty());
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> Upload::Finish() {
  LANISTA_RETURN_IF_ERROR(uploads_.MakeSet(list_, digest_));
  return uploads_.SetFolder(digest_) + "/data";
}

// ---- All of them ----

absl::StatusOr<std::unique_ptr<Uploads>> Uploads::Open(const StateDir& state_dir, const Options& options) {
  std::unique_ptr<Uploads> uploads(
      new Uploads(state_dir.root() + "/uploads", state_dir.root() + "/experiments", options));
  LANISTA_RETURN_IF_ERROR(uploads->Load(state_dir));
  return uploads;
}

absl::Status Uploads::Load(const StateDir& state_dir) {
  std::error_code ignored;
  fs::remove_all(root_ + "/unfinished", ignored);
  for (const char* const folder : {"files", "sets", "unfinished"}) {
    LANISTA_RETURN_IF_ERROR(MakeFolder(absl::StrCat(root_, "/", folder)));
  }
  for (const std::string& name : NamesIn(root_ + "/files")) {
    struct stat info = {};
    if (stat(FilePath(name).c_str(), &info) != 0) continue;
    // Nobody has synced what is in no set yet.
    if (info.st_nlink == 1 && unlink(FilePath(name).c_str()) == 0) continue;
    bytes_ += info.st_size;
  }
  swept_ = absl::Now();
  if (NamesIn(root_ + "/sets").empty()) return absl::OkStatus();
  // A head that was killed may have recorded an experiment without having noted what it names.
  LANISTA_ASSIGN_OR_RETURN(const std::vector<std::string> ids, state_dir.List());
  for (const std::string& id : ids) {
    LANISTA_ASSIGN_OR_RETURN(const std::string folder, state_dir.ExperimentFolder(id));
    const absl::StatusOr<JournalReader> journal = JournalReader::Open(folder);
    if (journal.ok()) Keep(journal->experiment().config(), id);
  }
  Sweep();
  return absl::OkStatus();
}

std::string Uploads::FilePath(const std::string& sha256) const { return absl::StrCat(root_, "/files/", sha256); }
std::string Uploads::SetFolder(const std::string& digest) const { return absl::StrCat(root_, "/sets/", digest); }

std::string Uploads::SetOf(const std::string& path) const {
  absl::string_view rest = path;
  if (!absl::ConsumePrefix(&rest, root_ + "/sets/")) return "";
  const std::string digest(rest.substr(0, rest.find('/')));
  rest.remove_prefix(digest.size());
  if (!IsSha256(digest) || !absl::ConsumePrefix(&rest, "/data/")) return "";
  return CheckRelative(std::string(rest)).ok() ? digest : "";
}

absl::StatusOr<std::unique_ptr<Upload>> Uploads::Begin(v1::UploadList list) {
  LANISTA_RETURN_IF_ERROR(CheckList(list));
  int64_t total = 0;
  for (v1::UploadFile& file : *list.mutable_files()) {
    file.set_sha256(absl::BytesToHexString(file.sha256()));
    total += std::min(file.size(), options_.max_bytes + 1);
    if (total <= options_.max_bytes) continue;
    return absl::ResourceExhaustedError(absl::StrCat(
        "what the experiment reads has more than the ", options_.max_bytes >> 20,
        " MiB that a client may upload (`serve --upload-limit`): leave it where it is and name it as data of the "
        "machines that have it, data://NAME/sub, with `--data NAME=DIR` of `node` or `serve`"));
  }
  // By position, because the client knows the files by theirs.
  v1::UploadList sorted = list;
  std::sort(sorted.mutable_files()->begin(), sorted.mutable_files()->end(),
            [](const v1::UploadFile& a, const v1::UploadFile& b) { return a.path() < b.path(); });
  std::sort(sorted.mutable_folders()->begin(), sorted.mutable_folders()->end());
  const std::string digest = DigestOf(sorted);
  sorted.Clear();
  std::unique_ptr<Upload> upload(new Upload(this, std::move(list), digest));
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    // From now on nothing of it goes: the destructor of the upload takes this back.
    for (const v1::UploadFile& file : upload->list_.files()) ++in_use_[file.sha256()];
    std::map<std::string, int64_t> wanted;
    for (int i = 0; i < upload->list_.files_size(); ++i) {
      const v1::UploadFile& file = upload->list_.files(i);
      const auto [found, added] = wanted.emplace(file.sha256(), file.size());
      if (!added && found->second == file.size()) continue;
      struct stat info = {};
      if (added && stat(FilePath(file.sha256()).c_str(), &info) == 0) {
        if (info.st_size == file.size()) continue;
      }
      upload->wanted_.push_back(i);
      upload->reserved_ += file.size();
    }
    const bool has_room = bytes_ + reserved_ + upload->reserved_ <= options_.max_total_bytes;
    if (!has_room || absl::Now() - swept_ > kSweepInterval) SweepLocked();
    if (bytes_ + reserved_ + upload->reserved_ > options_.max_total_bytes) {
      upload->reserved_ = 0;
      // Its destructor takes the lock.
      return absl::ResourceExhaustedError(absl::StrCat(
          "there is no room for it: uploaded files may have ", options_.max_total_bytes >> 20,
          " MiB together (`serve --upload-space`); `delete` experiments that nobody needs, or name it as data of the "
          "machines that have it: data://NAME/sub, with `--data NAME=DIR` of `node` or `serve`"));
    }
    reserved_ += upload->reserved_;
  }
  LANISTA_RETURN_IF_ERROR(upload->SkipEmpty());
  return upload;
}

void Uploads::End(const Upload& upload) {
  const std::lock_guard<std::mutex> lock(mutex_);
  reserved_ -= upload.reserved_;
  for (const v1::UploadFile& file : upload.list_.files()) {
    const auto found = in_use_.find(file.sha256());
    if (--found->second == 0) in_use_.erase(found);
  }
}

absl::Status Uploads::AddFile(const std::string& unfinished, const std::string& sha256, int64_t size) {
  const std::lock_guard<std::mutex> lock(mutex_);
  reserved_ -= size;
  struct stat info = {};
  const bool is_new = stat(FilePath(sha256).c_str(), &info) != 0;
  if (rename(unfinished.c_str(), FilePath(sha256).c_str()) != 0) {
    return ErrnoToStatus(errno, absl::StrCat("cannot write ", FilePath(sha256)));
  }
  if (is_new) bytes_ += size;
  return absl::OkStatus();
}

absl::Status Uploads::MakeSet(const v1::UploadList& list, const std::string& digest) {
  const std::string place = SetFolder(digest);
  std::string folder;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    std::error_code error;
    if (fs::exists(place, error)) {
      SetTime(place, /*now=*/true);
      return absl::OkStatus();
    }
    folder = absl::StrCat(root_, "/unfinished/", ++last_number_);
  }
  const absl::Status made = [&]() -> absl::Status {
    LANISTA_RETURN_IF_ERROR(MakeFolder(folder + "/users"));
    LANISTA_RETURN_IF_ERROR(MakeFolder(folder + "/data"));
    for (const std::string& path : list.folders()) {
      LANISTA_RETURN_IF_ERROR(MakeFolder(absl::StrCat(folder, "/data/", path)));
    }
    for (const v1::UploadFile& file : list.files()) {
      const std::string path = absl::StrCat(folder, "/data/", file.path());
      LANISTA_RETURN_IF_ERROR(MakeFolder(fs::path(path).parent_path().string()));
      LANISTA_RETURN_IF_ERROR(Link(file.sha256(), path));
    }
    // One call for all files: syncing each of thousands of images takes minutes.
    const UniqueFd root(open(root_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (root.get() < 0 || syncfs(root.get()) != 0) return ErrnoToStatus(errno, absl::StrCat("cannot write ", root_));
    if (rename(folder.c_str(), place.c_str()) == 0 || errno == EEXIST || errno == ENOTEMPTY) return absl::OkStatus();
    return ErrnoToStatus(errno, absl::StrCat("cannot write ", place));
  }();
  std::error_code ignored;
  // Another upload of the same files may have made the set first.
  fs::remove_all(folder, ignored);
  if (made.ok()) SetTime(place, /*now=*/true);
  return made;
}

absl::Status Uploads::Link(const std::string& sha256, const std::string& path) {
  const std::string file = FilePath(sha256);
  if (link(file.c_str(), path.c_str()) != 0) {
    if (errno != EMLINK) return ErrnoToStatus(errno, absl::StrCat("cannot link ", path, " to ", file));
    // File systems bound how many names a file has (an image that is in a folder 100,000 times): from here on a copy.
    std::error_code error;
    fs::copy_file(file, path, error);
    if (error) return ErrnoToStatus(error.value(), absl::StrCat("cannot write ", path));
    if (rename(path.c_str(), file.c_str()) != 0 || link(file.c_str(), path.c_str()) != 0) {
      return ErrnoToStatus(errno, absl::StrCat("cannot write ", path));
    }
  }
  // It goes with its last set, at once.
  SetTime(file, /*now=*/false);
  return absl::OkStatus();
}

bool Uploads::Has(const std::string& path) {
  const std::string digest = SetOf(path);
  if (digest.empty()) return false;
  const std::lock_guard<std::mutex> lock(mutex_);
  std::error_code error;
  if (!fs::exists(path, error)) return false;
  SetTime(SetFolder(digest), /*now=*/true);
  return true;
}

absl::Status Uploads::WriteUser(const std::string& digest, const std::string& experiment) const {
  const std::string folder = SetFolder(digest);
  std::error_code error;
  const std::string user = absl::StrCat(folder, "/users/", experiment);
  const bool is_there = fs::exists(folder + "/data", error);
  if (error) return ErrnoToStatus(error.value(), folder);
  if (!is_there) return absl::OkStatus();
  if (!fs::exists(user, error)) LANISTA_RETURN_IF_ERROR(WriteFile(user, ""));
  SetTime(folder, /*now=*/false);
  return absl::OkStatus();
}

void Uploads::Keep(const v1::ExperimentConfig& config, const std::string& experiment) {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const std::string& path : PathsIn(config)) {
    const std::string digest = SetOf(path);
    if (!digest.empty()) unwritten_users_.emplace(digest, experiment);
  }
  WriteUsersLocked();
}

void Uploads::WriteUsersLocked() {
  for (auto next = unwritten_users_.begin(); next != unwritten_users_.end();) {
    const auto& [digest, experiment] = *next;
    const absl::Status status = HasExperiment(experiment) ? WriteUser(digest, experiment) : absl::OkStatus();
    if (!status.ok()) {
      LogWarning("{} reads {}, which stays, but that cannot be noted now: {}", experiment, SetFolder(digest),
                 std::string(status.message()));
    }
    next = status.ok() ? unwritten_users_.erase(next) : std::next(next);
  }
}

bool Uploads::HasExperiment(const std::string& id) const {
  std::error_code error;
  const bool is_there = fs::exists(absl::StrCat(experiments_, "/", id), error);
  // Where it cannot be known nothing is removed.
  return is_there || error;
}

bool Uploads::HasUser(const std::string& set) const {
  bool has_user = false;
  for (const std::string& user : NamesIn(set + "/users")) {
    if (HasExperiment(user)) {
      has_user = true;
    } else {
      unlink(absl::StrCat(set, "/users/", user).c_str());
    }
  }
  return has_user;
}

bool Uploads::IsFresh(const std::string& path) const {
  struct stat info = {};
  if (stat(path.c_str(), &info) != 0) return true;
  return absl::Now() - absl::TimeFromTimespec(info.st_mtim) < options_.grace;
}

void Uploads::Sweep() {
  const std::lock_guard<std::mutex> lock(mutex_);
  SweepLocked();
}

void Uploads::SweepLocked() {
  swept_ = absl::Now();
  WriteUsersLocked();
  for (const std::string& digest : NamesIn(root_ + "/sets")) {
    const std::string set = SetFolder(digest);
    const auto unwritten = unwritten_users_.lower_bound({digest, ""});
    const bool is_used = (unwritten != unwritten_users_.end() && unwritten->first == digest) || HasUser(set);
    if (is_used || IsFresh(set)) continue;
    // It leaves its place whole: a head that is killed now must not find the rest of it there. What cannot be removed
    // now goes when the next head begins.
    const std::string going = absl::StrCat(root_, "/unfinished/", ++last_number_);
    std::error_code error;
    fs::rename(set, going, error);
    if (!error) fs::remove_all(going, error);
    if (error) LogWarning("cannot remove {} ({}): {}", set, going, error.message());
  }
  for (const std::string& sha256 : NamesIn(root_ + "/files")) {
    struct stat info = {};
    const std::string path = FilePath(sha256);
    if (in_use_.count(sha256) > 0 || stat(path.c_str(), &info) != 0 || info.st_nlink > 1 || IsFresh(path)) continue;
    if (unlink(path.c_str()) == 0) bytes_ -= info.st_size;
  }
}

int64_t Uploads::bytes() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return bytes_;
}

}  // namespace lanista
