#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <torch/nn/modules/activation.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/dropout.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/utils/clip_grad.h>
#include <torch/optim/adam.h>
#include <torch/optim/adamw.h>
#include <torch/optim/rmsprop.h>
#include <torch/optim/sgd.h>

#include <cmath>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"
#include "src/data/custom.h"
#include "src/data/loader.h"
#include "src/evaluators/functional.h"
#include "src/evaluators/optimizer.h"
#include "src/evaluators/training_options.h"
#include "tests/evaluators/fake_trial.h"

namespace lanista {
namespace {

using testing::AllOf;
using testing::DoubleNear;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;
using testing::StartsWith;
using testing::UnorderedElementsAre;

data::DataSplits MakeSplits(data::Task task, int64_t outputs, data::Example train, data::Example validation) {
  data::DataSplits splits;
  splits.input_shape = train.input.sizes().slice(1).vec();
  splits.train = data::MakeInMemoryDataset(std::move(train));
  splits.validation = data::MakeInMemoryDataset(std::move(validation));
  splits.task = task;
  splits.outputs = outputs;
  return splits;
}

// Fifty points in three dimensions, in four classes by chance.
absl::StatusOr<data::DataSplits> MakeCloud(const Params&, const data::DatasetRequest&) {
  torch::manual_seed(1);
  const data::Example cloud{torch::randn({50, 3}), torch::randint(4, {50}, at::kLong)};
  return MakeSplits(data::Task::kClassification, 4, cloud, cloud);
}
LANISTA_REGISTER(dataset, "cloud", MakeCloud);

// A hundred samples, ten of class 0, then ten of class 1, and so on; the inputs serve as scores and are right.
absl::StatusOr<data::DataSplits> MakeSorted(const Params&, const data::DatasetRequest&) {
  const torch::Tensor classes = torch::arange(10, at::kLong).repeat_interleave(10);
  const data::Example sorted{torch::one_hot(classes, 10).to(at::kFloat), classes};
  return MakeSplits(data::Task::kClassification, 10, sorted, sorted);
}
LANISTA_REGISTER(dataset, "sorted", MakeSorted);

// The third sample cannot be read.
class Unreadable : public data::Dataset {
 public:
  int64_t size() const override { return 4; }
  absl::StatusOr<data::Example> Get(int64_t index) const override {
    if (index == 2) return absl::InvalidArgumentError("third.png: corrupt");
    return data::Example{torch::zeros({3}), torch::zeros({}, at::kLong)};
  }
};
absl::StatusOr<data::DataSplits> MakeUnreadable(const Params&, const data::DatasetRequest&) {
  data::DataSplits splits;
  splits.train = splits.validation = std::make_shared<Unreadable>();
  splits.input_shape = {3};
  splits.outputs = 4;
  return splits;
}
LANISTA_REGISTER(dataset, "unreadable", MakeUnreadable);

// Four samples of three classes; the inputs serve as scores.
absl::StatusOr<data::DataSplits> MakeScores(const Params&, const data::DatasetRequest&) {
  const data::Example scores{
      torch::tensor({{3.0f, 2.0f, 1.0f}, {3.0f, 2.0f, 1.0f}, {1.0f, 2.0f, 3.0f}, {1.0f, 3.0f, 2.0f}}),
      torch::tensor({0, 1, 0, 1}, at::kLong)};
  return MakeSplits(data::Task::kClassification, 3, scores, scores);
}
LANISTA_REGISTER(dataset, "scores", MakeScores);

// Four samples of two numbers; the inputs serve as predictions.
absl::StatusOr<data::DataSplits> MakePredictions(const Params&, const data::DatasetRequest&) {
  const data::Example predictions{torch::tensor({{1.0f, 7.0f}, {2.0f, 7.0f}, {3.0f, 7.0f}, {5.0f, 8.0f}}),
                                  torch::tensor({{1.0f, 7.0f}, {2.0f, 7.0f}, {4.0f, 7.0f}, {5.0f, 7.0f}})};
  return MakeSplits(data::Task::kRegression, 2, predictions, predictions);
}
LANISTA_REGISTER(dataset, "predictions", MakePredictions);

// Returns its input; its only parameter has no influence.
class Echo : public nn::Model {
 public:
  torch::Tensor forward(torch::Tensor input) override { return input + 0 * nothing_; }

