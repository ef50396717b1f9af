// Journals as older versions of Lanista left them.
#ifndef LANISTA_TESTS_STORAGE_OLD_JOURNAL_H_
#define LANISTA_TESTS_STORAGE_OLD_JOURNAL_H_

#include <string>

#include "gtest/gtest.h"
#include "src/storage/sqlite.h"

namespace lanista {

// Takes from a journal that nobody has open what version 3 added to version 2.
inline void MakeVersion2(const std::string& file) {
  const absl::StatusOr<SqliteDatabase> database = SqliteDatabase::Open(file, SQLITE_OPEN_READWRITE);
  ASSERT_TRUE(database.ok()) << database.status();
  const absl::Status status = database->Execute(R"sql(
      BEGIN IMMEDIATE;
      DROP TABLE fact;
      DROP TABLE config_change;
      ALTER TABLE space DROP COLUMN program;
      ALTER TABLE space DROP COLUMN multi_model_evaluator;
      ALTER TABLE attempt DROP COLUMN lost_cause;
      ALTER TABLE attempt DROP COLUMN resumed_steps;
      PRAGMA user_version = 2;
      COMMIT;)sql");
  ASSERT_TRUE(status.ok()) << status;
}

}  // namespace lanista

#endif  // LANISTA_TESTS_STORAGE_OLD_JOURNAL_H_
