#include "src/launcher/node_sources.h"

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "actors/interfaces.h"
#include "caf/actor_system.hpp"
#include "caf/send.hpp"
#include "caf/typed_event_based_actor.hpp"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "src/launcher/actor_system.h"

namespace lanista {
namespace {

using ::testing::ElementsAre;

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
  void List(std::function<void(absl::StatusOr<v1::NodeList>)> done) override {
    v1::NodeList list;
    for (const auto& [name, condition] : {std::pair("there", v1::JOINED), std::pair("expected", v1::COMING)}) {
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
};

class FakeSource final : public NodeSource {
 public:
  FakeSource(Prospect prospect, Seen* seen) : prospect_(std::move(prospect)), seen_(*seen) {}

  Prospect Step(const Situation& situation) override {
    seen_.steps.Put(situation);
    return prospect_;
  }
  void End() override { seen_.ends.Put(true); }

 private:
  const Prospect prospect_;
  Seen& seen_;
};

class NodeSourcesTest : public ::testing::Test {
 protected:
  NodeSourcesTest() : system_(config_) {
    // Knows what sources say: seven trials wait.
    service_ = system_.spawn([this](TrainingServiceActor::pointer) -> TrainingServiceActor::behavior_type {
      return {[](const v1::WorkerReady&) {},
              [](const v1::ProcessUp&) {},
              [](const v1::ModelEvent&) {},
              [](const v1::TrialEnded&) {},
              [](const v1::TrialSpec&, const TrialOwnerActor&) {},
              [](const v1::CancelExperiment&) {},
              [](const v1::StopModel&) {},
              [](const v1::EventsRecorded&) {},
              [](const v1::Discover&) { return v1::Discovered(); },
              [](const v1::ListDevices&) { return v1::DeviceList(); },
              [](const v1::DeviceJoined&, const WorkerActor&) { return v1::DeviceAdded(); },
              [](const v1::HoldNode&) {},
              [](const v1::WantDevices&, const DeviceUserActor&) {},
              [](const v1::AskWaiting&) { return v1::Waiting(); },
              [this](const v1::ExpectDevices& expect) {
                expected_.Put(expect);
                v1::DeviceDemand demand;
                demand.set_waiting(7);
                return demand;
              }};
    });
    sources_ = std::make_unique<NodeSources>(&system_, service_, &gateway_, "the program");
  }
  ~NodeSourcesTest() override {
    sources_.reset();
    caf::anon_send_exit(service_, caf::exit_reason::user_shutdown);
  }

  static NodeSource::Prospect TwoDevices() {
    NodeSource::Prospect prospect;
    prospect.devices = 2;
    prospect.device_memory = 1000;
    prospect.because = "they are on their way";
    prospect.coming.emplace_back().set_name("soon");
    return prospect;
  }

  ActorSystemConfig config_;
  Inbox<v1::ExpectDevices> expected_;
  FakeGateway gateway_;
  caf::actor_system system_;
  TrainingServiceActor service_;
  std::unique_ptr<NodeSources> sources_;
};

TEST_F(NodeSourcesTest, ASourceLearnsWhatWaitsAndWhichNodesHaveJoined) {
  Seen seen;
  sources_->Add("a", std::make_unique<FakeSource>(NodeSource::Prospect(), &seen));
  const NodeSource::Situation situation = seen.steps.Take([](const NodeSource::Situation&) { return true; });
  EXPECT_EQ(situation.waiting, 7);
  ASSERT_EQ(situation.nodes.size(), 1u) << "one that is expected has not joined";
  EXPECT_EQ(situation.nodes[0].name(), "there");
}

TEST_F(NodeSourcesTest, WhatASourceSaysReachesTheServiceAndTheListOfNodes) {
  Seen seen, other;
  sources_->Add("a", std::make_unique<FakeSource>(TwoDevices(), &seen));
  const v1::ExpectDevices expect =
      expected_.Take([](const v1::ExpectDevices& expected) { return expected.devices() > 0; });
  EXPECT_EQ(expect.source(), "a");
  EXPECT_EQ(expect.program(), "the program");
  EXPECT_EQ(expect.devices(), 2);
  EXPECT_EQ(expect.device_memory(), 1000);
  EXPECT_EQ(expect.because(), "they are on their way");

  NodeSource::Prospect prospect;
  prospect.coming.emplace_back().set_name("later");
  sources_->Add("b", std::make_unique<FakeSource>(prospect, &other));
  // What it said in its first step counts when the second one begins.
  for (int step = 0; step < 2; ++step) other.steps.Take([](const NodeSource::Situation&) { return true; });
  std::vector<std::string> coming;
  for (const v1::NodeStatus& node : sources_->Coming()) coming.push_back(node.name());
  EXPECT_THAT(coming, ElementsAre("soon", "later"));
}

TEST_F(NodeSourcesTest, NodesThatAreToLeaveAreDrained) {
  Seen seen;
  NodeSource::Prospect prospect;
  prospect.drain = {"there"};
  sources_->Add("a", std::make_unique<FakeSource>(prospect, &seen));
  EXPECT_EQ(gateway_.drained.Take([](const std::string&) { return true; }), "there");
  // That it has gone meanwhile hurts nobody.
  EXPECT_EQ(gateway_.drained.Take([](const std::string&) { return true; }), "there");
}

TEST_F(NodeSourcesTest, TheEndEndsEachSourceOnceAndNoneIsAskedAfterwards) {
  Seen first, second;
  sources_->Add("a", std::make_unique<FakeSource>(TwoDevices(), &first));
  sources_->Add("b", std::make_unique<FakeSource>(TwoDevices(), &second));
  first.steps.Take([](const NodeSource::Situation&) { return true; });
  sources_->Stop();
  sources_->Wait();
  for (Seen* const seen : {&first, &second}) {
    EXPECT_EQ(seen->ends.size(), 1u);
    const size_t steps = seen->steps.size();
    sources_->Stop();
    sources_->Wait();
    EXPECT_EQ(seen->steps.size(), steps);
  }
  sources_.reset();
  EXPECT_EQ(first.ends.size(), 1u);
}

// The end of a head does not hang where its actors have ended before.
TEST_F(NodeSourcesTest, SourcesEndThoughTheServiceHasGone) {
  caf::anon_send_exit(service_, caf::exit_reason::kill);
  Seen seen;
  sources_->Add("a", std::make_unique<FakeSource>(TwoDevices(), &seen));
  const NodeSource::Situation situation =
      seen.steps.Take([](const NodeSource::Situation& step) { return step.waiting == 0; });
  EXPECT_EQ(situation.nodes.size(), 1u);
  sources_.reset();
  EXPECT_EQ(seen.ends.size(), 1u);
}

}  // namespace
}  // namespace lanista