 private:
  torch::Tensor nothing_ = register_parameter("nothing", torch::zeros({1}));
};

std::shared_ptr<nn::Model> MakeEcho() { return std::make_shared<Echo>(); }

std::shared_ptr<nn::Model> MakeMlp(int64_t inputs, int64_t outputs) {
  return std::make_shared<SequentialModel>(torch::nn::Sequential(torch::nn::Flatten(), torch::nn::Linear(inputs, 32),
                                                                 torch::nn::ReLU(), torch::nn::Dropout(0.1),
                                                                 torch::nn::Linear(32, outputs)));
}

TEST(EvaluatorsTest, TheBuiltInOnesAreRegistered) {
  EXPECT_THAT(EvaluatorRegistry::Get().Names(), ElementsAre("classification", "constant", "regression", "table",
                                                            "custom:area", "custom:nothing", "custom:refuses"));
}

TEST(ClassificationTest, LearnsEasyDigits) {
  FakeTrial trial([] { return MakeMlp(784, 10); });
  ASSERT_EQ(RunTrial(R"(classification {
                     dataset { synthetic_digits { train_samples: 2000 validation_samples: 400 noise: 0.02 } }
                     batch_size: 50
                     max_epochs: 8
                     optimizer { adam { learning_rate: 0.003 } }
                   })",
                     trial),
            absl::OkStatus());
  ASSERT_EQ(trial.final.size(), 1u);
  // Ten classes: a model that learns nothing, or from wrong labels, is right about one time in ten. What is reached
  // beyond this bound depends on LibTorch's version.
  EXPECT_GT(trial.final[0].at("default"), 0.5);
  ASSERT_EQ(trial.intermediate.size(), 8u);
  EXPECT_EQ(trial.intermediate.back(), trial.final[0]) << "the last epoch's metrics are the final ones";
  EXPECT_LT(trial.intermediate.back().at("train_loss"), trial.intermediate.front().at("train_loss"));
}

// What a user would write around one of LibTorch's optimizers.
struct ByHand {
  std::string config;
  std::function<std::unique_ptr<torch::optim::Optimizer>(std::vector<torch::Tensor>)> make_optimizer;
  std::function<void(const std::vector<torch::Tensor>&)> clip = [](const std::vector<torch::Tensor>&) {};
  // Of epochs 0, 1 and 2, where a schedule changes it.
  std::vector<double> learning_rates = {};
};

class ByHandTest : public testing::TestWithParam<ByHand> {};

TEST_P(ByHandTest, SameWeightsBitForBit) {
  FakeTrial trial([] { return MakeMlp(3, 4); });
  ASSERT_EQ(RunTrial(absl::StrCat("classification { dataset { custom { name: 'cloud' } } batch_size: 16 max_epochs: 3 ",
                                  GetParam().config, "}"),
                     trial),
            absl::OkStatus());

  const data::DataSplits splits = *MakeCloud({}, {});
  data::LoaderOptions options;
  options.batch_size = 16;
  options.order = data::SampleOrder::kShuffled;
  options.order_seed = trial.order_seed();
  options.threads = 0;
  data::Loader loader(splits.train, *data::TransformChain::Create({}, splits), options);
  torch::manual_seed(trial.seed());
  const std::shared_ptr<nn::Model> model = MakeMlp(3, 4);
  const std::unique_ptr<torch::optim::Optimizer> optimizer = GetParam().make_optimizer(model->parameters());
  std::vector<double> losses;
  for (int64_t epoch = 0; epoch < 3; ++epoch) {
    if (!GetParam().learning_rates.empty()) {
      optimizer->param_groups()[0].options().set_lr(GetParam().learning_rates[epoch]);
    }
    loader.StartEpoch(epoch);
    double sum = 0;
    while (const std::optional<data::Example> batch = *loader.Next()) {
      optimizer->zero_grad();
      const torch::Tensor loss = torch::cross_entropy_loss(model->forward(batch->input), batch->target);
      loss.backward();
      GetParam().clip(model->parameters());
      optimizer->step();
      sum += loss.item<double>() * static_cast<double>(batch->target.size(0));
    }
    losses.push_back(sum / 50);
  }
  for (size_t epoch = 0; epoch < 3; ++epoch) {
    EXPECT_EQ(trial.intermediate[epoch].at("train_loss"), losses[epoch]);
  }
  for (const auto& parameter : trial.model()->named_parameters()) {
    EXPECT_TRUE(torch::equal(parameter.value(), model->named_parameters()[parameter.key()])) << parameter.key();
  }
}

using torch::optim::Adam;
using torch::optim::AdamOptions;
using torch::optim::AdamW;
using torch::optim::AdamWOptions;
using torch::optim::RMSprop;
using torch::optim::RMSpropOptions;
using torch::optim::SGD;
using torch::optim::SGDOptions;
using Parameters = std::vector<torch::Tensor>;

