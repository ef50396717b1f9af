// Trials that go on from a checkpoint: whatever was lost, and wherever, the results are those of an undisturbed one,
// bit for bit.
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/dropout.h>
#include <torch/nn/modules/linear.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "src/base/read_file.h"
#include "src/data/custom.h"
#include "src/evaluators/functional.h"
#include "src/exporters/graph_formats_torch.h"
#include "src/graph/builder.h"
#include "src/graph/registered_graphs.h"
#include "src/nn/nn.h"
#include "src/ops/registry.h"
#include "src/runtime/graph_module_torch.h"
#include "src/trial/runner.h"

namespace lanista {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Images that are read one by one. All are read by the trial's own thread (loader_threads: 0).
class Images : public data::Dataset {
 public:
  Images(uint64_t seed, int64_t count, data::Task task) : count_(count) {
    torch::manual_seed(seed);
    inputs_ = torch::randn({count, 1, 6, 6});
    targets_ = task == data::Task::kRegression ? torch::randn({count, 3}) : torch::randint(3, {count}, at::kLong);
  }

  int64_t size() const override { return count_; }
  absl::StatusOr<data::Example> Get(int64_t index) const override {
    // As a trial process ends that is killed: in the middle of anything.
    if (reads == stop_at) return absl::InvalidArgumentError("killed");
    // So long that another checkpoint is due.
    if (reads++ % 8 == 0) std::this_thread::sleep_for(std::chrono::microseconds(1100));
    return data::Example{inputs_[index], targets_[index]};
  }

  // So far, and how many there are at most.
  static int64_t reads, stop_at;

 private:
  const int64_t count_;
  torch::Tensor inputs_, targets_;
};
int64_t Images::reads = 0;
int64_t Images::stop_at = -1;

// Five training batches and two of validation, of eight samples each.
constexpr int64_t kReadsPerEpoch = 56;
constexpr int64_t kEpochs = 4;

absl::StatusOr<data::DataSplits> MakeImages(const Params&, const data::DatasetRequest& request) {
  data::DataSplits splits;
  splits.task = request.task.value_or(data::Task::kClassification);
  splits.train = std::make_shared<Images>(1, 40, splits.task);
  splits.validation = std::make_shared<Images>(2, 16, splits.task);
  splits.input_shape = {1, 6, 6};
  splits.outputs = 3;
  return splits;
}
LANISTA_REGISTER(dataset, "images", MakeImages);

// Convolution, batch normalisation and dropout.
class ConvSpace : public nn::ModelSpace {
 public:
  ConvSpace() {
    const int64_t width = nn::ValueChoice({4, 6}, "width");
    conv_ = register_module("conv", torch::nn::Conv2d(torch::nn::Conv2dOptions(1, width, 3)));
    norm_ = register_module("norm", torch::nn::BatchNorm2d(width));
    drop_ = register_module("drop", torch::nn::Dropout(0.3));
    output_ = register_module("output", torch::nn::Linear(width * 16, 3));
  }
  torch::Tensor forward(torch::Tensor x) override { return output_(drop_(torch::relu(norm_(conv_(x)))).flatten(1)); }

 private:
  torch::nn::Conv2d conv_{nullptr};
  torch::nn::BatchNorm2d norm_{nullptr};
  torch::nn::Dropout drop_{nullptr};
  torch::nn::Linear output_{nullptr};
};
LANISTA_REGISTER(model_space, "conv", nn::MakeModelSpace<ConvSpace>);

// Some weights are no parameters of any step for a while, a mean teacher is moved by hand, one tensor has two names.
class OddSpace : public nn::ModelSpace {
 public:
  OddSpace() {
    nn::ValueChoice({4, 6}, "width");
    first_ = register_module("first", torch::nn::Linear(36, 3));
    again_ = register_module("again", first_.ptr());
    second_ = register_module("second", torch::nn::Linear(36, 3));
    teacher_ = register_parameter("teacher", torch::zeros({3}), /*requires_grad=*/false);
    constant_ = register_parameter("constant", torch::rand({3}), /*requires_grad=*/false);
    batches_ = register_buffer("batches", torch::zeros({}, at::kLong));
  }
  torch::Tensor forward(torch::Tensor x) override {
    x = x.flatten(1);
    torch::Tensor scores = first_(x);
    if (is_training()) {
      // Not in the first batches, and later not in each.
      const auto batch = batches_.item<int64_t>();
      if (batch > 6 && batch % 2 == 0) scores = scores + second_(x);
      batches_.add_(1);
      teacher_.data().mul_(0.9).add_(first_->bias.data(), 0.1);
    }
    return scores + teacher_ + constant_;
  }

