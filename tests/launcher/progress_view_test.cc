#include "src/launcher/progress_view.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "src/launcher/waiting_question.h"
#include "tests/launcher/events.h"

namespace lanista {
namespace {

using ::testing::StartsWith;

TEST(LiveBlockTest, OverwritesTheLinesThatItDrew) {
  LiveBlock block;
  EXPECT_EQ(block.Redraw({}, {"one", "two"}, 80), "\rone\x1b[K\ntwo\x1b[K\n\x1b[J");
  EXPECT_EQ(block.Redraw({"failed"}, {"one"}, 80), "\r\x1b[2Afailed\x1b[K\none\x1b[K\n\x1b[J");
  EXPECT_EQ(block.Redraw({}, {}, 80), "\r\x1b[1A\x1b[J");
}

TEST(LiveBlockTest, CutsLinesSoThatTheyDoNotWrap) {
  LiveBlock block;
  EXPECT_EQ(block.Redraw({}, {"12345678"}, 6), "\r12345\x1b[K\n\x1b[J");
}

TEST(LiveBlockTest, FindsItsLinesAgainWhenTheTerminalHasBecomeNarrow) {
  LiveBlock block;
  block.Redraw({}, {"0123456789", "ab"}, 80);
  // Ten columns take three rows of four.
  EXPECT_THAT(block.Redraw({}, {"x"}, 4), StartsWith("\r\x1b[4A"));
}

TEST(LiveBlockTest, CountsCells) {
  LiveBlock block;
  EXPECT_EQ(block.Redraw({}, {"日本語"}, 6), "\r日本\x1b[K\n\x1b[J");
  block.Redraw({}, {"größe日本"}, 80);
  // Nine cells take three rows of four.
  EXPECT_THAT(block.Redraw({}, {"x"}, 4), StartsWith("\r\x1b[3A"));
}

class TerminalTest : public ::testing::Test {
 protected:
  // stdout is a terminal, and its environment is this, until the test ends.
  void Use(const char* term, const char* no_color) {
    ASSERT_GE(master_ = posix_openpt(O_RDWR | O_NOCTTY), 0);
    ASSERT_EQ(grantpt(master_), 0);
    ASSERT_EQ(unlockpt(master_), 0);
    const int terminal = open(ptsname(master_), O_RDWR | O_NOCTTY);
    ASSERT_GE(terminal, 0);
    ASSERT_GE(stdout_ = dup(STDOUT_FILENO), 0);
    ASSERT_GE(dup2(terminal, STDOUT_FILENO), 0);
    close(terminal);
    ASSERT_EQ(term == nullptr ? unsetenv("TERM") : setenv("TERM", term, 1), 0);
    ASSERT_EQ(no_color == nullptr ? unsetenv("NO_COLOR") : setenv("NO_COLOR", no_color, 1), 0);
  }

  void TearDown() override {
    if (stdout_ >= 0) dup2(stdout_, STDOUT_FILENO);
    if (stdout_ >= 0) close(stdout_);
    if (master_ >= 0) close(master_);
  }

  bool IsLive() { return StandardOutput().terminal_size != nullptr; }

 private:
  int master_ = -1;
  int stdout_ = -1;
};

TEST_F(TerminalTest, GetsControlSequences) {
  Use("xterm", nullptr);
  EXPECT_TRUE(IsLive());
}

TEST_F(TerminalTest, GetsNoneWhereItIsDumb) {
  Use("dumb", nullptr);
  EXPECT_FALSE(IsLive());
}

TEST_F(TerminalTest, GetsNoneWhereItsKindIsUnknown) {
  Use(nullptr, nullptr);
  EXPECT_FALSE(IsLive());
}

TEST_F(TerminalTest, GetsNoneWhereTheUserWantsNone) {
  Use("xterm", "1");
  EXPECT_FALSE(IsLive());
}

TEST_F(TerminalTest, AnEmptyNoColorSaysNothing) {
  Use("xterm", "");
  EXPECT_TRUE(IsLive());
}

// Collects what is written, and lets a test wait for it.
class Output {
 public:
  ProgressOutput Make(bool terminal) {
    ProgressOutput output;
    output.write = [this](const std::string& bytes) {
      const std::lock_guard<std::mutex> lock(mutex_);
      text_ += bytes;
      changed_.notify_one();
    };
    output.now = [] { return absl::FromUnixSeconds(1700000000); };
    if (terminal) output.terminal_size = [] { return ProgressOutput::Size{80, 24}; };
    return output;
  }

