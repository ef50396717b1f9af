#include "actors/worker.h"

#include <signal.h>

#include <fstream>
#include <optional>

#include "caf/event_based_actor.hpp"
#include "gmock/gmock.h"
#include "google/protobuf/util/time_util.h"
#include "src/base/status.h"
#include "tests/actors/actor_test.h"
#include "tests/rpc/captured_log.h"

namespace lanista {
namespace {

using google::protobuf::util::TimeUtil;
using ::testing::HasSubstr;

// The other side of a worker's channel, played by the test.
struct FakeProcess {
  TrialChannel::Handlers handlers;
  std::vector<v1::TrialRequest> requests;
  std::vector<int> recorded;
  std::chrono::milliseconds held_up{0};
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
  void Recorded(const v1::EventsRecorded& recorded) override { process_->recorded.push_back(recorded.sequence()); }
  std::chrono::milliseconds held_up() const override { return process_->held_up; }
  void Kill() override { process_->killed = true; }

 private:
  std::shared_ptr<FakeProcess> process_;
  const bool can_start_;
};

class WorkerTest : public ActorTest {
 protected:
  void StartWorker() {
    owner_ = Spawn([this](WorkerOwnerActor::pointer) -> WorkerOwnerActor::behavior_type {
      return {[this](const v1::WorkerReady& ready) {
                ++ready_;
                warm_ = ready.warm();
              },
              [this](const v1::ProcessUp&) { ++up_; },
              [this](const v1::ModelEvent& event) { events_.push_back(event); },
              [this](const v1::TrialEnded&) { ++ended_; }};
    });
    WorkerConfig config;
    config.device = device_;
    config.make_channel = [this] {
      processes_.push_back(std::make_shared<FakeProcess>());
      return std::make_unique<FakeChannel>(processes_.back(), can_start_);
    };
    worker_ = Spawn(Worker, config, owner_);
    Run();
  }