 private:
  torch::nn::Linear first_{nullptr}, again_{nullptr}, second_{nullptr};
  torch::Tensor teacher_, constant_, batches_;
};
LANISTA_REGISTER(model_space, "odd", nn::MakeModelSpace<OddSpace>);

// The same kind of network as a graph.
absl::StatusOr<v1::ModelGraph> ConvGraph(const Params&) {
  using graph::MakeOp;
  graph::Builder net("Net", ops::FindOp);
  graph::Handle x = net.Input("x", graph::TensorType(v1::Tensor::FLOAT32, {-1, 1, 6, 6}));
  x = net.Add("conv", MakeOp("Conv2d", {{"in_channels", 1}, {"out_channels", 4}, {"kernel_size", 3}}), {x});
  x = net.Add("bn", MakeOp("BatchNorm2d", {{"num_features", 4}}), {x});
  x = net.Add("relu", MakeOp("ReLU", {{"inplace", true}}), {x});
  x = net.Add("flatten", MakeOp("Flatten"), {x});
  x = net.Add("drop", MakeOp("Dropout", {{"p", 0.3}}), {x});
  net.Output(net.Add("fc", MakeOp("Linear", {{"in_features", 64}, {"out_features", 3}}), {x}));
  return std::move(net).Build();
}
LANISTA_REGISTER(graph_space, "conv_graph", ConvGraph);

// A user's evaluator: counts to five, keeps how far it came, and dies at three unless it goes on.
void Count(TrialContext& context) {
  const std::string file = context.checkpoint_folder() + "/done";
  int done = 0;
  if (context.resumed()) std::ifstream(file) >> done;
  for (int step = 0; step < 5; ++step) {
    if (step >= done) {
      if (step == 3 && !context.resumed()) throw std::runtime_error("killed");
      std::ofstream(file) << step + 1;
    }
    context.ReportIntermediate(step);
  }
  context.ReportFinal(5 - done);
}
LANISTA_REGISTER(evaluator, "count", Count);

class CheckpointTest : public ::testing::Test {
 protected:
  using Metrics = std::map<std::string, double>;

  // What the journal has of a model.
  struct Journal {
    std::vector<Metrics> steps;
    Metrics final;
    std::string weights;

    bool operator==(const Journal& other) const {
      return steps == other.steps && final == other.final && weights == other.weights;
    }
  };

  // What an attempt reports.
  struct Attempt {
    int resumed_steps = 0;
    // By number.
    std::map<int, Metrics> steps;
    v1::ModelEnded end;
  };

  CheckpointTest() : folder_(testing::TempDir() + "/checkpoints") {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    v1::TrialRequest request;
    request.mutable_setup()->mutable_device()->set_kind(v1::DeviceKind::CPU);
    request.mutable_setup()->mutable_device()->set_threads(1);
    runner_.Handle(request);
    spec_.set_experiment("e");
    spec_.set_order_seed(3);
    spec_.set_keep_weights(true);
    Images::stop_at = -1;
  }

