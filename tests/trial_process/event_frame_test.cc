#include "src/trial_process/event_frame.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "src/base/framing.h"

namespace lanista {
namespace {

using ::testing::HasSubstr;

// What the head reads.
v1::TrialEvent Sent(const v1::TrialEvent& event) {
  FrameDecoder decoder;
  decoder.Append(EventFrame(event));
  const auto frame = decoder.Next();
  EXPECT_TRUE(frame.ok() && frame->has_value());
  v1::TrialEvent sent;
  EXPECT_TRUE(sent.ParseFromString(**frame));
  return sent;
}

const std::string& TooMuch() {
  static const auto* const text = new std::string(kMaxFrameBytes, 'x');
  return *text;
}

TEST(EventFrameTest, AnExceptionsTextNeedNotBeUtf8) {
  v1::TrialEvent event;
  event.mutable_model()->mutable_ended()->mutable_failure()->set_message("caf\xe9");
  EXPECT_EQ(Sent(event).model().ended().failure().message(), "caf\xef\xbf\xbd");
}

TEST(EventFrameTest, AModelWhoseEndIsTooLargeHasFailed) {
  v1::TrialEvent event;
  event.mutable_model()->set_experiment("e");
  event.mutable_model()->set_model(3);
  event.mutable_model()->set_sequence(7);
  event.mutable_model()->mutable_ended()->set_outcome(v1::ModelEnded::SUCCEEDED);
  (*event.mutable_model()->mutable_ended()->mutable_metrics()->mutable_values())[TooMuch()] = 1;
  const v1::ModelEvent model = Sent(event).model();
  EXPECT_EQ(model.experiment(), "e");
  EXPECT_EQ(model.model(), 3);
  EXPECT_EQ(model.sequence(), 7);
  EXPECT_EQ(model.ended().outcome(), v1::ModelEnded::FAILED);
  EXPECT_THAT(model.ended().failure().message(), HasSubstr("larger than a frame"));
}

TEST(EventFrameTest, AnAnswerThatIsTooLargeIsAnError) {
  v1::TrialEvent discovered, imported, converted;
  discovered.mutable_discovered()->mutable_graph_space()->mutable_base()->set_root(TooMuch());
  imported.mutable_imported()->mutable_graph()->set_root(TooMuch());
  converted.mutable_converted()->add_warnings(TooMuch());
  EXPECT_THAT(Sent(discovered).discovered().error().message(), HasSubstr("larger than a frame"));
  EXPECT_THAT(Sent(imported).imported().error().message(), HasSubstr("larger than a frame"));
  EXPECT_THAT(Sent(converted).converted().error().message(), HasSubstr("larger than a frame"));
}

TEST(EventFrameTest, ASpaceWhoseLabelsAreNotUtf8CannotBeSearched) {
  v1::TrialEvent event;
  event.mutable_discovered()->mutable_space()->add_choices()->set_label("\xe9");
  const v1::Discovered discovered = Sent(event).discovered();
  EXPECT_FALSE(discovered.has_space());
  EXPECT_THAT(discovered.error().message(), HasSubstr("label"));
}

TEST(EventFrameDeathTest, AMetricThatIsTooLargeEndsTheProcessWithAWord) {
  v1::TrialEvent event;
  (*event.mutable_model()->mutable_intermediate()->mutable_metrics()->mutable_values())[TooMuch()] = 1;
  EXPECT_DEATH(EventFrame(event), "larger than a frame");
}

}  // namespace
}  // namespace lanista
