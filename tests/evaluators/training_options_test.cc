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
