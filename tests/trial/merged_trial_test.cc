// Merged trials: what a model reports must not depend on who trains beside it.
#include <c10/core/DefaultDtype.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/linear.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "src/evaluators/functional.h"
#include "src/graph/builder.h"
#include "src/graph/registered_graphs.h"
#include "src/nn/nn.h"
#include "src/ops/registry.h"
#include "src/trial/runner.h"

namespace lanista {
namespace {

using ::testing::HasSubstr;

// Called by a model of the kind "throws", before it does.
std::function<void()> before_throw;

// Models of several kinds, some of them bad.
class MixedSpace : public nn::ModelSpace {
 public:
  MixedSpace() {
    kind_ = static_cast<std::string>(nn::ValueChoice(
        {"plain", "dropout", "batch norm", "in place", "validation in place", "careless", "throws", "nan"}, "kind"));
    const int64_t width = nn::ValueChoice({8, 16}, "width");
    hidden_ = register_module("hidden", torch::nn::Linear(784, width));
    norm_ = register_module("norm", torch::nn::BatchNorm1d(width));
    output_ = register_module("output", torch::nn::Linear(width, 10));
  }

  torch::Tensor forward(torch::Tensor x) override {
    // Of the batch itself, which others see.
    if (kind_ == "in place" || (kind_ == "validation in place" && !is_training())) x.mul_(0.5);
    // Of the whole process, which others see, too. They would get sums of another type.
    if (kind_ == "careless") {
      torch::set_default_dtype(caffe2::TypeMeta::Make<double>());
      torch::GradMode::set_enabled(is_training());
    }
    x = torch::relu(hidden_(x.flatten(1)));
    if (kind_ == "plain") x = x + torch::zeros({1});
    if (kind_ == "dropout") x = torch::dropout(x, 0.5, is_training());
    if (kind_ == "batch norm") x = norm_(x);
    if (++calls_ > 3 && kind_ == "throws") {
      if (before_throw) before_throw();
      throw std::runtime_error("out of ideas");
    }
    if (calls_ > 3 && kind_ == "nan") x = x * std::nan("");
    return output_(x);
  }

 private:
  std::string kind_;
  int calls_ = 0;
  torch::nn::Linear hidden_{nullptr}, output_{nullptr};
  torch::nn::BatchNorm1d norm_{nullptr};
};
LANISTA_REGISTER(model_space, "mixed", nn::MakeModelSpace<MixedSpace>);

// Its first steps have no weights: merged models compute them once. Some of them change their input in place.
absl::StatusOr<v1::ModelGraph> PooledGraph(const Params&) {
  using graph::MakeOp;
  graph::Builder net("Net", ops::FindOp);
  graph::Handle x = net.Input("x", graph::TensorType(v1::Tensor::FLOAT32, {-1, 1, 28, 28}));
  x = net.Add("pool", MakeOp("AvgPool2d", {{"kernel_size", 4}}), {x});
  x = net.Add("relu", MakeOp("ReLU", {{"inplace", true}}), {x});
  x = net.Add("flatten", MakeOp("Flatten"), {x});
  const graph::Number width = net.ValueChoice("width", {8, 16});
  x = net.Add("hidden", MakeOp("Linear", {{"in_features", 49}, {"out_features", width}}), {x});
  x = net.Add("drop", MakeOp("Dropout", {{"p", 0.3}}), {x});
  net.Output(net.Add("output", MakeOp("Linear", {{"in_features", width}, {"out_features", 10}}), {x}));
  return std::move(net).Build();
}
LANISTA_REGISTER(graph_space, "pooled", PooledGraph);

// Reports two steps of each model, and ends the group where its first model was stopped.
class Hasty : public MultiModelEvaluator {
 public:
  absl::Status Prepare(uint64_t) override { return absl::OkStatus(); }
  absl::Status EvaluateTogether(ModelGroup& group) override {
    for (int step = 0; step < 2; ++step) {
      for (int model = 0; model < group.size(); ++model) {
        if (group.context(0).canceled()) return absl::CancelledError("the first one was stopped");
        const auto report = [&] {
          group.context(model).ReportIntermediate(step);
          return absl::OkStatus();
        };
        if (const absl::Status status = group.Step(model, report); !status.ok()) return status;
      }
    }
    return absl::OkStatus();
  }
};
absl::StatusOr<std::unique_ptr<Evaluator>> MakeHasty(const Params&) { return std::make_unique<Hasty>(); }
LANISTA_REGISTER(evaluator, "hasty", MakeHasty);

enum Kind { kPlain, kDropout, kBatchNorm, kInPlace, kValidationInPlace, kCareless, kThrows, kNan };

class MergedTrialTest : public ::testing::Test {
 protected:
  MergedTrialTest() {
    v1::TrialRequest request;
    request.mutable_setup()->mutable_device()->set_kind(v1::DeviceKind::CPU);
    request.mutable_setup()->mutable_device()->set_threads(1);
    runner_.Handle(request);
    spec_.set_experiment("e");
    spec_.mutable_space()->set_registered("mixed");
    spec_.mutable_engine()->mutable_cgo();
    spec_.set_order_seed(3);
    SetOptimizer("adam { learning_rate: 0.01 }");
  }