INSTANTIATE_TEST_SUITE_P(
    Optimizers, ByHandTest,
    testing::Values(
        ByHand{"optimizer { sgd {} }", [](Parameters p) { return std::make_unique<SGD>(p, SGDOptions(0.01)); }},
        ByHand{"optimizer { sgd { learning_rate: 0.2 momentum: 0.9 weight_decay: 0.01 nesterov: true } }",
               [](Parameters p) {
                 return std::make_unique<SGD>(p, SGDOptions(0.2).momentum(0.9).weight_decay(0.01).nesterov(true));
               }},
        ByHand{"", [](Parameters p) { return std::make_unique<Adam>(p, AdamOptions()); }},
        ByHand{"optimizer { adam { learning_rate: 0.02 beta1: 0.8 beta2: 0.9 eps: 1e-5 weight_decay: 0.1 "
               "amsgrad: true } }",
               [](Parameters p) {
                 return std::make_unique<Adam>(
                     p, AdamOptions(0.02).betas({0.8, 0.9}).eps(1e-5).weight_decay(0.1).amsgrad(true));
               }},
        ByHand{"optimizer { adamw { beta2: 0.99 } }",
               [](Parameters p) {
                 return std::make_unique<AdamW>(p, AdamWOptions().betas({0.9, 0.99}));
               }},
        ByHand{"optimizer { rmsprop { alpha: 0.9 momentum: 0.5 centered: true } }",
               [](Parameters p) {
                 return std::make_unique<RMSprop>(p, RMSpropOptions().alpha(0.9).momentum(0.5).centered(true));
               }},
        ByHand{"optimizer { sgd { learning_rate: 0.5 } } gradient_clipping { max_norm: 0.1 }",
               [](Parameters p) { return std::make_unique<SGD>(p, SGDOptions(0.5)); },
               [](const Parameters& p) { torch::nn::utils::clip_grad_norm_(p, 0.1); }},
        ByHand{"optimizer { sgd { learning_rate: 0.5 } } gradient_clipping { max_value: 0.01 }",
               [](Parameters p) { return std::make_unique<SGD>(p, SGDOptions(0.5)); },
               [](const Parameters& p) { torch::nn::utils::clip_grad_value_(p, 0.01); }},
        ByHand{"optimizer { sgd { learning_rate: 0.5 } } schedule { step { step_size: 2 gamma: 0.5 } }",
               [](Parameters p) { return std::make_unique<SGD>(p, SGDOptions(0.5)); },
               [](const Parameters&) {},
               {0.5, 0.5, 0.25}}));

TEST(ClassificationTest, TrialsOfOneEvaluatorSeeTheSameBatches) {
  const std::unique_ptr<Evaluator> evaluator =
      MakeEvaluator("classification { dataset { custom { name: 'cloud' } } max_epochs: 2 batch_size: 8 }");
  ASSERT_EQ(evaluator->Prepare(7), absl::OkStatus());
  FakeTrial canceled([] { return MakeMlp(3, 4); });
  canceled.cancel_after = 3;
  EXPECT_EQ(evaluator->Evaluate(canceled).code(), absl::StatusCode::kCancelled);
  FakeTrial first([] { return MakeMlp(3, 4); });
  FakeTrial second([] { return MakeMlp(3, 4); });
  ASSERT_EQ(evaluator->Evaluate(first), absl::OkStatus());
  ASSERT_EQ(evaluator->Evaluate(second), absl::OkStatus());
  EXPECT_EQ(first.intermediate, second.intermediate);
}

TEST(ClassificationTest, CancelEndsItBetweenBatches) {
  int batches = 0;
  const auto model = std::make_shared<OffsetModel>([&](torch::Tensor input) {
    ++batches;
    return torch::zeros({input.size(0), 4});
  });
  FakeTrial trial([&] { return model; });
  trial.cancel_after = 3;
  EXPECT_EQ(
      RunTrial("classification { dataset { custom { name: 'cloud' } } batch_size: 1 optimizer { sgd {} } }", trial)
          .code(),
      absl::StatusCode::kCancelled);
  EXPECT_EQ(batches, 3);
  EXPECT_TRUE(trial.final.empty());
}

TEST(ClassificationTest, LimitsCountBatches) {
  const auto count = [](const std::string& limits) {
    int training = 0;
    int validation = 0;
    FakeTrial trial([&] {
      return std::make_shared<OffsetModel>([&](torch::Tensor input) {
        ++(torch::GradMode::is_enabled() ? training : validation);
        return torch::zeros({input.size(0), 4});
      });
    });
    EXPECT_EQ(RunTrial(absl::StrCat("classification { dataset { custom { name: 'cloud' } } batch_size: 5 "
                                    "validation_batch_size: 10 ",
                                    limits, "}"),
                       trial),
              absl::OkStatus());
    return std::make_pair(training, validation);
  };
  EXPECT_THAT(count(""), Pair(10, 5));
  EXPECT_THAT(count("limit_train_batches: 0.35 max_epochs: 2"), Pair(6, 10));
  EXPECT_THAT(count("max_train_batches: 4 limit_validation_batches: 0.01"), Pair(4, 1));
}