  void Prepare(const std::string& engine, const std::string& space, const std::string& evaluator = "") {
    spec_.clear_engine();
    spec_.clear_space();
    spec_.clear_evaluator();
    ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(engine, spec_.mutable_engine()));
    ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(space, spec_.mutable_space()));
    SetEvaluator(evaluator);
    v1::TrialRequest request;
    *request.mutable_discover()->mutable_space() = spec_.space();
    *request.mutable_discover()->mutable_engine() = spec_.engine();
    *request.mutable_discover()->mutable_evaluator() = spec_.evaluator();
    runner_.Handle(request);
    const v1::Discovered& discovered = events_.back().discovered();
    ASSERT_FALSE(discovered.has_error()) << discovered.error().message();
    spec_.set_program(discovered.program());
    spec_.set_space_fingerprint(discovered.space().fingerprint());
    *spec_.mutable_space_files() = discovered.space().files();
  }

  // An evaluator with these fields; a checkpoint is due before each batch.
  void SetEvaluator(const std::string& fields, const std::string& kind = "classification") {
    ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(
        absl::StrCat(kind,
                     " { dataset { custom { name: 'images' } } augmentation { random_flip {} } "
                     "batch_size: 8 validation_batch_size: 8 loader_threads: 0 export_onnx: false max_epochs: ",
                     kEpochs, " checkpoint { interval { nanos: 1000000 } } ", fields, "}"),
        spec_.mutable_evaluator()));
  }

  v1::TrialModel Model(int ordinal) const {
    v1::TrialModel model;
    model.set_model(ordinal);
    model.set_attempt(1);
    model.set_model_seed(static_cast<uint64_t>(100 + ordinal));
    if (spec_.engine().has_graph() || spec_.space().registered() == "conv_graph" || spec_.space().has_torchscript()) {
      return model;
    }
    v1::Decision& width = *model.mutable_sample()->add_decisions();
    width.set_label("width");
    width.add_index(ordinal % 2);
    width.add_value()->set_i(ordinal % 2 == 0 ? 4 : 6);
    return model;
  }

  std::string CheckpointFolder(int model) const { return absl::StrCat(folder_, "/", model, "/left"); }
  std::string CheckpointFile(int model) const { return CheckpointFolder(model) + "/checkpoint"; }
  std::string WeightsFile(int model) const { return absl::StrCat(folder_, "/", model, "/out/weights.pt"); }

  // Runs a trial that is killed when so many samples were read (-1: never).
  std::map<int, Attempt> Run(std::vector<v1::TrialModel> models, int64_t stop_at = -1) {
    v1::TrialRequest request;
    *request.mutable_run() = spec_;
    for (v1::TrialModel& model : models) {
      model.set_output_folder(absl::StrCat(folder_, "/", model.model(), "/out"));
      *request.mutable_run()->add_models() = model;
    }
    events_.clear();
    Images::reads = 0;
    Images::stop_at = stop_at;
    runner_.Handle(request);
    EXPECT_TRUE(events_.back().has_ended());
    std::map<int, Attempt> attempts;
    for (const v1::TrialEvent& event : events_) {
      if (!event.has_model()) continue;
      Attempt& attempt = attempts[event.model().model()];
      if (event.model().has_started()) attempt.resumed_steps = event.model().started().resumed_steps();
      if (event.model().has_ended()) attempt.end = event.model().ended();
      if (!event.model().has_intermediate()) continue;
      const auto& values = event.model().intermediate().metrics().values();
      EXPECT_TRUE(
          attempt.steps.emplace(event.model().intermediate().step(), Metrics(values.begin(), values.end())).second)
          << "a step is reported once";
    }
    return attempts;
  }

  // The same where models leave checkpoints, and are told how many of their steps are in their journals.
  std::map<int, Attempt> RunWithCheckpoints(std::vector<v1::TrialModel> models, int64_t stop_at = -1) {
    for (v1::TrialModel& model : models) {
      model.set_checkpoint_folder(CheckpointFolder(model.model()));
      model.set_reported_steps(static_cast<int>(journals_[model.model()].steps.size()));
    }
    std::map<int, Attempt> attempts = Run(std::move(models), stop_at);
    for (const auto& [model, attempt] : attempts) Record(model, attempt);
    return attempts;
  }

  // As the head does: steps before resumed_steps are those that were recorded, the others this attempt's.
  void Record(int model, const Attempt& attempt) {
    Journal& journal = journals_[model];
    ASSERT_LE(static_cast<size_t>(attempt.resumed_steps), journal.steps.size());
    journal.steps.resize(static_cast<size_t>(attempt.resumed_steps));
    for (const auto& [step, metrics] : attempt.steps) {
      ASSERT_EQ(static_cast<size_t>(step), journal.steps.size()) << "without gaps, and none twice";
      journal.steps.push_back(metrics);
    }
    journal.final.clear();
    if (attempt.end.outcome() != v1::ModelEnded::SUCCEEDED) return;
    const auto& values = attempt.end.metrics().values();
    journal.final.insert(values.begin(), values.end());
    journal.weights = ReadWholeFile(WeightsFile(model), 1 << 30).value_or("(none)");
  }

  // What an undisturbed trial of the model alone, without checkpoints, reports.
  Journal Undisturbed(const v1::TrialModel& model) {
    journals_.clear();
    const Attempt attempt = Run({model})[model.model()];
    EXPECT_EQ(attempt.end.outcome(), v1::ModelEnded::SUCCEEDED) << attempt.end.failure().message();
    Record(model.model(), attempt);
    const Journal journal = journals_[model.model()];
    EXPECT_EQ(journal.steps.size(), static_cast<size_t>(kEpochs));
    Metrics of_training = journal.final;
    for (const char* const known_before : {"params", "flops"}) of_training.erase(known_before);
    EXPECT_EQ(of_training, journal.steps.back());
    Forget();
    return journal;
  }

  // No model has a journal or a checkpoint any more.
  void Forget() {
    journals_.clear();
    for (const auto& entry : fs::directory_iterator(folder_)) {
      if (entry.is_directory()) fs::remove_all(entry.path() / "left");
    }
  }

  // A trial of the model that is killed there; then its second attempt, and what it wrote to stderr.
  Attempt KillAndResume(
      const v1::TrialModel& model, int64_t stop_at, const std::function<void()>& between = [] {}) {
    Forget();
    EXPECT_EQ(RunWithCheckpoints({model}, stop_at)[model.model()].end.outcome(), v1::ModelEnded::FAILED);
    between();
    testing::internal::CaptureStderr();
    const Attempt second = RunWithCheckpoints({model})[model.model()];
    said_ = testing::internal::GetCapturedStderr();
    EXPECT_EQ(second.end.outcome(), v1::ModelEnded::SUCCEEDED) << second.end.failure().message();
    return second;
  }

  const std::string folder_;
  v1::TrialSpec spec_;
  std::map<int, Journal> journals_;
  std::string said_;
  std::vector<v1::TrialEvent> events_;
  TrialRunner runner_{[this](const v1::TrialEvent& event) { events_.push_back(event); }, /*redirect_output=*/false};
};

