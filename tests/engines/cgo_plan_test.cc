// What the CGO engine plans: logical plans, passes, memory, trials.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "engines/cgo/assembler.h"
#include "engines/cgo/logical_plan.h"
#include "engines/cgo/memory.h"
#include "engines/cgo/sharing_passes.h"
#include "engines/device_memory.h"
#include "engines/planner.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "src/graph/builder.h"
#include "src/graph/mutator.h"
#include "src/ops/registry.h"

namespace lanista {
namespace {

using graph::MakeOp;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A backbone whose weights are a file's, a choice of what follows it, and a linear layer of a chosen width.
v1::PreparedGraphSpace Space() {
  graph::Builder net("Net", ops::FindOp);
  graph::Handle x = net.Input("x", graph::TensorType(v1::Tensor::FLOAT32, {-1, 1, 28, 28}));
  x = net.Add("conv", MakeOp("Conv2d", {{"in_channels", 1}, {"out_channels", 4}, {"kernel_size", 3}}), {x});
  x = net.Add("relu", MakeOp("ReLU"), {x});
  x = net.Add("gate", graph::MakeLayerChoice("gate", {{"none", MakeOp("Identity")}, {"dropout", MakeOp("Dropout")}}),
              {x});
  x = net.Add("flatten", MakeOp("Flatten"), {x});
  net.Output(net.Add("fc", MakeOp("Linear", {{"in_features", 4 * 26 * 26}, {"out_features", 10}}), {x}));
  auto built = std::move(net).Build();
  EXPECT_TRUE(built.ok()) << built.status();
  v1::PreparedGraphSpace space;
  *space.mutable_base() = *built;
  space.mutable_base()->add_archives()->set_path("backbone.pt");
  for (v1::Node& node : *space.mutable_base()->mutable_graphs(0)->mutable_nodes()) {
    if (node.name() == "conv") node.mutable_weights()->set_path("conv");
  }
  return space;
}

v1::Sample Gate(int candidate) {
  v1::Sample sample;
  v1::Decision& decision = *sample.add_decisions();
  decision.set_label("gate");
  decision.add_index(candidate);
  decision.add_value()->set_s(candidate == 0 ? "none" : "dropout");
  return sample;
}

class CgoPlannerTest : public ::testing::Test {
 protected:
  CgoPlannerTest() {
    context_.multi_model_evaluator = true;
    context_.graph_space = Space();
    context_.space.add_frozen()->set_target("conv");
    context_.evaluator.mutable_classification()->set_batch_size(100);
    config_.mutable_cgo()->set_max_concurrency_cgo(4);
  }

  std::unique_ptr<Planner> MakePlanner() const {
    auto planner = PlannerRegistry::Get().Create(config_, context_);
    EXPECT_TRUE(planner.ok()) << planner.status();
    return *std::move(planner);
  }

  // The trials of so many models with the first candidate: "1 2|3", and what they say of models that are alone.
  static std::string Plan(Planner& planner, int models, int free_trials) {
    std::vector<v1::TrialModel> waiting(static_cast<size_t>(models));
    for (int i = 0; i < models; ++i) {
      waiting[static_cast<size_t>(i)].set_model(i + 1);
      *waiting[static_cast<size_t>(i)].mutable_sample() = Gate(0);
    }
    std::vector<std::string> trials;
    for (const PlannedTrial& trial : planner.Plan(std::move(waiting), free_trials)) {
      EXPECT_EQ(trial.models.size() == 1, !trial.alone_because.empty());
      trials.push_back(absl::StrJoin(trial.models, " ", [](std::string* out, const v1::TrialModel& model) {
        absl::StrAppend(out, model.model());
      }));
      if (!trial.alone_because.empty()) absl::StrAppend(&trials.back(), " (", trial.alone_because, ")");
    }
    return absl::StrJoin(trials, "|");
  }

