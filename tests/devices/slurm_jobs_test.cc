#include "src/devices/slurm_jobs.h"

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace lanista {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Nodes of two devices each, of which four may be there at most.
class SlurmJobsTest : public ::testing::Test {
 protected:
  SlurmJobsTest() { ledger_.set_prefix("lanista-ab"); }

  SlurmJobs Make() {
    SlurmJobs::Options options;
    options.devices_per_node = 2;
    options.min_nodes = min_nodes_;
    options.max_nodes = 4;
    options.log_folder = "/logs";
    return SlurmJobs(options, ledger_);
  }

  static v1::NodeStatus Node(const std::string& name, int busy) {
    v1::NodeStatus node;
    node.set_name(name);
    node.set_condition(v1::NodeStatus::JOINED);
    node.set_devices(2);
    node.set_busy(busy);
    return node;
  }
  static QueuedJob Pending(const std::string& id, const std::string& name, const std::string& reason = "Resources") {
    return {id, name, "PENDING", reason};
  }
  static QueuedJob Running(const std::string& id, const std::string& name) { return {id, name, "RUNNING", "None"}; }

  // Submits what is wanted until nothing is; returns how many.
  int SubmitAll(SlurmJobs& jobs, int waiting, const std::vector<v1::NodeStatus>& nodes = {}) {
    int submitted = 0;
    while (true) {
      const SlurmJobs::Decision decision = jobs.Decide(now_, waiting, nodes);
      if (!decision.submit.has_value()) return submitted;
      jobs.Submitted(*decision.submit, std::to_string(100 + *decision.submit));
      ++submitted;
    }
  }
  void Pass(absl::Duration duration) { now_ += duration; }

  v1::SlurmLedger ledger_;
  int min_nodes_ = 0;
  absl::Time now_ = absl::FromUnixSeconds(1000000);
};

TEST_F(SlurmJobsTest, AsManyNodesAreAskedForAsTheWorkThatWaitsNeeds) {
  SlurmJobs jobs = Make();
  EXPECT_EQ(SubmitAll(jobs, 0), 0);
  EXPECT_EQ(SubmitAll(jobs, 3), 2);
  EXPECT_EQ(SubmitAll(jobs, 3), 0) << "those are on their way";
  EXPECT_EQ(SubmitAll(jobs, 1000), 2) << "no more than max_nodes";
}

TEST_F(SlurmJobsTest, TheNumberIsInTheLedgerBeforeTheJobIsSubmitted) {
  SlurmJobs jobs = Make();
  EXPECT_EQ(jobs.Decide(now_, 1, {}).submit, 1);
  ASSERT_EQ(jobs.Ledger().job_size(), 1);
  EXPECT_EQ(jobs.Ledger().last_number(), 1);
  EXPECT_EQ(jobs.Ledger().job(0).id(), "");
  jobs.Submitted(1, "4711");
  EXPECT_EQ(jobs.Ledger().job(0).id(), "4711");
}

TEST_F(SlurmJobsTest, AHeadThatWasKilledInTheMiddleOfSbatchSubmitsNothingTwice) {
  ledger_.set_last_number(7);
  ledger_.add_job()->set_number(7);
  SlurmJobs jobs = Make();
  const SlurmJobs::Decision decision = jobs.Decide(now_, 1, {});
  EXPECT_TRUE(decision.look);
  EXPECT_FALSE(decision.submit.has_value());
  jobs.Looked(now_, now_, {Pending("4711", "lanista-ab-7"), Pending("1", "lanista-cd-7"), Pending("2", "other")});
  EXPECT_EQ(jobs.Ledger().job(0).id(), "4711");
  EXPECT_FALSE(jobs.Decide(now_, 1, {}).submit.has_value());
  EXPECT_THAT(jobs.Because(), HasSubstr("Resources"));
}

TEST_F(SlurmJobsTest, WhereSbatchHadNotBegunAnotherJobIsSubmittedAfterTwoLooks) {
  ledger_.set_last_number(7);
  ledger_.add_job()->set_number(7);
  SlurmJobs jobs = Make();
  jobs.Decide(now_, 1, {});
  jobs.Looked(now_, now_, {});
  EXPECT_FALSE(jobs.Decide(now_, 1, {}).submit.has_value()) << "sbatch may still be under way";
  Pass(absl::Seconds(30));
  EXPECT_TRUE(jobs.Decide(now_, 1, {}).look);
  jobs.Looked(now_, now_, {});
  EXPECT_EQ(jobs.Decide(now_, 1, {}).submit, 8);
}

TEST_F(SlurmJobsTest, SqueueIsCalledNoMoreOftenThanItMayBe) {
  SlurmJobs jobs = Make();
  EXPECT_FALSE(jobs.Decide(now_, 0, {}).look) << "there is nothing to look for";
  SubmitAll(jobs, 1);
  EXPECT_TRUE(jobs.Decide(now_, 1, {}).look);
  jobs.NotLooked(now_, "squeue: Unable to contact slurm controller");
  EXPECT_FALSE(jobs.Decide(now_ + absl::Seconds(29), 1, {}).look);
  EXPECT_TRUE(jobs.Decide(now_ + absl::Seconds(30), 1, {}).look);
  EXPECT_THAT(jobs.Because(), HasSubstr("Unable to contact"));
}

TEST_F(SlurmJobsTest, ARefusalIsToldInSlurmsWordsAndDelaysTheNext) {
  SlurmJobs jobs = Make();
  EXPECT_EQ(jobs.Decide(now_, 8, {}).submit, 1);
  jobs.NotSubmitted(now_, 1, "sbatch: error: invalid partition specified: x");
  EXPECT_THAT(jobs.Because(), HasSubstr("invalid partition specified: x"));
  EXPECT_THAT(jobs.Coming(), IsEmpty());
  jobs.Looked(now_ + absl::Seconds(1), now_ + absl::Seconds(1), {});
  EXPECT_FALSE(jobs.Decide(now_ + absl::Seconds(9), 8, {}).submit.has_value());
  EXPECT_EQ(jobs.Decide(now_ + absl::Seconds(10), 8, {}).submit, 2);
  jobs.NotSubmitted(now_ + absl::Seconds(10), 2, "again");
  jobs.Looked(now_ + absl::Seconds(11), now_ + absl::Seconds(11), {});
  EXPECT_FALSE(jobs.Decide(now_ + absl::Seconds(29), 8, {}).submit.has_value());
  EXPECT_EQ(jobs.Decide(now_ + absl::Seconds(30), 8, {}).submit, 3);
}

TEST_F(SlurmJobsTest, AfterALostAnswerNothingIsSubmittedBeforeSqueueHasAnswered) {
  SlurmJobs jobs = Make();
  EXPECT_EQ(jobs.Decide(now_, 8, {}).submit, 1);
  jobs.Looked(now_, now_, {});
  jobs.NotSubmitted(now_ + absl::Seconds(5), 1, "Socket timed out on send/recv operation");
  EXPECT_FALSE(jobs.Decide(now_ + absl::Seconds(60), 8, {}).submit.has_value());
  jobs.NotLooked(now_ + absl::Seconds(60), "Socket timed out on send/recv operation");
  EXPECT_FALSE(jobs.Decide(now_ + absl::Seconds(61), 8, {}).submit.has_value());
  jobs.Looked(now_ + absl::Seconds(90), now_ + absl::Seconds(90), {Running("4711", "lanista-ab-1")});
  EXPECT_EQ(jobs.Coming().size(), 1u) << "it was submitted";
}

TEST_F(SlurmJobsTest, AJobThatScancelDidNotReachIsCanceledAgain) {
  SlurmJobs jobs = Make();
  SubmitAll(jobs, 1);
  jobs.Decide(now_, 0, {});
  Pass(absl::Seconds(60));
  EXPECT_THAT(jobs.Decide(now_, 0, {}).cancel, ElementsAre("101"));
  EXPECT_THAT(jobs.Coming(), IsEmpty());
  jobs.Looked(now_ + absl::Seconds(1), now_ + absl::Seconds(1), {Pending("101", "lanista-ab-1")});
  EXPECT_EQ(jobs.Coming().size(), 1u) << "it is still there, and may be of use";
  EXPECT_EQ(SubmitAll(jobs, 1), 0);
  jobs.Decide(now_, 0, {});
  Pass(absl::Seconds(60));
  EXPECT_THAT(jobs.Decide(now_, 0, {}).cancel, ElementsAre("101"));
}

TEST_F(SlurmJobsTest, AJobThatSbatchTookAlthoughItSaidNothingIsFound) {
  SlurmJobs jobs = Make();
  jobs.Decide(now_, 1, {});
  jobs.NotSubmitted(now_, 1, "sbatch did not end within 30 s and was killed");
  Pass(absl::Seconds(60));
  jobs.Looked(now_, now_, {Running("4711", "lanista-ab-1")});
  EXPECT_EQ(jobs.Ledger().job(0).id(), "4711");
  EXPECT_EQ(SubmitAll(jobs, 2), 0);
  EXPECT_EQ(jobs.Coming().size(), 1u);
}

TEST_F(SlurmJobsTest, ANodeWithoutWorkLeavesAfterTheIdleTimeout) {
  SlurmJobs jobs = Make();
  SubmitAll(jobs, 4);
  const std::string one = jobs.NameOf(1), two = jobs.NameOf(2);
  jobs.Decide(now_, 0, {Node(one, 1), Node(two, 1)});
  Pass(absl::Seconds(5));
  EXPECT_THAT(jobs.Decide(now_, 0, {Node(one, 1), Node(two, 0)}).drain, IsEmpty());
  Pass(absl::Seconds(59));
  EXPECT_THAT(jobs.Decide(now_, 0, {Node(one, 1), Node(two, 0)}).drain, IsEmpty());
  Pass(absl::Seconds(1));
  EXPECT_THAT(jobs.Decide(now_, 0, {Node(one, 1), Node(two, 0)}).drain, ElementsAre(two));
  EXPECT_THAT(jobs.Decide(now_, 0, {Node(one, 1), Node(two, 0)}).drain, IsEmpty()) << "once is enough";
  // Its job is still in the queue, and is no node that will come.
  EXPECT_EQ(SubmitAll(jobs, 1, {Node(one, 2)}), 1);
}

TEST_F(SlurmJobsTest, SomeNodesStay) {
  min_nodes_ = 1;
  SlurmJobs jobs = Make();
  EXPECT_EQ(SubmitAll(jobs, 0), 1);
  EXPECT_EQ(SubmitAll(jobs, 4), 1);
  const std::vector<v1::NodeStatus> nodes = {Node(jobs.NameOf(1), 0), Node(jobs.NameOf(2), 0)};
  jobs.Decide(now_, 0, nodes);
  Pass(absl::Seconds(60));
  EXPECT_EQ(jobs.Decide(now_, 0, nodes).drain.size(), 1u);
}

TEST_F(SlurmJobsTest, ANodeThatHasJustJoinedIsGivenTimeToGetWork) {
  SlurmJobs jobs = Make();
  SubmitAll(jobs, 2);
  const std::vector<v1::NodeStatus> nodes = {Node(jobs.NameOf(1), 0)};
  EXPECT_EQ(SubmitAll(jobs, 2, nodes), 0);
  Pass(absl::Seconds(30));
  EXPECT_EQ(SubmitAll(jobs, 2, nodes), 1) << "its devices are not what is lacking";
}

TEST_F(SlurmJobsTest, ANodeThatGetsNoneOfWhatWaitsIsReplacedAndNotAtOnce) {
  SlurmJobs jobs = Make();
  SubmitAll(jobs, 2);
  const std::vector<v1::NodeStatus> nodes = {Node(jobs.NameOf(1), 0)};
  jobs.Decide(now_, 0, nodes);
  Pass(absl::Seconds(60));
  const SlurmJobs::Decision decision = jobs.Decide(now_, 2, nodes);
  EXPECT_THAT(decision.drain, ElementsAre(jobs.NameOf(1)));
  EXPECT_FALSE(decision.submit.has_value());
  EXPECT_EQ(jobs.Decide(now_ + absl::Seconds(10), 2, {}).submit, 2);
}

TEST_F(SlurmJobsTest, AJobWhoseNodeNeverJoinedDelaysTheNextAndNamesItsLog) {
  SlurmJobs jobs = Make();
  SubmitAll(jobs, 1);
  Pass(absl::Seconds(30));
  jobs.Looked(now_, now_, {});
  EXPECT_EQ(jobs.Ledger().job_size(), 0);
  EXPECT_THAT(jobs.Because(), HasSubstr("job 101 ended before its node had joined; see /logs/lanista-ab-1.log"));
  EXPECT_FALSE(jobs.Decide(now_, 1, {}).submit.has_value());
  EXPECT_EQ(jobs.Decide(now_ + absl::Seconds(10), 1, {}).submit, 2);
}

TEST_F(SlurmJobsTest, AJobThatWasSubmittedAfterSqueueWasAskedIsNotMissed) {
  SlurmJobs jobs = Make();
  const absl::Time asked = now_;
  Pass(absl::Seconds(1));
  SubmitAll(jobs, 1);
  jobs.Looked(asked, now_, {});
  EXPECT_EQ(jobs.Ledger().job_size(), 1);
}

TEST_F(SlurmJobsTest, JobsThatNobodyNeedsAnyMoreAreCanceledWhileTheyWait) {
  SlurmJobs jobs = Make();
  SubmitAll(jobs, 6);
  Pass(absl::Seconds(10));
  EXPECT_THAT(jobs.Decide(now_, 2, {}).cancel, IsEmpty()) << "it may be needed in a moment";
  Pass(absl::Seconds(60));
  EXPECT_THAT(jobs.Decide(now_, 2, {}).cancel, ElementsAre("103", "102"));
  EXPECT_THAT(jobs.Decide(now_, 2, {}).cancel, IsEmpty());
  // It was too late for one of them.
  jobs.Decide(now_, 0, {Node(jobs.NameOf(3), 0)});
  EXPECT_EQ(jobs.Coming().size(), 1u);
}

TEST_F(SlurmJobsTest, ARequeuedJobIsAnotherNodeAndTheFirstCopyIsSentHome) {
  SlurmJobs jobs = Make();
  SubmitAll(jobs, 2);
  const std::string first = jobs.NameOf(1), second = first + ".1";
  jobs.Decide(now_, 0, {Node(first, 1)});
  EXPECT_EQ(SubmitAll(jobs, 2, {Node(first, 2)}), 1);
  const SlurmJobs::Decision decision = jobs.Decide(now_, 0, {Node(first, 1), Node(second, 1)});
  EXPECT_THAT(decision.drain, ElementsAre(first));
}

TEST_F(SlurmJobsTest, ARequeuedJobWhoseNodeHasLeftIsOnItsWayAgain) {
  SlurmJobs jobs = Make();
  SubmitAll(jobs, 2);
  jobs.Decide(now_, 0, {Node(jobs.NameOf(1), 1)});
  Pass(absl::Seconds(30));
  // The job's node is gone: another one is asked for, unless Slurm starts the job again.
  jobs.Decide(now_, 0, {});
  jobs.Looked(now_, now_, {Pending("101", jobs.NameOf(1), "BeginTime")});
  EXPECT_EQ(SubmitAll(jobs, 2), 0);
  EXPECT_THAT(jobs.Because(), HasSubstr("BeginTime"));
}

TEST_F(SlurmJobsTest, AJobThatSlurmHoldsForEverIsReplaced) {
  SlurmJobs jobs = Make();
  SubmitAll(jobs, 2);
  Pass(absl::Seconds(30));
  jobs.Looked(now_, now_, {Pending("101", jobs.NameOf(1), "launch failed requeued held")});
  EXPECT_THAT(jobs.Decide(now_, 2, {}).cancel, ElementsAre("101"));
  EXPECT_EQ(jobs.Decide(now_ + absl::Seconds(10), 2, {}).submit, 2);
}

// Slurm loses a slurmd, starts the job once more, and the processes of its first copy go on.
TEST_F(SlurmJobsTest, AJobThatIsRequeuedWhileItsFirstCopyWorksIsOnItsWay) {
  SlurmJobs jobs = Make();
  const std::string first = jobs.NameOf(1), second = first + ".1";
  SubmitAll(jobs, 2);
  EXPECT_EQ(SubmitAll(jobs, 0, {Node(first, 2)}), 0);
  Pass(absl::Seconds(30));
  jobs.Looked(now_, now_, {Pending("101", first, "BeginTime")});
  EXPECT_EQ(SubmitAll(jobs, 2, {Node(first, 2)}), 0) << "its second copy will do";
  EXPECT_EQ(jobs.Coming().size(), 1u);
  Pass(absl::Seconds(30));
  jobs.Looked(now_, now_, {Running("101", first)});
  EXPECT_EQ(SubmitAll(jobs, 2, {Node(first, 2)}), 0) << "it has started, and its node joins in a moment";
  EXPECT_EQ(SubmitAll(jobs, 2), 0) << "and meanwhile the first copy may end";
  EXPECT_EQ(SubmitAll(jobs, 2, {Node(first, 0)}), 0) << "or return";
  EXPECT_THAT(jobs.Decide(now_, 0, {Node(first, 2), Node(second, 0)}).drain, ElementsAre(first));
  EXPECT_THAT(jobs.Coming(), IsEmpty());
}

TEST_F(SlurmJobsTest, AJobWhoseFirstCopyWorksIsNotCanceled) {
  SlurmJobs jobs = Make();
  const std::string first = jobs.NameOf(1);
  SubmitAll(jobs, 2);
  jobs.Decide(now_, 0, {Node(first, 2)});
  jobs.Looked(now_ + absl::Seconds(1), now_ + absl::Seconds(1), {Pending("101", first, "BeginTime")});
  jobs.Decide(now_ + absl::Seconds(1), 0, {Node(first, 2)});
  Pass(absl::Seconds(62));
  EXPECT_THAT(jobs.Decide(now_, 0, {Node(first, 2)}).cancel, IsEmpty()) << "Slurm would end the copy";
  EXPECT_THAT(jobs.Decide(now_, 0, {}).cancel, ElementsAre("101"));
}

TEST_F(SlurmJobsTest, WhateverTheWordsAJobThatSlurmHoldsIsReplaced) {
  for (const char* const reason : {"launch failure limit exceeded requeued held",
                                   "user env retrieval failed requeued held", "JobHoldMaxRequeue"}) {
    SlurmJobs jobs = Make();
    SubmitAll(jobs, 2);
    Pass(absl::Seconds(30));
    jobs.Looked(now_, now_, {Pending("101", jobs.NameOf(1), reason)});
    EXPECT_THAT(jobs.Decide(now_, 2, {}).cancel, ElementsAre("101")) << reason;
    EXPECT_THAT(jobs.Because(), HasSubstr(reason));
    EXPECT_EQ(jobs.Decide(now_ + absl::Seconds(10), 2, {}).submit, 2) << reason;
  }
  SlurmJobs jobs = Make();
  SubmitAll(jobs, 2);
  jobs.Looked(now_, now_, {Pending("101", jobs.NameOf(1), "JobHeldUser")});
  EXPECT_THAT(jobs.Decide(now_, 2, {}).cancel, IsEmpty()) << "somebody holds it, and may release it";
  EXPECT_EQ(jobs.Coming().size(), 1u);
}

TEST_F(SlurmJobsTest, AHeldJobWhoseFirstCopyWorksKeepsNoOtherFromComing) {
  SlurmJobs jobs = Make();
  const std::string first = jobs.NameOf(1);
  SubmitAll(jobs, 2);
  jobs.Decide(now_, 0, {Node(first, 2)});
  Pass(absl::Seconds(30));
  jobs.Looked(now_, now_, {Pending("101", first, "launch failed requeued held")});
  const SlurmJobs::Decision decision = jobs.Decide(now_, 2, {Node(first, 2)});
  EXPECT_THAT(decision.cancel, IsEmpty());
  EXPECT_EQ(decision.submit, 2);
}

TEST_F(SlurmJobsTest, AJobOnItsWayBackIntoTheQueueIsOnItsWay) {
  SlurmJobs jobs = Make();
  SubmitAll(jobs, 2);
  jobs.Decide(now_, 0, {Node(jobs.NameOf(1), 1)});
  Pass(absl::Seconds(30));
  jobs.Decide(now_, 0, {});
  jobs.Looked(now_, now_, {QueuedJob{"101", jobs.NameOf(1), "REQUEUED", "None"}});
  EXPECT_EQ(SubmitAll(jobs, 2), 0);
}

TEST_F(SlurmJobsTest, MoreNodesMayBeCountedOnTheMoreThereAre) {
  SlurmJobs jobs = Make();
  EXPECT_EQ(jobs.ExpectedDevices(), 2) << "the first one";
  SubmitAll(jobs, 2);
  jobs.Decide(now_, 0, {Node(jobs.NameOf(1), 2)});
  EXPECT_EQ(jobs.ExpectedDevices(), 2);
  SubmitAll(jobs, 2, {Node(jobs.NameOf(1), 2)});
  jobs.Decide(now_, 0, {Node(jobs.NameOf(1), 2), Node(jobs.NameOf(2), 2)});
  EXPECT_EQ(jobs.ExpectedDevices(), 4);
  const std::vector<v1::NodeStatus> all = {Node(jobs.NameOf(1), 2), Node(jobs.NameOf(2), 2), Node(jobs.NameOf(3), 2),
                                           Node(jobs.NameOf(4), 2)};
  jobs.Decide(now_, 0, all);
  EXPECT_EQ(jobs.ExpectedDevices(), 0) << "there will be no more";
}

TEST_F(SlurmJobsTest, NodesOfOthersAreNotItsOwn) {
  SlurmJobs jobs = Make();
  const std::vector<v1::NodeStatus> nodes = {Node("lanista-cd-1", 0), Node("lanista-ab-x", 0), Node("lanista-ab-1.", 0),
                                             Node("lanista-ab-0", 0), Node("lanista-ab", 0),   Node("mine", 0)};
  jobs.Decide(now_, 0, nodes);
  EXPECT_THAT(jobs.Decide(now_ + absl::Hours(1), 0, nodes).drain, IsEmpty());
}

TEST_F(SlurmJobsTest, ComingNodesSayWhyTheyAreNotThere) {
  SlurmJobs jobs = Make();
  SubmitAll(jobs, 1);
  Pass(absl::Seconds(1));
  jobs.Looked(now_, now_, {Pending("101", jobs.NameOf(1), "Priority")});
  ASSERT_EQ(jobs.Coming().size(), 1u);
  EXPECT_EQ(jobs.Coming()[0].name(), "lanista-ab-1");
  EXPECT_EQ(jobs.Coming()[0].condition(), v1::NodeStatus::COMING);
  EXPECT_EQ(jobs.Coming()[0].because(), "Slurm job 101 PENDING (Priority)");
}

}  // namespace
}  // namespace lanista