TEST_F(CheckpointTest, AModelGoesOnBitForBitWhereverItWasKilled) {
  const struct {
    const char *engine, *space, *evaluator;
  } kCases[] = {
      {"direct {}", "registered: 'conv'", "optimizer { adam { learning_rate: 0.01 } } schedule { cosine {} }"},
      {"direct {}", "registered: 'conv'",
       "optimizer { sgd { learning_rate: 0.1 momentum: 0.9 weight_decay: 0.01 } } schedule { step { step_size: 2 } }"},
      {"graph {}", "registered: 'conv_graph'",
       "optimizer { adamw { learning_rate: 0.01 amsgrad: true } } gradient_clipping { max_norm: 1 }"},
      {"direct {}", "registered: 'odd'", "optimizer { adam { learning_rate: 0.01 weight_decay: 0.1 } }"},
      {"cgo {}", "registered: 'odd'", "optimizer { rmsprop { centered: true momentum: 0.5 } }"},
  };
  for (const auto& one : kCases) {
    SCOPED_TRACE(absl::StrCat(one.space, " ", one.evaluator));
    Prepare(one.engine, one.space, one.evaluator);
    const v1::TrialModel model = Model(1);
    const Journal undisturbed = Undisturbed(model);
    // A prime, to be killed at all places of an epoch, in validation too.
    for (int64_t stop_at = 9; stop_at < kEpochs * kReadsPerEpoch; stop_at += 37) {
      SCOPED_TRACE(absl::StrCat("killed after ", stop_at, " samples"));
      const Attempt second = KillAndResume(model, stop_at);
      EXPECT_EQ(journals_[1], undisturbed);
      EXPECT_EQ(said_, "");
      EXPECT_LE(second.resumed_steps, stop_at / kReadsPerEpoch);
      EXPECT_EQ(second.resumed_steps + static_cast<int>(second.steps.size()), kEpochs);
      // It had a checkpoint of at most a few batches before.
      EXPECT_LT(Images::reads, kEpochs * kReadsPerEpoch - stop_at + 3 * 8 + 16);
    }
  }
}

