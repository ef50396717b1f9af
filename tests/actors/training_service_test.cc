#include "actors/training_service.h"

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "actors/model_events.h"
#include "caf/event_based_actor.hpp"
#include "gmock/gmock.h"
#include "src/base/clock.h"
#include "tests/actors/actor_test.h"

namespace lanista {
namespace {

using ::testing::HasSubstr;

// A service whose workers only write down what they are told, and an owner that writes down events.
class TrainingServiceTest : public ActorTest {
 protected:
  void StartService(int devices, bool open = false) {
    StartWith(std::vector<v1::Device>(static_cast<size_t>(devices)), open);
  }
  void StartWith(std::vector<v1::Device> devices, bool open) {
    service_ = Spawn(TrainingService,
                     TrainingServiceOptions{std::move(devices),
                                            SpawnWorker([this](int number, const v1::Device&, const WorkerOwnerActor&) {
                                              ++spawned_;
                                              return workers_[number] = MakeWorker(std::make_shared<int>(number));
                                            }),
                                            /*max_starting=*/2, open, telemetry_});
    owner_ = MakeOwner();
    Run();
  }

  TrialOwnerActor MakeOwner() {
    return Spawn([this](TrialOwnerActor::pointer) -> TrialOwnerActor::behavior_type {
      return {[this](const v1::ModelEvent& event) { events_.push_back(event); }};
    });
  }

  WorkerActor MakeWorker(std::shared_ptr<int> number) {
    return Spawn([this, number](WorkerActor::pointer self) -> WorkerActor::behavior_type {
      return {[this, number](const v1::TrialSpec& trial) { assigned_[*number].push_back(trial.trial()); },
              [this](const v1::CancelTrial& cancel) { canceled_.push_back(cancel.trial()); },
              [this](const v1::StopModel& stop) { stopped_.push_back(stop.model()); },
              [this](const v1::EventsRecorded& recorded) { recorded_.push_back(recorded.sequence()); },
              [this, number, self](const v1::Discover& request) -> caf::result<v1::Discovered> {
                discoveries_.push_back(*number);
                if (refuses_) return ToCafError(absl::UnavailableError("not now"));
                auto promise = self->make_response_promise<v1::Discovered>();
                v1::Discovered discovered;
                discovered.set_program(program_);
                discovered.set_tries_failed(tries_failed_);
                discovered.set_out_of_memory(out_of_memory_);
                if (request.has_convert()) discovered.mutable_converted();
                if (answers_) promise.deliver(std::move(discovered));
                return promise;
              }};
    });
  }

