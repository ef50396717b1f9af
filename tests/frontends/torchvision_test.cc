// Networks of torchvision: nothing but typed nodes, and the same values.
#include <filesystem>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/frontends/imported_model.h"

namespace lanista {
namespace {

struct Network {
  const char* name;
  int64_t size;
  // Operators that show that layers are typed.
  const char* has;
  // Whether all of it can be expressed.
  bool whole;
};

class TorchvisionTest : public testing::TestWithParam<Network> {};

TEST_P(TorchvisionTest, BecomesTypedNodesThatComputeTheSame) {
  const Network& network = GetParam();
  const std::string name = absl::StrCat("torchvision_", network.name);
  const std::string folder = ModelFolder("torchvision");
  if (!std::filesystem::exists(absl::StrCat(folder, "/", name, ".pt"))) GTEST_SKIP() << "no torchvision";
  const auto model = Import(name, {{2, 3, network.size, network.size}}, {}, "torchvision");
  ASSERT_TRUE(model.ok()) << model.status();
  const std::string types = CountTypes(*model);
  EXPECT_TRUE(absl::StrContains(types, network.has)) << types;
  EXPECT_EQ(absl::StrContains(types, "opaque"), !network.whole) << types;
  EXPECT_EQ(CompareWithFile(*model, {{2, 3, network.size, network.size}}), "");
}

INSTANTIATE_TEST_SUITE_P(Networks, TorchvisionTest,
                         testing::Values(Network{"mobilenet_v3_small", 64,
                                                 "BatchNorm2d=34 Conv2d=52 Dropout=1 Hardsigmoid=9", true},
                                         Network{"shufflenet_v2_x0_5", 64, "BatchNorm2d=56 Conv2d=56 Linear=1", true},
                                         Network{"googlenet", 96, "BatchNorm2d=59 Conv2d=59", true},
                                         Network{"efficientnet_b0", 64, "SiLU=49 Sigmoid=16 StochasticDepth=9", true},
                                         Network{"densenet121", 64, "BatchNorm2d=121 Conv2d=120 Linear=1", true},
                                         // Its attention looks at the size of the image.
                                         Network{"swin_t", 64, "opaque:ShiftedWindowAttention=12", false}),
                         [](const testing::TestParamInfo<Network>& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace lanista
