#include "actors/node.h"

#include <gmock/gmock.h>

#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "src/base/status.h"
#include "tests/actors/actor_test.h"

namespace lanista {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A stream, whose head is the test.
struct FakeHead : HeadLink {
  void Send(v1::NodeMessage message) override { sent.push_back(std::move(message)); }
  void Close() override { closed = true; }

  // The messages that were sent since the last call, in short form.
  std::vector<std::string> Take() {
    std::vector<std::string> lines;
    for (const v1::NodeMessage& message : std::exchange(sent, {})) {
      if (message.has_hello()) {
        lines.push_back(absl::StrCat("hello ", message.hello().assignments_size()));
      } else if (message.has_news()) {
        const v1::AssignmentNews& news = message.news();
        lines.push_back(absl::StrCat(news.assignment(), " ", news.number(), " ",
                                     news.has_event()     ? absl::StrCat("event ", news.event().sequence())
                                     : news.has_ended()   ? "ended"
                                     : news.has_lost()    ? "lost " + news.lost()
                                     : news.has_refused() ? "refused " + news.refused()
                                                          : "discovered"));
      } else if (message.has_device()) {
        const v1::DeviceNews& device = message.device();
        lines.push_back(absl::StrCat("device ", device.device(), device.idle() ? " idle" : "",
                                     device.warm() ? " warm" : "",
                                     device.down_because().empty() ? "" : ": " + device.down_because()));
      } else {
        lines.push_back("leaving: " + message.leaving().because());
      }
    }
    return lines;
  }

  std::vector<v1::NodeMessage> sent;
  bool closed = false;
};

// The files that trials write; they arrive when the test says so.
struct FakeOutputs : TrialOutputs {
  struct State {
    // The requests, in short form, and their answers by model; 0 is for the files of no model.
    std::vector<std::string> asked;
    std::map<int, Done> done;
    // Of the last model.
    v1::Metrics metrics;
    bool gone = false;
  };

  explicit FakeOutputs(std::shared_ptr<State> its_state) : state(std::move(its_state)) {}
  ~FakeOutputs() override { state->gone = true; }
  void DeliverModel(const ModelEnd& end, Done done) override {
    state->asked.push_back(absl::StrCat("model ", end.model, end.weights ? " weights" : "",
                                        end.goes_on ? " goes on" : "", end.all ? " all" : ""));
    state->metrics = end.metrics;
    state->done[end.model] = std::move(done);
  }
  void DeliverRest(Done done) override {
    state->asked.push_back("rest");
    state->done[0] = std::move(done);
  }

  const std::shared_ptr<State> state;
};

// Files that come when the test says so.
struct FakeFiles : NodeFiles {
  std::unique_ptr<TrialOutputs> Follow(const v1::Assignment& assignment, const LocalWorkPtr&) override {
    if (!follows) return nullptr;
    if (assignment.has_trial()) {
      EXPECT_EQ(assignment.trial().log_file(), "/head/7.log") << "it is told as the head said it";
    }
    return std::make_unique<FakeOutputs>(outputs);
  }
  std::shared_ptr<Cancellation> Prepare(const v1::Assignment& assignment, Done prepared) override {
    asked.push_back(assignment.id());
    done = std::move(prepared);
    return cancellation = std::make_shared<Cancellation>();
  }

  bool follows = false;
  std::shared_ptr<FakeOutputs::State> outputs = std::make_shared<FakeOutputs::State>();
  std::vector<std::string> asked;
  // Of the last call.
  Done done;
  std::shared_ptr<Cancellation> cancellation;
};

class NodeTest : public ActorTest {
 protected:
  NodeTest() {
    std::ofstream(marker_file_) << "content";
    options_.hello.set_name("n");
    options_.hello.set_instance("i");
    options_.hello.add_devices();
    options_.files = &files_;
    options_.give_up_after = std::chrono::minutes(10);
    options_.spawn_worker = [this](int number, const v1::Device&, const WorkerOwnerActor& owner) {
      return SpawnWorker(number, owner);
    };
    options_.on_joined = [this] { ++joined_; };
    options_.on_end = [this](const absl::Status& status) { end_ = status; };
  }

  void Start() {
    node_ = Spawn(Node, options_);
    Run();
  }

  WorkerActor SpawnWorker(int number, const WorkerOwnerActor& owner) {
    worker_ = Spawn([this, number, owner](WorkerActor::pointer self) -> WorkerActor::behavior_type {
      v1::WorkerReady ready;
      ready.set_worker(number);
      self->send(owner, ready);
      return {[this](const v1::TrialSpec& spec) {
                log_file_ = spec.log_file();
                told_.push_back(absl::StrCat("trial ", spec.trial()));
              },
              [this](const v1::CancelTrial& cancel) { told_.push_back(absl::StrCat("cancel ", cancel.trial())); },
              [this](const v1::StopModel& stop) {
                told_.push_back(absl::StrCat("stop ", stop.trial(), " ", stop.model()));
              },
              [this](const v1::EventsRecorded& recorded) {
                // From EndConversion: only this actor can deliver the answer.
                if (recorded.experiment() == "conversion") {
                  converts_->deliver(converted_);
                  return;
                }
                told_.push_back(absl::StrCat("recorded ", recorded.trial(), " ", recorded.sequence()));
              },
              [this, self](const v1::Discover& request) -> caf::result<v1::Discovered> {
                told_.push_back(request.has_convert() ? "convert to " + request.convert().out() : "discover");
                if (!request.has_convert()) return v1::Discovered();
                converts_.emplace(self->make_response_promise<v1::Discovered>());
                return *converts_;
              }};
    });
    return worker_;
  }

