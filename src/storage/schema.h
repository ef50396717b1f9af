// The form of a journal's file, shared by its writer and its reader.
#ifndef LANISTA_SRC_STORAGE_SCHEMA_H_
#define LANISTA_SRC_STORAGE_SCHEMA_H_

#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "src/storage/sqlite.h"

namespace lanista {

// Makes the tables. REQUIRES: a transaction is open, so that they appear together.
absl::Status CreateSchema(const SqliteDatabase& database);

// Upgrades a journal of an older version, which CheckSchema accepts, in one transaction. Readers see the older version
// until that ends. `weights`: what JournalReader::Weights says of the older one.
absl::Status UpgradeSchema(const SqliteDatabase& database, const std::map<int, std::string>& weights);

// Returns the version of `database`, which was opened from `file`. FAILED_PRECONDITION: this program cannot read that
// version, because it is newer or too old. DATA_LOSS: the file is no journal.
absl::StatusOr<int> CheckSchema(const SqliteDatabase& database, const std::string& file);

// The journal's file in an experiment's folder.
std::string JournalFile(const std::string& folder);

}  // namespace lanista

#endif  // LANISTA_SRC_STORAGE_SCHEMA_H_
