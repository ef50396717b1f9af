#include "src/launcher/local_head.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "src/base/unique_fd.h"
#include "src/storage/state_dir.h"
#include "tests/storage/storage_testing.h"

namespace lanista {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

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

TEST(LocalHeadTest, AValidationThatNobodyWaitsForIsWithdrawn) {
  const TempFolder temp;
  v1::ExperimentConfig devices;
  devices.add_training_service()->mutable_local()->set_cpu_slots(0);
  LocalHead::Options options{StateDir::Open(temp.path()).value(), TrialProgram{"/no/such/program", {}}};
  options.served = [](const v1::ExperimentEvent&) {};
  const TelemetryPtr telemetry = options.telemetry;
  absl::StatusOr<std::unique_ptr<LocalHead>> head = LocalHead::Start(std::move(options), devices);
  ASSERT_TRUE(head.ok()) << head.status();
  const auto waits = [&telemetry] { return telemetry->discoveries_queued.value() == 1; };
  EXPECT_TRUE(absl::IsCancelled((*head)->Validate(SmallSearch(), 0, waits).status()));
  while (waits()) std::this_thread::yield();
  EXPECT_EQ(telemetry->discoveries_queued.value(), 0);
}

TEST(LocalHeadTest, WithoutANodeNoModelIsConverted) {
  const TempFolder temp;
  LocalHead::Options options{StateDir::Open(temp.path()).value(), TrialProgram{"/no/such/program", {}}};
  options.served = [](const v1::ExperimentEvent&) {};
  absl::StatusOr<std::unique_ptr<LocalHead>> head = LocalHead::Start(std::move(options), SmallSearch());
  ASSERT_TRUE(head.ok()) << head.status();
  v1::Convert request;
  request.mutable_model();
  const absl::Status status = (*head)->Convert(request, "build 7", nullptr).status();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("no node is there with the program"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("build 7"));
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

// What starting a head for the search says; empty: it starts.
std::string StartError(const v1::ExperimentConfig& config, const std::function<void(LocalHead::Options*)>& change = {},
                       size_t devices = 1) {
  const TempFolder temp;
  LocalHead::Options options{StateDir::Open(temp.path()).value(), TrialProgram{"/no/such/program", {}}};
  if (change) change(&options);
  const absl::StatusOr<std::unique_ptr<LocalHead>> head = LocalHead::Start(options, config);
  if (!head.ok()) return head.status().ToString();
  EXPECT_EQ((*head)->Devices().size(), devices);
  return "";
}

TEST(LocalHeadTest, WhereNoDeviceCanEverMeetTheRequirementsNothingStarts) {
  v1::ExperimentConfig config = SmallSearch();
  config.mutable_requirements()->set_device_kind(v1::DeviceKind::GPU);
  EXPECT_THAT(
      StartError(config),
      StartsWith("INVALID_ARGUMENT: requirements: no device of this machine meets them (GPU): of 1 device, none "
                 "is a GPU; change them, or this machine's devices and labels"));
  // Nodes may bring one, `validate` trains nothing.
  EXPECT_EQ(StartError(config, [](LocalHead::Options* options) { options->open = true; }), "");
  EXPECT_EQ(StartError(config, [](LocalHead::Options* options) { options->discovers_only = true; }), "");
  config.mutable_requirements()->set_device_kind(v1::DeviceKind::CPU);
  EXPECT_EQ(StartError(config), "");

  (*config.mutable_requirements()->mutable_node_labels())["gpu"] = "a100";
  EXPECT_THAT(StartError(config), HasSubstr("of 1 device, 1 is a CPU slot, none of these has the label gpu=a100"));
  const auto label = [](LocalHead::Options* options) { options->labels = {{"gpu", "a100"}}; };
  EXPECT_EQ(StartError(config, label), "");
}

TEST(LocalHeadTest, OfTheDevicesThoseAreTakenThatMeetTheRequirements) {
  v1::ExperimentConfig config = SmallSearch();
  v1::LocalConfig& small = *config.mutable_training_service(0)->mutable_local();
  small.set_memory_limit(int64_t{1} << 30);
  v1::LocalConfig& more = *config.add_training_service()->mutable_local();
  more.set_cpu_slots(2);
  more.set_memory_limit(int64_t{3} << 30);
  config.mutable_requirements()->set_min_device_memory(int64_t{2} << 30);
  EXPECT_EQ(StartError(config, {}, 2), "") << "the first one is too small";
  config.set_trial_concurrency(1);
  EXPECT_EQ(StartError(config, {}, 1), "");
  const auto open = [](LocalHead::Options* options) { options->open = true; };
  config.clear_trial_concurrency();
  EXPECT_EQ(StartError(config, open, 3), "") << "it can discover spaces";
}

}  // namespace
}  // namespace lanista