  void SetOptimizer(const std::string& optimizer, int epochs = 2) {
    SetEvaluator(absl::StrCat(
        "classification { dataset { synthetic_digits { train_samples: 60 validation_samples: 20 } } batch_size: 10 "
        "max_epochs: ",
        epochs, " gradient_clipping { max_norm: 1 } schedule { cosine {} } optimizer { ", optimizer, " } }"));
  }

  void SetEvaluator(const std::string& evaluator) {
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(evaluator, spec_.mutable_evaluator()));
    v1::TrialRequest request;
    *request.mutable_discover()->mutable_space() = spec_.space();
    *request.mutable_discover()->mutable_engine() = spec_.engine();
    *request.mutable_discover()->mutable_evaluator() = spec_.evaluator();
    runner_.Handle(request);
    const v1::Discovered& discovered = events_.back().discovered();
    ASSERT_FALSE(discovered.has_error()) << discovered.error().message();
    EXPECT_TRUE(discovered.multi_model_evaluator());
    spec_.set_program(discovered.program());
    spec_.set_space_fingerprint(discovered.space().fingerprint());
  }

  // Model `ordinal`, of this kind.
  static v1::TrialModel Model(int ordinal, Kind kind) {
    v1::TrialModel model;
    model.set_model(ordinal);
    model.set_attempt(1);
    model.set_model_seed(static_cast<uint64_t>(100 + ordinal));
    const char* const kinds[] = {"plain",    "dropout", "batch norm", "in place", "validation in place",
                                 "careless", "throws",  "nan"};
    v1::Decision& decision = *model.mutable_sample()->add_decisions();
    decision.set_label("kind");
    decision.add_index(kind);
    decision.add_value()->set_s(kinds[kind]);
    v1::Decision& width = *model.mutable_sample()->add_decisions();
    width.set_label("width");
    width.add_index(ordinal % 2);
    width.add_value()->set_i(ordinal % 2 == 0 ? 8 : 16);
    return model;
  }

  struct Report {
    // Each epoch's, then the final ones.
    std::vector<std::map<std::string, double>> metrics;
    v1::ModelEnded end;
    int ends = 0;
    // Parameters and FLOPs, each time that it was built.
    std::vector<std::pair<int64_t, int64_t>> costs;
  };

