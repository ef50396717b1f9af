#include "src/files/cached_files.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "spdlog/spdlog.h"
#include "src/base/display_text.h"
#include "src/base/file_lock.h"
#include "src/base/node_link.h"
#include "src/base/status.h"
#include "src/base/utf8.h"
#include "src/files/assignment_inputs.h"

namespace lanista {
namespace {

namespace fs = std::filesystem;

// Assignments whose files come at the same time.
constexpr int kThreads = 4;
// Trees that nobody may use just now.
constexpr size_t kMaxKept = 8;
constexpr int kMaxNodesOfMachine = 1000;
constexpr std::chrono::milliseconds kLongestDelay(30000);

// Trying again may help.
bool MayPass(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsNotFound(status) || absl::IsDeadlineExceeded(status);
}

// Calls `attempt` until trying again would not help, and returns what it returned last. Says each new reason why it
// tries again. CANCELLED: nobody needs it any more.
absl::Status Retry(Cancellation* cancellation, std::chrono::milliseconds delay,
                   const std::function<absl::Status()>& attempt) {
  std::string said;
  while (true) {
    const absl::Status status = attempt();
    if (cancellation->canceled()) return absl::CancelledError("it is not needed any more");
    if (!MayPass(status)) return status;
    if (std::exchange(said, std::string(status.message())) != said) {
      spdlog::warn("the head's files cannot be fetched now: {}; trying again", said);
    }
    cancellation->WaitFor(delay);
    delay = std::min(2 * delay, kLongestDelay);
  }
}

absl::Status CannotUse(const std::string& path, int error) {
  return absl::UnavailableError(ErrnoToStatus(error, absl::StrCat("cannot use ", path, " (--cache-dir)")).message());
}

}  // namespace

CachedFiles::CachedFiles(Options options, std::unique_ptr<FileSource> source)
    : options_(std::move(options)), source_(std::move(source)) {
  queue_.emplace(kThreads, kMaxDevicesOfNode);
}

CachedFiles::~CachedFiles() {
  std::set<std::shared_ptr<Cancellation>> running;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    running = running_;
  }
  for (const std::shared_ptr<Cancellation>& one : running) one->Cancel();
  queue_.reset();
}

std::shared_ptr<Cancellation> CachedFiles::Prepare(const v1::Assignment& assignment, Done done) {
  const auto cancellation = std::make_shared<Cancellation>();
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    running_.insert(cancellation);
  }
  // A device has one assignment at a time.
  queue_->Post([this, assignment, cancellation, done = std::move(done)] {
    done(Bring(assignment, cancellation.get()));
    const std::lock_guard<std::mutex> lock(mutex_);
    running_.erase(cancellation);
  });
  return cancellation;
}

absl::Status CachedFiles::Claim(const std::string& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return CannotUse(folder, error.value());
  absl::StatusOr<UniqueFd> lock = LockFile(folder + "/lock");
  if (absl::IsAlreadyExists(lock.status())) return lock.status();
  if (!lock.ok()) return absl::UnavailableError(absl::StrCat(lock.status().message(), " (--cache-dir)"));
  for (const char* part : {"/trees", "/assignments"}) {
    fs::remove_all(folder + part, error);
    fs::create_directories(folder + part, error);
    if (error) return CannotUse(folder + part, error.value());
  }
  lock_ = *std::move(lock);
  return absl::OkStatus();
}

absl::Status CachedFiles::Open() {
  const std::lock_guard<std::mutex> lock(open_mutex_);
  if (cache_.has_value()) return absl::OkStatus();
  if (options_.folder.empty()) {
    return absl::UnavailableError("there is no folder for copies of the head's files: add --cache-dir DIR");
  }
  absl::Status status = absl::AlreadyExistsError("");
  std::string folder;
  for (int number = 1; absl::IsAlreadyExists(status) && number <= kMaxNodesOfMachine; ++number) {
    folder = absl::StrCat(options_.folder, "/", number);
    status = Claim(folder);
  }
  LANISTA_RETURN_IF_ERROR(status);
  absl::StatusOr<FileCache> cache =
      FileCache::Open(folder + "/files", options_.max_bytes, [this] { return ReleaseTree(); });
  if (!cache.ok()) return absl::UnavailableError(cache.status().message());
  folder_ = folder;
  cache_ = *std::move(cache);
  spdlog::info("copies of the head's files are in {}", folder_);
  return absl::OkStatus();
}

