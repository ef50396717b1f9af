#include "actors/journal.h"

#include "tests/actors/actor_test.h"

namespace lanista {
namespace {

class JournalTest : public ActorTest {
 protected:
  JournalTest() {
    JournalSink sink;
    sink.write = [this](const v1::JournalBatch& batch) {
      writes_.push_back(batch.records_size());
      return error_;
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

  // "ok" or an error's text for each request, in order.
  std::vector<std::string> Answers() {
    Run();
    std::vector<std::string> answers;
    for (auto& request : requests_) {
      request.receive([&](const v1::Ack&) { answers.push_back("ok"); },
                      [&](const caf::error& error) { answers.push_back(std::string(FromCafError(error).message())); });
    }
    requests_.clear();
    return answers;
  }

  std::vector<int> writes_;
  std::vector<std::string> abandoned_;
  absl::Status error_;
  JournalActor journal_;
  caf::scoped_actor self_{system_};
  using Request = decltype(self_->request(journal_, caf::infinite, v1::JournalBatch()));
  std::vector<Request> requests_;
};

TEST_F(JournalTest, WhatWaitsIsWrittenInOneTransactionAndAnsweredAfterIt) {
  Ask(1);
  Ask(2);
  Ask(3);
  EXPECT_EQ(Answers(), (std::vector<std::string>{"ok", "ok", "ok"}));
  EXPECT_EQ(writes_, std::vector<int>{6});
}

TEST_F(JournalTest, LaterRequestsGetATransactionOfTheirOwn) {
  Ask(1);
  Answers();
  Ask(1);
  EXPECT_EQ(Answers(), std::vector<std::string>{"ok"});
  EXPECT_EQ(writes_, (std::vector<int>{1, 1}));
}

TEST_F(JournalTest, AfterAnErrorNothingIsWritten) {
  error_ = absl::ResourceExhaustedError("the disk is full");
  const std::string answer = "the journal cannot be written: the disk is full";
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
  EXPECT_EQ(Answers(), (std::vector<std::string>{"ok", "ok"}));
  EXPECT_EQ(writes_, (std::vector<int>{2, 3}));
  EXPECT_TRUE(abandoned_.empty());
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
