#include "bench/networks.h"

#include <torch/utils.h>
#include <unistd.h>

#include <filesystem>
#include <utility>

#include "absl/strings/str_cat.h"
#include "bench/harness.h"
#include "src/exporters/graph_formats_torch.h"
#include "src/frontends/torchscript.h"
#include "src/graph/builder.h"
#include "src/ops/registry.h"
#include "src/runtime/graph_module_torch.h"

namespace lanista::bench {
namespace {

using graph::Builder;
using graph::Handle;
using graph::MakeOp;

v1::Node Conv(int64_t in, int64_t out, int kernel, int stride, int padding, bool bias) {
  return MakeOp("Conv2d", {{"in_channels", in},
                           {"out_channels", out},
                           {"kernel_size", kernel},
                           {"stride", stride},
                           {"padding", padding},
                           {"bias", bias}});
}

v1::Node BatchNorm(int64_t features) { return MakeOp("BatchNorm2d", {{"num_features", features}}); }
v1::Node ReLU() { return MakeOp("ReLU", {{"inplace", true}}); }

v1::ModelGraph BasicBlock(int64_t in, int64_t out, int stride) {
  Builder block("BasicBlock", ops::FindOp);
  const Handle x = block.Input("x");
  Handle y = block.Add("conv1", Conv(in, out, 3, stride, 1, false), {x});
  y = block.Add("bn1", BatchNorm(out), {y});
  y = block.Add("relu", ReLU(), {y});
  y = block.Add("conv2", Conv(out, out, 3, 1, 1, false), {y});
  y = block.Add("bn2", BatchNorm(out), {y});
  Handle identity = x;
  if (stride != 1) {
    identity = block.Add("downsample.0", Conv(in, out, 1, stride, 0, false), {x});
    identity = block.Add("downsample.1", BatchNorm(out), {identity});
  }
  y = block.Add("sum", MakeOp("aten::add_.Tensor"), {{"self", y}, {"other", identity}});
  block.Output(block.Add("relu_2", ReLU(), {y}));
  return ValueOrDie(std::move(block).Build());
}

}  // namespace

v1::ModelGraph ResNet18Graph(int64_t channels, int64_t size) {
  Builder net("ResNet", ops::FindOp);
  Handle x = net.Input("x", graph::TensorType(v1::Tensor::FLOAT32, {-1, channels, size, size}));
  x = net.Add("conv1", Conv(channels, 64, 7, 2, 3, false), {x});
  x = net.Add("bn1", BatchNorm(64), {x});
  x = net.Add("relu", ReLU(), {x});
  x = net.Add("maxpool", MakeOp("MaxPool2d", {{"kernel_size", 3}, {"stride", 2}, {"padding", 1}}), {x});
  int64_t in = 64;
  for (int layer = 1; layer <= 4; ++layer) {
    const int64_t out = int64_t{32} << layer;
    for (int block = 0; block < 2; ++block) {
      const int stride = layer > 1 && block == 0 ? 2 : 1;
      x = net.Add(absl::StrCat("layer", layer, ".", block), net.Cell(BasicBlock(in, out, stride)), {x});
      in = out;
    }
  }
  x = net.Add("avgpool", MakeOp("AdaptiveAvgPool2d", {{"output_size", {1, 1}}}), {x});
  x = net.Add("flatten", MakeOp("Flatten"), {x});
  net.Output(net.Add("fc", MakeOp("Linear", {{"in_features", 512}, {"out_features", 1000}}), {x}));
  return ValueOrDie(std::move(net).Build());
}

v1::ModelGraph SmallCnnGraph() {
  Builder net("SmallCnn", ops::FindOp);
  Handle x = net.Input("x", graph::TensorType(v1::Tensor::FLOAT32, {-1, 1, 28, 28}));
  x = net.Add("conv1", Conv(1, 16, 3, 1, 1, true), {x});
  x = net.Add("relu1", ReLU(), {x});
  x = net.Add("pool1", MakeOp("MaxPool2d", {{"kernel_size", 2}}), {x});
  x = net.Add("conv2", Conv(16, 32, 3, 1, 1, true), {x});
  x = net.Add("relu2", ReLU(), {x});
  x = net.Add("pool2", MakeOp("MaxPool2d", {{"kernel_size", 2}}), {x});
  x = net.Add("flatten", MakeOp("Flatten"), {x});
  x = net.Add("fc1", MakeOp("Linear", {{"in_features", 1568}, {"out_features", 64}}), {x});
  x = net.Add("relu3", ReLU(), {x});
  net.Output(net.Add("fc2", MakeOp("Linear", {{"in_features", 64}, {"out_features", 10}}), {x}));
  return ValueOrDie(std::move(net).Build());
}

v1::ModelGraph MnistSpaceGraph() {
  Builder separable("DepthwiseSeparableConv", ops::FindOp);
  Handle y = separable.Input("x");
  y = separable.Add("depthwise",
                    MakeOp("Conv2d", {{"in_channels", 32}, {"out_channels", 32}, {"kernel_size", 3}, {"groups", 32}}),
                    {y});
  separable.Output(separable.Add("pointwise", Conv(32, 64, 1, 1, 0, true), {y}));

  Builder net("MnistCnn", ops::FindOp);
  const auto feature = net.ValueChoice("feature", {64, 128, 256});
  Handle x = net.Input("x", graph::TensorType(v1::Tensor::FLOAT32, {-1, 1, 28, 28}));
  x = net.Add("conv1", Conv(1, 32, 3, 1, 0, true), {x});
  x = net.Add("relu1", MakeOp("ReLU"), {x});
  x = net.Add("conv2",
              graph::MakeLayerChoice("conv2", {{"conv", Conv(32, 64, 3, 1, 0, true)},
                                               {"separable", net.Cell(ValueOrDie(std::move(separable).Build()))}}),
              {x});
  x = net.Add("pool", MakeOp("MaxPool2d", {{"kernel_size", 2}}), {x});
  x = net.Add("dropout1", MakeOp("Dropout", {{"p", net.ValueChoice("dropout", {0.25, 0.5, 0.75})}}), {x});
  x = net.Add("flatten", MakeOp("Flatten"), {x});
  x = net.Add("fc1", MakeOp("Linear", {{"in_features", 9216}, {"out_features", feature}}), {x});
  x = net.Add("relu2", MakeOp("ReLU"), {x});
  x = net.Add("dropout2", MakeOp("Dropout", {{"p", 0.5}}), {x});
  x = net.Add("fc2", MakeOp("Linear", {{"in_features", feature}, {"out_features", 10}}), {x});
  net.Output(net.Add("log_softmax", MakeOp("LogSoftmax", {{"dim", 1}}), {x}));
  return ValueOrDie(std::move(net).Build());
}

ScriptFile::ScriptFile(const v1::ModelGraph& model)
    : stem_(std::filesystem::temp_directory_path() / absl::StrCat("lanista_", model.name(), "_", getpid())) {
  torch::manual_seed(1);
  const auto module = ValueOrDie(runtime::GraphModule::Create(model, {}));
  ValueOrDie(exporters::WriteModel(*module, "torchscript", stem_));
}

ScriptFile::~ScriptFile() { std::filesystem::remove(path()); }

v1::ModelGraph ScriptFile::Import() const {
  v1::TorchScriptConfig config;
  config.set_path(path());
  return ValueOrDie(frontends::ImportTorchScript(config));
}

}  // namespace lanista::bench
