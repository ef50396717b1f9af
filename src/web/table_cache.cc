#include "src/web/table_cache.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "nlohmann/json.hpp"
#include "src/base/json_line.h"
#include "src/base/status.h"
#include "src/views/documents.h"
#include "src/web/columns.h"

namespace lanista {
namespace {

// Texts without a table are small.
constexpr size_t kMaxSlots = 1000;

}  // namespace

absl::StatusOr<TableCache::Stamp> TableCache::StampOf(const JournalReader& reader) {
  Stamp stamp;
  LANISTA_ASSIGN_OR_RETURN(const StateRecord state, reader.State());
  stamp.state = state.change.state();
  stamp.state_time = state.time;
  stamp.held = reader.holder().has_value();
  LANISTA_ASSIGN_OR_RETURN(const std::optional<int64_t> number, reader.LastNumber());
  if (number.has_value()) {
    stamp.number = *number;
  } else {
    LANISTA_ASSIGN_OR_RETURN(const absl::Time last, reader.LastTime());
    stamp.number = absl::ToUnixMicros(last);
  }
  stamp.looked = Clock::now();
  return stamp;
}

bool TableCache::IsFresh(const std::optional<Stamp>& stamp, const Stamp& now) const {
  // Who hears of a change of the state, and asks then, must not get what was before.
  return stamp.has_value() && stamp->state == now.state && stamp->state_time == now.state_time &&
         now.looked - stamp->looked < options_.refresh_interval;
}

bool TableCache::Turn::try_lock_for(std::chrono::milliseconds patience) {
  std::unique_lock<std::mutex> lock(mutex_);
  if (!changed_.wait_for(lock, patience, [this] { return !taken_; })) return false;
  taken_ = true;
  return true;
}

void TableCache::Turn::unlock() {
  const std::lock_guard<std::mutex> lock(mutex_);
  taken_ = false;
  changed_.notify_one();
}

absl::StatusOr<std::unique_lock<TableCache::Turn>> TableCache::Lock(Turn& turn, const std::string& what) const {
  std::unique_lock<Turn> lock(turn, options_.patience);
  if (!lock.owns_lock()) return absl::UnavailableError(absl::StrCat(what, " is being read; try again"));
  return lock;
}

std::shared_ptr<TableCache::Entry> TableCache::Find(const std::string& id) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Slot& slot = slots_[id];
  slot.used = Clock::now();
  return slot.entry;
}

absl::StatusOr<TableCache::Text> TableCache::List(const StateDir& state_dir) {
  LANISTA_ASSIGN_OR_RETURN(const auto lock, Lock(list_turn_, "the list of experiments"));
  LANISTA_ASSIGN_OR_RETURN(const std::vector<std::string> ids, state_dir.List());
  // Without those that were deleted.
  std::map<std::string, Listed> listed;
  std::vector<nlohmann::ordered_json> entries;
  for (const std::string& id : ids) {
    Listed& one = listed[id];
    if (const auto known = listed_.find(id); known != listed_.end()) one = std::move(known->second);
    const absl::Status status = RefreshListed(state_dir, id, &one);
    entries.push_back(status.ok() ? one.document : UnreadableEntry(id, status));
  }
  listed_ = std::move(listed);
  SortOldestFirst(&entries);
  nlohmann::ordered_json document;
  document["experiments"] = std::move(entries);
  return std::make_shared<const std::string>(JsonLine(document));
}

absl::Status TableCache::RefreshListed(const StateDir& state_dir, const std::string& id, Listed* listed) const {
  LANISTA_ASSIGN_OR_RETURN(const std::string folder, state_dir.ExperimentFolder(id));
  LANISTA_ASSIGN_OR_RETURN(const JournalReader reader, JournalReader::Open(folder));
  LANISTA_ASSIGN_OR_RETURN(const Stamp stamp, StampOf(reader));
  if (stamp.IsStill() && listed->stamp.has_value() && listed->stamp->IsOf(stamp)) return absl::OkStatus();
  LANISTA_ASSIGN_OR_RETURN(listed->document, experiments_.Entry(reader));
  listed->stamp = stamp;
  return absl::OkStatus();
}

