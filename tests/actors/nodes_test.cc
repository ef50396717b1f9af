#include "actors/nodes.h"

#include <gmock/gmock.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "caf/event_based_actor.hpp"
#include "google/protobuf/util/time_util.h"
#include "src/base/clock.h"
#include "src/base/utf8.h"
#include "src/config/labels.h"
#include "src/trial_process/event_window.h"
#include "tests/actors/actor_test.h"

namespace lanista {
namespace {

using google::protobuf::util::TimeUtil;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// A stream, whose node is the test.
struct FakeLink : NodeLink {
  void Send(v1::HeadMessage message) override {
    if (!closed.has_value()) sent.push_back(std::move(message));
  }
  void Next() override { ++handled; }
  void Close(const absl::Status& status) override {
    if (!closed.has_value()) closed = status;
  }

  // The messages that were sent since the last call, a line each.
  std::vector<std::string> Take() {
    std::vector<std::string> lines;
    for (const v1::HeadMessage& message : sent) lines.push_back(message.ShortDebugString());
    sent.clear();
    return lines;
  }

  std::vector<v1::HeadMessage> sent;
  int handled = 0;
  std::optional<absl::Status> closed;
};

std::string LabelsText(const Labels& labels) { return absl::StrJoin(labels, ", ", absl::PairFormatter("=")); }

class NodesTest : public ActorTest {
 protected:
  NodesTest() {
    service_ = Spawn([this](TrainingServiceActor::pointer self) { return FakeService(self); });
    options_.service = service_;
    options_.head = "H";
    options_.state_root = "/state";
    options_.marker_file = "/marker";
    options_.marker = "content";
    options_.remember = [this](const v1::KnownNodes& known) {
      remembered_.push_back(known.ShortDebugString());
      return remembers_;
    };
    nodes_ = Spawn(Nodes, options_);
    Run();
  }

  // Adds devices, and writes down what it is told.
  TrainingServiceActor::behavior_type FakeService(TrainingServiceActor::pointer self) {
    self->set_down_handler([this](const caf::down_msg& down) {
      kept_worker_is_down_ |= kept_worker_ != nullptr && kept_worker_.address() == down.source;
      for (auto& [number, worker] : workers_) {
        if (worker == nullptr || worker.address() != down.source) continue;
        worker = nullptr;
        said_.push_back(absl::StrCat("down ", number, ": ", std::string(FromCafError(down.reason).message())));
        down_codes_.push_back(FromCafError(down.reason).code());
      }
    });
    return {
        [this](const v1::WorkerReady& ready) {
          said_.push_back(absl::StrCat("ready ", ready.worker(), ready.warm() ? " warm" : ""));
        },
        [this](const v1::ProcessUp& up) { said_.push_back(absl::StrCat("up ", up.worker())); },
        [this](const v1::ModelEvent& event) {
          events_.push_back(event);
          said_.push_back(
              absl::StrCat("event ", event.model(), " ", event.sequence(),
                           event.has_ended() ? " " + v1::ModelEnded::Outcome_Name(event.ended().outcome()) : ""));
        },
        [this](const v1::TrialEnded& ended) { said_.push_back(absl::StrCat("ended ", ended.trial())); },
        [](const v1::TrialSpec&, const TrialOwnerActor&) {},
        [this](const v1::CancelExperiment&) { answer_->deliver(kept_); },
        [](const v1::StopModel&) {},
        [](const v1::EventsRecorded&) {},
        [](const v1::ReturningTrials&, const TrialOwnerActor&) {},
        [this, self](const v1::NodeReturned& returned, const WorkerActor& worker) -> caf::result<v1::KeptTrials> {
          returned_.push_back(returned);
          kept_worker_ = worker;
          self->monitor(worker);
          if (!hold_answer_) return kept_;
          answer_ = self->make_response_promise<v1::KeptTrials>();
          return *answer_;
        },
        [](const v1::Discover&) -> caf::result<v1::Discovered> { return v1::Discovered(); },
        [](const v1::ListDevices&) { return v1::DeviceList(); },
        [this, self](const v1::DeviceJoined& joined, const v1::NodeOffer& offer, const WorkerActor& worker) {
          const int number = static_cast<int>(workers_.size());
          workers_[number] = worker;
          ends_ = joined.ends();
          self->monitor(worker);
          said_.push_back(absl::StrCat("joined ", joined.device().node(), " ", joined.device().index(), " ",
                                       joined.program(), offer.data().empty() ? "" : " with ",
                                       absl::StrJoin(offer.data(), ","), offer.labels().empty() ? "" : " labeled ",
                                       LabelsText(LabelsOf(offer.labels()))));
          v1::DeviceAdded added;
          added.set_worker(number);
          return added;
        },
        [this](const v1::HoldNode& hold) {
          said_.push_back(
              absl::StrCat(hold.hold() ? "hold " : "release ", hold.node(), hold.leaving() ? " leaving" : ""));
        },
        [](const v1::WantDevices&, const DeviceUserActor&) {},
        [](const v1::AskWaiting&) { return v1::Waiting(); },
        [](const v1::ExpectDevices&) { return v1::DeviceDemand(); },
    };
  }

  // Gives the answer that hold_answer_ held back, in the actor: only its own actor can deliver a promise.
  void Answer() {
    caf::anon_send(options_.service, v1::CancelExperiment());
    Run();
  }

  static v1::NodeHello Hello(const std::string& name, int devices = 1, const std::string& instance = "") {
    v1::NodeHello hello;
    hello.set_protocol_version(kNodeProtocolVersion);
    hello.set_instance(instance.empty() ? "instance of " + name : instance);
    hello.set_name(name);
    hello.set_program("p");
    hello.set_version("1.0");
    *hello.mutable_now() = Now();
    for (int i = 0; i < devices; ++i) {
      v1::Device& device = *hello.add_devices();
      device.set_kind(v1::DeviceKind::CPU);
      device.set_index(i);
      device.set_node("some other name");
    }
    return hello;
  }

  std::shared_ptr<FakeLink> Join(const v1::NodeHello& hello) {
    auto link = std::make_shared<FakeLink>();
    v1::NodeMessage message;
    *message.mutable_hello() = hello;
    Say(link, message);
    return link;
  }
  void Say(const std::shared_ptr<FakeLink>& link, const v1::NodeMessage& message) {
    caf::anon_send(nodes_, NodeLinkPtr(link), message);
    Run();
  }
  void SayDevice(const std::shared_ptr<FakeLink>& link, int device, bool idle, bool warm = false,
                 const std::string& down_because = "") {
    v1::NodeMessage message;
    message.mutable_device()->set_device(device);
    message.mutable_device()->set_idle(idle);
    message.mutable_device()->set_warm(warm);
    message.mutable_device()->set_down_because(down_because);
    Say(link, message);
  }
  void SayEvent(const std::shared_ptr<FakeLink>& link, const std::string& assignment, int number,
                const v1::ModelEvent& event) {
    v1::NodeMessage message;
    message.mutable_news()->set_assignment(assignment);
    message.mutable_news()->set_number(number);
    *message.mutable_news()->mutable_event() = event;
    Say(link, message);
  }
  static v1::ModelEvent Report(int model, int sequence, int trial = 7) {
    v1::ModelEvent event;
    event.set_experiment("x");
    event.set_trial(trial);
    event.set_model(model);
    event.set_attempt(1);
    event.set_sequence(sequence);
    *event.mutable_time() = Now();
    event.mutable_intermediate()->set_step(sequence);
    return event;
  }
  static v1::ModelEvent Success(int model, int sequence) {
    v1::ModelEvent event = Report(model, sequence);
    event.mutable_ended()->set_outcome(v1::ModelEnded::SUCCEEDED);
    return event;
  }
  static v1::NodeMessage Ended(const std::string& assignment, int number) {
    v1::NodeMessage message;
    message.mutable_news()->set_assignment(assignment);
    message.mutable_news()->set_number(number);
    message.mutable_news()->mutable_ended()->set_experiment("x");
    message.mutable_news()->mutable_ended()->set_trial(7);
    return message;
  }

  static v1::NodeMessage Refused(const std::string& assignment) {
    v1::NodeMessage message;
    message.mutable_news()->set_assignment(assignment);
    message.mutable_news()->set_number(1);
    message.mutable_news()->set_refused("not free");
    return message;
  }

  // A node with one device, which is idle.
  std::shared_ptr<FakeLink> JoinIdle(const std::string& name = "n") {
    const std::shared_ptr<FakeLink> link = Join(Hello(name));
    SayDevice(link, 0, /*idle=*/true);
    link->Take();
    said_.clear();
    return link;
  }
  // Trial 7 with models 1 and 2, from the service to the worker.
  // All that was said of trial 7 is in the journal.
  void Recorded(const WorkerActor& worker) {
    v1::EventsRecorded recorded;
    recorded.set_experiment("x");
    recorded.set_trial(7);
    caf::anon_send(worker, recorded);
    Run();
  }
  // The node, with trial 7 of another head: models 1 and 2, of which the journal has these events.
  v1::NodeHello HelloWithTrial(bool ended = false) const {
    v1::NodeHello hello = Hello("n");
    hello.set_marker("content");
    hello.add_assignments("G/1/5");
    v1::HeldTrial& held = *hello.add_held_trials();
    held.set_assignment("G/1/5");
    held.set_experiment("x");
    held.set_trial(7);
    held.set_received(3);
    held.set_ended(ended);
    for (const int model : {1, 2}) {
      held.add_attempts()->set_model(model);
      held.mutable_attempts(model - 1)->set_attempt(1);
    }
    return hello;
  }
  // The service wants the trial, with these models, of which the journal has so many events.
  void Want(const std::map<int, int>& models) {
    v1::ReturningTrial& trial = *kept_.add_trials();
    *trial.mutable_spec() = MakeTrial("x", 7, 1);
    trial.mutable_spec()->clear_models();
    for (const auto& [model, recorded] : models) {
      *trial.mutable_spec()->add_models() = MakeModel(model);
      trial.add_recorded(recorded);
    }
  }
  void Assign(int worker = 0) {
    v1::TrialSpec spec = MakeTrial("x", 7, 1);
    *spec.add_models() = MakeModel(2);
    caf::anon_send(workers_.at(worker), spec);
    Run();
  }
  std::vector<std::string> Said() { return std::exchange(said_, {}); }