TEST(ClassificationTest, ALimitedValidationSeesTheSameFewSamplesOfAllClasses) {
  std::vector<torch::Tensor> seen;
  FakeTrial trial([&] {
    return std::make_shared<OffsetModel>([&](torch::Tensor input) {
      if (!torch::GradMode::is_enabled()) seen.push_back(input);
      return input;
    });
  });
  ASSERT_EQ(RunTrial("classification { dataset { custom { name: 'sorted' } } validation_batch_size: 20 max_epochs: 2 "
                     "limit_validation_batches: 0.4 }",
                     trial),
            absl::OkStatus());
  ASSERT_EQ(seen.size(), 4u);
  // In the dataset's order, 40 samples would be of 4 classes.
  EXPECT_GE(torch::cat({seen[0], seen[1]}).any(0).sum().item<int64_t>(), 8);
  EXPECT_TRUE(torch::equal(seen[0], seen[2]));
  EXPECT_TRUE(torch::equal(seen[1], seen[3]));
}

TEST(ClassificationTest, ALastBatchOfOneSampleDoesNotBreakBatchNormalisation) {
  const auto sizes = [](const std::string& fields) {
    std::vector<int64_t> sizes;
    FakeTrial trial([&] {
      const auto norm = std::make_shared<torch::nn::BatchNorm1dImpl>(3);
      const auto last = std::make_shared<torch::nn::LinearImpl>(3, 4);
      const auto model = std::make_shared<FunctionModel>([&sizes, norm, last](torch::Tensor input) {
        if (norm->is_training()) sizes.push_back(input.size(0));
        return last->forward(norm->forward(input));
      });
      model->register_module("norm", norm);
      model->register_module("last", last);
      return model;
    });
    EXPECT_EQ(RunTrial(absl::StrCat("classification { dataset { custom { name: 'cloud' } } ", fields, "}"), trial),
              absl::OkStatus());
    return sizes;
  };
  EXPECT_THAT(sizes("batch_size: 7"), ElementsAre(7, 7, 7, 7, 7, 7, 7));
  EXPECT_THAT(sizes("batch_size: 16"), ElementsAre(16, 16, 16, 2));
  EXPECT_THAT(sizes("batch_size: 16 drop_last: true"), ElementsAre(16, 16, 16));
}

TEST(ClassificationTest, SaysWhatItsModelsGetAndGive) {
  const std::unique_ptr<Evaluator> evaluator = MakeEvaluator(
      "classification { dataset { synthetic_digits { train_samples: 20 validation_samples: 10 } } augmentation { "
      "random_flip {} } transform { resize { height: 14 width: 7 } } transform { normalize {} } }");
  ASSERT_EQ(evaluator->Prepare(7), absl::OkStatus());
  const std::optional<v1::DataSpec> data = evaluator->Data();
  ASSERT_TRUE(data.has_value());
  EXPECT_THAT(data->input_shape(), ElementsAre(1, 28, 28));
  EXPECT_THAT(data->model_input_shape(), ElementsAre(1, 14, 7));
  EXPECT_EQ(data->outputs(), 10);
  EXPECT_EQ(data->class_names(9), "9");
  ASSERT_EQ(data->preprocessing_size(), 2) << "augmentation is for training only";
  EXPECT_EQ(data->preprocessing(0).resizing().width(), 7);
  EXPECT_GT(data->preprocessing(1).standardization().mean(0), 0);
}

TEST(ClassificationTest, ASampleThatCannotBeReadIsTheDatasFault) {
  FakeTrial trial([] { return MakeMlp(3, 4); });
  const absl::Status status = RunTrial("classification { dataset { custom { name: 'unreadable' } } }", trial);
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(status.message(), "evaluator.classification.dataset: third.png: corrupt");
}

TEST(ClassificationTest, MetricsAreThoseComputedByHand) {
  FakeTrial trial(MakeEcho);
  ASSERT_EQ(
      RunTrial("classification { dataset { custom { name: 'scores' } } top_k: [1, 2, 3] validation_batch_size: 3 }",
               trial),
      absl::OkStatus());
  // Softmax of (3, 2, 1) in some order; the targets have scores 3, 2, 1 and 3.
  const double log_sum = std::log(std::exp(3.0) + std::exp(2.0) + std::exp(1.0));
  const auto loss = DoubleNear(log_sum - (3 + 2 + 1 + 3) / 4.0, 1e-6);
  EXPECT_THAT(trial.final[0],
              UnorderedElementsAre(Pair("default", 0.5), Pair("accuracy", 0.5), Pair("top1", 0.5), Pair("top2", 0.75),
                                   Pair("top3", 1.0), Pair("loss", loss), Pair("train_loss", loss)));
}

TEST(ClassificationTest, LossesDoWhatTheirNamesSay) {
  const auto loss = [](const std::string& fields) {
    FakeTrial trial(MakeEcho);
    EXPECT_EQ(RunTrial(absl::StrCat("classification { dataset { custom { name: 'scores' } } ", fields, "}"), trial),
              absl::OkStatus());
    return trial.final[0].at("loss");
  };
  const double log_sum = std::log(std::exp(3.0) + std::exp(2.0) + std::exp(1.0));
  EXPECT_NEAR(loss("loss: NLL"), -(3 + 2 + 1 + 3) / 4.0, 1e-6);
  EXPECT_NEAR(loss("label_smoothing: 0.3"), 0.7 * (log_sum - 9 / 4.0) + 0.3 * (log_sum - 2), 1e-6);
}

