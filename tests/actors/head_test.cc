// The head between a fake training service and a watcher, with real journals: actors on threads, as in a program.
#include "actors/head.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "actors/model_events.h"
#include "caf/actor_system.hpp"
#include "caf/actor_system_config.hpp"
#include "caf/scoped_actor.hpp"
#include "caf/typed_event_based_actor.hpp"
#include "caf/typed_response_promise.hpp"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "src/base/status.h"
#include "src/base/temporary_folder.h"
#include "src/storage/journal.h"

namespace lanista {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// Events that come on threads of the actors; the test waits for them.
class Events {
 public:
  void Add(const v1::ExperimentEvent& event) {
    const std::lock_guard<std::mutex> lock(mutex_);
    events_.push_back(event);
    changed_.notify_all();
  }
  void AddTrial(const v1::TrialSpec& trial, const TrialOwnerActor& owner) {
    const std::lock_guard<std::mutex> lock(mutex_);
    trials_.push_back(trial);
    owner_ = owner;
    changed_.notify_all();
  }

  // The first state of that kind that an experiment was in.
  v1::ExperimentEvent WaitForState(const std::string& experiment, v1::ExperimentState::State state) {
    std::unique_lock<std::mutex> lock(mutex_);
    std::optional<v1::ExperimentEvent> found;
    changed_.wait(lock, [&] {
      for (const v1::ExperimentEvent& event : events_) {
        if (event.experiment() == experiment && event.state().state() == state) found = event;
      }
      return found.has_value();
    });
    return *found;
  }
  // Waits for an event that only says that there is news.
  void WaitForNews(const std::string& experiment) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] {
      for (const v1::ExperimentEvent& event : events_) {
        if (event.experiment() == experiment && event.kind_case() == v1::ExperimentEvent::KIND_NOT_SET) return true;
      }
      return false;
    });
  }
  // The owner of the trials, once there are so many.
  TrialOwnerActor WaitForTrials(size_t count) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return trials_.size() >= count; });
    return owner_;
  }
  std::vector<v1::TrialSpec> trials() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return trials_;
  }
  // Waits for the event that an attempt has started.
  void WaitForStart(const std::string& experiment) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] {
      return std::any_of(events_.begin(), events_.end(), [&](const v1::ExperimentEvent& event) {
        return event.experiment() == experiment && event.model().has_started();
      });
    });
  }
  void AddReturning(const v1::ReturningTrials& trials) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      returning_.push_back(trials);
    }
    changed_.notify_all();
  }
  // Waits for `count` experiments that began or were resumed, and returns the trials that they want back.
  std::vector<v1::ReturningTrials> WaitForReturning(size_t count) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return returning_.size() >= count; });
    return returning_;
  }
  void AddCanceledDiscovery(const std::string& experiment) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      canceled_discoveries_.insert(experiment);
    }
    changed_.notify_all();
  }
  void WaitForCanceledDiscovery(const std::string& experiment) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return canceled_discoveries_.count(experiment) > 0; });
  }
  void AddHeldDiscovery() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      ++held_discoveries_;
    }
    changed_.notify_all();
  }
  void WaitForHeldDiscoveries(int count) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return held_discoveries_ >= count; });
  }
  int outcomes() {
    const std::lock_guard<std::mutex> lock(mutex_);
    int count = 0;
    for (const v1::ExperimentEvent& event : events_) count += event.has_outcome();
    return count;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<v1::ExperimentEvent> events_;
  std::vector<v1::TrialSpec> trials_;
  TrialOwnerActor owner_;
  std::set<std::string> canceled_discoveries_;
  std::vector<v1::ReturningTrials> returning_;
  int held_discoveries_ = 0;
};

class HeadTest : public ::testing::Test {
 protected:
  struct Config : caf::actor_system_config {
    Config() { add_message_types<caf::id_block::lanista>(); }
  };

