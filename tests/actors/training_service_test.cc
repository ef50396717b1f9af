#include "actors/training_service.h"

#include <map>
#include <optional>

#include "actors/model_events.h"
#include "caf/event_based_actor.hpp"
#include "tests/actors/actor_test.h"

namespace lanista {
namespace {

// A service whose workers only write down what they are told, and an owner that writes down events.
class TrainingServiceTest : public ActorTest {
 protected:
  void StartService(int devices) {
    service_ = Spawn(
        TrainingService,
        TrainingServiceOptions{
            std::vector<v1::Device>(static_cast<size_t>(devices)),
            SpawnWorker([this](int number, const v1::Device&, const WorkerOwnerActor&) -> WorkerActor {
              workers_[number] = Spawn([this, number](WorkerActor::pointer self) -> WorkerActor::behavior_type {
                return {[this, number](const v1::TrialSpec& trial) { assigned_[number].push_back(trial.trial()); },
                        [this](const v1::CancelTrial& cancel) { canceled_.push_back(cancel.trial()); },
                        [this](const v1::StopModel& stop) { stopped_.push_back(stop.model()); },
                        [this](const v1::EventsRecorded& recorded) { recorded_.push_back(recorded.sequence()); },
                        [this, number, self](const v1::Discover&) {
                          discoveries_.push_back(number);
                          auto promise = self->make_response_promise<v1::Discovered>();
                          if (answers_) promise.deliver(v1::Discovered());
                          return promise;
                        }};
              });
              ++spawned_;
              return workers_[number];
            }),
            /*max_starting=*/2});
    owner_ = Spawn([this](TrialOwnerActor::pointer) -> TrialOwnerActor::behavior_type {
      return {[this](const v1::ModelEvent& event) { events_.push_back(event); }};
    });
    Run();
  }

  void Ready(int worker, bool warm = true) {
    v1::WorkerReady ready;
    ready.set_worker(worker);
    ready.set_warm(warm);
    caf::anon_send(service_, ready);
    Run();
  }
  void ProcessUp(int worker) {
    v1::ProcessUp up;
    up.set_worker(worker);
    caf::anon_send(service_, up);
    Run();
  }
  void Submit(const std::string& experiment, int trial) {
    caf::anon_send(service_, MakeTrial(experiment, trial), owner_);
    Run();
  }
  // Asks for a discovery: discovered_ will say how it ended.
  void Discover() {
    Spawn([this](caf::event_based_actor* self) {
      self->request(service_, caf::infinite, v1::Discover())
          .then([this](const v1::Discovered&) { discovered_ = absl::OkStatus(); },
                [this](const caf::error& error) { discovered_ = FromCafError(error); });
    });
    Run();
  }
  void Ended(const std::string& experiment, int trial) {
    v1::TrialEnded ended;
    ended.set_experiment(experiment);
    ended.set_trial(trial);
    caf::anon_send(service_, ended);
    Run();
  }
  void Stop(const std::string& experiment, int trial, int model) {
    v1::StopModel stop;
    stop.set_experiment(experiment);
    stop.set_trial(trial);
    stop.set_model(model);
    caf::anon_send(service_, stop);
    Run();
  }
  void Kill(int worker) {
    caf::anon_send_exit(workers_[worker], caf::exit_reason::kill);
    Run();
  }