  // The node says nothing, but for a beat where `beating`.
  void Pass(int seconds, const std::string& beating = "") {
    for (int i = 0; i < seconds; ++i) {
      scheduler().advance_time(std::chrono::seconds(1));
      Run();
      if (beating.empty()) continue;
      EXPECT_TRUE(Beat(beating).ok());
    }
  }
  absl::Status Beat(const std::string& instance, const google::protobuf::Timestamp& now = Now()) {
    absl::Status status = absl::UnknownError("no answer");
    const auto done = [&status](const absl::Status& answer) { status = answer; };
    v1::BeatRequest request;
    request.set_instance(instance);
    *request.mutable_now() = now;
    caf::anon_send(nodes_, std::make_shared<Heartbeat>(request, done));
    Run();
    return status;
  }
  template <typename Answer, typename Request>
  absl::StatusOr<Answer> Ask(const Request& request) {
    absl::StatusOr<Answer> result = absl::UnknownError("no answer");
    caf::scoped_actor self(system_);
    auto handle = self->request(nodes_, caf::infinite, request);
    Run();
    handle.receive([&](const Answer& answer) { result = answer; },
                   [&](const caf::error& error) { result = FromCafError(error); });
    return result;
  }
  std::vector<std::string> Listed() {
    std::vector<std::string> lines;
    const v1::NodeList list = *Ask<v1::NodeList>(v1::ListNodesRequest());
    for (const v1::NodeStatus& node : list.nodes()) {
      lines.push_back(absl::StrCat(node.name(), " ", v1::NodeStatus::Condition_Name(node.condition()), " ", node.busy(),
                                   "/", node.devices()));
    }
    return lines;
  }