  HeadTest() {
    // A space of three models.
    v1::Choice& choice = *discovered_.mutable_space()->add_choices();
    choice.set_label("x");
    choice.set_kind(v1::Choice::VALUE_CHOICE);
    for (int option = 0; option < 3; ++option) choice.add_candidates()->set_i(option);
    discovered_.mutable_space()->set_complete(true);

    service_ = system_.spawn([this](TrainingServiceActor::pointer self) -> TrainingServiceActor::behavior_type {
      return {[](const v1::WorkerReady&) {},
              [](const v1::ProcessUp&) {},
              [](const v1::ModelEvent&) {},
              [](const v1::TrialEnded&) {},
              [this, self](const v1::TrialSpec& trial, const TrialOwnerActor& owner) {
                events_.AddTrial(trial, owner);
                if (hold_trials_) return;
                v1::ModelEvent ended = EndedEvent(trial, trial.models(0), 0, v1::ModelEnded::SUCCEEDED);
                (*ended.mutable_ended()->mutable_metrics()->mutable_values())["default"] = 0.5;
                self->send(owner, ended);
              },
              [](const v1::StopModel&) {},
              [](const v1::EventsRecorded&) {},
              [this, self](const v1::CancelExperiment& cancel) {
                if (cancel.discovery()) return events_.AddCanceledDiscovery(cancel.experiment());
                for (const v1::TrialSpec& trial : events_.trials()) {
                  if (trial.experiment() != cancel.experiment()) continue;
                  self->send(events_.WaitForTrials(1), EndedEvent(trial, trial.models(0), 0, v1::ModelEnded::CANCELED));
                }
              },
              [this](const v1::ReturningTrials& trials, const TrialOwnerActor&) { events_.AddReturning(trials); },
              [](const v1::NodeReturned&, const WorkerActor&) { return v1::KeptTrials(); },
              [this, self](const v1::Discover&) -> caf::result<v1::Discovered> {
                ++discoveries_;
                if (nodes_have_returned_ > 0) {
                  --nodes_have_returned_;
                  return ToCafError(absl::AbortedError("its nodes have returned"));
                }
                if (lost_discoveries_ > 0) {
                  --lost_discoveries_;
                  return ToCafError(absl::UnavailableError("the worker went down: somebody killed it"));
                }
                if (!hold_discoveries_) return discovered_;
                held_discoveries_.push_back(self->make_response_promise<v1::Discovered>());
                events_.AddHeldDiscovery();
                return held_discoveries_.back();
              },
              [](const v1::ListDevices&) {
                v1::DeviceList list;
                list.add_devices();
                return list;
              },
              [](const v1::DeviceJoined&, const v1::NodeOffer&, const WorkerActor&) { return v1::DeviceAdded(); },
              [](const v1::HoldNode&) {},
              [](const v1::WantDevices&, const DeviceUserActor&) {},
              [](const v1::AskWaiting&) { return v1::Waiting(); },
              [](const v1::ExpectDevices&) { return v1::DeviceDemand(); }};
    });
    watcher_ = system_.spawn([this](WatcherActor::pointer) -> WatcherActor::behavior_type {
      return {[this](const v1::ExperimentEvent& event) { events_.Add(event); }};
    });
    absl::StatusOr<StateDir> state_dir = StateDir::Open(state_);
    EXPECT_TRUE(state_dir.ok()) << state_dir.status();
    HeadOptions options{*state_dir, service_, live_, /*served=*/true, /*max_priority=*/5, std::chrono::milliseconds(1)};
    options.telemetry = telemetry_;
    options.nodes = {"n"};
    head_ = system_.spawn<caf::detached>(Head, options);
  }
  ~HeadTest() override {
    caf::anon_send_exit(head_, caf::exit_reason::user_shutdown);
    caf::anon_send_exit(service_, caf::exit_reason::user_shutdown);
    caf::anon_send_exit(watcher_, caf::exit_reason::user_shutdown);
    EXPECT_TRUE(live_.WaitForNone(std::chrono::minutes(5)).empty()) << "all actors of experiments end with the head";
    // Held discoveries hold the head, and the head holds the journals of experiments that did not begin.
    held_discoveries_.clear();
    caf::scoped_actor(system_)->wait_for(std::exchange(head_, nullptr));
  }

