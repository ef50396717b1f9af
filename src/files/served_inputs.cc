#include "src/files/served_inputs.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "src/base/read_file.h"
#include "src/base/status.h"
#include "src/files/regular_file.h"

namespace lanista {
namespace {

constexpr size_t kPieceBytes = size_t{256} << 10;
// Sets that are read at the same time.
constexpr int kThreads = 4;
// Sets that are remembered.
constexpr size_t kMaxSets = 64;

absl::Status HasChanged(const std::string& path, const std::string& how) {
  return absl::FailedPreconditionError(absl::StrCat(path, " has changed at the head since the experiment began", how,
                                                    ": put back the file that was there, or start a new experiment"));
}

absl::Status NotOpen() { return absl::UnavailableError("this head ends; try again"); }

}  // namespace

ServedInputs::ServedInputs() : queue_(kThreads, kMaxSets) {}

ServedInputs::~ServedInputs() { SetOpen(false); }

absl::StatusOr<bool> ServedFile::Next(std::string* piece) {
  LANISTA_RETURN_IF_ERROR(ReadPiece(file_.get(), path_, offset_, kPieceBytes, piece));
  offset_ += static_cast<int64_t>(piece->size());
  if (!piece->empty() && offset_ <= stamp_.size) return true;
  struct stat info = {};
  if (offset_ != stamp_.size || fstat(file_.get(), &info) != 0 || FileStamp::Of(info) != stamp_) {
    return HasChanged(path_, ", while it was sent");
  }
  return false;
}

std::shared_ptr<ServedInputs::Entry> ServedInputs::Find(const v1::AssignmentInputs& inputs) {
  const std::string nul(1, '\0');
  const std::string key = absl::StrCat(inputs.experiment(), nul, absl::StrJoin(inputs.paths(), nul), nul, nul,
                                       absl::StrJoin(inputs.graph_files(), nul));
  const auto found =
      std::find_if(entries_.begin(), entries_.end(), [&](const auto& entry) { return entry->key == key; });
  if (found != entries_.end()) {
    entries_.splice(entries_.begin(), entries_, found);
  } else {
    entries_.push_front(std::make_shared<Entry>());
    entries_.front()->key = key;
    if (entries_.size() > kMaxSets) entries_.pop_back();
  }
  return entries_.front();
}

bool ServedInputs::IsWanted(const Entry& entry) {
  return std::any_of(entry.waiting.begin(), entry.waiting.end(),
                     [](const Waiting& waiting) { return !waiting.caller.expired(); });
}

void ServedInputs::List(const v1::AssignmentInputs& inputs, std::weak_ptr<const void> caller, Done done) {
  SetPtr known;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const std::shared_ptr<Entry> entry = Find(inputs);
    // Without an experiment it is told as it is now.
    if (entry->set == nullptr || inputs.experiment().empty()) {
      entry->waiting.push_back({std::move(caller), std::move(done)});
      if (!std::exchange(entry->being_made, true)) queue_.Post([this, entry, inputs] { Make(entry, inputs); });
      return;
    }
    known = entry->set;
  }
  done(known);
}

void ServedInputs::Make(const std::shared_ptr<Entry>& entry, const v1::AssignmentInputs& inputs) {
  const auto stop = [&] {
    const std::lock_guard<std::mutex> lock(mutex_);
    return !open_ || !IsWanted(*entry);
  };
  absl::StatusOr<SetPtr> made = NotOpen();
  std::vector<Waiting> waiting;
  while (true) {
    if (open_) {
      absl::StatusOr<InputSet> set = InputSet::Read(inputs, &digests_, stop);
      made = set.ok() ? absl::StatusOr<SetPtr>(std::make_shared<const InputSet>(*std::move(set))) : set.status();
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    if (absl::IsCancelled(made.status())) {
      // Somebody may have come just when nobody wanted it any more.
      if (open_ && IsWanted(*entry)) continue;
      if (!open_) made = NotOpen();
    }
    if (made.ok()) entry->set = *made;
    entry->being_made = false;
    waiting.swap(entry->waiting);
    break;
  }
  for (const Waiting& one : waiting) one.done(made);
}

absl::StatusOr<ServedFile> ServedInputs::Open(const InputSet& set, const std::string& sha256) {
  const v1::InputFile* const listed = set.Find(sha256);
  if (listed == nullptr) {
    return absl::PermissionDeniedError("the assignment reads no file with this SHA-256");
  }
  FileStamp stamp;
  absl::StatusOr<UniqueFd> file = OpenRegularFile(listed->path(), &stamp);
  if (absl::IsNotFound(file.status())) return HasChanged(listed->path(), " (it is gone)");
  LANISTA_RETURN_IF_ERROR(file.status());
  // What was put back has other times, and the same content.
  absl::StatusOr<std::string> digest = digests_.Of(file->get(), stamp, listed->path(), [this] { return !open_; });
  if (absl::IsCancelled(digest.status())) return NotOpen();
  LANISTA_RETURN_IF_ERROR(digest.status());
  if (*digest != sha256) return HasChanged(listed->path(), "");
  return ServedFile(listed->path(), *std::move(file), stamp);
}

}  // namespace lanista