TEST(ClassificationTest, NanLossNamesEpochAndBatch) {
  int batches = 0;
  FakeTrial trial([&] {
    return std::make_shared<OffsetModel>([&](torch::Tensor input) {
      const double value = ++batches == 3 ? std::nan("") : 0;
      return torch::full({input.size(0), 4}, value);
    });
  });
  const std::string config = "classification { dataset { custom { name: 'cloud' } } batch_size: 10 }";
  try {
    RunTrial(config, trial).IgnoreError();
    FAIL() << "no NanMetricError";
  } catch (const NanMetricError& error) {
    EXPECT_STREQ(error.what(), "loss is NaN at epoch 1, batch 3");
  }
  EXPECT_EQ(batches, 3);
}

TEST(ClassificationTest, NanValidationLossIsNamedToo) {
  FakeTrial trial([] {
    return std::make_shared<OffsetModel>([](torch::Tensor input) {
      const double value = torch::GradMode::is_enabled() ? 0 : std::nan("");
      return torch::full({input.size(0), 4}, value);
    });
  });
  try {
    RunTrial("classification { dataset { custom { name: 'cloud' } } }", trial).IgnoreError();
    FAIL() << "no NanMetricError";
  } catch (const NanMetricError& error) {
    EXPECT_STREQ(error.what(), "validation loss is NaN at epoch 1, batch 1");
  }
}

TEST(ClassificationTest, ModelsThatDoNotFitTheDataAreToldHow) {
  const auto error = [](MakeModel make_model) {
    FakeTrial trial(std::move(make_model));
    return std::string(
        RunTrial("classification { dataset { custom { name: 'cloud' } } batch_size: 10 }", trial).message());
  };
  EXPECT_EQ(error([] { return MakeMlp(3, 12); }),
            "the model returns [10, 12], the dataset has 4 classes: it should return [10, 4]");
  EXPECT_THAT(error([] { return MakeMlp(5, 4); }),
              StartsWith("layer 'layers.1' (Linear): input [10, 3] does not fit weight [32, 5]: "));
  EXPECT_THAT(error([] {
                return std::make_shared<FunctionModel>([](torch::Tensor x) { return torch::zeros({x.size(0), 4}); });
              }),
              HasSubstr("nothing to train"));
  EXPECT_EQ(error([] {
              return std::make_shared<FunctionModel>([](torch::Tensor x) {
                return torch::zeros({x.size(0), 4}, torch::kLong);
              });
            }),
            "the model returns numbers of type Long: it should return floating-point ones");
  EXPECT_THAT(error([] { return std::make_shared<FunctionModel>([](torch::Tensor) { return torch::Tensor(); }); }),
              HasSubstr("undefined"));
}

// Makes its layer anew in each forward.
class Renewing : public nn::Model {
 public:
  torch::Tensor forward(torch::Tensor input) override { return torch::nn::Linear(3, 4)(stem_(input)); }

 private:
  torch::nn::Linear stem_ = register_module("stem", torch::nn::Linear(3, 3));
};

TEST(ClassificationTest, ALayerThatNothingTrainsIsAnErrorInTheFirstStep) {
  const std::string config = "classification { dataset { custom { name: 'cloud' } } batch_size: 10 }";
  FakeTrial trial([] { return std::make_shared<Renewing>(); });
  const absl::Status status = RunTrial(config, trial);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()),
              testing::AllOf(HasSubstr("the loss of Renewing"), HasSubstr("[4, 3]"), HasSubstr("[4]"),
                             HasSubstr("AddmmBackward0"), testing::Not(HasSubstr("[3, 3]"))));

  FakeTrial empty([] {
    return std::make_shared<FunctionModel>([](torch::Tensor x) { return torch::cat({x, x.narrow(1, 0, 1)}, 1); });
  });
  EXPECT_THAT(std::string(RunTrial(config, empty).message()), HasSubstr("FunctionModel has no parameters"));
}

