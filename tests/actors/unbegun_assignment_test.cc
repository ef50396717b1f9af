#include "actors/unbegun_assignment.h"

#include <set>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "tests/actors/actor_test.h"

namespace lanista {
namespace {

// One line of all that is said.
std::string Said(const v1::Assignment& assignment, const absl::Status& why, const std::set<int>& stopped = {}) {
  std::string said;
  for (const v1::AssignmentNews& news : NewsOfUnbegun(assignment, stopped, why)) {
    if (news.has_event()) {
      const v1::ModelEvent& event = news.event();
      absl::StrAppend(&said, event.model(), " ", v1::ModelEnded::Outcome_Name(event.ended().outcome()), "; ");
    } else if (news.has_ended()) {
      absl::StrAppend(&said, news.ended().experiment(), " ", news.ended().trial(), " ended");
    } else if (news.has_refused()) {
      absl::StrAppend(&said, "refused: ", news.refused());
    } else if (news.discovered().has_converted()) {
      absl::StrAppend(&said, "converted: ", news.discovered().converted().error().message());
    } else {
      absl::StrAppend(&said, "discovered: ", news.discovered().error().message());
    }
  }
  return said;
}

v1::Assignment TwoModels() {
  v1::Assignment assignment;
  *assignment.mutable_trial() = MakeTrial("e", 7, 1);
  *assignment.mutable_trial()->add_models() = MakeModel(2);
  return assignment;
}

TEST(UnbegunAssignmentTest, AnotherDeviceMayRunWhatThisMachineCannotTake) {
  EXPECT_EQ(Said(TwoModels(), absl::AbortedError("no such data")), "refused: no such data");
  EXPECT_EQ(Said(TwoModels(), absl::UnavailableError("the disk is full")), "refused: the disk is full");
}

TEST(UnbegunAssignmentTest, AllModelsOfATrialEnd) {
  EXPECT_EQ(Said(TwoModels(), absl::NotFoundError("no such file")), "1 FAILED; 2 FAILED; e 7 ended");
  EXPECT_EQ(Said(TwoModels(), absl::CancelledError("")), "1 CANCELED; 2 CANCELED; e 7 ended");
}

TEST(UnbegunAssignmentTest, AModelThatWasStoppedHasNotFailed) {
  EXPECT_EQ(Said(TwoModels(), absl::NotFoundError(""), {2}), "1 FAILED; 2 STOPPED_EARLY; e 7 ended");
  EXPECT_EQ(Said(TwoModels(), absl::CancelledError(""), {1}), "1 STOPPED_EARLY; 2 CANCELED; e 7 ended");
}

TEST(UnbegunAssignmentTest, ADiscoveryOrAConversionIsAnsweredWithTheError) {
  v1::Assignment assignment;
  assignment.mutable_discover()->set_experiment("e");
  EXPECT_EQ(Said(assignment, absl::NotFoundError("no such file")), "discovered: no such file");
  assignment.mutable_discover()->mutable_convert();
  EXPECT_EQ(Said(assignment, absl::NotFoundError("no such file")), "converted: no such file");
}

}  // namespace
}  // namespace lanista
