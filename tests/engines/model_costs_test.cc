// What is known of models' costs before they train. That trials report the same is tested in trial_costs_test.cc.
#include "engines/model_costs.h"

#include <optional>
#include <set>
#include <string>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "src/graph/builder.h"
#include "src/ops/registry.h"

namespace lanista {
namespace {

using graph::MakeOp;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

// A linear layer of a chosen width, and what is chosen to follow it: `linear` does not fit a width of 5.
PlannerContext Context() {
  graph::Builder net("Net", ops::FindOp);
  graph::Handle x = net.Input("x", graph::TensorType(v1::Tensor::FLOAT32, {-1, 8}));
  const graph::Number width = net.ValueChoice("width", {3, 5});
  x = net.Add("first", MakeOp("Linear", {{"in_features", 8}, {"out_features", width}}), {x});
  x = net.Add("gate",
              graph::MakeLayerChoice("gate", {{"relu", MakeOp("ReLU")},
                                              {"unknown", MakeOp("aten::erfinv")},
                                              {"linear", MakeOp("Linear", {{"in_features", 3}, {"out_features", 3}})}}),
              {x});
  net.Output(x);
  auto built = std::move(net).Build();
  EXPECT_TRUE(built.ok()) << built.status();
  PlannerContext context;
  context.graph_space.emplace();
  *context.graph_space->mutable_base() = *built;
  context.evaluator.mutable_classification()->set_batch_size(10);
  return context;
}

v1::Sample Sample(int width, const std::string& gate) {
  v1::Sample sample;
  v1::Decision& first = *sample.add_decisions();
  first.set_label("width");
  first.add_index(width == 3 ? 0 : 1);
  first.add_value()->set_i(width);
  v1::Decision& second = *sample.add_decisions();
  second.set_label("gate");
  second.add_index(gate == "relu" ? 0 : gate == "unknown" ? 1 : 2);
  second.add_value()->set_s(gate);
  return sample;
}

const std::set<std::string> kAll = {"params", "flops", "memory"};

std::optional<ModelCosts> Costs(const std::set<std::string>& wanted = kAll) {
  return ModelCosts::Create(Context(), wanted);
}

// Weights and biases, as many gradients, twice as many values of Adam's, and those of 10 samples from each of two
// steps.
constexpr int Memory(int parameters) { return 4 * (parameters * 4 + 10 * 3 * 2); }

TEST(ModelCosts, AreParametersFlopsAndMemory) {
  const auto costs = Costs();
  ASSERT_TRUE(costs.has_value());
  const auto relu = costs->Of(Sample(3, "relu"));
  ASSERT_TRUE(relu.has_value());
  EXPECT_THAT(relu->values(), UnorderedElementsAre(Pair("params", 8 * 3 + 3), Pair("flops", 3 * (2 * 8 + 1) + 3),
                                                   Pair("memory", Memory(8 * 3 + 3))));
  const auto linear = costs->Of(Sample(3, "linear"));
  ASSERT_TRUE(linear.has_value());
  EXPECT_THAT(linear->values(),
              UnorderedElementsAre(Pair("params", 27 + 12), Pair("flops", 3 * (2 * 8 + 1) + 3 * (2 * 3 + 1)),
                                   Pair("memory", Memory(27 + 12))));
}

TEST(ModelCosts, AreThoseThatAreWantedAlone) {
  for (const std::string& metric : kAll) {
    const auto costs = Costs({"default", metric});
    ASSERT_TRUE(costs.has_value());
    EXPECT_THAT(costs->Of(Sample(3, "relu"))->values(), UnorderedElementsAre(Pair(metric, testing::Gt(0))));
  }
  EXPECT_FALSE(Costs({}).has_value());
  EXPECT_FALSE(Costs({"default", "latency"}).has_value());
}

TEST(ModelCosts, WithoutFlopsWhereAnOperatorDoesNotKnowItsOwn) {
  EXPECT_THAT(Costs({"params", "flops"})->Of(Sample(3, "unknown"))->values(), UnorderedElementsAre(Pair("params", 27)));
}

TEST(ModelCosts, AreUnknownWhereTheGraphCannotBeMade) {
  const auto costs = Costs();
  EXPECT_TRUE(costs->Of(Sample(5, "relu")).has_value());
  EXPECT_FALSE(costs->Of(Sample(5, "linear")).has_value()) << "5 values into a layer that takes 3";
  v1::Sample incomplete = Sample(3, "relu");
  incomplete.mutable_decisions()->RemoveLast();
  EXPECT_FALSE(costs->Of(incomplete).has_value());
}

TEST(ModelCosts, AreUnknownWhereOnlyTrialsMakeTheGraphs) {
  PlannerContext direct = Context();
  direct.graph_space.reset();
  EXPECT_FALSE(ModelCosts::Create(direct, kAll).has_value());
  PlannerContext mutated = Context();
  mutated.graph_space->add_mutator()->mutable_custom()->set_name("a mutator of the user's");
  EXPECT_FALSE(ModelCosts::Create(mutated, kAll).has_value());
}

TEST(ModelCosts, MemoryIsWhatCgoPlansWith) {
  PlannerContext context = Context();
  context.multi_model_evaluator = true;
  v1::EngineConfig config;
  config.mutable_cgo();
  std::set<double> estimates;
  for (const bool frozen : {false, true}) {
    if (frozen) context.space.add_frozen()->set_target("first");
    const auto planner = PlannerRegistry::Get().Create(config, context);
    ASSERT_TRUE(planner.ok()) << planner.status();
    // What it learns from trials changes neither.
    (*planner)->ObserveMemory(200LL << 20, 1, 1000LL << 20);
    const auto costs = ModelCosts::Create(context, {"memory"});
    ASSERT_TRUE(costs.has_value());
    for (const char* const gate : {"relu", "linear"}) {
      const auto plan = (*planner)->Explain({Sample(3, gate)}, 1);
      ASSERT_TRUE(plan.ok()) << plan.status();
      const double memory = costs->Of(Sample(3, gate))->values().at("memory");
      EXPECT_EQ(memory, plan->trials(0).memory()) << gate << ", frozen " << frozen;
      estimates.insert(memory);
    }
  }
  EXPECT_EQ(estimates.size(), 4u);
}

}  // namespace
}  // namespace lanista
