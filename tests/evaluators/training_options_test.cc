#include "src/evaluators/training_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "google/protobuf/text_format.h"

namespace lanista {
namespace {

template <typename Config>
Config Parse(const std::string& text) {
  Config config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &config)) << text;
  return config;
}

TEST(TrainingOptionsTest, AbsentFieldsHaveTheirDefaults) {
  const TrainingOptions options = MakeTrainingOptions(v1::ClassificationConfig());
  EXPECT_EQ(options.batch_size, 64);
  EXPECT_EQ(options.validation_batch_size, 256);
  EXPECT_EQ(options.max_epochs, 1);
  EXPECT_EQ(options.loader_threads, 1);
  EXPECT_TRUE(options.optimizer.has_adam());
  EXPECT_EQ(CheckTrainingOptions(options, "e"), absl::OkStatus());
}

TEST(TrainingOptionsTest, BothEvaluatorsAreReadAlike) {
  const std::string text =
      "batch_size: 3 max_epochs: 4 max_train_batches: 5 optimizer { sgd { momentum: 0.5 } } loader_threads: 0";
  for (const TrainingOptions& options : {MakeTrainingOptions(Parse<v1::ClassificationConfig>(text)),
                                         MakeTrainingOptions(Parse<v1::RegressionConfig>(text))}) {
    EXPECT_EQ(options.batch_size, 3);
    EXPECT_EQ(options.validation_batch_size, 12);
    EXPECT_EQ(options.max_epochs, 4);
    EXPECT_EQ(options.max_train_batches, 5);
    EXPECT_EQ(options.optimizer.sgd().momentum(), 0.5);
    EXPECT_EQ(options.loader_threads, 0);
  }
}

TEST(TrainingOptionsTest, EveryBadFieldIsNamedWithWhatIsAllowed) {
  const std::pair<const char*, const char*> cases[] = {
      {"batch_size: 0", "e.batch_size must be at least 1, is 0"},
      {"validation_batch_size: -2", "e.validation_batch_size must be at least 1, is -2"},
      {"max_epochs: 0", "e.max_epochs must be at least 1, is 0"},
      {"limit_train_batches: 0", "e.limit_train_batches must be in (0, 1], is 0"},
      {"limit_train_batches: nan", "e.limit_train_batches must be in (0, 1], is nan"},
      {"limit_validation_batches: 1.5", "e.limit_validation_batches must be in (0, 1], is 1.5"},
      {"max_train_batches: 0", "e.max_train_batches must be at least 1, is 0"},
      {"limit_train_batches: 0.5 max_train_batches: 3",
       "e: set limit_train_batches (a fraction) or max_train_batches (a count), not both"},
      {"loader_threads: -1", "e.loader_threads must be from 0 to 256, is -1"},
      {"optimizer {}", "e.optimizer is empty; set one of: sgd, adam, adamw, rmsprop"},
      {"optimizer { sgd { learning_rate: 0 } }", "e.optimizer.sgd.learning_rate must be greater than 0, is 0"},
      {"optimizer { sgd { momentum: -1 } }", "e.optimizer.sgd.momentum must be at least 0, is -1"},
      {"optimizer { sgd { dampening: inf } }", "e.optimizer.sgd.dampening must be a finite number, is inf"},
      {"optimizer { sgd { weight_decay: -1 } }", "e.optimizer.sgd.weight_decay must be at least 0, is -1"},
      {"optimizer { sgd { nesterov: true } }",
       "e.optimizer.sgd.nesterov needs a momentum greater than 0 and no dampening"},
      {"optimizer { adam { learning_rate: nan } }", "e.optimizer.adam.learning_rate must be greater than 0, is nan"},
      {"optimizer { adam { beta1: 1 } }", "e.optimizer.adam.beta1 must be in [0, 1), is 1"},
      {"optimizer { adamw { beta2: -0.5 } }", "e.optimizer.adamw.beta2 must be in [0, 1), is -0.5"},
      {"optimizer { adamw { eps: -1 } }", "e.optimizer.adamw.eps must be at least 0, is -1"},
      {"optimizer { adam { weight_decay: -1 } }", "e.optimizer.adam.weight_decay must be at least 0, is -1"},
      {"optimizer { rmsprop { alpha: 2 } }", "e.optimizer.rmsprop.alpha must be in [0, 1), is 2"},
      {"optimizer { rmsprop { eps: -1 } }", "e.optimizer.rmsprop.eps must be at least 0, is -1"},
      {"optimizer { rmsprop { momentum: -1 } }", "e.optimizer.rmsprop.momentum must be at least 0, is -1"},
      {"schedule { step {} }", "e.schedule.step.step_size must be at least 1, is 0"},
      {"schedule { step { step_size: 1 gamma: 0 } }", "e.schedule.step.gamma must be greater than 0, is 0"},
      {"schedule { cosine { min_learning_rate: -1 } }",
       "e.schedule.cosine.min_learning_rate must be at least 0, is -1"},
      {"gradient_clipping { max_norm: 0 }", "e.gradient_clipping.max_norm must be greater than 0, is 0"},
      {"gradient_clipping { max_value: nan }", "e.gradient_clipping.max_value must be greater than 0, is nan"},
  };
  for (const auto& [text, message] : cases) {
    const absl::Status status = CheckTrainingOptions(MakeTrainingOptions(Parse<v1::RegressionConfig>(text)), "e");
    EXPECT_EQ(status, absl::InvalidArgumentError(message)) << text;
  }
}

TEST(TrainingOptionsTest, FractionsOfBatchesAreRoundedDownButNotToNothing) {
  EXPECT_EQ(LimitBatches(469, 0.2), 93);
  EXPECT_EQ(LimitBatches(100, 0.29), 29);
  EXPECT_EQ(LimitBatches(3, 0.1), 1);
  EXPECT_EQ(LimitBatches(7, 1.0), 7);
  EXPECT_EQ(LimitBatches(7, std::nullopt, 5), 5);
  EXPECT_EQ(LimitBatches(7, std::nullopt, 50), 7);
}

TEST(TrainingOptionsTest, SchedulesGiveEachEpochItsLearningRate) {
  const auto rates = [](const std::string& text, double base, int64_t epochs) {
    std::vector<double> rates;
    for (int64_t epoch = 0; epoch < epochs; ++epoch) {
      rates.push_back(LearningRateAt(Parse<v1::ScheduleConfig>(text), base, epoch, epochs));
    }
    return rates;
  };
  using testing::DoubleNear;
  using testing::ElementsAre;
  const auto near = [](double value) { return DoubleNear(value, 1e-12); };
  EXPECT_THAT(rates("", 0.1, 3), ElementsAre(0.1, 0.1, 0.1));
  EXPECT_THAT(rates("step { step_size: 2 }", 1, 5), ElementsAre(near(1), near(1), near(0.1), near(0.1), near(0.01)));
  EXPECT_THAT(rates("step { step_size: 1 gamma: 0.5 }", 8, 3), ElementsAre(near(8), near(4), near(2)));
  EXPECT_THAT(rates("cosine {}", 1, 4),
              ElementsAre(near(1), near(0.853553390593274), near(0.5), near(0.146446609406726)));
  EXPECT_THAT(rates("cosine { min_learning_rate: 0.2 }", 1, 2), ElementsAre(near(1), near(0.6)));
}

}  // namespace
}  // namespace lanista
