#include <torch/types.h>

#include <string>

#include "gtest/gtest.h"
#include "src/api/tensor_splits_torch.h"

namespace lanista::data {
namespace {

std::string Problem(const absl::StatusOr<DataSplits>& splits) { return std::string(splits.status().message()); }

TEST(TensorSplitsTest, ImagesAndClassesBecomeADataSet) {
  const torch::Tensor images = torch::randint(0, 256, {5, 1, 4, 4}, torch::kUInt8);
  const torch::Tensor classes = torch::tensor({0, 2, 1, 0, 1}, torch::kInt32);
  const absl::StatusOr<DataSplits> splits =
      ClassificationSplits({images.slice(0, 0, 3), classes.slice(0, 0, 3)}, {images.slice(0, 3), classes.slice(0, 3)});
  ASSERT_TRUE(splits.ok()) << splits.status();
  EXPECT_EQ(splits->task, Task::kClassification);
  EXPECT_EQ(splits->outputs, 3);
  EXPECT_EQ(splits->input_shape, (std::vector<int64_t>{1, 4, 4}));
  EXPECT_EQ(splits->train->size(), 3);
  EXPECT_EQ(splits->validation->size(), 2);
  const Example* all = splits->validation->InMemory();
  ASSERT_NE(all, nullptr);
  EXPECT_TRUE(torch::equal(all->input, images.slice(0, 3).to(torch::kFloat)));
  EXPECT_TRUE(torch::equal(all->target, torch::tensor({0, 1}, torch::kLong)));
}

TEST(TensorSplitsTest, OneNumberASampleIsOneTarget) {
  const Example part{torch::rand({4, 3}, torch::kDouble), torch::rand({4}, torch::kDouble)};
  const absl::StatusOr<DataSplits> splits = RegressionSplits(part, part);
  ASSERT_TRUE(splits.ok()) << splits.status();
  EXPECT_EQ(splits->task, Task::kRegression);
  EXPECT_EQ(splits->outputs, 1);
  const Example* all = splits->train->InMemory();
  ASSERT_NE(all, nullptr);
  EXPECT_TRUE(torch::equal(all->target, part.target.to(torch::kFloat).unsqueeze(1)));
}

TEST(TensorSplitsTest, WhatIsWrongIsTold) {
  const torch::Tensor inputs = torch::rand({4, 3});
  const torch::Tensor classes = torch::tensor({0, 1, 0, 1});
  EXPECT_EQ(Problem(ClassificationSplits({inputs, classes}, {inputs, torch::Tensor()})),
            "the tensors of the validation data: inputs or targets are missing");
  EXPECT_EQ(Problem(ClassificationSplits({inputs, classes.slice(0, 1)}, {inputs, classes})),
            "the tensors of the training data: there are 4 inputs and 3 targets; each input needs one");
  EXPECT_EQ(Problem(ClassificationSplits({inputs, classes.to(torch::kFloat)}, {inputs, classes})),
            "the tensors of the training data: classes are integers of shape [N], from 0");
  EXPECT_EQ(Problem(ClassificationSplits({inputs, classes - 1}, {inputs, classes})),
            "the tensors of the training data: classes are integers from 0; one is negative");
  EXPECT_EQ(Problem(ClassificationSplits({inputs.slice(0, 0, 0), classes.slice(0, 0, 0)}, {inputs, classes})),
            "the tensors of the training data: there are no samples");
  EXPECT_EQ(Problem(ClassificationSplits({inputs, classes}, {inputs.slice(1, 0, 2), classes})),
            "the tensors of the training and the validation data have different shapes");
  EXPECT_EQ(Problem(RegressionSplits({inputs[0], classes}, {inputs, classes})),
            "the tensors of the training data: inputs have shape [N, ...], with at least two dimensions");
}

}  // namespace
}  // namespace lanista::data
