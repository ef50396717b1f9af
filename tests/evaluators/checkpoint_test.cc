// Checkpoints by themselves: their file, their pace, and what an optimizer puts into them.
// tests/trial/checkpoint_test.cc has trials that go on from them.
#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <torch/nn/modules/embedding.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "src/base/read_file.h"
#include "src/evaluators/checkpoint_file.h"
#include "src/evaluators/checkpoint_pace.h"
#include "src/evaluators/optimizer.h"

namespace lanista {
namespace {

using testing::HasSubstr;

std::string Bytes(const torch::Tensor& tensor) {
  const torch::Tensor dense = tensor.contiguous();
  return std::string(static_cast<const char*>(dense.data_ptr()), dense.nbytes());
}

class CheckpointFileTest : public testing::Test {
 protected:
  CheckpointFileTest() : path_(testing::TempDir() + "/checkpoint") {
    std::filesystem::remove_all(path_);
    checkpoint_.header.set_identity("me");
    checkpoint_.header.set_epoch(1);
    checkpoint_.header.set_batch(7);
    (*checkpoint_.header.add_steps()->mutable_metrics())["default"] = 0.1;
    checkpoint_.header.mutable_train_loss()->set_sum(1.25);
    checkpoint_.tensors = {{"weight", torch::arange(12, at::kFloat).view({3, 4}).t()},
                           {"count", torch::tensor(41, at::kLong)},
                           {"", torch::ones({5}, at::kBool)},
                           {"", torch::empty({0, 3})}};
  }

  // What is at the path now.
  std::string Content() const { return ReadWholeFile(path_, 1 << 30).value_or("(unreadable)"); }

  // The status of reading this content; both ways of reading agree.
  absl::Status Read(const std::string& content, const std::string& identity = "me") const {
    std::ofstream(path_, std::ios::binary) << content;
    const absl::Status status = CheckCheckpointFile(path_, identity);
    EXPECT_EQ(ReadCheckpoint(path_, identity).status(), status);
    return status;
  }

  const std::string path_;
  Checkpoint checkpoint_;
};

TEST_F(CheckpointFileTest, WhatIsWrittenIsRead) {
  ASSERT_EQ(WriteCheckpoint(path_, checkpoint_), absl::OkStatus());
  const absl::StatusOr<Checkpoint> read = ReadCheckpoint(path_, "me");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->header.SerializeAsString(), checkpoint_.header.SerializeAsString());
  ASSERT_EQ(read->tensors.size(), checkpoint_.tensors.size());
  for (size_t i = 0; i < read->tensors.size(); ++i) {
    EXPECT_EQ(read->tensors[i].name, checkpoint_.tensors[i].name);
    EXPECT_EQ(read->tensors[i].tensor.sizes(), checkpoint_.tensors[i].tensor.sizes());
    EXPECT_EQ(read->tensors[i].tensor.scalar_type(), checkpoint_.tensors[i].tensor.scalar_type());
    EXPECT_EQ(Bytes(read->tensors[i].tensor), Bytes(checkpoint_.tensors[i].tensor));
  }
  EXPECT_EQ(CheckCheckpointFile(path_, "me"), absl::OkStatus());
}

TEST_F(CheckpointFileTest, AnotherOnesIsRefused) {
  ASSERT_EQ(WriteCheckpoint(path_, checkpoint_), absl::OkStatus());
  const absl::Status status = CheckCheckpointFile(path_, "you");
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("is of another model"));
}

TEST_F(CheckpointFileTest, NoDamageIsOverlooked) {
  ASSERT_EQ(WriteCheckpoint(path_, checkpoint_), absl::OkStatus());
  const std::string good = Content();
  ASSERT_LT(good.size(), 1000u);
  for (size_t i = 0; i < good.size(); ++i) {
    for (const int bit : {0, 3, 7}) {
      std::string bad = good;
      bad[i] = static_cast<char>(bad[i] ^ 1 << bit);
      EXPECT_NE(Read(bad), absl::OkStatus()) << "byte " << i << ", bit " << bit;
    }
    EXPECT_NE(Read(good.substr(0, i)), absl::OkStatus()) << "cut at " << i;
  }
  EXPECT_NE(Read(good + "x"), absl::OkStatus());
  EXPECT_EQ(Read(good), absl::OkStatus());
}