  v1::ExperimentConfig Search() const {
    v1::ExperimentConfig config;
    config.set_name("search");
    config.mutable_strategy()->mutable_random();
    config.mutable_engine()->mutable_direct();
    config.mutable_evaluator()->mutable_constant();
    config.set_seed(1);
    return config;
  }

  absl::StatusOr<std::string> Submit(const v1::ExperimentConfig& config) {
    v1::SubmitExperiment submit;
    *submit.mutable_config() = config;
    return Request(submit);
  }

  absl::StatusOr<std::string> Create(const v1::ExperimentConfig& config, const std::string& request_id) {
    v1::ExperimentCreated created;
    *created.mutable_config() = config;
    created.set_request_id(request_id);
    return Request(created);
  }

  absl::StatusOr<std::string> Resume(const std::string& id) {
    v1::ResumeExperiment resume;
    resume.set_experiment(id);
    *resume.mutable_config() = Search();
    return Request(resume);
  }

  // The id that the head answers with.
  template <typename Message>
  absl::StatusOr<std::string> Request(const Message& message) {
    absl::StatusOr<std::string> id;
    caf::scoped_actor self(system_);
    self->request(head_, caf::infinite, message, watcher_)
        .receive([&](const v1::Submitted& submitted) { id = submitted.experiment(); },
                 [&](const caf::error& error) { id = FromCafError(error); });
    return id;
  }

  JournalReader Read(const std::string& id) {
    auto reader = JournalReader::Open(state_ + "/experiments/" + id);
    EXPECT_TRUE(reader.ok()) << reader.status();
    return *std::move(reader);
  }

  absl::StatusOr<v1::Validated> Validate(const v1::ExperimentConfig& config) {
    v1::ValidateExperiment validate;
    *validate.mutable_config() = config;
    absl::StatusOr<v1::Validated> answer;
    caf::scoped_actor self(system_);
    self->request(head_, caf::infinite, validate)
        .receive([&](const v1::Validated& validated) { answer = validated; },
                 [&](const caf::error& error) { answer = FromCafError(error); });
    if (answer.ok() && answer->has_error()) return StatusFromProto(answer->error());
    return answer;
  }

  bool NothingIsLeft() const {
    const std::string experiments = state_ + "/experiments";
    return !std::filesystem::exists(experiments) || std::filesystem::is_empty(experiments);
  }

  const TelemetryPtr telemetry_ = std::make_shared<Telemetry>();
  // Goes after the actors: journals are closed, and their files removed, when the last of them has gone.
  const absl::StatusOr<TemporaryFolder> folder_ = TemporaryFolder::Make();
  const std::string state_ = folder_.value().path();
  v1::Discovered discovered_;
  // Trials do not end by themselves.
  bool hold_trials_ = false;
  // How many discoveries are lost instead of answered.
  std::atomic<int> lost_discoveries_{0};
  // How many discoveries are not needed, because nodes have returned.
  std::atomic<int> nodes_have_returned_{0};
  // How many discoveries were requested.
  std::atomic<int> discoveries_{0};
  // Whether discoveries are held back.
  bool hold_discoveries_ = false;
  std::vector<caf::typed_response_promise<v1::Discovered>> held_discoveries_;
  Events events_;
  LiveActors live_;
  Config config_;
  caf::actor_system system_{config_};
  TrainingServiceActor service_;
  WatcherActor watcher_;
  HeadActor head_;
};

TEST_F(HeadTest, ValidatesWithoutRunningAnything) {
  const auto validated = Validate(Search());
  ASSERT_TRUE(validated.ok()) << validated.status();
  EXPECT_EQ(validated->space().choices(0).label(), "x");
  EXPECT_TRUE(NothingIsLeft());
  EXPECT_TRUE(events_.trials().empty());
}

