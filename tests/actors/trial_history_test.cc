#include "actors/trial_history.h"

#include <chrono>

#include "gtest/gtest.h"

namespace lanista {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(TrialHistoryTest, KnowsWhatTrialsRead) {
  TrialHistory history;
  EXPECT_TRUE(history.DataOfTrials("a").empty());
  history.SetData("a", {"mnist"});
  EXPECT_EQ(history.DataOfTrials("a"), DataNames{"mnist"});
  history.Forget("a");
  EXPECT_EQ(history.DataOfTrials("a"), DataNames{"mnist"}) << "it may go on";
  history.ForgetData("a");
  EXPECT_TRUE(history.DataOfTrials("a").empty());
}

TEST(TrialHistoryTest, TheLastTwentyTrialsTellHowLongOneMayTake) {
  TrialHistory history;
  EXPECT_FALSE(history.Longest("a").has_value());
  history.AddDuration("a", milliseconds(900));
  for (int i = 0; i < 19; ++i) history.AddDuration("a", milliseconds(100 + i));
  EXPECT_EQ(history.Longest("a"), milliseconds(900));
  history.AddDuration("a", milliseconds(100));
  EXPECT_EQ(history.Longest("a"), milliseconds(118));
  EXPECT_FALSE(history.Longest("b").has_value());
  history.Forget("a");
  EXPECT_FALSE(history.Longest("a").has_value());
}

TEST(TrialHistoryTest, NodesAreNotAskedAgainForAWhileThatGrows) {
  TrialHistory history;
  const TrialHistory::TimePoint now(std::chrono::hours(1));
  EXPECT_FALSE(history.WasRefused("a", now));
  EXPECT_EQ(history.AddRefusal("a", "no room", now), seconds(0));
  EXPECT_FALSE(history.WasRefused("a", now)) << "the first time may have been by chance";
  EXPECT_EQ(history.AddRefusal("a", "still no room", now), seconds(1));
  EXPECT_TRUE(history.WasRefused("a", now));
  EXPECT_EQ(history.WhyRefused("a"), "still no room");
  EXPECT_FALSE(history.WasRefused("a", now + seconds(1)));
  EXPECT_EQ(history.AddRefusal("a", "no room", now), seconds(2));
  EXPECT_FALSE(history.WasRefused("b", now));
  history.ForgetRefusals("a");
  EXPECT_FALSE(history.WasRefused("a", now));
  EXPECT_EQ(history.AddRefusal("a", "no room", now), seconds(0)) << "work was done since";
}

}  // namespace
}  // namespace lanista