  // What each model of the trial reports.
  std::map<int, Report> Run(const std::vector<v1::TrialModel>& models) {
    v1::TrialRequest request;
    // What was stopped in another trial is not in this one.
    spec_.set_trial(spec_.trial() + 1);
    *request.mutable_run() = spec_;
    for (const v1::TrialModel& model : models) *request.mutable_run()->add_models() = model;
    events_.clear();
    runner_.Handle(request);
    EXPECT_TRUE(events_.back().has_ended());
    std::map<int, Report> reports;
    for (const v1::TrialEvent& event : events_) {
      Report& report = reports[event.model().model()];
      const auto add = [&report](const v1::Metrics& metrics) {
        report.metrics.emplace_back(metrics.values().begin(), metrics.values().end());
      };
      if (event.model().has_intermediate()) add(event.model().intermediate().metrics());
      const v1::ModelBuilt& built = event.model().built();
      if (event.model().has_built()) report.costs.emplace_back(built.params(), built.flops());
      if (!event.model().has_ended()) continue;
      report.end = event.model().ended();
      ++report.ends;
      add(report.end.metrics());
    }
    reports.erase(0);  // the trial's own events
    return reports;
  }

  std::vector<std::map<std::string, double>> Alone(const v1::TrialModel& model, int epochs = 2) {
    Report report = Run({model})[model.model()];
    EXPECT_EQ(report.end.outcome(), v1::ModelEnded::SUCCEEDED) << report.end.failure().message();
    EXPECT_EQ(report.metrics.size(), static_cast<size_t>(epochs) + 1);
    return report.metrics;
  }

  void Stop(int model) {
    v1::StopModel stop;
    stop.set_experiment("e");
    stop.set_trial(spec_.trial());
    stop.set_model(model);
    runner_.Stop(stop);
  }

