#include "actors/ended_trials.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "tests/actors/device_pool_test.h"

namespace lanista {
namespace {

using EndedTrialsTest = DevicePoolTest;

TEST_F(EndedTrialsTest, ATrialIsForgottenOnceItIsRecorded) {
  const WorkerActor worker = MakeWorker(), owner = MakeWorker();
  EndedTrials ended;
  ended.Add("e", 1, worker, owner.address());
  EXPECT_FALSE(ended.Recorded("e", 2).has_value());
  EXPECT_FALSE(ended.Recorded("f", 1).has_value());
  EXPECT_TRUE(ended.Recorded("e", 1) == worker);
  EXPECT_FALSE(ended.Recorded("e", 1).has_value());
}

TEST_F(EndedTrialsTest, ThoseOfAnOwnerThatIsGoneAreReleased) {
  const WorkerActor worker = MakeWorker(), owner = MakeWorker(), other = MakeWorker();
  EndedTrials ended;
  ended.Add("e", 2, worker, owner.address());
  ended.Add("e", 1, worker, owner.address());
  ended.Add("e", 3, worker, other.address());
  std::string gone;
  for (const auto& [trial, at] : ended.OwnerGone("e", owner.address())) {
    EXPECT_TRUE(at == worker);
    absl::StrAppend(&gone, trial, " ");
  }
  EXPECT_EQ(gone, "1 2 ");
  EXPECT_TRUE(ended.OwnerGone("e", owner.address()).empty());
  EXPECT_TRUE(ended.Recorded("e", 3).has_value());
}

}  // namespace
}  // namespace lanista
