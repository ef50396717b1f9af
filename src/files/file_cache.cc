#include "src/files/file_cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <filesystem>
#include <map>
#include <mutex>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "src/base/file_stamp.h"
#include "src/base/output_files.h"
#include "src/base/sha256_stream.h"
#include "src/base/status.h"
#include "src/base/unfinished_files.h"
#include "src/files/regular_file.h"

namespace lanista {

namespace fs = std::filesystem;

class FileCache::State : public std::enable_shared_from_this<State> {
 public:
  State(std::string folder, int64_t max_bytes, std::function<bool()> make_room)
      : folder_(std::move(folder)), max_bytes_(max_bytes), make_room_(std::move(make_room)) {}

  // Finds what is there.
  absl::Status Load() {
    std::error_code error;
    fs::create_directories(folder_, error);
    if (error) return ErrnoToStatus(error.value(), absl::StrCat("cannot make the folder ", folder_));
    RemoveUnfinishedFiles(folder_);
    std::vector<std::pair<int64_t, std::string>> by_use;
    for (fs::directory_iterator entry(folder_, error), end; !error && entry != end; entry.increment(error)) {
      const std::string name = entry->path().filename().string();
      struct stat info = {};
      if (!IsSha256(name) || lstat(entry->path().c_str(), &info) != 0 || !S_ISREG(info.st_mode)) continue;
      entries_[name].size = info.st_size;
      bytes_ += info.st_size;
      by_use.emplace_back(FileStamp::Of(info).modified, name);
    }
    if (error) return ErrnoToStatus(error.value(), absl::StrCat("cannot read the folder ", folder_));
    std::sort(by_use.begin(), by_use.end());
    for (const auto& [time, name] : by_use) SetIdle(entries_.find(name));
    while (bytes_ > max_bytes_ && EvictOne()) continue;
    return absl::OkStatus();
  }

  absl::StatusOr<Pin> Get(const std::string& sha256, int64_t size, Cancellation* cancellation, const Fetch& fetch) {
    std::unique_lock<std::mutex> lock(mutex_);
    while (true) {
      const auto found = entries_.find(sha256);
      if (found == entries_.end()) break;
      if (found->second.busy) {
        lock.unlock();
        LANISTA_RETURN_IF_ERROR(WaitWhileBusy(sha256, cancellation));
        lock.lock();
        continue;
      }
      if (!found->second.verified) {
        LANISTA_ASSIGN_OR_RETURN(const bool whole, Verify(found, size, cancellation, &lock));
        if (!whole) continue;
      }
      if (found->second.pins == 0 && access(PathOf(sha256).c_str(), R_OK) != 0) {
        // Somebody tidied up.
        Remove(found);
        continue;
      }
      return MakePin(found);
    }
    entries_[sha256].busy = true;
    entries_[sha256].size = size;
    lock.unlock();
    absl::Status status = FetchFile(sha256, size, fetch);
    lock.lock();
    changed_.notify_all();
    const auto entry = entries_.find(sha256);
    if (!status.ok()) {
      entries_.erase(entry);
      return status;
    }
    entry->second.busy = false;
    entry->second.verified = true;
    return MakePin(entry);
  }

  int64_t bytes() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return bytes_;
  }

 private:
  struct Entry {
    int64_t size = 0;
    // Greater: used later. 0: it is used for the first time.
    int64_t used = 0;
    int pins = 0;
    // It is being fetched or read: whoever does so is the only one who may change it.
    bool busy = false;
    // Its content was compared with its name.
    bool verified = false;
  };
  using Entries = std::map<std::string, Entry>;

  std::string PathOf(const std::string& sha256) const { return absl::StrCat(folder_, "/", sha256); }

  // Until nobody works at the entry. CANCELLED: it was canceled before.
  absl::Status WaitWhileBusy(const std::string& sha256, Cancellation* cancellation) {
    bool canceled = false;
    const Cancellation::Guard guard(cancellation, [&] {
      const std::lock_guard<std::mutex> lock(mutex_);
      canceled = true;
      changed_.notify_all();
    });
    std::unique_lock<std::mutex> lock(mutex_);
    const auto is_free = [&] {
      const auto found = entries_.find(sha256);
      return found == entries_.end() || !found->second.busy;
    };
    changed_.wait(lock, [&] { return canceled || is_free(); });
    return is_free() ? absl::OkStatus() : absl::CancelledError("it is not needed any more");
  }

  // Reads the file, with the lock open meanwhile. False: it was damaged, and is removed. CANCELLED: it stays, and is
  // not verified.
  absl::StatusOr<bool> Verify(Entries::iterator entry, int64_t size, Cancellation* cancellation,
                              std::unique_lock<std::mutex>* lock) {
    entry->second.busy = true;
    idle_.erase(entry->second.used);
    lock->unlock();
    const absl::StatusOr<bool> whole = IsWhole(entry->first, size, cancellation);
    lock->lock();
    entry->second.busy = false;
    changed_.notify_all();
    if (!whole.ok()) {
      SetIdle(entry);
    } else if (*whole) {
      entry->second.verified = true;
    } else {
      Remove(entry);
    }
    return whole;
  }