  v1::TrialSpec spec_;
  // Models that are stopped when they have reported this step.
  std::map<int, int> stop_after_;
  std::vector<v1::TrialEvent> events_;
  TrialRunner runner_{[this](const v1::TrialEvent& event) {
                        events_.push_back(event);
                        const auto stop = stop_after_.find(event.model().model());
                        if (stop == stop_after_.end() || !event.model().has_intermediate()) return;
                        if (event.model().intermediate().step() == stop->second) Stop(stop->first);
                      },
                      /*redirect_output=*/false};
};

TEST_F(MergedTrialTest, AMergedModelReportsWhatItWouldAloneBitForBit) {
  for (const char* const optimizer : {"adam { learning_rate: 0.01 }", "sgd { learning_rate: 0.1 momentum: 0.9 }",
                                      "adamw { learning_rate: 0.01 }", "rmsprop { learning_rate: 0.01 }"}) {
    SetOptimizer(optimizer);
    const std::vector<v1::TrialModel> models = {Model(1, kPlain),    Model(2, kDropout),           Model(3, kBatchNorm),
                                                Model(4, kDropout),  Model(5, kInPlace),           Model(6, kPlain),
                                                Model(7, kCareless), Model(8, kValidationInPlace), Model(9, kPlain)};
    std::map<int, std::vector<std::map<std::string, double>>> alone;
    for (const v1::TrialModel& model : models) alone[model.model()] = Alone(model);
    EXPECT_NE(alone[2], alone[4]) << "each has seeds of its own";
    for (const auto& [model, report] : Run(models)) {
      EXPECT_EQ(report.metrics, alone[model]) << optimizer << ", model " << model;
      ASSERT_EQ(report.costs.size(), 1u) << "what it costs is told once";
      EXPECT_EQ(static_cast<double>(report.costs[0].first), report.metrics.back().at("params"));
    }
    // Another group, another order.
    for (const auto& [model, report] : Run({models[4], models[1], models[0]})) {
      EXPECT_EQ(report.metrics, alone[model]) << optimizer << ", model " << model;
    }
  }
}

TEST_F(MergedTrialTest, ABadModelEndsTheTrialAndTheOthersAreToBeRunAlone) {
  for (const Kind bad : {kThrows, kNan}) {
    const auto reports = Run({Model(1, kPlain), Model(2, bad), Model(3, kDropout)});
    EXPECT_EQ(reports.at(2).end.outcome(), v1::ModelEnded::FAILED);
    EXPECT_EQ(reports.at(2).end.failure().reason(), bad == kNan ? v1::Failure::NAN_LOSS : v1::Failure::EXCEPTION);
    for (const int other : {1, 3}) {
      EXPECT_EQ(reports.at(other).end.outcome(), v1::ModelEnded::UNMERGED);
      EXPECT_THAT(reports.at(other).end.failure().message(), HasSubstr("model 2 of the merged trial failed: "));
      EXPECT_EQ(reports.at(other).ends, 1);
    }
  }
}

TEST_F(MergedTrialTest, ABadModelIsDroppedAndTheOthersReportWhatTheyWouldAlone) {
  spec_.mutable_engine()->mutable_cgo()->set_on_bad_model(v1::CgoEngineConfig::DROP);
  const std::vector<v1::TrialModel> good = {Model(1, kDropout), Model(3, kBatchNorm), Model(5, kInPlace)};
  std::map<int, std::vector<std::map<std::string, double>>> alone;
  for (const v1::TrialModel& model : good) alone[model.model()] = Alone(model);
  const auto reports = Run({good[0], Model(2, kThrows), good[1], Model(4, kNan), good[2]});
  EXPECT_EQ(reports.at(2).end.failure().message(), "out of ideas");
  EXPECT_EQ(reports.at(4).end.failure().reason(), v1::Failure::NAN_LOSS);
  for (const auto& [model, metrics] : alone) EXPECT_EQ(reports.at(model).metrics, metrics) << model;
}

TEST_F(MergedTrialTest, StoppedModelsLeaveAndTheOthersReportWhatTheyWouldAlone) {
  for (const char* const space : {"mixed", "pooled"}) {
    spec_.mutable_space()->set_registered(space);
    SetOptimizer("adam { learning_rate: 0.01 }", /*epochs=*/4);
    const std::vector<v1::TrialModel> models = {Model(1, kInPlace), Model(2, kDropout), Model(3, kBatchNorm),
                                                Model(4, kPlain)};
    std::map<int, std::vector<std::map<std::string, double>>> alone;
    for (const v1::TrialModel& model : models) alone[model.model()] = Alone(model, /*epochs=*/4);
    // The first one computes for all, and then the second one.
    for (const std::map<int, int>& stops :
         {std::map<int, int>{{1, 0}, {2, 2}}, std::map<int, int>{{1, 2}, {4, 1}}, std::map<int, int>{{3, 0}, {4, 0}}}) {
      stop_after_ = stops;
      for (const auto& [model, report] : Run(models)) {
        SCOPED_TRACE(absl::StrCat(space, ", model ", model));
        EXPECT_EQ(report.ends, 1);
        const auto stop = stops.find(model);
        if (stop == stops.end()) {
          EXPECT_EQ(report.end.outcome(), v1::ModelEnded::SUCCEEDED);
          EXPECT_EQ(report.metrics, alone[model]);
          continue;
        }
        EXPECT_EQ(report.end.outcome(), v1::ModelEnded::STOPPED_EARLY);
        EXPECT_FALSE(report.end.has_failure());
        auto steps = alone[model];
        steps.resize(static_cast<size_t>(stop->second) + 1);
        steps.emplace_back();  // no final metrics
        EXPECT_EQ(report.metrics, steps);
      }
    }
    stop_after_.clear();
  }
}

TEST_F(MergedTrialTest, AllModelsMayBeStopped) {
  stop_after_ = {{1, 0}, {2, 0}};
  for (const auto& [model, report] : Run({Model(1, kPlain), Model(2, kDropout)})) {
    EXPECT_EQ(report.end.outcome(), v1::ModelEnded::STOPPED_EARLY) << model;
    EXPECT_EQ(report.ends, 1);
  }
}

TEST_F(MergedTrialTest, AStoppedModelThatFailsEndsNobodyElsesAttempt) {
  before_throw = [this] { Stop(2); };
  const auto reports = Run({Model(1, kPlain), Model(2, kThrows), Model(3, kDropout)});
  before_throw = nullptr;
  EXPECT_EQ(reports.at(2).end.outcome(), v1::ModelEnded::FAILED);
  for (const int other : {1, 3}) EXPECT_EQ(reports.at(other).end.outcome(), v1::ModelEnded::SUCCEEDED);
}

TEST_F(MergedTrialTest, AnEvaluatorThatEndsItsGroupForOneStoppedModelLosesNobody) {
  SetEvaluator("custom { name: 'hasty' }");
  stop_after_ = {{1, 0}};
  const auto reports = Run({Model(1, kPlain), Model(2, kPlain)});
  EXPECT_EQ(reports.at(1).end.outcome(), v1::ModelEnded::STOPPED_EARLY);
  EXPECT_EQ(reports.at(2).end.outcome(), v1::ModelEnded::UNMERGED) << "it runs again, alone";
  EXPECT_THAT(reports.at(2).end.failure().message(), HasSubstr("though the trial was not canceled"));
}

TEST_F(MergedTrialTest, ModelsBeyondALimitLeaveAndTheOthersReportWhatTheyWouldAlone) {
  for (const char* const space : {"mixed", "pooled"}) {
    spec_.mutable_space()->set_registered(space);
    SetOptimizer("adam { learning_rate: 0.01 }");
    spec_.clear_constraint();
    std::map<int, std::vector<std::map<std::string, double>>> alone;
    // Those with odd numbers have twice the width.
    for (const int model : {1, 2, 4}) alone[model] = Alone(Model(model, kDropout));
    const double narrow = alone[2].back().at("params"), wide = alone[1].back().at("params");
    v1::ConstraintConfig& limit = *spec_.add_constraint();
    limit.set_metric("params");
    limit.set_max((narrow + wide) / 2);
    // The first one would compute for all, where they share something.
    for (const std::vector<int>& ordinals : {std::vector<int>{1, 2, 4}, std::vector<int>{2, 3, 4}, {1, 3, 5}}) {
      std::vector<v1::TrialModel> models;
      for (const int ordinal : ordinals) models.push_back(Model(ordinal, kDropout));
      const auto reports = Run(models);
      ASSERT_EQ(reports.size(), 3u);
      for (const auto& [model, report] : reports) {
        SCOPED_TRACE(absl::StrCat(space, ", model ", model));
        EXPECT_EQ(report.ends, 1);
        if (model % 2 == 0) {
          EXPECT_EQ(report.end.outcome(), v1::ModelEnded::SUCCEEDED);
          EXPECT_EQ(report.metrics, alone[model]);
          continue;
        }
        EXPECT_EQ(report.end.outcome(), v1::ModelEnded::INFEASIBLE);
        EXPECT_FALSE(report.end.has_failure());
        ASSERT_EQ(report.metrics.size(), 1u) << "it was not trained";
        EXPECT_EQ(report.metrics[0].at("params"), wide);
      }
    }
  }
}

TEST_F(MergedTrialTest, AllModelsMayBeBad) {
  for (const v1::CgoEngineConfig::OnBadModel on_bad_model :
       {v1::CgoEngineConfig::DROP, v1::CgoEngineConfig::RERUN_INDEPENDENTLY}) {
    spec_.mutable_engine()->mutable_cgo()->set_on_bad_model(on_bad_model);
    const auto reports = Run({Model(1, kThrows), Model(2, kNan)});
    EXPECT_EQ(reports.at(1).end.outcome(), v1::ModelEnded::FAILED);
    EXPECT_EQ(reports.at(2).end.outcome(),
              on_bad_model == v1::CgoEngineConfig::DROP ? v1::ModelEnded::FAILED : v1::ModelEnded::UNMERGED);
    EXPECT_EQ(reports.at(1).ends, 1);
    EXPECT_EQ(reports.at(2).ends, 1);
  }
}

}  // namespace
}  // namespace lanista