TEST_F(CheckpointTest, ItGoesOnAsOftenAsItIsKilled) {
  Prepare("direct {}", "registered: 'conv'", "optimizer { adam { learning_rate: 0.01 } }");
  const v1::TrialModel model = Model(2);
  const Journal undisturbed = Undisturbed(model);
  int attempts = 1;
  while (RunWithCheckpoints({model}, 29)[2].end.outcome() != v1::ModelEnded::SUCCEEDED) ASSERT_LT(++attempts, 30);
  EXPECT_GT(attempts, 3);
  EXPECT_EQ(journals_[2], undisturbed);
}

TEST_F(CheckpointTest, RegressionGoesOnAsWell) {
  Prepare("direct {}", "registered: 'conv'");
  spec_.clear_evaluator();
  SetEvaluator("", "regression");
  const Journal undisturbed = Undisturbed(Model(1));
  EXPECT_GT(undisturbed.final.count("r2"), 0u);
  for (const int64_t stop_at : {30, 100, 215}) {
    KillAndResume(Model(1), stop_at);
    EXPECT_EQ(journals_[1], undisturbed);
    EXPECT_LT(Images::reads, kEpochs * kReadsPerEpoch - 8);
  }
}

TEST_F(CheckpointTest, StepsAreReportedOnceWhateverTheJournalHasOfThem) {
  Prepare("direct {}", "registered: 'conv'");
  const Journal undisturbed = Undisturbed(Model(1));
  // In the fourth epoch: three are behind the checkpoint.
  for (const size_t in_journal : {0, 1, 2, 3}) {
    const Attempt second =
        KillAndResume(Model(1), 3 * kReadsPerEpoch + 20, [&] { journals_[1].steps.resize(in_journal); });
    EXPECT_EQ(second.resumed_steps, static_cast<int>(in_journal));
    EXPECT_EQ(second.steps.size(), kEpochs - in_journal) << "lost steps come from the checkpoint";
    EXPECT_EQ(journals_[1], undisturbed);
    EXPECT_LT(Images::reads, kReadsPerEpoch);
  }
  // A checkpoint of the second epoch, while the journal has all steps of an attempt that came further.
  Forget();
  RunWithCheckpoints({Model(1)}, kReadsPerEpoch + 20);
  const fs::path kept = folder_ + "/kept";
  fs::copy_file(CheckpointFile(1), kept);
  RunWithCheckpoints({Model(1)}, 2 * kReadsPerEpoch);
  ASSERT_EQ(journals_[1].steps.size(), 3u);
  fs::copy_file(kept, CheckpointFile(1), fs::copy_options::overwrite_existing);
  const Attempt third = RunWithCheckpoints({Model(1)})[1];
  EXPECT_EQ(third.resumed_steps, 3);
  EXPECT_THAT(third.steps, ElementsAre(testing::Key(3)));
  EXPECT_GT(Images::reads, 2 * kReadsPerEpoch) << "it did come from the second epoch";
  EXPECT_EQ(journals_[1], undisturbed);
  fs::remove(kept);
}

