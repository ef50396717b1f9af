// Tests of the parts, by the names under which configurations know them.
#include <gtest/gtest.h>
#include <torch/types.h>

#include <string>

#include "lanista/dataset.h"
#include "lanista/experiment.h"
#include "lanista/main.h"
#include "lanista/nn.h"

namespace {

TEST(NetTest, EveryFirstLayerTakesAnImage) {
  for (const char* first : {"3x3", "5x5"}) {
    const std::string sample = std::string(R"({"width": 8, "depth": 2, "first": ")") + first + R"("})";
    const auto net = lanista::nn::BuildFixed("net", sample);
    EXPECT_EQ(net->forward(torch::zeros({3, 1, 16, 16})).sizes(), torch::IntArrayRef({3, 2}));
  }
}

TEST(StripesTest, AreTheSameEachTime) {
  lanista::v1::DatasetConfig config;
  config.mutable_custom()->set_name("stripes");
  const auto once = lanista::data::OpenDataset(config, /*order_seed=*/1);
  const auto again = lanista::data::OpenDataset(config, /*order_seed=*/1);
  ASSERT_TRUE(once.ok()) << once.status();
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_TRUE(torch::equal(once->train->InMemory()->input, again->train->InMemory()->input));
  EXPECT_EQ(once->outputs, 2);
}

TEST(SearchTest, TheOwnPartsFindModels) {
  lanista::ExperimentSettings settings;
  settings.state_dir = ::testing::TempDir() + "/state";
  auto experiment = lanista::Experiment::Parse(R"pb(
                                                 space { registered: "net" }
                                                 strategy { custom { name: "backwards" } }
                                                 evaluator {
                                                   custom {
                                                     name: "train_on_stripes"
                                                     params {
                                                       key: "steps"
                                                       value { i: 2 }
                                                     }
                                                   }
                                                 }
                                                 max_trial_number: 2
                                               )pb",
                                               settings);
  ASSERT_TRUE(experiment.ok()) << experiment.status();
  const absl::Status status = experiment->Run();
  ASSERT_TRUE(status.ok()) << status;
  const auto best = experiment->TopModels(2);
  ASSERT_TRUE(best.ok()) << best.status();
  EXPECT_EQ(best->size(), 2u);
}

}  // namespace

int main(int argc, char** argv) {
  // Trials run in processes of this program: they end in here.
  lanista::Init(argc, argv);
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
