// Our optimizers against LibTorch's classes: every bit of every weight, -0.0 and +0.0 told apart.
#include <ATen/Parallel.h>
#include <gmock/gmock.h>
#include <torch/nn/modules/activation.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>
#include <torch/optim/optimizer.h>

#include <cctype>
#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "google/protobuf/text_format.h"
#include "src/evaluators/libtorch_optimizer.h"
#include "src/evaluators/optimizer.h"

namespace lanista {
namespace {

using testing::HasSubstr;
using Parameters = std::vector<torch::Tensor>;

v1::OptimizerConfig Parse(const std::string& text) {
  v1::OptimizerConfig config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &config)) << text;
  return config;
}

// Every option of every kind, and the combinations that have loops of their own.
const char* const kConfigs[] = {
    "sgd {}",
    "sgd { weight_decay: 0.1 }",
    "sgd { learning_rate: 0.05 momentum: 0.9 }",
    "sgd { momentum: 0.9 dampening: 0.3 weight_decay: 0.01 }",
    "sgd { momentum: 0.8 nesterov: true }",
    "sgd { momentum: 0.8 nesterov: true weight_decay: 0.01 }",
    "adam {}",
    "adam { learning_rate: 0.02 beta1: 0.8 beta2: 0.9 eps: 1e-5 weight_decay: 0.1 }",
    "adam { amsgrad: true }",
    "adam { amsgrad: true weight_decay: 0.03 beta1: 0 }",
    "adamw {}",
    "adamw { learning_rate: 0.02 weight_decay: 0 }",
    "adamw { amsgrad: true weight_decay: 0.2 beta2: 0.99 }",
    "rmsprop {}",
    "rmsprop { weight_decay: 0.1 alpha: 0.9 eps: 1e-4 }",
    "rmsprop { momentum: 0.9 }",
    "rmsprop { momentum: 0.5 weight_decay: 0.1 }",
    "rmsprop { centered: true }",
    "rmsprop { centered: true weight_decay: 0.1 }",
    "rmsprop { centered: true momentum: 0.5 }",
    "rmsprop { centered: true momentum: 0.5 weight_decay: 0.1 }",
};

// In the order of memory, whatever the strides.
std::string Bytes(const torch::Tensor& tensor) {
  return std::string(static_cast<const char*>(tensor.data_ptr()), tensor.nbytes());
}

Parameters Copy(const Parameters& parameters) {
  Parameters copies;
  for (const torch::Tensor& parameter : parameters) {
    copies.push_back(parameter.detach().clone().set_requires_grad(parameter.requires_grad()));
  }
  return copies;
}

// Two sets of equal parameters, one moved by LibTorch's class as a user would do it by hand, one by ours.
class Duel {
 public:
  Duel(const std::string& config, Parameters theirs, Parameters ours)
      : theirs_(std::move(theirs)),
        ours_(std::move(ours)),
        libtorch_(MakeLibTorchOptimizer(Parse(config), theirs_)),
        optimizer_(Parse(config), ours_) {}
  Duel(const std::string& config, const Parameters& parameters) : Duel(config, parameters, Copy(parameters)) {}

  // `loss` is called for each set.
  void Step(const std::function<torch::Tensor(const Parameters&)>& loss, const v1::GradientClippingConfig& clip = {}) {
    libtorch_->zero_grad();
    loss(theirs_).backward();
    ClipGradients(clip, theirs_);
    libtorch_->step();
    optimizer_.ZeroGrad();
    loss(ours_).backward();
    ClipGradients(clip, optimizer_.WithGradients());
    optimizer_.Step();
  }

  void SetLearningRate(double learning_rate) {
    libtorch_->param_groups()[0].options().set_lr(learning_rate);
    optimizer_.SetLearningRate(learning_rate);
  }

  bool SameBits() const {
    for (size_t i = 0; i < ours_.size(); ++i) {
      if (Bytes(theirs_[i]) != Bytes(ours_[i])) return false;
    }
    return true;
  }

  const Parameters& theirs() const { return theirs_; }
  const Parameters& ours() const { return ours_; }
  Optimizer& optimizer() { return optimizer_; }