  TrainingServiceActor service_;
  TrialOwnerActor owner_;
  std::map<int, WorkerActor> workers_;
  int spawned_ = 0;
  std::map<int, std::vector<int>> assigned_;
  std::vector<int> canceled_;
  // What workers heard: models that stop, and sequence numbers.
  std::vector<int> stopped_;
  std::vector<int> recorded_;
  std::vector<int> discoveries_;
  bool answers_ = true;
  std::optional<absl::Status> discovered_;
  std::vector<v1::ModelEvent> events_;
};

TEST_F(TrainingServiceTest, TrialsWaitUntilAWorkerIsIdle) {
  StartService(2);
  Submit("a", 1);
  Submit("a", 2);
  Submit("a", 3);
  EXPECT_TRUE(assigned_.empty());
  Ready(1);
  EXPECT_EQ(assigned_[1], std::vector<int>{1});
  Ready(0);
  EXPECT_EQ(assigned_[0], std::vector<int>{2});
  Ended("a", 1);
  EXPECT_EQ(assigned_[1].size(), 1u) << "ended is not yet idle: the process may be replaced";
  Ready(1);
  EXPECT_EQ(assigned_[1], (std::vector<int>{1, 3}));
}

TEST_F(TrainingServiceTest, EventsReachTheOwner) {
  StartService(1);
  Ready(0);
  Submit("a", 1);
  const v1::TrialSpec trial = MakeTrial("a", 1);
  caf::anon_send(service_, EndedEvent(trial, trial.models(0), 0, v1::SUCCEEDED));
  Run();
  ASSERT_EQ(events_.size(), 1u);
  EXPECT_EQ(events_[0].ended().outcome(), v1::SUCCEEDED);
}

TEST_F(TrainingServiceTest, CancelDropsWhatWaitsAndCancelsWhatRuns) {
  StartService(1);
  Ready(0);
  Submit("a", 1);
  Submit("a", 2);
  Submit("b", 1);
  v1::CancelExperiment cancel;
  cancel.set_experiment("a");
  caf::anon_send(service_, cancel);
  Run();
  EXPECT_EQ(canceled_, std::vector<int>{1});
  ASSERT_EQ(events_.size(), 1u);
  EXPECT_EQ(events_[0].trial(), 2);
  EXPECT_EQ(events_[0].ended().outcome(), v1::CANCELED);
  Ended("a", 1);
  Ready(0);
  EXPECT_EQ(assigned_[0].size(), 2u) << "b's trial is still there";
}

TEST_F(TrainingServiceTest, AWorkerThatGoesDownLosesItsTrialAndIsReplaced) {
  StartService(1);
  Ready(0);
  Submit("a", 1);
  Kill(0);
  ASSERT_EQ(events_.size(), 1u);
  EXPECT_EQ(events_[0].ended().outcome(), v1::LOST);
  EXPECT_EQ(events_[0].ended().failure().reason(), v1::WORKER_LOST);
  EXPECT_EQ(spawned_, 2);
  Submit("a", 2);
  Ready(0);
  EXPECT_EQ(assigned_[0].back(), 2);
}

TEST_F(TrainingServiceTest, WorkersWhoseProcessIsUpGoFirstAndOnlySoManyOthersStartOne) {
  StartService(5);
  for (int worker = 0; worker < 5; ++worker) Ready(worker, /*warm=*/worker == 4);
  for (int trial = 1; trial <= 4; ++trial) Submit("a", trial);
  EXPECT_EQ(assigned_[4], std::vector<int>{1});
  EXPECT_EQ(assigned_[0], std::vector<int>{2});
  EXPECT_EQ(assigned_[1], std::vector<int>{3});
  EXPECT_TRUE(assigned_[2].empty()) << "two are starting";
  ProcessUp(0);
  EXPECT_EQ(assigned_[2], std::vector<int>{4});
  EXPECT_TRUE(assigned_[3].empty()) << "there is no work for it";
}

TEST_F(TrainingServiceTest, TheTrialsOfAnOwnerThatGoesDownAreCanceled) {
  StartService(1);
  Ready(0);
  Submit("a", 1);
  Submit("a", 2);
  caf::anon_send_exit(owner_, caf::exit_reason::kill);
  Run();
  EXPECT_EQ(canceled_, std::vector<int>{1});
  Ended("a", 1);
  Ready(0);
  EXPECT_EQ(assigned_[0], std::vector<int>{1}) << "the other one is not in the queue any more";
}

TEST_F(TrainingServiceTest, AStopReachesTheWorkerThatRunsTheTrial) {
  StartService(1);
  Ready(0);
  Submit("a", 1);
  Stop("b", 1, 1);
  Stop("a", 2, 1);
  EXPECT_TRUE(stopped_.empty());
  Stop("a", 1, 1);
  EXPECT_EQ(stopped_, std::vector<int>{1});
  Ended("a", 1);
  Stop("a", 1, 1);
  EXPECT_EQ(stopped_.size(), 1u);
  EXPECT_TRUE(events_.empty());
}

TEST_F(TrainingServiceTest, AStoppedModelLeavesTheTrialThatIsQueuedAndTheLastOneTakesItAway) {
  StartService(1);
  v1::TrialSpec merged = MakeTrial("a", 1);
  *merged.add_models() = MakeModel(2);
  caf::anon_send(service_, merged, owner_);
  Submit("a", 2);
  Stop("a", 1, 1);
  ASSERT_EQ(events_.size(), 1u);
  EXPECT_EQ(events_[0].model(), 1);
  EXPECT_EQ(events_[0].attempt(), 1);
  EXPECT_EQ(events_[0].ended().outcome(), v1::STOPPED_EARLY);
  Stop("a", 1, 1);
  EXPECT_EQ(events_.size(), 1u) << "it has ended";
  Stop("a", 1, 2);
  EXPECT_EQ(events_.size(), 2u);
  Ready(0);
  EXPECT_EQ(assigned_[0], std::vector<int>{2}) << "nothing was left of trial 1";
}

TEST_F(TrainingServiceTest, WhatIsRecordedIsToldToTheWorkerThatRunsTheTrial) {
  StartService(1);
  Ready(0);
  Submit("a", 1);
  v1::EventsRecorded recorded;
  recorded.set_experiment("a");
  recorded.set_sequence(64);
  for (const int trial : {1, 2}) {
    recorded.set_trial(trial);
    caf::anon_send(service_, recorded);
  }
  Run();
  EXPECT_EQ(recorded_, std::vector<int>{64});
}

TEST_F(TrainingServiceTest, ADeviceThatWorkedIsTriedAgainAfterADelayForEver) {
  StartService(1);
  Ready(0);
  Submit("a", 1);
  Ended("a", 1);
  Ready(0);
  for (int down = 1; down <= 20; ++down) {
    Kill(0);
    if (down > 1) {
      EXPECT_EQ(spawned_, down) << "not at once";
    }
    RunDelayed();
    EXPECT_EQ(spawned_, down + 1);
  }
  Ready(0);
  Submit("a", 2);
  EXPECT_EQ(assigned_[0].back(), 2);
  Ended("a", 2);
  Kill(0);
  EXPECT_EQ(spawned_, 22) << "it works again: the next worker comes at once";
}

TEST_F(TrainingServiceTest, WhereNoDeviceIsLeftEverythingIsLostAtOnce) {
  StartService(1);
  Submit("a", 1);
  for (int restart = 0; restart < 4; ++restart) {
    EXPECT_TRUE(events_.empty());
    Kill(0);
    RunDelayed();
  }
  EXPECT_EQ(spawned_, 4);
  ASSERT_EQ(events_.size(), 1u);
  EXPECT_EQ(events_[0].ended().outcome(), v1::LOST);
  Submit("a", 2);
  ASSERT_EQ(events_.size(), 2u) << "and what comes later";
}

TEST_F(TrainingServiceTest, DiscoveryGoesBeforeTrials) {
  StartService(1);
  Submit("a", 1);
  Discover();
  EXPECT_TRUE(discoveries_.empty());
  Ready(0);
  EXPECT_EQ(discoveries_, std::vector<int>{0});
  EXPECT_TRUE(assigned_.empty());
  EXPECT_EQ(discovered_, absl::OkStatus());
}

TEST_F(TrainingServiceTest, ADiscoveryWhoseWorkerGoesDownIsTheNextWorkers) {
  StartService(2);
  answers_ = false;
  Discover();
  Ready(0);
  Kill(0);
  EXPECT_EQ(discoveries_, std::vector<int>{0});
  answers_ = true;
  Ready(1);
  EXPECT_EQ(discoveries_, (std::vector<int>{0, 1}));
  EXPECT_EQ(discovered_, absl::OkStatus());
}

TEST_F(TrainingServiceTest, ADiscoveryWhoseWorkerGoesDownIsAnIdleWorkersAtOnce) {
  StartService(2);
  answers_ = false;
  Discover();
  Ready(0);
  Ready(1);
  Kill(0);
  EXPECT_EQ(discoveries_, (std::vector<int>{0, 1}));
}

TEST_F(TrainingServiceTest, ADiscoveryEndsWithItsThirdWorker) {
  StartService(1);
  answers_ = false;
  Discover();
  for (int worker = 0; worker < 3; ++worker) {
    Ready(0);
    Kill(0);
    RunDelayed();
  }
  EXPECT_EQ(discoveries_.size(), 3u);
  ASSERT_TRUE(discovered_.has_value());
  EXPECT_EQ(discovered_->code(), absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace lanista
