// The part of SQLite that the journal needs: connections and prepared statements as values, errors as statuses.
//
// A connection and its statements belong to one thread at a time.
#ifndef LANISTA_SRC_STORAGE_SQLITE_H_
#define LANISTA_SRC_STORAGE_SQLITE_H_

#include <sqlite3.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "src/base/status.h"

namespace lanista {

// Bytes that are not text.
struct SqliteBlob {
  absl::string_view bytes;
};

// A prepared statement. Parameters are bound in order; text and bytes must stay until the statement is done.
class SqliteStatement {
 public:
  SqliteStatement() = default;

  // Runs a statement that returns no rows.
  template <typename... Values>
  absl::Status Run(const Values&... values) {
    LANISTA_RETURN_IF_ERROR(Start(values...));
    return Next().status();
  }

  // Starts a query, whose rows Next() walks through: true while there is one.
  template <typename... Values>
  absl::Status Start(const Values&... values) {
    sqlite3_reset(statement_.get());
    int result = SQLITE_OK;
    [[maybe_unused]] int index = 0;
    ((result = result == SQLITE_OK ? Bind(++index, values) : result), ...);
    return Check(result);
  }
  absl::StatusOr<bool> Next();

  // The current row; column 0 is the first. NULL reads as 0 and "".
  bool IsNull(int column) const { return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL; }
  int64_t Int64(int column) const { return sqlite3_column_int64(statement_.get(), column); }
  int Int(int column) const { return sqlite3_column_int(statement_.get(), column); }
  double Double(int column) const { return sqlite3_column_double(statement_.get(), column); }
  // Text or bytes.
  std::string Bytes(int column) const;

 private:
  friend class SqliteDatabase;

  struct Finalizer {
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
  };

  int Bind(int index, int64_t value) { return sqlite3_bind_int64(statement_.get(), index, value); }
  int Bind(int index, int value) { return sqlite3_bind_int(statement_.get(), index, value); }
  int Bind(int index, bool value) { return sqlite3_bind_int(statement_.get(), index, value); }
  int Bind(int index, double value) { return sqlite3_bind_double(statement_.get(), index, value); }
  int Bind(int index, std::nullptr_t) { return sqlite3_bind_null(statement_.get(), index); }
  int Bind(int index, absl::string_view text);
  int Bind(int index, const std::string& text) { return Bind(index, absl::string_view(text)); }
  int Bind(int index, SqliteBlob blob);
  template <typename Value>
  int Bind(int index, const std::optional<Value>& value) {
    return value.has_value() ? Bind(index, *value) : Bind(index, nullptr);
  }
  absl::Status Check(int result) const;

  std::unique_ptr<sqlite3_stmt, Finalizer> statement_;
};

// A connection to a database file.
class SqliteDatabase {
 public:
  // `flags`: SQLITE_OPEN_...; `file` may be a URI with SQLITE_OPEN_URI. Waits 10 s for locks.
  static absl::StatusOr<SqliteDatabase> Open(const std::string& file, int flags);

  absl::StatusOr<SqliteStatement> Prepare(absl::string_view sql) const;

  // Runs statements, separated by semicolons, that return nothing of interest.
  absl::Status Execute(const std::string& sql) const;

  // The integer that "PRAGMA `name`" returns.
  absl::StatusOr<int64_t> Pragma(absl::string_view name) const;

  // Rows that the last INSERT, UPDATE or DELETE changed.
  int changes() const { return sqlite3_changes(database_.get()); }
  // The row that the last INSERT made.
  int64_t last_row() const { return sqlite3_last_insert_rowid(database_.get()); }
  // Whether a transaction is open.
  bool in_transaction() const { return sqlite3_get_autocommit(database_.get()) == 0; }

 private:
  struct Closer {
    void operator()(sqlite3* database) const { sqlite3_close_v2(database); }
  };

  std::unique_ptr<sqlite3, Closer> database_;
};

}  // namespace lanista

#endif  // LANISTA_SRC_STORAGE_SQLITE_H_
