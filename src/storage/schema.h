// The form of a journal's file, shared by its writer and its reader.
#ifndef LANISTA_SRC_STORAGE_SCHEMA_H_
#define LANISTA_SRC_STORAGE_SCHEMA_H_

#include <string>

#include "absl/status/status.h"
#include "src/storage/sqlite.h"

namespace lanista {

// Makes the tables. REQUIRES: a transaction is open, so that they appear together.
absl::Status CreateSchema(const SqliteDatabase& database);

// OK if `database`, opened from `file`, is a journal that this program understands. FAILED_PRECONDITION if it is newer,
// DATA_LOSS if it is no journal at all.
absl::Status CheckSchema(const SqliteDatabase& database, const std::string& file);

// The journal's file in an experiment's folder.
std::string JournalFile(const std::string& folder);

}  // namespace lanista

#endif  // LANISTA_SRC_STORAGE_SCHEMA_H_
