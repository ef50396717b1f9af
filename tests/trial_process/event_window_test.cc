#include "src/trial_process/event_window.h"

#include <string>

#include "gtest/gtest.h"

namespace lanista {
namespace {

using Clock = EventWindow::Clock;

class EventWindowTest : public ::testing::Test {
 protected:
  explicit EventWindowTest(int models = 1) {
    trial_.set_experiment("e");
    trial_.set_trial(7);
    for (int model = 1; model <= models; ++model) {
      trial_.add_models()->set_model(model);
      trial_.mutable_models()->rbegin()->set_attempt(2);
    }
    window_.Begin(trial_);
  }

  v1::ModelEvent Event(int model, int sequence, size_t bytes = 0) const {
    v1::ModelEvent event;
    event.set_experiment("e");
    event.set_trial(7);
    event.set_model(model);
    event.set_attempt(2);
    event.set_sequence(sequence);
    (*event.mutable_intermediate()->mutable_metrics()->mutable_values())[std::string(bytes, 'x')] = 1;
    return event;
  }

  void Read(const v1::ModelEvent& event) { window_.Read(event, now_); }
  void Recorded(const v1::ModelEvent& event) { window_.Recorded(AcknowledgementOf(event), now_); }

  // Reads events of the model, from `sequence` on, until the window is full. Returns the next sequence number.
  int Fill(int model, int sequence, size_t bytes = 0) {
    while (!window_.full() && sequence < 1000000) Read(Event(model, sequence++, bytes));
    return sequence;
  }