TEST_F(HeadTest, WhatIsWrongIsAnAnswerAndNothingIsLeftBehind) {
  v1::ExperimentConfig config = Search();
  config.mutable_strategy()->mutable_custom()->set_name("nobody's");
  EXPECT_THAT(std::string(Validate(config).status().message()), HasSubstr("strategy"));
  EXPECT_THAT(std::string(Submit(config).status().message()), HasSubstr("nobody's"));

  discovered_.Clear();
  *discovered_.mutable_error() = StatusToProto(absl::InvalidArgumentError("no such data"));
  EXPECT_EQ(Validate(Search()).status(), absl::InvalidArgumentError("no such data"));
  EXPECT_EQ(Submit(Search()).status(), absl::InvalidArgumentError("no such data"));
  EXPECT_TRUE(NothingIsLeft());
}

TEST_F(HeadTest, RunsAnExperimentToItsEndAndItsJournalHasAll) {
  const absl::StatusOr<std::string> id = Submit(Search());
  ASSERT_TRUE(id.ok()) << id.status();
  EXPECT_EQ(events_.WaitForState(*id, v1::ExperimentState::DONE).state().reason(), "the space is exhausted");
  EXPECT_EQ(events_.outcomes(), 3);
  const v1::TrialSpec trial = events_.trials()[0];
  EXPECT_EQ(trial.experiment(), *id);
  EXPECT_TRUE(std::filesystem::equivalent(std::filesystem::path(trial.log_file()).parent_path(),
                                          state_ + "/experiments/" + *id + "/logs"));

  const auto reader = JournalReader::Open(state_ + "/experiments/" + *id);
  ASSERT_TRUE(reader.ok()) << reader.status();
  EXPECT_EQ(reader->State()->change.state(), v1::ExperimentState::DONE);
  EXPECT_EQ(reader->CountModels()->succeeded, 3);
  EXPECT_EQ(telemetry_->models_ended[v1::ModelEnded::SUCCEEDED].value(), 3u);
  EXPECT_EQ(telemetry_->experiments_ended[v1::ExperimentState::DONE].value(), 1u);
  EXPECT_GE(telemetry_->journal_records.value(), 9u) << "a model, a trial and an outcome each";
}

TEST_F(HeadTest, StopsTheExperimentThatIsNamedAndNoOther) {
  hold_trials_ = true;
  const absl::StatusOr<std::string> first = Submit(Search());
  ASSERT_TRUE(first.ok()) << first.status();
  events_.WaitForTrials(1);
  v1::StopExperiment stop;
  stop.set_experiment("another");
  caf::anon_send(head_, stop);
  stop.set_experiment(*first);
  stop.set_reason("enough");
  caf::anon_send(head_, stop);
  EXPECT_EQ(events_.WaitForState(*first, v1::ExperimentState::STOPPED).state().reason(), "enough");
}

TEST_F(HeadTest, SaysSoWhereAnExperimentDies) {
  hold_trials_ = true;
  const absl::StatusOr<std::string> id = Submit(Search());
  ASSERT_TRUE(id.ok()) << id.status();
  // Its engine, and so all of it.
  caf::anon_send_exit(events_.WaitForTrials(1), caf::exit_reason::kill);
  EXPECT_THAT(events_.WaitForState(*id, v1::ExperimentState::FAILED).state().reason(),
              HasSubstr("an internal error ended it"));
  EXPECT_EQ(telemetry_->experiments_ended[v1::ExperimentState::FAILED].value(), 1u);
  EXPECT_TRUE(Validate(Search()).ok()) << "the head goes on";
}