TEST_F(CheckpointTest, MergedModelsGoOnTogetherAndAlone) {
  for (const char* const space : {"registered: 'conv'", "registered: 'odd'", "registered: 'conv_graph'"}) {
    SCOPED_TRACE(space);
    Prepare("cgo {}", space, "optimizer { adam { learning_rate: 0.01 } } schedule { cosine {} }");
    const std::vector<v1::TrialModel> models = {Model(1), Model(2), Model(3)};
    std::map<int, Journal> undisturbed;
    for (const v1::TrialModel& model : models) undisturbed[model.model()] = Undisturbed(model);
    const auto check = [&] {
      for (const auto& [model, journal] : undisturbed) EXPECT_EQ(journals_[model], journal) << "model " << model;
    };
    for (const int64_t stop_at : {46, 150}) {
      SCOPED_TRACE(absl::StrCat("killed after ", stop_at, " samples"));
      // Together.
      Forget();
      RunWithCheckpoints(models, stop_at);
      RunWithCheckpoints(models);
      check();
      EXPECT_LT(Images::reads, kEpochs * kReadsPerEpoch - stop_at + 40);
      // Each alone.
      Forget();
      RunWithCheckpoints(models, stop_at);
      for (const v1::TrialModel& model : models) {
        RunWithCheckpoints({model});
        EXPECT_LT(Images::reads, kEpochs * kReadsPerEpoch - stop_at + 40);
      }
      check();
      // Two that were alone, from different places, and one from the beginning; killed once more together.
      Forget();
      RunWithCheckpoints({models[0]}, stop_at);
      RunWithCheckpoints({models[1]}, stop_at / 2);
      RunWithCheckpoints(models, 130);
      RunWithCheckpoints(models);
      check();
    }
  }
}

TEST_F(CheckpointTest, AModelWhoseEpochHasNotBegunWaitsForOneThatIsBehind) {
  Prepare("cgo {}", "registered: 'conv'", "optimizer { adam { learning_rate: 0.01 } }");
  const std::vector<v1::TrialModel> models = {Model(1), Model(2)};
  const Journal first = Undisturbed(models[0]);
  const Journal second = Undisturbed(models[1]);
  // Its last checkpoint is that of the first epoch's end.
  EXPECT_EQ(RunWithCheckpoints({models[1]}, kReadsPerEpoch + 4)[2].end.outcome(), v1::ModelEnded::FAILED);
  EXPECT_EQ(journals_[2].steps.size(), 1u);
  EXPECT_EQ(RunWithCheckpoints(models)[2].resumed_steps, 1);
  EXPECT_EQ(journals_[1], first);
  EXPECT_EQ(journals_[2], second);
}

TEST_F(CheckpointTest, FrozenWeightsThatModelsShareAreNotInTheirCheckpoints) {
  // The graph's weights as a file.
  Prepare("graph {}", "registered: 'conv_graph'");
  torch::manual_seed(1);
  const auto net = runtime::GraphModule::Create(*ConvGraph(Params()), {});
  ASSERT_TRUE(net.ok()) << net.status();
  ASSERT_TRUE(exporters::WriteModel(**net, "torchscript", folder_ + "/net").ok());
  Prepare("cgo {}", absl::StrCat("torchscript { path: '", folder_, "/net.pt' } frozen { target: 'conv' }"));
  const std::vector<v1::TrialModel> models = {Model(1), Model(2)};
  const Journal first = Undisturbed(models[0]);
  const Journal second = Undisturbed(models[1]);
  RunWithCheckpoints(models, 100);
  const std::string file = ReadWholeFile(CheckpointFile(1), 1 << 30).value_or("");
  EXPECT_THAT(file, HasSubstr("fc.weight"));
  EXPECT_THAT(file, testing::Not(HasSubstr("conv.weight")));
  RunWithCheckpoints(models);
  EXPECT_EQ(journals_[1], first);
  EXPECT_EQ(journals_[2], second);
}

