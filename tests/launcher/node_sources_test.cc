#include "src/launcher/node_sources.h"

#include <chrono>
#include <condition_variable>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "actors/interfaces.h"
#include "actors/training_service.h"
#include "caf/actor_system.hpp"
#include "caf/scoped_actor.hpp"
#include "caf/send.hpp"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "src/launcher/actor_system.h"

namespace lanista {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::chrono::minutes kLong(5);

// Values that threads hand to the test.
template <typename T>
class Inbox {
 public:
  void Put(T value) {
    const std::lock_guard<std::mutex> lock(mutex_);
    values_.push_back(std::move(value));
    changed_.notify_all();
  }
  // Waits for the first value that is wanted. Those before it are dropped.
  T Take(const std::function<bool(const T&)>& wanted) {
    std::unique_lock<std::mutex> lock(mutex_);
    while (true) {
      for (; next_ < values_.size(); ++next_) {
        if (wanted(values_[next_])) return values_[next_++];
      }
      changed_.wait(lock);
    }
  }
  size_t size() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return values_.size();
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<T> values_;
  size_t next_ = 0;
};

// Has two nodes, one of which has not joined, and notes whom it is to drain.
class FakeGateway final : public NodeGateway {
 public:
  void Receive(const NodeLinkPtr&, v1::NodeMessage) override {}
  void Lost(const NodeLinkPtr&) override {}
  void Beat(const v1::BeatRequest&, std::function<void(const absl::Status&)>) override {}
  void Inputs(const v1::ListInputsRequest&, std::function<void(absl::StatusOr<v1::AssignmentInputs>)>) override {}
  void Outputs(const v1::OutputsRequest&, std::function<void(absl::StatusOr<v1::AssignmentOutputs>)>) override {}
  void List(std::function<void(absl::StatusOr<v1::NodeList>)> done) override {
    v1::NodeList list;
    for (const auto& [name, condition] :
         {std::pair("there", v1::NodeStatus::JOINED), std::pair("expected", v1::NodeStatus::COMING)}) {
      v1::NodeStatus* const node = list.add_nodes();
      node->set_name(name);
      node->set_condition(condition);
    }
    done(list);
  }
  void Drain(const v1::DrainNodeRequest& request, std::function<void(const absl::Status&)> done) override {
    drained.Put(request.node());
    done(absl::NotFoundError("it has gone"));
  }

  Inbox<std::string> drained;
};

// What a source was told and asked.
struct Seen {
  Inbox<NodeSource::Situation> steps;
  Inbox<bool> ends;
  // Null: its end waits for nothing.
  std::unique_ptr<std::promise<void>> end_waits_for;
};

class FakeSource final : public NodeSource {
 public:
  FakeSource(Prospect prospect, Seen* seen) : prospect_(std::move(prospect)), seen_(*seen) {}

  Prospect Step(const Situation& situation) override {
    seen_.steps.Put(situation);
    return prospect_;
  }
  void End() override {
    seen_.ends.Put(true);
    if (seen_.end_waits_for != nullptr) seen_.end_waits_for->get_future().wait();
  }

 private:
  const Prospect prospect_;
  Seen& seen_;
};

class NodeSourcesTest : public ::testing::Test {
 protected:
  NodeSourcesTest() : system_(config_) {
    TrainingServiceOptions options;
    options.open = true;
    service_ = system_.spawn<caf::detached>(TrainingService, std::move(options));
    // There is no device for it.
    v1::Discover discover;
    discover.set_experiment("x");
    caf::anon_send(service_, std::move(discover));
    sources_ = std::make_unique<NodeSources>(&system_, service_, &gateway_, "the program");
  }
  ~NodeSourcesTest() override {
    sources_.reset();
    caf::anon_send_exit(service_, caf::exit_reason::user_shutdown);
  }

  // What the experiment is said to wait for.
  std::string WaitingFor() {
    v1::AskWaiting ask;
    ask.set_experiment("x");
    std::string because;
    caf::scoped_actor self(system_);
    self->request(service_, caf::infinite, std::move(ask))
        .receive([&](const v1::Waiting& waiting) { because = waiting.because(); }, [](const caf::error&) {});
    return because;
  }

  static NodeSource::Prospect TwoDevices() {
    NodeSource::Prospect prospect;
    prospect.devices = 2;
    prospect.device_memory = 1000;
    prospect.because = "they are on their way";
    prospect.coming.emplace_back().set_name("soon");
    return prospect;
  }

