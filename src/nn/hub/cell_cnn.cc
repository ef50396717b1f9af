// A convolutional network of one repeated cell: a small cell-based space.
#include <torch/nn/modules/activation.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/pooling.h>

#include <string>
#include <vector>

#include "src/nn/hub/sizes.h"
#include "src/nn/nn.h"

namespace lanista::nn {
namespace {

torch::nn::Sequential ReluConvNorm(int64_t in_channels, int64_t out_channels, int64_t kernel_size) {
  return torch::nn::Sequential(
      torch::nn::ReLU(),
      torch::nn::Conv2d(
          torch::nn::Conv2dOptions(in_channels, out_channels, kernel_size).padding(kernel_size / 2).bias(false)),
      torch::nn::BatchNorm2d(out_channels));
}

torch::nn::Sequential SeparableConvNorm(int64_t channels, int64_t kernel_size) {
  return torch::nn::Sequential(torch::nn::ReLU(),
                               torch::nn::Conv2d(torch::nn::Conv2dOptions(channels, channels, kernel_size)
                                                     .padding(kernel_size / 2)
                                                     .groups(channels)
                                                     .bias(false)),
                               torch::nn::Conv2d(torch::nn::Conv2dOptions(channels, channels, 1).bias(false)),
                               torch::nn::BatchNorm2d(channels));
}

// Gives the predecessors of a cell the same number of channels.
class AlignImpl : public torch::nn::Module {
 public:
  AlignImpl(const std::vector<int64_t>& in_channels, int64_t channels) {
    for (size_t i = 0; i < in_channels.size(); ++i) {
      convs_.push_back(register_module("conv" + std::to_string(i), ReluConvNorm(in_channels[i], channels, 1)));
    }
  }

  std::vector<torch::Tensor> forward(std::vector<torch::Tensor> inputs) {
    for (size_t i = 0; i < inputs.size(); ++i) inputs[i] = convs_.at(i)->forward(inputs[i]);
    return inputs;
  }

 private:
  std::vector<torch::nn::Sequential> convs_;
};
TORCH_MODULE(Align);

// Parameters: `in_channels` and `classes` (default: the data's, or 1 and 10 if the evaluator names no data), `channels`
// of each node (default 16), `cells` (default 3), `nodes` of a cell (default 3). All cells share their choices. Each
// node applies one of four operators to one earlier node or to the output of one of the two cells before: 4^nodes *
// (nodes + 1)! models, 1,536 by default. Images are halved before the second and the last third of the cells, so they
// need at least 4 x 4 pixels.
class CellCnn : public ModelSpace {
 public:
  explicit CellCnn(const Params& params) {
    const auto in_channels = params.Get<int64_t>("in_channels", ImageOf(params, "cell_cnn", {1, 28, 28}).channels);
    const auto channels = params.Get<int64_t>("channels", 16);
    const auto cells = params.Get<int64_t>("cells", 3);
    const auto nodes = params.Get<int64_t>("nodes", 3);
    const auto classes = params.Get<int64_t>("classes", OutputsOf(params, 10));
    if (in_channels < 1 || channels < 1 || cells < 1 || nodes < 1 || classes < 1) {
      throw SpaceError("cell_cnn: in_channels, channels, cells, nodes and classes must be at least 1");
    }
    const std::vector<CellOptions::Candidate> operators = {
        {"conv3x3", [=] { return ReluConvNorm(channels, channels, 3); }},
        {"separable3x3", [=] { return SeparableConvNorm(channels, 3); }},
        {"max_pool3x3", [] { return torch::nn::MaxPool2d(torch::nn::MaxPool2dOptions(3).stride(1).padding(1)); }},
        {"identity", [] { return torch::nn::Identity(); }}};

    const torch::nn::Conv2d conv(torch::nn::Conv2dOptions(in_channels, channels, 3).padding(1));
    stem_ = register_module("stem", torch::nn::Sequential(conv, torch::nn::BatchNorm2d(channels)));
    int64_t before = channels;
    int64_t last = channels;
    for (int64_t i = 0; i < cells; ++i) {
      const CellOptions options = CellOptions(operators, nodes)
                                      .num_predecessors(2)
                                      .merge_op(MergeOp::kLooseEnd)
                                      .preprocessor(Align(std::vector<int64_t>{before, last}, channels))
                                      .label("cell");
      cells_.push_back(register_module("cell" + std::to_string(i), Cell(options)));
      before = last;
      last = channels * static_cast<int64_t>(cells_.back()->output_nodes().size());
    }
    classifier_ = register_module("classifier", torch::nn::Linear(last, classes));
  }

  torch::Tensor forward(torch::Tensor x) override {
    x = stem_->forward(x);
    torch::Tensor before = x;
    const size_t third = (cells_.size() + 2) / 3;
    for (size_t i = 0; i < cells_.size(); ++i) {
      if (i > 0 && i % third == 0) {
        before = torch::max_pool2d(before, 2);
        x = torch::max_pool2d(x, 2);
      }
      torch::Tensor next = cells_[i]->forward({before, x});
      before = x;
      x = next;
    }
    return classifier_(torch::relu(x).mean({2, 3}));
  }

 private:
  torch::nn::Sequential stem_;
  std::vector<Cell> cells_;
  torch::nn::Linear classifier_{nullptr};
};

}  // namespace

LANISTA_REGISTER(model_space, "cell_cnn", nn::MakeModelSpace<CellCnn>);

}  // namespace lanista::nn
