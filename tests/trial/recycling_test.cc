// What trials of one process share: its evaluator is prepared once. When the process asks to be replaced: what it leaks
// counts, what its evaluator has read does not.
#include <torch/nn/modules/linear.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "src/evaluators/functional.h"
#include "src/nn/nn.h"
#include "src/trial/runner.h"

namespace lanista {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int64_t kMiB = 1 << 20;

// Every byte is written, so that it is in memory.
using Bytes = std::vector<char>;
Bytes Allocate(int64_t mib) { return Bytes(static_cast<size_t>(mib * kMiB), 1); }

// What models left behind, as a space of a user's may.
std::vector<Bytes>& Leaks() {
  static std::vector<Bytes> leaks;
  return leaks;
}

// Reads `data` MiB when it is prepared, and loses `leak` MiB with each model.
class Hoarder : public Evaluator {
 public:
  explicit Hoarder(const Params& params)
      : data_mib_(params.Get<int64_t>("data", 0)), leak_mib_(params.Get<int64_t>("leak", 0)) {}

  absl::Status Prepare(uint64_t) override {
    data_ = Allocate(data_mib_);
    ++prepared;
    return absl::OkStatus();
  }
  absl::Status Evaluate(TrialContext& context) override {
    Leaks().push_back(Allocate(leak_mib_));
    context.ReportFinal(1);
    return absl::OkStatus();
  }

  static int prepared;

 private:
  const int64_t data_mib_, leak_mib_;
  Bytes data_;
};
int Hoarder::prepared = 0;
absl::StatusOr<std::unique_ptr<Evaluator>> MakeHoarder(const Params& params) {
  return std::make_unique<Hoarder>(params);
}
LANISTA_REGISTER(evaluator, "hoarder", MakeHoarder);

class OneLayer : public nn::ModelSpace {
 public:
  OneLayer() { layer_ = register_module("layer", torch::nn::Linear(2, 2)); }
  torch::Tensor forward(torch::Tensor x) override { return layer_(x); }

 private:
  torch::nn::Linear layer_{nullptr};
};
LANISTA_REGISTER(model_space, "one_layer", nn::MakeModelSpace<OneLayer>);

class RecyclingTest : public ::testing::Test {
 protected:
  ~RecyclingTest() override { Leaks().clear(); }

  // A trial process of this kind whose memory_limit is 1 GiB.
  void SetUpProcess(v1::LocalConfig::Isolation isolation) {
    v1::TrialRequest request;
    v1::Device& device = *request.mutable_setup()->mutable_device();
    device.set_kind(v1::DeviceKind::CPU);
    device.set_memory_limit(1024 * kMiB);
    device.set_isolation(isolation);
    runner_.Handle(request);
  }

  // The end of a trial with these MiB.
  v1::TrialEnded Run(int data, int leak) {
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
        absl::StrCat("experiment: 'e' models { model: 1 } space { registered: 'one_layer' } engine { direct {} } ",
                     "evaluator { custom { name: 'hoarder' params { key: 'data' value { i: ", data,
                     " } } params { key: 'leak' value { i: ", leak, " } } } }"),
        &spec_));
    v1::TrialRequest discover;
    *discover.mutable_discover()->mutable_space() = spec_.space();
    *discover.mutable_discover()->mutable_engine() = spec_.engine();
    *discover.mutable_discover()->mutable_evaluator() = spec_.evaluator();
    runner_.Handle(discover);
    const v1::Discovered& discovered = events_.back().discovered();
    EXPECT_FALSE(discovered.has_error()) << discovered.error().message();
    spec_.set_program(discovered.program());
    spec_.set_space_fingerprint(discovered.space().fingerprint());
    v1::TrialRequest run;
    *run.mutable_run() = spec_;
    runner_.Handle(run);
    EXPECT_TRUE(events_.back().has_ended());
    const v1::ModelEnded& model = events_[events_.size() - 2].model().ended();
    EXPECT_EQ(model.outcome(), v1::ModelEnded::SUCCEEDED) << model.failure().message();
    return events_.back().ended();
  }

  v1::TrialSpec spec_;
  std::vector<v1::TrialEvent> events_;
  TrialRunner runner_{[this](const v1::TrialEvent& event) { events_.push_back(event); }, /*redirect_output=*/false};
};

TEST_F(RecyclingTest, AProcessThatGrewOverHalfOfWhatItsDataLeftIsReplacedAndSaysWhy) {
  SetUpProcess(v1::LocalConfig::PROCESS);
  const v1::TrialEnded small = Run(/*data=*/0, /*leak=*/1);
  EXPECT_FALSE(small.recycle());
  EXPECT_THAT(small.recycle_because(), IsEmpty());
  const v1::TrialEnded large = Run(/*data=*/0, /*leak=*/750);
  EXPECT_TRUE(large.recycle());
  EXPECT_THAT(large.recycle_because(), HasSubstr("its memory grew from "));
  EXPECT_THAT(large.recycle_because(), HasSubstr("MiB (memory_limit: 1024 MiB)"));
}

TEST_F(RecyclingTest, DataOfMoreThanHalfTheLimitAreNoReason) {
  SetUpProcess(v1::LocalConfig::PROCESS);
  for (int trial = 0; trial < 3; ++trial) EXPECT_THAT(Run(/*data=*/700, /*leak=*/1).recycle_because(), IsEmpty());
}

// Two params, because the entries of a map are not written in the same order each time.
TEST_F(RecyclingTest, AnEvaluatorIsPreparedOnceForAllTrialsOfItsConfiguration) {
  SetUpProcess(v1::LocalConfig::PROCESS);
  const int before = Hoarder::prepared;
  for (int trial = 0; trial < 20; ++trial) Run(/*data=*/0, /*leak=*/0);
  EXPECT_EQ(Hoarder::prepared - before, 1);
}

TEST_F(RecyclingTest, AModelThatGivesItsMemoryBackIsNoReason) {
  SetUpProcess(v1::LocalConfig::PROCESS);
  Run(/*data=*/0, /*leak=*/0);
  // What is read of it cannot be left out by a compiler.
  volatile char last = Allocate(750).back();
  EXPECT_EQ(last, 1);
  EXPECT_THAT(Run(/*data=*/0, /*leak=*/1).recycle_because(), IsEmpty());
}

TEST_F(RecyclingTest, InTheHeadsProcessNothingIsReplaced) {
  SetUpProcess(v1::LocalConfig::IN_PROCESS);
  EXPECT_THAT(Run(/*data=*/0, /*leak=*/750).recycle_because(), IsEmpty());
}

}  // namespace
}  // namespace lanista
