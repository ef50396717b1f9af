// Limits and objectives in the trial process: models that cost too much are not trained, and every metric that is asked
// for is there in the end.
#include <torch/nn/modules/linear.h>

#include <filesystem>
#include <fstream>
#include <map>
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

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

// 5 parameters for each unit of its width, 2 or 20.
class WidthSpace : public nn::ModelSpace {
 public:
  WidthSpace() {
    const int64_t width = nn::ValueChoice({2, 20}, "width");
    layer_ = register_module("layer", torch::nn::Linear(4, width));
  }
  torch::Tensor forward(torch::Tensor x) override { return layer_(x); }

 private:
  torch::nn::Linear layer_{nullptr};
};
LANISTA_REGISTER(model_space, "width", nn::MakeModelSpace<WidthSpace>);

// The same as a graph: 9 FLOPs for each unit. Parameter `unknown_flops`: an operator follows that does not know its
// own.
absl::StatusOr<v1::ModelGraph> WidthGraph(const Params& params) {
  graph::Builder net("Net", ops::FindOp);
  graph::Handle x = net.Input("x", graph::TensorType(v1::Tensor::FLOAT32, {-1, 4}));
  const graph::Number width = net.ValueChoice("width", {2, 20});
  x = net.Add("layer", graph::MakeOp("Linear", {{"in_features", 4}, {"out_features", width}}), {x});
  if (params.Get<bool>("unknown_flops", false)) x = net.Add("erfinv", graph::MakeOp("aten::erfinv"), {{"self", x}});
  net.Output(x);
  return std::move(net).Build();
}
LANISTA_REGISTER(graph_space, "width_graph", WidthGraph);

struct Orders {
  explicit Orders(const Params& params) : order(params.Get<std::string>("do")) {}
  std::string order;
};

// Does what the parameter `do` says.
void Obey(TrialContext& context, const Orders& orders) {
  if (orders.order == "train") {
    context.model();
    context.ReportIntermediate(0);
    context.ReportFinal({{"default", 1}, {"latency", 3}});
  }
  if (orders.order == "train whatever happens") {
    try {
      context.model();
    } catch (...) {
      context.ReportFinal(1);
    }
  }
  if (orders.order == "look at the sample") context.ReportFinal(static_cast<double>(context.sample().decisions_size()));
  if (orders.order == "report params") context.ReportFinal({{"default", 1}, {"params", 7}});
  if (orders.order == "train and fail") context.model();
  if (orders.order == "fail" || orders.order == "train and fail") throw std::runtime_error("out of ideas");
}
LANISTA_REGISTER(evaluator, "limits_obey", Obey);

class LimitsTest : public ::testing::Test {
 protected:
  LimitsTest() {
    v1::TrialRequest request;
    request.mutable_setup()->mutable_device()->set_kind(v1::DeviceKind::CPU);
    runner_.Handle(request);
    spec_.set_experiment("e");
    v1::TrialModel& model = *spec_.add_models();
    model.set_model(1);
    SetWidth(2);
    SetSpace("space { registered: 'width' } engine { direct {} }");
    SetOrder("train");
  }

