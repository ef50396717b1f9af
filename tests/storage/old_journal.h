// Journals as older versions of Lanista left them.
#ifndef LANISTA_TESTS_STORAGE_OLD_JOURNAL_H_
#define LANISTA_TESTS_STORAGE_OLD_JOURNAL_H_

#include <string>

#include "gtest/gtest.h"
#include "src/storage/sqlite.h"

namespace lanista {

inline void ExecuteOn(const std::string& file, const std::string& statements) {
  const absl::StatusOr<SqliteDatabase> database = SqliteDatabase::Open(file, SQLITE_OPEN_READWRITE);
  ASSERT_TRUE(database.ok()) << database.status();
  const absl::Status status = database->Execute("BEGIN IMMEDIATE; " + statements + " COMMIT;");
  ASSERT_TRUE(status.ok()) << status;
}

// Makes a journal that nobody has open what version 8 would have left.
inline void MakeVersion8(const std::string& file) {
  ExecuteOn(file,
            "DROP TABLE weights; ALTER TABLE attempt DROP COLUMN assignment; "
            "ALTER TABLE attempt DROP COLUMN left_weights; PRAGMA user_version = 8;");
}

// Takes from it what version 8 added to version 7, too.
inline void MakeVersion7(const std::string& file) {
  MakeVersion8(file);
  ExecuteOn(file, R"sql(
      ALTER TABLE model DROP COLUMN params;
      ALTER TABLE model DROP COLUMN flops;
      DELETE FROM fact WHERE kind = 'model_built';
      PRAGMA user_version = 7;)sql");
}

// And what version 7 changed in version 6.
inline void MakeVersion6(const std::string& file) {
  MakeVersion7(file);
  ExecuteOn(file,
            "UPDATE state_change SET state = 'EXPERIMENT_FAILED' WHERE state = 'FAILED'; PRAGMA user_version = 6;");
}

// And what version 6 added to version 5.
inline void MakeVersion5(const std::string& file) {
  MakeVersion6(file);
  ExecuteOn(file, "ALTER TABLE trial DROP COLUMN plan; PRAGMA user_version = 5;");
}

// And what version 5 added to version 4.
inline void MakeVersion4(const std::string& file) {
  MakeVersion5(file);
  ExecuteOn(file, R"sql(
      ALTER TABLE outcome RENAME TO outcome_of_5;
      CREATE TABLE outcome (
        model INTEGER PRIMARY KEY REFERENCES model,
        time INTEGER NOT NULL,
        attempt INTEGER NOT NULL,
        outcome TEXT NOT NULL CHECK (outcome IN ('SUCCEEDED', 'FAILED', 'STOPPED_EARLY', 'CANCELED')),
        value REAL,
        metrics TEXT NOT NULL,
        reason TEXT,
        message TEXT,
        signal INTEGER,
        exit_status INTEGER,
        stopped_step INTEGER,
        stopped_because TEXT
      );
      INSERT INTO outcome SELECT * FROM outcome_of_5;
      DROP TABLE outcome_of_5;
      ALTER TABLE experiment DROP COLUMN request_id;
      ALTER TABLE experiment DROP COLUMN served;
      ALTER TABLE state_change DROP COLUMN served;
      PRAGMA user_version = 4;)sql");
}

// And what version 4 added to version 3.
inline void MakeVersion3(const std::string& file) {
  MakeVersion4(file);
  ExecuteOn(file, R"sql(
      DROP TABLE stopping_call;
      ALTER TABLE outcome DROP COLUMN stopped_step;
      ALTER TABLE outcome DROP COLUMN stopped_because;
      PRAGMA user_version = 3;)sql");
}

// And what version 3 added to version 2.
inline void MakeVersion2(const std::string& file) {
  MakeVersion3(file);
  ExecuteOn(file, R"sql(
      DROP TABLE fact;
      DROP TABLE config_change;
      ALTER TABLE space DROP COLUMN program;
      ALTER TABLE space DROP COLUMN multi_model_evaluator;
      ALTER TABLE attempt DROP COLUMN lost_cause;
      ALTER TABLE attempt DROP COLUMN resumed_steps;
      PRAGMA user_version = 2;)sql");
}

}  // namespace lanista

#endif  // LANISTA_TESTS_STORAGE_OLD_JOURNAL_H_
