// Components from outside the tree's lists, one of each kind that uses LibTorch (components_test.cc has the others).
#include <ATen/ops/arange.h>
#include <ATen/ops/ones.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "protos/experiment.pb.h"
#include "src/base/component.h"
#include "src/config/validate.h"
#include "src/data/custom.h"
#include "src/evaluators/functional.h"
#include "tests/components/own.pb.h"

namespace lanista {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// ---- The components ----

absl::StatusOr<data::DataSplits> MakePoints(const own::Points& config, const data::DatasetRequest&) {
  const int64_t samples = config.has_samples() ? config.samples() : 4;
  data::DataSplits splits;
  splits.task = data::Task::kClassification;
  splits.outputs = 2;
  splits.input_shape = {1, 1, 1};
  splits.train = data::MakeInMemoryDataset({at::ones({samples, 1, 1, 1}), at::arange(samples).remainder(2)});
  splits.validation = splits.train;
  return splits;
}

class ScaleTransform : public data::Transform {
 public:
  explicit ScaleTransform(double factor) : factor_(factor) {}
  at::Tensor Apply(const at::Tensor& input, data::SampleRandom&) const override { return input.mul(factor_); }

 private:
  const double factor_;
};

absl::StatusOr<std::unique_ptr<data::Transform>> MakeScale(const own::Scale& config, const data::DataSplits&) {
  return std::make_unique<ScaleTransform>(config.factor());
}

absl::StatusOr<std::unique_ptr<Evaluator>> MakeRate(const own::Rate& config) {
  return std::make_unique<FunctionalEvaluator>(
      [config](TrialContext& context) { context.ReportFinal(config.value()); });
}

LANISTA_REGISTER(dataset, "points", MakePoints);
LANISTA_REGISTER(transform, "scale", MakeScale);
LANISTA_REGISTER(evaluator, "rate", MakeRate);

// ---- The tests ----

template <typename Config>
Config Custom(const std::string& name, const std::string& key, const std::string& value) {
  const std::string text =
      absl::StrCat("custom { name: '", name, "' params { key: '", key, "' value { ", value, " } } }");
  Config config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &config)) << text;
  return config;
}

// A trial that keeps what is reported.
class Reports : public TrialContext {
 public:
  std::shared_ptr<nn::Model> model() override { return nullptr; }
  const v1::Sample& sample() const override { return sample_; }
  c10::Device device() const override { return c10::kCPU; }
  uint64_t seed() const override { return 1; }
  uint64_t order_seed() const override { return 1; }
  std::string output_folder() override { return testing::TempDir(); }
  bool canceled() const override { return false; }
  void ReportIntermediate(const MetricMap&) override {}
  void ReportFinal(const MetricMap& metrics) override { final.push_back(metrics.at("default")); }

  std::vector<double> final;

 private:
  v1::Sample sample_;
};

TEST(TorchComponentsTest, ADatasetOfAMessageIsOpened) {
  const auto splits = data::OpenDataset(Custom<v1::DatasetConfig>("points", "samples", "i: 6"), 1);
  ASSERT_TRUE(splits.ok()) << splits.status();
  EXPECT_EQ(splits->train->size(), 6);
  const auto few = data::OpenDataset(Custom<v1::DatasetConfig>("points", "samples", "i: 1"), 1);
  EXPECT_EQ(few.status(), absl::InvalidArgumentError("custom.params.samples: must be at least 2, got 1"));
}

TEST(TorchComponentsTest, ATransformOfAMessageIsApplied) {
  const auto splits = data::OpenDataset(Custom<v1::DatasetConfig>("points", "samples", "i: 2"), 1);
  ASSERT_TRUE(splits.ok()) << splits.status();
  google::protobuf::RepeatedPtrField<v1::TransformConfig> configs;
  *configs.Add() = Custom<v1::TransformConfig>("scale", "factor", "f: 2.5");
  const auto chain = data::TransformChain::Create({configs}, *splits);
  ASSERT_TRUE(chain.ok()) << chain.status();
  EXPECT_EQ((*chain)->Apply(at::ones({1, 1, 1}), 1).item<double>(), 2.5);
  *configs.Mutable(0) = Custom<v1::TransformConfig>("scale", "factor", "i: 0");
  EXPECT_THAT(std::string(data::TransformChain::Create({configs}, *splits).status().message()),
              HasSubstr("custom.params.factor: must be greater than 0, got 0"));
}

TEST(TorchComponentsTest, AnEvaluatorOfAMessageScores) {
  const auto config = Custom<v1::EvaluatorConfig>("rate", "value", "f: 0.75");
  EXPECT_TRUE(EvaluatorRegistry::Get().Validate(config).ok());
  const auto evaluator = EvaluatorRegistry::Get().Create(config);
  ASSERT_TRUE(evaluator.ok()) << evaluator.status();
  ASSERT_TRUE((*evaluator)->Prepare(1).ok());
  Reports trial;
  ASSERT_TRUE((*evaluator)->Evaluate(trial).ok());
  EXPECT_THAT(trial.final, ElementsAre(0.75));
  EXPECT_EQ(CheckConfig(Custom<v1::EvaluatorConfig>("rate", "value", "f: -1"), "evaluator").message(),
            "evaluator.custom.params.value: must be at least 0, got -1");
  // What Lanista has to know of an evaluator is told by the options of its fields.
  EXPECT_EQ(NumberOfComponent(config, v1::FieldRules::STEPS), 3);
  EXPECT_EQ(NumberOfComponent(Custom<v1::EvaluatorConfig>("rate", "epochs", "i: 8"), v1::FieldRules::STEPS), 8);
}

}  // namespace
}  // namespace lanista
