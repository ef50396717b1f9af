// What the Classification evaluator costs: one epoch of the space `mnist_cnn` on synthetic digits, built by the direct
// engine and trained by the evaluator, against the same loop written by hand in plain LibTorch. Same seeds, one core
// for everything (the loader's thread too), rounds interleaved; each round begins with another one.
//
// The evaluator's optimizer is quicker than LibTorch's Adam. So there are two loops by hand: one with LibTorch's Adam,
// which is what people write, and one with our optimizer, which leaves the cost of everything else.
//
// Figures, medians of the rounds: slowdown (seconds of the evaluator / by hand with LibTorch's Adam),
// slowdown_same_optimizer (the same with our optimizer by hand); losses_identical (1 if every epoch's losses and all
// final weights of the three are the same bit for bit, and also with checkpoints and without).
//
// checkpoint_slowdown: an epoch that ends with a checkpoint / one that does not. Nothing is written after the last
// epoch; so these are runs of two. What the checkpoint costs is the time from the report of the first epoch to the
// first batch of the second, less that of a run without: a small part of an epoch would be lost in how long epochs
// differ. The checkpoint is written to the disk of the temporary folder (TMPDIR), and synced.
//
//   bazel run -c opt //bench:training_loop -- [--quick]
#include <ATen/Parallel.h>
#include <torch/nn/functional/loss.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/dropout.h>
#include <torch/nn/modules/linear.h>
#include <torch/optim/adam.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bench/harness.h"
#include "engines/model_builder.h"
#include "src/base/hash.h"
#include "src/data/dataset.h"
#include "src/data/random.h"
#include "src/evaluators/evaluator.h"
#include "src/evaluators/optimizer.h"
#include "src/nn/model.h"
#include "src/space/space.h"

namespace lanista {
namespace {

using bench::CheckOk;
using bench::Median;
using bench::Stopwatch;
using bench::TempFolder;
using bench::ValueOrDie;

constexpr uint64_t kModelSeed = 1;
constexpr uint64_t kOrderSeed = 2;
constexpr int kBatchSize = 100;

struct Size {
  int rounds;
  int train_samples;
  int validation_samples;
  int epochs;
};

// What one training run came to.
struct Result {
  double seconds = 0;
  // Of each epoch: training and validation loss.
  std::vector<double> losses;
  std::vector<torch::Tensor> weights;
  // Between the report of the first epoch and the next batch, if there is one.
  double between_epochs = 0;
};

// A trial of the first model of `mnist_cnn`; without a checkpoint folder none are written.
class BenchTrial : public TrialContext {
 public:
  BenchTrial(ModelBuilder& builder, const v1::SpaceConfig& space, const v1::Sample& sample,
             std::string checkpoint_folder = "")
      : builder_(builder), space_(space), sample_(sample), checkpoint_folder_(std::move(checkpoint_folder)) {}

  std::shared_ptr<nn::Model> model() override {
    if (model_ == nullptr) {
      torch::manual_seed(kModelSeed);
      model_ = ValueOrDie(builder_.Build(space_, sample_, kModelSeed)).model;
    }
    return model_;
  }
  const v1::Sample& sample() const override { return sample_; }
  c10::Device device() const override { return c10::kCPU; }
  uint64_t seed() const override { return kModelSeed; }
  uint64_t order_seed() const override { return kOrderSeed; }
  std::string output_folder() override { return "."; }
  std::string checkpoint_folder() override { return checkpoint_folder_; }
  // Asked before each batch.
  bool canceled() const override {
    if (reported_.has_value() && between_epochs == 0) between_epochs = reported_->Seconds();
    return false;
  }
  void ReportIntermediate(const MetricMap& metrics) override {
    if (!reported_.has_value()) reported_.emplace();
    losses.push_back(metrics.at("train_loss"));
    losses.push_back(metrics.at("loss"));
  }
  void ReportFinal(const MetricMap&) override {}

  std::vector<double> losses;
  mutable double between_epochs = 0;

 private:
  ModelBuilder& builder_;
  const v1::SpaceConfig& space_;
  const v1::Sample& sample_;
  const std::string checkpoint_folder_;
  std::shared_ptr<nn::Model> model_;
  std::optional<Stopwatch> reported_;
};

// The same network without choices.
struct NetByHand : torch::nn::Module {
  torch::Tensor forward(torch::Tensor x) {
    x = torch::relu(conv1(x));
    x = torch::max_pool2d(conv2(x), 2);
    x = torch::flatten(dropout1(x), 1);
    x = fc2(dropout2(torch::relu(fc1(x))));
    return torch::log_softmax(x, 1);
  }