  absl::StatusOr<bool> IsWhole(const std::string& sha256, int64_t size, Cancellation* cancellation) const {
    FileStamp stamp;
    const absl::StatusOr<UniqueFd> file = OpenRegularFile(PathOf(sha256), &stamp);
    if (!file.ok() || stamp.size != size) return false;
    const absl::StatusOr<std::string> digest =
        Sha256OfFile(file->get(), PathOf(sha256), [cancellation] { return cancellation->canceled(); });
    if (absl::IsCancelled(digest.status())) return digest.status();
    return digest.value_or("") == sha256;
  }

  // REQUIRES: the entry is busy, and counts no bytes yet. Where this fails it counts none, either.
  absl::Status FetchFile(const std::string& sha256, int64_t size, const Fetch& fetch) {
    LANISTA_RETURN_IF_ERROR(Reserve(size));
    absl::Status status = WriteFetched(sha256, size, fetch);
    if (!status.ok()) {
      const std::lock_guard<std::mutex> lock(mutex_);
      bytes_ -= size;
    }
    return status;
  }

  absl::Status WriteFetched(const std::string& sha256, int64_t size, const Fetch& fetch) {
    const auto local = [](const absl::Status& error) { return absl::UnavailableError(error.message()); };
    OutputFiles files;
    const absl::StatusOr<OutputFile*> file = files.Add(PathOf(sha256));
    if (!file.ok()) return local(file.status());
    Sha256Stream digest;
    int64_t received = 0;
    const auto other_content = [&] {
      return absl::DataLossError(absl::StrCat("what came is not the file with SHA-256 ", sha256));
    };
    LANISTA_RETURN_IF_ERROR(fetch([&](absl::string_view bytes) {
      received += static_cast<int64_t>(bytes.size());
      if (received > size) return other_content();
      digest.Add(bytes);
      (*file)->Write(bytes);
      return (*file)->status().ok() ? absl::OkStatus() : local((*file)->status());
    }));
    if (received != size || digest.Finish() != sha256) return other_content();
    const absl::Status written = files.Commit().status();
    return written.ok() ? written : local(written);
  }

  // Makes room, and takes it.
  absl::Status Reserve(int64_t size) {
    const auto full = [&](const char* why) {
      return absl::AbortedError(absl::StrCat("a file of ", size, " bytes has no room in ", folder_, ", which may have ",
                                             max_bytes_, " (--cache-size)", why));
    };
    if (size > max_bytes_) return full("");
    while (true) {
      {
        const std::lock_guard<std::mutex> lock(mutex_);
        while (bytes_ + size > max_bytes_ && EvictOne()) continue;
        if (bytes_ + size <= max_bytes_) {
          bytes_ += size;
          return absl::OkStatus();
        }
      }
      if (make_room_ == nullptr || !make_room_()) return full(": what is there is in use");
    }
  }

  // With mutex_ locked, as all that follows. False: everything is in use.
  bool EvictOne() {
    if (idle_.empty()) return false;
    Remove(entries_.find(idle_.begin()->second));
    return true;
  }

  void Remove(Entries::iterator entry) {
    bytes_ -= entry->second.size;
    idle_.erase(entry->second.used);
    unlink(PathOf(entry->first).c_str());
    entries_.erase(entry);
  }

  Pin MakePin(Entries::iterator entry) {
    idle_.erase(entry->second.used);
    ++entry->second.pins;
    const std::string path = PathOf(entry->first);
    // The next start knows by it what was used last.
    utimensat(AT_FDCWD, path.c_str(), nullptr, 0);
    return Pin(new std::string(path), [self = shared_from_this(), sha256 = entry->first](const std::string* unpinned) {
      delete unpinned;
      const std::lock_guard<std::mutex> lock(self->mutex_);
      const auto found = self->entries_.find(sha256);
      if (--found->second.pins == 0) self->SetIdle(found);
    });
  }

  // Nobody uses it from now on.
  void SetIdle(Entries::iterator entry) {
    entry->second.used = ++uses_;
    idle_[entry->second.used] = entry->first;
  }

  const std::string folder_;
  const int64_t max_bytes_;
  const std::function<bool()> make_room_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  // Protected by mutex_.
  Entries entries_;
  // Those that may be removed, by `used`.
  std::map<int64_t, std::string> idle_;
  int64_t bytes_ = 0;
  int64_t uses_ = 0;
};

absl::StatusOr<FileCache> FileCache::Open(const std::string& folder, int64_t max_bytes,
                                          std::function<bool()> make_room) {
  const auto state = std::make_shared<State>(folder, max_bytes, std::move(make_room));
  LANISTA_RETURN_IF_ERROR(state->Load());
  return FileCache(state);
}

absl::StatusOr<FileCache::Pin> FileCache::Get(const std::string& sha256, int64_t size, Cancellation* cancellation,
                                              const Fetch& fetch) {
  return state_->Get(sha256, size, cancellation, fetch);
}

int64_t FileCache::bytes() const { return state_->bytes(); }

}  // namespace lanista
