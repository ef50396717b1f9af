#include "src/evaluators/layer_diagnosis.h"

#include <gmock/gmock.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/container/functional.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>

#include "tests/evaluators/fake_trial.h"

namespace lanista {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// What the user is told where `model` throws on an input of `shape`.
std::string Diagnose(nn::Model& model, c10::IntArrayRef shape) {
  const torch::Tensor input = torch::rand(shape);
  try {
    model.forward(input);
  } catch (const c10::Error& error) {
    return DescribeForwardError(model, input, error);
  }
  return "no error";
}

std::string Diagnose(torch::nn::Sequential layers, c10::IntArrayRef shape) {
  SequentialModel model(std::move(layers));
  return Diagnose(model, shape);
}

TEST(LayerDiagnosisTest, NamesTheLinearLayerAndBothShapes) {
  EXPECT_THAT(Diagnose(torch::nn::Sequential(torch::nn::Linear(12, 8), torch::nn::Linear(9, 3)), {5, 12}),
              AllOf(StartsWith("layer 'layers.1' (Linear): input [5, 8] does not fit weight [3, 9]: "),
                    HasSubstr("5x8 and 9x3"), Not(HasSubstr("frame #"))));
}

TEST(LayerDiagnosisTest, NamesTheTypesWhereTheShapesFit) {
  const auto convert = [](torch::Tensor input) { return input.to(torch::kDouble); };
  EXPECT_THAT(Diagnose(torch::nn::Sequential(torch::nn::Functional(convert), torch::nn::Linear(4, 3)), {2, 4}),
              StartsWith("layer 'layers.1' (Linear): input [2, 4] of Double does not fit weight [3, 4] of Float: "));
}

TEST(LayerDiagnosisTest, NamesTheConvolution) {
  EXPECT_THAT(Diagnose(torch::nn::Sequential(torch::nn::Conv2d(1, 4, 3), torch::nn::Conv2d(6, 8, 3)), {2, 1, 12, 12}),
              StartsWith("layer 'layers.1' (Conv2d): input [2, 4, 10, 10] does not fit weight [8, 6, 3, 3]: "));
}

TEST(LayerDiagnosisTest, NamesTheBatchNorm) {
  EXPECT_THAT(
      Diagnose(torch::nn::Sequential(torch::nn::Conv2d(1, 4, 3), torch::nn::BatchNorm2d(5)), {2, 1, 12, 12}),
      AllOf(StartsWith("layer 'layers.1' (BatchNorm2d): input [2, 4, 10, 10] does not fit "), HasSubstr("[5]: ")));
}

TEST(LayerDiagnosisTest, NamesTheLayerBeforeWhereALayerItselfRefusesItsInput) {
  EXPECT_THAT(Diagnose(torch::nn::Sequential(torch::nn::Linear(4, 4), torch::nn::BatchNorm2d(4)), {2, 4}),
              StartsWith("after layer 'layers.0' (Linear): "));
}

TEST(LayerDiagnosisTest, FindsNestedLayers) {
  const auto block =
      std::make_shared<SequentialModel>(torch::nn::Sequential(torch::nn::Linear(4, 4), torch::nn::Linear(5, 4)));
  EXPECT_THAT(Diagnose(torch::nn::Sequential(torch::nn::Linear(4, 4), block), {2, 4}),
              StartsWith("layer 'layers.1.layers.1' (Linear): input [2, 4] does not fit weight [4, 5]: "));
}

TEST(LayerDiagnosisTest, NamesTheOperatorWhereNoLayerFails) {
  class Net : public nn::Model {
   public:
    torch::Tensor forward(torch::Tensor input) override {
      return torch::cat({first_->forward(input), torch::zeros({2, 3, 1})}, 1);
    }

   private:
    torch::nn::Linear first_ = register_module("first", torch::nn::Linear(4, 5));
  } model;
  EXPECT_THAT(Diagnose(model, {2, 4}),
              StartsWith("operator 'cat' on [2, 5] and [2, 3, 1], after layer 'first' (Linear): "));
}

TEST(LayerDiagnosisTest, AnOperatorMayHaveNoInput) {
  FunctionModel model([](torch::Tensor input) { return input + torch::full({-1}, 0.5); });
  EXPECT_THAT(Diagnose(model, {2, 4}), StartsWith("operator 'full': "));
}

TEST(LayerDiagnosisTest, BlamesNoLayerForTheModelsOwnComplaint) {
  FunctionModel model([](torch::Tensor input) {
    TORCH_CHECK(false, "too few colours");
    return input;
  });
  EXPECT_THAT(Diagnose(model, {2, 4}), EndsWith("too few colours"));
}

TEST(LayerDiagnosisTest, ParametersOfTheModelItselfAreCalledTheModels) {
  class Net : public nn::Model {
   public:
    torch::Tensor forward(torch::Tensor input) override { return input.matmul(scale_); }

   private:
    torch::Tensor scale_ = register_parameter("scale", torch::zeros({3, 2}));
  } model;
  EXPECT_THAT(Diagnose(model, {2, 4}), StartsWith("the model (Net): input [2, 4] does not fit scale [3, 2]: "));
}

}  // namespace
}  // namespace lanista