  // Threads of the sources use them.
  Seen first_, second_;
  ActorSystemConfig config_;
  FakeGateway gateway_;
  caf::actor_system system_;
  TrainingServiceActor service_;
  std::unique_ptr<NodeSources> sources_;
};

TEST_F(NodeSourcesTest, ASourceLearnsWhatWaitsAndWhichNodesHaveJoined) {
  sources_->Add("a", std::make_unique<FakeSource>(NodeSource::Prospect(), &first_));
  const NodeSource::Situation situation = first_.steps.Take([](const NodeSource::Situation&) { return true; });
  EXPECT_EQ(situation.waiting, 1);
  ASSERT_EQ(situation.nodes.size(), 1u) << "one that is expected has not joined";
  EXPECT_EQ(situation.nodes[0].name(), "there");
}

TEST_F(NodeSourcesTest, WhatASourceSaysReachesTheServiceAndTheListOfNodes) {
  sources_->Add("a", std::make_unique<FakeSource>(TwoDevices(), &first_));
  // What it said in a step counts when the next one begins.
  for (int step = 0; step < 2; ++step) first_.steps.Take([](const NodeSource::Situation&) { return true; });
  EXPECT_THAT(WaitingFor(), HasSubstr("they are on their way"));

  NodeSource::Prospect prospect;
  prospect.coming.emplace_back().set_name("later");
  sources_->Add("b", std::make_unique<FakeSource>(prospect, &second_));
  for (int step = 0; step < 2; ++step) second_.steps.Take([](const NodeSource::Situation&) { return true; });
  std::vector<std::string> coming;
  for (const v1::NodeStatus& node : sources_->Coming()) coming.push_back(node.name());
  EXPECT_THAT(coming, ElementsAre("soon", "later"));
}

TEST_F(NodeSourcesTest, NodesThatAreToLeaveAreDrained) {
  NodeSource::Prospect prospect;
  prospect.drain = {"there"};
  sources_->Add("a", std::make_unique<FakeSource>(prospect, &first_));
  EXPECT_EQ(gateway_.drained.Take([](const std::string&) { return true; }), "there");
  // That it has gone meanwhile hurts nobody.
  EXPECT_EQ(gateway_.drained.Take([](const std::string&) { return true; }), "there");
}

TEST_F(NodeSourcesTest, TheEndEndsEachSourceOnceAndNoneIsAskedAfterwards) {
  sources_->Add("a", std::make_unique<FakeSource>(TwoDevices(), &first_));
  sources_->Add("b", std::make_unique<FakeSource>(TwoDevices(), &second_));
  first_.steps.Take([](const NodeSource::Situation&) { return true; });
  sources_->Stop();
  EXPECT_THAT(sources_->Wait(kLong), IsEmpty());
  for (Seen* const seen : {&first_, &second_}) {
    EXPECT_EQ(seen->ends.size(), 1u);
    const size_t steps = seen->steps.size();
    sources_->Stop();
    EXPECT_THAT(sources_->Wait(kLong), IsEmpty());
    EXPECT_EQ(seen->steps.size(), steps);
  }
  sources_.reset();
  EXPECT_EQ(first_.ends.size(), 1u);
}

TEST_F(NodeSourcesTest, AnEndThatHangsIsNotWaitedForAndIsNamed) {
  first_.end_waits_for = std::make_unique<std::promise<void>>();
  sources_->Add("a", std::make_unique<FakeSource>(TwoDevices(), &first_));
  sources_->Add("b", std::make_unique<FakeSource>(TwoDevices(), &second_));
  sources_->Stop();
  EXPECT_TRUE(first_.ends.Take([](bool) { return true; }));
  EXPECT_TRUE(second_.ends.Take([](bool) { return true; }));
  EXPECT_THAT(sources_->Wait(std::chrono::milliseconds(100)), Contains("a"));
  first_.end_waits_for->set_value();
  EXPECT_THAT(sources_->Wait(kLong), IsEmpty());
}

// The end of a head does not hang where its actors have ended before.
TEST_F(NodeSourcesTest, SourcesEndThoughTheServiceHasGone) {
  caf::anon_send_exit(service_, caf::exit_reason::kill);
  sources_->Add("a", std::make_unique<FakeSource>(TwoDevices(), &first_));
  const NodeSource::Situation situation =
      first_.steps.Take([](const NodeSource::Situation& step) { return step.waiting == 0; });
  EXPECT_EQ(situation.nodes.size(), 1u);
  sources_.reset();
  EXPECT_EQ(first_.ends.size(), 1u);
}

}  // namespace
}  // namespace lanista