  torch::nn::Conv2d conv1 = register_module("conv1", torch::nn::Conv2d(1, 32, 3));
  torch::nn::Conv2d conv2 = register_module("conv2", torch::nn::Conv2d(32, 64, 3));
  torch::nn::Dropout dropout1 = register_module("dropout1", torch::nn::Dropout(0.25));
  torch::nn::Dropout dropout2 = register_module("dropout2", torch::nn::Dropout(0.5));
  torch::nn::Linear fc1 = register_module("fc1", torch::nn::Linear(9216, 64));
  torch::nn::Linear fc2 = register_module("fc2", torch::nn::Linear(64, 10));
};

// LibTorch's class and ours, under the same names.
struct LibTorchAdam {
  explicit LibTorchAdam(const std::vector<torch::Tensor>& parameters)
      : adam(parameters, torch::optim::AdamOptions(0.001)) {}
  void ZeroGrad() { adam.zero_grad(); }
  void Step() { adam.step(); }
  torch::optim::Adam adam;
};

struct OurAdam : Optimizer {
  explicit OurAdam(const std::vector<torch::Tensor>& parameters) : Optimizer(Config(), parameters) {}
  static v1::OptimizerConfig Config() {
    v1::OptimizerConfig config;
    config.mutable_adam()->set_learning_rate(0.001);
    return config;
  }
};

template <typename Adam>
Result TrainByHand(const data::Example& train, const data::Example& validation, int epochs) {
  const Stopwatch stopwatch;
  Result result;
  torch::manual_seed(kModelSeed);
  const auto net = std::make_shared<NetByHand>();
  Adam optimizer(net->parameters());
  const int64_t train_samples = train.target.size(0);
  const int64_t validation_samples = validation.target.size(0);
  for (int epoch = 0; epoch < epochs; ++epoch) {
    net->train();
    const torch::Tensor order = torch::tensor(data::RandomPermutation(
        train_samples, MixSeed({kOrderSeed, StableHash("shuffle"), static_cast<uint64_t>(epoch)})));
    double train_loss = 0;
    for (int64_t begin = 0; begin < train_samples; begin += kBatchSize) {
      const torch::Tensor indices = order.slice(0, begin, begin + kBatchSize);
      const torch::Tensor loss = torch::nn::functional::cross_entropy(
          net->forward(train.input.index_select(0, indices)), train.target.index_select(0, indices));
      optimizer.ZeroGrad();
      loss.backward();
      optimizer.Step();
      train_loss += loss.item<double>() * static_cast<double>(indices.size(0));
    }
    result.losses.push_back(train_loss / static_cast<double>(train_samples));

    net->eval();
    const torch::NoGradGuard no_grad;
    double validation_loss = 0;
    int64_t correct = 0;
    for (int64_t begin = 0; begin < validation_samples; begin += 4 * kBatchSize) {
      const torch::Tensor target = validation.target.slice(0, begin, begin + 4 * kBatchSize);
      const torch::Tensor scores = net->forward(validation.input.slice(0, begin, begin + 4 * kBatchSize));
      const torch::Tensor loss = torch::nn::functional::cross_entropy(scores, target);
      validation_loss += loss.item<double>() * static_cast<double>(target.size(0));
      correct += scores.argmax(1).eq(target).sum().item<int64_t>();
    }
    result.losses.push_back(validation_loss / static_cast<double>(validation_samples));
  }
  result.weights = net->parameters();
  result.seconds = stopwatch.Seconds();
  return result;
}

Result TrainByEvaluator(Evaluator& evaluator, BenchTrial trial) {
  const Stopwatch stopwatch;
  CheckOk(evaluator.Evaluate(trial));
  return Result{stopwatch.Seconds(), trial.losses, trial.model()->parameters(), trial.between_epochs};
}

bool Identical(const Result& a, const Result& b) {
  return a.losses == b.losses && std::equal(a.weights.begin(), a.weights.end(), b.weights.begin(), b.weights.end(),
                                            [](const auto& x, const auto& y) { return torch::equal(x, y); });
}

void RunBench(const Size& size) {
  torch::set_num_threads(1);
  v1::EvaluatorConfig config;
  v1::ClassificationConfig& classification = *config.mutable_classification();
  auto& digits = *classification.mutable_dataset()->mutable_synthetic_digits();
  digits.set_train_samples(size.train_samples);
  digits.set_validation_samples(size.validation_samples);
  classification.set_batch_size(kBatchSize);
  classification.set_max_epochs(size.epochs);
  const auto evaluator = ValueOrDie(EvaluatorRegistry::Get().Create(config));
  CheckOk(evaluator->Prepare(kOrderSeed));
  // With the default interval of checkpoints.
  classification.set_max_epochs(2);
  const auto two_epochs = ValueOrDie(EvaluatorRegistry::Get().Create(config));
  CheckOk(two_epochs->Prepare(kOrderSeed));
  const TempFolder folder;
  const std::string checkpoint = folder.path() + "/checkpoint";
  const data::DataSplits splits = ValueOrDie(data::OpenDataset(classification.dataset(), kOrderSeed));

  v1::EngineConfig engine;
  engine.mutable_direct();
  const auto builder = ValueOrDie(ModelBuilderRegistry::Get().Create(engine));
  v1::SpaceConfig space;
  space.set_registered("mnist_cnn");
  const v1::Sample sample = ValueOrDie(Space::FromProto(ValueOrDie(builder->Discover(space, {})))).First();

  const data::Example& train = *splits.train->InMemory();
  const data::Example& validation = *splits.validation->InMemory();
  enum { kEvaluator, kLibTorchAdam, kOurAdam, kWithCheckpoint, kWithoutCheckpoint, kLoops };
  const std::function<Result()> loops[kLoops] = {
      [&] { return TrainByEvaluator(*evaluator, BenchTrial(*builder, space, sample)); },
      [&] { return TrainByHand<LibTorchAdam>(train, validation, size.epochs); },
      [&] { return TrainByHand<OurAdam>(train, validation, size.epochs); },
      [&] {
        std::filesystem::remove(checkpoint);
        Result result = TrainByEvaluator(*two_epochs, BenchTrial(*builder, space, sample, folder.path()));
        if (!std::filesystem::exists(checkpoint)) CheckOk(absl::InternalError("no checkpoint was written"));
        return result;
      },
      [&] { return TrainByEvaluator(*two_epochs, BenchTrial(*builder, space, sample)); }};
  std::printf("%5s %12s %12s %8s %12s %8s %14s %12s %8s\n", "round", "evaluator, s", "by hand, s", "ratio",
              "our Adam, s", "ratio", "checkpoint, s", "epoch, s", "ratio");
  bool identical = true;
  std::vector<double> slowdowns;
  std::vector<double> slowdowns_same_optimizer;
  std::vector<double> checkpoint_slowdowns;
  // Round 0 warms up.
  for (int round = 0; round <= size.rounds; ++round) {
    Result results[kLoops];
    for (int turn = 0; turn < kLoops; ++turn) {
      const int loop = (round + turn) % kLoops;
      results[loop] = loops[loop]();
    }
    identical = identical && Identical(results[kEvaluator], results[kLibTorchAdam]) &&
                Identical(results[kEvaluator], results[kOurAdam]) &&
                Identical(results[kWithCheckpoint], results[kWithoutCheckpoint]);
    if (round == 0) continue;
    slowdowns.push_back(results[kEvaluator].seconds / results[kLibTorchAdam].seconds);
    slowdowns_same_optimizer.push_back(results[kEvaluator].seconds / results[kOurAdam].seconds);
    const double epoch = results[kWithoutCheckpoint].seconds / 2;
    const double cost = results[kWithCheckpoint].between_epochs - results[kWithoutCheckpoint].between_epochs;
    checkpoint_slowdowns.push_back(1 + cost / epoch);
    std::printf("%5d %12.4f %12.4f %8.4f %12.4f %8.4f %14.4f %12.4f %8.4f\n", round, results[kEvaluator].seconds,
                results[kLibTorchAdam].seconds, slowdowns.back(), results[kOurAdam].seconds,
                slowdowns_same_optimizer.back(), cost, epoch, checkpoint_slowdowns.back());
  }
  std::printf("a checkpoint has %.1f MB\n", static_cast<double>(std::filesystem::file_size(checkpoint)) / 1e6);
  std::printf("losses and weights %s\n", identical ? "identical" : "DIFFER");
  std::printf(
      "{\"bench\": \"training_loop\", \"figures\": {\"slowdown\": %.4f, \"slowdown_same_optimizer\": %.4f, "
      "\"checkpoint_slowdown\": %.4f, \"losses_identical\": %d}}\n",
      Median(slowdowns), Median(slowdowns_same_optimizer), Median(checkpoint_slowdowns), identical ? 1 : 0);
}

}  // namespace
}  // namespace lanista

int main(int argc, char** argv) {
  const bool quick = argc == 2 && std::strcmp(argv[1], "--quick") == 0;
  if (argc > 1 && !quick) {
    std::fprintf(stderr, "usage: training_loop [--quick]\n");
    return 2;
  }
  lanista::bench::UseOneCore(argv);
  lanista::RunBench(quick ? lanista::Size{3, 500, 200, 1} : lanista::Size{9, 1500, 500, 1});
  return 0;
}
