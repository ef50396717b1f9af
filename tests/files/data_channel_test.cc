#include "src/files/data_channel.h"

#include <gmock/gmock.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "src/files/assignment_inputs.h"
#include "tests/files/files_testing.h"

namespace lanista {
namespace {

using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

// A trial process that is played by the test.
class FakeChannel : public TrialChannel {
 public:
  absl::Status Start(const v1::Device&, Handlers handlers) override {
    handlers_ = std::move(handlers);
    return absl::OkStatus();
  }
  absl::Status Send(const v1::TrialRequest& request) override {
    sent_.push_back(request);
    return absl::OkStatus();
  }
  void Recorded(const v1::EventsRecorded&) override {}
  std::chrono::milliseconds held_up() const override { return {}; }
  void Kill() override {}

  Handlers handlers_;
  std::vector<v1::TrialRequest> sent_;
};

class DataChannelTest : public ::testing::Test {
 protected:
  DataChannelTest() {
    std::filesystem::create_directories(folder_ + "/mnist");
    std::filesystem::create_directories(folder_ + "/nets");
    auto fake = std::make_unique<FakeChannel>();
    fake_ = fake.get();
    channel_ = WithData(std::move(fake), *DataFolders::Parse({"mnist=mnist", "nets=nets"}, folder_));
    TrialChannel::Handlers handlers;
    handlers.on_event = [this](v1::TrialEvent event) { events_.push_back(std::move(event)); };
    EXPECT_TRUE(channel_->Start(v1::Device(), std::move(handlers)).ok());
  }

  const v1::TrialRequest& Send(const v1::TrialRequest& request) {
    EXPECT_TRUE(channel_->Send(request).ok());
    return fake_->sent_.back();
  }
  const v1::TrialEvent& Say(const v1::TrialEvent& event) {
    fake_->handlers_.on_event(event);
    return events_.back();
  }

  const std::string folder_ = FreshFolder();
  FakeChannel* fake_ = nullptr;
  std::vector<v1::TrialEvent> events_;
  std::unique_ptr<TrialChannel> channel_;
};

TEST_F(DataChannelTest, ATrialSeesThePathsOfItsMachine) {
  v1::TrialRequest request;
  v1::TrialSpec& spec = *request.mutable_run();
  spec.mutable_space()->mutable_torchscript()->set_path("data://nets/net.pt");
  spec.mutable_evaluator()->mutable_table()->set_path("data://mnist/a.csv");
  spec.add_space_files()->set_path("data://nets/net.pt");
  spec.add_space_files()->set_path("/head/other.pt");
  const v1::TrialSpec& sent = Send(request).run();
  EXPECT_EQ(sent.space().torchscript().path(), folder_ + "/nets/net.pt");
  EXPECT_EQ(sent.evaluator().table().path(), folder_ + "/mnist/a.csv");
  EXPECT_EQ(sent.space_files(0).path(), folder_ + "/nets/net.pt");
  EXPECT_EQ(sent.space_files(1).path(), "/head/other.pt");
  EXPECT_FALSE(sent.has_engine()) << "what was not there is not made";

  v1::TrialEvent event;
  event.mutable_model()->mutable_ended()->mutable_failure()->set_message("cannot read " + folder_ + "/mnist/a.csv");
  EXPECT_EQ(Say(event).model().ended().failure().message(), "cannot read data://mnist/a.csv");
}

TEST_F(DataChannelTest, WhatWasDiscoveredHoldsOnAllMachines) {
  v1::TrialRequest request;
  request.mutable_discover()->mutable_space()->mutable_graph()->set_path("data://nets/a.graph");
  EXPECT_EQ(Send(request).discover().space().graph().path(), folder_ + "/nets/a.graph");
  v1::TrialEvent event;
  v1::Discovered& discovered = *event.mutable_discovered();
  discovered.mutable_space()->add_files()->set_path(folder_ + "/nets/a.graph");
  discovered.mutable_space()->add_files()->set_path(folder_ + "/mnist/weights.pt");
  discovered.mutable_graph_space()->mutable_base()->add_archives()->set_path(folder_ + "/nets/a.pt");
  const v1::Discovered& said = Say(event).discovered();
  EXPECT_EQ(said.space().files(0).path(), "data://nets/a.graph");
  EXPECT_EQ(said.space().files(1).path(), folder_ + "/mnist/weights.pt") << "no data of this configuration";
  EXPECT_EQ(said.graph_space().base().archives(0).path(), "data://nets/a.pt");

  v1::TrialEvent failed;
  failed.mutable_discovered()->mutable_error()->set_message("no file " + folder_ + "/nets/a.graph");
  EXPECT_EQ(Say(failed).discovered().error().message(), "no file data://nets/a.graph");
}

TEST_F(DataChannelTest, WhatNamesNoDataStaysAsItIs) {
  v1::TrialRequest request;
  request.mutable_run()->mutable_evaluator()->mutable_table()->set_path(folder_ + "/mnist/a.csv");
  EXPECT_EQ(Send(request).SerializeAsString(), request.SerializeAsString());
  v1::TrialEvent event;
  event.mutable_model()->mutable_ended()->mutable_failure()->set_message("cannot read " + folder_ + "/mnist/a.csv");
  EXPECT_EQ(Say(event).SerializeAsString(), event.SerializeAsString());
}

TEST_F(DataChannelTest, AnExportReadsItToo) {
  v1::TrialRequest request;
  request.mutable_convert()->mutable_model()->mutable_space()->mutable_torchscript()->set_path("data://nets/net.pt");
  request.mutable_convert()->mutable_model()->add_space_files()->set_path("data://nets/net.pt");
  const v1::SpaceModel& sent = Send(request).convert().model();
  EXPECT_EQ(sent.space().torchscript().path(), folder_ + "/nets/net.pt");
  EXPECT_EQ(sent.space_files(0).path(), folder_ + "/nets/net.pt");
}

TEST(AssignmentInputsTest, DataIsNoneOfTheHeadsFiles) {
  v1::TrialSpec spec;
  spec.mutable_space()->mutable_graph()->set_path("data://nets/a.graph");
  auto& csv = *spec.mutable_evaluator()->mutable_classification()->mutable_dataset()->mutable_csv();
  csv.set_path("/head/a.csv");
  csv.set_validation_path("data://mnist/b.csv");
  const v1::AssignmentInputs inputs = InputsOf(spec);
  EXPECT_THAT(inputs.paths(), ElementsAre("/head/a.csv"));
  EXPECT_TRUE(inputs.graph_files().empty());
  EXPECT_THAT(DataOf(spec), UnorderedElementsAre("mnist", "nets"));
  v1::Discover discover;
  EXPECT_TRUE(DataOf(discover).empty());
}

}  // namespace
}  // namespace lanista