TEST(ClassificationTest, TryTellsWhatEveryTrialWouldFailWith) {
  const auto evaluator = MakeEvaluator("classification { dataset { custom { name: 'cloud' } } batch_size: 10 }");
  ASSERT_EQ(evaluator->Prepare(7), absl::OkStatus());
  const auto error = [&](const std::shared_ptr<nn::Model>& model) {
    return std::string(evaluator->Try(*model, at::kCPU).message());
  };
  const std::shared_ptr<nn::Model> mlp = MakeMlp(3, 4);
  const at::Tensor weight = mlp->parameters()[0].clone();
  EXPECT_EQ(error(mlp), "");
  EXPECT_TRUE(mlp->parameters()[0].equal(weight)) << "nothing is trained";
  EXPECT_TRUE(mlp->is_training());
  EXPECT_EQ(error(MakeMlp(3, 12)), "the model returns [10, 12], the dataset has 4 classes: it should return [10, 4]");
  EXPECT_THAT(error(MakeMlp(5, 4)),
              StartsWith("layer 'layers.1' (Linear): input [10, 3] does not fit weight [32, 5]: "));
  EXPECT_THAT(error(std::make_shared<Renewing>()), HasSubstr("the loss of Renewing"));
  EXPECT_EQ(error(std::make_shared<SequentialModel>(
                torch::nn::Sequential(torch::nn::Linear(3, 4), torch::nn::BatchNorm1d(4)))),
            "");
  const auto of_ten = [](torch::Tensor x) { return torch::cat({x.view({10, 3}), torch::ones({10, 1})}, 1); };
  EXPECT_EQ(error(std::make_shared<OffsetModel>(of_ten)), "") << "made for batches of this size";
  const auto fails_in_evaluation = [](torch::Tensor x) {
    TORCH_CHECK(torch::GradMode::is_enabled(), "not in evaluation");
    return torch::cat({x, x.narrow(1, 0, 1)}, 1);
  };
  EXPECT_THAT(error(std::make_shared<OffsetModel>(fails_in_evaluation)), HasSubstr("not in evaluation"));
}

TEST(ClassificationTest, OtherExceptionsOfTheModelAreLeftAsTheyAre) {
  FakeTrial trial([] {
    return std::make_shared<FunctionModel>([](torch::Tensor x) -> torch::Tensor {
      throw std::out_of_range("mine");
      return x;
    });
  });
  EXPECT_THROW(RunTrial("classification { dataset { custom { name: 'cloud' } } }", trial).IgnoreError(),
               std::out_of_range);
}

TEST(ClassificationTest, AnErrorOfCudaIsNotBlamedOnWhatRunsAfterIt) {
  const auto calls = std::make_shared<int>(0);
  FakeTrial trial([calls] {
    return std::make_shared<FunctionModel>([calls](torch::Tensor x) {
      TORCH_CHECK((*calls)++ > 0, "CUDA error: device-side assert triggered");
      return torch::cat({x, torch::ones({1})}, 1);
    });
  });
  EXPECT_THROW(RunTrial("classification { dataset { custom { name: 'cloud' } } }", trial).IgnoreError(), c10::Error);
  EXPECT_EQ(*calls, 1);
}

TEST(ClassificationTest, BadFieldsAreNamed) {
  const auto error = [](const std::string& fields) {
    return std::string(CheckEvaluator(absl::StrCat("classification { ", fields, " }")).message());
  };
  const std::string scores = "dataset { custom { name: 'scores' } } ";
  EXPECT_EQ(error(scores + "batch_size: 0"), "evaluator.classification.batch_size: must be at least 1, got 0");
  EXPECT_THAT(error(""), StartsWith("evaluator.classification.dataset: is required"));
  EXPECT_EQ(error(scores + "top_k: 4"),
            "evaluator.classification.top_k: must be at most the number of classes, 3, got 4");
  EXPECT_THAT(error("dataset { custom { name: 'predictions' } }"), StartsWith("evaluator.classification.dataset: "));
  const auto names_the_transform = StartsWith("evaluator.classification (augmentation, then transform): transform 1");
  EXPECT_THAT(error(scores + "transform { random_crop { height: 2 } }"), names_the_transform);
  EXPECT_EQ(error(scores + "augmentation { resize { height: 0 } }"),
            "evaluator.classification.augmentation[0].resize.height: must be in [1, 8192], got 0");
}

TEST(RegressionTest, FitsALinearTable) {
  const std::string path = testing::TempDir() + "/linear.csv";
  {
    std::ofstream table(path);
    table << "a,b,y\n";
    for (int i = 0; i < 400; ++i) {
      const double a = std::sin(i * 12.9898);
      const double b = std::cos(i * 78.233);
      table << a << "," << b << "," << 2 * a - 3 * b + 1 << "\n";
    }
  }
  FakeTrial trial([] { return std::make_shared<SequentialModel>(torch::nn::Sequential(torch::nn::Linear(2, 1))); });
  ASSERT_EQ(RunTrial(absl::Substitute(R"(regression {
                                      dataset { csv { path: "$0" } }
                                      batch_size: 20
                                      max_epochs: 12
                                      optimizer { adam { learning_rate: 0.1 } }
                                      schedule { cosine {} }
                                    })",
                                      path),
                     trial),
            absl::OkStatus());
  EXPECT_GT(trial.final[0].at("r2"), 0.99);
}