  // A worker whose process is up and idle: the owner was told once.
  void StartWarmWorker() {
    StartWorker();
    Discover();
    SayReady();
    SayDiscovered();
    discovered_.reset();
    process().requests.clear();
    EXPECT_EQ(ready_, 2);
    ready_ = 1;
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
    event.mutable_model()->set_experiment(experiment_);
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
  void SayModelEnded(int model, v1::ModelEnded::Outcome outcome,
                     v1::Failure::Reason reason = v1::Failure::REASON_UNSPECIFIED) {
    v1::TrialEvent event = ModelEventOf(model, 2);
    event.mutable_model()->mutable_ended()->set_outcome(outcome);
    if (outcome == v1::ModelEnded::FAILED)
      event.mutable_model()->mutable_ended()->mutable_failure()->set_reason(reason);
    Say(event);
  }
  void SayTrialEnded(const std::string& recycle_because = "") {
    v1::TrialEvent event;
    event.mutable_ended()->set_experiment(experiment_);
    event.mutable_ended()->set_trial(1);
    event.mutable_ended()->set_recycle(!recycle_because.empty());
    event.mutable_ended()->set_recycle_because(recycle_because);
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
  void Stop(const v1::TrialSpec& trial, int model) {
    v1::StopModel stop;
    stop.set_experiment(trial.experiment());
    stop.set_trial(trial.trial());
    stop.set_model(model);
    caf::anon_send(worker_, stop);
    Run();
  }
  // Asks for a discovery: discovered_ will be the answer.
  void Discover(const v1::Discover& request = v1::Discover()) {
    Spawn([this, request](caf::event_based_actor* self) {
      self->request(worker_, caf::infinite, request).then([this](const v1::Discovered& answer) {
        discovered_ = answer;
      });
    });
    Run();
  }
  // The same for a conversion.
  void Convert() {
    v1::Discover request;
    request.mutable_convert()->set_out("/out/model");
    Discover(request);
  }
  absl::Status ConversionError() const { return StatusFromProto(discovered_.value().converted().error()); }
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

  // Whose trial the process talks of.
  std::string experiment_ = "e";
  v1::Device device_;
  bool can_start_ = true;
  WorkerOwnerActor owner_;
  WorkerActor worker_;
  std::vector<std::shared_ptr<FakeProcess>> processes_;
  int ready_ = 0;
  bool warm_ = false;
  int up_ = 0;
  int ended_ = 0;
  std::vector<v1::ModelEvent> events_;
  std::optional<v1::Discovered> discovered_;
};

TEST_F(WorkerTest, StartsAProcessWhenThereIsWorkForIt) {
  StartWorker();
  EXPECT_EQ(ready_, 1);
  EXPECT_FALSE(warm_);
  EXPECT_TRUE(processes_.empty());
  Assign(MakeTrial("e", 1));
  ASSERT_EQ(processes_.size(), 1u);
  EXPECT_EQ(up_, 0);
  EXPECT_TRUE(process().requests.empty());
  SayReady();
  EXPECT_EQ(up_, 1);
  EXPECT_EQ(process().requests.size(), 1u);
}

TEST_F(WorkerTest, KeepsAHealthyProcessWarm) {
  StartWarmWorker();
  Assign(MakeTrial("e", 1));
  ASSERT_EQ(process().requests.size(), 1u);
  EXPECT_EQ(process().requests[0].run().trial(), 1);
  SayStarted(1);
  SayModelEnded(1, v1::ModelEnded::SUCCEEDED);
  SayTrialEnded();
  EXPECT_EQ(ended_, 1);
  EXPECT_EQ(ready_, 2);
  EXPECT_TRUE(warm_);
  EXPECT_EQ(processes_.size(), 1u);
}

TEST_F(WorkerTest, EndsAProcessThatOutgrewItsMemory) {
  StartWarmWorker();
  Assign(MakeTrial("e", 1));
  SayModelEnded(1, v1::ModelEnded::SUCCEEDED);
  const CapturedLog log;
  SayTrialEnded("its memory grew from 1 MiB to 9 MiB");
  EXPECT_THAT(log.text(), HasSubstr("its trial process is replaced: its memory grew from 1 MiB to 9 MiB"));
  EXPECT_TRUE(process().gone);
  EXPECT_EQ(ready_, 2);
  EXPECT_FALSE(warm_);
  Assign(MakeTrial("e", 1));
  EXPECT_EQ(processes_.size(), 2u) << "the next one, for the next work";
}

TEST_F(WorkerTest, KeepsTheProcessOfAModelThatOnlyThrew) {
  StartWarmWorker();
  for (const v1::Failure::Reason reason :
       {v1::Failure::EXCEPTION, v1::Failure::NAN_LOSS, v1::Failure::NO_METRIC, v1::Failure::SPACE_MISMATCH}) {
    Assign(MakeTrial("e", 1));
    SayModelEnded(1, v1::ModelEnded::FAILED, reason);
    SayTrialEnded();
    EXPECT_TRUE(warm_) << reason;
    EXPECT_FALSE(process().gone) << reason;
  }
  Assign(MakeTrial("e", 1));
  SayModelEnded(1, v1::ModelEnded::FAILED, v1::Failure::OUT_OF_MEMORY);
  SayTrialEnded();
  EXPECT_FALSE(warm_);
  EXPECT_TRUE(process().gone);
}

TEST_F(WorkerTest, AnExceptionMayHaveBrokenTheGpuOfItsProcess) {
  device_.set_kind(v1::DeviceKind::GPU);
  StartWarmWorker();
  Assign(MakeTrial("e", 1));
  SayModelEnded(1, v1::ModelEnded::FAILED, v1::Failure::EXCEPTION);
  SayTrialEnded();
  EXPECT_TRUE(process().gone);
}

TEST_F(WorkerTest, AModelThatWasTriedMayHaveBrokenTheGpuOfItsProcess) {
  device_.set_kind(v1::DeviceKind::GPU);
  StartWorker();
  Discover();
  SayReady();
  v1::TrialEvent event;
  event.mutable_discovered()->set_tries_failed(true);
  Say(event);
  EXPECT_TRUE(discovered_.has_value());
  EXPECT_TRUE(process().gone);
  EXPECT_FALSE(warm_);
}

TEST_F(WorkerTest, AProcessThatCannotUseItsDeviceEndsTheWorkerWithItsReason) {
  StartWorker();
  Assign(MakeTrial("e", 1));
  absl::Status reason;
  Spawn([&](caf::event_based_actor* self) {
    self->set_down_handler([&](const caf::down_msg& down) { reason = FromCafError(down.reason); });
    self->monitor(worker_);
    return caf::behavior{[](int) {}};
  });
  v1::TrialEvent event;
  *event.mutable_ready()->mutable_error() = StatusToProto(absl::FailedPreconditionError("no CUDA"));
  Say(event);
  EXPECT_EQ(reason, absl::FailedPreconditionError("no CUDA"));
  EXPECT_TRUE(events_.empty()) << "its models did not fail";
}

TEST_F(WorkerTest, ATrialThatEndsWithoutItsModelsFailsThemAndItsProcessIsReplaced) {
  StartWarmWorker();
  v1::TrialSpec trial = MakeTrial("e", 1);
  *trial.add_models() = MakeModel(2);
  Assign(trial);
  SayModelEnded(1, v1::ModelEnded::SUCCEEDED);
  SayTrialEnded();
  ASSERT_EQ(events_.size(), 2u);
  EXPECT_EQ(events_[1].model(), 2);
  EXPECT_EQ(events_[1].ended().outcome(), v1::ModelEnded::FAILED);
  EXPECT_THAT(events_[1].ended().failure().message(), HasSubstr("without a word"));
  EXPECT_EQ(ended_, 1);
  EXPECT_TRUE(process().gone);
}

TEST_F(WorkerTest, WhatIsSaidOfAnotherTrialIsIgnored) {
  StartWarmWorker();
  Assign(MakeTrial("e", 1));
  experiment_ = "forged";
  SayModelEnded(1, v1::ModelEnded::SUCCEEDED);
  SayTrialEnded();
  EXPECT_TRUE(events_.empty());
  EXPECT_EQ(ended_, 0);
  experiment_ = "e";
  SayModelEnded(1, v1::ModelEnded::SUCCEEDED);
  SayTrialEnded();
  EXPECT_EQ(events_.size(), 1u);
  EXPECT_EQ(ended_, 1);
}

TEST_F(WorkerTest, AProcessThatSaysWhatCannotBeFailsItsTrialAndIsReplaced) {
  const auto ended = [this](v1::ModelEnded::Outcome outcome,
                            v1::ModelEnded::LostCause cause = v1::ModelEnded::LOST_CAUSE_UNSPECIFIED) {
    v1::TrialEvent event = ModelEventOf(1, 2);
    event.mutable_model()->mutable_ended()->set_outcome(outcome);
    event.mutable_model()->mutable_ended()->set_lost_cause(cause);
    return event;
  };
  std::vector<v1::TrialEvent> lies = {ended(v1::ModelEnded::OUTCOME_UNSPECIFIED),
                                      ended(static_cast<v1::ModelEnded::Outcome>(99)),
                                      ended(v1::ModelEnded::CANCELED),
                                      ended(v1::ModelEnded::STOPPED_EARLY),
                                      ended(v1::ModelEnded::LOST, v1::ModelEnded::HEAD_ENDED),
                                      ended(v1::ModelEnded::LOST, v1::ModelEnded::NODE_LEFT)};
  // Said twice, no number at all, another attempt, nothing.
  for (const int sequence : {1, 0, -1, 1 << 30}) {
    lies.push_back(ModelEventOf(1, sequence));
    lies.back().mutable_model()->mutable_intermediate();
  }
  lies.push_back(ended(v1::ModelEnded::SUCCEEDED));
  lies.back().mutable_model()->set_attempt(2);
  lies.push_back(ModelEventOf(1, 2));
  for (const v1::TrialEvent& lie : lies) {
    SCOPED_TRACE(lie.ShortDebugString());
    StartWarmWorker();
    events_.clear();
    ended_ = 0;
    Assign(MakeTrial("e", 1));
    SayStarted(1);
    Say(lie);
    ASSERT_EQ(events_.size(), 2u);
    EXPECT_EQ(events_[1].ended().outcome(), v1::ModelEnded::FAILED);
    EXPECT_EQ(events_[1].sequence(), 2);
    EXPECT_THAT(events_[1].ended().failure().message(), HasSubstr("broke its protocol"));
    EXPECT_EQ(ended_, 1);
    EXPECT_TRUE(process().gone);
    EXPECT_EQ(ready_, 2);
    ready_ = 0;
  }
}

TEST_F(WorkerTest, AProcessThatSomebodyElseKilledIsNotItsModelsFault) {
  for (const int signal : {SIGKILL, SIGTERM, SIGINT, SIGHUP}) {
    StartWarmWorker();
    Assign(MakeTrial("e", 1));
    SayStarted(1);
    Exit(signal);
    EXPECT_EQ(events_.back().ended().outcome(), v1::ModelEnded::LOST) << signal;
    EXPECT_EQ(events_.back().ended().failure().reason(), v1::Failure::WORKER_LOST) << signal;
    ready_ = 0;
  }
}

TEST_F(WorkerTest, ADeadProcessFailsTheModelsThatHadNotEndedWithTheSignal) {
  StartWarmWorker();
  v1::TrialSpec trial = MakeTrial("e", 1);
  *trial.add_models() = MakeModel(2);
  Assign(trial);
  SayModelEnded(1, v1::ModelEnded::SUCCEEDED);
  Exit(SIGSEGV);
  ASSERT_EQ(events_.size(), 2u);
  const v1::ModelEvent& event = events_.back();
  EXPECT_EQ(event.model(), 2);
  EXPECT_EQ(event.ended().outcome(), v1::ModelEnded::FAILED);
  EXPECT_EQ(event.ended().failure().reason(), v1::Failure::SIGNAL);
  EXPECT_EQ(event.ended().failure().signal(), SIGSEGV);
  EXPECT_EQ(ended_, 1);
  EXPECT_TRUE(process().gone);
  EXPECT_EQ(ready_, 2);
}

TEST_F(WorkerTest, SaysThatTheKernelTookTheProcess) {
  StartWarmWorker();
  Assign(MakeTrial("e", 1));
  SayStarted(1);
  Exit(SIGKILL, /*out_of_memory=*/true);
  ASSERT_EQ(events_.size(), 2u);
  EXPECT_EQ(events_[1].ended().failure().reason(), v1::Failure::OUT_OF_MEMORY);
}

TEST_F(WorkerTest, QuotesTheLastOutputOfADeadProcessAsText) {
  StartWarmWorker();
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
  StartWarmWorker();
  v1::TrialSpec trial = MakeTrial("e", 1);
  *trial.mutable_timeout() = TimeUtil::SecondsToDuration(5);
  Assign(trial);
  SayStarted(1);
  RunDelayed();
  EXPECT_TRUE(process().killed);
  Exit(SIGKILL);
  EXPECT_EQ(events_.back().ended().failure().reason(), v1::Failure::TIME_OUT);
  EXPECT_NE(events_.back().ended().failure().message().find("5s"), std::string::npos);
}

TEST_F(WorkerTest, TimeToReadTheDataHasALimitOfItsOwn) {
  StartWarmWorker();
  v1::TrialSpec trial = MakeTrial("e", 1);
  *trial.mutable_timeout() = TimeUtil::SecondsToDuration(5);
  Assign(trial);
  RunDelayed();
  EXPECT_TRUE(process().killed);
  Exit(SIGKILL);
  EXPECT_EQ(events_.back().ended().outcome(), v1::ModelEnded::FAILED);
  EXPECT_EQ(events_.back().ended().failure().reason(), v1::Failure::TIME_OUT);
  EXPECT_THAT(events_.back().ended().failure().message(), HasSubstr("30m of preparing"));
}

TEST_F(WorkerTest, ADeadlineDoesNotHitTheNextTrial) {
  StartWarmWorker();
  v1::TrialSpec trial = MakeTrial("e", 1);
  *trial.mutable_timeout() = TimeUtil::SecondsToDuration(5);
  Assign(trial);
  SayStarted(1);
  SayModelEnded(1, v1::ModelEnded::SUCCEEDED);
  SayTrialEnded();
  Assign(MakeTrial("e", 1));
  SayStarted(1);
  RunDelayed();
  EXPECT_FALSE(process().killed);
}

TEST_F(WorkerTest, ACanceledTrialGetsAGraceThenIsKilledAndIsNoFailure) {
  StartWarmWorker();
  Assign(MakeTrial("e", 1));
  SayStarted(1);
  Cancel(MakeTrial("e", 1));
  EXPECT_TRUE(process().requests.back().has_cancel());
  EXPECT_FALSE(process().killed);
  RunDelayed();
  EXPECT_TRUE(process().killed);
  Exit(SIGKILL);
  EXPECT_EQ(events_.back().ended().outcome(), v1::ModelEnded::CANCELED);
}

TEST_F(WorkerTest, EventsOfADeadProcessAreIgnored) {
  StartWarmWorker();
  Assign(MakeTrial("e", 1));
  Exit(SIGSEGV);
  const size_t events = events_.size();
  processes_[0]->handlers.on_event(ModelEventOf(1, 2));
  Run();
  EXPECT_EQ(events_.size(), events);
}

TEST_F(WorkerTest, NobodyIsToldOfAnIdleProcessThatEnds) {
  StartWarmWorker();
  Exit(SIGKILL);
  EXPECT_EQ(processes_.size(), 1u);
  EXPECT_EQ(ready_, 1) << "said twice, it would get two trials at a time";
}

TEST_F(WorkerTest, ATrialThatComesWhileTheProcessIsReplacedWaitsForTheNextOne) {
  StartWarmWorker();
  Exit(SIGKILL);
  Assign(MakeTrial("e", 1));
  EXPECT_TRUE(process().requests.empty());
  SayReady();
  ASSERT_EQ(process().requests.size(), 1u);
  EXPECT_EQ(ready_, 1) << "it has a trial";
  SayStarted(1);
  SayModelEnded(1, v1::ModelEnded::SUCCEEDED);
  SayTrialEnded();
  EXPECT_EQ(events_.size(), 2u);
  EXPECT_EQ(ended_, 1);
  EXPECT_EQ(ready_, 2);
}

TEST_F(WorkerTest, ATrialThatWaitsForAProcessIsCanceledAtOnce) {
  StartWarmWorker();
  Exit(SIGKILL);
  Assign(MakeTrial("e", 1));
  Cancel(MakeTrial("e", 1));
  ASSERT_EQ(events_.size(), 1u);
  EXPECT_EQ(events_[0].ended().outcome(), v1::ModelEnded::CANCELED);
  EXPECT_EQ(ended_, 1);
  EXPECT_EQ(ready_, 2);
  SayReady();
  EXPECT_TRUE(process().requests.empty());
  EXPECT_EQ(up_, 2) << "the next work goes there first";
}

TEST_F(WorkerTest, AProcessThatEndsBeforeTheTrialBeganWasNoAttempt) {
  StartWarmWorker();
  Assign(MakeTrial("e", 1));
  Exit(SIGKILL);
  ASSERT_EQ(events_.size(), 1u);
  EXPECT_EQ(events_[0].ended().outcome(), v1::ModelEnded::LOST) << "it ended for what it did before";
  EXPECT_EQ(ended_, 1);
}

TEST_F(WorkerTest, AProcessThatIsBeingKilledGetsNoOtherTrial) {
  StartWarmWorker();
  v1::TrialSpec trial = MakeTrial("e", 1);
  *trial.mutable_timeout() = TimeUtil::SecondsToDuration(5);
  Assign(trial);
  SayStarted(1);
  RunDelayed();
  ASSERT_TRUE(process().killed);
  SayModelEnded(1, v1::ModelEnded::SUCCEEDED);
  SayTrialEnded();
  EXPECT_EQ(events_.back().ended().outcome(), v1::ModelEnded::SUCCEEDED) << "it had ended in time";
  EXPECT_EQ(ended_, 1);
  EXPECT_TRUE(process().gone);
  EXPECT_EQ(ready_, 2);
}

TEST_F(WorkerTest, TheGraceOfACanceledTrialDoesNotHitAnotherExperimentsTrialOfThatNumber) {
  StartWarmWorker();
  Assign(MakeTrial("e", 1));
  Cancel(MakeTrial("e", 1));
  SayModelEnded(1, v1::ModelEnded::CANCELED);
  SayTrialEnded();
  Assign(MakeTrial("other", 1));
  experiment_ = "other";
  SayStarted(1);
  RunDelayed();
  EXPECT_FALSE(process().killed);
}

TEST_F(WorkerTest, TheGraceOfACanceledTrialIsNotProlonged) {
  StartWarmWorker();
  v1::TrialSpec trial = MakeTrial("e", 1);
  *trial.mutable_timeout() = TimeUtil::SecondsToDuration(1000);
  Assign(trial);
  Cancel(trial);
  SayStarted(1);
  Cancel(trial);
  ASSERT_EQ(process().requests.size(), 2u) << "run and one cancel";
  scheduler().trigger_timeout();  // The grace: the shortest.
  Run();
  EXPECT_TRUE(process().killed);
}

TEST_F(WorkerTest, AStoppedModelThatEndsByItselfLeavesTheProcessWarm) {
  StartWarmWorker();
  Assign(MakeTrial("e", 1));
  SayStarted(1);
  Stop(MakeTrial("e", 1), 1);
  ASSERT_TRUE(process().requests.back().has_stop());
  EXPECT_EQ(process().requests.back().stop().model(), 1);
  Stop(MakeTrial("e", 1), 1);
  EXPECT_EQ(process().requests.size(), 2u) << "run and one stop";
  SayModelEnded(1, v1::ModelEnded::STOPPED_EARLY);
  SayTrialEnded();
  EXPECT_EQ(events_.back().ended().outcome(), v1::ModelEnded::STOPPED_EARLY);
  EXPECT_TRUE(warm_);
  RunDelayed();
  EXPECT_FALSE(process().killed);
}

TEST_F(WorkerTest, AStoppedModelThatGoesOnIsKilledAfterTheGraceAndIsNoFailure) {
  StartWarmWorker();
  v1::TrialSpec trial = MakeTrial("e", 1);
  *trial.mutable_timeout() = TimeUtil::SecondsToDuration(1000);
  Assign(trial);
  SayStarted(1);
  Stop(trial, 1);
  scheduler().trigger_timeout();  // The grace: the shortest.
  Run();
  EXPECT_TRUE(process().killed);
  Exit(SIGKILL);
  EXPECT_EQ(events_.back().ended().outcome(), v1::ModelEnded::STOPPED_EARLY);
  EXPECT_FALSE(events_.back().ended().has_failure());
  EXPECT_EQ(ended_, 1);
}

TEST_F(WorkerTest, ATrialIsNotKilledForOneOfItsModelsUnlessAllThatAreLeftWereStopped) {
  StartWarmWorker();
  v1::TrialSpec trial = MakeTrial("e", 1);
  for (const int model : {2, 3}) *trial.add_models() = MakeModel(model);
  Assign(trial);
  for (const int model : {1, 2, 3}) SayStarted(model);
  Stop(trial, 1);
  Stop(trial, 3);
  RunDelayed();
  EXPECT_FALSE(process().killed) << "model 2 goes on";
  SayModelEnded(3, v1::ModelEnded::STOPPED_EARLY);
  SayModelEnded(2, v1::ModelEnded::SUCCEEDED);
  RunDelayed();
  EXPECT_TRUE(process().killed);
  Exit(SIGKILL);
  EXPECT_EQ(events_.back().model(), 1);
  EXPECT_EQ(events_.back().ended().outcome(), v1::ModelEnded::STOPPED_EARLY);
}

TEST_F(WorkerTest, ACrashEndsWhatWasStoppedAsStopped) {
  StartWarmWorker();
  v1::TrialSpec trial = MakeTrial("e", 1);
  *trial.add_models() = MakeModel(2);
  Assign(trial);
  for (const int model : {1, 2}) SayStarted(model);
  Stop(trial, 1);
  Exit(SIGSEGV);
  ASSERT_EQ(events_.size(), 4u);
  EXPECT_EQ(events_[2].ended().outcome(), v1::ModelEnded::STOPPED_EARLY);
  EXPECT_EQ(events_[3].model(), 2);
  EXPECT_EQ(events_[3].ended().failure().reason(), v1::Failure::SIGNAL);
}

TEST_F(WorkerTest, AStoppedModelThatWaitsForAProcessIsNotTrained) {
  StartWorker();
  Assign(MakeTrial("e", 1));
  Stop(MakeTrial("e", 1), 1);
  ASSERT_EQ(events_.size(), 1u);
  EXPECT_EQ(events_[0].ended().outcome(), v1::ModelEnded::STOPPED_EARLY);
  EXPECT_EQ(ended_, 1);
  EXPECT_EQ(ready_, 2);

  v1::TrialSpec merged = MakeTrial("e", 1);
  *merged.add_models() = MakeModel(2);
  Assign(merged);
  Stop(merged, 2);
  EXPECT_EQ(events_.size(), 1u) << "the other one waits on";
  SayReady();
  ASSERT_EQ(process().requests.size(), 2u);
  EXPECT_TRUE(process().requests[0].has_run());
  EXPECT_EQ(process().requests[1].stop().model(), 2);
}

TEST_F(WorkerTest, AStopOfAnotherTrialOrModelIsIgnored) {
  StartWarmWorker();
  Stop(MakeTrial("e", 1), 1);
  Assign(MakeTrial("e", 1));
  Stop(MakeTrial("e", 2), 1);
  Stop(MakeTrial("other", 1), 1);
  Stop(MakeTrial("e", 1), 2);
  EXPECT_EQ(process().requests.size(), 1u);
  SayModelEnded(1, v1::ModelEnded::SUCCEEDED);
  Stop(MakeTrial("e", 1), 1);
  EXPECT_EQ(process().requests.size(), 1u);
}

TEST_F(WorkerTest, TheProcessHearsWhatIsRecorded) {
  StartWorker();
  v1::EventsRecorded recorded;
  recorded.set_sequence(64);
  caf::anon_send(worker_, recorded);
  Run();
  Assign(MakeTrial("e", 1));
  SayReady();
  recorded.set_sequence(128);
  caf::anon_send(worker_, recorded);
  Run();
  EXPECT_EQ(process().recorded, std::vector<int>{128});
}

TEST_F(WorkerTest, TimeInWhichATrialWaitsForTheJournalDoesNotCount) {
  StartWarmWorker();
  v1::TrialSpec trial = MakeTrial("e", 1);
  *trial.mutable_timeout() = TimeUtil::SecondsToDuration(5);
  Assign(trial);
  process().held_up = std::chrono::seconds(1);
  SayStarted(1);
  process().held_up += std::chrono::seconds(3);
  scheduler().advance_time(std::chrono::seconds(5));
  Run();
  EXPECT_FALSE(process().killed);
  scheduler().advance_time(std::chrono::milliseconds(2900));
  Run();
  EXPECT_FALSE(process().killed);
  scheduler().advance_time(std::chrono::milliseconds(200));
  Run();
  EXPECT_TRUE(process().killed);
}

TEST_F(WorkerTest, TheGraceDoesNotWaitForTheJournal) {
  StartWarmWorker();
  v1::TrialSpec trial = MakeTrial("e", 1);
  *trial.mutable_timeout() = TimeUtil::SecondsToDuration(100);
  Assign(trial);
  SayStarted(1);
  Cancel(trial);
  process().held_up = std::chrono::hours(1);
  scheduler().advance_time(std::chrono::seconds(5));
  Run();
  EXPECT_TRUE(process().killed);
}

TEST_F(WorkerTest, DeadlinesOfStepsThatEndedTakeNoRoom) {
  StartWarmWorker();
  for (int trial = 1; trial <= 100; ++trial) {
    scheduler().advance_time(std::chrono::milliseconds(1));
    Assign(MakeTrial("e", 1));
    SayStarted(1);
    SayModelEnded(1, v1::ModelEnded::SUCCEEDED);
    SayTrialEnded();
  }
  EXPECT_EQ(ended_, 100);
  EXPECT_LE(scheduler().trigger_timeouts(), 2u) << "the start's and the first trial's";
  Run();
  EXPECT_FALSE(process().killed);
}

TEST_F(WorkerTest, ADeadlineHoldsWhereAnEarlierStepsComesFirst) {
  StartWarmWorker();
  Assign(MakeTrial("e", 1));
  SayStarted(1);
  SayModelEnded(1, v1::ModelEnded::SUCCEEDED);
  SayTrialEnded();
  scheduler().advance_time(std::chrono::seconds(1));
  Assign(MakeTrial("e", 1));
  // The start's and the first trial's deadlines are over, the second's is not.
  scheduler().trigger_timeout();
  scheduler().trigger_timeout();
  Run();
  EXPECT_FALSE(process().killed);
  RunDelayed();
  EXPECT_TRUE(process().killed);
}

TEST_F(WorkerTest, ARequestThatIsTooLargeFailsItsModels) {
  StartWarmWorker();
  process().takes_requests = false;
  Assign(MakeTrial("e", 1));
  ASSERT_EQ(events_.size(), 1u);
  EXPECT_EQ(events_[0].ended().outcome(), v1::ModelEnded::FAILED);
  EXPECT_THAT(events_[0].ended().failure().message(), HasSubstr("too large"));
  EXPECT_EQ(ended_, 1);
  EXPECT_EQ(ready_, 2) << "the process does not know of it";
  Discover();
  ASSERT_TRUE(discovered_.has_value());
  EXPECT_THAT(discovered_->error().message(), HasSubstr("too large"));
  EXPECT_EQ(ready_, 3);
}

TEST_F(WorkerTest, DiscoveryGoesOnWithoutWhatKilledTheProcess) {
  StartWarmWorker();
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
  StartWarmWorker();
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

TEST_F(WorkerTest, WhatADiscoveryTriesIsNotBlamedForAProcessThatSomebodyElseKilled) {
  StartWarmWorker();
  Discover();
  for (int kill = 0; kill < 2; ++kill) {
    SayDiscovering(MakeSample(7));
    Exit(SIGKILL);
    SayReady();
    EXPECT_EQ(process().requests.at(0).discover().skip_size(), 0);
  }
  SayDiscovering(MakeSample(7));
  Exit(SIGKILL);
  SayReady();
  EXPECT_EQ(process().requests.at(0).discover().skip_size(), 1) << "it is always the same one";
}

TEST_F(WorkerTest, ADiscoveryThatSomebodyElseKeepsKillingMayBeTriedLater) {
  StartWarmWorker();
  Discover();
  for (int kill = 0; kill < 3; ++kill) {
    ASSERT_FALSE(discovered_.has_value());
    Exit(SIGKILL);
    if (kill < 2) SayReady();
  }
  ASSERT_TRUE(discovered_.has_value());
  EXPECT_TRUE(absl::IsUnavailable(StatusFromProto(discovered_->error()))) << discovered_->error().message();
}

TEST_F(WorkerTest, ADiscoveryThatComesWhileTheProcessIsReplacedIsSentOnce) {
  StartWarmWorker();
  Exit(SIGKILL);
  Discover();
  EXPECT_TRUE(process().requests.empty());
  SayReady();
  EXPECT_EQ(process().requests.size(), 1u);
}

TEST_F(WorkerTest, DiscoverySaysSoWhereNotEvenTheFirstModelCanBeBuilt) {
  StartWarmWorker();
  Discover();
  SayDiscovering(v1::Sample());
  Exit(SIGSEGV);
  ASSERT_TRUE(discovered_.has_value());
  EXPECT_THAT(discovered_->error().message(), HasSubstr("while its constructor ran, "));
  EXPECT_THAT(discovered_->error().message(), HasSubstr("signal 11"));
}

TEST_F(WorkerTest, AConstructorIsNotBlamedForWhatEndsTheProcessBeforeItRuns) {
  StartWarmWorker();
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
  StartWarmWorker();
  Discover();
  RunDelayed();
  EXPECT_TRUE(process().killed) << "nothing came after the request";
  Exit(SIGKILL);
  ASSERT_TRUE(discovered_.has_value());
  EXPECT_THAT(discovered_->error().message(), HasSubstr("no result after "));
  EXPECT_THAT(discovered_->error().message(), ::testing::Not(HasSubstr("trial_timeout")));

  discovered_.reset();
  Discover();
  SayReady();
  SayDiscovering(v1::Sample());
  RunDelayed();
  EXPECT_TRUE(process().killed) << "a run of the constructor";
  Exit(SIGKILL);
  ASSERT_TRUE(discovered_.has_value());
  EXPECT_THAT(discovered_->error().message(), HasSubstr("no result after 2m"));
}

TEST_F(WorkerTest, AProcessThatNeverComesUpIsReplaced) {
  StartWorker();
  Assign(MakeTrial("e", 1));
  RunDelayed();
  EXPECT_TRUE(process().killed);
  SayReady();
  EXPECT_EQ(up_, 0) << "too late";
  Exit(SIGKILL);
  EXPECT_EQ(processes_.size(), 2u);
}

TEST_F(WorkerTest, GivesUpWhereNoProcessComesUp) {
  StartWorker();
  Assign(MakeTrial("e", 1));
  for (int start = 0; start < 3; ++start) Exit(SIGABRT);
  EXPECT_EQ(processes_.size(), 3u);
  EXPECT_TRUE(processes_.back()->gone) << "the actor is gone, and its channel with it";
}

TEST_F(WorkerTest, GivesUpWhereTheProgramCannotBeStarted) {
  can_start_ = false;
  StartWorker();
  Assign(MakeTrial("e", 1));
  EXPECT_EQ(processes_.size(), 1u);
  EXPECT_TRUE(processes_.back()->gone);
}

TEST_F(WorkerTest, AnIdleProcessForPreparingWorkEndsAfterAWhile) {
  device_.set_prepares(true);
  StartWarmWorker();
  EXPECT_FALSE(process().gone);
  RunDelayed();
  EXPECT_TRUE(process().gone);
  EXPECT_EQ(ready_, 1) << "that could cross with work";
  Discover();
  ASSERT_EQ(processes_.size(), 2u);
  SayReady();
  EXPECT_TRUE(process().requests.at(0).has_discover());
  SayDiscovered();
  EXPECT_TRUE(discovered_.has_value());
}

TEST_F(WorkerTest, AConversionIsTheProcesssAnswerAndLeavesItWarm) {
  StartWarmWorker();
  Convert();
  ASSERT_EQ(process().requests.size(), 1u);
  EXPECT_EQ(process().requests[0].convert().out(), "/out/model");
  SayDiscovered();
  EXPECT_FALSE(discovered_.has_value()) << "nobody asked for that";
  v1::TrialEvent event;
  event.mutable_converted()->add_files("/out/model.py");
  Say(event);
  ASSERT_TRUE(discovered_.has_value());
  EXPECT_EQ(discovered_->converted().files(0), "/out/model.py");
  EXPECT_EQ(ready_, 2);
  EXPECT_TRUE(warm_);
  EXPECT_FALSE(process().gone);
}

TEST_F(WorkerTest, AConversionThatCannotBeDoneSaysWhy) {
  StartWarmWorker();
  Convert();
  Exit(SIGSEGV);
  EXPECT_TRUE(absl::IsInternal(ConversionError()));
  EXPECT_THAT(std::string(ConversionError().message()), HasSubstr("signal 11"));
  EXPECT_TRUE(process().gone);
  EXPECT_EQ(ready_, 2);
  discovered_.reset();
  Convert();
  process().takes_requests = false;
  SayReady();
  EXPECT_THAT(std::string(ConversionError().message()), HasSubstr("too large"));
  EXPECT_EQ(ready_, 3);
}

TEST_F(WorkerTest, AConversionWhoseProcessSomebodyElseKillsIsDoneByTheNextOne) {
  StartWarmWorker();
  Convert();
  Exit(SIGKILL);
  EXPECT_FALSE(discovered_.has_value());
  SayReady();
  EXPECT_TRUE(process().requests.at(0).has_convert());
}

TEST_F(WorkerTest, ACanceledConversionEndsWithItsProcess) {
  StartWarmWorker();
  v1::TrialSpec none;
  Discover();
  Cancel(none);
  EXPECT_FALSE(discovered_.has_value()) << "a discovery ends by itself";
  SayDiscovered();
  discovered_.reset();
  Convert();
  Cancel(none);
  EXPECT_TRUE(absl::IsCancelled(ConversionError()));
  EXPECT_TRUE(process().gone);
  EXPECT_FALSE(warm_);
  EXPECT_EQ(ready_, 3);

  // The process that is being started is for whoever comes next.
  discovered_.reset();
  Convert();
  Cancel(none);
  EXPECT_TRUE(absl::IsCancelled(ConversionError()));
  EXPECT_EQ(ready_, 4);
  Convert();
  SayReady();
  EXPECT_EQ(processes_.size(), 2u);
  EXPECT_EQ(process().requests.size(), 1u);
}

TEST_F(WorkerTest, AnIdleProcessOfADeviceStays) {
  StartWarmWorker();
  RunDelayed();
  EXPECT_FALSE(process().gone);
}

TEST_F(WorkerTest, WhatADiscoveryTookOfTheMemoryBesideTrialsIsNoFaultOfItsSpace) {
  device_.set_prepares(true);
  StartWorker();
  Discover();
  SayReady();
  SayDiscovering(MakeSample(1), /*trying=*/true);
  Exit(SIGKILL, /*out_of_memory=*/true);
  ASSERT_TRUE(discovered_.has_value());
  EXPECT_TRUE(discovered_->out_of_memory());
  EXPECT_TRUE(discovered_->has_error());
  EXPECT_EQ(processes_.size(), 1u) << "not tried again beside them";
}

}  // namespace
}  // namespace lanista