  // Space and engine; anything else of a TrialSpec.
  void SetSpace(const std::string& text) {
    v1::TrialSpec parts;
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &parts));
    *spec_.mutable_space() = parts.space();
    *spec_.mutable_engine() = parts.engine();
  }

  void SetEvaluator(const std::string& text) {
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, spec_.mutable_evaluator()));
  }

  void SetOrder(const std::string& order) {
    SetEvaluator(absl::StrCat("custom { name: 'limits_obey' params { key: 'do' value { s: '", order, "' } } }"));
  }

  void SetWidth(int width) {
    v1::Sample& sample = *spec_.mutable_models(0)->mutable_sample();
    sample.clear_decisions();
    v1::Decision& decision = *sample.add_decisions();
    decision.set_label("width");
    decision.add_index(width == 2 ? 0 : 1);
    decision.add_value()->set_i(width);
  }

  // Objectives and limits.
  void SetGoals(const std::string& text) {
    v1::TrialSpec parts;
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &parts));
    *spec_.mutable_objectives() = parts.objectives();
    *spec_.mutable_constraint() = parts.constraint();
  }

  // How the model ends.
  v1::ModelEnded Run() {
    v1::TrialRequest request;
    *request.mutable_discover()->mutable_space() = spec_.space();
    *request.mutable_discover()->mutable_engine() = spec_.engine();
    *request.mutable_discover()->mutable_evaluator() = spec_.evaluator();
    runner_.Handle(request);
    const v1::Discovered& discovered = events_.back().discovered();
    EXPECT_FALSE(discovered.has_error()) << discovered.error().message();
    spec_.set_program(discovered.program());
    spec_.set_space_fingerprint(discovered.space().fingerprint());
    *spec_.mutable_space_files() = discovered.space().files();
    spec_.set_trial(spec_.trial() + 1);
    *request.mutable_run() = spec_;
    events_.clear();
    runner_.Handle(request);
    EXPECT_TRUE(events_.back().has_ended());
    return events_[events_.size() - 2].model().ended();
  }

  // What it cost, as was told when it was built.
  v1::ModelBuilt Built() const {
    for (const v1::TrialEvent& event : events_) {
      if (event.model().has_built()) return event.model().built();
    }
    ADD_FAILURE() << "it was not built";
    return {};
  }

  bool HasReported() const {
    for (const v1::TrialEvent& event : events_) {
      if (event.model().has_intermediate()) return true;
    }
    return false;
  }

  // The metrics of a model that was beyond a limit.
  std::map<std::string, double> Infeasible() {
    const v1::ModelEnded ended = Run();
    EXPECT_EQ(ended.outcome(), v1::ModelEnded::INFEASIBLE) << ended.failure().message();
    EXPECT_FALSE(ended.has_failure());
    return {ended.metrics().values().begin(), ended.metrics().values().end()};
  }

  // Those of a model that succeeds, without `default`.
  std::map<std::string, double> Succeeding() {
    const v1::ModelEnded ended = Run();
    EXPECT_EQ(ended.outcome(), v1::ModelEnded::SUCCEEDED) << ended.failure().message();
    std::map<std::string, double> metrics(ended.metrics().values().begin(), ended.metrics().values().end());
    EXPECT_EQ(metrics.erase("default"), 1u);
    return metrics;
  }

  // Why a model fails for the lack of a metric.
  std::string Missing() {
    const v1::ModelEnded ended = Run();
    EXPECT_EQ(ended.outcome(), v1::ModelEnded::FAILED);
    EXPECT_EQ(ended.failure().reason(), v1::Failure::NO_METRIC);
    return ended.failure().message();
  }

  v1::TrialSpec spec_;
  std::vector<v1::TrialEvent> events_;
  TrialRunner runner_{[this](const v1::TrialEvent& event) { events_.push_back(event); }, /*redirect_output=*/false};
};

TEST_F(LimitsTest, AModelThatCostsTooMuchIsNotTrained) {
  spec_.set_keep_weights(true);
  const std::string folder = testing::TempDir() + "/infeasible";
  spec_.mutable_models(0)->set_output_folder(folder);
  SetGoals("constraint { metric: 'params' max: 50 }");
  SetWidth(20);
  EXPECT_THAT(Infeasible(), ElementsAre(Pair("params", 100)));
  EXPECT_FALSE(HasReported());
  EXPECT_FALSE(std::filesystem::exists(folder));
  SetWidth(2);
  EXPECT_THAT(Succeeding(), ElementsAre(Pair("latency", 3), Pair("params", 10)));
  EXPECT_TRUE(HasReported());
  SetGoals("constraint { metric: 'params' min: 11 }");
  EXPECT_THAT(Infeasible(), ElementsAre(Pair("params", 10)));
}