TEST(RegressionTest, MetricsAreThoseComputedByHand) {
  const auto metrics = [](const std::string& fields) {
    FakeTrial trial(MakeEcho);
    EXPECT_EQ(RunTrial(absl::StrCat("regression { dataset { custom { name: 'predictions' } } validation_batch_size: 3 ",
                                    fields, "}"),
                       trial),
              absl::OkStatus());
    return trial.final[0];
  };
  // First target: errors 0, 0, 1, 0, sum of squares about the mean 10. Second: constant, and missed once by 1.
  EXPECT_THAT(metrics(""),
              UnorderedElementsAre(Pair("mse", DoubleNear(0.25, 1e-9)), Pair("mae", DoubleNear(0.25, 1e-9)),
                                   Pair("r2", DoubleNear(0.45, 1e-9)), Pair("default", DoubleNear(0.45, 1e-9)),
                                   Pair("loss", DoubleNear(0.25, 1e-6)), Pair("train_loss", DoubleNear(0.25, 1e-6))));
  EXPECT_NEAR(metrics("default_metric: MEAN_ABSOLUTE_ERROR").at("default"), 0.25, 1e-9);
  EXPECT_NEAR(metrics("default_metric: MEAN_SQUARED_ERROR loss: L1").at("loss"), 0.25, 1e-6);
  EXPECT_NEAR(metrics("loss: HUBER").at("loss"), 0.125, 1e-6);
}

TEST(RegressionTest, ModelsThatDoNotFitTheDataAreToldHow) {
  FakeTrial trial([] { return MakeMlp(2, 1); });
  EXPECT_EQ(RunTrial("regression { dataset { custom { name: 'predictions' } } }", trial).message(),
            "the model returns [4, 1], the dataset has 2 targets: it should return [4, 2]");
}

TEST(RegressionTest, RefusesClasses) {
  EXPECT_THAT(std::string(MakeEvaluator("regression { dataset { synthetic_digits {} } }")->Prepare(7).message()),
              StartsWith("evaluator.regression.dataset: "));
}

TEST(ConstantTest, ReportsWithoutBuildingTheModel) {
  FakeTrial trial([]() -> std::shared_ptr<nn::Model> { throw std::logic_error("built"); });
  ASSERT_EQ(RunTrial("constant { value: 0.5 }", trial), absl::OkStatus());
  EXPECT_THAT(trial.final, ElementsAre(MetricMap{{"default", 0.5}}));
  EXPECT_EQ(CheckEvaluator("constant { value: nan }"),
            absl::InvalidArgumentError("evaluator.constant.value: must be a finite number, got nan"));
}

// The configuration of a table of one model, whose only choice is a = 1.
std::string TableOfOne(const std::string& csv, const std::string& fields = "") {
  const std::string path = testing::TempDir() + "/evaluators_test_table.csv";
  std::ofstream(path) << csv;
  return "table { path: '" + path + "' column { label: 'a' column: 'a' } " + fields + " }";
}

class TableTest : public ::testing::Test {
 protected:
  TableTest() {
    v1::Decision& decision = *trial_.choices.add_decisions();
    decision.set_label("a");
    decision.add_index(0);
    decision.add_value()->set_i(1);
  }

  FakeTrial trial_{[]() -> std::shared_ptr<nn::Model> { throw std::logic_error("built"); }};
};

TEST_F(TableTest, ReportsWhatTheTableHasWithoutBuildingTheModel) {
  ASSERT_EQ(RunTrial(TableOfOne("a,default,default@1,default@2,loss@1\n1,0.5,0.25,0.5,3\n"), trial_), absl::OkStatus());
  EXPECT_THAT(trial_.intermediate, ElementsAre(MetricMap{{"default", 0.25}, {"loss", 3}}, MetricMap{{"default", 0.5}}));
  EXPECT_THAT(trial_.final, ElementsAre(MetricMap{{"default", 0.5}, {"loss", 3}}));
}

TEST_F(TableTest, ACancelEndsAStep) {
  const std::string config = TableOfOne("a,default,default@1,default@2\n1,1,1,1\n", "step_seconds: 86400");
  trial_.cancel_after = 5;
  EXPECT_TRUE(absl::IsCancelled(RunTrial(config, trial_)));
  EXPECT_TRUE(trial_.intermediate.empty()) << "no step has come to its end";
  EXPECT_TRUE(trial_.final.empty());
}

TEST_F(TableTest, ACancelIsSeenBetweenSteps) {
  trial_.cancel_after = 1;
  EXPECT_TRUE(absl::IsCancelled(RunTrial(TableOfOne("a,default,default@1,default@2\n1,1,1,1\n"), trial_)));
  EXPECT_EQ(trial_.intermediate.size(), 1u);
  EXPECT_TRUE(trial_.final.empty());
}

TEST_F(TableTest, WhatTheTableLacksFailsTheModel) {
  EXPECT_THAT(RunTrial(TableOfOne("a,default\n2,1\n"), trial_).message(),
              HasSubstr(R"(has no line for the model {"a":1})"));
  EXPECT_THAT(RunTrial(TableOfOne("a,default\n1,\n"), trial_).message(),
              HasSubstr(R"(has no value of `default` for the model {"a":1})"));
  EXPECT_EQ(CheckEvaluator("table { path: '/no/such.csv' }").message().substr(0, 17), "evaluator.table: ");
}