  NodesOptions options_;
  TrainingServiceActor service_;
  NodesSelf nodes_;
  std::map<int, WorkerActor> workers_;
  std::vector<std::string> said_;
  // The trials of nodes that joined, and the answer of the service, given now or later.
  std::vector<v1::NodeReturned> returned_;
  // Of the device that joined last.
  google::protobuf::Timestamp ends_;
  v1::KeptTrials kept_;
  bool hold_answer_ = false;
  std::optional<caf::typed_response_promise<v1::KeptTrials>> answer_;
  WorkerActor kept_worker_;
  bool kept_worker_is_down_ = false;
  // The lists of nodes that were remembered.
  std::vector<std::string> remembered_;
  absl::Status remembers_;
  // The codes with which workers went down.
  std::vector<absl::StatusCode> down_codes_;
  std::vector<v1::ModelEvent> events_;
};

TEST_F(NodesTest, DevicesJoinWhenTheyAreIdleAndTheirNodeIsTheName) {
  const auto link = Join(Hello("n", 2));
  EXPECT_THAT(link->Take(), ElementsAre("hello { head: \"H\" beat_interval { seconds: 2 nanos: 500000000 } "
                                        "marker_file: \"/marker\" marker: \"content\" }"));
  EXPECT_THAT(Said(), IsEmpty()) << "it has not said that they take work";
  SayDevice(link, 1, /*idle=*/true, /*warm=*/true);
  EXPECT_THAT(Said(), ElementsAre("joined n 1 p", "ready 0 warm"));
  SayDevice(link, 1, /*idle=*/true);
  EXPECT_THAT(Said(), IsEmpty()) << "it is known";
  SayDevice(link, 0, /*idle=*/true);
  EXPECT_THAT(Said(), ElementsAre("joined n 0 p", "ready 1"));
  EXPECT_EQ(link->handled, 4);
  EXPECT_THAT(Listed(), ElementsAre("n JOINED 0/2"));
}

TEST_F(NodesTest, DevicesHaveTheDataOfTheirNode) {
  v1::NodeHello hello = Hello("n");
  hello.add_data("mnist");
  hello.add_data("cifar");
  const auto link = Join(hello);
  SayDevice(link, 0, /*idle=*/true);
  EXPECT_THAT(Said(), ElementsAre("joined n 0 p with cifar,mnist", "ready 0"));
  const v1::NodeList list = *Ask<v1::NodeList>(v1::ListNodesRequest());
  EXPECT_THAT(list.nodes(0).data(), ElementsAre("cifar", "mnist"));
  // Data that trials were matched with cannot be taken back.
  hello.mutable_data()->RemoveLast();
  EXPECT_EQ(Join(hello)->closed->code(), absl::StatusCode::kInvalidArgument);

  v1::NodeHello liar = Hello("liar");
  liar.add_data("../etc");
  EXPECT_EQ(Join(liar)->closed->code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(NodesTest, DevicesHaveTheLabelsOfTheirNode) {
  v1::NodeHello hello = Hello("n");
  (*hello.mutable_labels())["rack"] = "7";
  (*hello.mutable_labels())["gpu"] = "a100";
  const auto link = Join(hello);
  SayDevice(link, 0, /*idle=*/true);
  EXPECT_THAT(Said(), ElementsAre("joined n 0 p labeled gpu=a100, rack=7", "ready 0"));
  const v1::NodeList list = *Ask<v1::NodeList>(v1::ListNodesRequest());
  EXPECT_EQ(LabelsText(LabelsOf(list.nodes(0).labels())), "gpu=a100, rack=7");
  // What was matched to trials stays so.
  (*hello.mutable_labels())["gpu"] = "t4";
  EXPECT_EQ(Join(hello)->closed->code(), absl::StatusCode::kInvalidArgument);

  for (const auto& [key, value] : {std::pair("a b", "c"), std::pair("a", "b\n[error]"), std::pair("", "b")}) {
    v1::NodeHello liar = Hello("liar");
    (*liar.mutable_labels())[key] = value;
    EXPECT_EQ(Join(liar)->closed->code(), absl::StatusCode::kInvalidArgument) << key;
  }
  v1::NodeHello liar = Hello("liar");
  for (int i = 0; i <= kMaxLabels; ++i) (*liar.mutable_labels())[absl::StrCat(i)] = "x";
  EXPECT_EQ(Join(liar)->closed->code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(NodesTest, ATrialGoesThereAndItsNewsComeBackInOrderAndOnce) {
  const auto link = JoinIdle();
  Assign();
  ASSERT_EQ(link->sent.size(), 1u);
  EXPECT_EQ(link->sent[0].assignment().trial().models_size(), 2);
  EXPECT_EQ(link->sent[0].assignment().id(), "H/1/1");
  EXPECT_THAT(Listed(), ElementsAre("n JOINED 1/1"));
  link->Take();
  SayDevice(link, 0, /*idle=*/false, /*warm=*/true);
  SayEvent(link, "H/1/1", 1, Report(1, 1));
  SayEvent(link, "H/1/1", 2, Success(1, 2));
  EXPECT_THAT(link->Take(), IsEmpty()) << "they are not in the journal yet";
  SayEvent(link, "H/1/1", 2, Success(1, 2));
  SayEvent(link, "H/1/1", 3, Success(2, 1));
  SayDevice(link, 0, /*idle=*/true);
  Say(link, Ended("H/1/1", 4));
  EXPECT_THAT(link->Take(), IsEmpty()) << "its end is not in the journal yet";
  EXPECT_THAT(Said(), ElementsAre("up 0", "event 1 1", "event 1 2 SUCCEEDED", "event 2 1 SUCCEEDED", "ended 7"));
  EXPECT_THAT(Listed(), ElementsAre("n JOINED 0/1"));
  Recorded(workers_[0]);
  EXPECT_THAT(link->Take(), ElementsAre("received { assignment: \"H/1/1\" number: 4 }"));
  SayDevice(link, 0, /*idle=*/true, /*warm=*/true);
  EXPECT_THAT(Said(), ElementsAre("ready 0 warm"));
  EXPECT_FALSE(link->closed.has_value());
}

TEST_F(NodesTest, AStartNamesItsDeviceAndAssignmentAsTheHeadKnowsThem) {
  const auto link = JoinIdle();
  Assign();
  v1::ModelEvent start = Report(1, 1);
  start.mutable_started()->mutable_device()->set_node("another");
  start.mutable_started()->set_assignment("H/9/9");
  SayEvent(link, "H/1/1", 1, start);
  ASSERT_EQ(events_.size(), 1u);
  EXPECT_EQ(events_[0].started().device().node(), "n");
  EXPECT_EQ(events_[0].started().assignment(), "H/1/1");
}

TEST_F(NodesTest, WhatIsToldToTheWorkerReachesTheNode) {
  const auto link = JoinIdle();
  Assign();
  link->Take();
  v1::StopModel stop;
  stop.set_experiment("x");
  stop.set_trial(7);
  stop.set_model(2);
  caf::anon_send(workers_[0], stop);
  caf::anon_send(workers_[0], AcknowledgementOf(Report(1, 64)));
  v1::CancelTrial cancel;
  cancel.set_experiment("x");
  cancel.set_trial(6);
  caf::anon_send(workers_[0], cancel);
  cancel.set_trial(7);
  caf::anon_send(workers_[0], cancel);
  Run();
  EXPECT_THAT(link->Take(), ElementsAre("stop { assignment: \"H/1/1\" model: 2 }",
                                        "recorded { assignment: \"H/1/1\" model: 1 attempt: 1 sequence: 64 }",
                                        "cancel { assignment: \"H/1/1\" }"));
}

TEST_F(NodesTest, WhatIsInTheJournalNeedNotBeKept) {
  const auto link = JoinIdle();
  Assign();
  link->Take();
  for (int number = 1; number <= 130; ++number) SayEvent(link, "H/1/1", number, Report(1, number));
  SayEvent(link, "H/1/1", 131, Report(2, 1));
  EXPECT_THAT(link->Take(), IsEmpty());
  caf::anon_send(workers_[0], AcknowledgementOf(Report(1, 64)));
  Run();
  EXPECT_THAT(link->Take(), ElementsAre("recorded { assignment: \"H/1/1\" model: 1 attempt: 1 sequence: 64 }",
                                        "received { assignment: \"H/1/1\" number: 64 }"));
  // A node that joins again sends everything after the last received event once more.
  v1::NodeHello hello = Hello("n");
  hello.add_assignments("H/1/1");
  EXPECT_THAT(Join(hello)->sent[0].hello().received(), ElementsAre(64));
}

TEST_F(NodesTest, ANodeWhoseReportsWaitForTheJournalIsNotRead) {
  const auto link = JoinIdle();
  Assign();
  const auto other = JoinIdle("m");
  Said();
  int number = 0;
  // Large ones are acknowledged each.
  const std::string large(1 << 20, 'x');
  const auto say = [&] {
    v1::ModelEvent event = Report(1, ++number);
    event.mutable_intermediate()->mutable_metrics()->mutable_values()->insert({large, 1});
    SayEvent(link, "H/1/1", number, event);
  };
  const auto say_until_it_is_not_read = [&] {
    for (int handled = -1; handled != link->handled && number < 1000;) {
      handled = link->handled;
      say();
    }
  };
  say_until_it_is_not_read();
  EXPECT_GE(number, 32);
  EXPECT_LT(number, 40);
  // Its beats are heard, and others are read.
  EXPECT_TRUE(Beat("instance of n").ok());
  const int others = other->handled;
  SayDevice(other, 0, /*idle=*/true);
  EXPECT_EQ(other->handled, others + 1);
  // The link is read again once some of the reports are in the journal.
  int handled = link->handled;
  caf::anon_send(workers_[0], AcknowledgementOf(Report(1, 2)));
  Run();
  EXPECT_EQ(link->handled, handled + 1);

  // The same where its trial ends here.
  say_until_it_is_not_read();
  Pass(12);
  handled = link->handled;
  v1::CancelTrial cancel;
  cancel.set_experiment("x");
  cancel.set_trial(7);
  caf::anon_send(workers_[0], cancel);
  Run();
  EXPECT_EQ(link->handled, handled + 1);
}

TEST_F(NodesTest, ADiscoveryIsAnswered) {
  const auto link = JoinIdle();
  v1::Discovered discovered;
  system_.spawn([&, worker = workers_[0]](caf::event_based_actor* self) {
    self->request(worker, caf::infinite, v1::Discover()).then([&](const v1::Discovered& answer) {
      discovered = answer;
    });
  });
  Run();
  ASSERT_TRUE(link->sent[0].assignment().has_discover());
  v1::NodeMessage message;
  message.mutable_news()->set_assignment("H/1/1");
  message.mutable_news()->set_number(1);
  message.mutable_news()->mutable_discovered()->set_program("p");
  message.mutable_news()->mutable_discovered()->set_multi_model_evaluator(true);
  Say(link, message);
  EXPECT_TRUE(discovered.multi_model_evaluator());
  EXPECT_FALSE(link->closed.has_value());
}

TEST_F(NodesTest, ADiscoveryHearsWhetherItsNodeLeftOrWasLost) {
  std::optional<absl::StatusCode> code;
  const auto discover = [&] {
    system_.spawn([&, worker = workers_.rbegin()->second](caf::event_based_actor* self) {
      self->request(worker, caf::infinite, v1::Discover())
          .then([](const v1::Discovered&) { ADD_FAILURE(); },
                [&](const caf::error& error) { code = FromCafError(error).code(); });
    });
    Run();
  };
  const auto link = JoinIdle();
  discover();
  v1::NodeMessage message;
  message.mutable_leaving();
  Say(link, message);
  EXPECT_EQ(code, absl::StatusCode::kAborted);
  JoinIdle();
  discover();
  Pass(125);
  EXPECT_EQ(code, absl::StatusCode::kUnavailable);
}

TEST_F(NodesTest, AfterALostConnectionTheRestIsSaidAndNothingTwice) {
  const auto first = JoinIdle();
  Assign();
  SayEvent(first, "H/1/1", 1, Report(1, 1));
  caf::anon_send(nodes_, NodeLinkPtr(first));
  // Messages of the service have no effect from now on.
  v1::StopModel stop;
  stop.set_experiment("x");
  stop.set_trial(7);
  stop.set_model(2);
  caf::anon_send(workers_[0], stop);
  Run();
  first->Take();
  said_.clear();

  v1::NodeHello hello = Hello("n");
  hello.add_assignments("H/1/1");
  hello.add_assignments("of another head/1/1");
  const auto second = Join(hello);
  ASSERT_EQ(second->sent.size(), 2u);
  EXPECT_THAT(second->sent[0].hello().keep(), ElementsAre("H/1/1"));
  EXPECT_THAT(second->sent[0].hello().received(), ElementsAre(0)) << "it is not in the journal yet";
  EXPECT_EQ(second->sent[1].stop().model(), 2);
  EXPECT_THAT(first->Take(), IsEmpty());
  SayEvent(second, "H/1/1", 1, Report(1, 1));
  SayEvent(second, "H/1/1", 2, Report(1, 2));
  EXPECT_THAT(Said(), ElementsAre("event 1 2"));
}

TEST_F(NodesTest, AnAssignmentThatWasLostOnTheWayIsSentAgain) {
  const auto first = JoinIdle();
  Assign();
  const auto second = Join(Hello("n"));
  EXPECT_TRUE(absl::IsAborted(*first->closed)) << "the newer stream counts";
  ASSERT_EQ(second->sent.size(), 2u);
  EXPECT_THAT(second->sent[0].hello().keep(), IsEmpty());
  EXPECT_EQ(second->sent[1].assignment().id(), "H/1/1");
  // Its device was idle: that is no news.
  SayDevice(second, 0, /*idle=*/true);
  EXPECT_THAT(Said(), IsEmpty());
  // Events that were still on their way on the old stream are ignored.
  SayEvent(first, "H/1/1", 1, Report(1, 1));
  EXPECT_THAT(Said(), IsEmpty());
  EXPECT_FALSE(second->closed.has_value());
}

TEST_F(NodesTest, ASilentNodeGetsNoWorkThenWhatItRanIsLost) {
  const auto link = JoinIdle();
  Assign();
  SayEvent(link, "H/1/1", 1, Success(1, 1));
  Said();
  Pass(9);
  EXPECT_THAT(Said(), IsEmpty());
  Pass(3);
  EXPECT_THAT(Said(), ElementsAre("hold n"));
  EXPECT_THAT(Listed(), ElementsAre("n SILENT 1/1"));
  EXPECT_EQ(options_.telemetry->nodes[NodeCondition::kJoined].value(), 0);
  EXPECT_EQ(options_.telemetry->nodes[NodeCondition::kSilent].value(), 1);
  EXPECT_TRUE(Beat("instance of n").ok());
  Run();
  EXPECT_THAT(Said(), ElementsAre("release n"));
  events_.clear();
  Pass(119);
  EXPECT_THAT(Said(), ElementsAre("hold n"));
  Pass(3);
  const std::vector<std::string> lost = Said();
  ASSERT_EQ(lost.size(), 3u) << "its devices are held until they have left";
  EXPECT_EQ(lost[0], "event 2 1 LOST");
  EXPECT_EQ(lost[1], "ended 7");
  EXPECT_THAT(lost[2], HasSubstr("nothing was heard of it for 2m"));
  EXPECT_EQ(events_[0].ended().lost_cause(), v1::ModelEnded::NODE_LOST);
  EXPECT_TRUE(absl::IsUnavailable(*link->closed));
  EXPECT_TRUE(absl::IsNotFound(Beat("instance of n")));
  EXPECT_THAT(Listed(), IsEmpty());
  EXPECT_EQ(options_.telemetry->nodes[NodeCondition::kSilent].value(), 0);
  EXPECT_EQ(options_.telemetry->nodes_lost.value(), 1u);

  // When it returns it is a new one, which is to forget what it ran.
  v1::NodeHello hello = Hello("n");
  hello.add_assignments("H/1/1");
  EXPECT_THAT(Join(hello)->sent[0].hello().keep(), IsEmpty());
}

TEST_F(NodesTest, BeatsKeepANode) {
  JoinIdle();
  Pass(300, "instance of n");
  EXPECT_EQ(options_.telemetry->nodes[NodeCondition::kJoined].value(), 1);
  EXPECT_THAT(Said(), IsEmpty());
  EXPECT_THAT(Listed(), ElementsAre("n JOINED 0/1"));
}

TEST_F(NodesTest, BeatsAlongTheStreamKeepANodeToo) {
  const auto link = JoinIdle();
  v1::NodeMessage message;
  message.mutable_beat()->set_instance("instance of n");
  *message.mutable_beat()->mutable_now() = Now();
  for (int i = 0; i < 30; ++i) {
    Pass(5);
    Say(link, message);
  }
  EXPECT_THAT(Listed(), ElementsAre("n JOINED 0/1"));
  EXPECT_FALSE(link->closed.has_value());
}

TEST_F(NodesTest, ABeatThatNobodyHearsIsAnswered) {
  JoinIdle();
  caf::anon_send_exit(nodes_, caf::exit_reason::user_shutdown);
  Run();
  EXPECT_TRUE(absl::IsUnavailable(Beat("instance of n")));
}

TEST_F(NodesTest, TimeInWhichTheHeadStoodStillDoesNotCount) {
  JoinIdle();
  scheduler().advance_time(std::chrono::hours(1));
  Run();
  EXPECT_THAT(Said(), IsEmpty());
  EXPECT_THAT(Listed(), ElementsAre("n JOINED 0/1"));
}

TEST_F(NodesTest, ANodeThatIsHeardAfterAStandstillIsForgivenNothing) {
  JoinIdle();
  // The message waited to be read for all this time.
  v1::BeatRequest beat;
  beat.set_instance("instance of n");
  caf::anon_send(nodes_, std::make_shared<Heartbeat>(beat, [](const absl::Status&) {}));
  scheduler().advance_time(std::chrono::hours(1));
  Run();
  EXPECT_THAT(Listed(), ElementsAre("n JOINED 0/1"));
  Pass(125);
  EXPECT_THAT(Listed(), IsEmpty());
}

TEST_F(NodesTest, ANodeThatLeavesBlamesNobody) {
  const auto link = JoinIdle();
  Assign();
  v1::NodeMessage message;
  SayEvent(link, "H/1/1", 1, Report(1, 1));
  Said();
  events_.clear();
  message.mutable_leaving()->set_because("SIGTERM");
  Say(link, message);
  EXPECT_THAT(Said(), ElementsAre("event 1 2 LOST", "event 2 1 LOST", "ended 7", "down 0: node n left: SIGTERM"));
  EXPECT_EQ(events_[0].ended().lost_cause(), v1::ModelEnded::NODE_LEFT);
  EXPECT_TRUE(link->closed->ok());
  EXPECT_THAT(Listed(), IsEmpty());
  EXPECT_EQ(options_.telemetry->nodes[NodeCondition::kJoined].value(), 0);
  EXPECT_EQ(options_.telemetry->nodes_lost.value(), 0u);
}

TEST_F(NodesTest, ADrainedNodeEndsItsWorkFirst) {
  const auto link = JoinIdle();
  Assign();
  link->Take();
  v1::DrainNodeRequest drain;
  drain.set_node("nobody");
  EXPECT_TRUE(absl::IsNotFound(Ask<v1::DrainNodeReply>(drain).status()));
  drain.set_node("n");
  EXPECT_TRUE(Ask<v1::DrainNodeReply>(drain).ok());
  EXPECT_THAT(Said(), ElementsAre("hold n leaving"));
  EXPECT_THAT(Listed(), ElementsAre("n DRAINING 1/1"));
  EXPECT_EQ(options_.telemetry->nodes[NodeCondition::kDraining].value(), 1);
  EXPECT_THAT(link->Take(), IsEmpty());
  SayEvent(link, "H/1/1", 1, Success(1, 1));
  SayEvent(link, "H/1/1", 2, Success(2, 1));
  link->Take();
  Say(link, Ended("H/1/1", 3));
  EXPECT_THAT(link->Take(), ElementsAre("drain { }")) << "the node waits for what is not in the journal";
  Recorded(workers_[0]);
  EXPECT_THAT(link->Take(), ElementsAre("received { assignment: \"H/1/1\" number: 3 }"));
  // The node joins again before it has received the drain.
  EXPECT_THAT(Join(Hello("n"))->Take().back(), "drain { }");
}

TEST_F(NodesTest, ADeviceWhoseTrialsAreNotInTheJournalGetsNoOther) {
  const auto link = JoinIdle();
  for (const int trial : {7, 8}) {
    caf::anon_send(workers_[0], MakeTrial("x", trial, 1));
    Run();
    const std::string id = absl::StrCat("H/1/", trial - 6);
    v1::ModelEvent end = Success(1, 1);
    end.set_trial(trial);
    SayEvent(link, id, 1, end);
    v1::NodeMessage ended = Ended(id, 2);
    ended.mutable_news()->mutable_ended()->set_trial(trial);
    Say(link, ended);
    Said();
    SayDevice(link, 0, /*idle=*/true);
    EXPECT_EQ(Said(), trial == 7 ? std::vector<std::string>{"ready 0"} : std::vector<std::string>());
  }
  // After a lost connection the node still has them.
  v1::NodeHello hello = Hello("n");
  hello.add_assignments("H/1/1");
  hello.add_assignments("H/1/2");
  const auto again = Join(hello);
  EXPECT_EQ(again->sent[0].hello().keep_size(), 2);
  SayDevice(again, 0, /*idle=*/true);
  again->Take();
  EXPECT_THAT(Said(), IsEmpty());
  Recorded(workers_[0]);
  EXPECT_THAT(again->Take(), ElementsAre("received { assignment: \"H/1/1\" number: 2 }"));
  EXPECT_THAT(Said(), ElementsAre("ready 0"));
}

TEST_F(NodesTest, ATrialOfTheHeadBeforeGoesOnWhereTheJournalEnds) {
  Want({{1, 5}, {2, 0}});
  kept_.mutable_trials(0)->add_stopped(2);
  const auto link = Join(HelloWithTrial());
  ASSERT_EQ(returned_.size(), 1u);
  EXPECT_EQ(returned_[0].node(), "n");
  EXPECT_EQ(returned_[0].trials(0).trial(), 7);
  EXPECT_THAT(link->sent.at(0).hello().keep(), ElementsAre("G/1/5"));
  EXPECT_THAT(link->sent.at(0).hello().received(), ElementsAre(3));
  link->sent.erase(link->sent.begin());
  EXPECT_THAT(link->Take(), ElementsAre("recorded { assignment: \"G/1/5\" model: 1 attempt: 1 sequence: 5 }",
                                        "stop { assignment: \"G/1/5\" model: 2 }"));
  EXPECT_THAT(Said(), ElementsAre("joined n 0 p")) << "the device is there, and busy";
  EXPECT_THAT(Listed(), ElementsAre("n JOINED 1/1"));
  // Events that the journal already has are not repeated.
  for (int sequence = 4; sequence <= 6; ++sequence) SayEvent(link, "G/1/5", sequence, Report(1, sequence));
  EXPECT_THAT(Said(), ElementsAre("event 1 6"));
  v1::StopModel stop;
  stop.set_experiment("x");
  stop.set_trial(7);
  stop.set_model(1);
  caf::anon_send(kept_worker_, stop);
  Run();
  EXPECT_THAT(link->Take(), ElementsAre("stop { assignment: \"G/1/5\" model: 1 }"));
  SayEvent(link, "G/1/5", 7, Success(1, 7));
  v1::ModelEvent stopped = Success(2, 1);
  stopped.mutable_ended()->set_outcome(v1::ModelEnded::STOPPED_EARLY);
  SayEvent(link, "G/1/5", 8, stopped);
  Say(link, Ended("G/1/5", 9));
  EXPECT_THAT(Said(), ElementsAre("event 1 7 SUCCEEDED", "event 2 1 STOPPED_EARLY", "ended 7"));
  EXPECT_THAT(link->Take(), IsEmpty());
  Recorded(kept_worker_);
  EXPECT_THAT(link->Take(), ElementsAre("received { assignment: \"G/1/5\" number: 9 }"));
  SayDevice(link, 0, /*idle=*/true);
  EXPECT_THAT(Said(), ElementsAre("ready 0"));
  EXPECT_FALSE(link->closed.has_value());
}

TEST_F(NodesTest, OfAMergedTrialOnlyTheModelsThatHaveNotEndedGoOn) {
  Want({{2, 1}});
  const auto link = Join(HelloWithTrial(/*ended=*/true));
  EXPECT_THAT(link->sent.at(0).hello().keep(), ElementsAre("G/1/5"));
  link->Take();
  // The device may do something else.
  SayDevice(link, 0, /*idle=*/true);
  EXPECT_THAT(Said(), ElementsAre("joined n 0 p", "ready 0"));
  SayEvent(link, "G/1/5", 4, Success(1, 9));
  EXPECT_THAT(Said(), IsEmpty()) << "its end is in the journal";
  SayEvent(link, "G/1/5", 5, Success(2, 2));
  Say(link, Ended("G/1/5", 6));
  EXPECT_THAT(Said(), ElementsAre("event 2 2 SUCCEEDED", "ended 7"));
  EXPECT_FALSE(link->closed.has_value());
}

TEST_F(NodesTest, WhatNobodyWantsOrAnotherFoldersHeadGaveIsNotKept) {
  EXPECT_THAT(Join(HelloWithTrial())->sent.at(0).hello().keep(), IsEmpty());
  EXPECT_THAT(Listed(), ElementsAre("n JOINED 0/1"));
  v1::NodeHello other = HelloWithTrial();
  other.set_name("m");
  other.set_instance("instance of m");
  other.set_marker("of another head");
  Want({{1, 0}, {2, 0}});
  EXPECT_THAT(Join(other)->sent.at(0).hello().keep(), IsEmpty());
  EXPECT_THAT(returned_.back().trials(), IsEmpty());
}

TEST_F(NodesTest, ATrialThatANodeSaysWhatCannotBeOfIsLost) {
  Want({{1, 0}, {2, 0}});
  v1::NodeHello hello = HelloWithTrial();
  hello.mutable_held_trials(0)->set_device(1);
  EXPECT_THAT(Join(hello)->sent.at(0).hello().keep(), IsEmpty());
  EXPECT_THAT(Said(), ElementsAre("event 1 1 LOST", "event 2 1 LOST", "ended 7"));
  EXPECT_EQ(events_[0].ended().lost_cause(), v1::ModelEnded::HEAD_ENDED);
}

TEST_F(NodesTest, ANodeWaitsUntilItIsKnownWhatGoesOn) {
  hold_answer_ = true;
  const auto link = Join(HelloWithTrial());
  EXPECT_THAT(link->Take(), IsEmpty());
  EXPECT_EQ(link->handled, 0) << "it is not read";
  EXPECT_TRUE(Join(Hello("n", 1, "another"))->closed.has_value()) << "its name is taken";
  // However long that takes, and whatever becomes of its stream.
  Pass(200);
  EXPECT_THAT(Listed(), ElementsAre("n JOINED 0/1"));
  const auto again = Join(HelloWithTrial());
  EXPECT_TRUE(absl::IsAborted(*link->closed));
  EXPECT_THAT(again->Take(), IsEmpty());
  Want({{1, 0}, {2, 0}});
  Answer();
  EXPECT_THAT(again->sent.at(0).hello().keep(), ElementsAre("G/1/5"));
  EXPECT_EQ(again->handled, 1);
  EXPECT_EQ(returned_.size(), 1u) << "it is asked for once";
}

TEST_F(NodesTest, ANodeThatGoesBeforeItIsKnownWhatGoesOnIsLost) {
  hold_answer_ = true;
  const auto link = Join(HelloWithTrial());
  caf::anon_send(nodes_, NodeLinkPtr(link));
  Pass(122);
  EXPECT_THAT(Listed(), IsEmpty());
  EXPECT_TRUE(kept_worker_is_down_) << "the service hears that they do not come back";
  Answer();
  EXPECT_THAT(Listed(), IsEmpty());
}

TEST_F(NodesTest, WhatCannotBeWrittenDownOfNodesIsWrittenLater) {
  remembers_ = absl::ResourceExhaustedError("the disk is full");
  const auto link = JoinIdle();
  Pass(2, "instance of n");
  const size_t tries = remembered_.size();
  EXPECT_GT(tries, 1u);
  remembers_ = absl::OkStatus();
  Pass(3, "instance of n");
  EXPECT_EQ(remembered_.size(), tries + 1);
  EXPECT_EQ(remembered_.back(), "nodes { name: \"n\" instance: \"instance of n\" }");
  // The last node goes.
  remembers_ = absl::ResourceExhaustedError("the disk is full");
  Pass(130);
  EXPECT_THAT(Listed(), IsEmpty());
  EXPECT_EQ(remembered_.back(), "");
  remembers_ = absl::OkStatus();
  const size_t later = remembered_.size();
  Pass(3);
  EXPECT_EQ(remembered_.size(), later + 1);
  EXPECT_EQ(remembered_.back(), "");
}

TEST_F(NodesTest, TheNextHeadLearnsWhichNodesThereAreAndWhichOfThemDrain) {
  const auto link = JoinIdle();
  Assign();
  Pass(1);
  EXPECT_THAT(remembered_, ElementsAre("nodes { name: \"n\" instance: \"instance of n\" }"));
  Pass(2, "instance of n");
  v1::DrainNodeRequest drain;
  drain.set_node("n");
  EXPECT_TRUE(Ask<v1::DrainNodeReply>(drain).ok());
  ASSERT_EQ(remembered_.size(), 2u) << "nothing else has changed";
  EXPECT_EQ(remembered_[1], "nodes { name: \"n\" instance: \"instance of n\" draining: true }");

  for (const char* const name : {"n", "m"}) {
    v1::KnownNode& known = *options_.known.add_nodes();
    known.set_name(name);
    known.set_instance(absl::StrCat("instance of ", name));
    known.set_draining(true);
  }
  nodes_ = Spawn(Nodes, options_);
  Run();
  EXPECT_EQ(Join(Hello("n"))->Take().back(), "drain { }");
  Join(Hello("m", 1, "another instance"));
  EXPECT_THAT(Listed(), ElementsAre("m JOINED 0/1", "n DRAINING 0/1"));
}

TEST_F(NodesTest, ADeviceThatIsDownLeavesAndComesBack) {
  const auto link = JoinIdle();
  Assign();
  v1::NodeMessage lost;
  lost.mutable_news()->set_assignment("H/1/1");
  lost.mutable_news()->set_number(1);
  lost.mutable_news()->set_lost("no process");
  Say(link, lost);
  EXPECT_THAT(Said(), ElementsAre("event 1 1 LOST", "event 2 1 LOST", "ended 7", "down 0: node n: no process"));
  EXPECT_EQ(events_[0].ended().lost_cause(), v1::ModelEnded::WORKER_DOWN);
  SayDevice(link, 0, /*idle=*/false, /*warm=*/false, "no process");
  EXPECT_THAT(Said(), IsEmpty());
  SayDevice(link, 0, /*idle=*/true);
  EXPECT_THAT(Said(), ElementsAre("joined n 0 p", "ready 1"));
}

TEST_F(NodesTest, OfWhatCrossedWithADeviceThatWentDownNothingIsSaidBecauseItDidNotBegin) {
  const auto link = JoinIdle();
  Assign();
  link->Take();
  SayDevice(link, 0, /*idle=*/false, /*warm=*/false, "no process");
  EXPECT_THAT(Said(), ElementsAre("down 0: node n: no process")) << "the service queues it again";
  EXPECT_EQ(down_codes_.back(), absl::StatusCode::kAborted);
  // The node has the assignment now, and refuses it: the head does not know it any more, and the node may forget it.
  Say(link, Refused("H/1/1"));
  EXPECT_THAT(link->Take(), ElementsAre("received { assignment: \"H/1/1\" number: 1 }"));
  EXPECT_FALSE(link->closed.has_value());

  // The same where the refusal comes first.
  SayDevice(link, 0, /*idle=*/true);
  Assign(1);
  Said();
  Say(link, Refused("H/1/2"));
  EXPECT_THAT(Said(), ElementsAre("down 1: node n: not free"));

  // A trial that was canceled meanwhile ends as canceled.
  SayDevice(link, 0, /*idle=*/true);
  Assign(2);
  v1::CancelTrial cancel;
  cancel.set_experiment("x");
  cancel.set_trial(7);
  caf::anon_send(workers_[2], cancel);
  Run();
  Said();
  Say(link, Refused("H/1/3"));
  EXPECT_THAT(Said(), ElementsAre("event 1 1 CANCELED", "event 2 1 CANCELED", "ended 7", "down 2: node n: not free"));
}

TEST_F(NodesTest, WorkThatIsTooLargeForTheStreamEndsAndTheStreamDoesNot) {
  const auto link = JoinIdle();
  v1::TrialSpec spec = MakeTrial("x", 7, 1);
  spec.set_log_file(std::string(64 << 20, 'x'));
  caf::anon_send(workers_[0], spec);
  Run();
  EXPECT_THAT(Said(), ElementsAre("event 1 1 FAILED", "ended 7", "ready 0"));
  EXPECT_EQ(events_[0].ended().failure().reason(), v1::Failure::EXCEPTION);
  EXPECT_THAT(events_[0].ended().failure().message(), HasSubstr("can be sent; large constants belong into"));
  EXPECT_THAT(link->Take(), IsEmpty());

  v1::Discover discover;
  discover.set_trying_failed(std::string(64 << 20, 'x'));
  v1::Discovered discovered;
  system_.spawn([&, worker = workers_[0]](caf::event_based_actor* self) {
    self->request(worker, caf::infinite, discover).then([&](const v1::Discovered& answer) { discovered = answer; });
  });
  Run();
  EXPECT_THAT(discovered.error().message(), HasSubstr("the space cannot be described to a node: it has 671"));
  EXPECT_THAT(Said(), ElementsAre("ready 0"));
  // The device is still idle.
  Assign();
  EXPECT_EQ(link->sent.size(), 1u);
  EXPECT_FALSE(link->closed.has_value());
}

TEST_F(NodesTest, NewsOfAnAssignmentThatIsNotKnownHurtNobody) {
  const auto link = JoinIdle();
  Assign();
  Said();
  link->Take();
  SayEvent(link, "H/1/99", 5, Report(1, 1));
  SayEvent(link, "of another head/1/1", 1, Success(1, 1));
  // It is not to go on.
  EXPECT_THAT(link->Take(),
              ElementsAre("received { assignment: \"H/1/99\" number: 5 }", "cancel { assignment: \"H/1/99\" }",
                          "received { assignment: \"of another head/1/1\" number: 1 }",
                          "cancel { assignment: \"of another head/1/1\" }"));
  EXPECT_THAT(Said(), IsEmpty());
  EXPECT_FALSE(link->closed.has_value());
  SayEvent(link, "H/1/1", 1, Report(1, 1));
  EXPECT_THAT(Said(), ElementsAre("event 1 1"));
}

TEST_F(NodesTest, ACanceledTrialDoesNotWaitForANodeThatIsSilent) {
  const auto link = JoinIdle();
  Assign();
  v1::CancelTrial cancel;
  cancel.set_experiment("x");
  cancel.set_trial(7);
  Pass(12);
  Said();
  caf::anon_send(workers_[0], cancel);
  Run();
  EXPECT_THAT(Said(), ElementsAre("event 1 1 CANCELED", "event 2 1 CANCELED", "ended 7"));
  // The node comes back and has ended the trial; the head already has its end.
  SayEvent(link, "H/1/1", 1, Report(1, 1));
  Say(link, Ended("H/1/1", 2));
  SayDevice(link, 0, /*idle=*/true);
  EXPECT_THAT(Said(), ElementsAre("release n", "ready 0"));
  EXPECT_FALSE(link->closed.has_value());

  // The same where it is canceled before the connection is lost.
  Assign();
  caf::anon_send(workers_[0], cancel);
  Run();
  EXPECT_THAT(Said(), IsEmpty());
  caf::anon_send(nodes_, NodeLinkPtr(link));
  Run();
  EXPECT_THAT(Said(), ElementsAre("event 1 1 CANCELED", "event 2 1 CANCELED", "ended 7"));
}

TEST_F(NodesTest, WhatWasStoppedIsNotLost) {
  JoinIdle();
  Assign();
  v1::StopModel stop;
  stop.set_experiment("x");
  stop.set_trial(7);
  stop.set_model(1);
  caf::anon_send(workers_[0], stop);
  Run();
  Pass(125);
  EXPECT_THAT(Said(), ::testing::IsSupersetOf({"event 1 1 STOPPED_EARLY", "event 2 1 LOST"}));
}

TEST_F(NodesTest, ANameBelongsToALivingNode) {
  const auto first = JoinIdle();
  const auto second = Join(Hello("n", 1, "another"));
  EXPECT_TRUE(absl::IsAlreadyExists(*second->closed)) << *second->closed;
  EXPECT_THAT(std::string(second->closed->message()), HasSubstr("--name"));
  // One that may return, or may be gone without a word: the other one is to wait.
  Pass(6);
  EXPECT_TRUE(absl::IsUnavailable(*Join(Hello("n", 1, "another"))->closed));
  EXPECT_TRUE(Beat("instance of n").ok());
  EXPECT_TRUE(absl::IsAlreadyExists(*Join(Hello("n", 1, "another"))->closed));
  caf::anon_send(nodes_, NodeLinkPtr(first));
  Run();
  EXPECT_TRUE(absl::IsUnavailable(*Join(Hello("n", 1, "another"))->closed));
  Assign();
  Pass(11);
  Said();
  EXPECT_FALSE(Join(Hello("n", 1, "another"))->closed.has_value());
  EXPECT_THAT(Said(), AllOf(Contains("event 1 1 LOST"), Not(Contains("release n"))));
  EXPECT_TRUE(absl::IsAlreadyExists(*Join(Hello("n"))->closed)) << "now it is the other one's";
  EXPECT_FALSE(Join(Hello("m", 1, "a third"))->closed.has_value());
  EXPECT_THAT(Listed(), ElementsAre("m JOINED 0/1", "n JOINED 0/1"));
}

TEST_F(NodesTest, AnotherVersionIsRefusedAndBothAreNamed) {
  v1::NodeHello hello = Hello("n");
  hello.set_protocol_version(99);
  hello.set_version("7.5");
  const auto link = Join(hello);
  EXPECT_TRUE(absl::IsFailedPrecondition(*link->closed));
  EXPECT_THAT(std::string(link->closed->message()), HasSubstr("version 99 of the protocol (Lanista 7.5)"));
  EXPECT_THAT(std::string(link->closed->message()), HasSubstr(absl::StrCat("the head version ", kNodeProtocolVersion)));
}

TEST_F(NodesTest, BadHellosAreRefused) {
  for (const std::string& name : {std::string(), std::string("a\nb"), std::string(101, 'x'), std::string(" n")}) {
    EXPECT_TRUE(absl::IsInvalidArgument(*Join(Hello(name, 1, "i"))->closed)) << name;
  }
  EXPECT_TRUE(absl::IsInvalidArgument(*Join(Hello("n", 0))->closed));
  EXPECT_TRUE(absl::IsInvalidArgument(*Join(Hello("n", kMaxDevicesOfNode + 1))->closed));
  v1::NodeHello hello = Hello("n");
  hello.clear_program();
  EXPECT_TRUE(absl::IsInvalidArgument(*Join(hello)->closed));
  hello = Hello("n");
  hello.mutable_now()->set_seconds(int64_t{1} << 60);
  EXPECT_TRUE(absl::IsInvalidArgument(*Join(hello)->closed));
  hello = Hello("n");
  for (int i = 0; i < 100; ++i) hello.add_assignments(absl::StrCat(i));
  EXPECT_TRUE(absl::IsInvalidArgument(*Join(hello)->closed));
  // A line of its own in the log, or a megabyte with each attempt.
  for (const std::string& text : {std::string("1\n[error]"), std::string(1 << 20, 'x')}) {
    hello = Hello("n");
    hello.set_version(text);
    EXPECT_TRUE(absl::IsInvalidArgument(*Join(hello)->closed));
    hello = Hello("n");
    hello.mutable_devices(0)->set_model(text);
    EXPECT_TRUE(absl::IsInvalidArgument(*Join(hello)->closed));
  }
  hello = Hello("n");
  hello.mutable_devices(0)->clear_kind();
  EXPECT_TRUE(absl::IsInvalidArgument(*Join(hello)->closed));
  hello = Hello("n");
  hello.mutable_devices(0)->set_memory_limit(-1);
  EXPECT_TRUE(absl::IsInvalidArgument(*Join(hello)->closed));
  hello = Hello("n");
  hello.mutable_devices(0)->set_index(-1);
  EXPECT_TRUE(absl::IsInvalidArgument(*Join(hello)->closed));
  EXPECT_THAT(Listed(), IsEmpty());
}

TEST_F(NodesTest, ANodeThatLiesIsSentAwayAndItsWorkRunsElsewhere) {
  const auto news = [](int number) {
    v1::NodeMessage message;
    message.mutable_news()->set_assignment("H/1/1");
    message.mutable_news()->set_number(number);
    return message;
  };
  const auto reports = [&](const v1::ModelEvent& event) {
    v1::NodeMessage message = news(1);
    *message.mutable_news()->mutable_event() = event;
    return message;
  };
  std::vector<v1::NodeMessage> lies;
  lies.push_back(reports(Report(/*model=*/3, 1)));
  lies.push_back(reports(Report(1, 1, /*trial=*/8)));
  lies.push_back(reports(Report(1, /*sequence=*/0)));
  lies.push_back(reports(Report(1, /*sequence=*/1 << 30)));
  lies.push_back(reports(v1::ModelEvent()));
  v1::ModelEvent event = Report(1, 1);
  event.set_experiment("y");
  lies.push_back(reports(event));
  event = Report(1, 1);
  event.set_attempt(2);
  lies.push_back(reports(event));
  event = Report(1, 1);
  event.clear_time();
  event.mutable_time()->set_nanos(-1);
  lies.push_back(reports(event));
  const auto ends = [&](v1::ModelEnded::Outcome outcome,
                        v1::ModelEnded::LostCause cause = v1::ModelEnded::LOST_CAUSE_UNSPECIFIED) {
    v1::ModelEvent end = Report(1, 1);
    end.mutable_ended()->set_outcome(outcome);
    end.mutable_ended()->set_lost_cause(cause);
    return reports(end);
  };
  // No outcome, one that nobody asked for, and losses that only the head can know of.
  lies.push_back(ends(v1::ModelEnded::OUTCOME_UNSPECIFIED));
  lies.push_back(ends(static_cast<v1::ModelEnded::Outcome>(99)));
  lies.push_back(ends(v1::ModelEnded::CANCELED));
  lies.push_back(ends(v1::ModelEnded::STOPPED_EARLY));
  for (const v1::ModelEnded::LostCause cause : {v1::ModelEnded::LOST_CAUSE_UNSPECIFIED, v1::ModelEnded::HEAD_ENDED,
                                                v1::ModelEnded::NODE_LOST, v1::ModelEnded::NODE_LEFT}) {
    lies.push_back(ends(v1::ModelEnded::LOST, cause));
  }
  // Left out, not what it was asked for, not at its end.
  lies.push_back(reports(Report(1, 1)));
  lies.back().mutable_news()->set_number(2);
  lies.push_back(news(1));
  lies.push_back(news(1));
  lies.back().mutable_news()->mutable_discovered();
  lies.push_back(Ended("H/1/1", 1));
  lies.emplace_back();
  *lies.emplace_back().mutable_hello() = Hello("n");
  lies.emplace_back().mutable_device()->set_device(1);
  lies.emplace_back().mutable_device()->set_device(-1);

  int worker = 0;
  for (v1::NodeMessage& lie : lies) {
    SCOPED_TRACE(lie.ShortDebugString());
    const auto link = Join(Hello("n"));
    SayDevice(link, 0, /*idle=*/true);
    // The first node has the number 1, and so on.
    const std::string id = absl::StrCat("H/", worker + 1, "/1");
    Assign(worker++);
    if (lie.has_news() && lie.news().assignment() == "H/1/1") lie.mutable_news()->set_assignment(id);
    Said();
    Say(link, lie);
    ASSERT_TRUE(link->closed.has_value());
    EXPECT_TRUE(absl::IsInvalidArgument(*link->closed)) << *link->closed;
    EXPECT_THAT(Said(), ::testing::IsSupersetOf({"event 1 1 LOST", "event 2 1 LOST", "ended 7"}));
    EXPECT_THAT(Listed(), IsEmpty());
  }
  const auto silent = std::make_shared<FakeLink>();
  Say(silent, Ended("H/1/1", 1));
  EXPECT_TRUE(absl::IsInvalidArgument(*silent->closed)) << "no hello";
}

TEST_F(NodesTest, AnEndThatWasAskedForIsBelieved) {
  const auto link = JoinIdle();
  Assign();
  v1::StopModel stop;
  stop.set_experiment("x");
  stop.set_trial(7);
  stop.set_model(1);
  caf::anon_send(workers_[0], stop);
  v1::CancelTrial cancel;
  cancel.set_experiment("x");
  cancel.set_trial(7);
  caf::anon_send(workers_[0], cancel);
  Run();
  v1::ModelEvent event = Report(1, 1);
  event.mutable_ended()->set_outcome(v1::ModelEnded::STOPPED_EARLY);
  SayEvent(link, "H/1/1", 1, event);
  event = Report(2, 1);
  event.mutable_ended()->set_outcome(v1::ModelEnded::CANCELED);
  SayEvent(link, "H/1/1", 2, event);
  EXPECT_THAT(Said(), ElementsAre("event 1 1 STOPPED_EARLY", "event 2 1 CANCELED"));
  EXPECT_FALSE(link->closed.has_value());
}

TEST_F(NodesTest, WhatANodeSaysIsCutWithinNoCharacter) {
  const auto link = JoinIdle();
  Assign();
  // Two bytes each, of which the limit would cut one.
  std::string text = "x";
  for (int i = 0; i < 1 << 16; ++i) text += "\u00e9";
  v1::ModelEvent event = Report(1, 1);
  event.mutable_ended()->set_outcome(v1::ModelEnded::FAILED);
  event.mutable_ended()->mutable_failure()->set_message(text);
  SayEvent(link, "H/1/1", 1, event);
  v1::NodeMessage message;
  message.mutable_leaving()->set_because(text);
  Say(link, message);
  ASSERT_EQ(events_.size(), 2u);
  for (const v1::ModelEvent& said : events_) {
    EXPECT_LT(said.ended().failure().message().size(), size_t{10000});
    EXPECT_TRUE(IsUtf8(said.ended().failure().message()));
  }
  v1::DrainNodeRequest drain;
  drain.set_node(text);
  const std::string refused(Ask<v1::DrainNodeReply>(drain).status().message());
  EXPECT_LT(refused.size(), size_t{10000});
  EXPECT_TRUE(IsUtf8(refused));
}

TEST_F(NodesTest, TimesOfAClockThatIsOffAreCorrected) {
  v1::NodeHello hello = Hello("n");
  const auto off = TimeUtil::MinutesToDuration(60);
  *hello.mutable_now() = Now() + off;
  const auto end = Now() + TimeUtil::MinutesToDuration(30);
  *hello.mutable_began() = Now() + off;
  *hello.mutable_ends() = end + off;
  const auto link = Join(hello);
  SayDevice(link, 0, /*idle=*/true);
  EXPECT_LT(std::abs(TimeUtil::DurationToMilliseconds(ends_ - end)), 60000) << "in half an hour, by the head's clock";
  Assign();
  v1::ModelEvent event = Report(1, 1);
  const auto real = event.time();
  *event.mutable_time() = real + off;
  SayEvent(link, "H/1/1", 1, event);
  ASSERT_EQ(events_.size(), 1u);
  const int64_t difference = TimeUtil::DurationToMilliseconds(events_[0].time() - real);
  EXPECT_LT(std::abs(difference), 60000) << "it was an hour";

  // The time that a message takes makes no difference.
  hello = Hello("m");
  const auto other = Join(hello);
  SayDevice(other, 0, /*idle=*/true);
  Assign(1);
  event = Report(1, 1);
  SayEvent(other, "H/2/1", 1, event);
  ASSERT_EQ(events_.size(), 2u);
  EXPECT_EQ(events_[1].time(), event.time());
}

TEST_F(NodesTest, ALinkThatIsSlowIsNoClockThatIsOff) {
  // The hello waited for a minute.
  v1::NodeHello hello = Hello("n");
  *hello.mutable_now() = Now() - TimeUtil::MinutesToDuration(1);
  const auto link = Join(hello);
  SayDevice(link, 0, /*idle=*/true);
  EXPECT_TRUE(Beat("instance of n", Now() - TimeUtil::SecondsToDuration(30)).ok());
  EXPECT_TRUE(Beat("instance of n").ok());
  Assign();
  const v1::ModelEvent event = Report(1, 1);
  SayEvent(link, "H/1/1", 1, event);
  ASSERT_EQ(events_.size(), 1u);
  EXPECT_EQ(events_[0].time(), event.time());
}

TEST_F(NodesTest, ThereIsAnEndToHowManyMayJoin) {
  for (size_t i = 0; i < kMaxNodes; ++i) {
    ASSERT_FALSE(Join(Hello(absl::StrCat("n", i)))->closed.has_value());
  }
  EXPECT_TRUE(absl::IsResourceExhausted(*Join(Hello("one more"))->closed));
}

TEST_F(NodesTest, OfWorkForANodeThatHasLeftNothingIsSaid) {
  const auto link = JoinIdle();
  v1::NodeMessage message;
  message.mutable_leaving();
  // The service has sent a trial, and does not know yet.
  caf::anon_send(nodes_, NodeLinkPtr(link), message);
  caf::anon_send(nodes_, 1, 0, 1, MakeTrial("x", 7, 1));
  Run();
  EXPECT_THAT(Said(), ElementsAre("down 0: node n left: ")) << "by which the service knows that it did not begin";
}

TEST_F(NodesTest, WorkForAWorkerThatWasReplacedDoesNotBegin) {
  const auto link = JoinIdle();
  SayDevice(link, 0, /*idle=*/false, /*warm=*/false, "no process");
  SayDevice(link, 0, /*idle=*/true);
  Assign(1);
  EXPECT_THAT(link->Take(), ElementsAre(HasSubstr("assignment { id: \"H/1/1\"")));
  Said();
  // The service has sent this to the first one before it saw that go.
  caf::anon_send(nodes_, 1, 0, 1, MakeTrial("x", 8, 1));
  Run();
  EXPECT_THAT(link->Take(), IsEmpty());
  EXPECT_THAT(Said(), IsEmpty());
  SayEvent(link, "H/1/1", 1, Success(1, 1));
  EXPECT_THAT(Said(), ElementsAre("event 1 1 SUCCEEDED")) << "the second one's work goes on";
}

TEST_F(NodesTest, NoWorkIsForgottenForAnother) {
  const auto link = JoinIdle();
  Assign();
  caf::anon_send(workers_[0], MakeTrial("x", 8, 1));
  Run();
  EXPECT_THAT(Said(), ElementsAre(HasSubstr("down 0: node n: "))) << "by which the service queues it again";
  EXPECT_EQ(down_codes_.back(), absl::StatusCode::kAborted);
}

TEST_F(NodesTest, ADiscoveryIsCanceledByItsExperiment) {
  const auto link = JoinIdle();
  v1::Discover discover;
  discover.set_experiment("x");
  Spawn([this, discover](caf::event_based_actor* self) {
    self->request(workers_[0], caf::infinite, discover).then([](const v1::Discovered&) {}, [](const caf::error&) {});
  });
  Run();
  link->Take();
  v1::CancelTrial cancel;
  cancel.set_experiment("y");
  caf::anon_send(workers_[0], cancel);
  Run();
  EXPECT_THAT(link->Take(), IsEmpty());
  cancel.set_experiment("x");
  caf::anon_send(workers_[0], cancel);
  Run();
  EXPECT_THAT(link->Take(), ElementsAre("cancel { assignment: \"H/1/1\" }"));
}

TEST_F(NodesTest, WhatAnAssignmentReadsIsToldToItsNodeOnly) {
  const auto link = JoinIdle("n");
  JoinIdle("m");
  v1::TrialSpec spec = MakeTrial("x", 7, 1);
  spec.mutable_evaluator()->mutable_table()->set_path("/table.csv");
  caf::anon_send(workers_.at(0), spec);
  Run();
  v1::ListInputsRequest request;
  request.set_instance("instance of n");
  request.set_assignment("H/1/1");
  const auto inputs = Ask<v1::AssignmentInputs>(request);
  ASSERT_TRUE(inputs.ok()) << inputs.status();
  EXPECT_EQ(inputs->experiment(), "x");
  EXPECT_THAT(inputs->paths(), ElementsAre("/table.csv"));
  for (const char* other : {"instance of m", "instance of nobody"}) {
    request.set_instance(other);
    EXPECT_TRUE(absl::IsNotFound(Ask<v1::AssignmentInputs>(request).status())) << other;
  }
  // The trial is lost now, so its inputs are nobody's.
  request.set_instance("instance of n");
  v1::NodeMessage lost;
  lost.mutable_news()->set_assignment("H/1/1");
  lost.mutable_news()->set_number(1);
  lost.mutable_news()->set_lost("down");
  Say(link, lost);
  EXPECT_TRUE(absl::IsNotFound(Ask<v1::AssignmentInputs>(request).status()));
}

TEST_F(NodesTest, WhereAnAssignmentWritesIsToldAsLongAsItMay) {
  const auto link = JoinIdle("n");
  v1::TrialSpec spec = MakeTrial("x", 7, 1);
  spec.set_log_file("/state/experiments/x/logs/trial-7.log");
  spec.set_keep_weights(true);
  spec.mutable_models(0)->set_output_folder("/state/experiments/x/trials/7");
  *spec.add_models() = MakeModel(2);
  caf::anon_send(workers_.at(0), spec);
  Run();
  v1::OutputsRequest request;
  request.set_instance("instance of n");
  request.set_assignment("H/1/1");
  auto outputs = Ask<v1::AssignmentOutputs>(request);
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_EQ(outputs->folder(), "/state/experiments/x");
  EXPECT_EQ(outputs->incoming_folder(), "/state/experiments/x/incoming");
  EXPECT_EQ(outputs->log_file(), "/state/experiments/x/logs/trial-7.log");
  ASSERT_EQ(outputs->models_size(), 2);
  EXPECT_EQ(outputs->models(0).output_folder(), "/state/experiments/x/trials/7");
  EXPECT_EQ(outputs->weights_bar().metric(), "");
  v1::WeightsBar bar;
  bar.set_metric("default");
  bar.set_value(0.5);
  options_.weights_bars->Set("x", bar);
  outputs = Ask<v1::AssignmentOutputs>(request);
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_EQ(outputs->weights_bar().value(), 0.5);
  request.set_assignment("another head/1/1");
  EXPECT_TRUE(absl::IsNotFound(Ask<v1::AssignmentOutputs>(request).status()));
  request.set_assignment("H/1/1");
  request.set_instance("instance of nobody");
  EXPECT_TRUE(absl::IsNotFound(Ask<v1::AssignmentOutputs>(request).status()));
  request.set_instance("instance of n");
  v1::CancelTrial cancel;
  cancel.set_experiment("x");
  cancel.set_trial(7);
  caf::anon_send(workers_.at(0), cancel);
  Run();
  EXPECT_TRUE(absl::IsAborted(Ask<v1::AssignmentOutputs>(request).status()));
}

TEST_F(NodesTest, AConversionReadsItsWeightsAndWritesIntoItsFolder) {
  const auto link = JoinIdle("n");
  v1::Discover discover;
  v1::Convert& convert = *discover.mutable_convert();
  convert.set_out("/state/experiments/x/incoming/7/output/1-model-1");
  convert.mutable_model()->mutable_space()->mutable_graph()->set_path("/net.graph");
  convert.mutable_model()->set_weights_file("/state/experiments/x/trials/1/weights.pt");
  std::optional<v1::Discovered> answer;
  Spawn([this, discover, &answer](caf::event_based_actor* self) {
    self->request(workers_[0], caf::infinite, discover)
        .then([&answer](const v1::Discovered& discovered) { answer = discovered; }, [](const caf::error&) {});
  });
  Run();
  EXPECT_EQ(link->sent[0].assignment().discover().convert().out(), convert.out());
  v1::ListInputsRequest inputs_request;
  inputs_request.set_instance("instance of n");
  inputs_request.set_assignment("H/1/1");
  const auto inputs = Ask<v1::AssignmentInputs>(inputs_request);
  ASSERT_TRUE(inputs.ok()) << inputs.status();
  EXPECT_EQ(inputs->experiment(), "") << "nobody keeps these weights";
  EXPECT_THAT(inputs->paths(), ElementsAre("/net.graph", "/state/experiments/x/trials/1/weights.pt"));
  EXPECT_THAT(inputs->graph_files(), ElementsAre("/net.graph"));
  v1::OutputsRequest outputs_request;
  outputs_request.set_instance("instance of n");
  outputs_request.set_assignment("H/1/1");
  const auto outputs = Ask<v1::AssignmentOutputs>(outputs_request);
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_EQ(outputs->folder(), "/state/experiments/x/incoming");
  EXPECT_EQ(outputs->incoming_folder(), "/state/experiments/x/incoming/7/incoming");
  EXPECT_EQ(outputs->log_file(), "");
  ASSERT_EQ(outputs->models_size(), 1);
  EXPECT_EQ(outputs->models(0).output_folder(), "/state/experiments/x/incoming/7/output");
  EXPECT_EQ(outputs->models(0).checkpoint_folder(), "");

  // Whoever cancels it takes nothing of it; a node that was away hears so when it is back.
  link->Take();
  caf::anon_send(nodes_, NodeLinkPtr(link));
  Run();
  caf::anon_send(workers_[0], v1::CancelTrial());
  Run();
  EXPECT_TRUE(absl::IsAborted(Ask<v1::AssignmentOutputs>(outputs_request).status()));
  v1::NodeHello hello = Hello("n");
  hello.add_assignments("H/1/1");
  const auto again = Join(hello);
  EXPECT_THAT(again->Take(), Contains("cancel { assignment: \"H/1/1\" }"));
  v1::NodeMessage message;
  message.mutable_news()->set_assignment("H/1/1");
  message.mutable_news()->set_number(1);
  message.mutable_news()->mutable_discovered()->mutable_converted()->mutable_error()->set_code(1);
  Say(again, message);
  ASSERT_TRUE(answer.has_value());
  EXPECT_TRUE(answer->has_converted());
  EXPECT_FALSE(again->closed.has_value());
}

TEST_F(NodesTest, ADiscoveryWritesNothing) {
  JoinIdle("n");
  Spawn([this](caf::event_based_actor* self) {
    self->request(workers_[0], caf::infinite, v1::Discover())
        .then([](const v1::Discovered&) {}, [](const caf::error&) {});
  });
  Run();
  v1::OutputsRequest request;
  request.set_instance("instance of n");
  request.set_assignment("H/1/1");
  EXPECT_TRUE(absl::IsNotFound(Ask<v1::AssignmentOutputs>(request).status()));
}

TEST_F(NodesTest, APlaceForPreparingWorkIsNoDevice) {
  v1::NodeHello hello = Hello("n", 2);
  hello.mutable_devices(1)->set_prepares(true);
  const auto link = Join(hello);
  SayDevice(link, 1, /*idle=*/true);
  ASSERT_EQ(workers_.size(), 1u);
  EXPECT_THAT(Listed(), ElementsAre("n JOINED 0/1"));
  v1::Discovered discovered;
  Spawn([&, worker = workers_[0]](caf::event_based_actor* self) {
    self->request(worker, caf::infinite, v1::Discover()).then([&](const v1::Discovered& answer) {
      discovered = answer;
    });
  });
  Run();
  EXPECT_THAT(Listed(), ElementsAre("n JOINED 0/1")) << "while it discovers";
  v1::NodeMessage message;
  message.mutable_news()->set_assignment("H/1/1");
  message.mutable_news()->set_number(1);
  message.mutable_news()->mutable_discovered()->set_program("p");
  Say(link, message);
  EXPECT_EQ(discovered.program(), "p");
}

TEST_F(NodesTest, ANodeHasOnePlaceAtMostBesideItsDevices) {
  v1::NodeHello hello = Hello("n", 3);
  hello.mutable_devices(1)->set_prepares(true);
  hello.mutable_devices(2)->set_prepares(true);
  EXPECT_TRUE(absl::IsInvalidArgument(*Join(hello)->closed));
  hello = Hello("n", 1);
  hello.mutable_devices(0)->set_prepares(true);
  EXPECT_TRUE(absl::IsInvalidArgument(*Join(hello)->closed)) << "a node trains";
  hello = Hello("n", 2);
  hello.mutable_devices(1)->set_prepares(true);
  hello.mutable_devices(1)->set_kind(v1::DeviceKind::GPU);
  EXPECT_TRUE(absl::IsInvalidArgument(*Join(hello)->closed));
  hello = Hello("n", kMaxDevicesOfNode + 1);
  hello.mutable_devices(kMaxDevicesOfNode)->set_prepares(true);
  EXPECT_FALSE(Join(hello)->closed.has_value());
}

}  // namespace
}  // namespace lanista