TEST_F(LimitsTest, FlopsOfAGraphHaveLimits) {
  for (const char* const engine : {"graph", "cgo"}) {
    SetSpace(absl::StrCat("space { registered: 'width_graph' } engine { ", engine, " {} }"));
    SetGoals("constraint { metric: 'flops' max: 18 }");
    SetWidth(20);
    EXPECT_THAT(Infeasible(), ElementsAre(Pair("flops", 180), Pair("params", 100)));
    SetWidth(2);
    EXPECT_THAT(Succeeding(), ElementsAre(Pair("flops", 18), Pair("latency", 3), Pair("params", 10)));
  }
}

TEST_F(LimitsTest, CostsAreToldWhateverBecomesOfTheModel) {
  SetSpace("space { registered: 'width_graph' } engine { graph {} }");
  SetWidth(20);
  for (const char* const goals : {"", "constraint { metric: 'flops' max: 18 }"}) {
    for (const char* const order : {"train", "train and fail"}) {
      SetGoals(goals);
      SetOrder(order);
      EXPECT_EQ(Run().outcome() == v1::ModelEnded::SUCCEEDED, *goals == '\0' && order == std::string("train"));
      EXPECT_EQ(Built().params(), 100);
      EXPECT_EQ(Built().flops(), 180);
    }
  }
  SetSpace("space { registered: 'width_graph' params { key: 'unknown_flops' value { b: true } } } engine { graph {} }");
  Run();
  EXPECT_EQ(Built().params(), 100);
  EXPECT_FALSE(Built().has_flops());
}

TEST_F(LimitsTest, HoldWhateverTheEvaluatorDoesThen) {
  SetOrder("train whatever happens");
  SetGoals("constraint { metric: 'params' max: 50 }");
  SetWidth(20);
  EXPECT_THAT(Infeasible(), ElementsAre(Pair("params", 100)));
}

TEST_F(LimitsTest, ASampleThatLacksAChoiceIsReportedWithIt) {
  SetGoals("constraint { metric: 'params' min: 1000 }");
  spec_.mutable_models(0)->mutable_sample()->clear_decisions();
  const v1::ModelEnded ended = Run();
  EXPECT_EQ(ended.outcome(), v1::ModelEnded::INFEASIBLE);
  ASSERT_EQ(ended.actual_sample().decisions_size(), 1);
  EXPECT_EQ(ended.actual_sample().decisions(0).label(), "width");
}

TEST_F(LimitsTest, CostsAreCountedForEvaluatorsThatBuildNoModel) {
  for (const char* const evaluator : {"constant { value: 0.5 }",
                                      "custom { name: 'limits_obey' params { key: 'do' value "
                                      "{ s: 'look at the sample' } } }"}) {
    SetEvaluator(evaluator);
    SetSpace("space { registered: 'width' } engine { direct {} }");
    SetWidth(2);
    SetGoals("");
    EXPECT_THAT(Succeeding(), IsEmpty());
    SetGoals("objectives {} objectives { metric: 'params' goal: MINIMIZE }");
    EXPECT_THAT(Succeeding(), ElementsAre(Pair("params", 10)));
    SetGoals("constraint { metric: 'params' max: 50 }");
    EXPECT_THAT(Succeeding(), ElementsAre(Pair("params", 10)));
    SetWidth(20);
    EXPECT_THAT(Infeasible(), ElementsAre(Pair("params", 100)));
    SetSpace("space { registered: 'width_graph' } engine { cgo {} }");
    EXPECT_THAT(Infeasible(), ElementsAre(Pair("flops", 180), Pair("params", 100)));
    SetGoals("constraint { metric: 'flops' max: 1000 }");
    EXPECT_THAT(Succeeding(), ElementsAre(Pair("flops", 180), Pair("params", 100)));
  }
}

TEST_F(LimitsTest, WhatTheEvaluatorReportsItselfStands) {
  SetOrder("report params");
  SetGoals("objectives {} constraint { metric: 'params' max: 50 }");
  SetWidth(20);
  EXPECT_THAT(Succeeding(), ElementsAre(Pair("params", 7)));
}

TEST_F(LimitsTest, AFailureIsAFailureWithGoalsToo) {
  SetOrder("fail");
  SetGoals("constraint { metric: 'params' max: 50 }");
  EXPECT_EQ(Run().failure().message(), "out of ideas");
}