TEST_F(HeadTest, WhatWaitsForItsSpaceFailsWithATrainingServiceThatEndsByAnError) {
  hold_discoveries_ = true;
  const std::string id = Create(Search(), "").value();
  absl::Status status;
  std::thread validate([&] { status = Validate(Search()).status(); });
  events_.WaitForHeldDiscoveries(2);
  caf::anon_send_exit(service_, caf::exit_reason::unhandled_exception);
  validate.join();
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("an internal error ended the training service"), HasSubstr("unhandled_exception")));
  EXPECT_EQ(events_.WaitForState(id, v1::ExperimentState::FAILED).state().reason(), status.message());
  EXPECT_EQ(Read(id).State()->change.state(), v1::ExperimentState::FAILED);
  // What comes later hears the same at once.
  EXPECT_EQ(Validate(Search()).status(), status);
  const std::string later = Create(Search(), "").value();
  EXPECT_EQ(events_.WaitForState(later, v1::ExperimentState::FAILED).state().reason(), status.message());
}

TEST_F(HeadTest, AnExperimentWhoseNodesReturnWithItsTrialsGoesOnWithoutADiscovery) {
  discovered_.set_program("p");
  hold_trials_ = true;
  const std::string id = Create(Search(), "").value();
  const TrialOwnerActor owner = events_.WaitForTrials(1);
  const v1::TrialSpec trial = events_.trials()[0];
  v1::ModelEvent started = EndedEvent(trial, trial.models(0), 0, v1::ModelEnded::LOST);
  started.mutable_started()->mutable_device()->set_node("n");
  started.mutable_started()->set_assignment("H/1/2");
  caf::anon_send(owner, started);
  events_.WaitForStart(id);
  EXPECT_EQ(events_.WaitForReturning(1)[0].trials_size(), 0);
  // Only the journal is left, as after a kill.
  caf::anon_send_exit(owner, caf::exit_reason::kill);
  events_.WaitForState(id, v1::ExperimentState::FAILED);

  nodes_have_returned_ = 1;
  absl::Status status;
  // Its lock is let go of a moment after its end.
  do {
    status = Resume(id).status();
  } while (absl::IsFailedPrecondition(status));
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_EQ(discoveries_, 2) << "one in the beginning, and one that was not needed";
  const v1::ReturningTrials returning = events_.WaitForReturning(2)[1];
  ASSERT_EQ(returning.trials_size(), 1);
  EXPECT_EQ(returning.trials(0).spec().trial(), trial.trial());
  EXPECT_EQ(returning.trials(0).spec().models(0).attempt(), 1);
  EXPECT_EQ(returning.trials(0).spec().models(0).output_folder(), trial.models(0).output_folder());
  EXPECT_EQ(returning.trials(0).spec().program(), "p");
  EXPECT_EQ(returning.trials(0).recorded(0), 1);
  EXPECT_EQ(returning.trials(0).assignment(), "H/1/2");
  EXPECT_FALSE(Read(id).Attempts()->at(0).ended.has_value()) << "it is not lost";
}

TEST_F(HeadTest, WhereNothingIsKnownOfTheSpaceNodesReturnInVain) {
  nodes_have_returned_ = 1;
  const std::string id = Create(Search(), "").value();
  events_.WaitForCanceledDiscovery(id);
  EXPECT_EQ(events_.WaitForState(id, v1::ExperimentState::DONE).state().reason(), "the space is exhausted");
  EXPECT_EQ(discoveries_, 2) << "it is asked for again";
}

TEST_F(HeadTest, WhatIsCreatedIsRecordedBeforeItsSpaceIsKnown) {
  hold_discoveries_ = true;
  const absl::StatusOr<std::string> id = Create(Search(), "request 1");
  ASSERT_TRUE(id.ok()) << id.status();
  const JournalReader reader = Read(*id);
  EXPECT_EQ(reader.State()->change.state(), v1::ExperimentState::CREATED);
  EXPECT_TRUE(reader.Served().value());
  EXPECT_EQ(reader.holder(), getpid());
  EXPECT_EQ(Create(Search(), "request 1").value(), *id);
  EXPECT_NE(Create(Search(), "request 2").value(), *id);
  EXPECT_NE(Create(Search(), "").value(), Create(Search(), "").value());
  EXPECT_EQ(telemetry_->experiments[v1::ExperimentState::CREATED].value(), 4);

  // An experiment can be stopped before it begins.
  v1::StopExperiment stop;
  stop.set_experiment(*id);
  stop.set_reason("enough");
  caf::anon_send(head_, stop);
  EXPECT_EQ(events_.WaitForState(*id, v1::ExperimentState::STOPPED).state().reason(), "enough");
  EXPECT_EQ(Read(*id).State()->change.state(), v1::ExperimentState::STOPPED);
  events_.WaitForCanceledDiscovery(*id);
  EXPECT_EQ(Create(Search(), "request 1").value(), *id) << "whatever became of it";
}