  // A device of that node joins, with so many GiB. Returns its number.
  int Join(const std::string& node, const std::string& program = "", int gib = 0,
           std::optional<absl::Duration> life = std::nullopt, const std::vector<std::string>& data = {},
           const std::map<std::string, std::string>& labels = {}, v1::DeviceKind::Kind kind = v1::DeviceKind::GPU) {
    const auto number = std::make_shared<int>(-1);
    const WorkerActor worker = MakeWorker(number);
    v1::DeviceJoined joined;
    joined.mutable_device()->set_kind(kind);
    joined.mutable_device()->set_node(node);
    joined.mutable_device()->set_memory(int64_t{gib} << 30);
    if (kind == v1::DeviceKind::CPU) joined.mutable_device()->set_memory_limit(int64_t{gib} << 30);
    joined.set_program(program);
    if (life.has_value()) *joined.mutable_ends() = ToTimestamp(absl::Now() + *life);
    v1::NodeOffer offer;
    offer.mutable_data()->Add(data.begin(), data.end());
    offer.mutable_labels()->insert(labels.begin(), labels.end());
    *number = Ask<v1::DeviceAdded>(joined, offer, worker).worker();
    workers_[*number] = worker;
    return *number;
  }
  // A node's place for preparing work joins, and is idle. Returns its number.
  int JoinPlace(const std::string& node, const std::vector<std::string>& data = {}, const std::string& program = "") {
    const auto number = std::make_shared<int>(-1);
    const WorkerActor worker = MakeWorker(number);
    v1::DeviceJoined joined;
    joined.mutable_device()->set_kind(v1::DeviceKind::CPU);
    joined.mutable_device()->set_node(node);
    joined.mutable_device()->set_prepares(true);
    joined.set_program(program);
    v1::NodeOffer offer;
    offer.mutable_data()->Add(data.begin(), data.end());
    *number = Ask<v1::DeviceAdded>(joined, offer, worker).worker();
    workers_[*number] = worker;
    Ready(*number, /*warm=*/false);
    return *number;
  }
  // A GPU of node "n", which trains trial 1 of experiment "a". Returns its number.
  int JoinBusy() {
    const int gpu = Join("n");
    Ready(gpu);
    Submit("a", 1);
    EXPECT_EQ(assigned_[gpu], std::vector<int>{1});
    return gpu;
  }
  // Trial of experiment "a" that ran on node "n", with these models; the owner wants it back.
  void Await(int trial, std::vector<int> models = {1}, const std::string& reads = "") {
    v1::ReturningTrials returning;
    returning.set_experiment("a");
    v1::ReturningTrial& proto = *returning.add_trials();
    *proto.mutable_spec() = MakeTrial("a", trial);
    if (!reads.empty()) proto.mutable_spec()->mutable_evaluator()->mutable_table()->set_path(reads);
    proto.mutable_spec()->clear_models();
    for (const int model : models) {
      *proto.mutable_spec()->add_models() = MakeModel(model);
      proto.add_recorded(5);
    }
    proto.mutable_device()->set_node("n");
    proto.set_assignment(AssignmentOf("a", trial));
    caf::anon_send(service_, returning, owner_);
    Run();
  }
  static std::string AssignmentOf(const std::string& experiment, int trial) {
    return absl::StrCat("H/1/", experiment, trial);
  }
  static v1::HeldTrial Held(const std::string& experiment, int trial, int model = 1, int attempt = 1,
                            int recorded = 5) {
    v1::HeldTrial held;
    held.set_assignment(AssignmentOf(experiment, trial));
    held.set_experiment(experiment);
    held.set_trial(trial);
    v1::HeldAttempt& proto = *held.add_attempts();
    proto.set_model(model);
    proto.set_attempt(attempt);
    proto.set_recorded(recorded);
    return held;
  }
  // The node comes, with these trials: kept_ will have those that go on. Its worker has number 100.
  void Return(const std::string& node, const std::vector<v1::HeldTrial>& held) {
    v1::NodeReturned returned;
    returned.set_node(node);
    *returned.mutable_trials() = {held.begin(), held.end()};
    const WorkerActor worker = workers_[100] = MakeWorker(std::make_shared<int>(100));
    Spawn([this, returned, worker](caf::event_based_actor* self) {
      self->request(service_, caf::infinite, returned, worker).then([this](const v1::KeptTrials& kept) {
        kept_.emplace();
        for (const v1::ReturningTrial& trial : kept.trials()) kept_->push_back(trial.spec().trial());
      });
    });
    Run();
  }
  // The last event is the end of that trial's attempt, lost with the head.
  void ExpectLostWithHead(int trial) {
    ASSERT_FALSE(events_.empty());
    EXPECT_EQ(events_.back().trial(), trial);
    EXPECT_EQ(events_.back().ended().outcome(), v1::ModelEnded::LOST);
    EXPECT_EQ(events_.back().ended().lost_cause(), v1::ModelEnded::HEAD_ENDED);
  }
  void Recorded(const std::string& experiment, int trial, int model = 0, int sequence = 0) {
    v1::EventsRecorded recorded;
    recorded.set_experiment(experiment);
    recorded.set_trial(trial);
    recorded.set_model(model);
    recorded.set_sequence(sequence);
    caf::anon_send(service_, recorded);
    Run();
  }
  void Hold(const std::string& node, bool hold, bool leaving = false) {
    v1::HoldNode message;
    message.set_node(node);
    message.set_hold(hold);
    message.set_leaving(leaving);
    caf::anon_send(service_, message);
    Run();
  }
  template <typename Answer, typename... Message>
  Answer Ask(const Message&... message) {
    Answer answer;
    Spawn([&, this](caf::event_based_actor* self) {
      self->request(service_, caf::infinite, message...)
          .then([&answer](const Answer& given) { answer = given; },
                [](const caf::error& error) { ADD_FAILURE() << caf::to_string(error); });
    });
    Run();
    return answer;
  }
  std::string WaitingFor(const std::string& experiment) {
    v1::AskWaiting ask;
    ask.set_experiment(experiment);
    return Ask<v1::Waiting>(ask).because();
  }
  // A source of nodes says so; returns what waits for it.
  int Expect(int devices, const std::string& because, const std::string& program = "", int gib = 0,
             v1::DeviceKind::Kind kind = v1::DeviceKind::KIND_UNSPECIFIED,
             const std::map<std::string, std::string>& labels = {}, const std::vector<std::string>& data = {}) {
    v1::ExpectDevices expect;
    *expect.mutable_data() = {data.begin(), data.end()};
    expect.set_device_kind(kind);
    expect.mutable_labels()->insert(labels.begin(), labels.end());
    expect.set_source("slurm");
    expect.set_devices(devices);
    expect.set_because(because);
    expect.set_program(program);
    expect.set_device_memory(int64_t{gib} << 30);
    return Ask<v1::DeviceDemand>(expect).waiting();
  }
  int CountDevices(const std::string& program = "") {
    v1::ListDevices list;
    list.set_program(program);
    return Ask<v1::DeviceList>(list).devices_size();
  }
  // The experiment wants devices; shares_ will say what it gets.
  void Want(const std::string& experiment, std::optional<int> most = std::nullopt, int priority = 0,
            const std::string& program = "", const std::optional<v1::RequirementsConfig>& requirements = std::nullopt) {
    DeviceUserActor& user = users_[experiment];
    if (user == nullptr) {
      user = Spawn([this, experiment](DeviceUserActor::pointer) -> DeviceUserActor::behavior_type {
        return {[this, experiment](const v1::DeviceShare& share) {
          shares_[experiment] = share.trials();
          planning_gib_[experiment] = static_cast<int>(share.device_memory() >> 30);
          ++told_[experiment];
        }};
      });
    }
    v1::WantDevices wants;
    wants.set_experiment(experiment);
    wants.set_program(program);
    wants.set_priority(priority);
    if (most.has_value()) wants.set_most_trials(*most);
    if (requirements.has_value()) *wants.mutable_requirements() = *requirements;
    caf::anon_send(service_, wants, user);
    Run();
  }
  void SubmitFor(const std::string& program, int gib, int trial, const std::string& experiment = "a") {
    v1::TrialSpec spec = MakeTrial(experiment, trial);
    spec.set_program(program);
    spec.set_estimated_memory(int64_t{gib} << 30);
    caf::anon_send(service_, spec, owner_);
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
  static v1::RequirementsConfig Require(v1::DeviceKind::Kind kind, int gib = 0,
                                        const std::map<std::string, std::string>& labels = {}) {
    v1::RequirementsConfig requirements;
    if (kind != v1::DeviceKind::KIND_UNSPECIFIED) requirements.set_device_kind(kind);
    if (gib > 0) requirements.set_min_device_memory(int64_t{gib} << 30);
    requirements.mutable_node_labels()->insert(labels.begin(), labels.end());
    return requirements;
  }
  void SubmitRequiring(const v1::RequirementsConfig& requirements, const std::string& experiment, int trial) {
    v1::TrialSpec spec = MakeTrial(experiment, trial);
    *spec.mutable_requirements() = requirements;
    caf::anon_send(service_, spec, owner_);
    Run();
  }
  // A trial that reads a table at this path.
  void SubmitReading(const std::string& path, const std::string& experiment, int trial) {
    v1::TrialSpec spec = MakeTrial(experiment, trial);
    spec.mutable_evaluator()->mutable_table()->set_path(path);
    caf::anon_send(service_, spec, owner_);
    Run();
  }
  // Asks for a discovery: discovered_ will say how it ended.
  void Discover(const std::string& experiment = "", const std::string& reads = "") {
    v1::Discover discover;
    discover.set_experiment(experiment);
    if (!reads.empty()) discover.mutable_evaluator()->mutable_table()->set_path(reads);
    Request(discover);
  }
  void Request(const v1::Discover& discover) {
    Spawn([this, discover](caf::event_based_actor* self) {
      self->request(service_, caf::infinite, discover)
          .then([this](const v1::Discovered&) { discovered_ = absl::OkStatus(); },
                [this](const caf::error& error) { discovered_ = FromCafError(error); });
    });
    Run();
  }
  // Asks for a conversion; the same says how it ended.
  void Convert(const std::string& program, const std::string& reads = "") {
    discovered_.reset();
    v1::Discover discover;
    discover.set_asked_by("request");
    discover.set_program(program);
    v1::SpaceModel& model = *discover.mutable_convert()->mutable_model();
    if (!reads.empty()) model.mutable_space()->mutable_graph()->set_path(reads);
    Request(discover);
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
  // The worker goes down as that of a lost node does.
  void Leave(int worker, const absl::Status& why = absl::UnavailableError("its node is lost")) {
    Spawn([this, worker, why](caf::event_based_actor* self) { self->send_exit(workers_[worker], ToCafError(why)); });
    Run();
  }

  const TelemetryPtr telemetry_ = std::make_shared<Telemetry>();
  TrainingServiceActor service_;
  TrialOwnerActor owner_;
  std::map<int, WorkerActor> workers_;
  int spawned_ = 0;
  std::map<int, std::vector<int>> assigned_;
  std::vector<int> canceled_;
  // The messages to workers: models to stop, and recorded sequence numbers.
  std::vector<int> stopped_;
  std::vector<int> recorded_;
  std::vector<int> discoveries_;
  bool answers_ = true;
  bool refuses_ = false;
  // Of discoveries.
  std::string program_;
  bool tries_failed_ = false;
  bool out_of_memory_ = false;
  std::map<std::string, DeviceUserActor> users_;
  // What each user was told last, and how often it was told.
  std::map<std::string, int> shares_, planning_gib_, told_;
  std::optional<absl::Status> discovered_;
  std::vector<v1::ModelEvent> events_;
  // Absent: the node has no answer yet.
  std::optional<std::vector<int>> kept_;
};

TEST_F(TrainingServiceTest, ATrialWaitsForItsNodeAndGoesOnWithIt) {
  StartService(0, /*open=*/true);
  Await(7);
  EXPECT_EQ(WaitingFor("a"), "node n to return with trial 7");
  EXPECT_EQ(telemetry_->trials_running.value(), 1);
  Return("m", {Held("a", 7)});
  EXPECT_TRUE(kept_->empty()) << "another node";
  Return("n", {Held("a", 7), Held("a", 8), Held("b", 7)});
  EXPECT_EQ(*kept_, std::vector<int>{7});
  EXPECT_EQ(WaitingFor("a"), "");
  v1::ModelEvent report = EndedEvent(MakeTrial("a", 7, 1), MakeModel(1), 5, v1::ModelEnded::SUCCEEDED);
  report.mutable_intermediate();
  caf::anon_send(service_, report);
  Recorded("a", 7, 1, 64);
  EXPECT_EQ(recorded_, std::vector<int>{64});
  Stop("a", 7, 1);
  EXPECT_EQ(stopped_, std::vector<int>{1});
  caf::anon_send(service_, EndedEvent(MakeTrial("a", 7, 1), MakeModel(1), 6, v1::ModelEnded::STOPPED_EARLY));
  Ended("a", 7);
  EXPECT_EQ(events_.size(), 2u);
  EXPECT_EQ(telemetry_->trials_running.value(), 0);
  // Now its end is in the journal.
  Recorded("a", 7);
  Recorded("a", 7);
  EXPECT_EQ(recorded_, (std::vector<int>{64, 0})) << "said once";
  RunDelayed();
  EXPECT_EQ(events_.size(), 2u) << "the time for its return has passed";
}

TEST_F(TrainingServiceTest, WhatDoesNotComeBackIsLostWithTheHead) {
  StartService(0, /*open=*/true);
  Await(7);
  Return("n", {});
  ExpectLostWithHead(7);
  Await(8);
  ExpectLostWithHead(8);
  EXPECT_EQ(events_.size(), 2u) << "the node is here already";
  Leave(100);
  Await(9);
  EXPECT_EQ(events_.size(), 2u);
  RunDelayed();
  ExpectLostWithHead(9);
  EXPECT_EQ(WaitingFor("a"), "");
  EXPECT_EQ(telemetry_->trials_running.value(), 0);
  // No experiment waits for this trial any more.
  Return("n", {Held("a", 9)});
  EXPECT_TRUE(kept_->empty());
}

TEST_F(TrainingServiceTest, ANodeHearsThatATrialIsInTheJournalWhenTheDevicesWorkerHasGone) {
  StartService(0, /*open=*/true);
  Return("n", {});
  const int gpu = JoinBusy();
  Ended("a", 1);
  Leave(gpu);
  Recorded("a", 1);
  EXPECT_EQ(recorded_, std::vector<int>{0});
}

TEST_F(TrainingServiceTest, AnotherAttemptOrOneWithAGapInTheJournalIsNotKept) {
  StartService(0, /*open=*/true);
  Await(7);
  Await(8);
  Await(9, {1, 2});
  Return("n", {Held("a", 7, 1, /*attempt=*/2), Held("a", 8, 1, 1, /*recorded=*/6), Held("a", 9)});
  EXPECT_TRUE(kept_->empty());
  EXPECT_EQ(events_.size(), 4u);
  ExpectLostWithHead(9);
}

TEST_F(TrainingServiceTest, AnAttemptIsKeptOnlyInTheAssignmentInWhichItBegan) {
  StartService(0, /*open=*/true);
  Await(7);
  v1::HeldTrial other = Held("a", 7);
  other.set_assignment("H/1/earlier");
  Return("n", {other});
  EXPECT_TRUE(kept_->empty());
  ExpectLostWithHead(7);
}

TEST_F(TrainingServiceTest, NodesThatHaveNotReturnedAreNamedWhereNothingElseIsThere) {
  TrainingServiceOptions options;
  options.open = true;
  options.nodes = {"m", "n"};
  service_ = Spawn(TrainingService, std::move(options));
  Discover("a");
  EXPECT_THAT(WaitingFor("a"), HasSubstr("of its nodes none has returned (m, n)"));
  Return("m", {});
  EXPECT_THAT(WaitingFor("a"), HasSubstr("none has returned (n)"));
  Return("n", {});
  EXPECT_THAT(WaitingFor("a"), HasSubstr("no node has joined"));
}

TEST_F(TrainingServiceTest, ANodeIsAnsweredWhenTheExperimentIsKnown) {
  StartService(0, /*open=*/true);
  Discover("a");
  EXPECT_FALSE(discovered_.has_value());
  Return("n", {Held("a", 7), Held("c", 1)});
  ASSERT_TRUE(discovered_.has_value());
  EXPECT_TRUE(absl::IsAborted(*discovered_)) << "it might have to wait for that node";
  EXPECT_FALSE(kept_.has_value());
  // Asked for again, it gets the same answer.
  discovered_.reset();
  Discover("a");
  EXPECT_TRUE(absl::IsAborted(discovered_.value_or(absl::OkStatus())));
  Await(7);
  EXPECT_EQ(kept_, std::vector<int>{7});

  Discover("b");
  kept_.reset();
  Return("m", {Held("b", 1)});
  EXPECT_FALSE(kept_.has_value());
  v1::CancelExperiment cancel;
  cancel.set_experiment("b");
  cancel.set_discovery(true);
  caf::anon_send(service_, cancel);
  Run();
  EXPECT_TRUE(kept_.has_value() && kept_->empty()) << "it does not go on";
}

TEST_F(TrainingServiceTest, WhatIsCanceledOrStoppedDoesNotWaitForItsNode) {
  StartService(0, /*open=*/true);
  Await(7, {1, 2});
  Stop("a", 7, 1);
  EXPECT_TRUE(events_.empty()) << "the other model goes on";
  Stop("a", 7, 2);
  ASSERT_EQ(events_.size(), 2u);
  EXPECT_EQ(events_[1].ended().outcome(), v1::ModelEnded::STOPPED_EARLY);
  Await(8);
  Await(9);
  Return("n", {Held("a", 9)});
  EXPECT_EQ(events_.size(), 3u);
  Await(10);
  EXPECT_EQ(events_.size(), 4u);
  v1::CancelExperiment cancel;
  cancel.set_experiment("a");
  caf::anon_send(service_, cancel);
  Run();
  EXPECT_EQ(canceled_, std::vector<int>{9});
  // If the node leaves without reporting an end, the attempt is lost; otherwise the node reports the end first.
  Leave(100);
  ASSERT_EQ(events_.size(), 5u);
  EXPECT_EQ(events_[4].ended().outcome(), v1::ModelEnded::CANCELED);
}

TEST_F(TrainingServiceTest, ANodeHearsWhenTheEndOfATrialIsInTheJournalOrNobodyWritesOne) {
  StartService(1, /*open=*/true);
  const int far = Join("n");
  Ready(far);
  Submit("a", 1);
  // Before and after the trial's last word.
  Recorded("a", 1);
  EXPECT_EQ(recorded_, std::vector<int>{0});
  Ended("a", 1);
  Ready(far);
  Submit("a", 2);
  Ended("a", 2);
  Recorded("a", 2);
  EXPECT_EQ(recorded_, (std::vector<int>{0, 0}));
  Ready(far);
  Submit("a", 3);
  Ended("a", 3);
  caf::anon_send_exit(owner_, caf::exit_reason::user_shutdown);
  Run();
  EXPECT_EQ(recorded_, (std::vector<int>{0, 0, 0}));
  // A worker of this machine keeps nothing.
  owner_ = MakeOwner();
  Ready(0);
  Submit("a", 4);
  Recorded("a", 4);
  Ended("a", 4);
  Recorded("a", 4);
  EXPECT_EQ(recorded_.size(), 3u);
}

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
  caf::anon_send(service_, EndedEvent(trial, trial.models(0), 0, v1::ModelEnded::SUCCEEDED));
  Run();
  ASSERT_EQ(events_.size(), 1u);
  EXPECT_EQ(events_[0].ended().outcome(), v1::ModelEnded::SUCCEEDED);
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
  EXPECT_EQ(events_[0].ended().outcome(), v1::ModelEnded::CANCELED);
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
  EXPECT_EQ(events_[0].ended().outcome(), v1::ModelEnded::LOST);
  EXPECT_EQ(events_[0].ended().failure().reason(), v1::Failure::WORKER_LOST);
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

TEST_F(TrainingServiceTest, AnOwnerThatGoesDownTakesNothingOfItsSuccessor) {
  StartService(2);
  Ready(0);
  Ready(1);
  Submit("a", 1);
  const TrialOwnerActor before = std::exchange(owner_, MakeOwner());
  Submit("a", 2);
  Submit("a", 3);
  caf::anon_send_exit(before, caf::exit_reason::kill);
  Run();
  EXPECT_EQ(canceled_, std::vector<int>{1});
  Ended("a", 2);
  Ready(1);
  EXPECT_EQ(assigned_[1], (std::vector<int>{2, 3}));
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
  EXPECT_EQ(events_[0].ended().outcome(), v1::ModelEnded::STOPPED_EARLY);
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
  recorded.set_model(1);
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

TEST_F(TrainingServiceTest, ATrialThatWasCanceledBeforeItsProcessWasUpIsNoWork) {
  StartService(1);
  v1::CancelExperiment cancel;
  cancel.set_experiment("a");
  for (int trial = 1; trial <= 4; ++trial) {
    Ready(0, /*warm=*/false);
    Submit("a", trial);
    ASSERT_EQ(assigned_[0].back(), trial);
    caf::anon_send(service_, cancel);
    Run();
    Ended("a", trial);
    Kill(0);
    RunDelayed();
  }
  EXPECT_EQ(spawned_, 4) << "the device is given up";
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
  EXPECT_EQ(events_[0].ended().outcome(), v1::ModelEnded::LOST);
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

TEST_F(TrainingServiceTest, ADeviceThatJoinsWorksOnceItIsReadyAndLeavesWithItsWorker) {
  StartService(1);
  const int joined = Join("n1");
  EXPECT_EQ(joined, 1);
  EXPECT_EQ(CountDevices(), 2);
  Submit("a", 1);
  EXPECT_TRUE(assigned_.empty());
  Ready(joined);
  EXPECT_EQ(assigned_[joined], std::vector<int>{1});
  const v1::TrialSpec trial = MakeTrial("a", 1);
  caf::anon_send(service_, EndedEvent(trial, trial.models(0), 0, v1::ModelEnded::SUCCEEDED));
  Ended("a", 1);
  EXPECT_EQ(events_.size(), 1u);
  Ready(joined);
  Submit("a", 2);
  EXPECT_EQ(assigned_[joined].size(), 2u);
  Leave(joined);
  EXPECT_EQ(events_.size(), 1u) << "it did not begin: it waits again";
  RunDelayed();
  EXPECT_EQ(spawned_, 1) << "it is another machine's to start it again";
  EXPECT_EQ(CountDevices(), 1);
  Ready(joined);
  Submit("a", 3);
  EXPECT_EQ(assigned_[joined].size(), 2u) << "what a worker said before it went down comes late";
  EXPECT_EQ(Join("n1"), 2) << "a number is given once";
  Ready(2);
  EXPECT_EQ(assigned_[2], std::vector<int>{2}) << "before what came later";
}

TEST_F(TrainingServiceTest, WhatWasAskedOfATrialThatDidNotBeginIsDone) {
  StartService(0, /*open=*/true);
  const int first = Join("n1");
  Ready(first);
  v1::TrialSpec spec = MakeTrial("a", 1);
  *spec.add_models() = MakeModel(2);
  const int stopped = spec.models(0).model();
  caf::anon_send(service_, spec, owner_);
  v1::StopModel stop;
  stop.set_experiment("a");
  stop.set_trial(1);
  stop.set_model(stopped);
  caf::anon_send(service_, stop);
  Run();
  // The node has left before it heard of that.
  Leave(first);
  ASSERT_EQ(events_.size(), 1u);
  EXPECT_EQ(events_[0].model(), stopped);
  EXPECT_EQ(events_[0].ended().outcome(), v1::ModelEnded::STOPPED_EARLY);

  const int second = Join("n1");
  Ready(second);
  EXPECT_EQ(assigned_[second], std::vector<int>{1});
  v1::CancelExperiment cancel;
  cancel.set_experiment("a");
  caf::anon_send(service_, cancel);
  Run();
  Leave(second);
  ASSERT_EQ(events_.size(), 2u);
  EXPECT_EQ(events_[1].ended().outcome(), v1::ModelEnded::CANCELED);
}

TEST_F(TrainingServiceTest, ATrialThatNeverBeginsIsLostAtLast) {
  StartService(0, /*open=*/true);
  Submit("a", 1);
  for (int times = 0; times < 11; ++times) {
    EXPECT_TRUE(events_.empty()) << times;
    // Nodes are not asked again at once.
    scheduler().advance_time(std::chrono::minutes(5));
    const int joined = Join("n1");
    Ready(joined);
    Leave(joined);
  }
  ASSERT_EQ(events_.size(), 1u);
  EXPECT_EQ(events_[0].ended().outcome(), v1::ModelEnded::LOST);
  EXPECT_EQ(events_[0].ended().lost_cause(), v1::ModelEnded::NODE_LEFT) << "that counts against nobody";
}

TEST_F(TrainingServiceTest, WhatNodesHaveNoRoomForKeepsNobodyElseWaiting) {
  StartService(0, /*open=*/true);
  Submit("large", 1);
  Submit("small", 2);
  const auto refuse = [this] {
    const int joined = Join("n1");
    Ready(joined);
    EXPECT_EQ(assigned_[joined], std::vector<int>{1});
    Leave(joined, absl::AbortedError("node n1: a file of 30 bytes has no room"));
  };
  refuse();
  refuse();
  // This experiment has fewer running trials than the other one, and has waited longer.
  const int device = Join("n1");
  Ready(device);
  EXPECT_THAT(WaitingFor("large"), HasSubstr("a file of 30 bytes has no room"));
  Ended("small", 2);
  EXPECT_EQ(events_.size(), 0u);
  Ready(device);
  EXPECT_EQ(assigned_[device], std::vector<int>{2}) << "not yet again";
  scheduler().advance_time(std::chrono::seconds(1));
  Run();
  EXPECT_EQ(assigned_[device], (std::vector<int>{2, 1})) << "perhaps there is room now";
  Ended("large", 1);
  EXPECT_EQ(WaitingFor("large"), "");
}

TEST_F(TrainingServiceTest, AValidationThatNodesHaveNoRoomForKeepsNoOtherWaiting) {
  StartService(0, /*open=*/true);
  const auto validate = [this](const std::string& client) {
    v1::Discover discover;
    discover.set_asked_by(client);
    Request(discover);
  };
  answers_ = false;
  validate("large");
  for (int refusal = 0; refusal < 2; ++refusal) {
    const int joined = Join("n1");
    Ready(joined);
    Leave(joined, absl::AbortedError("node n1: a file of 30 bytes has no room"));
  }
  const size_t before = discoveries_.size();
  validate("small");
  const int device = Join("n1");
  Ready(device);
  ASSERT_EQ(discoveries_.size(), before + 1);
  EXPECT_EQ(discoveries_.back(), device);
}

TEST_F(TrainingServiceTest, AWorkerThatSaysWhatBecameOfItsTrialBeforeItGoesDownLosesNothing) {
  StartService(0, /*open=*/true);
  const int joined = Join("n1");
  Ready(joined);
  Submit("a", 1);
  const v1::TrialSpec trial = MakeTrial("a", 1);
  caf::anon_send(service_,
                 EndedEvent(trial, trial.models(0), 5, v1::ModelEnded::LOST, v1::Failure(), v1::ModelEnded::NODE_LOST));
  Ended("a", 1);
  Leave(joined);
  ASSERT_EQ(events_.size(), 1u);
  EXPECT_EQ(events_[0].ended().lost_cause(), v1::ModelEnded::NODE_LOST);
}

TEST_F(TrainingServiceTest, InAnOpenPoolWorkWaitsForDevices) {
  StartService(0, /*open=*/true);
  Submit("a", 1);
  Discover("b");
  EXPECT_TRUE(events_.empty());
  EXPECT_EQ(discovered_, std::nullopt);
  EXPECT_THAT(WaitingFor("a"), HasSubstr("no node has joined"));
  EXPECT_THAT(WaitingFor("b"), HasSubstr("no node has joined"));
  EXPECT_EQ(WaitingFor("c"), "");
  const int joined = Join("n1");
  EXPECT_EQ(WaitingFor("a"), "") << "it has a device now";
  Ready(joined);
  EXPECT_EQ(discovered_, absl::OkStatus());
  Ready(joined);
  EXPECT_EQ(assigned_[joined], std::vector<int>{1});
  // The node goes while the next one waits.
  Submit("a", 2);
  Leave(joined);
  EXPECT_TRUE(events_.empty()) << "what had not begun there is not lost";
  EXPECT_THAT(WaitingFor("a"), HasSubstr("no node has joined"));
  const int next = Join("n2");
  Ready(next);
  EXPECT_EQ(assigned_[next], std::vector<int>{1}) << "it goes first";
  Ended("a", 1);
  Ready(next);
  EXPECT_EQ(assigned_[next], (std::vector<int>{1, 2}));
  EXPECT_EQ(WaitingFor("a"), "") << "nothing waits";
}

TEST_F(TrainingServiceTest, ATrialThatFitsOnlyWhereNothingStartsSaysSo) {
  StartService(0, /*open=*/true);
  const int large = Join("large", "p", 24), small = Join("small", "p", 8);
  for (const int worker : {large, small}) Ready(worker);
  Hold("large", true);
  SubmitFor("p", 12, 1);
  EXPECT_EQ(assigned_.count(small), 0u);
  EXPECT_THAT(WaitingFor("a"), HasSubstr("each of the 1 that could run it is down, or its node is silent or drained"));
}

TEST_F(TrainingServiceTest, ATrialDoesNotWaitForRoomOnANodeThatDrains) {
  StartService(0, /*open=*/true);
  const int large = Join("large", "p", 24), small = Join("small", "p", 8);
  for (const int worker : {large, small}) Ready(worker);
  // While the node is silent it may be back at once.
  Hold("large", true);
  SubmitFor("p", 12, 1);
  EXPECT_EQ(assigned_.count(small), 0u);
  EXPECT_EQ(Expect(1, "", "p", 8), 0);
  Hold("large", true, /*leaving=*/true);
  EXPECT_EQ(assigned_[small], std::vector<int>{1});
  EXPECT_EQ(WaitingFor("a"), "");
}

TEST_F(TrainingServiceTest, ATrialDoesNotWaitForRoomOnADeviceThatFailsAgainAndAgain) {
  v1::Device large, small;
  large.set_memory_limit(int64_t{24} << 30);
  small.set_memory_limit(int64_t{8} << 30);
  TrainingServiceOptions options;
  options.devices = {large, small};
  options.spawn_worker = [this](int number, const v1::Device&, const WorkerOwnerActor&) {
    return workers_[number] = MakeWorker(std::make_shared<int>(number));
  };
  options.open = true;
  service_ = Spawn(TrainingService, std::move(options));
  owner_ = MakeOwner();
  Run();
  Ready(1);
  SubmitFor("", 12, 1);
  for (int down = 1; down <= 3; ++down) {
    Kill(0);
    EXPECT_EQ(assigned_.count(1), 0u) << "it may work yet";
    if (down > 1) RunDelayed();
  }
  Kill(0);
  EXPECT_EQ(assigned_[1], std::vector<int>{1});
  // It is tried again all the same, and gets work once it is there.
  RunDelayed();
  Ready(0);
  SubmitFor("", 12, 2);
  EXPECT_EQ(assigned_[0], std::vector<int>{2});
}

TEST_F(TrainingServiceTest, ATrialGoesToADeviceThatMeetsItsRequirementsAndHoldsNobodyUp) {
  StartService(0, /*open=*/true);
  const int cpu = Join("n1", "", 32, std::nullopt, {}, {{"gpu", "a100"}}, v1::DeviceKind::CPU);
  const int small = Join("n2", "", 8, std::nullopt, {}, {{"gpu", "a100"}});
  const int other = Join("n3", "", 16, std::nullopt, {}, {{"gpu", "t4"}});
  const int fits = Join("n4", "", 16, std::nullopt, {}, {{"gpu", "a100"}, {"rack", "7"}});
  for (const int worker : {cpu, small, other}) Ready(worker);
  SubmitRequiring(Require(v1::DeviceKind::GPU, 16, {{"gpu", "a100"}}), "a", 1);
  EXPECT_TRUE(assigned_.empty());
  EXPECT_EQ(WaitingFor("a"), "") << "for its turn";
  SubmitRequiring(Require(v1::DeviceKind::CPU), "b", 2);
  SubmitRequiring(Require(v1::DeviceKind::KIND_UNSPECIFIED, 0, {{"gpu", "t4"}}), "c", 3);
  Submit("d", 4);
  EXPECT_EQ(assigned_[cpu], std::vector<int>{2});
  EXPECT_EQ(assigned_[other], std::vector<int>{3});
  EXPECT_EQ(assigned_[small], std::vector<int>{4});
  Ready(fits);
  EXPECT_EQ(assigned_[fits], std::vector<int>{1});
}

TEST_F(TrainingServiceTest, DevicesOfAlmostTheSameMemoryAreToldApart) {
  StartService(0, /*open=*/true);
  // Of one kind.
  const auto join = [this](int mib) {
    const auto number = std::make_shared<int>(-1);
    const WorkerActor worker = MakeWorker(number);
    v1::DeviceJoined joined;
    joined.mutable_device()->set_kind(v1::DeviceKind::GPU);
    joined.mutable_device()->set_node("n");
    joined.mutable_device()->set_memory(int64_t{mib} << 20);
    *number = Ask<v1::DeviceAdded>(joined, v1::NodeOffer(), worker).worker();
    workers_[*number] = worker;
    return *number;
  };
  const int less = join(16384), more = join(16400);
  v1::RequirementsConfig requirements;
  requirements.set_min_device_memory(int64_t{16400} << 20);
  Want("a", std::nullopt, 0, "", requirements);
  EXPECT_EQ(shares_["a"], 1);
  Ready(less);
  SubmitRequiring(requirements, "a", 1);
  EXPECT_TRUE(assigned_.empty());
  Ready(more);
  EXPECT_EQ(assigned_[more], std::vector<int>{1});
  Leave(more);
  EXPECT_THAT(WaitingFor("a"), HasSubstr("none has at least 16.0156 GiB (the largest has 16 GiB)"));
}

TEST_F(TrainingServiceTest, WhatFindsNoDeviceThatMeetsItsRequirementsSaysForWhatItWaits) {
  StartService(0, /*open=*/true);
  const v1::RequirementsConfig requirements = Require(v1::DeviceKind::GPU, 16, {{"gpu", "a100"}});
  SubmitRequiring(requirements, "a", 1);
  EXPECT_EQ(WaitingFor("a"),
            "a device that meets its requirements (GPU, at least 16 GiB, label gpu=a100): this head has none of its "
            "own, and no node has joined it");
  Join("n1", "", 32, std::nullopt, {}, {}, v1::DeviceKind::CPU);
  EXPECT_THAT(WaitingFor("a"), HasSubstr("of 1 device, none is a GPU"));
  Join("n2", "", 8);
  EXPECT_THAT(WaitingFor("a"),
              HasSubstr("of 2 devices, 1 is a GPU, none of these has at least 16 GiB (the largest has 8 GiB)"));
  Join("n3");
  Join("n4", "", 24);
  EXPECT_THAT(WaitingFor("a"), HasSubstr("of 4 devices, 3 are GPUs, 1 of these has at least 16 GiB, none of these has "
                                         "the label gpu=a100"));
  const int fits = Join("n5", "", 24, std::nullopt, {}, {{"gpu", "a100"}});
  EXPECT_EQ(WaitingFor("a"), "");
  Hold("n5", true);
  EXPECT_EQ(WaitingFor("a"),
            "a device that meets its requirements (GPU, at least 16 GiB, label gpu=a100): each of the 1 that could run "
            "it is down, or its node is silent or drained");
  Hold("n5", false);
  Ready(fits);
  EXPECT_EQ(assigned_[fits], std::vector<int>{1});
}

TEST_F(TrainingServiceTest, TheShareOfAnExperimentIsOfTheDevicesThatMeetItsRequirements) {
  StartService(0, /*open=*/true);
  for (int i = 0; i < 4; ++i) Join("n1", "", 8, std::nullopt, {}, {}, v1::DeviceKind::CPU);
  Join("n2", "", 16);
  Join("n2", "", 16);
  Want("a", std::nullopt, 0, "", Require(v1::DeviceKind::GPU));
  Want("b");
  EXPECT_EQ(shares_, (std::map<std::string, int>{{"a", 2}, {"b", 4}}));
  EXPECT_EQ(planning_gib_, (std::map<std::string, int>{{"a", 16}, {"b", 8}}));
  Expect(3, "", "", 0, v1::DeviceKind::CPU);
  EXPECT_EQ(shares_["a"], 2) << "they would not do";
  Expect(3, "", "", 0, v1::DeviceKind::GPU);
  EXPECT_EQ(shares_["a"], 5);
  v1::ListDevices list;
  *list.mutable_requirements() = Require(v1::DeviceKind::GPU, 16);
  EXPECT_EQ(Ask<v1::DeviceList>(list).devices_size(), 2);
  // A node that drains takes no share any more.
  Expect(0, "");
  Hold("n2", true, /*leaving=*/true);
  EXPECT_EQ(shares_, (std::map<std::string, int>{{"a", 1}, {"b", 4}}));
}

TEST_F(TrainingServiceTest, InAnOpenPoolNoDeviceIsGivenUp) {
  StartService(1, /*open=*/true);
  Submit("a", 1);
  for (int down = 1; down <= 10; ++down) {
    Kill(0);
    EXPECT_EQ(spawned_, down == 1 ? 2 : down) << "the first one at once";
    if (down > 1) {
      EXPECT_THAT(WaitingFor("a"), HasSubstr("each of the 1 that could run it is down"));
    }
    RunDelayed();
    EXPECT_EQ(spawned_, down + 1);
  }
  EXPECT_TRUE(events_.empty());
  Ready(0);
  EXPECT_EQ(assigned_[0], std::vector<int>{1});
}

TEST_F(TrainingServiceTest, ANodeThatIsHeldGetsNothing) {
  StartService(0, /*open=*/true);
  const int first = Join("n1"), second = Join("n1"), other = Join("n2");
  for (const int worker : {first, second, other}) Ready(worker);
  Hold("n1", true);
  for (int trial = 1; trial <= 2; ++trial) Submit("a", trial);
  EXPECT_EQ(assigned_[other], std::vector<int>{1});
  EXPECT_EQ(assigned_.count(first) + assigned_.count(second), 0u);
  EXPECT_EQ(WaitingFor("a"), "") << "there is a device; it is busy";
  Hold("n2", true);
  EXPECT_THAT(WaitingFor("a"), HasSubstr("each of the 3 that could run it is down, or its node is silent or drained"));
  Ended("a", 1);
  Ready(other);
  EXPECT_EQ(assigned_[other].size(), 1u) << "ready or not";
  Hold("nobody", true);
  Hold("n1", false);
  EXPECT_EQ(assigned_[first], std::vector<int>{2});
}

TEST_F(TrainingServiceTest, ThisMachineIsNotHeldWithANodeOfItsName) {
  StartService(1);
  Join("");
  Ready(0);
  Hold("", true);
  Submit("a", 1);
  EXPECT_EQ(assigned_[0], std::vector<int>{1});
}

TEST_F(TrainingServiceTest, ATrialGoesWhereTheProgramRunsThatDiscoveredItsSpace) {
  StartService(0, /*open=*/true);
  const int one = Join("n1", "P1"), two = Join("n2", "P2");
  Ready(one);
  SubmitFor("P2", 0, 1);
  SubmitFor("P3", 0, 2, "b");
  SubmitFor("P1", 0, 3, "c");
  EXPECT_EQ(assigned_[one], std::vector<int>{3}) << "the others do not hold it up";
  Ready(two);
  EXPECT_EQ(assigned_[two], std::vector<int>{1});
  EXPECT_THAT(WaitingFor("b"), HasSubstr("a node with the program that discovered its space (build id P3)"));
  EXPECT_EQ(CountDevices("P1"), 1);
  EXPECT_EQ(CountDevices("P3"), 0);
  const int three = Join("n3", "P3");
  Ready(three);
  EXPECT_EQ(assigned_[three], std::vector<int>{2});
}

TEST_F(TrainingServiceTest, ATrialGoesToANodeThatHasItsData) {
  StartService(0, /*open=*/true);
  const int without = Join("without");
  const int with = Join("with", "", 0, std::nullopt, {"cifar", "mnist"});
  Ready(without);
  SubmitReading("data://mnist/train.csv", "a", 1);
  EXPECT_TRUE(assigned_.empty());
  EXPECT_EQ(WaitingFor("a"), "") << "for its turn";
  Submit("b", 1);
  EXPECT_THAT(assigned_[without], ::testing::ElementsAre(1)) << "nobody waits behind it";
  Ready(with);
  EXPECT_THAT(assigned_[with], ::testing::ElementsAre(1));
  Ended("a", 1);
  Ended("b", 1);
  // Data is where it is, but a device that has it may do other things.
  Ready(with);
  Submit("b", 2);
  EXPECT_THAT(assigned_[with], ::testing::ElementsAre(1, 2));
}

TEST_F(TrainingServiceTest, WhatFollowsATrialThatANodeBringsBackGoesOnlyWhereItsDataIs) {
  StartService(0, /*open=*/true);
  Await(7, {1}, "data://mnist/train.csv");
  const int without = Join("without");
  Ready(without);
  SubmitReading("data://mnist/train.csv", "a", 8);
  EXPECT_TRUE(assigned_.empty());
  const int with = Join("with", "", 0, std::nullopt, {"mnist"});
  Ready(with);
  EXPECT_THAT(assigned_[with], ::testing::ElementsAre(8));
}

TEST_F(TrainingServiceTest, WhatFindsNoNodeWithItsDataWaitsAndSaysForWhat) {
  StartService(0, /*open=*/true);
  const int other = Join("other", "", 0, std::nullopt, {"cifar"});
  Ready(other);
  SubmitReading("data://mnist/train.csv", "a", 1);
  EXPECT_EQ(WaitingFor("a"),
            "a node that has the data 'mnist' (`node --data mnist=DIR`): none of those that are there has it");
  Discover("c", "data://imagenet");
  EXPECT_THAT(WaitingFor("c"), HasSubstr("the data 'imagenet'"));
  EXPECT_TRUE(discoveries_.empty());
  // Others are discovered meanwhile.
  Discover("d", "data://cifar/a.csv");
  EXPECT_THAT(discoveries_, ::testing::ElementsAre(other));
  Ready(other);

  const int node = Join("node", "", 0, std::nullopt, {"imagenet", "mnist"});
  Ready(node);
  EXPECT_THAT(discoveries_, ::testing::ElementsAre(other, node));
  Ready(node);
  EXPECT_THAT(assigned_[node], ::testing::ElementsAre(1));
  EXPECT_EQ(WaitingFor("a"), "");
}

TEST_F(TrainingServiceTest, TheShareOfAnExperimentIsOfTheDevicesWithItsData) {
  StartService(0, /*open=*/true);
  for (int i = 0; i < 5; ++i) Join("without");
  Join("with", "", 0, std::nullopt, {"mnist"});
  SubmitReading("data://mnist", "a", 1);
  Want("a");
  Want("b");
  EXPECT_EQ(shares_["a"], 1);
  EXPECT_EQ(shares_["b"], 5);
}

TEST_F(TrainingServiceTest, WhichProgramRunsHereIsLearntFromADiscovery) {
  StartService(2);
  const int joined = Join("n1", "P1");
  Ready(joined);
  Ready(0);
  Ready(1);
  SubmitFor("P2", 0, 1);
  EXPECT_TRUE(assigned_.empty());
  program_ = "P2";
  Discover();
  EXPECT_EQ(discoveries_, std::vector<int>{0}) << "where nothing is known";
  EXPECT_EQ(assigned_[1], std::vector<int>{1}) << "all devices of this machine run the same";
  // The program's file was replaced: what began before goes on.
  Ready(0);
  Ended("a", 1);
  program_ = "P2'";
  Leave(joined);
  Discover();
  Ready(0);
  Ready(1);
  SubmitFor("P2", 0, 2);
  SubmitFor("P2'", 0, 3);
  EXPECT_EQ(assigned_[0], std::vector<int>{2});
  EXPECT_EQ(assigned_[1], (std::vector<int>{1, 3}));
}

TEST_F(TrainingServiceTest, ATrialGoesWhereThereIsRoomForItOrElseWhereThereIsMost) {
  StartService(0, /*open=*/true);
  const int small = Join("n1", "", 8), large = Join("n2", "", 16);
  Ready(small);
  SubmitFor("", 10, 1);
  EXPECT_TRUE(assigned_.empty()) << "three quarters of 8 GiB are too little";
  SubmitFor("", 5, 2);
  EXPECT_EQ(assigned_[small], std::vector<int>{2}) << "it holds nobody up";
  Ready(large);
  EXPECT_EQ(assigned_[large], std::vector<int>{1});
  Ended("a", 1);
  Ended("a", 2);
  Ready(small);
  Ready(large);
  SubmitFor("", 100, 3);
  EXPECT_EQ(assigned_[large], (std::vector<int>{1, 3})) << "it fits nowhere, and is tried";
  SubmitFor("", 0, 4);
  EXPECT_EQ(assigned_[small], (std::vector<int>{2, 4}));
  // When the largest device leaves, the next largest one counts.
  SubmitFor("", 10, 5);
  Leave(large);
  Ended("a", 4);
  Ready(small);
  EXPECT_EQ(assigned_[small], (std::vector<int>{2, 4, 3})) << "what comes back goes first";
  Ended("a", 3);
  Ready(small);
  EXPECT_EQ(assigned_[small], (std::vector<int>{2, 4, 3, 5}));
}

TEST_F(TrainingServiceTest, SmallTrialsLeaveTheLargeDevicesFree) {
  StartService(0, /*open=*/true);
  const int large = Join("n1", "", 16), small = Join("n2", "", 8);
  Ready(large);
  Ready(small);
  SubmitFor("", 0, 1);
  EXPECT_EQ(assigned_[small], std::vector<int>{1});
}

TEST_F(TrainingServiceTest, NodesStartAsManyProcessesAsTheyLike) {
  StartService(0, /*open=*/true);
  for (int trial = 1; trial <= 4; ++trial) Submit("a", trial);
  for (int worker = 0; worker < 4; ++worker) Ready(Join("n1"), /*warm=*/false);
  EXPECT_EQ(assigned_.size(), 4u);
}

TEST_F(TrainingServiceTest, ADiscoveryOutlivesANodeAndEndsWithTheThird) {
  StartService(0, /*open=*/true);
  answers_ = false;
  Discover();
  for (const char* const node : {"n1", "n1", "n1", "n2"}) {
    const int joined = Join(node);
    Ready(joined);
    Leave(joined);
    EXPECT_EQ(discovered_, std::nullopt) << node;
  }
  const int joined = Join("n3");
  Ready(joined);
  Leave(joined);
  ASSERT_TRUE(discovered_.has_value());
  EXPECT_TRUE(absl::IsUnavailable(*discovered_));
  EXPECT_EQ(discoveries_.size(), 5u);
}

TEST_F(TrainingServiceTest, NodesThatLeaveInOrderAreNotCountedAgainstADiscovery) {
  StartService(0, /*open=*/true);
  answers_ = false;
  Discover();
  for (const char* const node : {"n1", "n2", "n3", "n4"}) {
    const int joined = Join(node);
    Ready(joined);
    Leave(joined, absl::AbortedError("it was drained"));
    EXPECT_EQ(discovered_, std::nullopt) << node;
    scheduler().advance_time(std::chrono::minutes(5));
  }
  answers_ = true;
  Ready(Join("n5"));
  EXPECT_EQ(discovered_, absl::OkStatus());
  EXPECT_EQ(discoveries_.size(), 5u);
}

TEST_F(TrainingServiceTest, ADiscoveryThatAWorkerCannotDoIsTheNextWorkers) {
  StartService(2);
  refuses_ = true;
  Discover();
  Ready(0);
  refuses_ = false;
  Ready(1);
  EXPECT_EQ(discoveries_, (std::vector<int>{0, 1}));
  EXPECT_EQ(discovered_, absl::OkStatus());
}

TEST_F(TrainingServiceTest, ADiscoveryThatWaitsCanBeCanceled) {
  StartService(0, /*open=*/true);
  Discover("a");
  v1::CancelExperiment cancel;
  cancel.set_experiment("a");
  cancel.set_discovery(true);
  caf::anon_send(service_, cancel);
  Run();
  ASSERT_TRUE(discovered_.has_value());
  EXPECT_TRUE(absl::IsCancelled(*discovered_));
  Ready(Join("n1"));
  EXPECT_TRUE(discoveries_.empty());
}

TEST_F(TrainingServiceTest, TheWorkerHearsThatADiscoveryIsCanceled) {
  StartService(0, /*open=*/true);
  answers_ = false;
  Ready(Join("n1"));
  Discover("a");
  v1::CancelExperiment cancel;
  cancel.set_experiment("b");
  cancel.set_discovery(true);
  caf::anon_send(service_, cancel);
  Run();
  EXPECT_TRUE(canceled_.empty()) << "another one's";
  cancel.set_experiment("a");
  caf::anon_send(service_, cancel);
  Run();
  EXPECT_EQ(canceled_, std::vector<int>{0}) << "of no trial";
}

TEST_F(TrainingServiceTest, DevicesAreSharedBetweenExperimentsAsTheyComeAndGo) {
  StartService(0, /*open=*/true);
  Want("a");
  EXPECT_EQ(shares_["a"], 1) << "even where there is nothing";
  for (int device = 0; device < 10; ++device) Join("n1");
  EXPECT_EQ(shares_["a"], 10);
  Want("b");
  Want("c");
  EXPECT_EQ(shares_, (std::map<std::string, int>{{"a", 4}, {"b", 3}, {"c", 3}}));
  Want("b", 1);
  EXPECT_EQ(shares_, (std::map<std::string, int>{{"a", 5}, {"b", 1}, {"c", 4}})) << "what one cannot use is others'";
  caf::anon_send_exit(users_["a"], caf::exit_reason::user_shutdown);
  Run();
  EXPECT_EQ(shares_["c"], 9);
  Want("d", std::nullopt, /*priority=*/1);
  EXPECT_EQ(shares_["d"], 10);
  EXPECT_EQ(shares_["c"], 1) << "the higher priority takes all";
  Want("d", 7, /*priority=*/1);
  EXPECT_EQ(shares_["c"], 2);
  const int told = told_["c"];
  Want("d", 7, /*priority=*/1);
  EXPECT_EQ(told_["c"], told) << "nothing is new";
  Leave(0);
  EXPECT_EQ(shares_["c"], 1);
}

TEST_F(TrainingServiceTest, SharesAreOfTheDevicesThatRunTheProgram) {
  StartService(0, /*open=*/true);
  for (int device = 0; device < 4; ++device) Join("n1", "P1", 16);
  Join("n2", "P2", 8);
  Want("a", std::nullopt, 0, "P1");
  Want("b", std::nullopt, 0, "P2");
  Want("c", std::nullopt, 0, "P3");
  EXPECT_EQ(shares_, (std::map<std::string, int>{{"a", 4}, {"b", 1}, {"c", 1}}));
  EXPECT_EQ(planning_gib_, (std::map<std::string, int>{{"a", 16}, {"b", 8}, {"c", 0}}));
  // A small newcomer, and then many.
  Join("n3", "P1", 4);
  EXPECT_EQ(planning_gib_["a"], 16);
  Join("n3", "P1", 4);
  EXPECT_EQ(planning_gib_["a"], 16);
  Join("n3", "P1", 4);
  EXPECT_EQ(planning_gib_["a"], 4) << "three of seven";
}

TEST_F(TrainingServiceTest, TelemetryKnowsWhatWaitsAndWhatRuns) {
  // "2 queued, 1 running; 0 discoveries; devices: 1 busy, ..."
  const auto told = [this] {
    const auto devices = [this](DeviceUse use) { return telemetry_->devices[use].value(); };
    return absl::StrCat(telemetry_->trials_queued.value(), " queued, ", telemetry_->trials_running.value(),
                        " running, ", telemetry_->discoveries_queued.value(), " discoveries; ",
                        devices(DeviceUse::kBusy), " busy, ", devices(DeviceUse::kIdle), " idle, ",
                        devices(DeviceUse::kHeld), " held, ", devices(DeviceUse::kDown), " down");
  };
  StartService(1, /*open=*/true);
  EXPECT_EQ(told(), "0 queued, 0 running, 0 discoveries; 1 busy, 0 idle, 0 held, 0 down") << "it is being made ready";
  Ready(0);
  EXPECT_EQ(told(), "0 queued, 0 running, 0 discoveries; 0 busy, 1 idle, 0 held, 0 down");
  Submit("a", 1);
  scheduler().advance_time(std::chrono::seconds(10));
  Submit("a", 2);
  scheduler().advance_time(std::chrono::seconds(5));
  Submit("b", 1);
  Discover("c");
  EXPECT_EQ(told(), "2 queued, 1 running, 1 discoveries; 1 busy, 0 idle, 0 held, 0 down");
  scheduler().advance_time(std::chrono::seconds(1));
  EXPECT_EQ(telemetry_->oldest_queued.Age(system_.clock().now()), std::chrono::seconds(6)) << "trial 2 of a";

  // The discovery goes first, then what waited longest.
  Ended("a", 1);
  Ready(0);
  EXPECT_EQ(told(), "2 queued, 0 running, 0 discoveries; 1 busy, 0 idle, 0 held, 0 down");
  Ready(0);
  EXPECT_EQ(told(), "1 queued, 1 running, 0 discoveries; 1 busy, 0 idle, 0 held, 0 down");
  EXPECT_EQ(telemetry_->oldest_queued.Age(system_.clock().now()), std::chrono::seconds(1)) << "trial 1 of b";
  Stop("b", 1, 1);
  EXPECT_EQ(told(), "0 queued, 1 running, 0 discoveries; 1 busy, 0 idle, 0 held, 0 down");
  EXPECT_EQ(telemetry_->oldest_queued.Age(system_.clock().now()).count(), 0);
  EXPECT_EQ(telemetry_->trials_started.value(), 2u);
  EXPECT_EQ(telemetry_->trials_finished.value(), 1u);

  // A node that is silent, and leaves with what it has not begun.
  const int joined = Join("other");
  Ready(joined);
  EXPECT_EQ(told(), "0 queued, 1 running, 0 discoveries; 1 busy, 1 idle, 0 held, 0 down");
  Hold("other", true);
  EXPECT_EQ(told(), "0 queued, 1 running, 0 discoveries; 1 busy, 0 idle, 1 held, 0 down");
  Hold("other", false);
  Submit("a", 3);
  EXPECT_EQ(told(), "0 queued, 2 running, 0 discoveries; 2 busy, 0 idle, 0 held, 0 down");
  Leave(joined);
  EXPECT_EQ(told(), "1 queued, 1 running, 0 discoveries; 1 busy, 0 idle, 0 held, 0 down");
  EXPECT_EQ(telemetry_->trials_lost.value(), 0u);
  EXPECT_EQ(telemetry_->trials_returned.value(), 1u);

  // A device of this machine stays, and waits for its next worker after the second one, which did nothing.
  Kill(0);
  Kill(0);
  EXPECT_EQ(told(), "1 queued, 0 running, 0 discoveries; 0 busy, 0 idle, 0 held, 1 down");
  EXPECT_EQ(telemetry_->trials_lost.value(), 1u);

  Submit("a", 4);
  caf::anon_send_exit(service_, caf::exit_reason::user_shutdown);
  service_ = nullptr;
  actors_.clear();
  Run();
  EXPECT_EQ(told(), "0 queued, 0 running, 0 discoveries; 0 busy, 0 idle, 0 held, 0 down") << "the service has ended";
}

TEST_F(TrainingServiceTest, SharesCountOnNodesThatMayCome) {
  StartService(0, /*open=*/true);
  Join("n1", "P1");
  Want("a", std::nullopt, 0, "P1");
  EXPECT_EQ(shares_["a"], 1);
  Expect(3, "", "P1");
  EXPECT_EQ(shares_["a"], 4);
  Expect(3, "", "P2");
  EXPECT_EQ(shares_["a"], 1) << "they would run another program";
}

TEST_F(TrainingServiceTest, ASourceLearnsWhatItsNodesCouldRun) {
  StartService(0, /*open=*/true);
  EXPECT_EQ(Expect(1, "", "P1"), 0);
  SubmitFor("P1", 0, 1);
  SubmitFor("P1", 0, 2);
  SubmitFor("P2", 0, 3);
  EXPECT_EQ(Expect(1, "", "P1"), 2);
  Discover();
  EXPECT_EQ(Expect(1, "", "P1"), 3);
  EXPECT_EQ(Expect(1, "", "P2"), 2);
  Ready(Join("n1", "P1"));
  EXPECT_EQ(Expect(1, "", "P1"), 2) << "the discovery has begun";
}

TEST_F(TrainingServiceTest, NodesThatAreTooSmallAreNotAskedFor) {
  StartService(0, /*open=*/true);
  Join("n1", "P1", 16);
  SubmitFor("P1", 12, 1);
  EXPECT_EQ(Expect(1, "", "P1", 8), 0) << "it waits for the large one";
  EXPECT_EQ(Expect(1, "", "P1", 32), 1);
  EXPECT_EQ(Expect(1, "", "P1"), 1) << "nobody knows how large they are";
}

TEST_F(TrainingServiceTest, NodesThatWouldNotMeetTheRequirementsAreNotAskedFor) {
  StartService(1, /*open=*/true);
  Ready(0);
  SubmitRequiring(Require(v1::DeviceKind::GPU, 16, {{"gpu", "a100"}}), "a", 1);
  EXPECT_EQ(Expect(1, "", "", 0, v1::DeviceKind::CPU, {{"gpu", "a100"}}), 0);
  EXPECT_EQ(Expect(1, "", "", 0, v1::DeviceKind::GPU), 0);
  EXPECT_EQ(Expect(1, "", "", 8, v1::DeviceKind::GPU, {{"gpu", "a100"}}), 0);
  EXPECT_EQ(Expect(1, "", "", 0, v1::DeviceKind::GPU, {{"gpu", "a100"}}), 1)
      << "nobody knows how large they are, and the idle device of this machine does not do";
  // Now it is known: another one would be as small.
  const int small = Join("n1", "", 8, std::nullopt, {}, {{"gpu", "a100"}});
  Leave(small);
  EXPECT_EQ(Expect(1, "", "", 0, v1::DeviceKind::GPU, {{"gpu", "a100"}}), 0);
}

TEST_F(TrainingServiceTest, NodesThatWouldLackTheDataAreNotAskedFor) {
  StartService(0, /*open=*/true);
  SubmitReading("data://mnist/train.csv", "a", 1);
  Discover("c", "data://imagenet");
  EXPECT_EQ(Expect(1, ""), 0);
  EXPECT_EQ(Expect(1, "", "", 0, v1::DeviceKind::KIND_UNSPECIFIED, {}, {"mnist"}), 1);
  EXPECT_EQ(Expect(1, "", "", 0, v1::DeviceKind::KIND_UNSPECIFIED, {}, {"imagenet", "mnist"}), 2);
}

TEST_F(TrainingServiceTest, IdleDevicesWithoutTheDataOfADiscoveryAreNotEnough) {
  StartService(1, /*open=*/true);
  Ready(0);
  Discover("c", "data://imagenet");
  EXPECT_EQ(Expect(1, "", "", 0, v1::DeviceKind::KIND_UNSPECIFIED, {}, {"imagenet"}), 1);
}

TEST_F(TrainingServiceTest, DevicesOfThisMachineThatAreAboutToBeginAreEnough) {
  StartService(4, /*open=*/true);
  for (int worker = 0; worker < 4; ++worker) Ready(worker, /*warm=*/false);
  for (int trial = 1; trial <= 5; ++trial) Submit("a", trial);
  EXPECT_EQ(Expect(1, ""), 1) << "two processes start, two devices are next";
}

TEST_F(TrainingServiceTest, WhatWaitsIsToldWhyNoNodeComes) {
  StartService(0, /*open=*/true);
  Submit("a", 1);
  EXPECT_THAT(WaitingFor("a"), HasSubstr("no node has joined it"));
  Expect(2, "a job waits in Slurm's queue (Priority)");
  EXPECT_THAT(WaitingFor("a"), HasSubstr("a job waits in Slurm's queue (Priority)"));
  Ready(Join("n1"));
  EXPECT_EQ(WaitingFor("a"), "");
}

TEST_F(TrainingServiceTest, ATrialGoesNowhereWhereItWouldNotEndInTime) {
  StartService(0, /*open=*/true);
  const int first = Join("n1", "P1", 0, absl::Minutes(60));
  Ready(first);
  SubmitFor("P1", 0, 1);
  scheduler().advance_time(std::chrono::minutes(20));
  Ended("a", 1);
  Ready(first);
  SubmitFor("P1", 0, 2);
  ASSERT_EQ(assigned_[first], (std::vector<int>{1, 2})) << "40 minutes are enough for one that takes 20";
  scheduler().advance_time(std::chrono::minutes(25));
  Ended("a", 2);
  Ready(first);
  SubmitFor("P1", 0, 3);
  EXPECT_EQ(assigned_[first].size(), 2u) << "15 minutes are not";
  EXPECT_THAT(WaitingFor("a"), HasSubstr("there for longer"));
  EXPECT_EQ(Expect(1, "", "P1"), 1) << "another node would help";
  SubmitFor("P1", 0, 1, "b");
  EXPECT_EQ(assigned_[first].size(), 3u) << "nobody knows how long those of another experiment take";
  const int second = Join("n2", "P1", 0, absl::Minutes(60));
  Ready(second);
  EXPECT_EQ(assigned_[second], std::vector<int>{3});
}

TEST_F(TrainingServiceTest, ATrialForWhichNoJobIsLongEnoughGoesOnFromItsCheckpoints) {
  StartService(0, /*open=*/true);
  const int forever = Join("n1", "P1");
  Ready(forever);
  SubmitFor("P1", 0, 1);
  scheduler().advance_time(std::chrono::minutes(120));
  Ended("a", 1);
  const int brief = Join("n2", "P1", 0, absl::Minutes(60));
  Ready(brief);
  SubmitFor("P1", 0, 2);
  EXPECT_EQ(assigned_[brief], std::vector<int>{2});
}

TEST_F(TrainingServiceTest, ADiscoveryBeginsBesideDevicesThatTrain) {
  std::vector<v1::Device> devices(2);
  devices[1].set_prepares(true);
  StartWith(devices, /*open=*/true);
  Ready(0);
  Ready(1, /*warm=*/false);
  Discover();
  EXPECT_EQ(discoveries_, std::vector<int>{0}) << "its process is warm for the trials";
  Ready(0);
  Submit("a", 1);
  Submit("a", 2);
  discovered_.reset();
  Discover("b");
  EXPECT_EQ(discoveries_, (std::vector<int>{0, 1}));
  EXPECT_TRUE(discovered_.value().ok());
  Ready(1);
  EXPECT_EQ(assigned_[0], std::vector<int>{1});
  EXPECT_TRUE(assigned_[1].empty()) << "a trial waits for a device";
  EXPECT_EQ(WaitingFor("a"), "");
  // Nobody counts it.
  EXPECT_EQ(CountDevices(), 1);
  Want("a");
  EXPECT_EQ(shares_["a"], 1);
  EXPECT_EQ(Expect(0, ""), 1);
  int64_t devices_counted = 0;
  for (const DeviceUse use : {DeviceUse::kIdle, DeviceUse::kBusy, DeviceUse::kHeld, DeviceUse::kDown}) {
    devices_counted += telemetry_->devices[use].value();
  }
  EXPECT_EQ(devices_counted, 1);
}

TEST_F(TrainingServiceTest, APlaceKeepsNoPoolAlive) {
  std::vector<v1::Device> devices(2);
  devices[1].set_prepares(true);
  StartWith(devices, /*open=*/false);
  Ready(1);
  Submit("a", 1);
  for (int i = 0; i < 4; ++i) {
    Kill(0);
    RunDelayed();
  }
  ASSERT_EQ(events_.size(), 1u) << "its only device is given up";
  EXPECT_EQ(events_[0].ended().outcome(), v1::ModelEnded::LOST);
  Discover();
  EXPECT_FALSE(discovered_.value().ok());
}

TEST_F(TrainingServiceTest, ADiscoveryThatIsLostWithItsNodeGoesToAnotherNodesPlace) {
  StartService(0, /*open=*/true);
  JoinBusy();
  const int first = JoinPlace("n");
  answers_ = false;
  Discover();
  EXPECT_EQ(discoveries_, std::vector<int>{first});
  answers_ = true;
  const int second = JoinPlace("m");
  EXPECT_EQ(discoveries_.size(), 1u);
  Leave(first);
  EXPECT_EQ(discoveries_, (std::vector<int>{first, second}));
  EXPECT_TRUE(discovered_.value().ok());
}

TEST_F(TrainingServiceTest, PlacesOfHeldNodesAndThoseWithoutTheDataTakeNothing) {
  StartService(0, /*open=*/true);
  JoinBusy();
  const int held = JoinPlace("n", {"d"});
  Hold("n", true);
  const int without = JoinPlace("m");
  Discover("", "data://d/x.csv");
  EXPECT_TRUE(discoveries_.empty());
  Hold("n", false);
  EXPECT_EQ(discoveries_, std::vector<int>{held});
  Discover("", "/x.csv");
  EXPECT_EQ(discoveries_.back(), without);
}

TEST_F(TrainingServiceTest, WhatDoesNotRunInAPlaceIsDiscoveredOnAGpuOfItsMachine) {
  StartService(0, /*open=*/true);
  const int gpu = JoinBusy();
  const int place = JoinPlace("n");
  tries_failed_ = true;
  Discover();
  EXPECT_EQ(discoveries_, std::vector<int>{place});
  EXPECT_FALSE(discovered_.has_value());
  Ready(place);
  EXPECT_EQ(discoveries_.size(), 1u) << "the place cannot do it";
  Ended("a", 1);
  Ready(gpu);
  EXPECT_EQ(discoveries_, (std::vector<int>{place, gpu}));
  EXPECT_TRUE(discovered_.value().ok()) << "the device has the last word";
}

TEST_F(TrainingServiceTest, WithoutGpusTheWordOfAPlaceStands) {
  std::vector<v1::Device> devices(2);
  devices[1].set_prepares(true);
  StartWith(devices, /*open=*/true);
  Ready(1);
  tries_failed_ = true;
  Discover();
  EXPECT_EQ(discoveries_, std::vector<int>{1});
  EXPECT_TRUE(discovered_.value().ok());
  // But what trains may have taken its memory.
  Ready(1);
  discovered_.reset();
  out_of_memory_ = true;
  Discover();
  EXPECT_EQ(discoveries_.back(), 1);
  EXPECT_FALSE(discovered_.has_value());
  Ready(1);
  out_of_memory_ = false;
  Ready(0);
  EXPECT_EQ(discoveries_, (std::vector<int>{1, 1, 0}));
  EXPECT_TRUE(discovered_.value().ok());
}

TEST_F(TrainingServiceTest, AConversionGoesToThePlaceOfANodeThatRunsItsProgram) {
  std::vector<v1::Device> devices(2);
  devices[1].set_prepares(true);
  StartWith(devices, /*open=*/true);
  Ready(0);
  Ready(1);
  Ready(Join("n", "P"));
  Convert("P");
  EXPECT_TRUE(absl::IsUnavailable(discovered_.value())) << "neither a device does it nor this machine's place";
  EXPECT_THAT(std::string(discovered_->message()), HasSubstr("build id P"));
  JoinPlace("m", {}, "Q");
  Convert("P");
  EXPECT_TRUE(absl::IsUnavailable(discovered_.value()));
  const int place = JoinPlace("n", {"d"}, "P");
  Convert("P");
  EXPECT_TRUE(discovered_.value().ok());
  EXPECT_EQ(discoveries_, std::vector<int>{place});
  Ready(place);
  Convert("P", "data://d/net.graph");
  EXPECT_TRUE(discovered_.value().ok());
  Ready(place);
  Convert("P", "data://e/net.graph");
  EXPECT_TRUE(absl::IsUnavailable(discovered_.value()));
  EXPECT_THAT(std::string(discovered_->message()), HasSubstr("the data 'e'"));
  Hold("n", true);
  Convert("P");
  EXPECT_TRUE(absl::IsUnavailable(discovered_.value())) << "it is silent";
  Hold("n", false);
  Convert("");
  EXPECT_TRUE(discovered_.value().ok()) << "its program is not known";
}

TEST_F(TrainingServiceTest, AConversionWaitsForABusyPlaceAndCallsNoNodes) {
  StartService(0, /*open=*/true);
  const int place = JoinPlace("n", {}, "P");
  answers_ = false;
  Convert("P");
  Convert("P");
  EXPECT_EQ(discoveries_, std::vector<int>{place});
  EXPECT_EQ(discovered_, std::nullopt);
  EXPECT_EQ(telemetry_->discoveries_queued.value(), 1);
  EXPECT_EQ(Expect(0, ""), 0);
  // Where the last place goes, nobody waits on: neither for it nor with it.
  Leave(place);
  EXPECT_TRUE(absl::IsUnavailable(discovered_.value()));
  EXPECT_EQ(telemetry_->discoveries_queued.value(), 0);
}

TEST_F(TrainingServiceTest, AConversionThatNodesGiveBackEndsWithTheThird) {
  StartService(0, /*open=*/true);
  answers_ = false;
  std::vector<int> places;
  for (const char* const node : {"n1", "n2", "n3", "n4"}) places.push_back(JoinPlace(node, {}, "P"));
  Convert("P");
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(discovered_, std::nullopt);
    Leave(places[static_cast<size_t>(i)], absl::AbortedError("it has no room"));
  }
  EXPECT_TRUE(absl::IsUnavailable(discovered_.value())) << *discovered_;
  EXPECT_THAT(std::string(discovered_->message()), HasSubstr("it has no room"));
  places.pop_back();
  EXPECT_EQ(discoveries_, places);
}

TEST_F(TrainingServiceTest, AConversionIsWithdrawnByWhatAskedForIt) {
  StartService(0, /*open=*/true);
  JoinPlace("n", {}, "P");
  answers_ = false;
  Convert("P");
  v1::CancelExperiment cancel;
  cancel.set_experiment("request");
  cancel.set_discovery(true);
  caf::anon_send(service_, cancel);
  Run();
  EXPECT_EQ(canceled_, std::vector<int>{0}) << "its place hears so";
}

TEST_F(TrainingServiceTest, ADiscoveryWithoutAnExperimentIsWithdrawnByWhatAskedForIt) {
  StartService(0, /*open=*/true);
  v1::Discover discover;
  discover.set_asked_by("request");
  Spawn([this, discover](caf::event_based_actor* self) {
    self->request(service_, caf::infinite, discover)
        .then([](const v1::Discovered&) { ADD_FAILURE(); },
              [this](const caf::error& error) { discovered_ = FromCafError(error); });
  });
  Run();
  EXPECT_EQ(telemetry_->discoveries_queued.value(), 1);
  v1::CancelExperiment cancel;
  cancel.set_experiment("request");
  cancel.set_discovery(true);
  caf::anon_send(service_, cancel);
  Run();
  EXPECT_TRUE(absl::IsCancelled(discovered_.value()));
  EXPECT_EQ(telemetry_->discoveries_queued.value(), 0);
}

}  // namespace
}  // namespace lanista