  v1::TrialSpec trial_;
  EventWindow window_;
  Clock::time_point now_;
};

TEST(EventWindowLimitTest, ManyTrialsShareWhatTheyMayHave) {
  EXPECT_EQ(EventWindow::LimitOfOneIn(1).events, EventWindow::kEvents);
  EXPECT_EQ(EventWindow::LimitOfOneIn(64).bytes, EventWindow::kBytes);
  EXPECT_EQ(EventWindow::LimitOfOneIn(128).events, EventWindow::kEvents / 2);
  EXPECT_EQ(EventWindow::LimitOfOneIn(128).bytes, EventWindow::kBytes / 2);
  EXPECT_EQ(EventWindow::LimitOfOneIn(100000).events, kAcknowledgedOneOf) << "with less, nothing would go on";

  v1::TrialSpec trial;
  trial.add_models()->set_model(1);
  EventWindow window(EventWindow::LimitOfOneIn(128));
  for (int again = 0; again < 2; ++again) {
    window.Begin(trial);
    int sequence = 0;
    while (!window.full() && sequence < 10000) {
      v1::ModelEvent event;
      event.set_model(1);
      event.set_sequence(++sequence);
      window.Read(event, {});
    }
    EXPECT_EQ(sequence, EventWindow::kEvents / 2 + kAcknowledgedOneOf);
    EXPECT_EQ(window.excess().events, EventWindow::kEvents / 2);
  }
}

class EventWindowOfFourTest : public EventWindowTest {
 protected:
  EventWindowOfFourTest() : EventWindowTest(4) {}
};

TEST_F(EventWindowTest, OneOfSoManyEventsIsAcknowledgedAndEachLargeOne) {
  EXPECT_FALSE(IsAcknowledged(Event(1, kAcknowledgedOneOf - 1)));
  EXPECT_TRUE(IsAcknowledged(Event(1, kAcknowledgedOneOf)));
  EXPECT_TRUE(IsAcknowledged(Event(1, 1, kSmallEventBytes)));
  v1::ModelEvent end = Event(1, kAcknowledgedOneOf);
  end.mutable_ended();
  EXPECT_FALSE(IsAcknowledged(end)) << "nothing of the model comes after it";
}

TEST_F(EventWindowTest, IsFullUntilEventsAreRecorded) {
  const int next = Fill(1, 1);
  EXPECT_EQ(next - 1, EventWindow::kEvents + kAcknowledgedOneOf);
  Recorded(Event(1, kAcknowledgedOneOf));
  EXPECT_FALSE(window_.full());
  EXPECT_EQ(Fill(1, next), next + kAcknowledgedOneOf);
  // One tells of all before it.
  Recorded(Event(1, 1024));
  EXPECT_EQ(Fill(1, next + kAcknowledgedOneOf), next + 1024);
}

TEST_F(EventWindowTest, LargeEventsFillItSooner) {
  constexpr size_t kLarge = 200000;
  const int next = Fill(1, 1, kLarge);
  EXPECT_LT(next * static_cast<int64_t>(kLarge), 2 * EventWindow::kBytes);
  Recorded(Event(1, 1, kLarge));
  EXPECT_FALSE(window_.full()) << "each by itself is acknowledged";
  EXPECT_EQ(Fill(1, next, kLarge), next + 1);
}

TEST_F(EventWindowOfFourTest, IsNeverFullOfRecordedEvents) {
  for (const size_t bytes : {size_t{0}, static_cast<size_t>(kSmallEventBytes - 100)}) {
    window_.Begin(trial_);
    int last_full = 0;
    for (int sequence = 1; sequence <= 10000; ++sequence) {
      for (int model = 1; model <= 4; ++model) {
        const v1::ModelEvent event = Event(model, sequence, bytes);
        Read(event);
        if (window_.full()) last_full = sequence;
        if (IsAcknowledged(event)) Recorded(event);
      }
    }
    EXPECT_EQ(last_full, 0) << "all is recorded at once";
  }
}

TEST_F(EventWindowOfFourTest, TheEndOfAModelFreesWhatItTook) {
  int next = Fill(1, 1);
  EXPECT_EQ(next - 1, EventWindow::kEvents + 4 * kAcknowledgedOneOf);
  v1::ModelEvent end = Event(1, next++);
  end.mutable_ended();
  Read(end);
  EXPECT_FALSE(window_.full());
  for (; next < 10000; ++next) Read(Event(1, next));
  EXPECT_FALSE(window_.full()) << "it has ended: nobody hands on what it says";
  Recorded(Event(1, 64));
  EXPECT_EQ(Fill(2, 1) - 1, EventWindow::kEvents + 4 * kAcknowledgedOneOf);
}

TEST_F(EventWindowTest, OtherTrialsAndAttemptsDoNotCount) {
  v1::ModelEvent other = Event(1, 64);
  other.set_trial(8);
  for (int i = 0; i < 10000; ++i) Read(other);
  for (int i = 0; i < 10000; ++i) Read(Event(2, 64));
  EXPECT_FALSE(window_.full());
  Fill(1, 1);
  Recorded(other);
  other = Event(1, 64);
  other.set_attempt(1);
  Recorded(other);
  EXPECT_TRUE(window_.full());
}

TEST_F(EventWindowTest, ANewTrialBeginsAtZero) {
  Fill(1, 1);
  now_ += std::chrono::seconds(1);
  trial_.set_trial(8);
  window_.Begin(trial_);
  EXPECT_FALSE(window_.full());
  EXPECT_EQ(window_.FullFor(now_), Clock::duration::zero());
}

TEST_F(EventWindowTest, TellsHowLongItWasFull) {
  int next = Fill(1, 1);
  now_ += std::chrono::seconds(2);
  EXPECT_EQ(window_.FullFor(now_), std::chrono::seconds(2)) << "so far";
  Recorded(Event(1, 64));
  now_ += std::chrono::seconds(4);
  EXPECT_EQ(window_.FullFor(now_), std::chrono::seconds(2));
  next = Fill(1, next);
  now_ += std::chrono::seconds(1);
  Recorded(Event(1, 128));
  EXPECT_EQ(window_.FullFor(now_), std::chrono::seconds(3));
}

}  // namespace
}  // namespace lanista
