// Tables and documents of experiments, made once for all who ask.
#ifndef LANISTA_SRC_WEB_TABLE_CACHE_H_
#define LANISTA_SRC_WEB_TABLE_CACHE_H_

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "nlohmann/json.hpp"
#include "src/service/experiments.h"
#include "src/storage/journal.h"
#include "src/storage/state_dir.h"
#include "src/web/experiment_table.h"

namespace lanista {

// What was made from a journal is made again when the journal has grown, and not more often than twice a second; so
// that of an experiment that has ended is made once. The least recently used tables are dropped where all together take
// too much memory. Thread-safe; calls read the disk.
class TableCache {
 public:
  struct Options {
    std::chrono::milliseconds refresh_interval{500};
    size_t max_bytes = 256 << 20;
    // How long a call waits for others that read the same experiment. A call keeps one of the server's few readers, so
    // that many that wait for a large experiment would keep all others from being answered.
    std::chrono::milliseconds patience{1000};
  };

  // `experiments` must outlive it.
  explicit TableCache(Experiments* experiments) : TableCache(experiments, Options()) {}
  TableCache(Experiments* experiments, Options options) : experiments_(*experiments), options_(options) {}

  using Text = std::shared_ptr<const std::string>;

  // All calls: UNAVAILABLE where another one takes longer than anyone should wait.

  // The document of `list`. The entry of an experiment is read again where its journal has grown, or while it runs.
  absl::StatusOr<Text> List(const StateDir& state_dir);
  // The document of `show`, and that of `columns`.
  absl::StatusOr<Text> Show(const ExperimentPlace& place);
  absl::StatusOr<Text> Columns(const ExperimentPlace& place);
  // Calls `use` with the table, which stays as it is meanwhile. The facts up to `number` are in it, where the journal
  // has them: whoever knows of a fact never gets what was before.
  absl::Status WithTable(const ExperimentPlace& place, int64_t number,
                         const std::function<void(const ExperimentTable&)>& use);

  // The experiment was deleted.
  void Forget(const std::string& id);

 private:
  using Clock = std::chrono::steady_clock;

  // How far a journal was when something was made from it.
  struct Stamp {
    int64_t number = 0;
    v1::ExperimentState::State state = v1::ExperimentState::STATE_UNSPECIFIED;
    absl::Time state_time;
    bool held = false;
    Clock::time_point looked;

    // While it runs, its seconds grow.
    bool IsStill() const { return !held || IsFinal(state); }
    bool IsOf(const Stamp& other) const {
      return number == other.number && state == other.state && state_time == other.state_time && held == other.held;
    }
  };

  // A mutex that a thread waits for only so long, for std::unique_lock, which names its calls. ThreadSanitizer does not
  // see how a std::timed_mutex is locked.
  class Turn {
   public:
    bool try_lock_for(std::chrono::milliseconds patience);
    void unlock();

   private:
    std::mutex mutex_;
    std::condition_variable changed_;
    bool taken_ = false;
  };

  struct Entry {
    Turn show_turn;
    // Protected by show_turn.
    std::optional<Stamp> show_stamp;
    Text show;
    Turn table_turn;
    // Protected by table_turn.
    std::optional<Stamp> table_stamp;
    std::unique_ptr<ExperimentTable> table;
    // Of the table as it is; null: not made yet.
    Text columns;
  };

  // An experiment's entry in the list.
  struct Listed {
    std::optional<Stamp> stamp;
    nlohmann::ordered_json document;
  };

  static absl::StatusOr<Stamp> StampOf(const JournalReader& reader);
  absl::StatusOr<std::unique_lock<Turn>> Lock(Turn& turn, const std::string& what) const;
  bool IsFresh(const std::optional<Stamp>& stamp, const Stamp& now) const;
  std::shared_ptr<Entry> Find(const std::string& id);
  // The table is made again where it is not fresh, or the fact with this number is not in it. REQUIRES: the entry's
  // table_turn.
  absl::Status Refresh(const ExperimentPlace& place, int64_t number, Entry* entry);
  absl::Status RefreshListed(const StateDir& state_dir, const std::string& id, Listed* listed) const;
  // Of the table of `id`; drops others where there is too much.
  void CountBytes(const std::string& id, size_t bytes);

  struct Slot {
    std::shared_ptr<Entry> entry = std::make_shared<Entry>();
    size_t bytes = 0;
    Clock::time_point used;
  };

  Experiments& experiments_;
  const Options options_;
  Turn list_turn_;
  // Protected by list_turn_. By id.
  std::map<std::string, Listed> listed_;
  std::mutex mutex_;
  // Protected by mutex_.
  std::map<std::string, Slot> slots_;
};

}  // namespace lanista

#endif  // LANISTA_SRC_WEB_TABLE_CACHE_H_