absl::StatusOr<TableCache::Text> TableCache::Show(const ExperimentPlace& place) {
  const std::shared_ptr<Entry> entry = Find(place.id);
  LANISTA_ASSIGN_OR_RETURN(const auto lock, Lock(entry->show_turn, place.id));
  LANISTA_ASSIGN_OR_RETURN(const JournalReader reader, JournalReader::Open(place.folder));
  LANISTA_ASSIGN_OR_RETURN(const Stamp stamp, StampOf(reader));
  if (IsFresh(entry->show_stamp, stamp)) return entry->show;
  if (!stamp.IsStill() || !entry->show_stamp.has_value() || !entry->show_stamp->IsOf(stamp)) {
    LANISTA_ASSIGN_OR_RETURN(const nlohmann::ordered_json document, experiments_.Show(reader));
    entry->show = std::make_shared<const std::string>(JsonLine(document));
  }
  entry->show_stamp = stamp;
  return entry->show;
}

absl::StatusOr<TableCache::Text> TableCache::Columns(const ExperimentPlace& place) {
  const std::shared_ptr<Entry> entry = Find(place.id);
  LANISTA_ASSIGN_OR_RETURN(const auto lock, Lock(entry->table_turn, place.id));
  LANISTA_RETURN_IF_ERROR(Refresh(place, /*number=*/0, entry.get()));
  if (entry->columns == nullptr) {
    entry->columns = std::make_shared<const std::string>(JsonLine(ColumnsDocument(*entry->table)));
  }
  return entry->columns;
}

absl::Status TableCache::WithTable(const ExperimentPlace& place, int64_t number,
                                   const std::function<void(const ExperimentTable&)>& use) {
  const std::shared_ptr<Entry> entry = Find(place.id);
  LANISTA_ASSIGN_OR_RETURN(const auto lock, Lock(entry->table_turn, place.id));
  LANISTA_RETURN_IF_ERROR(Refresh(place, number, entry.get()));
  use(*entry->table);
  return absl::OkStatus();
}

absl::Status TableCache::Refresh(const ExperimentPlace& place, int64_t number, Entry* entry) {
  LANISTA_ASSIGN_OR_RETURN(const JournalReader reader, JournalReader::Open(place.folder));
  LANISTA_ASSIGN_OR_RETURN(const Stamp stamp, StampOf(reader));
  const bool has_fact = entry->table != nullptr && entry->table->number() >= number;
  if (has_fact && IsFresh(entry->table_stamp, stamp)) return absl::OkStatus();
  const bool same = entry->table != nullptr && entry->table_stamp.has_value() && entry->table_stamp->IsOf(stamp);
  entry->table_stamp = stamp;
  if (same) return absl::OkStatus();
  if (entry->table == nullptr) entry->table = std::make_unique<ExperimentTable>();
  entry->columns = nullptr;
  const absl::Status updated = entry->table->Update(reader);
  if (!updated.ok()) entry->table = nullptr;
  CountBytes(place.id, updated.ok() ? entry->table->bytes() : 0);
  return updated;
}

void TableCache::Forget(const std::string& id) {
  const std::lock_guard<std::mutex> lock(mutex_);
  slots_.erase(id);
}

void TableCache::CountBytes(const std::string& id, size_t bytes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto counted = slots_.find(id);
  if (counted != slots_.end()) counted->second.bytes = bytes;
  while (true) {
    size_t all = 0;
    auto oldest = slots_.end();
    for (auto slot = slots_.begin(); slot != slots_.end(); ++slot) {
      all += slot->second.bytes;
      if (slot != counted && (oldest == slots_.end() || slot->second.used < oldest->second.used)) oldest = slot;
    }
    if (oldest == slots_.end() || (all <= options_.max_bytes && slots_.size() <= kMaxSlots)) return;
    // Whoever uses it holds it.
    slots_.erase(oldest);
  }
}

}  // namespace lanista