  std::shared_ptr<FakeHead> Open() {
    auto link = std::make_shared<FakeHead>();
    caf::anon_send(node_, HeadLinkPtr(link));
    Run();
    return link;
  }
  void Say(const std::shared_ptr<FakeHead>& link, const v1::HeadMessage& message) {
    caf::anon_send(node_, HeadLinkPtr(link), message);
    Run();
  }
  void Welcome(const std::shared_ptr<FakeHead>& link, const std::string& keep = "", int64_t received = 0,
               const std::string& marker = "content") {
    v1::HeadMessage message;
    message.mutable_hello()->set_marker_file(marker_file_);
    message.mutable_hello()->set_marker(marker);
    if (!keep.empty()) {
      message.mutable_hello()->add_keep(keep);
      message.mutable_hello()->add_received(received);
    }
    Say(link, message);
  }
  // A head that has welcomed it.
  std::shared_ptr<FakeHead> Join(const std::string& marker = "content") {
    auto link = Open();
    Welcome(link, "", 0, marker);
    link->Take();
    return link;
  }
  // A head whose files the machine does not see.
  std::shared_ptr<FakeHead> JoinElsewhere() { return Join("something else"); }
  // The files of the last assignment are here, or will not be.
  void Prepared(absl::StatusOr<LocalWorkPtr> work) {
    std::exchange(files_.done, nullptr)(std::move(work));
    Run();
  }
  LocalWorkPtr Work() const { return std::make_shared<const LocalWork>(nullptr, work_folder_); }
  static v1::HeadMessage TrialAssignment(const std::string& id, int device = 0) {
    v1::HeadMessage message;
    message.mutable_assignment()->set_id(id);
    message.mutable_assignment()->set_device(device);
    *message.mutable_assignment()->mutable_trial() = MakeTrial("x", 7, 1);
    return message;
  }
  void SayReceived(const std::shared_ptr<FakeHead>& link, const std::string& id, int64_t number) {
    v1::HeadMessage message;
    message.mutable_received()->set_assignment(id);
    message.mutable_received()->set_number(number);
    Say(link, message);
  }
  void Close(const std::shared_ptr<FakeHead>& link, const absl::Status& status) {
    caf::anon_send(node_, HeadLinkPtr(link), StatusToProto(status));
    Run();
  }

  // The worker's trial.
  void Report(int sequence) {
    v1::ModelEvent event;
    event.set_experiment("x");
    event.set_trial(7);
    event.set_model(1);
    event.set_sequence(sequence);
    caf::anon_send(node_, event);
    Run();
  }
  void EndTrial(bool idle = true) {
    v1::TrialEnded ended;
    ended.set_experiment("x");
    ended.set_trial(7);
    caf::anon_send(node_, ended);
    v1::WorkerReady ready;
    ready.set_warm(true);
    if (idle) caf::anon_send(node_, ready);
    Run();
  }
  // A conversion on copies.
  void BeginConversion(const std::shared_ptr<FakeHead>& head) {
    files_.follows = true;
    v1::HeadMessage message;
    message.mutable_assignment()->set_id("a");
    message.mutable_assignment()->mutable_discover()->mutable_convert()->set_out("/head/output/1-model-1");
    Say(head, message);
    Prepared(Work());
    head->Take();
  }
  // The worker has done it, or could not, and is idle.
  void EndConversion(const absl::Status& status = absl::OkStatus()) {
    converted_.Clear();
    v1::Converted& converted = *converted_.mutable_converted();
    if (status.ok()) {
      converted.add_files(work_folder_ + "/output-1/1-model-1.py");
    } else {
      *converted.mutable_error() = StatusToProto(status);
    }
    v1::EventsRecorded now;
    now.set_experiment("conversion");
    caf::anon_send(worker_, now);
    Run();
    v1::WorkerReady ready;
    ready.set_warm(true);
    caf::anon_send(node_, ready);
    Run();
  }
  static v1::HeadMessage CancelOf(const std::string& id) {
    v1::HeadMessage message;
    message.mutable_cancel()->set_assignment(id);
    return message;
  }
  // The end of the worker's model.
  void ReportEnd(int sequence, v1::ModelEnded::Outcome outcome) {
    v1::ModelEvent event;
    event.set_experiment("x");
    event.set_trial(7);
    event.set_model(1);
    event.set_sequence(sequence);
    event.mutable_ended()->set_outcome(outcome);
    if (outcome == v1::ModelEnded::SUCCEEDED)
      (*event.mutable_ended()->mutable_metrics()->mutable_values())["default"] = 0.5;
    caf::anon_send(node_, event);
    Run();
  }
  // A trial on copies, whose outputs travel.
  void Begin(const std::shared_ptr<FakeHead>& head, bool keep_weights = false) {
    files_.follows = true;
    v1::HeadMessage assignment = TrialAssignment("a");
    assignment.mutable_assignment()->mutable_trial()->set_keep_weights(keep_weights);
    assignment.mutable_assignment()->mutable_trial()->set_log_file("/head/7.log");
    Say(head, assignment);
    Prepared(Work());
    head->Take();
  }
  // Says that the files of the model (0: the files of no model) have arrived, or why they will not.
  void Delivered(int model, const absl::Status& status = absl::OkStatus()) {
    files_.outputs->done.at(model)(status);
    Run();
  }
  std::vector<std::string> Told() { return std::exchange(told_, {}); }