TEST_F(CheckpointFileTest, OtherThingsThanFilesAreRefused) {
  EXPECT_EQ(CheckCheckpointFile(path_, "me").code(), absl::StatusCode::kNotFound);
  std::filesystem::create_directory(path_);
  EXPECT_EQ(CheckCheckpointFile(path_, "me").code(), absl::StatusCode::kInvalidArgument);
  std::filesystem::remove(path_);
  // Without waiting for somebody who writes.
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  EXPECT_EQ(CheckCheckpointFile(path_, "me").code(), absl::StatusCode::kInvalidArgument);
  std::filesystem::remove(path_);
}

TEST_F(CheckpointFileTest, AHeaderThatLiesAllocatesNothing) {
  ASSERT_EQ(WriteCheckpoint(path_, checkpoint_), absl::OkStatus());
  const std::string good = Content();
  // The header's length: 2^60 bytes.
  std::string bad = good;
  bad[15] = 0x10;
  EXPECT_THAT(std::string(Read(bad).message()), HasSubstr("its header is too long"));

  const auto refuses = [&](const std::string& tensor) {
    v1::CheckpointHeader header;
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString("identity: 'me' tensors { " + tensor + " }", &header));
    const std::string bytes = header.SerializeAsString();
    std::string content = "LANCKPT1";
    const uint64_t size = bytes.size();
    content.append(reinterpret_cast<const char*>(&size), sizeof(size));
    return std::string(Read(content + bytes + std::string(64, '\0')).message());
  };
  EXPECT_THAT(refuses("type: 'Float' dims: 1099511627776"), HasSubstr("its size is not what its header says"));
  EXPECT_THAT(refuses("type: 'Float' dims: 4294967296 dims: 4294967296"), HasSubstr("impossible tensor"));
  EXPECT_THAT(refuses("type: 'Float' dims: -1 dims: -14"), HasSubstr("impossible tensor"));
  EXPECT_THAT(refuses("type: 'Float' dims: 14 } tensors { type: 'Byte' dims: 9223372036854775807"),
              HasSubstr("its size is not"));
  EXPECT_THAT(refuses("type: 'Strange' dims: 1"), HasSubstr("impossible tensor"));
  EXPECT_THAT(refuses("type: 'QInt8' dims: 56"), HasSubstr("impossible tensor"));
  EXPECT_THAT(refuses("type: 'Float' dims: 14"), HasSubstr("it is damaged")) << "sizes fit, the checksum does not";
}

TEST_F(CheckpointFileTest, WhatCannotBeWrittenLeavesTheLastOne) {
  ASSERT_EQ(WriteCheckpoint(path_, checkpoint_), absl::OkStatus());
  const std::string good = Content();
  checkpoint_.tensors.push_back({"sparse", torch::zeros({3}).to_sparse()});
  EXPECT_THAT(std::string(WriteCheckpoint(path_, checkpoint_).message()), HasSubstr("sparse"));
  EXPECT_EQ(Content(), good);
  EXPECT_NE(WriteCheckpoint(testing::TempDir() + "/nowhere/checkpoint", checkpoint_), absl::OkStatus());
}

TEST_F(CheckpointFileTest, WritingAndCheckingTakeNoMemoryForTheTensors) {
  const auto peak_megabytes = [] {
    rusage usage = {};
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss / 1024;
  };
  checkpoint_.tensors.push_back({"large", torch::ones({16 << 20})});
  const int64_t before = peak_megabytes();
  ASSERT_EQ(WriteCheckpoint(path_, checkpoint_), absl::OkStatus());
  ASSERT_EQ(CheckCheckpointFile(path_, "me"), absl::OkStatus());
  EXPECT_LT(peak_megabytes() - before, 16) << "the tensor has 64";
}

