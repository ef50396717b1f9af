#include "actors/worker.h"

#include <signal.h>

#include <fstream>
#include <optional>

#include "caf/event_based_actor.hpp"
#include "gmock/gmock.h"
#include "google/protobuf/util/time_util.h"
#include "tests/actors/actor_test.h"

namespace lanista {
namespace {

using google::protobuf::util::TimeUtil;
using ::testing::HasSubstr;

// The other side of a worker's channel, played by the test.
struct FakeProcess {
  TrialChannel::Handlers handlers;
  std::vector<v1::TrialRequest> requests;
  bool takes_requests = true;
  bool killed = false;
  bool gone = false;
};

class FakeChannel final : public TrialChannel {
 public:
  FakeChannel(std::shared_ptr<FakeProcess> process, bool can_start)
      : process_(std::move(process)), can_start_(can_start) {}
  ~FakeChannel() override { process_->gone = true; }

  absl::Status Start(const v1::Device&, Handlers handlers) override {
    process_->handlers = std::move(handlers);
    return can_start_ ? absl::OkStatus() : absl::NotFoundError("no such program");
  }
  absl::Status Send(const v1::TrialRequest& request) override {
    if (!process_->takes_requests) return absl::ResourceExhaustedError("too large");
    process_->requests.push_back(request);
    return absl::OkStatus();
  }
  void Kill() override { process_->killed = true; }

 private:
  std::shared_ptr<FakeProcess> process_;
  const bool can_start_;
};

class WorkerTest : public ActorTest {
 protected:
  void StartWorker() {
    owner_ = Spawn([this](WorkerOwnerActor::pointer) -> WorkerOwnerActor::behavior_type {
      return {[this](const v1::WorkerReady&) { ++ready_; },
              [this](const v1::ModelEvent& event) { events_.push_back(event); },
              [this](const v1::TrialEnded&) { ++ended_; }};
    });
    WorkerConfig config;
    config.make_channel = [this] {
      processes_.push_back(std::make_shared<FakeProcess>());
      return std::make_unique<FakeChannel>(processes_.back(), can_start_);
    };
    worker_ = Spawn(Worker, config, owner_);
    Run();
  }

  FakeProcess& process() { return *processes_.back(); }

  // What the current process says.
  void Say(const v1::TrialEvent& event) {
    process().handlers.on_event(event);
    Run();
  }
  void SayReady() {
    v1::TrialEvent event;
    event.mutable_ready();
    Say(event);
  }
  v1::TrialEvent ModelEventOf(int model, int sequence) {
    v1::TrialEvent event;
    event.mutable_model()->set_experiment("e");
    event.mutable_model()->set_trial(1);
    event.mutable_model()->set_model(model);
    event.mutable_model()->set_attempt(1);
    event.mutable_model()->set_sequence(sequence);
    return event;
  }
  void SayStarted(int model) {
    v1::TrialEvent event = ModelEventOf(model, 1);
    event.mutable_model()->mutable_started();
    Say(event);
  }
  void SayModelEnded(int model, v1::Outcome outcome) {
    v1::TrialEvent event = ModelEventOf(model, 2);
    event.mutable_model()->mutable_ended()->set_outcome(outcome);
    Say(event);
  }
  void SayTrialEnded(bool recycle = false) {
    v1::TrialEvent event;
    event.mutable_ended()->set_experiment("e");
    event.mutable_ended()->set_trial(1);
    event.mutable_ended()->set_recycle(recycle);
    Say(event);
  }
  void Exit(int signal, bool out_of_memory = false) {
    v1::ProcessExited exited;
    exited.set_signal(signal);
    exited.set_out_of_memory(out_of_memory);
    process().handlers.on_exit(exited);
    Run();
  }
  void Assign(const v1::TrialSpec& trial) {
    caf::anon_send(worker_, trial);
    Run();
  }
  void Cancel(const v1::TrialSpec& trial) {
    v1::CancelTrial cancel;
    cancel.set_experiment(trial.experiment());
    cancel.set_trial(trial.trial());
    caf::anon_send(worker_, cancel);
    Run();
  }
  // Asks for a discovery: discovered_ will be the answer.
  void Discover() {
    Spawn([this](caf::event_based_actor* self) {
      self->request(worker_, caf::infinite, v1::Discover()).then([this](const v1::Discovered& answer) {
        discovered_ = answer;
      });
    });
    Run();
  }
  void SayDiscovering(const v1::Sample& assignment, bool trying = false) {
    v1::TrialEvent event;
    *event.mutable_discovering()->mutable_assignment() = assignment;
    event.mutable_discovering()->set_trying(trying);
    Say(event);
  }
  void SayDiscovered() {
    v1::TrialEvent event;
    event.mutable_discovered();
    Say(event);
  }

