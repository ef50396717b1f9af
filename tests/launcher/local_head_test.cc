#include "src/launcher/local_head.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <future>
#include <memory>
#include <string>

#include "gtest/gtest.h"
#include "src/base/unique_fd.h"
#include "src/storage/state_dir.h"
#include "tests/storage/storage_testing.h"

namespace lanista {
namespace {

v1::ExperimentConfig SmallSearch() {
  return Parse<v1::ExperimentConfig>(R"pb(
    name: "small"
    space { registered: "mnist_cnn" }
    engine { direct {} }
    strategy { random {} }
    evaluator { constant {} }
    training_service { local { cpu_slots: 1 } }
    max_trial_number: 1
  )pb");
}

TEST(LocalHeadTest, CallsReturnWhenTheHeadIsEndedThoughItIsBusy) {
  const TempFolder temp;
  const v1::ExperimentConfig config = SmallSearch();
  LocalHead::Options options{StateDir::Open(temp.path()).value(), TrialProgram{"/no/such/program", {}}};
  options.served = [](const v1::ExperimentEvent&) {};
  options.end_limit = std::chrono::seconds(2);
  absl::StatusOr<std::unique_ptr<LocalHead>> head = LocalHead::Start(options, config);
  ASSERT_TRUE(head.ok()) << head.status();

  // As where a disk hangs: the head does not get past the lock of this experiment, a pipe that nobody writes to.
  const std::string folder = options.state_dir.ExperimentFolder(StateDir::IdOfRequest("small", "tuesday", 0)).value();
  const std::string pipe = folder + "/lock";
  std::filesystem::create_directories(folder);
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  auto created = std::async(std::launch::async, [&] { return (*head)->Create(config, "tuesday").status(); });
  (*head)->End();
  EXPECT_TRUE(absl::IsUnavailable(created.get()));
  EXPECT_TRUE(absl::IsUnavailable((*head)->Create(config, "wednesday").status()));
  EXPECT_TRUE(absl::IsUnavailable((*head)->Validate(config, 0).status()));
  EXPECT_TRUE(absl::IsUnavailable((*head)->Resume("small", config)));

  // Opening it for both ends waits for nobody, and lets the head go on to its end.
  const UniqueFd both(open(pipe.c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_GE(both.get(), 0);
  head->reset();
  EXPECT_FALSE(LocalHead::LeftActorsBehind());
}

}  // namespace
}  // namespace lanista