TEST_F(CheckpointTest, WhatIsDamagedIsIgnoredWithAWarning) {
  Prepare("direct {}", "registered: 'conv'");
  const Journal undisturbed = Undisturbed(Model(1));
  const auto begins_anew_after = [&](const std::function<void(const std::string& path)>& damage) {
    const Attempt second = KillAndResume(Model(1), 100, [&] { damage(CheckpointFile(1)); });
    EXPECT_EQ(second.resumed_steps, 0);
    EXPECT_EQ(second.steps.size(), static_cast<size_t>(kEpochs)) << "all are reported";
    EXPECT_EQ(journals_[1], undisturbed);
    EXPECT_THAT(said_, HasSubstr("model 1 begins anew, as its checkpoint cannot be used: "));
  };
  begins_anew_after([](const std::string& path) { fs::resize_file(path, fs::file_size(path) / 2); });
  begins_anew_after([](const std::string& path) { fs::resize_file(path, 0); });
  for (const double part : {0.02, 0.3, 0.6, 0.999}) {
    begins_anew_after([&](const std::string& path) {
      std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
      const auto at = static_cast<std::streamoff>(part * static_cast<double>(fs::file_size(path)));
      file.seekg(at);
      const int byte = file.get();
      file.seekp(at);
      file.put(static_cast<char>(byte ^ 0x10));
    });
  }
  begins_anew_after([](const std::string& path) { std::ofstream(path) << "PK\3\4 something of torch.save"; });
  begins_anew_after([](const std::string& path) {
    fs::remove(path);
    std::ofstream(path + ".other") << "something else";
  });
}

TEST_F(CheckpointTest, AnotherModelsIsIgnored) {
  Prepare("direct {}", "registered: 'conv'", "optimizer { sgd { momentum: 0.5 } }");
  const v1::TrialSpec mine = spec_;
  const v1::TrialModel model = Model(1);
  const auto is_foreign = [&](const std::function<void(v1::TrialSpec*, v1::TrialModel*)>& change) {
    spec_ = mine;
    v1::TrialModel other = model;
    Forget();
    RunWithCheckpoints({other}, 100);
    change(&spec_, &other);
    testing::internal::CaptureStderr();
    const Attempt attempt = RunWithCheckpoints({other})[1];
    EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("is of another model, configuration, program"));
    EXPECT_EQ(attempt.resumed_steps, 0);
    EXPECT_EQ(attempt.steps.size(), static_cast<size_t>(kEpochs));
  };
  is_foreign([](v1::TrialSpec*, v1::TrialModel* other) { other->set_model_seed(5); });
  is_foreign([this](v1::TrialSpec*, v1::TrialModel* other) { *other->mutable_sample() = Model(2).sample(); });
  is_foreign([](v1::TrialSpec* spec, v1::TrialModel*) { spec->set_order_seed(4); });
  is_foreign([](v1::TrialSpec* spec, v1::TrialModel*) {
    spec->mutable_evaluator()->mutable_classification()->mutable_optimizer()->mutable_sgd()->set_momentum(0.6);
  });
  is_foreign([](v1::TrialSpec* spec, v1::TrialModel*) { spec->set_deterministic(false); });
  is_foreign([](v1::TrialSpec* spec, v1::TrialModel*) { spec->set_space_fingerprint("another"); });
  spec_ = mine;
  // But it may be another experiment's, and the attempt another one.
  Forget();
  RunWithCheckpoints({model}, 100);
  spec_.set_experiment("f");
  v1::TrialModel again = model;
  again.set_attempt(7);
  EXPECT_EQ(RunWithCheckpoints({again})[1].resumed_steps, 1);
}

