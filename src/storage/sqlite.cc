#include "src/storage/sqlite.h"

#include <cerrno>
#include <system_error>

#include "absl/strings/str_cat.h"

namespace lanista {
namespace {

constexpr int kBusyTimeoutMilliseconds = 10000;

absl::StatusCode CodeOf(int extended_result) {
  switch (extended_result) {
    case SQLITE_CONSTRAINT_PRIMARYKEY:
    case SQLITE_CONSTRAINT_UNIQUE:
    case SQLITE_CONSTRAINT_ROWID:
      return absl::StatusCode::kAlreadyExists;
    case SQLITE_CONSTRAINT_FOREIGNKEY:
      return absl::StatusCode::kFailedPrecondition;
  }
  switch (extended_result & 0xff) {
    case SQLITE_FULL:
    case SQLITE_NOMEM:
      return absl::StatusCode::kResourceExhausted;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_IOERR:
      return absl::StatusCode::kUnavailable;
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
    case SQLITE_AUTH:
      return absl::StatusCode::kPermissionDenied;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return absl::StatusCode::kDataLoss;
    case SQLITE_CONSTRAINT:
    case SQLITE_TOOBIG:
    case SQLITE_MISMATCH:
      return absl::StatusCode::kInvalidArgument;
    default:
      return absl::StatusCode::kInternal;
  }
}

// The connection's last error.
absl::Status LastError(sqlite3* database, const char* file) {
  const int result = sqlite3_extended_errcode(database);
  std::string message = absl::StrCat(file, ": ", sqlite3_errmsg(database));
  const int primary = result & 0xff;
  const int system = sqlite3_system_errno(database);
  if ((primary == SQLITE_IOERR || primary == SQLITE_CANTOPEN) && system != 0) {
    absl::StrAppend(&message, " (", std::generic_category().message(system), ")");
  }
  // SQLite reports FULL for writes only. For a quota, and for the shared memory beside the log, it reports an I/O
  // error.
  const bool full = primary == SQLITE_FULL || (primary == SQLITE_IOERR && (system == ENOSPC || system == EDQUOT));
  if (full) absl::StrAppend(&message, "; make room there, or choose another folder with --state-dir");
  return absl::Status(full ? absl::StatusCode::kResourceExhausted : CodeOf(result), message);
}

}  // namespace

absl::StatusOr<bool> SqliteStatement::Next() {
  const int result = sqlite3_step(statement_.get());
  if (result == SQLITE_ROW) return true;
  const absl::Status status = Check(result == SQLITE_DONE ? SQLITE_OK : result);
  sqlite3_reset(statement_.get());
  if (!status.ok()) return status;
  return false;
}

std::string SqliteStatement::Bytes(int column) const {
  const void* bytes = sqlite3_column_blob(statement_.get(), column);
  const int size = sqlite3_column_bytes(statement_.get(), column);
  return size == 0 ? std::string() : std::string(static_cast<const char*>(bytes), size);
}

int SqliteStatement::Bind(int index, absl::string_view text) {
  // SQLite takes a null pointer for NULL.
  const char* const data = text.data() == nullptr ? "" : text.data();
  return sqlite3_bind_text(statement_.get(), index, data, static_cast<int>(text.size()), SQLITE_STATIC);
}

int SqliteStatement::Bind(int index, SqliteBlob blob) {
  const char* const data = blob.bytes.data() == nullptr ? "" : blob.bytes.data();
  return sqlite3_bind_blob(statement_.get(), index, data, static_cast<int>(blob.bytes.size()), SQLITE_STATIC);
}

absl::Status SqliteStatement::Check(int result) const {
  if (result == SQLITE_OK) return absl::OkStatus();
  sqlite3* const database = sqlite3_db_handle(statement_.get());
  return LastError(database, sqlite3_db_filename(database, "main"));
}

absl::StatusOr<SqliteDatabase> SqliteDatabase::Open(const std::string& file, int flags) {
  sqlite3* raw = nullptr;
  const int result = sqlite3_open_v2(file.c_str(), &raw, flags | SQLITE_OPEN_NOMUTEX, nullptr);
  if (raw == nullptr) return absl::ResourceExhaustedError(absl::StrCat(file, ": out of memory"));
  SqliteDatabase database;
  database.database_.reset(raw);
  if (result != SQLITE_OK) return LastError(raw, file.c_str());
  sqlite3_extended_result_codes(raw, 1);
  sqlite3_busy_timeout(raw, kBusyTimeoutMilliseconds);
  return database;
}

absl::StatusOr<SqliteStatement> SqliteDatabase::Prepare(absl::string_view sql) const {
  sqlite3* const database = database_.get();
  sqlite3_stmt* raw = nullptr;
  const int result =
      sqlite3_prepare_v3(database, sql.data(), static_cast<int>(sql.size()), SQLITE_PREPARE_PERSISTENT, &raw, nullptr);
  SqliteStatement statement;
  statement.statement_.reset(raw);
  if (result != SQLITE_OK) return LastError(database, sqlite3_db_filename(database, "main"));
  return statement;
}

absl::Status SqliteDatabase::Execute(const std::string& sql) const {
  sqlite3* const database = database_.get();
  if (sqlite3_exec(database, sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK) return absl::OkStatus();
  return LastError(database, sqlite3_db_filename(database, "main"));
}

absl::StatusOr<int64_t> SqliteDatabase::Pragma(absl::string_view name) const {
  LANISTA_ASSIGN_OR_RETURN(SqliteStatement pragma, Prepare(absl::StrCat("PRAGMA ", name)));
  LANISTA_ASSIGN_OR_RETURN(const bool row, pragma.Next());
  return row ? pragma.Int64(0) : 0;
}

}  // namespace lanista