 private:
  const Parameters theirs_;
  const Parameters ours_;
  const std::unique_ptr<torch::optim::Optimizer> libtorch_;
  Optimizer optimizer_;
};

// A loss whose gradients are drawn numbers, a tenth of them zeros of either sign; the same for both sets.
std::function<torch::Tensor(const Parameters&)> RandomGradients(const Parameters& like,
                                                                const std::function<bool(size_t)>& reaches) {
  Parameters gradients;
  for (const torch::Tensor& parameter : like) {
    const torch::Tensor gradient = torch::randn_like(parameter) * torch::randn_like(parameter).mul(3).exp();
    gradients.push_back(gradient * torch::rand_like(parameter).gt(0.1));
  }
  return [gradients, reaches](const Parameters& parameters) {
    torch::Tensor sum = torch::zeros({});
    for (size_t i = 0; i < parameters.size(); ++i) {
      if (parameters[i].requires_grad() && reaches(i)) sum = sum + (parameters[i] * gradients[i]).sum();
    }
    return sum;
  };
}

bool Always(size_t) { return true; }

class SameBitsTest : public testing::TestWithParam<const char*> {
 protected:
  SameBitsTest() {
    at::set_num_threads(1);
    torch::manual_seed(3);
  }

  static std::string config() { return GetParam(); }

  // Fifty steps of two models that start with equal weights.
  static void TrainBoth(torch::nn::Sequential theirs, torch::nn::Sequential ours, const torch::Tensor& input) {
    for (size_t i = 0; i < theirs->parameters().size(); ++i) {
      ours->parameters()[i].detach().copy_(theirs->parameters()[i].detach());
    }
    Duel duel(config(), theirs->parameters(), ours->parameters());
    EXPECT_FALSE(duel.optimizer().is_libtorch());
    const torch::Tensor target = torch::randint(10, {input.size(0)}, at::kLong);
    for (int step = 0; step < 50; ++step) {
      if (step == 20) duel.SetLearningRate(0.003);
      duel.Step([&](const Parameters& parameters) {
        auto& net = &parameters == &duel.theirs() ? theirs : ours;
        return torch::cross_entropy_loss(net->forward(input), target);
      });
      ASSERT_TRUE(duel.SameBits()) << "step " << step;
    }
    for (size_t i = 0; i < theirs->buffers().size(); ++i) {
      EXPECT_EQ(Bytes(theirs->buffers()[i]), Bytes(ours->buffers()[i]));
    }
  }
};

TEST_P(SameBitsTest, ForAnMlp) {
  const auto make = [] {
    return torch::nn::Sequential(torch::nn::Linear(37, 29), torch::nn::Tanh(), torch::nn::Linear(29, 10));
  };
  TrainBoth(make(), make(), torch::randn({8, 37}));
}

TEST_P(SameBitsTest, ForACnnWithBatchNorm) {
  const auto make = [] {
    return torch::nn::Sequential(torch::nn::Conv2d(3, 7, 3), torch::nn::BatchNorm2d(7), torch::nn::ReLU(),
                                 torch::nn::Flatten(), torch::nn::Linear(112, 10));
  };
  TrainBoth(make(), make(), torch::randn({4, 3, 6, 6}));
}

TEST_P(SameBitsTest, ForAllSizesAndTypes) {
  Parameters parameters;
  for (int64_t size = 1; size <= 100; ++size) parameters.push_back(torch::randn({size}, torch::requires_grad()));
  for (const int64_t size : {1, 3, 7, 31, 1023}) {
    parameters.push_back(torch::randn({size}, torch::requires_grad().dtype(at::kDouble)));
  }
  Duel duel(config(), parameters);
  EXPECT_FALSE(duel.optimizer().is_libtorch());
  for (int step = 0; step < 4; ++step) {
    duel.Step(RandomGradients(parameters, Always));
    ASSERT_TRUE(duel.SameBits()) << "step " << step;
  }
}