  void WaitFor(const std::string& part) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return text_.find(part) != std::string::npos; });
  }

  std::string text() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return text_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string text_;
};

v1::ExperimentConfig Config() {
  v1::ExperimentConfig config;
  config.set_name("digits");
  return config;
}

TEST(ProgressViewTest, APipeGetsPlainLines) {
  Output output;
  {
    ProgressView view(Config(), output.Make(/*terminal=*/false));
    view.OnEvent(SpaceOfTwo());
    view.OnEvent(Outcome(1, Succeeded("0.75")));
  }
  EXPECT_EQ(output.text(),
            "experiment digits-1: 2 models in the space, at most 2 to try\n"
            "model 1 succeeded: default 0.75  {\"p\":0.25}\n");
}

TEST(ProgressViewTest, ATerminalGetsABlockThatIsGoneAtTheEnd) {
  Output output;
  {
    ProgressView view(Config(), output.Make(/*terminal=*/true));
    view.OnEvent(Started(1));
    output.WaitFor("model 1  cpu:0");
    view.Print("lanista: warning: low on memory\n");
    output.WaitFor("low on memory\x1b[K\ndigits");
  }
  EXPECT_THAT(output.text(), ::testing::EndsWith("\r\x1b[2A\x1b[J"));
}

TEST(ProgressViewTest, CountsConstructionsWhileTheSpaceIsLearned) {
  Output output;
  // Time passes with each look at the clock.
  ProgressOutput terminal = output.Make(/*terminal=*/true);
  int seconds = 0;
  terminal.now = [&seconds] { return absl::FromUnixSeconds(1700000000 + seconds++); };
  const ProgressView view(Config(), std::move(terminal), [] { return 341; });
  output.WaitFor("341 constructions tried");
}

// Answers as the test says, and notes what is told.
class Answers {
 public:
  std::optional<std::string> Take() {
    std::unique_lock<std::mutex> lock(mutex_);
    ++asked_;
    changed_.notify_all();
    return answer_;
  }
  void Set(std::optional<std::string> answer) {
    const std::lock_guard<std::mutex> lock(mutex_);
    answer_ = std::move(answer);
  }
  // Waits until as many questions more have come.
  void AwaitQuestions(int more) {
    std::unique_lock<std::mutex> lock(mutex_);
    const int wanted = asked_ + more;
    changed_.wait(lock, [&] { return asked_ >= wanted; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<std::string> answer_ = "";
  int asked_ = 0;
};

TEST(WaitingQuestionTest, TellsWhatChanges) {
  Answers answers;
  std::vector<std::string> told;
  {
    WaitingQuestion question(
        "a device", [&answers] { return answers.Take(); }, [&told](const std::string& text) { told.push_back(text); },
        std::chrono::milliseconds(1));
    answers.AwaitQuestions(2);
    answers.Set("data");
    answers.AwaitQuestions(2);
    // The head is away.
    answers.Set(std::nullopt);
    answers.AwaitQuestions(2);
    answers.Set("");
    answers.AwaitQuestions(2);
  }
  EXPECT_THAT(told, ::testing::ElementsAre("a device", "", "data", ""));
}

TEST(WaitingQuestionTest, OneThatGoesOnIsNotAskedUnlessItWaited) {
  WaitingPace pace;
  EXPECT_TRUE(pace.IsDue(""));
  pace.OnEvent();
  EXPECT_FALSE(pace.IsDue(""));
  EXPECT_TRUE(pace.IsDue("")) << "nothing has happened since";
  pace.OnEvent();
  EXPECT_TRUE(pace.IsDue("a device")) << "it may go on";
}

TEST(ProgressViewTest, ChangesThatComeTogetherAreDrawnTogether) {
  Output output;
  {
    ProgressView view(Config(), output.Make(/*terminal=*/true));
    for (int model = 1; model <= 1000; ++model) view.OnEvent(Outcome(model, Succeeded("1")));
    output.WaitFor("1000 models");
  }
  int redraws = 0;
  for (size_t at = 0; (at = output.text().find("\x1b[J", at)) != std::string::npos; ++at) ++redraws;
  EXPECT_LE(redraws, 20);
}

}  // namespace
}  // namespace lanista
