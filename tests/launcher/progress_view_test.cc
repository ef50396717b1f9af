#include "src/launcher/progress_view.h"

#include <condition_variable>
#include <mutex>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
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

TEST(LiveBlockTest, CountsColumnsNotBytes) {
  EXPECT_EQ(Columns("größe"), 5);
  EXPECT_EQ(Cut("größe", 3), "grö");
  EXPECT_EQ(Cut("größe", 9), "größe");
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
    output.WaitFor("model 1  cpu 0");
    view.Print("lanista: warning: low on memory\n");
    output.WaitFor("low on memory\x1b[K\ndigits");
  }
  EXPECT_THAT(output.text(), ::testing::EndsWith("\r\x1b[2A\x1b[J"));
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
