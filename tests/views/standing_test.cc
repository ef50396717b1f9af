#include "src/views/standing.h"

#include <gtest/gtest.h>

#include <optional>
#include <utility>
#include <vector>

#include "absl/time/time.h"

namespace lanista {
namespace {

// An attempt that never started, because its head was killed before.
constexpr int kNeverStarted = -1;

// Attempts 1, 2, ..., which went on behind so many steps.
ShownAttempt After(const std::vector<int>& resumed_steps) {
  ShownAttempt shown;
  for (size_t i = 0; i < resumed_steps.size(); ++i) {
    AttemptRecord attempt;
    attempt.attempt = static_cast<int>(i) + 1;
    if (resumed_steps[i] != kNeverStarted) {
      attempt.started = absl::UnixEpoch();
      attempt.resumed_steps = resumed_steps[i];
    }
    shown.See(attempt, std::nullopt);
  }
  return shown;
}

// (attempt, step) of all reports that are shown, where each attempt made reports of the steps 0 to 4.
std::vector<std::pair<int, int>> Shown(const ShownAttempt& shown, int attempts) {
  std::vector<std::pair<int, int>> found;
  for (int attempt = 1; attempt <= attempts; ++attempt) {
    for (int step = 0; step < 5; ++step) {
      if (shown.Shows(attempt, step)) found.emplace_back(attempt, step);
    }
  }
  return found;
}

using Reports = std::vector<std::pair<int, int>>;

TEST(ShownAttemptTest, TheLastAttemptIsShown) {
  EXPECT_EQ(After({}).number(), 0);
  EXPECT_EQ(After({0, 0}).number(), 2);
  EXPECT_EQ(Shown(After({0, 0}), 2), (Reports{{2, 0}, {2, 1}, {2, 2}, {2, 3}, {2, 4}}));
}

TEST(ShownAttemptTest, WhatWasInTheCheckpointIsShownToo) {
  EXPECT_EQ(Shown(After({0, 2}), 1), (Reports{{1, 0}, {1, 1}}));
  // The third went on from what the second had done, which went on from the first.
  EXPECT_EQ(Shown(After({0, 2, 4}), 1), (Reports{{1, 0}, {1, 1}}));
}

TEST(ShownAttemptTest, NothingOfAnAttemptBeforeOneThatBeganAnew) {
  const ShownAttempt shown = After({0, 0, 2});
  EXPECT_TRUE(Shown(shown, 1).empty());
  EXPECT_TRUE(shown.Shows(2, 1));
  EXPECT_FALSE(shown.Shows(2, 2));
}

TEST(ShownAttemptTest, AnAttemptThatNeverStartedTakesNothingBack) {
  EXPECT_EQ(Shown(After({0, kNeverStarted}), 1), (Reports{{1, 0}, {1, 1}, {1, 2}, {1, 3}, {1, 4}}));
  EXPECT_EQ(Shown(After({0, kNeverStarted, 1}), 1), (Reports{{1, 0}}));
  EXPECT_TRUE(Shown(After({0, kNeverStarted, 0}), 1).empty());
}

TEST(ShownAttemptTest, AnAttemptBehindTheOutcomeIsNotShown) {
  ShownAttempt shown = After({0});
  v1::ModelOutcome outcome;
  outcome.set_attempt(1);
  AttemptRecord late;
  late.attempt = 2;
  shown.See(late, outcome);
  EXPECT_EQ(shown.number(), 1);
  EXPECT_FALSE(shown.Shows(2, 0));
}

}  // namespace
}  // namespace lanista