TEST_F(TableTest, ASpaceThatItDoesNotCoverIsAWarningAndOneThatDoesNotFitAnError) {
  v1::SpaceSpec spec;
  spec.set_complete(true);
  v1::Choice& choice = *spec.add_choices();
  choice.set_label("a");
  choice.set_kind(v1::Choice::VALUE_CHOICE);
  for (int i = 1; i <= 3; ++i) choice.add_candidates()->set_i(i);
  const auto check = [&](const std::string& csv) {
    const std::unique_ptr<Evaluator> evaluator = MakeEvaluator(TableOfOne(csv));
    EXPECT_EQ(evaluator->Prepare(7), absl::OkStatus());
    return evaluator->CheckSpace(&spec);
  };
  EXPECT_EQ(check("a,default\n1,1\n2,1\n3,1\n"), absl::OkStatus());
  EXPECT_TRUE(spec.warnings().empty());
  EXPECT_EQ(check("a,default\n1,1\n3,1\n"), absl::OkStatus());
  EXPECT_THAT(spec.warnings(), ElementsAre(HasSubstr("has 2 of the 3 models; those that it lacks will fail")));
  EXPECT_THAT(std::string(check("a,default\n1,1\n4,1\n").message()),
              AllOf(StartsWith("evaluator.table: "), HasSubstr(":3: column 'a': is no candidate")));
  spec.set_complete(false);
  EXPECT_THAT(check("a,default\n1,1\n").message(), HasSubstr("choices are all known"));
}

struct AreaParams {
  explicit AreaParams(const Params& params) : width(params.Get<double>("width")) {}
  double width;
};
void Area(TrialContext& context, const AreaParams& params) {
  context.ReportIntermediate({{"width", params.width}});
  context.ReportFinal({{"default", params.width * 2}});
}
LANISTA_REGISTER(evaluator, "area", Area);

void Nothing(TrialContext& context) { context.ReportFinal(0); }
LANISTA_REGISTER(evaluator, "nothing", Nothing);

absl::StatusOr<std::unique_ptr<Evaluator>> Refuse(const Params& params) {
  return absl::InvalidArgumentError(absl::StrCat("refuses ", params.Get<std::string>("what")));
}
LANISTA_REGISTER(evaluator, "refuses", Refuse);

TEST(FunctionalTest, CallsTheUsersFunctionWithItsParams) {
  FakeTrial trial(MakeEcho);
  const std::string config = "custom { name: 'area' params { key: 'width' value { f: 1.5 } } }";
  ASSERT_EQ(RunTrial(config, trial), absl::OkStatus());
  EXPECT_THAT(trial.intermediate, ElementsAre(MetricMap{{"width", 1.5}}));
  EXPECT_THAT(trial.final, ElementsAre(MetricMap{{"default", 3}}));
  trial.cancel_after = 0;
  EXPECT_EQ(RunTrial(config, trial).code(), absl::StatusCode::kCancelled);
}

TEST(FunctionalTest, FactoriesOfUsersAreCalled) {
  v1::EvaluatorConfig config;
  config.mutable_custom()->set_name("refuses");
  (*config.mutable_custom()->mutable_params())["what"].set_s("it all");
  EXPECT_EQ(EvaluatorRegistry::Get().Create(config).status(), absl::InvalidArgumentError("refuses it all"));
}

TEST(FunctionalTest, ParamsAreCheckedBeforeAnyTrial) {
  const auto error = [](const std::string& config) {
    v1::EvaluatorConfig parsed;
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(config, &parsed));
    return EvaluatorRegistry::Get().Create(parsed).status();
  };
  EXPECT_EQ(error("custom { name: 'area' }"),
            absl::InvalidArgumentError(
                "parameter 'width' of the evaluator 'area' is missing; it is a number: value { f: 0.5 }"));
  EXPECT_EQ(
      error("custom { name: 'area' params { key: 'widht' value { f: 1 } } }"),
      absl::InvalidArgumentError("parameter 'width' of the evaluator 'area' is missing; it is a number: value { f: "
                                 "0.5 }; given: widht"));
  EXPECT_EQ(error("custom { name: 'area' params { key: 'width' value { s: 'wide' } } }"),
            absl::InvalidArgumentError("parameter 'width' of the evaluator 'area' is { s: \"wide\" }; it must be a "
                                       "number: value { f: 0.5 }"));
  EXPECT_EQ(
      error("custom { name: 'area' params { key: 'width' value { f: 1 } } params { key: 'widht' value { f: 1 } } }"),
      absl::InvalidArgumentError("the evaluator 'area' has no parameter 'widht'; did you mean 'width'? it takes: "
                                 "width"));
  EXPECT_EQ(error("custom { name: 'nothing' params { key: 'x' value { f: 1 } } }"),
            absl::InvalidArgumentError("the evaluator 'nothing' has no parameter 'x'; it takes: none"));
}

}  // namespace
}  // namespace lanista