  bool can_start_ = true;
  WorkerOwnerActor owner_;
  WorkerActor worker_;
  std::vector<std::shared_ptr<FakeProcess>> processes_;
  int ready_ = 0;
  int ended_ = 0;
  std::vector<v1::ModelEvent> events_;
  std::optional<v1::Discovered> discovered_;
};

TEST_F(WorkerTest, IsReadyWhenItsProcessIs) {
  StartWorker();
  EXPECT_EQ(ready_, 0);
  SayReady();
  EXPECT_EQ(ready_, 1);
}

TEST_F(WorkerTest, KeepsAHealthyProcessWarm) {
  StartWorker();
  SayReady();
  Assign(MakeTrial("e", 1));
  ASSERT_EQ(process().requests.size(), 1u);
  EXPECT_EQ(process().requests[0].run().trial(), 1);
  SayStarted(1);
  SayModelEnded(1, v1::SUCCEEDED);
  SayTrialEnded();
  EXPECT_EQ(ended_, 1);
  EXPECT_EQ(ready_, 2);
  EXPECT_EQ(processes_.size(), 1u);
}

TEST_F(WorkerTest, ReplacesItsProcessAfterAFailureAndPastItsMemory) {
  StartWorker();
  SayReady();
  Assign(MakeTrial("e", 1));
  SayModelEnded(1, v1::FAILED);
  SayTrialEnded();
  EXPECT_EQ(processes_.size(), 2u);
  EXPECT_TRUE(processes_[0]->gone);
  EXPECT_EQ(ready_, 1) << "not before the new process is up";
  SayReady();
  EXPECT_EQ(ready_, 2);
  Assign(MakeTrial("e", 1));
  SayModelEnded(1, v1::SUCCEEDED);
  SayTrialEnded(/*recycle=*/true);
  EXPECT_EQ(processes_.size(), 3u);
}

TEST_F(WorkerTest, ADeadProcessFailsTheModelsThatHadNotEndedWithTheSignal) {
  StartWorker();
  SayReady();
  v1::TrialSpec trial = MakeTrial("e", 1);
  *trial.add_models() = MakeModel(2);
  Assign(trial);
  SayModelEnded(1, v1::SUCCEEDED);
  Exit(SIGSEGV);
  ASSERT_EQ(events_.size(), 2u);
  const v1::ModelEvent& event = events_.back();
  EXPECT_EQ(event.model(), 2);
  EXPECT_EQ(event.ended().outcome(), v1::FAILED);
  EXPECT_EQ(event.ended().failure().reason(), v1::SIGNAL);
  EXPECT_EQ(event.ended().failure().signal(), SIGSEGV);
  EXPECT_EQ(ended_, 1);
  EXPECT_EQ(processes_.size(), 2u);
}

TEST_F(WorkerTest, SaysThatTheKernelTookTheProcess) {
  StartWorker();
  SayReady();
  Assign(MakeTrial("e", 1));
  SayStarted(1);
  Exit(SIGKILL, /*out_of_memory=*/true);
  ASSERT_EQ(events_.size(), 2u);
  EXPECT_EQ(events_[1].ended().failure().reason(), v1::OUT_OF_MEMORY);
}

TEST_F(WorkerTest, QuotesTheLastOutputOfADeadProcessAsText) {
  StartWorker();
  SayReady();
  v1::TrialSpec trial = MakeTrial("e", 1);
  trial.set_log_file(::testing::TempDir() + "/worker_test.log");
  std::ofstream log(trial.log_file());
  // What is quoted begins in the middle of a character, and has a byte that is none.
  for (int line = 0; line < 1000; ++line) log << "\u20ac";
  log << "\xff the end" << std::endl;
  Assign(trial);
  SayStarted(1);
  Exit(SIGABRT);
  EXPECT_THAT(events_.back().ended().failure().message(), ::testing::EndsWith("\u20ac\ufffd the end"));
  EXPECT_TRUE(v1::ModelEvent().ParseFromString(events_.back().SerializeAsString()));
}

TEST_F(WorkerTest, KillsATrialPastItsDeadline) {
  StartWorker();
  SayReady();
  v1::TrialSpec trial = MakeTrial("e", 1);
  *trial.mutable_timeout() = TimeUtil::SecondsToDuration(5);
  Assign(trial);
  RunDelayed();
  EXPECT_FALSE(process().killed) << "time runs from the start of the trial, not from its assignment";
  SayStarted(1);
  RunDelayed();
  EXPECT_TRUE(process().killed);
  Exit(SIGKILL);
  EXPECT_EQ(events_.back().ended().failure().reason(), v1::TIME_OUT);
  EXPECT_NE(events_.back().ended().failure().message().find("5s"), std::string::npos);
}

TEST_F(WorkerTest, ADeadlineDoesNotHitTheNextTrial) {
  StartWorker();
  SayReady();
  v1::TrialSpec trial = MakeTrial("e", 1);
  *trial.mutable_timeout() = TimeUtil::SecondsToDuration(5);
  Assign(trial);
  SayStarted(1);
  SayModelEnded(1, v1::SUCCEEDED);
  SayTrialEnded();
  Assign(trial);
  RunDelayed();
  EXPECT_FALSE(process().killed);
}

TEST_F(WorkerTest, ACanceledTrialGetsAGraceThenIsKilledAndIsNoFailure) {
  StartWorker();
  SayReady();
  Assign(MakeTrial("e", 1));
  SayStarted(1);
  Cancel(MakeTrial("e", 1));
  EXPECT_TRUE(process().requests.back().has_cancel());
  EXPECT_FALSE(process().killed);
  RunDelayed();
  EXPECT_TRUE(process().killed);
  Exit(SIGKILL);
  EXPECT_EQ(events_.back().ended().outcome(), v1::CANCELED);
}

TEST_F(WorkerTest, EventsOfADeadProcessAreIgnored) {
  StartWorker();
  SayReady();
  Assign(MakeTrial("e", 1));
  Exit(SIGSEGV);
  const size_t events = events_.size();
  processes_[0]->handlers.on_event(ModelEventOf(1, 2));
  Run();
  EXPECT_EQ(events_.size(), events);
}

TEST_F(WorkerTest, AnIdleProcessThatEndsIsReplacedAndNobodyIsTold) {
  StartWorker();
  SayReady();
  Exit(SIGKILL);
  SayReady();
  EXPECT_EQ(processes_.size(), 2u);
  EXPECT_EQ(ready_, 1) << "said twice, it would get two trials at a time";
}

TEST_F(WorkerTest, ATrialThatComesWhileTheProcessIsReplacedWaitsForTheNextOne) {
  StartWorker();
  SayReady();
  Exit(SIGKILL);
  Assign(MakeTrial("e", 1));
  EXPECT_TRUE(process().requests.empty());
  SayReady();
  ASSERT_EQ(process().requests.size(), 1u);
  EXPECT_EQ(ready_, 1) << "it has a trial";
  SayStarted(1);
  SayModelEnded(1, v1::SUCCEEDED);
  SayTrialEnded();
  EXPECT_EQ(events_.size(), 2u);
  EXPECT_EQ(ended_, 1);
  EXPECT_EQ(ready_, 2);
}

TEST_F(WorkerTest, ATrialThatWaitsForAProcessIsCanceledAtOnce) {
  StartWorker();
  SayReady();
  Exit(SIGKILL);
  Assign(MakeTrial("e", 1));
  Cancel(MakeTrial("e", 1));
  ASSERT_EQ(events_.size(), 1u);
  EXPECT_EQ(events_[0].ended().outcome(), v1::CANCELED);
  EXPECT_EQ(ended_, 1);
  SayReady();
  EXPECT_TRUE(process().requests.empty());
  EXPECT_EQ(ready_, 2);
}

TEST_F(WorkerTest, AProcessThatEndsBeforeTheTrialBeganWasNoAttempt) {
  StartWorker();
  SayReady();
  Assign(MakeTrial("e", 1));
  Exit(SIGKILL);
  ASSERT_EQ(events_.size(), 1u);
  EXPECT_EQ(events_[0].ended().outcome(), v1::LOST) << "it ended for what it did before";
  EXPECT_EQ(ended_, 1);
}

TEST_F(WorkerTest, AProcessThatIsBeingKilledGetsNoOtherTrial) {
  StartWorker();
  SayReady();
  v1::TrialSpec trial = MakeTrial("e", 1);
  *trial.mutable_timeout() = TimeUtil::SecondsToDuration(5);
  Assign(trial);
  SayStarted(1);
  RunDelayed();
  ASSERT_TRUE(process().killed);
  SayModelEnded(1, v1::SUCCEEDED);
  SayTrialEnded();
  EXPECT_EQ(events_.back().ended().outcome(), v1::SUCCEEDED) << "it had ended in time";
  EXPECT_EQ(ended_, 1);
  EXPECT_EQ(processes_.size(), 2u);
  EXPECT_EQ(ready_, 1) << "not before the new process is up";
  SayReady();
  EXPECT_EQ(ready_, 2);
}

TEST_F(WorkerTest, TheGraceOfACanceledTrialDoesNotHitAnotherExperimentsTrialOfThatNumber) {
  StartWorker();
  SayReady();
  Assign(MakeTrial("e", 1));
  Cancel(MakeTrial("e", 1));
  SayModelEnded(1, v1::CANCELED);
  SayTrialEnded();
  Assign(MakeTrial("other", 1));
  RunDelayed();
  EXPECT_FALSE(process().killed);
}

TEST_F(WorkerTest, TheGraceOfACanceledTrialIsNotProlonged) {
  StartWorker();
  SayReady();
  v1::TrialSpec trial = MakeTrial("e", 1);
  *trial.mutable_timeout() = TimeUtil::SecondsToDuration(1000);
  Assign(trial);
  Cancel(trial);
  SayStarted(1);
  Cancel(trial);
  ASSERT_EQ(process().requests.size(), 2u) << "run and one cancel";
  scheduler().trigger_timeout();  // The process's start,
  scheduler().trigger_timeout();  // and the grace.
  Run();
  EXPECT_TRUE(process().killed);
}

TEST_F(WorkerTest, ARequestThatIsTooLargeFailsItsModels) {
  StartWorker();
  SayReady();
  process().takes_requests = false;
  Assign(MakeTrial("e", 1));
  ASSERT_EQ(events_.size(), 1u);
  EXPECT_EQ(events_[0].ended().outcome(), v1::FAILED);
  EXPECT_THAT(events_[0].ended().failure().message(), HasSubstr("too large"));
  EXPECT_EQ(ended_, 1);
  EXPECT_EQ(ready_, 2) << "the process does not know of it";
  Discover();
  ASSERT_TRUE(discovered_.has_value());
  EXPECT_THAT(discovered_->error().message(), HasSubstr("too large"));
  EXPECT_EQ(ready_, 3);
}

TEST_F(WorkerTest, DiscoveryGoesOnWithoutWhatKilledTheProcess) {
  StartWorker();
  SayReady();
  Discover();
  SayDiscovering(MakeSample(7));
  Exit(SIGSEGV);
  SayReady();
  ASSERT_EQ(process().requests.size(), 1u);
  ASSERT_EQ(process().requests[0].discover().skip_size(), 1);
  EXPECT_EQ(process().requests[0].discover().skip(0).decisions(0).index(0), 7);
  EXPECT_EQ(ready_, 1) << "it is not idle";
  SayDiscovered();
  EXPECT_TRUE(discovered_.has_value());
  EXPECT_EQ(ready_, 2);
}

TEST_F(WorkerTest, DiscoveryGoesOnWithoutTryingModelsWhereOneKilledTheProcess) {
  StartWorker();
  SayReady();
  Discover();
  SayDiscovering(MakeSample(7), /*trying=*/true);
  Exit(SIGSEGV);
  SayReady();
  ASSERT_EQ(process().requests.size(), 1u);
  EXPECT_EQ(process().requests[0].discover().skip_size(), 0);
  EXPECT_THAT(process().requests[0].discover().trying_failed(), HasSubstr("signal 11"));
  SayDiscovered();
  EXPECT_TRUE(discovered_.has_value());
}

TEST_F(WorkerTest, ADiscoveryThatComesWhileTheProcessIsReplacedIsSentOnce) {
  StartWorker();
  SayReady();
  Exit(SIGKILL);
  Discover();
  EXPECT_TRUE(process().requests.empty());
  SayReady();
  EXPECT_EQ(process().requests.size(), 1u);
}

TEST_F(WorkerTest, DiscoverySaysSoWhereNotEvenTheFirstModelCanBeBuilt) {
  StartWorker();
  SayReady();
  Discover();
  SayDiscovering(v1::Sample());
  Exit(SIGSEGV);
  ASSERT_TRUE(discovered_.has_value());
  EXPECT_THAT(discovered_->error().message(), HasSubstr("while its constructor ran, "));
  EXPECT_THAT(discovered_->error().message(), HasSubstr("signal 11"));
}

TEST_F(WorkerTest, AConstructorIsNotBlamedForWhatEndsTheProcessBeforeItRuns) {
  StartWorker();
  SayReady();
  Discover();
  SayDiscovering(MakeSample(7));
  SayDiscovered();
  discovered_.reset();
  Discover();
  Exit(SIGSEGV);
  ASSERT_TRUE(discovered_.has_value()) << "there is nothing to skip";
  EXPECT_THAT(discovered_->error().message(), HasSubstr("before its constructor ran, "));
}

TEST_F(WorkerTest, DiscoveryThatHangsIsEndedAndSaysSo) {
  StartWorker();
  SayReady();
  Discover();
  RunDelayed();
  EXPECT_TRUE(process().killed) << "nothing came after the request";
  Exit(SIGKILL);
  ASSERT_TRUE(discovered_.has_value());
  EXPECT_THAT(discovered_->error().message(), HasSubstr("no result after "));
  EXPECT_THAT(discovered_->error().message(), ::testing::Not(HasSubstr("trial_timeout")));

  SayReady();
  discovered_.reset();
  Discover();
  SayDiscovering(v1::Sample());
  RunDelayed();
  EXPECT_TRUE(process().killed) << "a run of the constructor";
  Exit(SIGKILL);
  ASSERT_TRUE(discovered_.has_value());
  EXPECT_THAT(discovered_->error().message(), HasSubstr("no result after 2m"));
}

TEST_F(WorkerTest, AProcessThatNeverComesUpIsReplaced) {
  StartWorker();
  RunDelayed();
  EXPECT_TRUE(process().killed);
  SayReady();
  EXPECT_EQ(ready_, 0) << "too late";
  Exit(SIGKILL);
  EXPECT_EQ(processes_.size(), 2u);
}

TEST_F(WorkerTest, GivesUpWhereNoProcessComesUp) {
  StartWorker();
  for (int start = 0; start < 3; ++start) Exit(SIGABRT);
  EXPECT_EQ(processes_.size(), 3u);
  EXPECT_TRUE(processes_.back()->gone) << "the actor is gone, and its channel with it";
}

TEST_F(WorkerTest, GivesUpWhereTheProgramCannotBeStarted) {
  can_start_ = false;
  StartWorker();
  EXPECT_EQ(processes_.size(), 1u);
  EXPECT_TRUE(processes_.back()->gone);
}

}  // namespace
}  // namespace lanista