TEST(CheckpointPaceTest, WritesAfterEachIntervalAndAtTheEndOfLongEpochs) {
  using std::chrono::milliseconds;
  using std::chrono::seconds;
  const CheckpointPace::Clock::time_point start{};
  CheckpointPace pace(seconds(60), start);
  EXPECT_FALSE(pace.Due(start + milliseconds(100), /*epoch_ends=*/true)) << "a trial of a moment keeps nothing";
  EXPECT_TRUE(pace.Due(start + seconds(1), true));
  EXPECT_FALSE(pace.Due(start + seconds(59), false));
  EXPECT_TRUE(pace.Due(start + seconds(60), false));

  // One that takes two seconds is worth a hundred of training.
  pace.Written(start + seconds(60), start + seconds(62));
  EXPECT_FALSE(pace.Due(start + seconds(121), false));
  EXPECT_FALSE(pace.Due(start + seconds(121), true));
  EXPECT_TRUE(pace.Due(start + seconds(122), false)) << "but never longer than the interval";

  CheckpointPace slow(seconds(1000), start);
  slow.Written(start, start + seconds(2));
  EXPECT_FALSE(slow.Due(start + seconds(101), true));
  EXPECT_TRUE(slow.Due(start + seconds(102), true));

  CheckpointPace never(seconds(0), start);
  EXPECT_FALSE(never.Due(start + seconds(100000), true));
}

// An optimizer's configuration, and the type of its parameters: LibTorch's own classes move bfloat16.
class OptimizerStateTest : public testing::TestWithParam<std::tuple<const char*, at::ScalarType>> {
 protected:
  static v1::OptimizerConfig Config() {
    v1::OptimizerConfig config;
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(std::get<0>(GetParam()), &config));
    return config;
  }

  // One whose elements do not lie in row-major order; one without a gradient in the even steps, one in the first.
  static std::vector<torch::Tensor> Parameters() {
    torch::manual_seed(3);
    const at::ScalarType type = std::get<1>(GetParam());
    std::vector<torch::Tensor> parameters;
    parameters.push_back(torch::randn({2, 3, 4, 4}).to(type).contiguous(at::MemoryFormat::ChannelsLast));
    parameters.push_back(torch::randn({7}).to(type));
    parameters.push_back(torch::randn({3, 3}).to(type));
    for (torch::Tensor& parameter : parameters) parameter.requires_grad_();
    return parameters;
  }

  static void Step(Optimizer& optimizer, std::vector<torch::Tensor>& parameters, int step) {
    torch::manual_seed(100 + step);
    optimizer.ZeroGrad();
    torch::Tensor loss = torch::zeros({}, parameters[0].options());
    for (size_t i = 0; i < parameters.size(); ++i) {
      const torch::Tensor factor = torch::randn(parameters[i].sizes()).to(parameters[i].scalar_type());
      if ((i == 1 && step % 2 == 0) || (i == 2 && step == 0)) continue;
      loss = loss + (parameters[i] * factor).sum();
    }
    loss.backward();
    optimizer.Step();
  }
};

