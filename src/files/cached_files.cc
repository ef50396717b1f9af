#include "src/files/cached_files.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "src/base/display_text.h"
#include "src/base/file_lock.h"
#include "src/base/logging.h"
#include "src/base/node_link.h"
#include "src/base/status.h"
#include "src/base/utf8.h"
#include "src/files/assignment_inputs.h"
#include "src/files/earlier_caches.h"
#include "src/files/file_set_writer.h"
#include "src/files/retry.h"

namespace lanista {
namespace {

namespace fs = std::filesystem;

// Trees that nobody may use just now.
constexpr size_t kMaxKept = 8;
constexpr int kMaxNodesOfMachine = 1000;
// A checkpoint that changes each time while it comes is given up.
constexpr int kMaxChangesOfFile = 5;

absl::Status CannotUse(const std::string& path, int error) {
  return absl::UnavailableError(ErrnoToStatus(error, absl::StrCat("cannot use ", path, " (--cache-dir)")).message());
}

}  // namespace

CachedFiles::CachedFiles(Options options, std::shared_ptr<FileSource> source, std::shared_ptr<FileSink> sink)
    : options_(std::move(options)),
      source_(std::move(source)),
      deliveries_({options_.look_interval, OutputDeliveries::Options().log_interval, options_.first_delay},
                  std::move(sink)) {
  queue_.emplace(options_.threads, kMaxDevicesOfNode);
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
  // A device has one assignment at a time, and perhaps some that were canceled.
  queue_->Post([this, assignment, cancellation, done = std::move(done)] {
    done(Bring(assignment, cancellation.get()));
    const std::lock_guard<std::mutex> lock(mutex_);
    running_.erase(cancellation);
  });
  return cancellation;
}

std::string CachedFiles::MachineFolder(const std::string& folder, std::string host) {
  if (host.empty()) {
    std::array<char, 256> name = {};
    gethostname(name.data(), name.size() - 1);
    host = name.data();
  }
  // The kernel takes any bytes for a machine's name.
  for (char& c : host) {
    if (!absl::ascii_isalnum(static_cast<unsigned char>(c)) && c != '.' && c != '_') c = '-';
  }
  return absl::StrCat(folder, "/", host);
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
    folder = absl::StrCat(MachineFolder(options_.folder, options_.host), "-", number);
    status = Claim(folder);
  }
  LANISTA_RETURN_IF_ERROR(status);
  absl::StatusOr<FileCache> cache =
      FileCache::Open(folder + "/files", options_.max_bytes, [this] { return ReleaseTree(); });
  if (!cache.ok()) return absl::UnavailableError(cache.status().message());
  folder_ = folder;
  cache_ = *std::move(cache);
  LogInfo("copies of the head's files are in {}", folder_);
  for (const std::string& earlier : RemoveEarlierCaches(options_.folder)) {
    LogInfo("removed {}, which an earlier version of Lanista left there", earlier);
  }
  return absl::OkStatus();
}

absl::StatusOr<LocalWorkPtr> CachedFiles::Bring(const v1::Assignment& assignment, Cancellation* cancellation) {
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
  const auto work = std::make_shared<const LocalWork>(std::move(tree), folder);
  if (assignment.discover().has_convert()) {
    fs::create_directory(work->output_folder(kConvertedModel), error);
    if (error) return CannotUse(folder, error.value());
  }
  LANISTA_RETURN_IF_ERROR(BringCheckpoints(assignment, *work, cancellation));
  return work;
}

std::unique_ptr<TrialOutputs> CachedFiles::Follow(const v1::Assignment& assignment, const LocalWorkPtr& work) {
  return deliveries_.Follow(assignment, work);
}

absl::Status CachedFiles::BringCheckpoints(const v1::Assignment& assignment, const LocalWork& work,
                                           Cancellation* cancellation) {
  for (const v1::TrialModel& model : assignment.trial().models()) {
    // A first attempt has nothing to go on from.
    if (model.attempt() <= 1 || model.checkpoint_folder().empty()) continue;
    absl::Status fetched;
    int changes = 0;
    // What this machine cannot write; the head is not asked again then.
    absl::Status here;
    const auto of_here = [&here](absl::Status status) {
      if (!absl::IsUnavailable(status)) return status;
      here = std::move(status);
      return absl::ResourceExhaustedError(here.message());
    };
    LANISTA_RETURN_IF_ERROR(Retry(cancellation, options_.first_delay, [&] {
      std::unique_ptr<FileSetWriter> writer;
      fetched = source_->FetchCheckpoint(
          assignment.id(), model.model(), cancellation,
          [&](const v1::FileSet& files) -> absl::Status {
            if (files.files().empty()) return absl::OkStatus();
            const std::string staging = absl::StrCat(work.folder(), "/incoming-", model.model());
            absl::StatusOr<std::unique_ptr<FileSetWriter>> begun =
                FileSetWriter::Begin(files, staging, kCheckpointLimits);
            if (!begun.ok()) return of_here(begun.status());
            writer = *std::move(begun);
            return absl::OkStatus();
          },
          [&](absl::string_view bytes) {
            if (writer == nullptr) return absl::DataLossError("more came than was announced");
            return of_here(writer->Write(bytes));
          });
      if (fetched.ok() && writer != nullptr) fetched = of_here(writer->Finish());
      if (fetched.ok() && writer != nullptr) {
        fetched =
            of_here(writer->MoveFolder(folder_, work.checkpoint_folder(model.model()).substr(folder_.size() + 1)));
      }
      return MayPass(fetched) || (absl::IsDataLoss(fetched) && ++changes < kMaxChangesOfFile);
    }));
    LANISTA_RETURN_IF_ERROR(here);
    if (fetched.ok()) continue;
    LogWarning("{}model {} begins anew here: its checkpoint did not come: {}",
               LogTag(assignment.trial().experiment(), assignment.trial().trial()), model.model(),
               OneLine(ToUtf8(fetched.message())));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<const InputTree>> CachedFiles::BringInputs(const std::string& assignment,
                                                                          const v1::AssignmentInputs& inputs,
                                                                          Cancellation* cancellation) {
  const std::string key = absl::StrCat(inputs.experiment(), "\n", absl::StrJoin(inputs.paths(), "\n"));
  // The head would name the same files.
  if (std::shared_ptr<const InputTree> tree = FindKept(key)) return tree;
  absl::StatusOr<v1::InputList> list = absl::UnknownError("");
  Reasons reasons("the head's files cannot be fetched now");
  const auto may_pass = [&reasons](const absl::Status& status) {
    if (!MayPass(status)) return false;
    reasons.Say(status);
    return true;
  };
  LANISTA_RETURN_IF_ERROR(Retry(cancellation, options_.first_delay, [&] {
    list = source_->List(assignment, cancellation);
    return may_pass(list.status());
  }));
  LANISTA_RETURN_IF_ERROR(list.status());
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
      return may_pass(fetched);
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