  v1::EngineConfig config_;
  PlannerContext context_;
};

TEST_F(CgoPlannerTest, SpreadsModelsOverTrialsThatCouldStart) {
  const auto planner = MakePlanner();
  EXPECT_EQ(Plan(*planner, 4, 1), "1 2 3 4");
  EXPECT_EQ(Plan(*planner, 4, 2), "1 2|3 4");
  EXPECT_EQ(Plan(*planner, 4, 0), "1 2 3 4") << "they wait together";
  EXPECT_EQ(Plan(*planner, 9, 1), "1 2 3|4 5 6|7 8 9") << "at most four in one, evenly";
  EXPECT_EQ(Plan(*planner, 1, 3), "1 (no other model was waiting)");
  EXPECT_EQ(Plan(*planner, 3, 2), "1 2|3 (a device was free for it)");
  config_.mutable_cgo()->set_max_concurrency_cgo(2);
  EXPECT_EQ(Plan(*MakePlanner(), 3, 1), "1 2|3 (it is left of 3 models: max_concurrency_cgo is 2)");
}

TEST_F(CgoPlannerTest, ModelsOfAnEvaluatorThatTrainsOneAreAlone) {
  context_.multi_model_evaluator = false;
  EXPECT_EQ(Plan(*MakePlanner(), 2, 1),
            "1 (the evaluator trains one model at a time)|2 (the evaluator trains one model at a time)");
}

TEST_F(CgoPlannerTest, ModelsThatDoNotFitIntoADeviceTogetherAreNotMerged) {
  context_.device_memory = 100LL << 20;
  const auto planner = MakePlanner();
  EXPECT_EQ(Plan(*planner, 4, 1), "1 2 3 4") << "three quarters, less 64 MiB: some 11, and a model takes 1.6";
  // Each took ten times as much, as they all did before.
  planner->ObserveMemory(200LL << 20, 4, 1000LL << 20);
  const std::string plan = Plan(*planner, 2, 1);
  EXPECT_THAT(plan, HasSubstr("1 (memory: the device (0.1 GiB) has no room for another model"));
  EXPECT_THAT(plan, HasSubstr("|2 (memory"));
  EXPECT_THAT(Plan(*planner, 3, 2), HasSubstr("|3 (a device was free for it)")) << "whatever parts the others";
}

TEST_F(CgoPlannerTest, PlansForTheMemoryOfTheDevicesThatAreThere) {
  const auto planner = MakePlanner();
  EXPECT_EQ(Plan(*planner, 4, 1), "1 2 3 4");
  planner->SetDeviceMemory(86LL << 20);
  EXPECT_THAT(Plan(*planner, 4, 1), HasSubstr("1 (memory: the device (0.1 GiB) has no room")) << "none is larger";
  planner->SetDeviceMemory(100LL << 20);
  EXPECT_EQ(Plan(*planner, 4, 1), "1 2 3 4");
}

TEST_F(CgoPlannerTest, WhatATrialIsExpectedToTakeIsTheCorrectedEstimate) {
  const auto planner = MakePlanner();
  const auto plan = [&planner] {
    std::vector<v1::TrialModel> models(1);
    models[0].set_model(1);
    *models[0].mutable_sample() = Gate(0);
    return planner->Plan(std::move(models), 1)[0];
  };
  const PlannedTrial before = plan();
  EXPECT_GT(before.estimated_memory, 0);
  EXPECT_GT(before.expected_memory, before.estimated_memory);
  planner->ObserveMemory(200LL << 20, 4, 1000LL << 20);
  EXPECT_EQ(plan().estimated_memory, before.estimated_memory);
  EXPECT_GT(plan().expected_memory, before.expected_memory);
}

TEST(DeviceMemoryTest, TrialsArePlannedForWhatTwoThirdsOfTheDevicesHave) {
  EXPECT_EQ(PlanningMemory({}), 0);
  EXPECT_EQ(PlanningMemory({8}), 8);
  EXPECT_EQ(PlanningMemory({8, 24}), 8);
  EXPECT_EQ(PlanningMemory({24, 8, 24}), 24) << "one small device does not shrink every trial";
  EXPECT_EQ(PlanningMemory({24, 8, 8}), 8);
  EXPECT_EQ(PlanningMemory({8, 24, 24, 8, 24, 24}), 24);
  EXPECT_EQ(PlanningMemory({8, 24, 24, 8, 24, 8}), 8);
  EXPECT_EQ(PlanningMemory({0, 8}), 8) << "of unknown memory: large enough";
  EXPECT_EQ(PlanningMemory({0, 0, 8}), 0);
}

TEST(DeviceMemoryTest, IsTheGpusOrTheLimitOfTheProcess) {
  v1::Device device;
  device.set_memory(24);
  device.set_memory_limit(8);
  device.set_kind(v1::DeviceKind::CPU);
  EXPECT_EQ(DeviceMemory(device), 8);
  device.set_kind(v1::DeviceKind::GPU);
  EXPECT_EQ(DeviceMemory(device), 24);
  EXPECT_TRUE(HasRoomFor(75, 100));
  EXPECT_FALSE(HasRoomFor(76, 100));
  EXPECT_TRUE(HasRoomFor(1000, 0));
}

TEST_F(CgoPlannerTest, ExplainsWhatIsSharedAndWhyTheRestIsNot) {
  const auto planner = MakePlanner();
  const auto plan = planner->Explain({Gate(0), Gate(1), Gate(0)}, 1);
  ASSERT_TRUE(plan.ok()) << plan.status();
  ASSERT_EQ(plan->trials_size(), 1);
  EXPECT_GT(plan->trials(0).memory(), 0);
  std::vector<std::string> rows;
  for (const v1::ExplainedWork& work : plan->trials(0).work()) {
    rows.push_back(absl::StrCat(absl::StrJoin(work.models(), " "), ": ", work.steps(), " ", work.first(), " .. ",
                                work.last(), "; ", work.own_because()));
  }
  EXPECT_THAT(rows, ElementsAre("1 2 3: 0  .. ; ", "1 2 3: 2 conv (Conv2d) .. relu (ReLU); ",
                                "1 3: 2 gate (Identity) .. flatten (Flatten); the other models do something else here",
                                "1: 1 fc (Linear) .. fc (Linear); its weights are the model's own",
                                "2: 3 gate (Dropout) .. fc (Linear); it depends on chance or state",
                                "3: 1 fc (Linear) .. fc (Linear); its weights are the model's own"));
}

TEST_F(CgoPlannerTest, APlannedTrialSaysWhatItsModelsShare) {
  std::vector<v1::TrialModel> models(3);
  for (int i = 0; i < 3; ++i) {
    models[static_cast<size_t>(i)].set_model(i + 11);
    *models[static_cast<size_t>(i)].mutable_sample() = Gate(i % 2);
  }
  const std::vector<PlannedTrial> trials = MakePlanner()->Plan(models, 1);
  ASSERT_EQ(trials.size(), 1u);
  ASSERT_GE(trials[0].work.size(), 2u);
  EXPECT_THAT(trials[0].work[1].models(), ElementsAre(11, 12, 13));
  EXPECT_EQ(trials[0].work[1].first(), "conv (Conv2d)");
  models.resize(1);
  EXPECT_TRUE(MakePlanner()->Plan(models, 1)[0].work.empty()) << "it shares with nobody";
}

TEST_F(CgoPlannerTest, AModuleSpaceSharesItsBatches) {
  context_.graph_space.reset();
  const auto plan = MakePlanner()->Explain({Gate(0), Gate(1)}, 1);
  ASSERT_TRUE(plan.ok()) << plan.status();
  const v1::ExplainedTrial& trial = plan->trials(0);
  EXPECT_EQ(trial.memory(), 0) << "not known";
  ASSERT_EQ(trial.work_size(), 3);
  EXPECT_THAT(trial.work(0).models(), ElementsAre(1, 2));
  EXPECT_THAT(trial.work(2).models(), ElementsAre(2));
  EXPECT_THAT(trial.work(2).own_because(), HasSubstr("its steps are not known"));
}

TEST_F(CgoPlannerTest, MutatorsOfTheUsersAreNotRunForPlans) {
  context_.graph_space->add_mutator()->mutable_custom()->set_name("a mutator of the user's");
  const auto planner = MakePlanner();
  EXPECT_EQ(Plan(*planner, 4, 1), "1 2 3 4");
  const auto plan = planner->Explain({Gate(0), Gate(1)}, 1);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->trials(0).work(1).own_because(), "its steps are not known");
}

TEST_F(CgoPlannerTest, OtherEnginesHaveNothingToExplain) {
  config_.mutable_graph();
  const auto plan = MakePlanner()->Explain({Gate(0)}, 1);
  EXPECT_TRUE(absl::IsUnimplemented(plan.status()));
}

TEST(EstimateMemory, CountsWeightsGradientsStateAndValuesThatStay) {
  graph::Builder net("Net", ops::FindOp);
  graph::Handle x = net.Input("x", graph::TensorType(v1::Tensor::FLOAT32, {-1, 8}));
  x = net.Add("fc", MakeOp("Linear", {{"in_features", 8}, {"out_features", 3}}), {x});
  net.Output(net.Add("relu", MakeOp("ReLU"), {x}));
  auto model = std::move(net).Build();
  ASSERT_TRUE(model.ok()) << model.status();
  const auto schedule = graph::MakeSchedule(*model);
  ASSERT_TRUE(schedule.ok()) << schedule.status();
  LogicalPlan plan;
  plan.AddModel(1, *model, *schedule);
  plan.AddModel(2, *model, *schedule);
  Optimise(&plan);
  // 27 weights, as many gradients, twice as many of Adam's; 10 samples of 3 values from each of two steps.
  const int64_t one = 4 * (27 * 4 + 10 * 3 * 2);
  EXPECT_EQ(EstimateMemory(plan, {1}, {10, 2}), one);
  EXPECT_EQ(EstimateMemory(plan, {1, 2}, {10, 2}), 2 * one);
}

TEST(EstimateMemory, OfAValueThatNoDeviceHoldsIsLarge) {
  graph::Builder net("Net", ops::FindOp);
  const graph::Handle x =
      net.Input("x", graph::TensorType(v1::Tensor::FLOAT32, {-1, int64_t{1} << 40, int64_t{1} << 40}));
  net.Output(net.Add("relu", MakeOp("ReLU"), {x}));
  const auto model = std::move(net).Build();
  ASSERT_TRUE(model.ok()) << model.status();
  const auto schedule = graph::MakeSchedule(*model);
  ASSERT_TRUE(schedule.ok()) << schedule.status();
  LogicalPlan plan;
  plan.AddModel(1, *model, *schedule);
  EXPECT_GE(EstimateMemory(plan, {1}, {10, 2}), int64_t{1} << 40);
}

TEST(TrainingMemoryTest, IsToldByTheOptionsOfTheFields) {
  v1::EvaluatorConfig evaluator;
  const auto kept = [&evaluator] { return TrainingMemoryOf(evaluator).optimizer_state; };
  EXPECT_EQ(TrainingMemoryOf(evaluator).batch_size, 64);
  EXPECT_EQ(kept(), 2) << "nothing is known of it";
  v1::ClassificationConfig& classification = *evaluator.mutable_classification();
  EXPECT_EQ(TrainingMemoryOf(evaluator).batch_size, 64);
  EXPECT_EQ(kept(), 2) << "Adam's";
  classification.set_batch_size(10);
  EXPECT_EQ(TrainingMemoryOf(evaluator).batch_size, 10);
  v1::OptimizerConfig& optimizer = *classification.mutable_optimizer();
  optimizer.mutable_sgd()->set_momentum(0);
  EXPECT_EQ(kept(), 0);
  optimizer.mutable_sgd()->set_momentum(0.9);
  EXPECT_EQ(kept(), 1);
  optimizer.mutable_adam()->set_amsgrad(false);
  EXPECT_EQ(kept(), 2);
  optimizer.mutable_adamw()->set_amsgrad(true);
  EXPECT_EQ(kept(), 3);
  optimizer.mutable_rmsprop()->set_momentum(0.5);
  optimizer.mutable_rmsprop()->set_centered(true);
  EXPECT_EQ(kept(), 3);
  // The regression takes the place of the classification, and of its optimizer.
  const v1::OptimizerConfig same = optimizer;
  *evaluator.mutable_regression()->mutable_optimizer() = same;
  EXPECT_EQ(kept(), 3);
}

TEST(MemoryBudget, LearnsHowFarEstimatesAreOff) {
  constexpr int64_t kMib = 1 << 20;
  MemoryBudget budget(4096 * kMib);
  EXPECT_TRUE(budget.Fits(2000 * kMib, 2));
  budget.Observe(1000 * kMib, 2, (64 + 2000) * kMib);
  EXPECT_EQ(budget.Corrected(1000 * kMib, 2), (64 + 2000) * kMib);
  EXPECT_FALSE(budget.Fits(2000 * kMib, 2));
  // An estimate that says nothing: what each model took counts.
  budget.Observe(0, 4, (64 + 4000) * kMib);
  EXPECT_TRUE(budget.Fits(0, 2));
  EXPECT_FALSE(budget.Fits(0, 4));
  EXPECT_TRUE(MemoryBudget(0).Fits(int64_t{1} << 60, 1000)) << "what is not known is no limit";
}

}  // namespace
}  // namespace lanista