TEST_F(CheckpointTest, ACheckpointThatCannotBeWrittenCostsTheModelNothing) {
  Prepare("direct {}", "registered: 'conv'");
  const Journal undisturbed = Undisturbed(Model(1));
  fs::create_directories(folder_ + "/1");
  // Where its folder should be there is a file.
  std::ofstream(CheckpointFolder(1)) << "x";
  testing::internal::CaptureStderr();
  EXPECT_EQ(RunWithCheckpoints({Model(1)})[1].end.outcome(), v1::ModelEnded::SUCCEEDED);
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(journals_[1], undisturbed);
  const size_t warning = said.find("no checkpoint was written: ");
  EXPECT_NE(warning, std::string::npos) << said;
  EXPECT_EQ(said.find("no checkpoint was written: ", warning + 1), std::string::npos) << "said once: " << said;
}

TEST_F(CheckpointTest, WithoutAnIntervalThereAreNone) {
  Prepare("direct {}", "registered: 'conv'");
  const Journal undisturbed = Undisturbed(Model(1));
  spec_.mutable_evaluator()->mutable_classification()->mutable_checkpoint()->mutable_interval()->set_nanos(0);
  const Attempt second = KillAndResume(Model(1), 100);
  EXPECT_FALSE(fs::exists(CheckpointFolder(1)));
  EXPECT_EQ(second.resumed_steps, 0);
  EXPECT_EQ(said_, "");
  EXPECT_EQ(journals_[1], undisturbed);
}

TEST_F(CheckpointTest, WhatAKilledWriterLeftIsRemovedAndIsNoCheckpoint) {
  Prepare("direct {}", "registered: 'conv'");
  fs::create_directories(CheckpointFolder(1));
  const std::string unfinished = CheckpointFolder(1) + "/.lanista.123.4";
  std::ofstream(unfinished) << "half a checkpoint";
  testing::internal::CaptureStderr();
  const Attempt attempt = RunWithCheckpoints({Model(1)}, 20)[1];
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "") << "there was nothing to go on from";
  EXPECT_FALSE(fs::exists(unfinished));
  EXPECT_EQ(attempt.resumed_steps, 0);
}

TEST_F(CheckpointTest, AUsersEvaluatorHasAFolderThatOutlivesTheAttempt) {
  Prepare("direct {}", "registered: 'conv'");
  spec_.clear_evaluator();
  spec_.mutable_evaluator()->mutable_custom()->set_name("count");
  spec_.set_keep_weights(false);
  EXPECT_EQ(RunWithCheckpoints({Model(1)})[1].end.outcome(), v1::ModelEnded::FAILED);
  EXPECT_EQ(journals_[1].steps.size(), 3u);
  // The last report was lost with the head.
  journals_[1].steps.pop_back();
  const Attempt second = RunWithCheckpoints({Model(1)})[1];
  EXPECT_EQ(second.resumed_steps, 2);
  EXPECT_THAT(second.steps, ElementsAre(testing::Key(2), testing::Key(3), testing::Key(4)));
  EXPECT_EQ(second.end.metrics().values().at("default"), 2) << "the last two were left to do";

  Forget();
  journals_[2].steps.resize(2);
  const Attempt first = RunWithCheckpoints({Model(2)})[2];
  EXPECT_EQ(first.resumed_steps, 0) << "nothing was left there";
  EXPECT_THAT(first.steps, ElementsAre(testing::Key(0), testing::Key(1), testing::Key(2)));
}

TEST_F(CheckpointTest, ATrialWithoutAFolderKeepsNothing) {
  Prepare("direct {}", "registered: 'conv'");
  const Journal undisturbed = Undisturbed(Model(1));
  v1::TrialModel model = Model(1);
  model.set_reported_steps(2);
  const Attempt attempt = Run({model})[1];
  EXPECT_EQ(attempt.resumed_steps, 0);
  EXPECT_EQ(attempt.steps.size(), static_cast<size_t>(kEpochs));
}

}  // namespace
}  // namespace lanista
