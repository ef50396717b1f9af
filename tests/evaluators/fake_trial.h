// A trial without an experiment around it.
#ifndef LANISTA_TESTS_EVALUATORS_FAKE_TRIAL_H_
#define LANISTA_TESTS_EVALUATORS_FAKE_TRIAL_H_

#include <gtest/gtest.h>
#include <torch/nn/modules/container/sequential.h>

#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "google/protobuf/text_format.h"
#include "src/evaluators/evaluator.h"
#include "src/nn/model.h"

namespace lanista {

using MakeModel = std::function<std::shared_ptr<nn::Model>()>;

// Builds its model on CPU with a fixed seed and keeps what is reported.
class FakeTrial : public TrialContext {
 public:
  explicit FakeTrial(MakeModel make_model) : make_model_(std::move(make_model)) {}

  std::shared_ptr<nn::Model> model() override {
    if (model_ == nullptr) {
      torch::manual_seed(seed());
      model_ = make_model_();
    }
    return model_;
  }
  const v1::Sample& sample() const override { return choices; }
  c10::Device device() const override { return c10::kCPU; }
  uint64_t seed() const override { return 5; }
  uint64_t order_seed() const override { return 7; }
  std::string output_folder() override { return testing::TempDir(); }
  bool canceled() const override { return asked_if_canceled_++ >= cancel_after; }
  void ReportIntermediate(const MetricMap& metrics) override { intermediate.push_back(metrics); }
  void ReportFinal(const MetricMap& metrics) override { final.push_back(metrics); }

  // What sample() returns.
  v1::Sample choices;
  // Canceled once it was asked so often.
  int cancel_after = std::numeric_limits<int>::max();
  std::vector<MetricMap> intermediate;
  std::vector<MetricMap> final;

 private:
  const MakeModel make_model_;
  std::shared_ptr<nn::Model> model_;
  mutable int asked_if_canceled_ = 0;
};

// A model made of a function and, where it has any, the modules in it.
class FunctionModel : public nn::Model {
 public:
  explicit FunctionModel(std::function<torch::Tensor(torch::Tensor)> function) : function_(std::move(function)) {}
  torch::Tensor forward(torch::Tensor input) override { return function_(std::move(input)); }

 private:
  const std::function<torch::Tensor(torch::Tensor)> function_;
};

// The same with a parameter, which is zero and added to what the function returns.
class OffsetModel : public nn::Model {
 public:
  explicit OffsetModel(std::function<torch::Tensor(torch::Tensor)> function) : function_(std::move(function)) {}
  torch::Tensor forward(torch::Tensor input) override { return function_(std::move(input)) + offset_; }

 private:
  const std::function<torch::Tensor(torch::Tensor)> function_;
  torch::Tensor offset_ = register_parameter("offset", torch::zeros({1}));
};

class SequentialModel : public nn::Model {
 public:
  explicit SequentialModel(torch::nn::Sequential layers) : layers_(register_module("layers", std::move(layers))) {}
  torch::Tensor forward(torch::Tensor input) override { return layers_->forward(input); }

 private:
  torch::nn::Sequential layers_;
};

// The evaluator of `text`, a protobuf text of EvaluatorConfig, not yet prepared.
inline std::unique_ptr<Evaluator> MakeEvaluator(const std::string& text) {
  v1::EvaluatorConfig config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &config)) << text;
  absl::StatusOr<std::unique_ptr<Evaluator>> evaluator = EvaluatorRegistry::Get().Create(config);
  EXPECT_TRUE(evaluator.ok()) << evaluator.status();
  return *std::move(evaluator);
}

// What is wrong with it when it is made, or when it prepares.
inline absl::Status CheckEvaluator(const std::string& text) {
  v1::EvaluatorConfig config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &config)) << text;
  absl::StatusOr<std::unique_ptr<Evaluator>> evaluator = EvaluatorRegistry::Get().Create(config);
  return evaluator.ok() ? (*evaluator)->Prepare(7) : evaluator.status();
}

// Prepares and runs it.
inline absl::Status RunTrial(const std::string& text, TrialContext& trial) {
  const std::unique_ptr<Evaluator> evaluator = MakeEvaluator(text);
  const absl::Status prepared = evaluator->Prepare(trial.order_seed());
  return prepared.ok() ? evaluator->Evaluate(trial) : prepared;
}

}  // namespace lanista

#endif  // LANISTA_TESTS_EVALUATORS_FAKE_TRIAL_H_