TEST_F(LimitsTest, AMetricThatNobodyReportsFailsTheModel) {
  SetGoals("objectives {} objectives { metric: 'energy' }");
  EXPECT_EQ(Missing(), "objectives[1].metric: 'energy' was not reported; the model has default, latency, params");
  SetGoals("constraint { metric: 'params' max: 50 } constraint { metric: 'energy' max: 1 }");
  EXPECT_EQ(Missing(), "constraint[1].metric: 'energy' was not reported; the model has default, latency, params");
  SetGoals("objectives { metric: 'latency' } constraint { metric: 'latency' max: 1 }");
  EXPECT_THAT(Succeeding(), ElementsAre(Pair("latency", 3), Pair("params", 10))) << "it is trained by then";
  SetGoals("constraint { metric: 'memory' max: 1 }");
  EXPECT_EQ(Missing(), "constraint[0].metric: 'memory' was not reported; the model has default, latency, params");
  // Of a graph it is an estimate, which trials do not have.
  SetSpace("space { registered: 'width_graph' } engine { graph {} }");
  SetGoals("constraint { metric: 'memory' max: 1 }");
  Succeeding();
}

TEST_F(LimitsTest, FlopsThatAreNotKnownAreMissing) {
  SetSpace("space { registered: 'width_graph' params { key: 'unknown_flops' value { b: true } } } engine { graph {} }");
  SetGoals("constraint { metric: 'flops' max: 1000 }");
  EXPECT_THAT(Missing(),
              HasSubstr("'flops' was not reported; the model has default, latency, params; FLOPs are known"));
}

TEST_F(LimitsTest, WhereNobodyCanTellItsFlopsAModelIsNotTrained) {
  const std::string path = testing::TempDir() + "/four_features.csv";
  std::ofstream csv(path);
  csv << "a,b,c,d,y,z\n";
  for (int row = 0; row < 20; ++row)
    csv << row % 2 << "," << row % 3 << "," << row % 5 << "," << row << "," << row << "," << -row << "\n";
  csv.close();
  SetEvaluator(
      absl::StrCat("regression { max_epochs: 1 dataset { csv { path: '", path, "' target_columns: ['y', 'z'] } } }"));
  for (const bool unknown : {false, true}) {
    SetSpace(absl::StrCat("space { registered: 'width_graph' params { key: 'unknown_flops' value { b: ",
                          unknown ? "true" : "false", " } } } engine { graph {} }"));
    for (const char* const goals :
         {"constraint { metric: 'flops' max: 1000 }", "objectives {} objectives { metric: 'flops' goal: MINIMIZE }"}) {
      SetGoals(goals);
      if (unknown) {
        EXPECT_THAT(
            Missing(),
            HasSubstr("the model is not trained: an objective or a limit is on its 'flops', and the node erfinv "
                      "(aten::erfinv) has no rule for them"));
        EXPECT_FALSE(HasReported());
      } else {
        Succeeding();
        EXPECT_TRUE(HasReported());
      }
    }
  }
}

TEST_F(LimitsTest, ATableHasTheMetricsOfItsColumns) {
  const std::string path = testing::TempDir() + "/limits.csv";
  std::ofstream(path) << "width,default,params\n2,0.5,10\n20,0.7,100\n";
  SetSpace(
      "space { choices { choice { label: 'width' candidate { i: 2 } candidate { i: 20 } } } } engine { direct {} }");
  SetEvaluator(absl::StrCat("table { path: '", path, "' column { label: 'width' column: 'width' } }"));
  SetWidth(20);
  // Its own report: what becomes of a trained model is not the trial's to say.
  SetGoals("constraint { metric: 'params' max: 50 }");
  EXPECT_THAT(Succeeding(), ElementsAre(Pair("params", 100)));
  SetGoals("constraint { metric: 'flops' max: 50 }");
  EXPECT_THAT(Missing(), HasSubstr("constraint[0].metric: 'flops' was not reported; the model has default, params"));
}

}  // namespace
}  // namespace lanista