TEST_P(SameBitsTest, WhereThreadsShareParameters) {
  // Beyond the grain size, in parts that are no whole vectors.
  const Parameters parameters{torch::randn({32769}, torch::requires_grad()),
                              torch::randn({70001}, torch::requires_grad()),
                              torch::randn({65539}, torch::requires_grad().dtype(at::kDouble))};
  at::set_num_threads(2);
  Duel duel(config(), parameters);
  for (int step = 0; step < 3; ++step) {
    duel.Step(RandomGradients(parameters, Always));
    EXPECT_TRUE(duel.SameBits()) << "step " << step;
  }
  at::set_num_threads(1);
}

TEST_P(SameBitsTest, WithGradientsThatAreMissingOrClipped) {
  const Parameters parameters{torch::randn({17}, torch::requires_grad()), torch::randn({4, 5}, torch::requires_grad()),
                              torch::randn({9}), torch::randn({33}, torch::requires_grad()),
                              torch::zeros({40}, torch::requires_grad())};
  v1::GradientClippingConfig clip;
  for (int clipping = 0; clipping < 3; ++clipping) {
    if (clipping == 1) clip.set_max_norm(0.5);
    if (clipping == 2) clip.set_max_value(0.25);
    Duel duel(config(), Copy(parameters));
    for (int step = 0; step < 50; ++step) {
      // The second has a gradient in every third step, the fourth from the thirtieth step; the third is frozen.
      duel.Step(
          RandomGradients(parameters, [step](size_t i) { return (i != 1 || step % 3 == 1) && (i != 3 || step >= 30); }),
          clip);
      ASSERT_TRUE(duel.SameBits()) << "clipping " << clipping << ", step " << step;
    }
    EXPECT_EQ(Bytes(duel.ours()[2]), Bytes(parameters[2])) << "frozen";
  }
}

TEST_P(SameBitsTest, ForParametersThatAreSharedOrOddlyLaidOut) {
  const torch::Tensor shared = torch::randn({11}, torch::requires_grad());
  const auto make = [&](const torch::Tensor& same) {
    torch::manual_seed(4);
    return Parameters{same,
                      torch::randn({6, 5}).t().set_requires_grad(true),
                      torch::randn({4, 3, 2, 2}).contiguous(at::MemoryFormat::ChannelsLast).set_requires_grad(true),
                      same,
                      torch::randn({}).set_requires_grad(true),
                      torch::randn({0}).set_requires_grad(true)};
  };
  Duel duel(config(), make(shared), make(shared.detach().clone().set_requires_grad(true)));
  EXPECT_FALSE(duel.optimizer().is_libtorch());
  for (int step = 0; step < 50; ++step) {
    duel.Step(RandomGradients(duel.theirs(), Always));
    ASSERT_TRUE(duel.SameBits()) << "step " << step;
  }
}

INSTANTIATE_TEST_SUITE_P(AllKinds, SameBitsTest, testing::ValuesIn(kConfigs), [](const auto& info) {
  std::string name = info.param;
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return name;
});

TEST(OptimizerTest, AGradientOfAnotherLayoutIsReadInTheWeightsOrder) {
  Duel duel("adam {}", {torch::randn({5, 7}, torch::requires_grad())});
  const torch::Tensor gradient = torch::randn({7, 5}).t();
  duel.theirs()[0].mutable_grad() = gradient;
  duel.ours()[0].mutable_grad() = gradient;
  duel.optimizer().Step();
  MakeLibTorchOptimizer(Parse("adam {}"), duel.theirs())->step();
  EXPECT_TRUE(duel.SameBits());
}

TEST(OptimizerTest, SignsOfZeroAreLibTorchs) {
  // LibTorch 1.13 adds the gradients of -0.0 to zeros: they become +0.0, and the weights stay -0.0.
  Duel duel("sgd {}", {torch::full({20}, -0.0).set_requires_grad(true)});
  for (const double gradient : {0.0, -0.0, -0.0}) {
    duel.Step([gradient](const Parameters& p) { return (p[0] * gradient).sum(); });
    EXPECT_TRUE(duel.SameBits());
  }
}

