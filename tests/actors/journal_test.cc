#include "actors/journal.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/actors/actor_test.h"

namespace lanista {
namespace {

class JournalTest : public ActorTest {
 protected:
  JournalTest() {
    JournalSink sink;
    sink.write = [this](const v1::JournalBatch& batch) -> absl::StatusOr<int64_t> {
      writes_.push_back(batch.records_size());
      if (!error_.ok()) return error_;
      return std::exchange(next_number_, next_number_ + batch.records_size());
    };
    sink.abandon = [this](const absl::Status& status) { abandoned_.push_back(std::string(status.message())); };
    sink.telemetry = telemetry_;
    journal_ = Spawn(Journal, sink);
  }

  // Asks for a batch of `records`; its answer is collected by Answers.
  void Ask(int records) {
    v1::JournalBatch batch;
    for (int i = 0; i < records; ++i) batch.add_records();
    requests_.push_back(self_->request(journal_, caf::infinite, batch));
  }

  // The number of its first record, or an error's text, for each request, in order.
  std::vector<std::string> Answers() {
    Run();
    std::vector<std::string> answers;
    for (auto& request : requests_) {
      request.receive([&](const v1::Recorded& recorded) { answers.push_back(std::to_string(recorded.first_number())); },
                      [&](const caf::error& error) { answers.push_back(std::string(FromCafError(error).message())); });
    }
    requests_.clear();
    return answers;
  }

  // Transactions that telemetry has heard of.
  uint64_t Transactions() const {
    uint64_t transactions = 0;
    for (size_t i = 0; i < Histogram::kBuckets; ++i) transactions += telemetry_->journal_write.count(i);
    return transactions;
  }

  const TelemetryPtr telemetry_ = std::make_shared<Telemetry>();
  std::vector<int> writes_;
  std::vector<std::string> abandoned_;
  absl::Status error_;
  int64_t next_number_ = 1;
  JournalActor journal_;
  caf::scoped_actor self_{system_};
  using Request = decltype(self_->request(journal_, caf::infinite, v1::JournalBatch()));
  std::vector<Request> requests_;
};

TEST_F(JournalTest, WhatWaitsIsWrittenInOneTransactionAndAnsweredAfterIt) {
  Ask(1);
  Ask(2);
  Ask(3);
  EXPECT_EQ(Answers(), (std::vector<std::string>{"1", "2", "4"}));
  EXPECT_EQ(writes_, std::vector<int>{6});
  EXPECT_EQ(Transactions(), 1u);
  EXPECT_EQ(telemetry_->journal_records.value(), 6u);
  EXPECT_EQ(telemetry_->journal_errors.value(), 0u);
}

TEST_F(JournalTest, LaterRequestsGetATransactionOfTheirOwn) {
  Ask(1);
  Answers();
  Ask(1);
  EXPECT_EQ(Answers(), std::vector<std::string>{"2"});
  EXPECT_EQ(writes_, (std::vector<int>{1, 1}));
}

TEST_F(JournalTest, AfterAnErrorNothingIsWritten) {
  error_ = absl::DataLossError("it was deleted");
  const std::string answer = "the journal cannot be written: it was deleted";
  Ask(1);
  Ask(1);
  EXPECT_EQ(Answers(), (std::vector<std::string>{answer, answer}));
  error_ = absl::OkStatus();
  Ask(1);
  EXPECT_EQ(Answers(), std::vector<std::string>{answer});
  EXPECT_EQ(writes_.size(), 1u);
  EXPECT_EQ(abandoned_, std::vector<std::string>{answer}) << "the reason is kept, once";
}

TEST_F(JournalTest, AnErrorThatPassesCostsNothing) {
  error_ = absl::UnavailableError("database is locked");
  Ask(2);
  Run();
  // Comes while the first waits.
  Ask(1);
  Run();
  EXPECT_EQ(writes_, std::vector<int>{2}) << "nobody asks in vain before the delay is over";
  error_ = absl::OkStatus();
  scheduler().advance_time(JournalState::kRetryDelay);
  EXPECT_EQ(Answers(), (std::vector<std::string>{"1", "3"}));
  EXPECT_EQ(writes_, (std::vector<int>{2, 3}));
  EXPECT_TRUE(abandoned_.empty());
}

TEST_F(JournalTest, AFullDiskIsWaitedForHoweverLongItTakes) {
  error_ = absl::ResourceExhaustedError("the disk is full");
  Ask(1);
  for (int i = 0; i < 10 * JournalState::kMaxRetries; ++i) {
    Run();
    scheduler().advance_time(JournalState::kRetryDelay);
  }
  auto alive = self_->request(journal_, caf::infinite, v1::Ack());
  Run();
  bool answered = false;
  alive.receive([&](const v1::Ack&) { answered = true; }, [](const caf::error&) {});
  EXPECT_TRUE(answered) << "it waits, and says that it is alive";
  EXPECT_TRUE(abandoned_.empty());
  EXPECT_EQ(telemetry_->journals_paused.value(), 1);
  EXPECT_EQ(telemetry_->journal_errors.value(), static_cast<uint64_t>(writes_.size()));
  EXPECT_EQ(Transactions(), 0u);
  error_ = absl::OkStatus();
  scheduler().advance_time(JournalState::kRetryDelay);
  EXPECT_EQ(Answers(), std::vector<std::string>{"1"});
  EXPECT_EQ(telemetry_->journals_paused.value(), 0);
  EXPECT_EQ(telemetry_->journal_records.value(), 1u);
}

TEST_F(JournalTest, AnErrorThatDoesNotPassEndsAfterSomeRetries) {
  error_ = absl::UnavailableError("database is locked");
  Ask(1);
  for (int i = 0; i < JournalState::kMaxRetries; ++i) {
    Run();
    EXPECT_TRUE(abandoned_.empty());
    scheduler().advance_time(JournalState::kRetryDelay);
  }
  EXPECT_EQ(Answers(), std::vector<std::string>{"the journal cannot be written: database is locked"});
  EXPECT_EQ(static_cast<int>(writes_.size()), 1 + JournalState::kMaxRetries);
  EXPECT_EQ(abandoned_.size(), 1u);
}

TEST_F(JournalTest, OneThatEndsWhileItWaitsForRoomIsNoLongerCounted) {
  error_ = absl::ResourceExhaustedError("the disk is full");
  Ask(1);
  Run();
  EXPECT_EQ(telemetry_->journals_paused.value(), 1);
  caf::anon_send_exit(journal_, caf::exit_reason::user_shutdown);
  Run();
  EXPECT_EQ(telemetry_->journals_paused.value(), 0);
}

}  // namespace
}  // namespace lanista
