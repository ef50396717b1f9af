#include "src/base/node_link.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace lanista {
namespace {

TEST(NodeLinkTest, NamesAreShortLinesOfText) {
  for (const char* name : {"n", "gpu-1.example.org", "Rechner im B\xc3\xbcro", "a:b/c"}) {
    EXPECT_TRUE(CheckNodeName(name).ok()) << name;
  }
  EXPECT_TRUE(CheckNodeName(std::string(100, 'x')).ok());
  for (const std::string& name : {std::string(), std::string(101, 'x'), std::string("a\nb"), std::string("a\0b", 3),
                                  std::string("\x1b[31m"), std::string("a "), std::string("a\xff")}) {
    EXPECT_TRUE(absl::IsInvalidArgument(CheckNodeName(name))) << name;
  }
}

TEST(NodeLinkTest, AHeartbeatIsAnsweredOnce) {
  std::vector<absl::Status> answers;
  const auto done = [&answers](const absl::Status& status) { answers.push_back(status); };
  {
    v1::BeatRequest request;
    request.set_instance("i");
    Heartbeat beat(request, done);
    EXPECT_EQ(beat.request().instance(), "i");
    beat.Answer(absl::OkStatus());
    beat.Answer(absl::InternalError(""));
  }
  EXPECT_EQ(answers, std::vector<absl::Status>{absl::OkStatus()});
  answers.clear();
  { const Heartbeat nobody_answers(v1::BeatRequest(), done); }
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_TRUE(absl::IsUnavailable(answers[0]));
}

TEST(NodeLinkTest, ANodeTriesAgainAfterWhatMayPass) {
  EXPECT_TRUE(EndsNode(absl::OkStatus()));
  EXPECT_TRUE(EndsNode(absl::AlreadyExistsError("")));
  EXPECT_TRUE(EndsNode(absl::FailedPreconditionError("")));
  EXPECT_FALSE(EndsNode(absl::UnavailableError("")));
  EXPECT_FALSE(EndsNode(absl::AbortedError("")));
  EXPECT_FALSE(EndsNode(absl::InternalError("")));
  EXPECT_FALSE(EndsNode(absl::ResourceExhaustedError("")));
}

}  // namespace
}  // namespace lanista
