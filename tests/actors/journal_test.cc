#include "actors/journal.h"

#include <cstdint>
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
  error_ = absl::OkStatus();
  scheduler().advance_time(JournalState::kRetryDelay);
  EXPECT_EQ(Answers(), std::vector<std::string>{"1"});
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

}  // namespace
}  // namespace lanista
