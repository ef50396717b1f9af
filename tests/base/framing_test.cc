#include "src/base/framing.h"

#include "gtest/gtest.h"
#include "protos/trial.pb.h"

namespace lanista {
namespace {

v1::CancelTrial Message(int trial) {
  v1::CancelTrial message;
  message.set_experiment("an experiment");
  message.set_trial(trial);
  return message;
}

// The trial numbers of all complete frames.
std::vector<int> Trials(FrameDecoder& decoder) {
  std::vector<int> trials;
  while (true) {
    const auto frame = decoder.Next();
    EXPECT_TRUE(frame.ok()) << frame.status();
    if (!frame.ok() || !frame->has_value()) return trials;
    v1::CancelTrial message;
    EXPECT_TRUE(message.ParseFromString(**frame));
    trials.push_back(message.trial());
  }
}

TEST(FramingTest, FramesComeBackHoweverTheStreamIsCut) {
  std::string stream;
  for (int trial = 1; trial <= 3; ++trial) ASSERT_TRUE(AppendFrame(Message(trial), &stream).ok());
  for (size_t piece = 1; piece <= stream.size(); ++piece) {
    FrameDecoder decoder;
    std::vector<int> trials;
    for (size_t begin = 0; begin < stream.size(); begin += piece) {
      decoder.Append(absl::string_view(stream).substr(begin, piece));
      for (const int trial : Trials(decoder)) trials.push_back(trial);
    }
    EXPECT_EQ(trials, (std::vector<int>{1, 2, 3})) << "in pieces of " << piece;
  }
}

TEST(FramingTest, AnEmptyMessageIsAFrame) {
  std::string stream;
  ASSERT_TRUE(AppendFrame(v1::Shutdown(), &stream).ok());
  FrameDecoder decoder;
  decoder.Append(stream);
  const auto frame = decoder.Next();
  ASSERT_TRUE(frame.ok());
  ASSERT_TRUE(frame->has_value());
  EXPECT_EQ(**frame, "");
}

TEST(FramingTest, AFrameThatClaimsTooMuchIsRefusedBeforeItIsThere) {
  FrameDecoder decoder;
  decoder.Append(absl::string_view("\xff\xff\xff\x7f", 4));
  EXPECT_EQ(decoder.Next().status().code(), absl::StatusCode::kResourceExhausted);
}

TEST(FramingTest, AMessageThatIsTooLargeIsNotAppended) {
  v1::CancelTrial message;
  message.set_experiment(std::string(kMaxFrameBytes, 'x'));
  std::string stream;
  EXPECT_EQ(AppendFrame(message, &stream).code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(stream.empty());
}

}  // namespace
}  // namespace lanista
