#include "actors/journal.h"

#include "tests/actors/actor_test.h"

namespace lanista {
namespace {

class JournalTest : public ActorTest {
 protected:
  JournalTest() {
    journal_ = Spawn(Journal, WriteJournal([this](const v1::JournalBatch& batch) {
                       writes_.push_back(batch.records_size());
                       return error_;
                     }));
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
  Ask(1);
  Ask(1);
  EXPECT_EQ(Answers(), (std::vector<std::string>{"the disk is full", "the disk is full"}));
  error_ = absl::OkStatus();
  Ask(1);
  EXPECT_EQ(Answers(), std::vector<std::string>{"the disk is full"});
  EXPECT_EQ(writes_.size(), 1u);
}

}  // namespace
}  // namespace lanista