TEST_F(HeadTest, WhatIsCreatedRunsToItsEnd) {
  const absl::StatusOr<std::string> id = Create(Search(), "request 1");
  ASSERT_TRUE(id.ok()) << id.status();
  EXPECT_EQ(events_.WaitForState(*id, v1::ExperimentState::DONE).state().reason(), "the space is exhausted");
  EXPECT_EQ(Read(*id).CountModels()->succeeded, 3);
  EXPECT_EQ(Read(*id).Space().value()->choices_size(), 1);
  EXPECT_TRUE(Read(*id).Served().value());
}

TEST_F(HeadTest, ItsWatchersLookAgainOnceAnExperimentThatEndedIsLetGoOf) {
  const std::string id = Create(Search(), "").value();
  events_.WaitForState(id, v1::ExperimentState::DONE);
  events_.WaitForNews(id);
  EXPECT_EQ(Read(id).holder(), std::nullopt);
}

TEST_F(HeadTest, WhatIsWrongWithACreatedExperimentIsItsEnd) {
  v1::ExperimentConfig config = Search();
  config.mutable_strategy()->mutable_custom()->set_name("nobody's");
  const absl::StatusOr<std::string> id = Create(config, "");
  ASSERT_TRUE(id.ok()) << id.status();
  const v1::ExperimentEvent end = events_.WaitForState(*id, v1::ExperimentState::FAILED);
  EXPECT_THAT(end.state().reason(), HasSubstr("nobody's"));
  const JournalReader reader = Read(*id);
  EXPECT_EQ(reader.State()->change.reason(), end.state().reason());

  // An error that is found without a trial process creates no experiment.
  v1::ExperimentConfig warm = Search();
  warm.mutable_warm_start()->set_experiment("nobody");
  EXPECT_TRUE(absl::IsNotFound(Create(warm, "").status()));

  discovered_.Clear();
  *discovered_.mutable_error() = StatusToProto(absl::InvalidArgumentError("no such data"));
  const std::string other = Create(Search(), "").value();
  EXPECT_EQ(events_.WaitForState(other, v1::ExperimentState::FAILED).state().reason(), "no such data");
  EXPECT_EQ(telemetry_->experiments_ended[v1::ExperimentState::FAILED].value(), 2u);
}

TEST_F(HeadTest, ADiscoveryThatIsLostIsTriedAgainButNotForEver) {
  lost_discoveries_ = 3;
  const std::string id = Create(Search(), "").value();
  EXPECT_EQ(events_.WaitForState(id, v1::ExperimentState::DONE).state().reason(), "the space is exhausted");
  EXPECT_EQ(discoveries_, 4);

  lost_discoveries_ = 1000;
  discoveries_ = 0;
  const std::string lost = Create(Search(), "").value();
  EXPECT_THAT(events_.WaitForState(lost, v1::ExperimentState::FAILED).state().reason(),
              HasSubstr("somebody killed it"));
  EXPECT_EQ(discoveries_, 7);
}