TEST(OptimizerTest, NanFromClippingReachesWhatLibTorchLetsItReach) {
  const Parameters parameters{torch::randn({3}, torch::requires_grad()), torch::randn({3}, torch::requires_grad())};
  Duel duel("sgd {}", parameters);
  v1::GradientClippingConfig clip;
  clip.set_max_norm(1);
  duel.Step(RandomGradients(parameters, Always), clip);
  // The second parameter has no gradient now, or one of zeros.
  duel.Step([](const Parameters& p) { return (p[0] * NAN).sum(); }, clip);
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(torch::equal(duel.ours()[i].isnan(), duel.theirs()[i].isnan())) << i;
}

TEST(OptimizerTest, LibTorchTakesWhatIsNotFloatOrDouble) {
  Duel duel("adam {}", {torch::randn({70}).to(at::kBFloat16).set_requires_grad(true)});
  EXPECT_TRUE(duel.optimizer().is_libtorch());
  for (int step = 0; step < 5; ++step) {
    duel.Step([](const Parameters& p) { return p[0].square().sum(); });
    EXPECT_TRUE(duel.SameBits());
  }
}

TEST(OptimizerTest, LibTorchTakesSparseGradients) {
  const torch::Tensor rows = torch::tensor({1, 3, 1});
  Duel duel("sgd {}", {torch::randn({5, 4}, torch::requires_grad()), torch::randn({4}, torch::requires_grad())});
  for (int step = 0; step < 5; ++step) {
    duel.Step([&](const Parameters& p) {
      return (torch::embedding(p[0], rows, -1, false, /*sparse=*/true) * p[1]).square().sum();
    });
    EXPECT_TRUE(duel.SameBits());
  }
  EXPECT_TRUE(duel.optimizer().is_libtorch());
}

TEST(OptimizerTest, ALaterSparseGradientIsRefused) {
  const torch::Tensor weights = torch::randn({5, 4}, torch::requires_grad());
  Optimizer optimizer(Parse("sgd {}"), {weights});
  weights.sum().backward();
  optimizer.Step();
  optimizer.ZeroGrad();
  torch::embedding(weights, torch::tensor({1}), -1, false, true).sum().backward();
  try {
    optimizer.Step();
    FAIL() << "no error";
  } catch (const c10::Error& error) {
    EXPECT_THAT(error.what_without_backtrace(), HasSubstr("now has a sparse one"));
  }
}

TEST(OptimizerTest, WeightsStayTensorsOfTheirOwn) {
  torch::nn::Linear layer(13, 7);
  std::vector<const void*> places;
  for (const torch::Tensor& parameter : layer->parameters()) places.push_back(parameter.data_ptr());
  Optimizer optimizer(Parse("adam {}"), layer->parameters());
  layer->forward(torch::randn({2, 13})).sum().backward();
  optimizer.Step();
  for (size_t i = 0; i < places.size(); ++i) {
    EXPECT_EQ(layer->parameters()[i].data_ptr(), places[i]);
    EXPECT_EQ(layer->parameters()[i].storage().nbytes(), layer->parameters()[i].nbytes()) << "a file holds no more";
  }
}

TEST(OptimizerTest, BackwardThroughWeightsThatHaveMovedIsRefused) {
  const torch::Tensor weights = torch::randn({3}, torch::requires_grad());
  Optimizer optimizer(Parse("rmsprop {}"), {weights});
  const torch::Tensor loss = weights.square().sum();
  weights.sum().backward();
  optimizer.Step();
  EXPECT_THROW(loss.backward(), c10::Error);
}

TEST(OptimizerTest, ATypeThatChangesIsRefused) {
  torch::Tensor weights = torch::randn({3}, torch::requires_grad());
  Optimizer optimizer(Parse("sgd {}"), {weights});
  weights.set_data(weights.detach().to(at::kBFloat16));
  weights.mutable_grad() = torch::ones_like(weights);
  EXPECT_THROW(optimizer.Step(), c10::Error);
}

TEST(OptimizerTest, TheLearningRateIsThatOfTheConfiguration) {
  Optimizer optimizer(Parse("adamw { learning_rate: 0.25 }"), {torch::randn({3}, torch::requires_grad())});
  EXPECT_EQ(optimizer.LearningRate(), 0.25);
  optimizer.SetLearningRate(0.5);
  EXPECT_EQ(optimizer.LearningRate(), 0.5);
}

}  // namespace
}  // namespace lanista