absl::StatusOr<LocalWorkPtr> CachedFiles::Bring(const v1::Assignment& assignment, Cancellation* cancellation) {
  if (assignment.trial().keep_weights()) {
    // They would be lost without a word.
    return absl::UnavailableError(
        "what trials write here does not reach the head, and `keep_weights` wants trained weights there: give the head "
        "a --state-dir in a folder that both machines share under the same path");
  }
  LANISTA_RETURN_IF_ERROR(Open());
  const v1::AssignmentInputs inputs =
      assignment.has_trial() ? InputsOf(assignment.trial()) : InputsOf(assignment.discover());
  std::shared_ptr<const InputTree> tree;
  if (!inputs.paths().empty()) {
    LANISTA_ASSIGN_OR_RETURN(tree, BringInputs(assignment.id(), inputs, cancellation));
  }
  const std::string folder = absl::StrCat(folder_, "/assignments/", ++last_number_);
  std::error_code error;
  fs::create_directory(folder, error);
  if (error) return CannotUse(folder, error.value());
  return std::make_shared<const LocalWork>(std::move(tree), folder);
}

absl::StatusOr<std::shared_ptr<const InputTree>> CachedFiles::BringInputs(const std::string& assignment,
                                                                          const v1::AssignmentInputs& inputs,
                                                                          Cancellation* cancellation) {
  const std::string key = absl::StrCat(inputs.experiment(), "\n", absl::StrJoin(inputs.paths(), "\n"));
  // The head would name the same files.
  if (std::shared_ptr<const InputTree> tree = FindKept(key)) return tree;
  absl::StatusOr<v1::InputList> list = absl::UnknownError("");
  LANISTA_RETURN_IF_ERROR(Retry(cancellation, options_.first_delay, [&] {
    list = source_->List(assignment, cancellation);
    return list.status();
  }));
  const auto get = [&](const v1::InputFile& file) -> absl::StatusOr<FileCache::Pin> {
    absl::StatusOr<FileCache::Pin> pin = absl::UnknownError("");
    LANISTA_RETURN_IF_ERROR(Retry(cancellation, options_.first_delay, [&] {
      absl::Status fetched;
      pin = cache_->Get(file.sha256(), file.size(), cancellation, [&](const FileCache::Write& write) {
        absl::Status written;
        fetched = source_->Fetch(assignment, file.sha256(), cancellation,
                                 [&](absl::string_view bytes) { return written = write(bytes); });
        if (written.ok()) return fetched;
        // A full disk here: another try would fill it again.
        fetched = absl::OkStatus();
        return written;
      });
      return fetched;
    }));
    return absl::IsDataLoss(pin.status()) ? Annotate(pin.status(), OneLine(ToUtf8(file.path()))) : pin;
  };
  LANISTA_ASSIGN_OR_RETURN(std::shared_ptr<const InputTree> tree,
                           InputTree::Make(*list, absl::StrCat(folder_, "/trees/", ++last_number_), get));
  return inputs.experiment().empty() ? tree : Keep(key, tree);
}

std::shared_ptr<const InputTree> CachedFiles::FindKept(const std::string& key) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = std::find_if(kept_.begin(), kept_.end(), [&](const Kept& kept) { return kept.first == key; });
  if (found == kept_.end()) return nullptr;
  kept_.splice(kept_.begin(), kept_, found);
  return kept_.front().second;
}

std::shared_ptr<const InputTree> CachedFiles::Keep(const std::string& key, std::shared_ptr<const InputTree> tree) {
  // Another assignment was faster. All use the same one, so that trial processes find the data that they have read.
  if (std::shared_ptr<const InputTree> known = FindKept(key)) return known;
  std::shared_ptr<const InputTree> released;
  const std::lock_guard<std::mutex> lock(mutex_);
  kept_.emplace_front(key, tree);
  if (kept_.size() > kMaxKept) {
    released = std::move(kept_.back().second);
    kept_.pop_back();
  }
  return tree;
}

bool CachedFiles::ReleaseTree() {
  std::shared_ptr<const InputTree> released;
  const std::lock_guard<std::mutex> lock(mutex_);
  if (kept_.empty()) return false;
  released = std::move(kept_.back().second);
  kept_.pop_back();
  return true;
}

}  // namespace lanista