  const std::string marker_file_ = ::testing::TempDir() + "/marker";
  const std::string work_folder_ = ::testing::TempDir() + "/work";
  FakeFiles files_;
  NodeOptions options_;
  NodeSelf node_;
  // Of the last trial.
  std::string log_file_;
  WorkerActor worker_;
  std::vector<std::string> told_;
  // The last conversion that was begun, and its answer.
  std::optional<caf::typed_response_promise<v1::Discovered>> converts_;
  v1::Discovered converted_;
  int joined_ = 0;
  std::optional<absl::Status> end_;
};

TEST_F(NodeTest, ItSaysHelloAndThenHowItsDevicesAre) {
  Start();
  const auto head = Open();
  ASSERT_EQ(head->sent.size(), 1u);
  EXPECT_EQ(head->sent[0].hello().name(), "n");
  EXPECT_GT(head->sent[0].hello().now().seconds(), 0);
  head->Take();
  EXPECT_EQ(joined_, 0);
  Welcome(head);
  EXPECT_THAT(head->Take(), ElementsAre("device 0 idle"));
  EXPECT_EQ(joined_, 1);
}

TEST_F(NodeTest, ATrialRunsAndItsNewsAreNumbered) {
  Start();
  const auto head = Join();
  Say(head, TrialAssignment("a"));
  Say(head, TrialAssignment("a"));
  EXPECT_THAT(Told(), ElementsAre("trial 7")) << "once";
  caf::anon_send(node_, v1::ProcessUp());
  Report(1);
  EndTrial();
  EXPECT_THAT(head->Take(), ElementsAre("device 0 warm", "a 1 event 1", "a 2 ended", "device 0 idle warm"));
  SayReceived(head, "a", 2);
  Say(head, TrialAssignment("b"));
  EXPECT_THAT(Told(), ElementsAre("trial 7"));
}

TEST_F(NodeTest, WhatTheHeadSaysOfAnAssignmentReachesItsWorker) {
  Start();
  const auto head = Join();
  Say(head, TrialAssignment("a"));
  v1::HeadMessage message;
  message.mutable_stop()->set_assignment("a");
  message.mutable_stop()->set_model(1);
  Say(head, message);
  message.mutable_recorded()->set_assignment("a");
  message.mutable_recorded()->set_sequence(64);
  Say(head, message);
  message.mutable_cancel()->set_assignment("a");
  Say(head, message);
  EXPECT_THAT(Told(), ElementsAre("trial 7", "stop 7 1", "recorded 7 64", "cancel 7"));
  // An assignment that the node does not have.
  message.mutable_cancel()->set_assignment("b");
  Say(head, message);
  SayReceived(head, "b", 5);
  Say(head, v1::HeadMessage());
  EXPECT_THAT(Told(), IsEmpty());
}

TEST_F(NodeTest, ADiscoveryIsAnswered) {
  Start();
  const auto head = Join();
  v1::HeadMessage message;
  message.mutable_assignment()->set_id("a");
  message.mutable_assignment()->mutable_discover();
  Say(head, message);
  EXPECT_THAT(Told(), ElementsAre("discover"));
  EXPECT_THAT(head->Take(), ElementsAre("a 1 discovered"));
}

TEST_F(NodeTest, WhatTheHeadHasNotReceivedIsSaidAgain) {
  Start();
  const auto first = Join();
  Say(first, TrialAssignment("a"));
  Report(1);
  Report(2);
  Report(3);
  Close(first, absl::UnavailableError("cut"));
  first->Take();
  Report(4);
  EndTrial();
  EXPECT_THAT(first->Take(), IsEmpty());

  const auto second = Open();
  EXPECT_THAT(second->Take(), ElementsAre("hello 1"));
  Welcome(second, "a", 2);
  EXPECT_THAT(second->Take(), ElementsAre("a 3 event 3", "a 4 event 4", "a 5 ended", "device 0 idle warm"));
  // The node announces the trial until it knows that the head has all of its events.
  Close(second, absl::UnavailableError("cut"));
  const auto third = Open();
  EXPECT_THAT(third->Take(), ElementsAre("hello 1"));
  Welcome(third, "a", 5);
  EXPECT_THAT(third->Take(), ElementsAre("device 0 idle warm"));
  EXPECT_THAT(Open()->Take(), ElementsAre("hello 0"));
}

TEST_F(NodeTest, AHeadThatTookAnothersPlaceLearnsWhatRuns) {
  Start();
  const auto first = Join();
  EXPECT_EQ(first->sent.size(), 0u);
  v1::HeadMessage assignment = TrialAssignment("a");
  *assignment.mutable_assignment()->mutable_trial()->add_models() = MakeModel(2, /*attempt=*/3);
  Say(first, assignment);
  for (int sequence = 1; sequence <= 3; ++sequence) Report(sequence);
  SayReceived(first, "a", 2);
  const auto second = Open();
  const v1::NodeHello hello = second->sent.at(0).hello();
  EXPECT_EQ(hello.marker(), "content");
  ASSERT_EQ(hello.held_trials_size(), 1);
  EXPECT_EQ(hello.held_trials(0).ShortDebugString(),
            "assignment: \"a\" experiment: \"x\" trial: 7 attempts { model: 1 attempt: 1 recorded: 2 } "
            "attempts { model: 2 attempt: 3 } received: 2");
  Welcome(second, "a", 2);
  EndTrial();
  EXPECT_TRUE(Open()->sent.at(0).hello().held_trials(0).ended());
}

TEST_F(NodeTest, WhatWasCanceledIsNotOfferedToAnotherHead) {
  Start();
  const auto first = Join();
  Say(first, TrialAssignment("a"));
  v1::HeadMessage cancel;
  cancel.mutable_cancel()->set_assignment("a");
  Say(first, cancel);
  const auto second = Open();
  EXPECT_EQ(second->sent.at(0).hello().assignments_size(), 1);
  EXPECT_EQ(second->sent.at(0).hello().held_trials_size(), 0);
}

TEST_F(NodeTest, AHeadThatDoesNotKnowAnAssignmentHasItEnded) {
  Start();
  const auto first = Join();
  Say(first, TrialAssignment("a"));
  Report(1);
  Close(first, absl::UnavailableError("gone"));
  Told();
  const auto second = Open();
  Welcome(second);
  EXPECT_THAT(Told(), ElementsAre("cancel 7"));
  second->Take();
  // Its end is nobody's business, but the device is free.
  Report(2);
  EndTrial();
  EXPECT_THAT(second->Take(), ElementsAre("device 0 idle warm"));
}

TEST_F(NodeTest, WithoutAHeadForTooLongItEnds) {
  Start();
  const auto head = Join();
  scheduler().advance_time(std::chrono::minutes(30));
  Run();
  EXPECT_FALSE(end_.has_value()) << "there is one";
  Close(head, absl::UnavailableError("gone"));
  scheduler().advance_time(std::chrono::minutes(9));
  Run();
  // One that does not welcome it is none.
  Close(Open(), absl::UnavailableError("not yet"));
  EXPECT_FALSE(end_.has_value());
  scheduler().advance_time(std::chrono::minutes(2));
  Run();
  ASSERT_TRUE(end_.has_value());
  EXPECT_TRUE(absl::IsUnavailable(*end_));
}

TEST_F(NodeTest, AHeadThatNeverComesIsNotWaitedForForEver) {
  Start();
  scheduler().advance_time(std::chrono::minutes(11));
  Run();
  ASSERT_TRUE(end_.has_value());
  EXPECT_THAT(std::string(end_->message()), HasSubstr("--give-up-after"));
}

TEST_F(NodeTest, WhatAnotherTryWouldNotChangeEndsIt) {
  Start();
  const auto head = Open();
  Close(head, absl::AbortedError("another one has the name"));
  EXPECT_FALSE(end_.has_value());
  const auto again = Open();
  Close(again, absl::AlreadyExistsError("take another name"));
  ASSERT_TRUE(end_.has_value());
  EXPECT_EQ(end_->message(), "take another name");
}

TEST_F(NodeTest, ItEndsWhatRunsBeforeItSaysThatItLeaves) {
  Start();
  const auto head = Join();
  Say(head, TrialAssignment("a"));
  v1::NodeLeaving leaving;
  leaving.set_because("SIGTERM");
  caf::anon_send(node_, leaving);
  Run();
  EXPECT_THAT(head->Take(), ElementsAre("leaving: SIGTERM"));
  EXPECT_FALSE(end_.has_value()) << "the head is to hear of it";
  Close(head, absl::OkStatus());
  ASSERT_TRUE(end_.has_value());
  EXPECT_TRUE(end_->ok());
}

TEST_F(NodeTest, AHeadThatDoesNotListenIsLeftAnyway) {
  Start();
  Join();
  caf::anon_send(node_, v1::NodeLeaving());
  Run();
  EXPECT_FALSE(end_.has_value());
  scheduler().advance_time(std::chrono::seconds(6));
  Run();
  ASSERT_TRUE(end_.has_value());
  EXPECT_TRUE(end_->ok());
}

TEST_F(NodeTest, WithoutAHeadItLeavesAtOnce) {
  Start();
  caf::anon_send(node_, v1::NodeLeaving());
  Run();
  ASSERT_TRUE(end_.has_value());
  EXPECT_TRUE(end_->ok());
}

TEST_F(NodeTest, DrainedItLeavesWhenTheHeadHasEverything) {
  Start();
  const auto head = Join();
  Say(head, TrialAssignment("a"));
  v1::HeadMessage drain;
  drain.mutable_drain();
  Say(head, drain);
  EndTrial();
  EXPECT_THAT(head->Take(), ElementsAre("a 1 ended", "device 0 idle warm"));
  SayReceived(head, "a", 1);
  EXPECT_THAT(head->Take(), ElementsAre("leaving: it was drained"));
  Close(head, absl::OkStatus());
  EXPECT_TRUE(end_.has_value());
}

TEST_F(NodeTest, DrainedItLeavesANewHeadThatWantsNothingOfIt) {
  Start();
  const auto head = Join();
  Say(head, TrialAssignment("a"));
  v1::HeadMessage drain;
  drain.mutable_drain();
  Say(head, drain);
  EndTrial();
  Close(head, absl::UnavailableError("killed"));
  const auto next = Open();
  Welcome(next);
  EXPECT_EQ(next->Take().back(), "leaving: it was drained");
}

TEST_F(NodeTest, AWorkerThatGoesDownIsReplacedAndItsTrialLost) {
  Start();
  const auto head = Join();
  Say(head, TrialAssignment("a"));
  // The first time at once.
  caf::anon_send_exit(worker_, caf::exit_reason::kill);
  Run();
  std::vector<std::string> said = head->Take();
  ASSERT_EQ(said.size(), 3u);
  EXPECT_THAT(said[0], HasSubstr("a 1 lost the worker went down"));
  EXPECT_THAT(said[1], HasSubstr("device 0: the worker went down"));
  EXPECT_EQ(said[2], "device 0 idle");
  // Then later and later, as long as no work is done.
  caf::anon_send_exit(worker_, caf::exit_reason::kill);
  Run();
  EXPECT_THAT(head->Take(), ElementsAre(HasSubstr("device 0: ")));
  Say(head, TrialAssignment("b"));
  EXPECT_THAT(head->Take(), ElementsAre(HasSubstr("b 1 refused the worker went down"))) << "it was on its way";
  scheduler().advance_time(std::chrono::seconds(1));
  Run();
  EXPECT_THAT(head->Take(), ElementsAre("device 0 idle"));
}

TEST_F(NodeTest, AnAssignmentForNoDeviceIsSentBack) {
  Start();
  const auto head = Join();
  Say(head, TrialAssignment("a", 1));
  Say(head, TrialAssignment("b", -1));
  EXPECT_THAT(head->Take(), ElementsAre(HasSubstr("a 1 refused"), HasSubstr("b 1 refused")));
  Say(head, TrialAssignment("c"));
  Say(head, TrialAssignment("d"));
  EXPECT_THAT(head->Take(), ElementsAre("d 1 refused the device is not free for this assignment"));
  EXPECT_THAT(Told(), ElementsAre("trial 7"));
}

TEST_F(NodeTest, WhereTheHeadsFilesAreNotSeenTheyComeFirst) {
  Start();
  const auto head = JoinElsewhere();
  EXPECT_EQ(joined_, 1);
  v1::HeadMessage assignment = TrialAssignment("a");
  assignment.mutable_assignment()->mutable_trial()->set_log_file("/head/7.log");
  Say(head, assignment);
  EXPECT_THAT(files_.asked, ElementsAre("a"));
  EXPECT_THAT(Told(), IsEmpty());
  Prepared(Work());
  EXPECT_THAT(Told(), ElementsAre("trial 7"));
  EXPECT_EQ(log_file_, work_folder_ + "/log");
  Report(1);
  EndTrial();
  EXPECT_THAT(head->Take(), ElementsAre("a 1 event 1", "a 2 ended", "device 0 idle warm"));
  SayReceived(head, "a", 2);
  // A head whose files it sees.
  const auto other = Join();
  Say(other, TrialAssignment("b"));
  EXPECT_THAT(Told(), ElementsAre("trial 7"));
  EXPECT_THAT(files_.asked, ElementsAre("a"));
}

TEST_F(NodeTest, WhatWasStoppedMeanwhileIsStoppedThen) {
  Start();
  const auto head = JoinElsewhere();
  Say(head, TrialAssignment("a"));
  v1::HeadMessage stop;
  stop.mutable_stop()->set_assignment("a");
  stop.mutable_stop()->set_model(1);
  Say(head, stop);
  EXPECT_THAT(Told(), IsEmpty());
  Prepared(Work());
  EXPECT_THAT(Told(), ElementsAre("trial 7", "stop 7 1"));
}

TEST_F(NodeTest, WhatWasCanceledMeanwhileDoesNotBegin) {
  Start();
  const auto head = JoinElsewhere();
  Say(head, TrialAssignment("a"));
  v1::HeadMessage cancel;
  cancel.mutable_cancel()->set_assignment("a");
  Say(head, cancel);
  EXPECT_TRUE(files_.cancellation->canceled());
  ASSERT_EQ(head->sent.size(), 3u) << "it does not wait for the end of the preparation";
  EXPECT_EQ(head->sent[0].news().event().ended().outcome(), v1::ModelEnded::CANCELED);
  EXPECT_EQ(head->sent[0].news().event().attempt(), 1);
  EXPECT_THAT(head->Take(), ElementsAre("a 1 event 1", "a 2 ended", "device 0 idle"));
  EXPECT_THAT(Told(), IsEmpty());
  // The device is free.
  const NodeFiles::Done canceled = std::move(files_.done);
  SayReceived(head, "a", 2);
  Say(head, TrialAssignment("b"));
  // However the first one ends, it is nobody's.
  canceled(Work());
  Run();
  EXPECT_THAT(Told(), IsEmpty());
  EXPECT_THAT(head->Take(), IsEmpty());
  Prepared(Work());
  EXPECT_THAT(Told(), ElementsAre("trial 7"));
}

TEST_F(NodeTest, ADiscoveryThatIsCanceledWhileItsFilesComeEnds) {
  Start();
  const auto head = JoinElsewhere();
  v1::HeadMessage discover;
  discover.mutable_assignment()->set_id("a");
  discover.mutable_assignment()->mutable_discover();
  Say(head, discover);
  v1::HeadMessage cancel;
  cancel.mutable_cancel()->set_assignment("a");
  Say(head, cancel);
  EXPECT_TRUE(files_.cancellation->canceled());
  ASSERT_EQ(head->sent.size(), 2u);
  EXPECT_EQ(StatusFromProto(head->sent[0].news().discovered().error()).code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(head->sent[1].device().idle(), true);
  Prepared(absl::CancelledError("canceled"));
  EXPECT_THAT(Told(), IsEmpty());
  // One that has begun ends by itself.
  discover.mutable_assignment()->set_id("b");
  Say(head, discover);
  Prepared(Work());
  head->Take();
  cancel.mutable_cancel()->set_assignment("b");
  Say(head, cancel);
  EXPECT_THAT(head->Take(), IsEmpty());
}

TEST_F(NodeTest, FilesThatNobodyCanReadEndTheAssignment) {
  Start();
  const auto head = JoinElsewhere();
  Say(head, TrialAssignment("a"));
  Prepared(absl::FailedPreconditionError("/data has changed"));
  ASSERT_EQ(head->sent.size(), 3u);
  const v1::ModelEnded ended = head->sent[0].news().event().ended();
  EXPECT_EQ(ended.outcome(), v1::ModelEnded::FAILED);
  EXPECT_EQ(ended.failure().reason(), v1::Failure::DATA_UNREADABLE);
  EXPECT_EQ(ended.failure().message(), "/data has changed");
  EXPECT_THAT(head->Take(), ElementsAre("a 1 event 1", "a 2 ended", "device 0 idle"));
  SayReceived(head, "a", 2);

  v1::HeadMessage discover;
  discover.mutable_assignment()->set_id("b");
  discover.mutable_assignment()->mutable_discover();
  Say(head, discover);
  Prepared(absl::FailedPreconditionError("/data has changed"));
  ASSERT_EQ(head->sent.size(), 2u);
  EXPECT_EQ(head->sent[0].news().discovered().error().message(), "/data has changed");
  EXPECT_THAT(Told(), IsEmpty());
}

TEST_F(NodeTest, WhatThisMachineCannotTakeIsRefusedAndTheDevicePauses) {
  Start();
  const auto head = JoinElsewhere();
  Say(head, TrialAssignment("a"));
  Prepared(absl::UnavailableError("the disk is full"));
  EXPECT_THAT(head->Take(), ElementsAre("a 1 refused the disk is full", "device 0: the disk is full"));
  Say(head, TrialAssignment("b"));
  EXPECT_THAT(head->Take(), ElementsAre("b 1 refused the disk is full")) << "it was on its way";
  scheduler().advance_time(std::chrono::seconds(1));
  Run();
  EXPECT_THAT(head->Take(), ElementsAre("device 0 idle"));
  // The next time it takes longer.
  for (const char* id : {"c", "d"}) {
    Say(head, TrialAssignment(id));
    Prepared(absl::UnavailableError("the disk is full"));
    head->Take();
    scheduler().advance_time(std::chrono::seconds(1));
    Run();
    EXPECT_EQ(head->Take().empty(), std::string(id) == "d");
  }
}

TEST_F(NodeTest, AWorkerThatGoesDownWhileFilesComeGivesTheAssignmentBack) {
  Start();
  const auto head = JoinElsewhere();
  Say(head, TrialAssignment("a"));
  caf::anon_send_exit(worker_, caf::exit_reason::kill);
  Run();
  EXPECT_TRUE(files_.cancellation->canceled());
  EXPECT_THAT(head->Take(), ElementsAre(HasSubstr("a 1 refused"), HasSubstr("device 0: "), "device 0 idle"));
  Prepared(Work());
  EXPECT_THAT(Told(), IsEmpty());
  EXPECT_THAT(head->Take(), IsEmpty());
}

TEST_F(NodeTest, AHeadThatIsRestartedWhileFilesComeForgetsThem) {
  Start();
  const auto first = JoinElsewhere();
  Say(first, TrialAssignment("a"));
  Close(first, absl::UnavailableError("gone"));
  const auto second = Open();
  Welcome(second, "", 0, "something else");
  EXPECT_TRUE(files_.cancellation->canceled());
  EXPECT_THAT(second->Take(), ElementsAre("hello 1", "device 0 idle"));
  Prepared(Work());
  EXPECT_THAT(Told(), IsEmpty());
  // One that knows it waits for it.
  Say(second, TrialAssignment("b"));
  Close(second, absl::UnavailableError("gone"));
  const auto third = Open();
  Welcome(third, "b", 0, "something else");
  EXPECT_FALSE(files_.cancellation->canceled());
  Prepared(Work());
  EXPECT_THAT(Told(), ElementsAre("trial 7"));
}

TEST_F(NodeTest, ANodeThatLeavesWaitsForNoFiles) {
  Start();
  const auto head = JoinElsewhere();
  Say(head, TrialAssignment("a"));
  caf::anon_send(node_, v1::NodeLeaving());
  Run();
  EXPECT_TRUE(files_.cancellation->canceled());
  Prepared(absl::CancelledError("canceled"));
  EXPECT_THAT(head->Take(), ElementsAre("leaving: it was ended"));
}

TEST_F(NodeTest, TheEndOfAModelIsSaidWhenWhatItLeftIsThere) {
  Start();
  const auto head = JoinElsewhere();
  Begin(head, /*keep_weights=*/true);
  Report(1);
  EXPECT_THAT(head->Take(), ElementsAre("a 1 event 1"));
  ReportEnd(2, v1::ModelEnded::SUCCEEDED);
  EndTrial();
  EXPECT_THAT(files_.outputs->asked, ElementsAre("model 1 weights", "rest"));
  EXPECT_EQ(files_.outputs->metrics.values().at("default"), 0.5) << "by which the head's bar is judged";
  EXPECT_THAT(head->Take(), IsEmpty()) << "nor that the device is idle";
  Delivered(1);
  EXPECT_THAT(head->Take(), ElementsAre("a 2 event 2"));
  Delivered(0);
  EXPECT_THAT(head->Take(), ElementsAre("a 3 ended", "device 0 idle warm"));
  EXPECT_TRUE(files_.outputs->gone);
}

TEST_F(NodeTest, AConversionIsAnsweredWhenItsFilesAreThere) {
  Start();
  const auto head = JoinElsewhere();
  BeginConversion(head);
  EXPECT_THAT(Told(), ElementsAre("convert to " + work_folder_ + "/output-1/1-model-1"));
  EndConversion();
  EXPECT_THAT(files_.outputs->asked, ElementsAre("model 1 all", "rest"));
  EXPECT_THAT(head->Take(), IsEmpty()) << "nor that the device is idle";
  Delivered(1);
  EXPECT_THAT(head->Take(), IsEmpty());
  Delivered(0);
  ASSERT_EQ(head->sent.size(), 2u);
  EXPECT_EQ(head->sent[0].news().discovered().converted().files_size(), 1);
  EXPECT_THAT(head->Take(), ElementsAre("a 1 discovered", "device 0 idle warm"));
  EXPECT_TRUE(files_.outputs->gone);
}

TEST_F(NodeTest, AConversionWhoseFilesDoNotArriveHasFailed) {
  Start();
  const auto head = JoinElsewhere();
  BeginConversion(head);
  EndConversion();
  Delivered(1, absl::ResourceExhaustedError("too large"));
  Delivered(0);
  ASSERT_GE(head->sent.size(), 1u);
  const v1::Converted& converted = head->sent[0].news().discovered().converted();
  EXPECT_EQ(converted.files_size(), 0);
  EXPECT_EQ(StatusFromProto(converted.error()).code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(converted.error().message(), HasSubstr("too large"));
}

TEST_F(NodeTest, AConversionWhoseInputsDoNotComeSaysSo) {
  Start();
  const auto head = JoinElsewhere();
  v1::HeadMessage message;
  message.mutable_assignment()->set_id("a");
  message.mutable_assignment()->mutable_discover()->mutable_convert()->set_out("/head/output/1-model-1");
  Say(head, message);
  Prepared(absl::FailedPreconditionError("net.graph is gone"));
  ASSERT_EQ(head->sent.size(), 2u);
  EXPECT_EQ(StatusFromProto(head->sent[0].news().discovered().converted().error()),
            absl::FailedPreconditionError("net.graph is gone"));
  EXPECT_TRUE(head->sent[1].device().idle());
  EXPECT_THAT(Told(), IsEmpty());
}

TEST_F(NodeTest, AConversionThatFailedBringsNothing) {
  Start();
  const auto head = JoinElsewhere();
  BeginConversion(head);
  EndConversion(absl::UnimplementedError("no such layer"));
  EXPECT_THAT(files_.outputs->asked, IsEmpty());
  EXPECT_THAT(head->Take(), ElementsAre("a 1 discovered", "device 0 idle warm"));
}

TEST_F(NodeTest, AConversionWritesWhereTheHeadsFilesAreSeen) {
  Start();
  const auto head = Join();
  v1::HeadMessage message;
  message.mutable_assignment()->set_id("a");
  message.mutable_assignment()->mutable_discover()->mutable_convert()->set_out("/head/output/1-model-1");
  Say(head, message);
  EXPECT_THAT(Told(), ElementsAre("convert to /head/output/1-model-1"));
  EndConversion();
  EXPECT_THAT(head->Take(), ElementsAre("a 1 discovered", "device 0 idle warm"));
}

TEST_F(NodeTest, ACanceledConversionReachesItsWorkerAndItsFilesNobody) {
  Start();
  const auto head = JoinElsewhere();
  BeginConversion(head);
  Told();
  Say(head, CancelOf("a"));
  EXPECT_THAT(Told(), ElementsAre("cancel 0"));
  EndConversion();
  EXPECT_THAT(files_.outputs->asked, ElementsAre("model 1 all", "rest"));
  Say(head, CancelOf("a"));
  EXPECT_TRUE(files_.outputs->gone);
  EXPECT_THAT(head->Take(), ElementsAre("a 1 discovered", "device 0 idle warm"));
  Delivered(1);
  Delivered(0);
  EXPECT_THAT(head->Take(), IsEmpty());
}

TEST_F(NodeTest, AModelWithoutItsWeightsHasNotSucceeded) {
  struct Case {
    absl::Status status;
    v1::ModelEnded::Outcome outcome;
  };
  for (const Case& one : {Case{absl::ResourceExhaustedError("too large"), v1::ModelEnded::FAILED},
                          Case{absl::AbortedError("canceled"), v1::ModelEnded::CANCELED},
                          Case{absl::NotFoundError("?"), v1::ModelEnded::LOST}}) {
    Start();
    const auto head = JoinElsewhere();
    Begin(head, /*keep_weights=*/true);
    ReportEnd(1, v1::ModelEnded::SUCCEEDED);
    Delivered(1, one.status);
    ASSERT_EQ(head->sent.size(), 1u);
    const v1::ModelEnded& ended = head->sent[0].news().event().ended();
    EXPECT_EQ(ended.outcome(), one.outcome) << one.status;
    EXPECT_EQ(ended.failure().message().find("too large") != std::string::npos, one.outcome == v1::ModelEnded::FAILED);
  }
}

TEST_F(NodeTest, AModelThatGoesOnElsewhereLeavesItsCheckpoint) {
  Start();
  const auto head = JoinElsewhere();
  Begin(head, /*keep_weights=*/true);
  ReportEnd(1, v1::ModelEnded::LOST);
  EXPECT_THAT(files_.outputs->asked, ElementsAre("model 1 goes on"));
}

TEST_F(NodeTest, ATrialThatWasLostIsSaidToBeWhenItsCheckpointIsThere) {
  Start();
  const auto head = JoinElsewhere();
  Begin(head);
  caf::anon_send_exit(worker_, caf::exit_reason::kill);
  Run();
  EXPECT_THAT(files_.outputs->asked, ElementsAre("rest"));
  EXPECT_THAT(head->Take(), IsEmpty()) << "nor that the device is down, or back";
  Delivered(0);
  const std::vector<std::string> said = head->Take();
  ASSERT_EQ(said.size(), 2u);
  EXPECT_THAT(said[0], HasSubstr("a 1 lost"));
  EXPECT_EQ(said[1], "device 0 idle");
}

TEST_F(NodeTest, WhatWasCanceledWaitsForNoDelivery) {
  Start();
  const auto head = JoinElsewhere();
  Begin(head, /*keep_weights=*/true);
  ReportEnd(1, v1::ModelEnded::SUCCEEDED);
  EndTrial();
  v1::HeadMessage cancel;
  cancel.mutable_cancel()->set_assignment("a");
  Say(head, cancel);
  ASSERT_GE(head->sent.size(), 1u);
  EXPECT_EQ(head->sent[0].news().event().ended().outcome(), v1::ModelEnded::CANCELED);
  EXPECT_THAT(head->Take(), ElementsAre("a 1 event 1", "a 2 ended", "device 0 idle warm"));
  EXPECT_TRUE(files_.outputs->gone);
  // Too late.
  Delivered(1);
  Delivered(0);
  EXPECT_THAT(head->Take(), IsEmpty());
}

TEST_F(NodeTest, WhatEndsAfterItWasCanceledHasNotSucceededWithoutItsWeights) {
  Start();
  const auto head = JoinElsewhere();
  Begin(head, /*keep_weights=*/true);
  v1::HeadMessage cancel;
  cancel.mutable_cancel()->set_assignment("a");
  Say(head, cancel);
  EXPECT_TRUE(files_.outputs->gone);
  ReportEnd(1, v1::ModelEnded::SUCCEEDED);
  ASSERT_EQ(head->sent.size(), 1u);
  EXPECT_EQ(head->sent[0].news().event().ended().outcome(), v1::ModelEnded::CANCELED);
}

TEST_F(NodeTest, AHeadThatForgotTheTrialGetsNothingOfIt) {
  Start();
  const auto head = JoinElsewhere();
  Begin(head);
  ReportEnd(1, v1::ModelEnded::SUCCEEDED);
  EndTrial();
  Close(head, absl::UnavailableError("restarted"));
  const auto next = Open();
  next->Take();
  Welcome(next, "", 0, "something else");
  EXPECT_THAT(next->Take(), ElementsAre("device 0 idle warm"));
  EXPECT_TRUE(files_.outputs->gone);
  Delivered(1);
  EXPECT_THAT(next->Take(), IsEmpty());
}

TEST_F(NodeTest, ANodeThatLeavesWaitsForTheLastCheckpointsButNotForEver) {
  for (const bool arrives : {true, false}) {
    end_.reset();
    files_.outputs = std::make_shared<FakeOutputs::State>();
    Start();
    const auto head = JoinElsewhere();
    Begin(head);
    v1::NodeLeaving leaving;
    leaving.set_because("SIGTERM");
    caf::anon_send(node_, leaving);
    Run();
    EXPECT_THAT(files_.outputs->asked, ElementsAre("rest"));
    EXPECT_THAT(head->Take(), IsEmpty());
    if (arrives) {
      Delivered(0);
    } else {
      scheduler().advance_time(std::chrono::seconds(11));
      Run();
    }
    EXPECT_THAT(head->Take(), ElementsAre("leaving: SIGTERM"));
    Close(head, absl::OkStatus());
    ASSERT_TRUE(end_.has_value());
    EXPECT_TRUE(end_->ok());
  }
}

}  // namespace
}  // namespace lanista
