// What is known of models' costs before they train is what their trials report.
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engines/model_costs.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "src/evaluators/functional.h"
#include "src/graph/builder.h"
#include "src/graph/registered_graphs.h"
#include "src/ops/registry.h"
#include "src/space/space.h"
#include "src/trial/runner.h"

namespace lanista {
namespace {

using graph::Handle;
using graph::MakeOp;

v1::Node Conv(int64_t in, int64_t out) {
  return MakeOp("Conv2d", {{"in_channels", in}, {"out_channels", out}, {"kernel_size", 3}, {"padding", 1}});
}

// Choices of all kinds, one of which only some models have, and a module that is called twice.
absl::StatusOr<v1::ModelGraph> CostlyGraph(const Params&) {
  graph::Builder net("Net", ops::FindOp);
  Handle x = net.Input("x", graph::TensorType(v1::Tensor::FLOAT32, {-1, 1, 28, 28}));
  const Handle stem = net.Add(
      "stem", MakeOp("Conv2d", {{"in_channels", 1}, {"out_channels", 4}, {"kernel_size", 4}, {"stride", 4}}), {x});
  x = net.Add("norm", MakeOp("BatchNorm2d", {{"num_features", 4}}), {stem});
  const v1::Node deep = graph::MakeRepeat("depth", {Conv(4, 4), Conv(4, 4), Conv(4, 4)}, {1, 3});
  x = net.Add("body", graph::MakeLayerChoice("body", {{"shallow", Conv(4, 4)}, {"deep", deep}}), {x});
  x = net.Add("skip", graph::MakeInputChoice("skip", 1), {x, stem});
  graph::CellOptions cell;
  cell.num_nodes = 2;
  x = net.Add("cell", graph::MakeNasCell("cell", {{"conv", Conv(4, 4)}, {"same", MakeOp("Identity")}}, cell), {x});
  x = net.Add("act", MakeOp("ReLU"), {x});
  x = net.Add("flatten", MakeOp("Flatten"), {x});
  const graph::Number width = net.ValueChoice("width", {6, 9});
  x = net.Add("first", MakeOp("Linear", {{"in_features", 8 * 7 * 7}, {"out_features", width}}), {x});
  const v1::Node square = MakeOp("Linear", {{"in_features", width}, {"out_features", width}});
  x = net.Add("square", square, {x});
  v1::Node again = square;
  again.set_module("square");
  x = net.Add("square_2", again, {x});
  net.Output(net.Add("last", MakeOp("Linear", {{"in_features", width}, {"out_features", 10}}), {x}));
  return std::move(net).Build();
}
LANISTA_REGISTER(graph_space, "costly", CostlyGraph);

void OnlyBuild(TrialContext& context) {
  context.model();
  context.ReportFinal(0);
}
LANISTA_REGISTER(evaluator, "only_build", OnlyBuild);

class TrialCostsTest : public ::testing::TestWithParam<const char*> {
 protected:
  TrialCostsTest() {
    v1::TrialRequest request;
    request.mutable_setup()->mutable_device()->set_kind(v1::DeviceKind::CPU);
    Send(request);
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(GetParam(), spec_.mutable_engine()));
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
        R"(registered: "costly"
           mutator { layer_choice { target: "act" candidate { keep {} } candidate { op { type: "SiLU" } } } }
           frozen { target: "stem" } frozen { target: "norm" })",
        spec_.mutable_space()));
    spec_.mutable_evaluator()->mutable_custom()->set_name("only_build");
    spec_.set_experiment("e");
    spec_.add_models()->set_model(1);
  }

  // Keeps the events of this request alone.
  void Send(const v1::TrialRequest& request) {
    events_.clear();
    runner_.Handle(request);
  }

  void Discover() {
    v1::TrialRequest request;
    *request.mutable_discover()->mutable_space() = spec_.space();
    *request.mutable_discover()->mutable_engine() = spec_.engine();
    *request.mutable_discover()->mutable_evaluator() = spec_.evaluator();
    Send(request);
    discovered_ = events_.back().discovered();
    ASSERT_FALSE(discovered_.has_error()) << discovered_.error().message();
    spec_.set_program(discovered_.program());
    spec_.set_space_fingerprint(discovered_.space().fingerprint());
  }

  // How the model of `sample` ends, which its trial's last event but one tells.
  v1::ModelEnded Run(const v1::Sample& sample) {
    spec_.set_trial(spec_.trial() + 1);
    *spec_.mutable_models(0)->mutable_sample() = sample;
    v1::TrialRequest request;
    *request.mutable_run() = spec_;
    Send(request);
    return events_[events_.size() - 2].model().ended();
  }

  v1::TrialSpec spec_;
  v1::Discovered discovered_;
  std::vector<v1::TrialEvent> events_;
  TrialRunner runner_{[this](const v1::TrialEvent& event) { events_.push_back(event); }, /*redirect_output=*/false};
};

TEST_P(TrialCostsTest, AreKnownBeforeIt) {
  Discover();
  PlannerContext context;
  context.space = spec_.space();
  context.graph_space = discovered_.graph_space();
  const auto costs = ModelCosts::Create(context, {"params", "flops"});
  ASSERT_TRUE(costs.has_value());
  const auto space = Space::FromProto(discovered_.space());
  ASSERT_TRUE(space.ok()) << space.status();
  std::set<double> params, flops;
  std::set<int> sizes;
  std::mt19937_64 random(1);
  for (int i = 0; i < 60; ++i) {
    const v1::Sample sample = space->Random(random);
    const auto known = costs->Of(sample);
    ASSERT_TRUE(known.has_value()) << Space::ToJson(sample);
    const v1::ModelEnded ended = Run(sample);
    ASSERT_EQ(ended.outcome(), v1::ModelEnded::SUCCEEDED) << ended.failure().message();
    for (const char* const metric : {"params", "flops"}) {
      EXPECT_EQ(known->values().at(metric), ended.metrics().values().at(metric))
          << metric << " of " << Space::ToJson(sample);
    }
    params.insert(known->values().at("params"));
    flops.insert(known->values().at("flops"));
    sizes.insert(sample.decisions_size());
  }
  EXPECT_GE(params.size(), 8u) << "models that differ";
  EXPECT_GE(flops.size(), 8u);
  EXPECT_EQ(sizes.size(), 2u) << "models with `depth`, and without";
}

INSTANTIATE_TEST_SUITE_P(Engines, TrialCostsTest, ::testing::Values("graph {}", "cgo {}"),
                         [](const auto& info) { return info.param[0] == 'g' ? "graph" : "cgo"; });

}  // namespace
}  // namespace lanista
