// Where a library of LibTorch computes wrongly, trials do without it.
#include "src/trial/onednn_check.h"

#include <ATen/ATen.h>
#include <ATen/Context.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tuple>
#include <vector>

namespace lanista {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

class OneDnnCheckTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!at::hasMKLDNN()) GTEST_SKIP() << "this LibTorch has no oneDNN";
  }
  void TearDown() override { at::globalContext().setUserEnabledMkldnn(true); }
};

TEST_F(OneDnnCheckTest, IsTurnedOffWhereANumberIsWrong) {
  // No number is near enough.
  EXPECT_THAT(TurnOffWrongOneDnn(/*tolerance=*/-1), HasSubstr("oneDNN computes wrongly on this processor"));
  EXPECT_FALSE(at::globalContext().userEnabledMkldnn());
  EXPECT_THAT(TurnOffWrongOneDnn(), IsEmpty()) << "it is off";
  EXPECT_FALSE(at::globalContext().userEnabledMkldnn());
}

TEST_F(OneDnnCheckTest, WhatIsComputedAfterTheCheckIsRight) {
  TurnOffWrongOneDnn();
  const at::NoGradGuard no_gradients;
  at::manual_seed(1);
  for (const int64_t channels : {1, 3, 16, 24}) {
    for (const int64_t size : {3, 5}) {
      const at::Tensor images = at::randn({2, channels, 12, 12});
      const at::Tensor kernel = at::randn({channels, 3, size, size});
      const auto compute = [&](at::ScalarType type) {
        return at::conv_transpose2d(images.to(type), kernel.to(type), {}, 1, 1).to(at::kDouble);
      };
      // oneDNN does not compute with doubles.
      EXPECT_TRUE(at::allclose(compute(at::kFloat), compute(at::kDouble), 1e-4, 1e-4))
          << channels << " channels, kernel of " << size;
    }
  }
  for (const int64_t hidden : {8, 16, 32}) {
    const at::Tensor series = at::randn({5, 3, 8});
    const std::vector<at::Tensor> weights{at::randn({4 * hidden, 8}), at::randn({4 * hidden, hidden}),
                                          at::randn({4 * hidden}), at::randn({4 * hidden})};
    const auto compute = [&](at::ScalarType type) {
      const at::Tensor state = at::zeros({1, 3, hidden}, type);
      std::vector<at::Tensor> parameters;
      for (const at::Tensor& weight : weights) parameters.push_back(weight.to(type));
      return std::get<0>(at::lstm(series.to(type), {state, state}, parameters, true, 1, 0, false, false, false))
          .to(at::kDouble);
    };
    EXPECT_TRUE(at::allclose(compute(at::kFloat), compute(at::kDouble), 1e-4, 1e-4)) << hidden << " hidden features";
  }
}

}  // namespace
}  // namespace lanista