TEST_P(OptimizerStateTest, AnotherOneGoesOnBitForBit) {
  const std::string path = testing::TempDir() + "/optimizer";
  std::vector<torch::Tensor> undisturbed = Parameters();
  Optimizer one(Config(), undisturbed);
  EXPECT_EQ(one.is_libtorch(), std::get<1>(GetParam()) == at::kBFloat16);
  for (int step = 0; step < 3; ++step) Step(one, undisturbed, step);

  Checkpoint checkpoint;
  const auto states = one.GetParameterStates();
  ASSERT_TRUE(states.ok()) << states.status();
  for (const ParameterState& state : *states) {
    for (const torch::Tensor& slot : state.slots) checkpoint.tensors.push_back({"", slot});
  }
  ASSERT_EQ(WriteCheckpoint(path, checkpoint), absl::OkStatus());
  auto read = ReadCheckpoint(path, "");
  ASSERT_TRUE(read.ok()) << read.status();
  std::vector<ParameterState> restored = *states;
  size_t next = 0;
  for (ParameterState& state : restored) {
    for (torch::Tensor& slot : state.slots) slot = read->tensors[next++].tensor;
  }
  std::vector<torch::Tensor> resumed;
  for (const torch::Tensor& parameter : undisturbed) {
    resumed.push_back(parameter.detach().clone(at::MemoryFormat::Preserve).requires_grad_());
  }
  ASSERT_EQ(resumed[0].strides(), undisturbed[0].strides());
  Optimizer other(Config(), resumed);
  ASSERT_EQ(other.SetParameterStates(restored), absl::OkStatus());

  for (int step = 3; step < 7; ++step) {
    Step(one, undisturbed, step);
    Step(other, resumed, step);
    for (size_t i = 0; i < resumed.size(); ++i) {
      EXPECT_EQ(Bytes(resumed[i]), Bytes(undisturbed[i])) << "parameter " << i << ", step " << step;
    }
  }
}

TEST_P(OptimizerStateTest, WhatDoesNotFitChangesNothing) {
  std::vector<torch::Tensor> parameters = Parameters();
  Optimizer one(Config(), parameters);
  for (int step = 0; step < 2; ++step) Step(one, parameters, step);
  const std::vector<ParameterState> good = *one.GetParameterStates();
  std::vector<torch::Tensor> others = Parameters();
  Optimizer other(Config(), others);
  const auto refuses = [&](std::vector<ParameterState> states) {
    EXPECT_EQ(other.SetParameterStates(std::move(states)).code(), absl::StatusCode::kInvalidArgument);
  };
  std::vector<ParameterState> bad = good;
  bad.pop_back();
  refuses(bad);
  bad = good;
  bad[0].slots.push_back(torch::zeros({1}));
  refuses(bad);
  bad = good;
  bad[0].steps = -1;
  refuses(bad);
  if (!good[0].slots.empty()) {
    bad = good;
    bad[0].slots[0] = torch::zeros({2, 3, 4, 5}, others[0].options());
    refuses(bad);
    bad[0].slots[0] = torch::zeros({2, 3, 4, 4}, at::kLong);
    refuses(bad);
  }
  EXPECT_EQ(other.SetParameterStates(good), absl::OkStatus());
}

INSTANTIATE_TEST_SUITE_P(Optimizers, OptimizerStateTest,
                         testing::Combine(testing::Values("sgd { weight_decay: 0.1 }",
                                                          "sgd { momentum: 0.9 dampening: 0.1 weight_decay: 0.1 }",
                                                          "sgd { momentum: 0.9 nesterov: true }", "adam {}",
                                                          "adam { amsgrad: true weight_decay: 0.1 }",
                                                          "adamw { learning_rate: 0.01 }", "adamw { amsgrad: true }",
                                                          "rmsprop { weight_decay: 0.1 }",
                                                          "rmsprop { centered: true momentum: 0.5 }"),
                                          testing::Values(at::kFloat, at::kDouble, at::kBFloat16)));

TEST(SparseOptimizerTest, SparseGradientsAreNotKept) {
  v1::OptimizerConfig config;
  config.mutable_sgd();
  torch::nn::Embedding embedding(torch::nn::EmbeddingOptions(5, 2).sparse(true));
  Optimizer optimizer(config, embedding->parameters());
  embedding(torch::tensor({1, 2}, at::kLong)).sum().backward();
  optimizer.Step();
  EXPECT_EQ(optimizer.GetParameterStates().status().code(), absl::StatusCode::kUnimplemented);
}

}  // namespace
}  // namespace lanista