TEST_F(HeadTest, WhatIsToGoOnCanBeStoppedBeforeItDoes) {
  hold_trials_ = true;
  const std::string id = Create(Search(), "").value();
  events_.WaitForTrials(1);
  // Only the journal is left, as after a kill.
  caf::anon_send_exit(events_.WaitForTrials(1), caf::exit_reason::kill);
  events_.WaitForState(id, v1::ExperimentState::FAILED);
  EXPECT_EQ(Read(id).State()->change.state(), v1::ExperimentState::RUNNING);

  hold_discoveries_ = true;
  std::thread resume([&] {
    absl::Status status;
    // Its lock is let go of a moment after its end.
    do {
      status = Resume(id).status();
    } while (absl::IsFailedPrecondition(status));
    EXPECT_TRUE(absl::IsCancelled(status)) << status;
  });
  v1::StopExperiment stop;
  stop.set_experiment(id);
  stop.set_reason("enough");
  while (Read(id).State()->change.state() != v1::ExperimentState::STOPPED) caf::anon_send(head_, stop);
  resume.join();
  std::vector<v1::ExperimentState::State> states;
  const auto changes = Read(id).States();
  for (const StateRecord& state : *changes) states.push_back(state.change.state());
  EXPECT_THAT(states, ::testing::ElementsAre(v1::ExperimentState::RUNNING, v1::ExperimentState::INTERRUPTED,
                                             v1::ExperimentState::STOPPED));
}

TEST_F(HeadTest, WhatNeverBeganAndCannotGoOnHasFailed) {
  // As after a kill that came before the space was known.
  v1::ExperimentCreated created;
  *created.mutable_config() = Search();
  created.set_served(true);
  const std::string id = CreateExperiment(*StateDir::Open(state_), created, {})->id;
  *discovered_.mutable_error() = StatusToProto(absl::InvalidArgumentError("no such data"));
  EXPECT_EQ(Resume(id).status(), absl::InvalidArgumentError("no such data"));
  EXPECT_EQ(events_.WaitForState(id, v1::ExperimentState::FAILED).state().reason(), "no such data");
  EXPECT_EQ(Read(id).State()->change.reason(), "no such data");
}

TEST_F(HeadTest, WhatRanAndCannotGoOnStaysAsItWasAndItsWatchersLook) {
  v1::ExperimentCreated created;
  *created.mutable_config() = Search();
  absl::StatusOr<CreatedExperiment> made = CreateExperiment(*StateDir::Open(state_), created, {});
  v1::JournalBatch batch;
  batch.add_records()->mutable_state()->set_state(v1::ExperimentState::RUNNING);
  ASSERT_TRUE(made->held->writer->Write(batch).ok());
  made->held.reset();
  *discovered_.mutable_error() = StatusToProto(absl::InvalidArgumentError("no such data"));
  EXPECT_EQ(Resume(made->id).status(), absl::InvalidArgumentError("no such data"));
  events_.WaitForNews(made->id);
  EXPECT_EQ(Read(made->id).State()->change.state(), v1::ExperimentState::RUNNING);
  EXPECT_EQ(Read(made->id).holder(), std::nullopt) << "before they are told";
}

TEST_F(HeadTest, APriorityIsCappedAndTheJournalHasWhatWasAskedFor) {
  v1::ExperimentConfig config = Search();
  config.set_priority(9);
  const absl::StatusOr<std::string> id = Submit(config);
  ASSERT_TRUE(id.ok()) << id.status();
  events_.WaitForState(*id, v1::ExperimentState::DONE);
  EXPECT_EQ(events_.trials()[0].priority(), 5);
  EXPECT_EQ(Read(*id).experiment().config().priority(), 9);
  config.set_priority(-3);
  const size_t before = events_.trials().size();
  events_.WaitForState(Submit(config).value(), v1::ExperimentState::DONE);
  EXPECT_EQ(events_.trials()[before].priority(), -3);
}

TEST_F(HeadTest, ExperimentsEndWithTheHead) {
  hold_trials_ = true;
  ASSERT_TRUE(Submit(Search()).ok());
  events_.WaitForTrials(1);
  // The destructor waits for their actors.
}

}  // namespace
}  // namespace lanista
